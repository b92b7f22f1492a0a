"""Confidence sets hold the law as often as they say, by enumeration and by simulation; unsound ones do not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

from fugu import Ball, Band, Box, Intersection
from fugu.errors import BadLaw, UsageError
from fugu.laws.sets import confidence_set, secret_error
from fugu.laws.sets.confidence import clopper_box
from fugu.laws.sets.levels import divergence_radius, level_band, levels, mixture_radius, variation_radius
from hunting import search


def outcomes(n, k):
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        yield [b - a - 1 for a, b in itertools.pairwise((-1, *bars, n + k - 1))]


def probability(counts, law):
    found = float(math.factorial(sum(counts)))
    for c, p in zip(counts, law, strict=True):
        found *= p**c / math.factorial(c)
    return found


def holds(found, law):
    """Whether the set holds the law, in doubles."""
    if isinstance(found, Intersection):
        return all(holds(part, law) for part in found.sets)
    if isinstance(found, Box):
        return bool(np.all((found.lower <= law + 1e-12) & (law <= found.upper + 1e-12)))
    if isinstance(found, Band):
        return bool(np.all((found.lower <= law.cumsum() + 1e-12) & (law.cumsum() <= found.upper + 1e-12)))
    assert isinstance(found, Ball)
    centre = found.weights
    if found.distance == "tv":
        return bool(0.5 * np.abs(centre - law).sum() <= found.radius + 1e-12)
    there = centre > 0
    with np.errstate(divide="ignore"):
        return bool(np.sum(centre[there] * np.log(centre[there] / law[there])) <= found.radius + 1e-12)


LAWS = [
    [1 / 3, 1 / 3, 1 / 3],
    [0.9, 0.08, 0.02],
    [0.5, 0.5, 0.0],
    [0.04, 0.48, 0.48],
    [0.0, 0.0, 1.0],
    [0.25, 0.7, 0.05],
]


@pytest.mark.parametrize(("ordered", "shift"), [(True, 0.0), (False, 0.0), (True, 0.1), (False, 0.1)])
def test_the_set_holds_the_law_in_exact_enumeration(ordered, shift):
    """Every outcome of 12 rows on three values, every law of a list; rows of another population within the shift."""
    n, error = 12, 0.2
    sets = {tuple(c): confidence_set(range(3), c, error, ordered=ordered, shift=shift) for c in outcomes(n, 3)}
    worst = 1.0
    for law in map(np.array, LAWS):
        others = [law]
        for i, j in itertools.permutations(range(3), 2):
            moved = min(shift, law[i])
            others.append(law - moved * np.eye(3)[i] + moved * np.eye(3)[j])
        for rows in others if shift else [law]:
            covered = sum(probability(c, rows) for c, found in sets.items() if holds(found, law))
            worst = min(worst, covered)
            assert covered >= 1 - error
    assert worst < 0.999 or shift, "the list of laws would not see a set that is too small"
    if shift:  # the set without the shift fails for some of these populations
        plain = {tuple(c): confidence_set(range(3), c, error, ordered=ordered) for c in sets}
        law, rows = np.array([0.9, 0.08, 0.02]), np.array([0.8, 0.18, 0.02])
        assert sum(probability(c, rows) for c in plain if holds(plain[c], law)) < sum(
            probability(c, rows) for c in sets if holds(sets[c], law)
        )


@pytest.mark.parametrize("make", [clopper_box, level_band])
def test_each_part_holds_the_law_at_its_own_level(make):
    n, error = 14, 0.25
    sets = {tuple(c): make(range(3), c, error) for c in outcomes(n, 3)}
    worst = min(sum(probability(c, law) for c in sets if holds(sets[c], np.array(law))) for law in LAWS)
    assert 1 - error <= worst < 0.9999


def test_two_cells_need_no_union_bound():
    error, n = 0.1, 40
    for p in np.linspace(0.01, 0.99, 99):
        covered = sum(
            binom.pmf(c, n, p)
            for c in range(n + 1)
            if holds(clopper_box([0, 1], [n - c, c], error), np.array([1 - p, p]))
        )
        assert covered >= 1 - error


def continuous(n, runs, rng):
    """How often the limits of the levels hold for uniform rows: their probability, by simulation."""
    found = levels(n, Fraction(1, 20))
    rows = np.sort(rng.random((runs, n)), axis=1)[:, found.ranks - 1]
    return int(np.all((rows >= found.low) & (rows <= found.high), axis=1).sum())


def test_levels_are_as_likely_as_stated_and_not_more():
    """Neither too narrow nor too wide: 95 % of 40,000 runs, within five standard deviations."""
    runs, rng = 40_000, np.random.default_rng(1)
    for n in (10, 100):
        share = continuous(n, runs, rng) / runs
        assert abs(share - 0.95) < 5 * math.sqrt(0.95 * 0.05 / runs)
    thinned = continuous(1500, 4000, rng) / 4000
    assert abs(thinned - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 4000)


def test_a_limit_taken_one_rank_off_holds_too_seldom():
    """F(x) <= b_c in place of b_{c+1}: the mistake that is easily made."""
    rng, n, runs = np.random.default_rng(2), 30, 3000
    found = levels(n, Fraction(1, 20))
    rows = np.sort(rng.random((runs, n)), axis=1)
    below = np.linspace(0.005, 0.995, 199)
    counts = (rows[:, :, None] <= below).sum(axis=1)
    right = np.concatenate([found.high, [1.0]])[counts]
    wrong = np.concatenate([[0.0], found.high])[counts]
    assert np.mean(np.all(below <= right, axis=1)) >= 0.97 > 0.5 > np.mean(np.all(below <= wrong, axis=1))


def simulated(rng, runs):
    """The coverage of both default sets for one random law and size."""
    n, k = int(rng.choice([5, 30, 100, 400])), int(rng.integers(2, 20))
    law = rng.dirichlet(np.full(k, rng.choice([0.1, 1.0, 10.0])))
    if rng.random() < 0.3:
        law = np.arange(k, 0, -1.0) ** -rng.choice([1.0, 2.0])
        law /= law.sum()
    missed = {True: 0, False: 0}
    for _ in range(runs):
        counts = rng.multinomial(n, law).tolist()
        for ordered in missed:
            missed[ordered] += not holds(confidence_set(range(k), counts, 0.1, ordered=ordered), law)
    return missed


@search("coverage of confidence sets by simulation")
def sets_hold_their_laws(rng, runs=400):
    missed = simulated(rng, runs)
    assert max(missed.values()) <= binom.isf(1e-9, runs, 0.1)  # one false alarm in a thousand million
    return runs


def test_sets_hold_their_laws_in_short():
    for seed in range(3):
        assert sets_hold_their_laws(np.random.default_rng(seed), runs=60) == 60


def test_bins_laid_on_the_reference_are_unsound():
    """Three bins around the densest window of the rows: 61 % in place of 95 %. Declared ones: at least 95 %."""
    rng, n, width, runs = np.random.default_rng(3), 100, 0.05, 1500
    held = declared = 0
    for _ in range(runs):
        rows = np.sort(rng.random(n))
        starts = rows[rows + width <= 1]
        densest = starts[np.argmax(np.searchsorted(rows, starts + width, side="right") - np.arange(len(starts)))]
        for start in (densest, 0.4):
            left, inside = int((rows < start).sum()), int(((rows >= start) & (rows <= start + width)).sum())
            counts = [left, inside, n - left - inside]
            good = holds(clopper_box(range(3), counts, 0.05), np.array([start, width, 1 - start - width]))
            held, declared = held + (good and start == densest), declared + (good and start == 0.4)
    assert 0.55 < held / runs < 0.72 and declared / runs > 0.95


def test_a_band_may_be_cut_into_bins_after_looking():
    """The same window, from the band: the limits of every window hold at once."""
    rng, n, width, runs, held = np.random.default_rng(4), 100, 0.05, 400, 0
    found = levels(n, Fraction(1, 20))
    for _ in range(runs):
        rows = np.sort(rng.random(n))
        first = int(np.argmax(np.searchsorted(rows, rows + width, side="right") - np.arange(n)))
        last = int(np.searchsorted(rows, rows[first] + width, side="right")) - 1
        low = found.low[last] - found.high[first]  # F(end) - F(start) with `first` rows before and `last` + 1 up to it
        high = (found.high[last + 1] if last + 1 < n else 1.0) - (found.low[first - 1] if first else 0.0)
        held += low <= width <= high
    assert held / runs >= 0.95


def test_the_tighter_of_two_limits_chosen_by_the_counts_is_unsound():
    """Two one-sided 95 % limits, the one that leaves the shorter interval: about 91 % at the worst p."""
    n, worst = 50, 1.0
    low = np.array([beta.ppf(0.05, c, n - c + 1) if c else 0.0 for c in range(n + 1)])
    high = np.array([beta.ppf(0.95, c + 1, n - c) if c < n else 1.0 for c in range(n + 1)])
    upper_is_shorter = high < 1 - low
    for p in np.linspace(0.01, 0.99, 981):
        inside = np.where(upper_is_shorter, p <= high, p >= low)
        worst = min(worst, float(binom.pmf(np.arange(n + 1), n, p) @ inside))
    assert 0.89 < worst < 0.93


def test_a_set_on_the_observed_values_only_is_unsound():
    """A value of probability 2 % is missing in more than half of all references of 30 rows: such a set never holds."""
    law, n = np.array([0.49, 0.49, 0.02]), 30
    unseen = (1 - law[2]) ** n
    assert unseen > 0.5
    declared = confidence_set(range(3), [15, 15, 0], 0.05)
    assert holds(declared, law) and declared.top([0, 0, 1]) > Fraction(1, 20)
    for ordered in (True, False):
        found = confidence_set(range(5), [0, 15, 0, 15, 0], 0.05, ordered=ordered)
        for i in range(5):
            unit = [int(i == j) for j in range(5)]
            assert found.top(unit) > 0, "every declared value counts, seen or not"


def test_printed_sets_of_two_references():
    """60 rows of each of two secrets, 95 % together: the printed limits, to their digits."""
    p, q, error = [8, 14, 20, 11, 5, 2], [5, 9, 18, 15, 9, 4], secret_error(0.95, 2, disjoint=True)
    box = clopper_box(range(6), p, error)
    low = [0.038629360911, 0.100421913208, 0.174007817953, 0.067666244719, 0.015031187709, 0.001115590757]
    high = [0.300910312055, 0.418690746232, 0.525275976119, 0.361542482493, 0.235276697439, 0.160674312343]
    assert box.lower == pytest.approx(low, abs=1e-12) and box.upper == pytest.approx(high, abs=1e-12)
    band = level_band(range(6), q, error)
    low = np.array([0.011420143353, 0.088622523041, 0.323679042604, 0.576121592674, 0.766496257713, 1])
    high = np.array([0.257517869838, 0.442611990295, 0.734962201178, 0.921879209880, 0.993559024008, 1])
    inside = np.concatenate([band.lower - low, high - band.upper])  # printed from an eta of fewer digits, rounded down
    assert inside.min() >= -1e-12 and inside.max() < 5e-6
    assert divergence_radius(60, 6, error) == pytest.approx(0.228751146288, abs=1e-12)
    assert variation_radius(60, 6, error) == pytest.approx(0.255004456368, abs=1e-12)
    everywhere = math.sqrt(math.log(2 / error) / 120)  # one distance for all values (Massart 1990)
    assert band.upper[0] - band.lower[0] < 5 / 60 + everywhere, "in the tails, narrower than one distance everywhere"


def test_without_rows_nothing_is_ruled_out():
    for ordered in (True, False):
        found = confidence_set([0, 1, 2], [0, 0, 0], 0.05, ordered=ordered)
        assert found.top([1, 0, 0]) == 1 and found.bottom([1, 0, 0]) == 0
        assert confidence_set([0, 1, 2], [3, 4, 5], 0.05, ordered=ordered, shift=1).top([1, 0, 0]) == 1
        assert confidence_set([7], [12], 0.05, ordered=ordered).bottom([1]) == 1


def test_half_of_the_error_goes_to_each_part():
    counts, error = [20, 30, 10], 0.05
    band, box = confidence_set(range(3), counts, error).sets
    assert band == level_band(range(3), counts, 0.025) != level_band(range(3), counts, error)
    assert box == clopper_box(range(3), counts, 0.025) != clopper_box(range(3), counts, error)


def test_the_radius_is_chosen_by_numbers_never_by_counts():
    """Both radii are valid, the smaller of them is not: one is taken above 20 rows per value, the other up to there."""
    for counts, moments in (([20] * 4, False), ([21, 20, 20, 20], True), ([400, 0, 0, 0], True), ([3, 1, 0, 0], False)):
        box, ball = confidence_set(range(4), counts, 0.1, ordered=False).sets
        rule = divergence_radius(sum(counts), 4, 0.05) if moments else mixture_radius(counts, 0.05)
        assert ball.distance == "kl" and ball.radius == rule and isinstance(box, Box)
    few = [20] * 4
    assert mixture_radius(few, 0.05) < divergence_radius(80, 4, 0.05), "which is smaller does change"
    assert mixture_radius([1, 0, 79, 0], 0.05) > divergence_radius(80, 4, 0.05)
    assert confidence_set(range(4), [1, 0, 79, 0], 0.1, ordered=False).sets[1].radius == mixture_radius(
        [1, 0, 79, 0], 0.05
    )


def test_every_set_holds_the_observed_frequencies():
    rng = np.random.default_rng(6)
    for _ in range(30):
        n, k = int(rng.choice([1, 2, 50, 3000])), int(rng.integers(2, 12))
        counts = rng.multinomial(n, rng.dirichlet(np.full(k, 0.3))).tolist()
        for ordered, shift in itertools.product([True, False], [0.0, 0.02]):
            found = confidence_set(range(k), counts, float(rng.choice([0.5, 0.05, 1e-3])), ordered=ordered, shift=shift)
            assert found.contains([Fraction(c, n) for c in counts])


@pytest.mark.parametrize(
    ("arguments", "kind", "why"),
    [
        (([0, 1], [1], 0.05), BadLaw, "expected 2 counts"),
        (([0, 1], [1, -1], 0.05), BadLaw, "not negative"),
        (([0, 1], [1, 0.5], 0.05), BadLaw, "whole numbers"),
        (([0, 1], [1, True], 0.05), BadLaw, "whole numbers"),
        (([0, 1], [1, 10**12], 0.05), BadLaw, "more than 1e\\+12 rows"),
        (([1, 0], [1, 1], 0.05), BadLaw, "strictly increasing"),
        (([0, 1], [1, 1], 0), UsageError, "strictly between 0 and 1"),
        (([0, 1], [1, 1], 1), UsageError, "strictly between 0 and 1"),
        (([0, 1], [1, 1], float("nan")), UsageError, "strictly between 0 and 1"),
    ],
)
def test_what_is_refused(arguments, kind, why):
    with pytest.raises(kind, match=why):
        confidence_set(*arguments)


@pytest.mark.parametrize("shift", [-0.1, 1.1, float("nan"), "0.1", None])
def test_a_shift_is_a_total_variation(shift):
    with pytest.raises(UsageError, match="total variation between 0 and 1"):
        confidence_set([0, 1], [1, 1], 0.05, shift=shift)
