"""The largest loss over all nodes and pairs of values: the sum of both sides, at the same node and for the same pair.

Node i has T - i later nodes and i - 1 earlier ones, so its loss is at most eps + F_fwd + F_bwd at these two numbers
(docs/proofs/contraction.md#the-total). Nodes whose two bounds are the same are asked once. Where bounds rise with the
number of nodes, that for T - a later and b - 1 earlier ones holds for every node from a to b: with very many values
such stretches are taken together, as far as little is lost by it.

Proofs: docs/proofs/contraction.md#the-total and docs/proofs/contraction.md#by-number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from fugu.translation.contraction.kernel import Array
from fugu.translation.contraction.side import Mask

_AT_ONCE = 500
"""Pairs of values that are looked at closely at a time, at first."""
_MOST_STRETCHES = 64
_LARGE, _FEW = 3.0, 4
"""Above this loss, few stretches: nobody spends so much."""
_LOST = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 1.0)


class Bounds(Protocol):
    """What the nodes on one side can add, by their number m; the same between two numbers of the grid."""

    @property
    def grid(self) -> Sequence[int]:
        """The numbers at which the bound changes."""

    @property
    def rising(self) -> bool:
        """Whether a bound for m nodes is one for fewer."""

    def most(self, m: int) -> float:
        """For all pairs."""

    def rough(self, m: int) -> Array:
        """For each pair, at little cost."""

    def at(self, m: int, asked: Mask) -> Array:
        """For the pairs asked."""


Stretch = tuple[int, int]


def largest(
    later: Bounds, earlier: Bounds, length: int, some: list[Stretch], pairs: Callable[[int, int], Mask]
) -> float:
    """An upper bound on F_fwd + F_bwd over the nodes of these stretches and the `pairs` that these can take."""
    most = [later.most(length - a) + earlier.most(b - 1) for a, b in some]
    if later.rising and earlier.rising and len(some) > _FEW and len(pairs(1, 1)) ** 2 > _AT_ONCE:
        some, most = _together(later, earlier, length, some, most)
    worst = 0.0
    for n in np.argsort(most)[::-1]:
        if most[n] <= worst:
            break
        a, b = some[n]
        rough = np.where(pairs(a, b), later.rough(length - a) + earlier.rough(b - 1), 0.0)
        found, size = worst, _AT_ONCE
        while most[n] > found and float(rough.max()) > found:  # the pairs that may lose most first
            size = min(size, rough.size)
            asked = (rough >= np.partition(rough, -size, axis=None)[-size]) & (rough > found)
            total = later.at(length - a, asked) + earlier.at(b - 1, asked)
            found = max(found, float(np.max(total, where=asked, initial=0.0)))
            rough[asked], size = 0.0, 4 * size
        worst = max(worst, min(found, most[n]))
    return worst


def _together(
    later: Bounds, earlier: Bounds, length: int, some: list[Stretch], most: list[float]
) -> tuple[list[Stretch], list[float]]:
    """Stretches taken together as far as the ends of each lose little, and the most of each, node by node."""
    allowed = _FEW if max(most) > _LARGE else _MOST_STRETCHES
    for share in _LOST:
        room, joined, tops = share * max(most), [some[0]], [most[0]]
        for (a, b), top in zip(some[1:], most[1:], strict=True):
            first = joined[-1][0]
            if later.most(length - first) + earlier.most(b - 1) - max(top, tops[-1]) <= room:
                joined[-1], tops[-1] = (first, b), max(top, tops[-1])
            else:
                joined.append((a, b))
                tops.append(top)
        if len(joined) <= allowed:
            break
    return joined, tops


def stretches(length: int, later: Sequence[int], earlier: Sequence[int], changes: Sequence[int]) -> list[Stretch]:
    """Stretches of nodes that differ in nothing: not in the bounds of T - i later nodes, nor in those of i - 1 earlier
    ones; and none goes past a node of `changes`."""
    begins = {1, *(length - m for m in later), *(m + 2 for m in earlier), *changes}
    first = sorted(i for i in begins if 1 <= i <= length)
    return list(zip(first, [*(i - 1 for i in first[1:]), length], strict=True))
