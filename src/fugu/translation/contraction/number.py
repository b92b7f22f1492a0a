"""A few values and one kernel for all places: what m further nodes can add, pair by pair, for every m."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fugu.translation.contraction.kernel import Array, shortest_paths, up
from fugu.translation.contraction.scalar import Wide
from fugu.translation.contraction.side import EVERY, Mask, Side, SideLevels, next_place

# The true F_m of `side` are bounded in three ways (docs/proofs/contraction.md#by-number). Let
#
#     Phi(A) = shortest paths of  min over d of (d - 1) eps + L(K^d; eps + A).
#
# 1. *Node by node*: F_m <= min over d <= m of (d - 1) eps + L(K^d; eps + F_(m-d)), and F_m <= m eps.
# 2. *For every m at once*: if A >= 0 and Phi(A) <= A, then F_m <= A for every m. Such an A is looked for by iteration
# and
#    extrapolation, then checked; a bad guess costs time alone.
# 3. *On a grid*: beyond some hundred nodes only m = g_1 < g_2 < ... are looked at. A_g bounds F_m for **every** m <= g;
#    a further node m - d counts as the next grid point at or above it: F_m <= (d - 1) eps + L(K^d; eps + A_g') for
#    every
#    m <= g if g' >= g - d, as F_m <= m eps <= (d - 1) eps for m < d. Sixteen points to an octave, so the number of
#    steps grows with the logarithm of the length.
#
# Which d are tried is free, each is a bound: all of them now and then, else those that were best for some pair lately.

FAR = (48, 64, 96, 128, 192, 256)
"""Larger numbers of kernels taken at once, where there are so many further nodes: windows of slow chains."""
_SLOTS = 2
"""How many d are tried for each pair between two looks at all of them."""
_OCTAVE = 16
"""Grid points between m and 2 m."""
_LEAST_DENSE, _MOST_DENSE = 16, 3 * 10**6
"""Entries (m, x, x', p, q) of the recursion node by node, for one d; beyond them, the grid."""
_ROUNDS, _LOOK = 150, 12
_ENOUGH = 1e-8
_NEAR, _NEAR_FAR = 1e-6, 1e-3
"""A level this near to the bound for every m is replaced by it: node by node, and on the grid."""
_ROOMS = (1e-9, 1e-7, 1e-5)


@dataclass
class Numbered:
    """One side of a chain of a few values whose kernel is the same everywhere; found at once for all m."""

    side: Side
    wide: Wide = field(init=False)
    pairs: Mask = field(init=False)
    _known: dict[float, Array | None] = field(default_factory=dict)
    _anchors: dict[float, Array | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.wide, self.pairs = Wide(self.side), self.side.pairs_at(0)

    def _first(
        self, beyond: list[Array], ds: tuple[int, ...], epsilon: float
    ) -> tuple[Array, Callable[[list[Array]], Array]]:
        """Shortest paths of min over d of (d - 1) eps + L(K^d; O + F), rounded up; and what gives the same of other
        tables beyond these `ds`, with the few d of each pair alone that gave the least bounds here."""

        def closed(each: Array) -> Array:
            return np.where(self.pairs, shortest_paths(np.asarray(each.min(axis=0)), self.side.valid_at(0)), 0.0)

        each = self.side.passed(1, beyond, ds, epsilon)
        which = np.argsort(each, axis=0)[: min(_SLOTS, len(ds))]
        return closed(each), lambda more: closed(self.side.passed(1, more, ds, epsilon, which))

    def _useful(self, most: float, m: int, epsilon: float) -> tuple[int, ...]:
        """The d up to m with (d - 1) eps below the largest bound known: others cannot be the best for any pair."""
        every = (*self.side.ds, *FAR)
        return tuple(d for d in every if d == 1 or (d <= m and (d - 1) * epsilon < most))

    def levels(self, epsilon: float, nodes: int) -> SideLevels:
        """F_m up to `nodes`, rounded up."""
        ceiling = self.ever(epsilon)
        found: list[Array] = [np.zeros((self.side.k, self.side.k))]
        dense = min(nodes, max(_LEAST_DENSE, _MOST_DENSE // self.side.k**4))
        for m in range(1, dense + 1):
            if m <= EVERY or m % EVERY == 0:
                ds = self._useful(float(found[-1].max()) + 2 * epsilon, m, epsilon)
                new, again = self._first([found[m - d] for d in ds], ds, epsilon)
            else:
                new = again([found[m - d] for d in ds])
            found.append(self._at_most(new, m, epsilon, ceiling))
            if _reached(found[-1], ceiling, _NEAR):
                break
        places = list(range(len(found)))
        while places[-1] < nodes and not _reached(found[-1], ceiling, _NEAR_FAR):
            self._onward(found, places, epsilon, nodes, ceiling)
            if len(places) % _OCTAVE == 0 and (held := self._held(found[-1], epsilon)) is not None:
                ceiling = held if ceiling is None else np.minimum(held, ceiling)
        if ceiling is None or not _reached(found[-1], ceiling, _NEAR_FAR):
            return SideLevels(_falling(found), False, places)
        return SideLevels(_falling([*found, ceiling]), True, [*places, places[-1] + 1])

    def _at_most(self, new: Array, m: int, epsilon: float, ceiling: Array | None) -> Array:
        new = np.minimum(new, np.where(self.pairs, up(m * epsilon), 0.0))
        return new if ceiling is None else np.minimum(new, ceiling)

    def _onward(self, found: list[Array], places: list[int], epsilon: float, nodes: int, ceiling: Array | None) -> None:
        """The next grid point g: A_g bounds F_m for every m <= g."""
        gap = max(1, (1 << (places[-1].bit_length() - 1)) // _OCTAVE)
        place = min(places[-1] + gap, nodes)
        new = np.where(self.pairs, up(place * epsilon), 0.0)
        jumps = tuple(d for d in (gap, 2 * gap, 3 * gap, 4 * gap) if d <= place)
        far, _ = self._first([found[next_place(places, place - d)] for d in jumps], jumps, epsilon)
        new = self._at_most(far, place, epsilon, ceiling)
        ds = self._useful(float(new.max()), place, epsilon)
        at = [next_place(places, place - d) for d in ds]
        near, again = self._first([found[n] if n < len(found) else new for n in at], ds, epsilon)
        for _ in range(EVERY):
            gain, new = float(np.max(new - near)), np.minimum(new, near)
            if gain <= 1e-4 * float(new.max(initial=0.0)):
                break
            near = again([found[n] if n < len(found) else new for n in at])
        found.append(new)
        places.append(place)

    def ever(self, epsilon: float) -> Array | None:
        """A with Phi(A) <= A, which bounds F_m for every m; None if none is found. Kept.

        The search begins at the bound of the next smaller power of 2^(1/4), where there is one, and it is tried nowhere
        if there is none: so what is found depends on epsilon alone, not on what was asked before. A certificate is
        proved by who has asked nothing else."""
        if epsilon not in self._known:
            anchor = 2.0 ** (math.floor(4 * math.log2(epsilon)) / 4)
            if anchor not in self._anchors:
                self._anchors[anchor] = self._from(anchor, np.zeros((self.side.k, self.side.k)))
            near = self._anchors[anchor]
            self._known[epsilon] = None if near is None else self._from(epsilon, near * (1.01 * epsilon / anchor))
        return self._known[epsilon]

    def _from(self, epsilon: float, start: Array) -> Array | None:
        """What is found from there; else from the bound by one number, if there is one."""
        found = self._ever(epsilon, start)
        if found is None and (above := self.wide.ever(epsilon)) is not None:
            found = self._ever(epsilon, above)
        return found

    def _ever(self, epsilon: float, found: Array) -> Array | None:
        """A, Phi(A), ... and now and then as far as the last two lead; where Phi(A) <= A both bound every F_m."""
        every = (*self.side.ds, *FAR)
        last, look = math.inf, True
        bound: Array | None = None
        for n in range(_ROUNDS):
            beyond = [found] * len(every)
            if look := n % _LOOK == 0 or look:
                new, again = self._first(beyond, every, epsilon)
            else:
                new = again(beyond)
            change, top = new - found, float(new.max())
            if float(change.max()) <= 0:
                bound = new if bound is None else np.minimum(new, bound)
            size = float(np.abs(change).max())
            rate, last = size / last if last > 0 else 0.0, size
            near = size <= (_ENOUGH if bound is not None else 1e-4 * _ENOUGH) * top
            if near and look and n:
                break
            look = near  # all d are asked before it ends
            ahead = rate / (1 - rate) if n % 3 == 2 and 0.05 < rate < 0.9999 else 0.0
            found = np.where(self.pairs, np.maximum(new + change * ahead, 0.0), 0.0)
        held = self._held(new, epsilon)
        return held if bound is None else bound if held is None else np.minimum(held, bound)

    def _held(self, found: Array, epsilon: float) -> Array | None:
        """A table A a little above this one with Phi(A) <= A: it bounds every F_m."""
        every = self._useful(float(found.max()), FAR[-1], epsilon)
        for room in _ROOMS:
            some = np.where(self.pairs, found + room * float(found.max()) + 1e-14, 0.0)
            if bool(np.all(self._first([some] * len(every), every, epsilon)[0] <= some)):
                return some
        return None


def _reached(found: Array, ceiling: Array | None, share: float) -> bool:
    return ceiling is not None and float(np.max(ceiling - found)) <= share * float(ceiling.max())


def _falling(found: list[Array]) -> list[Array]:
    """A bound for more further nodes is one for fewer."""
    out = [found[-1]]
    for table in reversed(found[:-1]):
        out.append(np.minimum(table, out[-1]))
    return out[::-1]
