"""One kernel for all places: what m further nodes can add, for every m, pair by pair or by one number for all pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from fugu.translation.kernel import (
    Array,
    Frontier,
    Frontiers,
    U,
    by_variation,
    frontier,
    pairs_of,
    passed_pairs,
    shortest_paths,
    up,
    variations,
)
from fugu.translation.side import EVERY, Kernel, Mask, Side, SideLevels, next_place

#     alpha_0 = eps,   alpha_m = min( (m + 1) eps, min over d <= m of d eps + l_d(alpha_(m-d)) ),
#
# l_d the most that d kernels pass, over all pairs of rows (`frontier`; docs/proofs/contraction.md#many-values). Then,
# pair by pair and for each number m of further nodes, F_m <= min over d of (d - 1) eps + L(K^d_x, K^d_x'; alpha_(m-d)).
#
# Frontiers do not depend on eps and are kept; one is made once its d can matter, that is while d eps is below the
# largest alpha known. Beyond some thousand nodes m goes on a grid: l_d grows at most as fast as alpha, so if A bounds
# alpha for all numbers up to m and phi(A) = min over d of d eps + l_d(A), then A + n (phi(A) - A)_+ does up to m + n.
#
# Proofs: docs/proofs/contraction.md#many-values and docs/proofs/contraction.md#by-number.

DS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30)
_MOST_STEPS = 2_000
"""Further nodes looked at one by one; beyond them, on a grid."""
_GRID = 64
"""Grid points between m and about 2.7 m."""
_KEPT = 4
"""How many numbers d are tried pair by pair: the best ones by the scalar bound."""
_SAMPLE = 100


@dataclass
class Wide:
    """One side of a chain whose kernel is the same everywhere.

    `tail`: the largest number of further nodes for which the values of the side's `valid` are all that can occur; the
    nodes with more of them, the first few entries, may take other values too. None: all nodes are alike."""

    side: Side
    tail: int | None = None
    _fronts: dict[int, Frontier] = field(default_factory=dict)
    _together: dict[tuple[int, ...], Frontiers] = field(default_factory=dict)
    _etas: dict[int, Array] = field(default_factory=dict)
    _samples: dict[int, Frontier] = field(default_factory=dict)

    def together(self, ds: tuple[int, ...]) -> Frontiers:
        """The frontiers of several d."""
        for d in ds:
            if d not in self._fronts:
                self._fronts[d] = frontier(*self.side.kernel(1, d), self.side.valid_at(0))
        if ds not in self._together:
            self._together[ds] = Frontiers([self._fronts[d] for d in ds])
        return self._together[ds]

    def __post_init__(self) -> None:
        self.k, self.alike = self.side.k, self.tail is None

    def nearest(self, m: int) -> int:
        return 0 if self.tail is None or m <= self.tail else m - self.tail

    def tried(self, m: int, levels: WideLevels) -> list[int]:
        ds = tuple(d for d in levels.ds if max(1, self.nearest(m)) <= d <= m)
        if not ds:
            return []
        beyond = np.array([levels.alpha(m - d) for d in ds])
        scores = (np.array(ds) - 1) * levels.epsilon + self.together(ds).passed(beyond)
        return [ds[n] for n in np.argsort(scores)[:_KEPT]]

    def rough(self, _: int, d: int, alpha: float) -> Array:
        return by_variation(alpha, self._eta(d))

    def through(self, _: int, d: int) -> Kernel:
        return self.side.kernel(1, d)

    def _eta(self, d: int) -> Array:
        """The total variation between all pairs of rows of K^d."""
        if d not in self._etas:
            self._etas[d] = variations(*self.side.kernel(1, d))
        return self._etas[d]

    def levels(self, epsilon: float, nodes: int | None) -> WideLevels:
        """alpha_m, and F_m, up to `nodes` (None: until they settle), rounded up."""
        ds: tuple[int, ...] = DS[:2]
        found = self._recursion(epsilon, nodes, ds)
        for d in DS[2:]:
            if d * epsilon < found.alphas[-1] and self._promising(d, found):
                ds = (*ds, d)
                found = self._recursion(epsilon, nodes, ds)
        return found

    def _promising(self, d: int, found: WideLevels) -> bool:
        """Whether d kernels pass little enough somewhere, judged by the pairs whose rows differ most; a choice only,
        and the same whatever was asked before."""
        if d not in self._samples:
            eta = np.where(pairs_of(self.side.valid_at(0)), self._eta(d), -1.0)
            pairs = np.unravel_index(np.argsort(eta, axis=None)[-_SAMPLE:], eta.shape)
            self._samples[d] = frontier(*self.side.kernel(1, d), self.side.valid_at(0), pairs)
        places = [m for m in found.grid if m >= d]
        some = places[:: max(1, len(places) // 16)] + places[-1:]
        beyond = np.array([found.alpha(m - d) for m in some])
        least = d * found.epsilon + Frontiers([self._samples[d]] * len(some)).passed(beyond) if some else np.zeros(0)
        return bool(np.any(least < np.array([found.alpha(m) for m in some])))

    def _recursion(self, epsilon: float, nodes: int | None, ds: tuple[int, ...]) -> WideLevels:
        fronts, own = self.together(ds), up(np.array(ds) * epsilon)
        alphas = [up(epsilon)]
        last = _MOST_STEPS if nodes is None else min(nodes, _MOST_STEPS)
        for m in range(1, last + 1):
            beyond = np.array([alphas[m - d] if d <= m else np.inf for d in ds])
            new = up(float(np.where(np.isfinite(beyond), own + fronts.passed(beyond), np.inf).min()))
            alphas.append(max(alphas[-1], min(new, up((m + 1) * epsilon))))
            if m >= 4 and (bound := self._settled(alphas, epsilon, ds)) is not None:
                return WideLevels(self, epsilon, ds, [*alphas, bound], True, range(len(alphas) + 1))
        places = list(range(len(alphas)))
        while nodes is not None and places[-1] < nodes:
            step = min(1 + places[-1] // _GRID, nodes - places[-1])
            most = alphas[-1]
            grown = up(float((own + fronts.passed(np.full(len(ds), most))).min()))
            places.append(places[-1] + step)
            alphas.append(min(up(most + up(step * max(grown - most, 0.0))), up((places[-1] + 1) * epsilon)))
            if (bound := self._settled(alphas, epsilon, ds)) is not None:
                return WideLevels(self, epsilon, ds, [*alphas, bound], True, [*places, places[-1] + 1])
        return WideLevels(self, epsilon, ds, alphas, nodes is None, places, nodes is not None)

    def _settled(self, alphas: list[float], epsilon: float, ds: tuple[int, ...]) -> float | None:
        """alpha >= d eps + l_d(alpha) for one d, and at or above the earlier ones: it then bounds all of them."""
        step = alphas[-1] - alphas[-2]
        bound = alphas[-1] + 2 * step + 1e-12 * (1 + alphas[-1])
        return bound if step <= 1e-4 * alphas[-1] and self.holds(bound, epsilon, ds) else None

    def holds(self, bound: float, epsilon: float, ds: tuple[int, ...], more: float = 0.0) -> bool:
        """bound >= d eps + l_d(bound) + more for some d: if it bounds enough nodes, it bounds all beyond."""
        passed = self.together(ds).passed(np.full(len(ds), bound))
        return bool(np.any((up(np.array(ds) * epsilon) + passed + more) * (1 + 4 * U) <= bound))

    def ever(self, epsilon: float) -> Array | None:
        """F(x, x') for every number of further nodes; None if no bound is found."""
        found, pairs = self.levels(epsilon, None), pairs_of(self.side.valid_at(0))
        return np.where(pairs, found.at(len(found.alphas), pairs), 0.0) if found.known else None


@dataclass
class WideLevels:
    """alpha_m for m = 0, 1, ... or on a grid, and F pair by pair where it is asked for; the last for all beyond if
    settled. `known`: False where no bound for every number was found. `ds`: the numbers of kernels that count at this
    epsilon. `source` says which of them are tried at a node, and what passes them."""

    source: WideSource
    epsilon: float
    ds: tuple[int, ...]
    alphas: list[float]
    settled: bool
    grid: Sequence[int]
    known: bool = True

    @property
    def rising(self) -> bool:
        """Whether a bound for m nodes is one for fewer: not where nodes have kernels or values of their own."""
        return self.source.alike

    def alpha(self, m: int) -> float:
        """A bound on alpha_m, rounded to the next grid point above."""
        return self.alphas[min(next_place(self.grid, m), len(self.alphas) - 1)]

    def most(self, m: int) -> float:
        """A bound on F_m for every pair: alpha_m - eps, or (d - 1) eps + alpha_(m-d)."""
        cap, d = up(m * self.epsilon), self.source.nearest(m)
        if d == 0:
            return min(max(0.0, self.alpha(m) - self.epsilon * (1 - 4 * U)), cap)
        return min(up(up((d - 1) * self.epsilon) + self.alpha(m - d)), cap)

    def at(self, m: int, asked: Mask | None = None) -> Array:
        """An upper bound on F_m for the pairs asked; a rough one for all pairs, by the total variation of rows."""
        best = np.full((self.source.k, self.source.k), self.most(m))
        for d in self.source.tried(m, self) if m else ():
            held, alpha = up((d - 1) * self.epsilon), self.alpha(m - d)
            best = np.minimum(best, up(held + self.source.rough(m, d, alpha)))
            if asked is not None and asked.any() and (kernel := self.source.through(m, d)) is not None:
                at = np.nonzero(asked)
                best[at] = np.minimum(best[at], up(held + passed_pairs(*kernel, at, alpha)))
        return best

    rough = at


class WideSource(Protocol):
    """One side of a chain of many values: what `WideLevels` asks of it."""

    k: int
    alike: bool
    """Whether all nodes have the same kernels and values."""

    def nearest(self, m: int) -> int:
        """The least d that leads to nodes whose values are all known; 0 where those of the node itself are."""

    def tried(self, m: int, levels: WideLevels) -> list[int]:
        """The d that are tried pair by pair: the best ones by the scalar bound."""

    def rough(self, m: int, d: int, alpha: float) -> Array:
        """What passes d kernels for all pairs, roughly."""

    def through(self, m: int, d: int) -> Kernel | None:
        """The d kernels, for a closer look; None where the rough bound is all that is known."""


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
            # the next grid point g: A_g bounds F_m for every m <= g
            gap = max(1, (1 << (places[-1].bit_length() - 1)) // _OCTAVE)
            place = min(places[-1] + gap, nodes)
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
            if len(places) % _OCTAVE == 0 and (held := self._held(found[-1], epsilon)) is not None:
                ceiling = held if ceiling is None else np.minimum(held, ceiling)
        if ceiling is None or not _reached(found[-1], ceiling, _NEAR_FAR):
            return SideLevels(_falling(found), False, places)
        return SideLevels(_falling([*found, ceiling]), True, [*places, places[-1] + 1])

    def _at_most(self, new: Array, m: int, epsilon: float, ceiling: Array | None) -> Array:
        new = np.minimum(new, np.where(self.pairs, up(m * epsilon), 0.0))
        return new if ceiling is None else np.minimum(new, ceiling)

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
