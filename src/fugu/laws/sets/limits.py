"""Limits of probabilities from counts: Clopper-Pearson boxes, mixed likelihoods, radii of balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb

from fugu.errors import UsageError
from fugu.numbers.balls import of, precision, upper
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, as_fraction, is_whole

_LIMIT_BITS = 96
_NUDGES = range(1, 24)


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
        for bits in _NUDGES:
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


_BITS = 128


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
    with precision(_BITS):
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
    with precision(_BITS):
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
    with precision(_BITS):
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
    with precision(_BITS):
        return upper(arb(t) / n)


def divergence_proved(radius: Fraction, n: int, k: int, error: Fraction) -> bool:
    """Whether that bound at t = n radius is proved to be at most the error."""
    t, free = radius * n, k - 1
    if t < free:
        return False
    with precision(_BITS):
        log = free * (1 + (of(t) / free).log()) - of(t)
        return bool(log <= of(error).log())
