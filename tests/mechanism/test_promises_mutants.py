"""What a release promises beyond its noise: fresh bits, both halves of a mixture, nothing spent by a refusal."""

from __future__ import annotations

import numpy as np
import pytest

from fugu import Approx, Discrete, LawPair, Pure, Scenario, calibrate, mix, verify
from fugu.errors import BadLaw, NoiselessRelease, NotProvable, PriorNotPublic
from fugu.mechanism import post

PAIR = LawPair(Discrete([0, 1, 2, 3], [4, 3, 2, 1]), Discrete([0, 1, 2, 3], [1, 2, 3, 4]), "a vs b")
CLOSE = LawPair(Discrete([0, 1], [52, 48]), Discrete([0, 1], [50, 50]))
TABLE = {"s": ["a", "b"] * 20, "v": [0, 1, 1, 2] * 10}


def test_two_mechanisms_never_release_the_same_noise():
    values = np.zeros(1000)
    first, second = (calibrate(PAIR, Pure(0.3)).release(values).values for _ in range(2))
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
    clipped = calibrate(PAIR, Pure(0.05)).then(post.clip(0, 3))
    released = mix(1, clipped, calibrate(PAIR, Pure(0.05))).release(np.ones(500)).values
    assert released.min() >= 0 and released.max() <= 3
    loose = mix(0, clipped, calibrate(PAIR, Pure(0.05))).simulate(np.ones(500), np.random.default_rng(1)).values
    assert loose.max() > 3  # the other half is not clipped, so the test above sees something


def test_a_mixture_states_the_larger_of_both_proved_figures():
    one, other = calibrate(PAIR, Pure(0.3)), calibrate(PAIR, Approx(0.2, 0.01))
    for mixed in (mix(0.5, one, other), mix(0.5, other, one)):
        for figure in ("epsilon", "delta"):
            assert mixed.certificate.proved[figure] == max(
                one.certificate.proved[figure], other.certificate.proved[figure]
            )


def test_the_same_values_with_other_weights_are_other_beliefs():
    other = LawPair(Discrete([0, 1, 2, 3], [4, 3, 2, 1]), Discrete([0, 1, 2, 3], [2, 2, 2, 4]), "a vs b")
    with pytest.raises(NotProvable, match="different beliefs"):
        mix(0.5, calibrate(PAIR, Pure(0.3)), calibrate(other, Pure(0.3)))


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
    mechanism = calibrate(PAIR, Pure(0.3))
    outside = LawPair(*(Discrete([0.5, 1, 2, 99], law.masses.parts) for law in (PAIR.p, PAIR.q)))
    apart = LawPair(Discrete([99]), Discrete([-99]))  # all of one law goes to 3, all of the other to 0
    for source in (mechanism, mechanism.certificate):
        assert verify(source, outside).holds
        assert not verify(source, apart).holds
