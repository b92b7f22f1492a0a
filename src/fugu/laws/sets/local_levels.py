"""Bands at equal local levels: each order statistic has the same chance to break its limits.

For rows X_i = F^-1(U_i) with U_i uniform, U_(r) is a Beta(r, n + 1 - r) variable. Limits a_r, b_r at its quantiles
eta/2 and 1 - eta/2, with eta so small that all hold together with probability 1 - error, give for every x with c rows
up to x

    a_c <= U_(c) <= F(X_(c)) <= F(x),   F(x) <= U_(c+1) <= b_{c+1}   (X_(c+1) > x means U_(c+1) > F(x)),

also for laws with atoms, and for all x at once: so values may be joined or clipped after looking (Berk, Jones 1979;
Aldor-Noiman et al. 2013). The quantiles are doubles that nobody needs to trust: `noncrossing` bounds the probability
that the actual limits hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fugu.fixed import fixed
from fugu.laws.sets.band import Band
from fugu.laws.sets.clopper import clopper_pearson
from fugu.laws.sets.crossing import noncrossing
from fugu.laws.sets.mixture import checked_error
from fugu.laws.sets.reading import declared
from fugu.numbers.exact import Real, VectorLike

Floats = NDArray[np.float64]
_ALL_RANKS, _MIDDLE, _ENDS = 1000, 400, 30
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
    recursion."""
    error_float = float(error)
    if error_float < 1e-3 and _cost(n) > error_float / 100:
        return _union(n, error)
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
    spaced = np.round(n * np.sin(np.linspace(0.0, math.pi / 2, max(_MIDDLE, math.isqrt(n)))) ** 2).astype(np.int64)
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


def _cost(n: int) -> float:
    """About how much the roundings of the recursion may cost."""
    return 1.5e-10 * max(1.0, n / 30_000)


def _union(n: int, error: Fraction) -> Levels:
    """Every rank at error / (number of ranks): P(U_(r) < a) = P(Binomial(n, a) >= r) is proved for each."""
    ranks = _ranks(n)
    each = error / len(ranks)
    low = np.array([clopper_pearson(r, n, each)[0] for r in ranks.tolist()])
    high = np.array([clopper_pearson(r - 1, n, each)[1] for r in ranks.tolist()])
    return Levels(n, 0.0, fixed(ranks), fixed(low), fixed(high))


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
