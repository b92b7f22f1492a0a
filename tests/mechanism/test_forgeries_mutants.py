"""Forged documents with matching digests: each part that could lie is looked at by itself."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fugu import Approx, Certificate, Discrete, LawPair, Pure, Scenario, calibrate, mix, verify
from fugu.documents.document import digest_of
from fugu.errors import BadLaw, CertificateError, NoiselessRelease, NotProvable, PriorNotPublic
from fugu.mechanism import post

X = [0, 1, 4]
PAIR = LawPair(Discrete(X, [5, 3, 2]), Discrete(X, [2, 3, 5]), "a vs b")
OTHER = LawPair(Discrete(X, [5, 3, 2]), Discrete(X, [4, 3, 3]), "a vs b")


def body_of(mechanism):
    return mechanism.certificate.to_json()


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


FOUR = LawPair(Discrete([0, 1, 2, 3], [4, 3, 2, 1]), Discrete([0, 1, 2, 3], [1, 2, 3, 4]), "a vs b")
CLOSE = LawPair(Discrete([0, 1], [52, 48]), Discrete([0, 1], [50, 50]))
TABLE = {"s": ["a", "b"] * 20, "v": [0, 1, 1, 2] * 10}


def test_two_mechanisms_never_release_the_same_noise():
    values = np.zeros(1000)
    first, second = (calibrate(FOUR, Pure(0.3)).release(values).values for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(("share", "silent_first"), [(0.5, True), (0.5, False), (0, True), (1, True)])
def test_a_mixture_with_a_silent_half_needs_the_word_too(share, silent_first):
    silent, loud = calibrate(CLOSE, Pure(1)), calibrate(CLOSE, Pure(1), method="l1")
    assert silent.noise.scale == 0 < loud.noise.scale
    mixed = mix(share, silent, loud) if silent_first else mix(share, loud, silent)
    with pytest.raises(NoiselessRelease):
        mixed.release(1)
    mixed.release(1, allow_no_noise=True)  # and the refusal spent nothing


def test_a_half_keeps_its_own_post_processing():
    clipped = calibrate(FOUR, Pure(0.05)).then(post.clip(0, 3))
    released = mix(1, clipped, calibrate(FOUR, Pure(0.05))).release(np.ones(500)).values
    assert released.min() >= 0 and released.max() <= 3
    loose = mix(0, clipped, calibrate(FOUR, Pure(0.05))).simulate(np.ones(500), np.random.default_rng(1)).values
    assert loose.max() > 3  # the other half is not clipped, so the test above sees something


def test_a_mixture_states_the_larger_of_both_proved_figures():
    one, other = calibrate(FOUR, Pure(0.3)), calibrate(FOUR, Approx(0.2, 0.01))
    for mixed in (mix(0.5, one, other), mix(0.5, other, one)):
        for figure in ("epsilon", "delta"):
            assert mixed.certificate.proved[figure] == max(
                one.certificate.proved[figure], other.certificate.proved[figure]
            )


def test_the_same_values_with_other_weights_are_other_beliefs():
    other = LawPair(Discrete([0, 1, 2, 3], [4, 3, 2, 1]), Discrete([0, 1, 2, 3], [2, 2, 2, 4]), "a vs b")
    with pytest.raises(NotProvable, match="different beliefs"):
        mix(0.5, calibrate(FOUR, Pure(0.3)), calibrate(other, Pure(0.3)))


def test_missing_values_are_let_through_only_where_they_are_public():
    gaps = {"s": ["a", "b"] * 20, "v": [0.0, 1.0, 1.0, 2.0] * 9 + [0.0, 1.0, None, None]}
    mapped = calibrate(Scenario.from_table(gaps, publish="v", protect="s", missing=0), Pure(0.5))
    assert mapped._column([1.0, np.nan, "x"], False)[0].tolist() == [1.0, 0.0, 0.0]
    dropped = calibrate(Scenario.from_table(gaps, publish="v", protect="s", missing="drop"), Pure(0.5))
    assert np.isnan(dropped.release([1.0, np.nan]).values).tolist() == [False, True]


def test_a_refused_release_spends_nothing():
    fitted = calibrate(Scenario.from_table(TABLE, publish="v", protect="s"), Pure(0.5))
    for values, error in ((TABLE["v"], PriorNotPublic), (TABLE["v"][::-1], PriorNotPublic), ([[0, 1]], BadLaw)):
        with pytest.raises(error):
            fitted.release(values)
    fitted.release([0, 1])
    silent = calibrate(CLOSE, Pure(1))
    with pytest.raises(NoiselessRelease):
        silent.release(1)
    silent.release(1, allow_no_noise=True)


def test_verify_moves_values_to_the_support_as_a_release_does():
    """A value of 99 is released as 3, so beliefs in 99 are hidden as beliefs in 3 are."""
    mechanism = calibrate(FOUR, Pure(0.3))
    outside = LawPair(*(Discrete([0.5, 1, 2, 99], law.masses.parts) for law in (FOUR.p, FOUR.q)))
    apart = LawPair(Discrete([99]), Discrete([-99]))  # all of one law goes to 3, all of the other to 0
    for source in (mechanism, mechanism.certificate):
        assert verify(source, outside).holds
        assert not verify(source, apart).holds
