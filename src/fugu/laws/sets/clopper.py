"""Clopper-Pearson boxes: exact binomial limits of every probability, all at once by a union bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from fugu.errors import UsageError
from fugu.laws.sets.box import Box
from fugu.laws.sets.mixture import checked_error, edge
from fugu.laws.sets.reading import declared
from fugu.numbers.balls import of, precision
from fugu.numbers.exact import Real, VectorLike, is_whole

_BITS = 96
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
    low = _limit(c, rows, tail, up=False) if c else 0.0
    high = _limit(c, rows, tail, up=True) if c < rows else 1.0
    return low, high


def too_low(p: float | Fraction, count: int, n: int, tail: Fraction) -> bool:
    """Whether P(X >= count | p) <= tail is proved, for X ~ Binomial(n, p): p may be a lower limit."""
    if count == 0 or p >= 1:
        return False
    with precision(_BITS):
        return p <= 0 or bool(of(p).beta_lower(arb(count), arb(n - count + 1), 1) <= of(tail))


def too_high(p: float | Fraction, count: int, n: int, tail: Fraction) -> bool:
    """Whether P(X <= count | p) <= tail is proved, for X ~ Binomial(n, p): p may be an upper limit."""
    if count == n or p <= 0:
        return False
    with precision(_BITS):
        return p >= 1 or bool((1 - of(p)).beta_lower(arb(n - count), arb(count + 1), 1) <= of(tail))


def _limit(count: int, n: int, tail: Fraction, *, up: bool) -> float:
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


def clopper_box(values: VectorLike, counts: Sequence[int], error: Real) -> Box:
    """The box that holds the law of the rows with probability at least 1 - error.

    The declared values must not depend on the counts: bins laid around the densest rows cover 62.5 %, not 95 %.

    - `values`: the declared values, seen or not. - `counts`: rows at each, at least one row in all.
    - `error`: strictly between 0 and 1.
    """
    there, n = declared(values), sum(counts)
    level = cell_error(checked_error(error), len(there))
    if len(there) == 1:
        return Box.exactly(there, np.ones(1), np.ones(1))
    ends = np.array([clopper_pearson(int(c), n, level) for c in counts])
    return Box.exactly(there, ends[:, 0].copy(), ends[:, 1].copy())
