"""Forged documents with matching digests: each part that could lie is looked at by itself."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction

import pytest

from fugu import Approx, Certificate, Discrete, LawPair, Pure, calibrate, mix, verify
from fugu.documents.document import digest_of
from fugu.errors import CertificateError

X = [0, 1, 4]
PAIR = LawPair(Discrete(X, [5, 3, 2]), Discrete(X, [2, 3, 5]), "a vs b")
OTHER = LawPair(Discrete(X, [5, 3, 2]), Discrete(X, [4, 3, 3]), "a vs b")


def body_of(mechanism):
    return json.loads(mechanism.certificate.to_json())


def sealed(body, fingerprint=True):
    """What a forger would do last: put digests that match."""
    body = {k: v for k, v in body.items() if k != "digest"}
    if fingerprint:
        body["fingerprint"] = digest_of(body["families"])
    return {**body, "digest": digest_of(body)}


def test_a_fingerprint_of_other_laws_is_refused():
    body = body_of(calibrate(PAIR, Pure(0.4)))
    body["fingerprint"] = body_of(calibrate(OTHER, Pure(0.4)))["fingerprint"]
    with pytest.raises(CertificateError, match="fingerprint"):
        Certificate.parse(sealed(body, fingerprint=False))


@pytest.mark.parametrize(
    "edit",
    [
        lambda b: b["noise"].update(grid="1/2"),
        lambda b: b["noise"].update(grid="2"),
        lambda b: b["lattice"].update(grid="2"),
        lambda b: b.update(lattice=None, support=None),
    ],
)
def test_noise_that_is_not_on_the_lattice_is_refused(edit):
    body = body_of(calibrate(PAIR, Pure(0.4)))
    edit(body)
    with pytest.raises(CertificateError, match="not on its lattice"):
        Certificate.parse(sealed(body))


@pytest.mark.parametrize("total", ["11", "9", "0", "-10"])
def test_masses_that_do_not_make_up_their_total_are_refused(total):
    body = body_of(calibrate(PAIR, Pure(0.4)))
    body["families"][0]["laws"][0]["total"] = total
    with pytest.raises(CertificateError, match="probability law"):
        Certificate.parse(sealed(body))


def test_noise_forged_away_where_a_value_is_possible_under_one_secret_only_does_not_hold():
    body = body_of(calibrate(LawPair(Discrete([0, 1]), Discrete([1, 2])), Pure(0.4)))
    assert verify(Certificate.parse(body)).holds
    body["noise"]["scale"] = "0"
    verdict = verify(Certificate.parse(sealed(body)))
    assert not verdict.holds and verdict.epsilon == float("inf")


def test_a_budget_that_is_no_double_is_read_back_exactly():
    mechanism = calibrate(PAIR, Approx(Fraction(1, 3), Fraction(1, 700)))
    again = Certificate.parse(body_of(mechanism)).budget
    assert (again.epsilon, again.delta) == (Fraction(1, 3), Fraction(1, 700))


def test_a_certificate_that_was_edited_in_memory_is_refused_too():
    mechanism = calibrate(PAIR, Pure(0.4))
    body = copy.deepcopy(mechanism.certificate.body)
    body["noise"]["scale"] = "10"
    forged = replace(mechanism, certificate=Certificate(body))
    for source in (forged, forged.certificate):
        with pytest.raises(CertificateError, match="digest"):
            verify(source)


class TestMixture:
    def mixture(self, first=Pure(0.4), second=Pure(0.4), pair=PAIR):
        return body_of(mix(0.5, calibrate(pair, first), calibrate(pair, second)))

    def test_a_mixture_of_other_than_two_halves_is_refused(self):
        for count in (0, 1, 3):
            body = self.mixture()
            body["parts"] = (body["parts"] * 2)[:count]
            with pytest.raises(CertificateError, match="a list of 2 to 2 items"):
                verify(Certificate(sealed(body)))
        with pytest.raises(CertificateError, match="cannot be read"):
            verify(Certificate(sealed({**self.mixture(), "share": "often"})))

    @pytest.mark.parametrize("half", [0, 1])
    def test_one_half_that_does_not_hold_is_enough(self, half):
        body = self.mixture()
        assert verify(Certificate.parse(sealed(body))).holds
        part = body["parts"][half]
        part["noise"]["scale"] = str(Fraction(part["noise"]["scale"]) * Fraction(9, 10))
        body["parts"][half] = sealed(part)
        verdict = verify(Certificate.parse(sealed(body)))
        assert not verdict.holds and verdict.epsilon > 0.4
        assert ("budget", "fails") in {check[:2] for check in verdict.checks}
        for honest in (part, body):  # figures that are no lie help neither
            honest["proved"]["epsilon"] = 1.0
        body["parts"][half] = sealed(part)
        verdict = verify(Certificate.parse(sealed(body)))
        assert not verdict.holds and {name: outcome for name, outcome, _ in verdict.checks}["stated figures"] == "holds"

    def test_figures_below_what_is_proved_do_not_hold(self):
        body = body_of(calibrate(PAIR, Pure(0.4)))
        body["proved"]["epsilon"] = 0.39
        verdict = verify(Certificate.parse(sealed(body)))
        assert not verdict.holds and "0.39" in verdict.reason

    @pytest.mark.parametrize("place", ["whole", 0, 1])
    def test_other_beliefs_by_name_are_enough(self, place):
        body = self.mixture()
        part = body if place == "whole" else body["parts"][place]
        part["beliefs"] = "0" * 64
        if place != "whole":
            body["parts"][place] = sealed(part)
        assert not verify(Certificate.parse(sealed(body))).holds

    @pytest.mark.parametrize("half", [0, 1])
    def test_halves_of_different_beliefs_do_not_belong_together(self, half):
        body = self.mixture()
        body["parts"][half] = body_of(calibrate(OTHER, Pure(0.4)))
        assert all(verify(part).holds for part in Certificate.parse(sealed(body)).parts)
        verdict = verify(Certificate.parse(sealed(body)))
        assert not verdict.holds and ("one problem", "fails") in {check[:2] for check in verdict.checks}

    @pytest.mark.parametrize("half", [0, 1])
    def test_a_half_with_a_larger_delta_than_the_whole_does_not_hold(self, half):
        budgets = [Approx(0.4, 0.001), Approx(0.4, 0.001)]
        budgets[half] = Approx(0.4, 0.02)
        body = self.mixture(*budgets)
        assert verify(Certificate.parse(sealed(body))).holds
        body["budget"]["delta"] = "1/1000"
        assert not verify(Certificate.parse(sealed(body))).holds

    def test_a_share_that_is_no_probability_does_not_hold(self):
        body = self.mixture()
        for share in ("3/2", "-1/2"):
            body["share"] = share
            assert not verify(Certificate.parse(sealed(body))).holds
