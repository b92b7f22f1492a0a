"""Limits of laws from counts: Clopper-Pearson boxes, mixed likelihoods, radii of balls; bands from order statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.fixed import fixed
from fugu.laws.sets.box import Band
from fugu.laws.sets.law_set import declared
from fugu.numbers.balls import of, precision, upper
from fugu.numbers.checks import is_share
from fugu.numbers.exact import UNIT, Real, VectorLike, as_fraction, is_whole
from fugu.progress import on_time

_LIMIT_BITS = 96
_UNITS_OUT = range(1, 24)


@lru_cache(maxsize=65536, typed=True)
def clopper_pearson(count: int, n: int, error: Real) -> tuple[float, float]:
    """Limits l, u with P(l <= p <= u) >= 1 - error for a Binomial(n, p) count, whatever p (Clopper, Pearson 1934).

    l is a double with P(X >= count | l) <= error / 2, u one with P(X <= count | u) <= error / 2; both inequalities are
    proved in balls. Doubles only say where to look.

    - `count`: 0 to n. - `n`: the number of rows; 0 gives (0, 1). - `error`: strictly between 0 and 1.

    >>> [round(x, 9) for x in clopper_pearson(3, 10, 0.05)]
    [0.066739511, 0.65245285]
    """
    tail = checked_error(error) / 2
    if not is_whole(n, least=0) or not is_whole(count, least=0, most=n):
        raise UsageError(f"an interval needs a count between 0 and the number of rows, got {count!r} of {n!r}")
    c, rows = int(count), int(n)
    low = binomial_limit(c, rows, tail, up=False) if c else 0.0
    high = binomial_limit(c, rows, tail, up=True) if c < rows else 1.0
    return low, high


def too_low(p: float | Fraction, count: int, n: int, tail: Fraction) -> bool:
    """Whether P(X >= count | p) <= tail is proved, for X ~ Binomial(n, p): p may be a lower limit."""
    if count == 0 or p >= 1:
        return False
    with precision(_LIMIT_BITS):
        return p <= 0 or bool(of(p).beta_lower(arb(count), arb(n - count + 1), 1) <= of(tail))


def too_high(p: float | Fraction, count: int, n: int, tail: Fraction) -> bool:
    """Whether P(X <= count | p) <= tail is proved, for X ~ Binomial(n, p): p may be an upper limit."""
    if count == n or p <= 0:
        return False
    with precision(_LIMIT_BITS):
        return p >= 1 or bool((1 - of(p)).beta_lower(arb(n - count), arb(count + 1), 1) <= of(tail))


def binomial_limit(count: int, n: int, tail: Fraction, *, up: bool) -> float:
    """The limit that doubles suggest, moved outward by as few units as the proof needs; bisection if they mislead."""
    from scipy.special import betainccinv, betaincinv

    inverse, proved = (betainccinv, too_high) if up else (betaincinv, too_low)
    first, second = (count + 1, n - count) if up else (count, n - count + 1)
    guess = float(inverse(first, second, float(tail)))
    if 0 < guess < 1:
        for bits in _UNITS_OUT:
            step = 2.0 ** (bits - 53)
            limit = min(1.0, guess * (1 + step)) if up else guess * (1 - step)
            if proved(limit, count, n, tail):
                return limit
    return edge(lambda p: proved(p, count, n, tail), 1.0 if up else 0.0, count / n)


def cell_error(error: Fraction, k: int) -> Fraction:
    """The error of one cell of k, so that all hold together: a union bound; two cells are one event, one cell none."""
    return error if k <= 2 else error / k


# Confidence sets from mixed likelihoods: valid for every sample size at once, so also for one that the data chose.
#
# Let q be the likelihood of the rows mixed over a Dirichlet(1/2, ..., 1/2) law of p. Under the true law the ratio
# q / (likelihood of p) is a martingale that starts at 1, so it exceeds 1 / error at some time with probability at most
# `error` (Ville 1939). So {p : likelihood of p >= error q} holds the true law, whenever one stops. With two cells it is
# an interval of p; with k cells it is n KL(p^, p) <= ln 1/error + ln(largest likelihood) - ln q.


_LIKELIHOOD_BITS = 128


@lru_cache(maxsize=4096, typed=True)
def mixture_interval(count: int, n: int, error: Real) -> tuple[float, float]:
    """The p with p^c (1-p)^(n-c) >= error B(c + 1/2, n - c + 1/2) / B(1/2, 1/2), as doubles at or outside its ends.

    P(the probability of a cell is inside, at every n) >= 1 - error. Proved in balls: each limit is the double next to
    the set from which all that lies beyond is outside, because the likelihood is unimodal.

    - `count`: how often the cell occurred, 0 to n. - `n`: the number of trials; 0 gives (0, 1).
    - `error`: a number strictly between 0 and 1.

    >>> [round(x, 9) for x in mixture_interval(0, 10, 0.05)]
    [0.0, 0.376987351]
    """
    level = checked_error(error)
    if not is_whole(n, least=0) or not is_whole(count, least=0, most=n):
        raise UsageError(f"an interval needs a count between 0 and the number of trials, got {count!r} of {n!r}")
    if n == 0:
        return 0.0, 1.0
    with precision(_LIKELIHOOD_BITS):
        least = of(level).log() + mixed([int(count), int(n - count)])

        def outside(p: float) -> bool:
            """Whether the likelihood at p is below the threshold, proved."""
            likely = arb(0)
            for exponent, share in ((count, arb(p)), (n - count, 1 - arb(p))):
                if exponent and not share > 0:
                    return True
                likely += int(exponent) * share.log() if exponent else 0
            return bool(likely < least)

        centre = int(count) / int(n)
        low = edge(outside, 0.0, centre) if count else 0.0
        high = edge(outside, 1.0, centre) if count < n else 1.0
    return low, high


def mixture_radius(counts: Sequence[int], error: Real) -> float:
    """R with P(KL(p^, p) <= R) >= 1 - error, rounded up: (ln 1/error + ln(largest likelihood) - ln q) / n, proved in
    balls.

    - `counts`: how often each declared value occurred, at least one of them positive.
    - `error`: a number strictly between 0 and 1.

    >>> round(mixture_radius([3, 7], 0.05), 10)
    0.4400893873
    """
    level, n = checked_error(error), sum(counts)
    with precision(_LIKELIHOOD_BITS):
        best = sum((c * of(Fraction(c, n)).log() for c in counts if c), arb(0))
        return max(0.0, upper((best - mixed(counts) - of(level).log()) / n))


def mixed(counts: Sequence[int]) -> arb:
    """ln of the likelihood of the rows mixed over Dirichlet(1/2, ..., 1/2)."""
    k, n, half = len(counts), sum(counts), of(Fraction(1, 2))
    terms = sum(((c + half).lgamma() for c in counts), arb(0))
    return (k * half).lgamma() - k * half.lgamma() + terms - (n + k * half).lgamma()


def edge(outside: Callable[[float], bool], end: float, inside: float) -> float:
    """The double nearest to `inside` that bisection proves outside, starting from `end`, the end of the range: which
    needs no proof, since no probability lies beyond it."""
    far, near = end, inside
    for _ in range(1100):
        middle = 0.5 * (far + near)
        if middle in (far, near):
            break
        if outside(middle):
            far = middle
        else:
            near = middle
    return far


def checked_error(error: Real) -> Fraction:
    """The probability of error as the decimal that it stands for: strictly between 0 and 1."""
    if not is_share(error):
        raise UsageError(f"the probability of error must be strictly between 0 and 1, got {error!r}")
    return as_fraction(error)


def variation_radius(n: int, k: int, error: Real) -> float:
    """r with P(TV(p^, p) <= r) >= 1 - error for n rows on k values, rounded up, at most 1.

    The lesser of sqrt((ln(2^k - 2) + ln 1/error) / 2n) (Weissman et al. 2003) and
    (sqrt(k - 1) + sqrt(2 ln 1/error)) / (2 sqrt n) (the mean of the distance, and McDiarmid's inequality). Which one it
    is depends on n, k and the error alone, never on the counts, so taking the lesser costs nothing.

    - `n`: the number of rows; 0 gives 1. - `k`: the number of declared values; 1 gives 0.
    - `error`: strictly between 0 and 1.

    >>> round(variation_radius(100, 5, 0.05), 10)
    0.1788425237
    """
    level = checked_error(error)
    if k == 1:
        return 0.0
    if n == 0:
        return 1.0
    with precision(_LIKELIHOOD_BITS):
        surprise = -of(level).log()
        subsets = (of(2**k - 2)).log()
        weissman = ((subsets + surprise) / (2 * n)).sqrt()
        mcdiarmid = (arb(k - 1).sqrt() + (2 * surprise).sqrt()) / (2 * arb(n).sqrt())
        return min(1.0, upper(weissman), upper(mcdiarmid))


def divergence_radius(n: int, k: int, error: Real) -> float:
    """R with P(KL(p^, p) <= R) >= 1 - error for n rows on k values, rounded up (Agrawal 2020).

    E exp(l n KL(p^, p)) <= (1 - l)^-(k-1) for 0 <= l < 1, so P(n KL >= t) <= (e t / (k-1))^(k-1) e^-t for t >= k - 1:
    the least t at which this is proved to be at most the error, over n.

    - `n`: the number of rows, at least 1. - `k`: the number of declared values; 1 gives 0.
    - `error`: strictly between 0 and 1.

    >>> round(divergence_radius(100, 5, 0.05), 10)
    0.1106610055
    """
    level = checked_error(error)
    if k == 1:
        return 0.0
    far = 4.0 * (k - 1) + 4.0 * -math.log(level) if level > Fraction(1, 10**300) else 4.0 * (k - 1) + 1e5
    while not divergence_proved(Fraction(far) / n, n, k, level):
        far *= 2
    t = edge(lambda t: divergence_proved(Fraction(t) / n, n, k, level), far, float(k - 1))
    with precision(_LIKELIHOOD_BITS):
        return upper(arb(t) / n)


def divergence_proved(radius: Fraction, n: int, k: int, error: Fraction) -> bool:
    """Whether that bound at t = n radius is proved to be at most the error."""
    t, free = radius * n, k - 1
    if t < free:
        return False
    with precision(_LIKELIHOOD_BITS):
        log = free * (1 + (of(t) / free).log()) - of(t)
        return bool(log <= of(error).log())


# For rows X_i = F^-1(U_i) with U_i uniform, U_(r) is a Beta(r, n + 1 - r) variable. Limits a_r, b_r at its quantiles
# eta/2 and 1 - eta/2, with eta so small that all hold together with probability 1 - error, give for every x with c rows
# up to x
#
#     a_c <= U_(c) <= F(X_(c)) <= F(x),   F(x) <= U_(c+1) <= b_{c+1}   (X_(c+1) > x means U_(c+1) > F(x)),
#
# also for laws with atoms, and for all x at once: so values may be joined or clipped after looking (Berk, Jones 1979;
# Aldor-Noiman et al. 2013). The quantiles are doubles that nobody needs to trust: `noncrossing` bounds the probability
# that the actual limits hold.


Floats = NDArray[np.float64]
_ALL_RANKS, _MIDDLE, _ENDS = 1000, 400, 30
_MOST, _RECURSION = 2000, 3_000_000
_DIGITS = 6
_SHARP = 100_000
"""Up to so many rows eta is found to six digits; above, where each try takes a third of a second, within 0.2 %."""
_MARGIN = Fraction(1, 10**9)
"""What the level is proved to leave over when it is chosen, so that another machine proves it too."""
_WIDEN = 1e-12
"""Limits are stated this much wider, relatively: quantiles in doubles differ between machines."""
_GUESSES = (
    (0.0, 0.7, 2.3, 4.1, 5.7, 6.9, 8.0, 10.3, 11.5, 13.8),
    (1.0, 0.53, 0.148, 0.0544, 0.0299, 0.0225, 0.0191, 0.0150, 0.0132, 0.01005),
)
"""ln n, and eta / error as found for an error of 0.05: where the search begins."""
_FALL = 0.066
"""By how much eta / error falls, in logarithms, for each unit of ln(1 / error)."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Limits low[i] <= U_(ranks[i]) <= high[i] of some order statistics of n uniform rows that hold together."""

    n: int
    eta: float
    ranks: NDArray[np.int64]
    low: Floats
    high: Floats

    def at(self, counts: Sequence[int]) -> tuple[Floats, Floats]:
        """Limits of F(x) at declared values with so many rows each; between two ranks those of the neighbours hold."""
        below = np.cumsum(np.asarray(counts, dtype=np.int64))
        low = np.concatenate([[0.0], self.low])[np.searchsorted(self.ranks, below, side="right")]
        high = np.concatenate([self.high, [1.0]])[np.searchsorted(self.ranks, below + 1, side="left")]
        low[-1] = high[-1] = 1.0
        return low, high


@lru_cache(maxsize=256)
def levels(n: int, error: Fraction) -> Levels:
    """The limits of n rows that hold together with probability at least 1 - error, proved, for an eta of six digits.

    Above 1,000 rows only some ranks are constrained: 400 of them, or sqrt n, equally spaced in arcsin sqrt(r / n), and
    the first and last thirty. That is valid for every choice that does not depend on the counts. Where roundings would
    decide (errors below about 1e-7) a union bound over the ranks, with limits proved one by one, takes the place of the
    recursion; above three million rows those limits are Chernoff's."""
    if n > _RECURSION:
        ranks = _ranks(n)
        low, high = chernoff_limits(ranks, n, error)
        return Levels(n, 0.0, fixed(ranks), fixed(low), fixed(high))
    error_float = float(error)
    # About how much the roundings of the recursion may cost
    if error_float < 1e-3 and (1.5e-10 * max(1.0, n / 30_000)) > error_float / 100:
        # every rank at error / (number of ranks): P(U_(r) < a) = P(Binomial(n, a) >= r) is proved for each
        ranks = _ranks(n)
        each = error / len(ranks)
        low = np.array([clopper_pearson(r, n, each)[0] for r in ranks.tolist()])
        high = np.array([clopper_pearson(r - 1, n, each)[1] for r in ranks.tolist()])
        return Levels(n, 0.0, fixed(ranks), fixed(low), fixed(high))
    x = (
        math.log(float(np.interp(math.log(n), *_GUESSES)))
        + math.log(error_float)
        + _FALL * math.log(error_float / 0.05)
    )
    aim, near = math.log(error_float), 1e-4
    if n > _SHARP:
        aim, near = aim - near * 10, near * 10
    before: tuple[float, float] | None = None
    for _ in range(8):
        eta = _rounded_down(math.exp(x))
        y = math.log(max(1.0 - _coverage(n, eta), 1e-300))
        slope = 1.0 if before is None or before[0] == x else (y - before[1]) / (x - before[0])
        before, gap = (x, y), aim - y
        if abs(gap) >= near or n <= _SHARP:
            x = min(x + gap / min(max(slope, 0.3), 3.0), 0.0)
        if abs(gap) < near:
            break
    eta = _rounded_down(math.exp(x))
    while _coverage(n, eta) < 1 - error * (1 - _MARGIN):
        eta = _rounded_down(eta * (1.0 - 1e-6))
    return _levels(n, eta)


def proved(n: int, error: Fraction) -> Levels:
    """The limits that the check of a document compares with: those of `levels`, or of an eta a unit of the sixth digit
    larger if that is proved as well. All that contain them are valid, whichever the counts."""
    mine = levels(n, error)
    if mine.eta == 0:
        return mine
    above = _rounded_down(mine.eta * (1 + 1.5e-6))
    return _levels(n, above) if above > mine.eta and _coverage(n, above) >= 1 - error else mine


def _ranks(n: int) -> NDArray[np.int64]:
    if n <= _ALL_RANKS:
        return np.arange(1, n + 1)
    spaced = np.round(n * np.sin(np.linspace(0.0, math.pi / 2, max(_MIDDLE, min(math.isqrt(n), _MOST)))) ** 2).astype(
        np.int64
    )
    ends = np.arange(_ENDS)
    return np.unique(np.clip(np.concatenate([1 + ends, spaced, n - ends]), 1, n))


@lru_cache(maxsize=64)
def _levels(n: int, eta: float) -> Levels:
    from scipy.special import betainccinv, betaincinv

    ranks = _ranks(n)
    low = np.nan_to_num(betaincinv(ranks, n + 1 - ranks, eta / 2), nan=0.0)
    high = np.nan_to_num(betainccinv(ranks, n + 1 - ranks, eta / 2), nan=1.0)
    low = np.maximum.accumulate(np.clip(low, 0.0, 1.0))
    high = np.minimum.accumulate(np.clip(high, 0.0, 1.0)[::-1])[::-1]
    return Levels(n, eta, fixed(ranks), fixed(low), fixed(high))


@lru_cache(maxsize=256)
def _coverage(n: int, eta: float) -> float:
    """A proved lower bound of the probability that all limits hold."""
    found = _levels(n, eta)
    return noncrossing(found.ranks, found.low, found.high, n)[0]


def _rounded_down(eta: float) -> float:
    """The largest decimal of six digits at or below eta."""
    digits = 10.0 ** (_DIGITS - 1 - math.floor(math.log10(eta)))
    return float(f"{math.floor(eta * digits * (1 + 1e-13)) / digits:.{_DIGITS}g}")


def level_band(values: VectorLike, counts: Sequence[int], error: Real) -> Band:
    """The band that holds the law of the rows with probability at least 1 - error, whatever the law.

    - `values`: the declared values, seen or not. - `counts`: rows at each, at least one row in all.
    - `error`: strictly between 0 and 1.

    >>> level_band([0, 1], [5, 5], 0.05).upper.round(4)
    array([0.8802, 1.    ])
    """
    low, high = levels(sum(counts), checked_error(error)).at(counts)
    return Band.exactly(declared(values), low * (1 - _WIDEN), np.minimum(1.0, high * (1 + _WIDEN)))


# The probability that the order statistics of uniform rows stay between limits, bounded from below.
#
# With N(t) the number of rows up to t, U_(r) <= b is N(b) >= r, and U_(r) >= a is N(a) <= r - 1. N is a Poisson process
# of rate n given N(1) = n. So the law of N is pushed through the sorted limits by Poisson weights, and what leaves
# [least, most] is set to 0 (Steck 1971; Moscovich, Nadler 2017).
#
# Everything is a sum of products of positive doubles: a rounding changes each by a factor of 1 +- 2^-53, and the number
# of roundings in a row is counted. Dropping a tail of the weights or a tiny entry only makes the result smaller. So the
# result, less the counted roundings, is a proved lower bound.


_TINY = 1e-20
"""Entries below this share of the largest are dropped: that costs less than one part in 10^12."""
_SPREAD = 8.0
"""How many standard deviations of Poisson weights are kept: what is dropped is below 1e-15 for large rates."""


def noncrossing(ranks: NDArray[np.int64], low: Floats, high: Floats, n: int) -> tuple[float, float]:
    """A proved lower bound of P(low[i] <= U_(ranks[i]) <= high[i] for all i), and how much of it roundings cost.

    - `ranks`: increasing, between 1 and n. - `low`, `high`: doubles in [0, 1], nondecreasing, low <= high.
    - `n`: the number of uniform rows.

    >>> low, high = np.array([0.05, 0.1, 0.3]), np.array([0.7, 0.9, 0.95])
    >>> round(noncrossing(np.array([1, 2, 3]), low, high, 3)[0], 10)
    0.688
    """
    times = np.unique(np.concatenate([low, high]))
    times = times[(times > 0) & (times < 1)]
    least = np.concatenate([[0], ranks])[np.searchsorted(high, times, side="right")]
    most = np.concatenate([ranks - 1, [n]])[np.searchsorted(low, times, side="left")]
    if np.any(least > most):
        return 0.0, 0.0
    law, start, before, roundings = np.ones(1), 0, 0.0, 0
    for t, lowest, highest in zip([*times.tolist(), 1.0], [*least.tolist(), n], [*most.tolist(), n], strict=True):
        on_time()
        weights, first, count = _poisson(n * (t - before))
        roundings += count + min(len(law), len(weights))
        moved = np.convolve(law, weights)
        begin, end = max(0, lowest - start - first), highest + 1 - start - first
        law, start, before = moved[begin:end] if end > 0 else moved[:0], start + first + begin, t
        kept = np.flatnonzero(law > _TINY * law.max()) if law.size else law
        if not kept.size:
            return 0.0, 0.0
        law, start = law[kept[0] : kept[-1] + 1], start + int(kept[0])
    with precision(96):
        given = upper((n * (arb(n).log() - 1) - arb(n + 1).lgamma()).exp())  # P(N(1) = n), from above
    slack = 1.1 * UNIT * (roundings + 5 * n + 16)  # 5 n: the rates n (t - s) are rounded too, and n rows feel it
    found = float(law[0]) / given
    return max(0.0, found * (1.0 - slack)), found * slack


def _poisson(rate: float) -> tuple[Floats, int, int]:
    """Weights of a Poisson law around its mode, the first one's place, and a bound of the roundings in each of them.

    They are products of ratios from the mode outward, over a total that includes a bound of the dropped tails: so none
    is too large, but for roundings."""
    mode = int(rate)
    reach = int(_SPREAD * math.sqrt(rate) + 18)
    first, last = max(0, mode - reach), mode + reach
    with np.errstate(under="ignore"):
        up = np.cumprod(rate / np.arange(mode + 1, last + 1))
        down = np.cumprod(np.arange(mode, first, -1) / rate)[::-1]
    weights = np.concatenate([down, [1.0], up])
    weights[weights < 1e-100] = 0.0
    over = rate / (last + 1)
    rest = max(float(up[-1]), 1e-100) * over / (1 - over)
    if first > 0:
        under = first / rate
        rest += max(float(down[0]), 1e-100) * under / (1 - under)
    return weights / (float(weights.sum()) + rest), first, 5 * len(weights) + 20


# Limits of order statistics of very many rows: exponential bounds of binomial tails, one rank at a time.
#
# P(Binomial(n, a) >= r) <= exp(-n kl(r/n, a)) for a <= r/n, P(Binomial(n, b) <= r) <= exp(-n kl(r/n, b)) for b >= r/n,
# with kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)) (Chernoff 1952; Hoeffding 1963). Above a few million rows the exact
# recursion takes too long, and limits some tenths wider than the narrowest ones are narrower than anybody needs.


_BITS = 160
_NUDGES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1)


def chernoff_limits(ranks: NDArray[np.int64], n: int, error: Fraction) -> tuple[Floats, Floats]:
    """Doubles with low[i] <= U_(ranks[i]) <= high[i] for all i, together with probability at least 1 - error: each side
    of each rank is broken with probability at most error / (2 len(ranks)), proved in balls."""
    with precision(_BITS):
        least = -(of(error) / (2 * len(ranks))).log()
        low = [_limit(int(r), n, least, x, -1) for r, x in zip(ranks, _guesses(ranks, n, least, -1), strict=True)]
        high = [
            _limit(int(r) - 1, n, least, x, 1) for r, x in zip(ranks, _guesses(ranks - 1, n, least, 1), strict=True)
        ]
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]


def _guesses(counts: NDArray[np.int64], n: int, least: arb, side: int) -> Floats:
    """Where n kl(count / n, .) reaches `least`, by bisection in doubles."""
    p, goal = counts / n, float(least) / n
    near, far = p.copy(), np.full(len(p), 0.5 + 0.5 * side)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(80):
            q = 0.5 * (near + far)
            one, other = p * np.log(p / q), (1 - p) * np.log((1 - p) / (1 - q))
            beyond = np.where(p > 0, one, 0.0) + np.where(p < 1, other, 0.0) >= goal
            near, far = np.where(beyond, near, q), np.where(beyond, q, far)
    return far


def _limit(count: int, n: int, least: arb, guess: float, side: int) -> float:
    """The guess, moved away from count / n until the bound is proved; else the end of the range on that side."""
    share = Fraction(count, n)
    p = of(share)
    for nudge in _NUDGES:
        q = guess + (guess - count / n) * nudge
        if not (0 < q < 1 and (Fraction(q) - share) * side > 0):
            continue
        kl = p * (p / arb(q)).log() if count else arb(0)
        kl += (1 - p) * ((1 - p) / (1 - arb(q))).log() if count < n else 0
        if kl * n >= least:
            return q
    return float(side > 0)
