"""Laws known up to a certified error: pure losses refused, delta raised, certificates that carry the error."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import fugu
from fugu import Approx, Certificate, Discrete, Gaussian, Laplace, LawPair, Pure, calibrate, verify
from fugu.documents.document import digest_of
from fugu.errors import CertificateError, NotProvable
from fugu.laws import families, sum_of

P, Q = Discrete([0, 1], [0.7, 0.3]), Discrete([0, 1], [0.6, 0.4])
OTHERS = Discrete([0, 1, 2], [5, 3, 2])
EXACT = LawPair(sum_of([P, *[OTHERS] * 99]), sum_of([Q, *[OTHERS] * 99]), "one of a hundred")
BLURRED = LawPair(*(sum_of([x, *[OTHERS] * 99], method="fft") for x in (P, Q)), label="one of a hundred")


class TestLawsWithAnError:
    def test_pure_losses_are_refused(self):
        assert math.isfinite(fugu.epsilon(Laplace(2), EXACT))
        for ask in (
            lambda: fugu.epsilon(Laplace(2), BLURRED),
            lambda: calibrate(BLURRED, Pure(1)),
            lambda: calibrate(BLURRED, Approx(1, 0)),
            lambda: calibrate(BLURRED, Pure(1), method="l1"),
            lambda: verify(calibrate(EXACT, Pure(1)), BLURRED),
            lambda: fugu.plan(BLURRED, 1.0),
        ):
            with pytest.raises(NotProvable, match="known up to total variation"):
                ask()

    def test_the_same_law_twice_is_no_secret_and_equal_masses_are_no_proof(self):
        law = BLURRED.p
        with pytest.raises(NotProvable, match="known up to"):  # a pair of a law with itself is no pair of secrets
            fugu.epsilon(Laplace(1), LawPair(law, law))
        twin = Discrete._with_error(law.values, law.masses, law.error)
        assert fugu.delta(Laplace(1), LawPair(law, twin), 1.0) >= law.error * (1 + math.e)
        with pytest.raises(NotProvable, match="known up to"):
            fugu.epsilon(Laplace(1), LawPair(law, twin))
        assert law != Discrete._with_error(law.values, law.masses, 0.0)

    @pytest.mark.parametrize("noise", [Laplace(2), Laplace(2, grid=1), Gaussian(2, grid=1), Gaussian(2)], ids=repr)
    @pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.05, 2.0])
    def test_delta_is_above_the_exact_one_by_no_more_than_the_errors(self, noise, epsilon):
        exact, blurred = fugu.delta(noise, EXACT, epsilon), fugu.delta(noise, BLURRED, epsilon)
        cost = max(BLURRED.p.error + math.exp(epsilon) * BLURRED.q.error,
                   BLURRED.q.error + math.exp(epsilon) * BLURRED.p.error)  # fmt: skip
        assert blurred >= cost
        assert exact - 1e-12 <= blurred <= exact + 3 * cost + 1e-11

    def test_a_large_error_counts_in_both_orders(self):
        p, q = EXACT.p, EXACT.q
        rough = Discrete._with_error(q.values, q.masses, 0.001)
        for pair in (LawPair(p, rough), LawPair(rough, p)):
            added = fugu.delta(Laplace(2, grid=1), pair, 1.0) - fugu.delta(Laplace(2, grid=1), EXACT, 1.0)
            assert added == pytest.approx(0.001 * math.e, rel=1e-6)

    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    def test_calibrate_counts_it_and_the_certificate_carries_it(self, noise, tmp_path):
        budget = Approx(0.05, 1e-3)
        mechanism = calibrate(BLURRED, budget, noise=noise)
        plain = calibrate(EXACT, budget, noise=noise)
        assert mechanism.noise.scale == pytest.approx(float(plain.noise.scale), rel=1e-6)
        mechanism.certificate.save(tmp_path / "c.json")
        loaded = Certificate.load(tmp_path / "c.json")
        assert loaded.laws[0].errors == (BLURRED.p.error, BLURRED.q.error)
        assert Fraction(loaded.body["families"][0]["laws"][0]["error"]) == Fraction(BLURRED.p.error)
        assert verify(loaded).holds and verify(loaded, BLURRED).holds
        assert "error" not in plain.certificate.body["families"][0]["laws"][0]
        assert plain.certificate.body["beliefs"] != mechanism.certificate.body["beliefs"]

    @pytest.mark.parametrize(
        ("error", "says"), [("1/100", None), ("-1/2", "total variation"), ("3/2", "total variation")]
    )
    def test_a_certificate_with_another_error_does_not_hold(self, error, says):
        body = calibrate(BLURRED, Approx(0.05, 1e-3)).certificate.to_json()
        body["families"][0]["laws"][1]["error"] = error
        body["fingerprint"] = digest_of(body["families"])
        sealed = {k: v for k, v in body.items() if k != "digest"}
        forged = Certificate({**sealed, "digest": digest_of(sealed)})
        if says is None:
            assert not verify(forged).holds
        else:
            with pytest.raises(CertificateError, match=says):
                verify(forged)

    def test_a_budget_below_the_error_says_so(self):
        with pytest.raises(NotProvable, match="whatever the noise"):
            calibrate(BLURRED, Approx(0.05, 1e-16))

    def test_rounding_keeps_the_error(self):
        (family,) = families([BLURRED])
        assert family.on(fugu.noise.Lattice(Fraction(7))).errors == family.errors == (BLURRED.p.error, BLURRED.q.error)
        assert verify(calibrate(BLURRED, Approx(0.05, 1e-3), grid=5), BLURRED).holds

    def test_no_distance_and_no_pair_with_a_normal_law(self):
        with pytest.raises(NotProvable, match="error"):
            fugu.wasserstein(BLURRED.p, BLURRED.q)
        with pytest.raises(NotProvable, match="error"):
            fugu.delta(Laplace(1), LawPair(BLURRED.p, fugu.Normal(0, 1)), 1.0)


def test_exact_sums_of_many_digits_are_certified(tmp_path):
    """Masses of more digits than Python writes in decimal still go into a certificate and come back."""
    w = 0.123456789012345
    laws = [sum_of([x, *[Discrete([0, 1], [1 - w, w])] * 320], method="exact") for x in (P, Q)]
    assert max(int(p).bit_length() for p in laws[0].masses.parts) > 14_300
    mechanism = calibrate(LawPair(*laws), Pure(0.01))
    mechanism.certificate.save(tmp_path / "c.json")
    assert verify(tmp_path / "c.json").holds
    assert Certificate.load(tmp_path / "c.json").laws[0].laws[0].same_as(laws[0].masses)
