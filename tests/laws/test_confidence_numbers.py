"""Radii, intervals and levels: the printed vectors, and proofs in exact rationals from the definitions."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

from fugu.errors import UsageError
from fugu.laws.sets import mixture_interval, secret_error
from fugu.laws.sets.levels import (
    chernoff_limits,
    clopper_pearson,
    divergence_radius,
    levels,
    mixture_radius,
    noncrossing,
    proved,
    too_high,
    too_low,
    variation_radius,
)
from hunting import search

FIVE = Fraction(1, 20)


def types_radius(n, k, error):
    """The method of types, which is never the smallest: kept here only, to compare."""
    return (math.log(math.comb(n + k - 1, k - 1)) + math.log(1 / error)) / n


def test_printed_radii():
    assert variation_radius(100, 5, 0.05) == pytest.approx(0.1788425237, abs=1e-10)
    assert variation_radius(1000, 20, 0.05) == pytest.approx(0.0918114208, abs=1e-10)
    agrawal = [divergence_radius(n, k, 0.05) for n, k in ((100, 5), (1000, 20), (1000, 100))]
    assert agrawal == pytest.approx([0.1106610055, 0.0317533701, 0.1253915501], abs=1e-10)
    types = [types_radius(n, k, 0.05) for n, k in ((100, 5), (1000, 20))]
    assert types == pytest.approx([0.1833689166, 0.0950919753], abs=1e-10) and agrawal[0] < types[0]
    mixed = [mixture_radius(c, 0.05) for c in ([3, 7], [8, 14, 20, 11, 5, 2], [0, 0, 10, 0])]
    assert mixed == pytest.approx([0.4400893873, 0.1911927274, 0.7129779843], abs=1e-10)
    assert variation_radius(10, 1, 0.05) == divergence_radius(10, 1, 0.05) == 0 and variation_radius(0, 3, 0.05) == 1


@pytest.mark.parametrize(
    ("n", "eta", "coverage"),
    [(10, 7.3843e-03, 0.95000394), (60, 2.7213e-03, 0.95000515), (300, 1.4929e-03, 0.95000101)],
)
def test_printed_levels(n, eta, coverage):
    """The eta is printed with five digits, which decides the coverage to 8e-7."""
    found = levels(n, FIVE)
    assert found.eta == pytest.approx(eta, rel=2e-4) and found.eta >= eta
    lowest, _ = noncrossing(found.ranks, found.low, found.high, n)
    assert 0.95 <= lowest < 0.9500002 < coverage


def exact_noncrossing(ranks, low, high, n):
    """n! sum over counts of prod gap^k / k!, in rationals: the probability itself."""
    times = sorted({Fraction(float(t)) for t in [*low, *high] if 0 < t < 1} | {Fraction(1)})
    law, before = {0: Fraction(1)}, Fraction(0)
    for t in times:
        law = {
            j: sum(p * (t - before) ** (j - i) / math.factorial(j - i) for i, p in law.items() if i <= j)
            for j in range(n + 1)
        }
        for r, a, b in zip(ranks, low, high, strict=True):
            if Fraction(float(b)) <= t:
                law = {j: p for j, p in law.items() if j >= r}
            if Fraction(float(a)) >= t:
                law = {j: p for j, p in law.items() if j <= r - 1}
        before = t
    return math.factorial(n) * law.get(n, Fraction(0))


@search("order statistics between limits, against rationals", quick=25)
def test_the_recursion_is_just_below_the_exact_probability(rng):
    n = int(rng.integers(1, 9))
    ranks = np.flatnonzero(rng.random(n) < 0.8) + 1
    ranks = ranks if ranks.size else np.array([n])
    centre, reach = ranks / (n + 1), rng.choice([0.02, 0.2, 0.6]) * rng.random((2, len(ranks)))
    low = np.maximum.accumulate(np.maximum(0, centre - reach[0]))
    high = np.minimum.accumulate(np.minimum(1, centre + reach[1])[::-1])[::-1]
    truth = exact_noncrossing(ranks.tolist(), low, high, n)
    found, slack = noncrossing(ranks, low, high, n)
    assert Fraction(found) <= truth and float(truth) - found <= 2 * slack + 1e-15
    assert slack <= 1e-12
    if len(ranks) == n and 0 < truth < 1:  # an index off by one is another probability
        assert abs(float(truth) - noncrossing(ranks, low, np.append(high[1:], 1.0), n)[0]) > 1e-9 or n == 1


def tail(n, p, cells):
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in cells)


@search("binomial limits against exact tails", quick=30)
def test_a_binomial_limit_has_at_most_its_tail_and_little_less(rng):
    n = int(rng.integers(1, 40))
    count, error = int(rng.integers(0, n + 1)), Fraction(int(rng.integers(1, 900)), 1000)
    low, high = map(Fraction, clopper_pearson(count, n, error))
    for limit, cells, end, outside in ((low, range(count, n + 1), 0, 1), (high, range(count + 1), 1, -1)):
        if limit == end:
            assert count == end * n
            continue
        assert tail(n, limit, cells) <= error / 2
        inward = limit + outside * Fraction(1, 10**9)
        assert tail(n, inward, cells) > error / 2, "wider than needed"
    assert low < Fraction(count, n) < high or count in (0, n)


def test_limits_of_a_tail_are_decided_by_the_right_tail():
    assert too_low(0.0667, 3, 10, FIVE / 2) and not too_low(0.0668, 3, 10, FIVE / 2)
    assert too_high(0.6525, 3, 10, FIVE / 2) and not too_high(0.6524, 3, 10, FIVE / 2)
    assert not too_low(0.1, 0, 10, FIVE) and not too_high(0.9, 10, 10, FIVE)


def outcomes(n, k):
    for bars in itertools.combinations(range(n + k - 1), k - 1):
        ends = (-1, *bars, n + k - 1)
        yield [b - a - 1 for a, b in itertools.pairwise(ends)]


def probability(counts, law):
    found = math.factorial(sum(counts))
    for c, p in zip(counts, law, strict=True):
        found = found * p**c / math.factorial(c)
    return found


LAWS = [(1 / 3, 1 / 3, 1 / 3), (0.9, 0.08, 0.02), (0.5, 0.49, 0.01), (0.05, 0.05, 0.9), (0.2, 0.3, 0.5)]


@pytest.mark.parametrize("law", LAWS)
def test_radii_hold_in_exact_enumeration_and_halves_of_them_do_not(law):
    n, k, error = 18, 3, 0.05
    missed = dict.fromkeys(("tv", "kl", "mixture", "half", "third"), 0.0)
    for counts in outcomes(n, k):
        seen = np.array(counts) / n
        weight, there = probability(counts, law), seen > 0
        tv, kl = 0.5 * np.abs(seen - law).sum(), float(np.sum(seen[there] * np.log(seen[there] / np.array(law)[there])))
        radius = divergence_radius(n, k, error)
        missed["tv"] += weight * (tv > variation_radius(n, k, error))
        missed["kl"] += weight * (kl > radius)
        missed["mixture"] += weight * (kl > mixture_radius(counts, error))
        missed["half"] += weight * (tv > 0.4 * variation_radius(n, k, error))
        missed["third"] += weight * (kl > radius / 4)
    assert max(missed[x] for x in ("tv", "kl", "mixture")) <= error
    assert max(missed["half"], missed["third"]) > error, "the enumeration would see a radius that is too small"


def stopped_early(interval, n, p):
    """P(the interval misses p at some time up to n), exactly by the law of the count."""
    law, missed = {0: 1.0}, 0.0
    for t in range(1, n + 1):
        new = {}
        for c, weight in law.items():
            new[c] = new.get(c, 0.0) + weight * (1 - p)
            new[c + 1] = new.get(c + 1, 0.0) + weight * p
        law = {}
        for c, weight in new.items():
            low, high = interval(c, t, 0.05)
            if low <= p <= high:
                law[c] = weight
            else:
                missed += weight
    return missed


def fixed_time(count, n, error):
    low = beta.ppf(error / 2, count, n - count + 1) if count else 0.0
    return low, beta.isf(error / 2, count + 1, n - count) if count < n else 1.0


@pytest.mark.parametrize("p", [0.02, 0.5])
def test_mixture_intervals_hold_at_all_times_and_fixed_ones_do_not(p):
    assert 0.001 < stopped_early(mixture_interval, 60, p) <= 0.05
    if p > 0.1:
        assert stopped_early(fixed_time, 60, p) > 0.06, "limits for a fixed number of trials, at random times"


def test_mixture_limits_are_at_the_threshold():
    def density(p, count, n):
        mixed = math.lgamma(count + 0.5) + math.lgamma(n - count + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
        return count * math.log(p) + (n - count) * math.log1p(-p) - mixed - math.log(0.05)

    for count, n in ((1, 2), (3, 10), (70, 100), (5, 10**6)):
        low, high = mixture_interval(count, n, 0.05)
        assert density(low, count, n) == pytest.approx(0, abs=1e-8) == density(high, count, n)
        assert density(low * 1.001, count, n) > 0 > density(low * 0.999, count, n)
    assert mixture_interval(0, 0, 0.05) == (0, 1) and mixture_interval(5, 5, 0.05)[1] == 1


@pytest.mark.parametrize("m", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999, Fraction(2, 3)])
def test_the_error_of_each_secret_adds_up_to_the_stated_one(confidence, m):
    held = Fraction(str(confidence)) if isinstance(confidence, float) else confidence
    each = secret_error(confidence, m, disjoint=True)
    assert (1 - each) ** m >= held and (1 - each * (1 + Fraction(1, 10**9))) ** m < held
    assert secret_error(confidence, m, disjoint=False) == (1 - held) / m <= each


def test_sets_that_lean_on_each_others_rows_are_not_independent():
    """Each misses with probability e whatever the rows of the other, but never together: the misses add up."""
    grid = 400
    u, v = np.meshgrid(np.arange(grid), np.arange(grid))
    for disjoint, holds in ((True, False), (False, True)):
        error = secret_error(0.95, 2, disjoint=disjoint)
        width = float(error) * grid
        first, second = (u - v) % grid < width, (u - v + grid // 2) % grid < width
        inside = 1 - float(error) * 2  # of a fine grid: disjoint strips, each of share e in every row and column
        assert not np.any(first & second) and (inside >= 0.95 - 1e-15) == holds


@pytest.mark.parametrize("error", [0, 1, -0.1, float("nan"), "0.05", True, None])
def test_errors_outside_the_open_interval_are_refused(error):
    for call in (
        lambda: mixture_interval(1, 2, error),
        lambda: clopper_pearson(1, 2, error),
        lambda: variation_radius(10, 2, error),
        lambda: divergence_radius(10, 2, error),
        lambda: secret_error(error, 2, True),
    ):
        with pytest.raises(UsageError, match="strictly between 0 and 1"):
            call()


@pytest.mark.parametrize(("count", "n"), [(-1, 3), (4, 3), (1.0, 3), (True, 3), (1, -1), (1, 2.5)])
def test_counts_that_are_none_are_refused(count, n):
    for interval in (mixture_interval, clopper_pearson):
        with pytest.raises(UsageError, match="a count between 0 and"):
            interval(count, n, 0.05)
    for secrets in (0, -1, 1.5, True):
        with pytest.raises(UsageError, match="number of secrets"):
            secret_error(0.95, secrets, True)


def test_small_errors_are_proved_one_rank_at_a_time():
    """Below what roundings allow to prove, a union bound: every limit by its binomial tail."""
    error = Fraction(1, 10**9)
    found = levels(40, error)
    assert found.eta == 0 and proved(40, error) is found
    missed = sum(
        tail(40, Fraction(a), range(r, 41)) + tail(40, Fraction(b), range(r))
        for r, a, b in zip(found.ranks.tolist(), found.low.tolist(), found.high.tolist(), strict=True)
    )
    assert float(error) / 2 < missed <= error
    assert levels(40, Fraction(1, 10**6)).eta > 0


@pytest.mark.parametrize(("n", "error"), [(1, FIVE), (7, FIVE), (40, Fraction(1, 1000))])
def test_exponential_limits_are_at_most_as_likely_to_break_as_stated(n, error):
    """What very many rows use, on few rows where the tails are known exactly."""
    ranks = np.arange(1, n + 1)
    low, high = chernoff_limits(ranks, n, error)
    for r, a, b in zip(ranks.tolist(), map(Fraction, low.tolist()), map(Fraction, high.tolist()), strict=True):
        below, above = tail(n, a, range(r, n + 1)), tail(n, b, range(r))
        assert max(below, above) <= error / (2 * n)
        assert a < Fraction(r, n + 1) < b
    assert sum(high - low) < 0.98 * n or n == 1


def test_very_many_rows_are_quick_and_narrow():
    start, narrow = time.process_time(), {}
    for n in (10**7, 10**9, 10**12):
        found = levels(n, Fraction(1, 40))
        middle = len(found.ranks) // 2
        narrow[n] = (found.high[middle] - found.low[middle]) * math.sqrt(n)
        assert np.all(found.low < found.high) and np.all(np.diff(found.low) >= 0) and found.eta == 0
    assert max(narrow.values()) < 6 and min(narrow.values()) > 3, "within some tenths of 3.9, the recursion's"
    assert time.process_time() - start < 8


def test_a_million_rows_take_about_a_second():
    start = time.process_time()
    found = levels(10**6, Fraction(1, 40))
    assert time.process_time() - start < 5
    lowest, _ = noncrossing(found.ranks, found.low, found.high, 10**6)
    assert Fraction(lowest) >= 1 - Fraction(1, 40) and lowest < 0.9752
    assert len(found.ranks) > 1000
