"""Laws that are in a set for sure: a law in doubles near its edge is moved into it in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection
from fugu.laws.sets.law_set import LawSet

_BITS = 60
_STEPS = 24
"""How often the way from the centre to a law outside is halved."""

Law = list[Fraction]


def member(law_set: LawSet, near: NDArray[np.float64] | None) -> Law:
    """A law of the set, exactly: the one near a law in doubles, or the centre.

    - `law_set`: where it must be.
    - `near`: about a law of the set; None, or a vector without mass, asks for the centre.

    Raises `NotProvable` if not even the centre is proved to be in the set.
    """
    given = near is not None and bool(np.any(near > 0))
    found = _moved(law_set, np.clip(near, 0.0, None)) if given and near is not None else _centre(law_set)
    if not law_set.contains(found):
        raise NotProvable(f"no law was proved to be in {law_set!r}, so the error of the best channel is not bounded")
    return found


def mean_member(laws: Sequence[Law | None], weights: Sequence[Fraction]) -> list[Law | None]:
    """The same law in every place: the mean of those given, by weight; sets are convex, so it is a member."""
    total = sum(weights, Fraction(0))
    if not total:
        return list(laws)
    pairs = [(law, weight) for law, weight in zip(laws, weights, strict=True) if law is not None]
    size = len(pairs[0][0])
    mean = [sum((weight * law[x] for law, weight in pairs), Fraction(0)) / total for x in range(size)]
    return [mean] * len(laws)


def _moved(law_set: LawSet, near: NDArray[np.float64]) -> Law:
    parts = law_set.sets if isinstance(law_set, Intersection) else (law_set,)
    if all(isinstance(part, Box | Band) for part in parts):
        return _between(_limits(law_set), near)
    if isinstance(law_set, Hull):
        return _mixture(law_set, near)
    return _towards_centre(law_set, near)


def _exactly(near: NDArray[np.float64]) -> Law:
    """A law in rationals of few bits: rounded, the rest to the largest."""
    whole = [int(a) for a in np.floor(np.ldexp(near / near.sum(), _BITS)).tolist()]
    whole[int(np.argmax(near))] += (1 << _BITS) - sum(whole)
    return [Fraction(a, 1 << _BITS) for a in whole]


@lru_cache(maxsize=64)
def _centre(law_set: LawSet) -> Law:
    parts, total = law_set.centre().masses.whole()
    return [Fraction(part, total) for part in parts]


@lru_cache(maxsize=64)
def _limits(law_set: LawSet) -> tuple[list[int], list[int], list[int], list[int], int]:
    """Limits of p and of what the cumulated law can reach from the left, as whole numbers over one total."""
    parts = law_set.sets if isinstance(law_set, Intersection) else (law_set,)
    size = law_set.values.size
    ends = [np.zeros(size), np.ones(size), np.zeros(size), np.ones(size)]
    for part in parts:
        first = 0 if isinstance(part, Box) else 2
        if isinstance(part, Box | Band):
            ends[first] = np.maximum(ends[first], part.lower)
            ends[first + 1] = np.minimum(ends[first + 1], part.upper)
    ratios = [[a.as_integer_ratio() for a in row.tolist()] for row in ends]
    total = max(1 << _BITS, *(d for row in ratios for _, d in row))
    lower, upper, low, high = ([a * (total // d) for a, d in row] for row in ratios)
    left = right = 0
    for i in range(size):
        left, right = max(left + lower[i], low[i]), min(right + upper[i], high[i])
        low[i], high[i] = left, right
    return lower, upper, low, high, total


def _between(limits: tuple[list[int], list[int], list[int], list[int], int], near: NDArray[np.float64]) -> Law:
    """From the last value back: each cumulated mass as near to the wanted one as the limits on both sides allow."""
    lower, upper, low, high, total = limits
    wanted = np.cumsum(near / near.sum()).tolist()
    law, after = [], total
    for i in range(len(lower) - 1, -1, -1):
        before = 0
        if i:
            want = int(Fraction(wanted[i - 1]) * total)
            before = min(max(want, low[i - 1], after - upper[i]), high[i - 1], after - lower[i])
        law.append(Fraction(after - before, total))
        after = before
    return law[::-1]


def _mixture(hull: Hull, near: NDArray[np.float64]) -> Law:
    """The mixture of the laws nearest in least squares."""
    from scipy.optimize import nnls

    weights = _exactly(np.clip(nnls(hull.weights.T, near / near.sum())[0], 0.0, None) + 1e-300)
    rows = [law.masses.whole() for law in hull.laws]
    return [
        sum((w * Fraction(parts[x], total) for w, (parts, total) in zip(weights, rows, strict=True)), Fraction(0))
        for x in range(near.size)
    ]


def _towards_centre(law_set: LawSet, near: NDArray[np.float64]) -> Law:
    """The last law of the set on the way from its centre; for a ball in total variation where the radius ends."""
    centre, wanted = _centre(law_set), _exactly(near)
    if isinstance(law_set, Ball) and law_set.distance == "tv":
        away = sum((abs(a - b) for a, b in zip(centre, wanted, strict=True)), Fraction(0)) / 2
        radius = Fraction(law_set.radius)
        return wanted if away <= radius else _way(centre, wanted, radius / away)
    if law_set.contains(wanted):
        return wanted
    inside, outside = Fraction(0), Fraction(1)
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if law_set.contains(_way(centre, wanted, middle)):
            inside = middle
        else:
            outside = middle
    return _way(centre, wanted, inside)


def _way(one: Law, two: Law, part: Fraction) -> Law:
    return [a + part * (b - a) for a, b in zip(one, two, strict=True)]
