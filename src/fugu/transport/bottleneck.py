"""The least distance within which two laws of vectors can be matched, wholly or up to a mass delta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.transport.cells import SubCoupling
from fugu.transport.flow import max_flow
from fugu.transport.space import Space

_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def bottleneck(space: Space, delta: Fraction) -> tuple[float, SubCoupling]:
    """The least W with a sub-coupling of mass at least 1 - delta within W, rounded up, and that sub-coupling.

    The mass that can be matched within W is a maximum flow along the pairs at most W apart (Strassen 1965, Theorem
    11, by max-flow min-cut), and it changes only where W is the distance of a pair: a bisection over the keys of
    the pairs. Pairs farther than the first distance found to suffice are never listed. For delta 0 it is W_inf.
    """
    needed = space.total - space.total * delta.numerator // delta.denominator
    pairs = _bracket(space, needed)
    ends = np.append(np.flatnonzero(pairs[2][1:] != pairs[2][:-1]), len(pairs[2]) - 1)
    low, high = -1, len(ends) - 1  # the pairs up to ends[high] suffice
    best = _flow(space, pairs, int(ends[high]) + 1, needed)
    while high - low > 1:
        middle = (low + high) // 2
        count = int(ends[middle]) + 1
        found = _flow(space, pairs, count, needed) if _may_hold(space, pairs, count, needed) else None
        if found is not None and int(found.sum()) >= needed:
            high, best = middle, found
        else:
            low = middle
    plan = _plan(space, pairs, best, needed)
    farthest = space.distance(pairs[2][ends[high]])
    return farthest, SubCoupling(space.rows[plan.rows], space.columns[plan.columns], plan.masses, plan.total)


def _bracket(space: Space, needed: int) -> _Pairs:
    """All pairs up to a distance that suffices: from the distance most atoms need at least, wider by quarters."""
    key = max(_enough(nearest, mass, needed) for nearest, mass in zip(space.nearest(), (space.a, space.b), strict=True))
    while True:
        pairs = space.near(key)
        count = len(pairs[0])
        if _may_hold(space, pairs, count, needed) and int(_flow(space, pairs, count, needed).sum()) >= needed:
            return pairs
        key = space.wider(key)


def _enough(nearest: NDArray[Any], mass: NDArray[Any], needed: int) -> Any:
    """The least key at which atoms of mass `needed` have some partner."""
    order = np.argsort(nearest, kind="stable")
    reached = np.cumsum(mass[order])
    return nearest[order][np.searchsorted(reached, needed)].item() if needed > 0 else nearest.min().item()


def _may_hold(space: Space, pairs: _Pairs, count: int, needed: int) -> bool:
    """A quick no: atoms without any partner already leave too much."""
    for index, mass in ((pairs[0], space.a), (pairs[1], space.b)):
        partnered = np.zeros(len(mass), dtype=bool)
        partnered[index[:count]] = True
        if int(mass[partnered].sum()) < needed:
            return False
    return True


def _flow(space: Space, pairs: _Pairs, count: int, needed: int = 0) -> NDArray[Any]:
    return max_flow(space.a, space.b, pairs[0][:count], pairs[1][:count], needed)


def _plan(space: Space, pairs: _Pairs, flow: NDArray[Any], needed: int) -> SubCoupling:
    """The pairs that mass flows along, as a sub-coupling whose marginals are checked."""
    moved = np.flatnonzero(flow)
    return SubCoupling(pairs[0][moved], pairs[1][moved], flow[moved], space.total).checked(space.a, space.b, needed)


def kept_within(space: Space, key: Any) -> Fraction:
    """The largest mass that some sub-coupling keeps within the distance of a key."""
    pairs = space.near(key)
    flow = _flow(space, pairs, len(pairs[0]))
    return _plan(space, pairs, flow, 0).kept
