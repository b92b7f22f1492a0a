"""Linear functions over a ball in Kullback-Leibler divergence, KL(c, p) = sum c ln(c / p) <= r.

For every nu > max v and every p in the ball, with Jensen's inequality for the logarithm,

    nu - sum p v >= sum c (p / c) (nu - v) >= exp( sum c ln(p (nu - v) / c) ) >= exp( sum c ln(nu - v) - r ),

so any nu gives an upper bound nu - exp(sum c ln(nu - v) - r) of sum p v; nu = max v is allowed where c has no mass
there. The search in doubles only chooses nu. The bound is attained by p = k c / (nu - v) with k = exp(sum c ln(nu - v)
- r), where that is a law; with nu = max v the rest of the mass is put on the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.laws.sets.law_set import exact
from fugu.numbers.balls import of, precision

Floats = NDArray[np.float64]
_BITS = 160
_SHARPEST = 2000
_STEPS = 66
_CLOSE = 2.0**-600


def top(masses: Sequence[int], total: int, radius: float, v: Sequence[int]) -> Fraction:
    """A rational at or above max { sum p v : KL(c, p) <= radius }, with c = masses / total."""
    low, high = min(v), max(v)
    if low == high:
        return Fraction(high)
    if radius == 0:
        return Fraction(sum(m * x for m, x in zip(masses, v, strict=True)), total)
    spread = high - low
    shares = np.array([Fraction(high - x, spread) for x in v], dtype=np.float64)  # 0 at the maximum, 1 at the minimum
    gap = float(_gaps(np.array([m / total for m in masses]), radius, shares[None, :])[0])
    if gap == 0 and any(m for m, x in zip(masses, v, strict=True) if x == high):
        gap = _CLOSE  # mass at the maximum that doubles do not see: any positive gap is a bound
    exact_gap = Fraction(gap)
    with precision(_BITS + max(0, math.frexp(gap)[1])):
        bound = _dual(masses, total, radius, [of(exact_gap + Fraction(high - x, spread)) for x in v])
        found = min(exact((of(exact_gap) - bound).upper()), Fraction(0))  # in units of the spread, above `high`
    return high + found * spread


def top_ball(masses: Sequence[int], total: int, radius: float, v: Sequence[arb]) -> arb:
    """The same for a vector of exact balls."""
    return of(top_rational(masses, total, radius, [exact(x) for x in v]))


def top_rational(masses: Sequence[int], total: int, radius: float, v: Sequence[Fraction]) -> Fraction:
    """The same for a vector of rationals."""
    common = math.lcm(*(x.denominator for x in v))
    return top(masses, total, radius, [int(x * common) for x in v]) / common


def _dual(masses: Sequence[int], total: int, radius: float, gaps: Sequence[arb]) -> arb:
    """exp(sum c ln(gap) - radius); every gap is positive where c has mass."""
    mean = sum((gap.log() * m for m, gap in zip(masses, gaps, strict=True) if m), arb(0)) / total
    return (mean - arb(radius)).exp()


def _gaps(centre: Floats, radius: float, shares: Floats) -> Floats:
    """nu - max v for every row of shares (max v - v) / spread: where the bound is least, in doubles.

    The derivative of the bound vanishes where ln sum c / (nu - v) + sum c ln(nu - v) = radius; the left-hand side falls
    in nu, to 0. With mean share m and t = (share - m) / (gap + m) it is sum c ln(1 + t) + ln(1 - sum c t / (1 + t))."""
    mean = shares @ centre
    low, high = np.full(len(shares), -600.0), np.full(len(shares), 60.0)
    if radius > 0:
        high = np.minimum(high, np.maximum(0.0, 2.0 - 0.5 * math.log(radius)) + 1.0)

    def excess(gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (shares - mean[:, None]) / (gap + mean)[:, None]
            there = np.where(centre > 0, t, 0.0)
            one = np.log1p(there) @ centre
            two = np.log1p(-((there / (1.0 + there)) @ centre))
            direct = np.where(centre > 0, np.log(gap[:, None] + shares), 0.0) @ centre
            direct = direct + np.log(np.where(centre > 0, 1.0 / (gap[:, None] + shares), 0.0) @ centre)
            far = np.abs(there).max(axis=1) < 0.5  # where logarithms near 0 would cancel
            found: Floats = np.where(far, one + two, direct) - radius
        return np.where(np.isnan(found), np.inf, found)

    unseen = excess(np.zeros(len(shares))) <= 0  # the maximum has no mass in the centre, and the radius reaches it
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        above = excess(np.exp(middle)) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(unseen, 0.0, np.exp(high))


def extremes(centre: Floats, radius: float, rows: Floats) -> Floats:
    """For every row of v a law of the ball that attains the maximum, in doubles."""
    high, low = rows.max(axis=1), rows.min(axis=1)
    spread = np.where(high > low, high - low, 1.0)
    shares = (high[:, None] - rows) / spread[:, None]
    gap = _gaps(centre, radius, shares) if radius > 0 else np.full(len(rows), np.inf)
    found = np.repeat(centre[None, :], len(rows), axis=0)
    moves = np.isfinite(gap) & (high > low)
    above = gap[moves, None] + shares[moves]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(centre > 0, np.log(above), 0.0) @ centre - radius
        tilted = np.where(centre > 0, centre * np.exp(logs[:, None] - np.log(above)), 0.0)
    rest = np.maximum(0.0, 1.0 - tilted.sum(axis=1))
    tilted[np.arange(len(tilted)), np.argmin(shares[moves], axis=1)] += rest
    found[moves] = tilted / tilted.sum(axis=1, keepdims=True)
    return found


def within(centre: Sequence[Fraction], law: Sequence[Fraction], radius: float) -> bool:
    """Whether KL(centre, law) <= radius, proved in balls; False where 2,000 bits do not decide."""
    if any(c and not p for c, p in zip(centre, law, strict=True)):
        return False
    if list(centre) == list(law):
        return True
    bits = 64
    while bits <= _SHARPEST:
        with precision(bits):
            terms = (of(c) * (of(c) / of(p)).log() for c, p in zip(centre, law, strict=True) if c)
            gap = arb(radius) - sum(terms, arb(0))
            if gap > 0 or gap < 0:
                return bool(gap > 0)
        bits *= 2
    return False
