"""Record swaps: two data sets with fixed class counts differ in a few records; bounds for sure, and by draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.sentences import APART
from fugu.documents.swap import Block
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.asks import check_epsilon
from fugu.laws import Discrete, poisson_binomial, sum_of
from fugu.loss.search.normal import fast_gaussian_delta
from fugu.loss.vectors_gaussian import PLACES
from fugu.noise.bits import BitSource
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, decimal_up, is_whole
from fugu.scenario.moves import ONCE, moves, said
from fugu.scenario.property import PropertyModel, fixed_counts
from fugu.scenario.scenario import Scenario

# Record swap: two data sets whose class counts are fixed numbers differ in a few records, whatever the records' law.
#
# Under the share p, exactly c = floor(n p + 1/2) records have the property; under p' exactly c'. Let k = |c - c'|. If,
# in both cases, records are drawn from the same law of their class (independently, or without replacement from one
# population), the two data sets can be drawn together so that n - k records are the same and k records with the
# property stand in one where k records without it stand in the other. Hence
#
#     F - F' = A (x_1 + ... + x_k - y_1 - ... - y_k),     x with the property, y without, A the statistics' factors,
#
# for statistics that are sums over records. No Gaussian model is needed (docs/proofs/moves.md#record-swap). k is
# the largest over the pairs asked for: it does not grow with |p - p'| alone, because of the rounding.
#
# The counts must be FIXED. If each record has the property with probability p, independently, the claim is false: for
# n = 50, p = 0.02 and 0.04, Laplace noise for k = 1 at epsilon 1 has level 1.634 (tests/scenario/test_swap.py).


def swap_shift(model: Scenario | PropertyModel) -> Scenario:
    """How far a swap of records moves each coordinate at most: |F_j - F'_j| <= k a_j r_j for sure, in every coordinate
    j: r_j one record's range, a_j its factor.

    `model`: a scenario made by `Scenario.from_property`, or its `property`. Returns a scenario of translates.

    So W_inf in the l1 norm is at most k sum_j a_j r_j: a guarantee for every law of the records within their ranges,
    by `fugu.scenario.moves`. Ranges are the declared ones; without, those of the reference, as an assumption."""
    found = model_of(model)
    k = found.swapped
    seen = tuple(dict.fromkeys(s.column for s in found.statistics if s.equals is None and s.column not in found.bounds))
    said_ranges = ", ".join(f"{s}: {said(r)}" for s, r in zip(found.statistics, found.ranges, strict=True))
    bounds = [k * reach for reach in found.reach]
    alike = f"proved to look alike: every two such numbers that differ by at most {k}"
    shifted = moves(
        bounds if len(bounds) > 1 else bounds[0],
        ("one share", "another share"),
        (
            *fixed_counts(found, alike),
            f"at most {k} records are swapped; one record moves its number by at most {said_ranges}",
            *(f"{name} stays within the range it has in the reference" for name in seen),
            ONCE,
        ),
    )
    return replace(shifted, property=found)


def swap_counts(model: Scenario | PropertyModel) -> Scenario:
    """The exact law of one count for each share: Bin(c, q_1) * Bin(n - c, q_0), q the reference's rates by class.

    `model`: a scenario made by `Scenario.from_property` with one count, or its `property`. Returns a scenario with one
    law per share; raises `UsageError` for several statistics or a mean.
    Without replacement both are hypergeometric. The laws are exact rationals, so a pure budget can be met."""
    found = model_of(model)
    if len(found.statistics) != 1 or found.statistics[0].equals is None:
        raise UsageError(
            "exact laws are computed for one statistic, a count such as count(sex=Female); for several use swap_shift"
        )
    drawn = "independently (with replacement)" if found.replacement else "without replacement"
    laws = {label: _count(found, c) for label, c in zip(found.labels, found.counts, strict=True)}
    return Scenario(
        laws,
        found.alike,
        assumptions=(
            *fixed_counts(found),
            f"records are drawn {drawn} from the reference's records of their class: the law of the count is exact",
            f"rates from {len(found.having)} records with {found.name} and {len(found.lacking)} without",
            APART,
            ONCE,
        ),
        property=found,
    )


def model_of(given: object) -> PropertyModel:
    """The model itself, or that of a scenario made by `Scenario.from_property`."""
    found = given.property if isinstance(given, Scenario) else given
    if not isinstance(found, PropertyModel):
        raise UsageError("a record swap needs a scenario made by Scenario.from_property, or its .property")
    return found


def _count(model: PropertyModel, c: int) -> Discrete:
    """How many of c records with the property and n - c without are counted."""
    parts = ((model.having, c), (model.lacking, model.size - c))
    if model.replacement:
        rates = [(Fraction(int(rows.sum()), len(rows)), copies) for rows, copies in parts]
        return poisson_binomial([rate for rate, copies in rates for _ in range(copies)])
    laws = []
    for rows, drawn in parts:  # hypergeometric: P(j) = C(M, j) C(N - M, d - j) / C(N, d)
        marked = int(rows.sum())
        ways = [comb(marked, j) * comb(len(rows) - marked, drawn - j) for j in range(min(drawn, marked) + 1)]
        whole = sum(ways)
        laws.append(Discrete(np.arange(len(ways)), [Fraction(way, whole) for way in ways]))
    return sum_of(laws)


# Draws of record swaps: D_j = A (x_1 + ... + x_j - y_1 - ... - y_j) for every j up to k, from uniform whole numbers.
#
# x are records of the reference with the property, y without. Where the numbers come from is the caller's: fair bits in
# a release, a generator in an analysis.


Floats = NDArray[np.float64]
Uniform = Callable[[int, int], NDArray[np.int64]]
"""(count, below): so many independent uniform whole numbers in [0, below)."""
_CELLS = 2_000_000


def swaps(model: PropertyModel, draws: int, uniform: Uniform) -> Iterator[Floats]:
    """Draws of (D_1, ..., D_k), in blocks (rows, k, statistics); each D_j follows its own law.

    `model`: whose records are swapped, k = `model.swapped`; `draws`: how many; `uniform`: where they come from."""
    factors, k = np.array([float(a) for a in model.factors]), model.swapped
    block = max(1, _CELLS // (k * len(factors)))
    while draws:
        rows = min(draws, block)
        x, y = (
            records[places_among(uniform, rows, k, len(records), model.replacement)]
            for records in (model.having, model.lacking)
        )
        yield np.cumsum((x - y) * factors, axis=1)
        draws -= rows


def places_among(uniform: Uniform, rows: int, k: int, population: int, replacement: bool) -> NDArray[np.int64]:
    """k places among the population in every row, each ordered choice as likely; all different without `replacement`.

    Without, the j-th is drawn among the N - j places left and moved past the taken ones in increasing order.

    `uniform`: where they come from; `rows`, `k`, `population`: whole numbers, k at most N without replacement."""
    if replacement:
        return uniform(rows * k, population).reshape(rows, k)
    found = np.empty((rows, k), dtype=np.int64)
    for j in range(k):
        place = uniform(rows, population - j)
        for taken in np.sort(found[:, :j], axis=1).T:
            place += place >= taken
        found[:, j] = place
    return found


def from_bits(source: BitSource) -> Uniform:
    """Whole numbers from fair bits: words of as many bits as they need, those above thrown away.

    >>> from fugu.noise.bits import OsBits
    >>> int(from_bits(OsBits())(1000, 3).max()) < 3
    True
    """

    def uniform(count: int, below: int) -> NDArray[np.int64]:
        bits = max(1, (below - 1).bit_length())
        found = np.empty(0, dtype=np.int64)
        while len(found) < count:
            words = source.words(bits, count - len(found)).astype(np.int64)
            found = np.concatenate([found, words[words < below]])
        return found

    return uniform


def from_generator(rng: object) -> Uniform:
    """Whole numbers from a generator, whose draws a confidence is about."""
    if not isinstance(rng, np.random.Generator):
        raise UsageError(
            f"rng must be a numpy Generator, whose draws the confidence is about, got {type(rng).__name__}"
        )
    return lambda count, below: rng.integers(below, size=count)


# How long A (x_1 + ... + x_j - y_1 - ... - y_j) is, for every number j up to k, from fair bits: lengths are rounded up
# to the places of `fugu.loss.vectors_gaussian` and counted, so that nothing of a single record is kept. Where many
# numbers of records can be swapped, neighbouring ones share a block, which counts the longest of their differences.


MOST_BLOCKS = 32
_SLACK = 1 + 1e-9
"""Far above the rounding of sums of doubles: lengths are rounded up."""


def swap_blocks(model: PropertyModel, draws: int, unit: Fraction, source: BitSource) -> list[Block]:
    """Count the lengths of so many draws, for all numbers of swapped records up to `model.swapped`.

    `unit`: the length of place 0, to which shorter ones are rounded up; `source`: fair bits, in a release those of the
    operating system. Without replacement all records of one draw are different ones."""
    last = model.swapped  # one number each, or blocks that are shorter where numbers are larger: the longest
    starts = list(range(1, last + 1))  # differences, which decide, are there
    if last > MOST_BLOCKS:
        starts = sorted({1 + round((last - 1) * (i / MOST_BLOCKS) ** 0.5) for i in range(MOST_BLOCKS)})
    ends = [*(start - 1 for start in starts[1:]), model.swapped]
    found: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64) for _ in starts]
    for drawn in swaps(model, draws, from_bits(source)):
        lengths = np.maximum.reduceat(np.sqrt(np.einsum("rkd,rkd->rk", drawn, drawn)), np.array(starts) - 1, axis=1)
        places = places_of(lengths * (_SLACK / float(unit)))
        for k in range(len(starts)):
            seen = np.bincount(places[:, k], minlength=len(found[k]))
            seen[: len(found[k])] += found[k]
            found[k] = seen
    return [
        Block(start, end, tuple(np.flatnonzero(seen).tolist()), tuple(seen[seen > 0].tolist()))
        for start, end, seen in zip(starts, ends, found, strict=True)
    ]


def places_of(lengths: Floats) -> NDArray[np.int64]:
    """The least place whose length, in units, is at least each of these.

    >>> places_of(np.array([0.0, 1.0, 1.5, 1.501, 2.0])).tolist()
    [0, 0, 128, 129, 256]
    """
    part, octave = np.frexp(np.maximum(lengths, 1.0))
    return np.asarray((octave - 1) * PLACES + np.ceil((2 * part - 1) * PLACES), dtype=np.int64)


# Record swaps under the reference's own records: Gaussian noise, and closeness, with a stated confidence.
#
# With D_k = A (x_1 + ... + x_k - y_1 - ... - y_k) as in `fugu.scenario.swap`, joint convexity of the hockey stick gives
#
#     HS_e(F + Z || F' + Z) <= E delta(e, |D_k|_2 / sigma),      Z ~ N(0, sigma^2 I), delta the Gaussian curve,
#
# in both orders (delta depends on the length only). The expectation is over draws from the reference's records. It is
# bounded by drawing, so what is found holds with a stated confidence over those draws: it is not a plain guarantee, and
# no mechanism is made of it (the noise here is continuous, for analysis). The generator of the draws is the caller's.
# The bound is for every number of swapped records 1 .. k at once, because the expectation need not grow with k
# (docs/proofs/moves.md#record-swap-by-drawing).


_PILOT = 100_000
_BINS = 20_000
_TABLE = 4_000_000
_TRIES = 20


@final
@dataclass(frozen=True)
class SwapBound:
    """What was found by drawing: with this confidence, delta is at most `bound` at this noise or distance."""

    value: float
    """sigma of the Gaussian noise, or the l1 distance W."""
    bound: float
    """An upper confidence bound of delta."""
    confidence: float
    records: int
    """The largest number of swapped records; every smaller one is covered as well."""
    draws: int
    kind: str

    def __str__(self) -> str:
        what = "Gaussian noise of sigma" if self.kind == "gaussian" else "closeness in the l1 norm within"
        return (
            f"{what} {self.value:.6g}: delta <= {self.bound:.4g} with confidence {self.confidence:.10g}, over "
            f"{self.draws} draws of up to {self.records} swapped records; not a plain guarantee"
        )


def swap_sigma(
    model: Scenario | PropertyModel, epsilon: Real, delta: Real, confidence: float = 1 - 1e-6, draws: int = 400_000,
    *, rng: np.random.Generator,
) -> SwapBound:  # fmt: skip
    """A small standard deviation of noise that hides the swap, found with this confidence: E delta(epsilon, |D_k|_2 /
    sigma) <= delta for every k.

    Parameters: `model`, a scenario made by `Scenario.from_property`, or its `property`; `epsilon`, a finite number >=
    0; `delta` in (0, 1); `confidence` in (0, 1); `draws`, how many swaps are drawn; `rng`, a `numpy.random.Generator`.

    Returns a `SwapBound`, which is not a guarantee by itself: it holds with the confidence stated. Raises `NotProvable`
    where so many draws prove no delta as small.

    sigma is sought on a pilot of its own. Then fresh draws bound each expectation by the empirical Bernstein inequality
    (`upper_mean`), with the error probability shared among all k and among the tries: try t = 1, 2, ... gets 2^-t."""
    found = model_of(model)
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise BadBudget("an infinite epsilon promises nothing; give a finite one")
    error, target = _checked(delta, confidence, draws), float(delta)
    source = from_generator(rng)
    k = found.swapped
    farthest = float(np.linalg.norm([float(x) for x in found.reach]))
    if farthest == 0:
        return SwapBound(0.0, 0.0, confidence, k, 0, "gaussian")
    pilot = _lengths(found, min(draws, _PILOT), farthest, source)

    def bound(sigma: float, seen: NDArray[np.int64], share: float) -> float:
        """The upper bound at this sigma if all draws are distributed as those seen."""
        bins = seen.shape[1] - 1
        losses = fast_gaussian_delta(float(epsilon), farthest * k * np.arange(bins + 1) / bins / sigma)
        weights = seen / seen.sum(axis=1, keepdims=True)
        mean = weights @ losses
        variance = (weights * (losses - mean[:, None]) ** 2).sum(axis=1) * draws / (draws - 1)
        tops = losses[np.minimum(bins * np.arange(1, k + 1) // k + 2, bins)]
        return float(upper_mean(mean, variance, tops, draws, share).max())

    low, high = math.log(farthest) - 20, math.log(farthest) + 20
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (middle, high) if bound(math.exp(middle), pilot, error / k / 2) > target else (low, middle)
    sigma = float(decimal_up(math.exp(high), 4))
    for attempt in range(1, _TRIES + 1):
        proved = bound(sigma, _lengths(found, draws, farthest, source), error / k / 2**attempt)
        if proved <= target:
            return SwapBound(sigma, proved, confidence, k, draws, "gaussian")
        sigma = float(decimal_up(sigma * 1.01, 4))
    raise NotProvable(f"{draws} draws bound no delta as small as {target:g} at this confidence; ask for more draws")


def swap_closeness(
    model: Scenario | PropertyModel, delta: Real, confidence: float = 1 - 1e-6, draws: int = 400_000, *,
    rng: np.random.Generator,
) -> SwapBound:  # fmt: skip
    """A distance W with, at this confidence, P(|D_k|_1 > W) <= delta for every k: the laws are (W, delta)-close.

    Of N draws W is the (j + 1)-th largest, j the largest number with P(Bin(N, delta) <= j) <= a: if W were too small,
    at most j draws would reach the true quantile, which each does with probability >= delta."""
    from scipy.stats import binom

    found = model_of(model)
    error = _checked(delta, confidence, draws)
    k = found.swapped
    level = error / k
    j = int(binom.ppf(level, draws, float(delta)))
    while j >= 0 and binom.cdf(j, draws, float(delta)) > level * (1 - 1e-9):
        j -= 1
    if j < 0:
        raise NotProvable(f"{draws} draws show no quantile of order {float(delta):g}; ask for more draws")
    source = from_generator(rng)
    lengths = np.concatenate([np.abs(d).sum(axis=2) for d in swaps(found, draws, source)])
    widest = float(np.partition(lengths, draws - 1 - j, axis=0)[draws - 1 - j].max())
    return SwapBound(widest * _SLACK, float(delta), confidence, k, draws, "closeness")


def upper_mean(mean: Floats, variance: Floats, top: Floats, n: int, error: float) -> Floats:
    """Above the mean of the law with probability >= 1 - error, for n independent values in [0, top].

    mean + sqrt(2 V ln(2/error) / n) + 7 top ln(2/error) / (3 (n - 1)), V the sample variance (Maurer and Pontil 2009,
    Theorem 4, scaled).

    >>> upper_mean(np.array([0.5]), np.array([0.0]), np.array([1.0]), 1001, 0.05).round(6)
    array([0.508607])
    """
    odds = math.log(2 / error)
    bound = mean + np.sqrt(2 * variance * odds / n) + 7 * top * odds / (3 * (n - 1))
    return np.asarray(np.minimum(bound, top) * _SLACK)


def _lengths(model: PropertyModel, n: int, farthest: float, source: Uniform) -> NDArray[np.int64]:
    """How many of n draws have |D_j|_2 in each of the bins, for j = 1 .. k; bin i ends at farthest k i / bins.

    Lengths are rounded up to the end of their bin, which only raises a loss that grows with the length."""
    k = model.swapped
    bins = max(2000, min(_BINS, _TABLE // k))
    found = np.zeros((k, bins + 1), dtype=np.int64)
    for drawn in swaps(model, n, source):
        ends = np.minimum(np.ceil(np.linalg.norm(drawn, axis=2) * (bins / (farthest * k))), bins).astype(np.int64)
        for j in range(k):
            found[j] += np.bincount(ends[:, j], minlength=bins + 1)
    return found


def _checked(delta: Real, confidence: float, draws: int) -> float:
    """1 - confidence, once all three make sense."""
    if not is_share(delta):
        raise BadBudget(f"delta must be a number in (0, 1), got {delta!r}")
    if not is_share(confidence):
        raise UsageError(f"confidence must be a number in (0, 1), got {confidence!r}")
    if not is_whole(draws, least=1000):
        raise UsageError(f"draws must be a whole number of at least 1000, got {draws!r}")
    return 1 - float(confidence)
