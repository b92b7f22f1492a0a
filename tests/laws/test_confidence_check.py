"""A stated confidence set is believed only if it contains one that is proved from the counts."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import Ball, Band, Box, Discrete, Hull, Intersection
from fugu.errors import CertificateError
from fugu.laws.sets import check_confidence, confidence_set, law_set_from
from fugu.laws.sets import levels as levels_file
from hunting import search

COUNTS = [8, 0, 20, 11, 5, 2]
MANY = [800, 0, 2000, 1100, 500, 2]


def moved(part, inward):
    """The part with its limits moved by a relative 1e-9, one way or the other."""
    step = (1 if inward else -1) * 1e-9
    if isinstance(part, Ball):
        return Ball(part.centre(), Fraction(part.radius * (1 - step)), part.distance)
    low, high = part.lower * (1 + step), np.minimum(1.0, part.upper * (1 - step))
    low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    if isinstance(part, Band):
        low[-1] = high[-1] = 1.0
    return type(part).exactly(part.values, low, high)


@pytest.mark.parametrize("counts", [COUNTS, MANY], ids=["few", "many"])
@pytest.mark.parametrize("shift", [0.0, 0.02])
@pytest.mark.parametrize("ordered", [True, False])
def test_what_is_stated_passes_and_what_is_narrower_does_not(counts, ordered, shift):
    asked = {"values": range(6), "counts": counts, "error": 0.05}
    found = law_set_from(confidence_set(**asked, ordered=ordered, shift=shift).to_json())
    check_confidence(found, **asked, ordered=ordered, shift=shift)
    for i, part in enumerate(found.sets):
        wider = [moved(p, inward=False) if i == j else p for j, p in enumerate(found.sets)]
        check_confidence(Intersection(wider), **asked, ordered=ordered, shift=shift)
        check_confidence(part, **asked, ordered=ordered, shift=shift)
        narrower = [moved(p, inward=True) if i == j else p for j, p in enumerate(found.sets)]
        with pytest.raises(CertificateError, match=f"the stated {part.kind} is narrower"):
            check_confidence(Intersection(narrower), **asked, ordered=ordered, shift=shift)
    for other in ({"error": 0.04}, {"counts": [c + (c == 2) for c in counts]}, {"counts": [*counts[:-1], 0]}):
        with pytest.raises(CertificateError, match="is narrower"):
            check_confidence(found, **{**asked, **other}, ordered=ordered, shift=shift)
    with pytest.raises(CertificateError, match="is narrower"):
        check_confidence(found, **asked, ordered=ordered, shift=shift + 0.01)
    with pytest.raises(CertificateError, match="declares other values"):
        check_confidence(found, **{**asked, "values": range(1, 7)}, ordered=ordered, shift=shift)


@search("single limits of a confidence set moved inward", quick=20)
def test_one_limit_moved_inward_is_seen(rng):
    k, n = int(rng.integers(2, 7)), int(rng.choice([3, 40, 200]))
    counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.5))).tolist()
    ordered = bool(rng.integers(2))
    found = confidence_set(range(k), counts, 0.05, ordered=ordered)
    part = found.sets[int(rng.integers(len(found.sets)))]
    if isinstance(part, Ball):
        edited = Ball(part.centre(), Fraction(part.radius) * (1 - Fraction(1, 10**8)), part.distance)
    else:
        low, high, up = part.lower.copy(), part.upper.copy(), bool(rng.integers(2))
        places = [i for i in range(k - isinstance(part, Band)) if (high[i] < 1 if up else low[i] > 0)]
        if not places:
            return 0
        i = places[int(rng.integers(len(places)))]
        low[i], high[i] = (low[i], high[i] * (1 - 1e-7)) if up else (low[i] * (1 + 1e-7), high[i])
        edited = type(part).exactly(part.values, low, high)
    check_confidence(found, range(k), counts, 0.05, ordered)
    with pytest.raises(CertificateError, match="is narrower"):
        check_confidence(edited, range(k), counts, 0.05, ordered)
    return 1


def test_parts_of_another_kind_are_not_proved_here():
    values, law = range(6), Discrete(range(6), COUNTS)
    for part in (Hull([law]), Ball(law, 0.9, "kl"), Ball(law, 0.9)):
        with pytest.raises(CertificateError, match="no part of the kind"):
            check_confidence(part, values, COUNTS, 0.05)
    with pytest.raises(CertificateError, match="no part of the kind 'band'"):
        check_confidence(Band(values, [0] * 6, [1] * 6), values, COUNTS, 0.05, ordered=False)
    found = confidence_set(values, COUNTS, 0.05)
    with pytest.raises(CertificateError, match="no part of the kind 'hull'"):
        check_confidence(Intersection([found, Hull([law])]), values, COUNTS, 0.05)


def test_a_ball_around_another_law_or_in_the_wrong_divergence_fails():
    counts = [10, 20, 30]
    for part in (Ball(Discrete(range(3), [10, 21, 29]), 0.99), Ball(Discrete(range(3), [10, 21, 29]), 9, "kl")):
        with pytest.raises(CertificateError, match="the stated ball is narrower"):
            check_confidence(part, range(3), counts, 0.05, ordered=False)
    with pytest.raises(CertificateError, match="the stated ball is narrower"):  # KL says nothing of another population
        check_confidence(Ball(Discrete(range(3), counts), 9, "kl"), range(3), counts, 0.05, ordered=False, shift=0.1)
    for tiny in (0.0, 1e-9, 1e-3):  # where Agrawal's expression is small again, and means nothing
        with pytest.raises(CertificateError, match="the stated ball is narrower"):
            check_confidence(Ball(Discrete(range(6), MANY), tiny, "kl"), range(6), MANY, 0.05, ordered=False)
    check_confidence(Ball(Discrete(range(3), [1, 2, 3]), 9, "kl"), range(3), counts, 0.05, ordered=False)


def test_without_rows_only_every_law_passes():
    everything = Box.everything([0, 1])
    check_confidence(everything, [0, 1], [0, 0], 0.05)
    check_confidence(confidence_set([3], [9], 0.05), [3], [9], 0.05)
    for part in (Box([0, 1], [0, 0], [1, 0.99]), Box([0, 1], [0.01, 0], [1, 1]), Band([0, 1], [0, 1], [1, 1])):
        with pytest.raises(CertificateError, match="is narrower"):
            check_confidence(part, [0, 1], [0, 0], 0.05)


def test_another_machines_last_digits_pass():
    """Quantiles that differ by 2e-13 relatively, and an eta one unit larger: the writer's margins cover both."""
    found = confidence_set(range(6), COUNTS, 0.05)
    mine = levels_file.proved(sum(COUNTS), Fraction(1, 40))
    shaken = levels_file.Levels(mine.n, mine.eta, mine.ranks, mine.low * (1 - 2e-13), mine.high * (1 + 2e-13))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fugu.laws.sets.confidence.proved", lambda n, error: shaken)
        check_confidence(found, range(6), COUNTS, 0.05)
    assert math.isclose(mine.eta, levels_file.levels(sum(COUNTS), Fraction(1, 40)).eta, rel_tol=3e-6)
