"""A few values: what m further nodes can add, for every m, pair by pair also where the start is not stationary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fugu.translation.contraction.kernel import (
    Array,
    Power,
    RowPairs,
    chosen,
    joined,
    pairs_of,
    passed,
    shortest_paths,
    sort_rows,
    times,
    up,
)
from fugu.translation.contraction.scalar import Wide
from fugu.translation.contraction.side import (
    Mask,
    Side,
    SideLevels,
    StationaryLimit,
    blocks,
    levels,
    losses_of,
    next_place,
)

if TYPE_CHECKING:
    from fugu.translation.contraction.start import AnyStart, GivenStart, Which

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
_EVERY = 8
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
    """One side of a chain of a few values whose kernel is the same everywhere; its powers by halves."""

    side: Side
    wide: Wide = field(init=False)
    pairs: Mask = field(init=False)
    _known: dict[float, Array | None] = field(default_factory=dict)
    _anchors: dict[float, Array | None] = field(default_factory=dict)
    _powers: dict[int, Power] = field(default_factory=dict)
    _rows: dict[int, RowPairs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.wide, self.pairs = Wide(self.side), pairs_of(self.side.valid_at(0))

    def power(self, d: int) -> Power:
        """K^d and what of it is positive; the error of `Side.relative` holds for every order of multiplication."""
        if d not in self._powers:
            if d == 1:
                self._powers[1] = self.side.kernel(1), self.side.kernel(1) > 0
            else:
                self._powers[d] = times(self.power(d // 2), self.power(d - d // 2))
        return self._powers[d]

    def rows(self, ds: tuple[int, ...]) -> RowPairs:
        """The sorted rows of several powers, stacked."""
        for d in ds:
            if d not in self._rows:
                power, reach = self.power(d)
                self._rows[d] = sort_rows(power[None], reach[None], self.side.relative([d]), self.side.valid_at(0))
        return joined([self._rows[d] for d in ds])

    def _first(
        self, beyond: list[Array], ds: tuple[int, ...], epsilon: float
    ) -> tuple[Array, Callable[[list[Array]], Array]]:
        """Shortest paths of min over d of (d - 1) eps + L(K^d; eps + F), rounded up; and what gives the same of other
        tables beyond these `ds`, with the few d of each pair alone that gave the least bounds here."""
        own = up((np.asarray(ds) - 1) * epsilon)
        rows = self.rows(ds)
        each = up(own[:, None, None] + passed(rows, losses_of(beyond, epsilon)))
        which = np.argsort(each, axis=0)[: min(_SLOTS, len(ds))]
        best = chosen(rows, which)

        def closed(each: Array) -> Array:
            return np.where(self.pairs, shortest_paths(np.asarray(each.min(axis=0)), self.side.valid_at(0)), 0.0)

        return closed(each), lambda more: closed(up(own[which] + passed(best, losses_of(more, epsilon), which)))

    def _useful(self, most: float, m: int, epsilon: float) -> tuple[int, ...]:
        """The d up to m with (d - 1) eps below the largest bound known: others cannot be the best for any pair."""
        every = (*blocks(self.side.k), *FAR)
        return tuple(d for d in every if d == 1 or (d <= m and (d - 1) * epsilon < most))

    def levels(self, epsilon: float, nodes: int) -> SideLevels:
        """F_m up to `nodes`, rounded up."""
        ceiling = self.ever(epsilon)
        found: list[Array] = [np.zeros((self.side.k, self.side.k))]
        dense = min(nodes, max(_LEAST_DENSE, _MOST_DENSE // self.side.k**4))
        for m in range(1, dense + 1):
            if m <= _EVERY or m % _EVERY == 0:
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
        for _ in range(_EVERY):
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
        every = (*blocks(self.side.k), *FAR)
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


# The earlier side of a chain of a few values that is not stationary: one loss per ordered pair of them.
#
# The recursion over the earlier nodes is stopped where the start is forgotten. F_m for m = 0, 1, ... as in `side`, with
# what `start` passes on. Let A bound the last D of them, D the largest number of kernels taken at once, and w that of
# the first of these nodes. If
#
#     min over d of (d - 1) eps + L_stationary(K^d; eps + A) + 2 log(1 + (e^(eps + max A) - 1) tanh(w / 4)) <= A,
#
# then A bounds F_m for every later m too, by induction: w only falls. A is the bound of the stationary chain for every
# number of nodes, or the largest of the last D levels where these are above it, and a little room; more of it the
# longer the recursion has gone on. Which d are tried at a node is free, every one is a bound: all of them now and then,
# else for each pair the two that were best lately.
#
# Proofs: docs/proofs/contraction.md#the-start-is-forgotten.

_PAIR_ROOMS = ((1e-9, 0), (1e-7, 0), (1e-6, 0), (1e-5, 200), (1e-4, 400), (1e-3, 1600))
"""What may be lost where the recursion stops, as a share, and from which node on."""
_RECURSION = 5


@dataclass
class Sweep:
    """The earlier side of a chain of a few values: one loss per ordered pair of them."""

    start: GivenStart | AnyStart

    @cached_property
    def _stationary(self) -> Numbered:
        assert self.start.limit is not None
        return Numbered(self.start.limit.side)

    def levels(self, epsilon: float, nodes: int) -> SideLevels:
        """F_m up to `nodes`; settled where the start is forgotten before."""
        ds, limit, goal = blocks(self.start.chain.size), self.start.limit, None
        if limit is not None and nodes > 2 * ds[-1]:  # of the stationary chain, for every number of earlier nodes
            if self.start.chain.size > _RECURSION:
                goal = self._stationary.ever(epsilon)
            elif (ever := levels(limit.side, epsilon, nodes)).settled:
                goal = ever.values[-1]
        found: list[Array] = [np.zeros((self.start.chain.size, self.start.chain.size))]
        best: tuple[tuple[int, ...], Which] | None = None
        for m in range(1, nodes + 1):
            usable = tuple(d for d in ds if d <= m)
            if best is None or m % _EVERY == 0 or m <= _EVERY:
                each = self.start.passed(m, [found[m - d] for d in usable], usable, epsilon)
                first = np.argsort(each, axis=0)[:2]  # the two d with the least bounds for each pair
                used, at = np.unique(first, return_inverse=True)
                best = None if m < _EVERY else (tuple(usable[n] for n in used), at.reshape(first.shape))
            else:
                each = self.start.passed(m, [found[m - d] for d in best[0]], best[0], epsilon, best[1])
            valid = self.start.valid_at(m)
            new = np.minimum(shortest_paths(each.min(axis=0), valid), up(m * epsilon))
            found.append(np.where(pairs_of(valid), new, 0.0))
            if limit is not None and goal is not None and m % _EVERY == 0 and m > ds[-1]:
                rest = _forgotten(found[-ds[-1] :], goal, limit, ds, epsilon, m)
                if rest is not None:
                    return SideLevels([*found, rest], True)
        return SideLevels(found, False)


def _forgotten(
    recent: list[Array], goal: Array, limit: StationaryLimit, ds: tuple[int, ...], epsilon: float, m: int
) -> Array | None:
    """The bound A for every node beyond the m-th, or None if it does not hold yet."""
    least = np.maximum(np.max(np.stack(recent), axis=0), goal)
    size, valid = float(least.max()), limit.side.valid_at(0)
    pairs: Mask = limit.rows(ds).valid[0]
    for room in (room for room, first in _PAIR_ROOMS if m >= first):
        more = room * size + 1e-14
        if limit.extra(up(epsilon + size + more), m + 1 - ds[-1]) <= more / 2:
            bound = np.where(pairs, least + more, 0.0)
            each = limit.passed([m + 1 - ds[-1]] * len(ds), [bound] * len(ds), ds, epsilon)
            after = np.where(pairs, shortest_paths(each.min(axis=0), valid), 0.0)
            if bool(np.all(after <= bound)):
                return bound
    return None
