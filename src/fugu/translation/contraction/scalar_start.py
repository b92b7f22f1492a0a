"""Many values and a start that is not stationary: the scalar recursion over the earlier nodes.

l_(m,d), the most that passes the d kernels from a node with m further nodes to the d-th beyond, over all pairs of its
values, belongs to a place. It is bounded by the frontier of these kernels, by the closed form for any start, or, where
the start is nearly forgotten, by the frontier of the stationary chain and what `limit.Limit` adds; it stops as
`pairwise.Sweep` does. Frontiers do not depend on eps and are kept. Where there would be too many, fewer d are used, and
in the end only the total variation eta between rows: L <= log (1 + (e^alpha - 1) eta).

Proofs: docs/proofs/contraction.md#many-values and docs/proofs/contraction.md#the-start-is-forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fugu.translation.contraction.closed import from_total_variation, row_variation
from fugu.translation.contraction.frontier import Frontier
from fugu.translation.contraction.kernel import Array, U, up
from fugu.translation.contraction.rowpairs import by_variation, variations
from fugu.translation.contraction.scalar import DS, Wide, WideLevels
from fugu.translation.contraction.side import Mask
from fugu.translation.contraction.start import AnyStart, GivenStart, Start, through_any

_MOST_SORTED = 10**8
_LEAST_FRONTIERS = 40
_FORGOTTEN, _NOTHING = 1e-3, 1e-6
_ROOMS = (1e-9, 1e-7, 1e-6)
_FEW = 3
"""How many frontiers are made at one node for one epsilon: those that promise most."""
_TRIED = 2
"""How many numbers d are tried pair by pair at one node."""
_KEPT = 120
"""Tables of total variations that are kept."""


@dataclass
class WideSweep:
    """The earlier side of a chain of many values."""

    start: Start
    _fronts: dict[tuple[int, int], Frontier] = field(default_factory=dict)
    _etas: dict[int, float] = field(default_factory=dict)
    _tables: dict[tuple[int, int], Array] = field(default_factory=dict)

    def levels(self, epsilon: float, nodes: int) -> StartLevels:
        """alpha_m up to `nodes`; settled where the start is forgotten before."""
        limit, far, goal = self.start.limit, DS[-1], np.inf
        ds: tuple[int, ...] = ()
        if self._wide is not None:
            long = nodes > 2 * far
            found = self._wide.alphas(epsilon, None if long else nodes)
            ds = found.ds  # those that count at this epsilon
            goal = found.alphas[-1] if long and found.known else np.inf
        alphas, own = [up(epsilon)], up(np.array(DS) * epsilon)
        for m in range(1, nodes + 1):
            best = float(up(own + self.most(m, alphas, ds)).min())
            alphas.append(min(best, up((m + 1) * epsilon)))
            if limit is None or m <= far or not np.isfinite(goal) or self._wide is None:
                continue
            for room in _ROOMS:
                bound = max(goal, *alphas[-far:]) * (1 + room) + 1e-14
                more = limit.extra(bound, m + 1 - far)
                if more <= room * bound and self._wide.holds(bound, epsilon, ds, more):
                    return StartLevels(self, epsilon, ds, [*alphas, bound], True)
        return StartLevels(self, epsilon, ds, alphas, False)

    @cached_property
    def _wide(self) -> Wide | None:
        return None if self.start.limit is None else Wide(self.start.limit.side)

    @cached_property
    def _sorted(self) -> tuple[int, ...]:
        """The numbers d whose frontiers are made at every node where the start still counts."""
        nodes, limit = self.start.chain.length, self.start.limit
        if limit is not None:
            nodes = int(np.sum(limit.spread > _FORGOTTEN)) + DS[-1]
        most = max(_LEAST_FRONTIERS, _MOST_SORTED // self.start.k**3)
        return next((ds for ds in (DS, DS[:8:2], DS[:1]) if nodes * len(ds) <= most), ())

    def most(self, m: int, alphas: list[float], ds: tuple[int, ...]) -> Array:
        """l_(m,d)(alpha_(m-d)) for every d, at most alpha; inf where there are no d further nodes. `ds`: those whose
        frontiers of the stationary chain are asked."""
        beyond = np.array([alphas[m - d] if d <= m else np.inf for d in DS])
        found, limit = beyond.copy(), self.start.limit
        here = [n for n, d in enumerate(DS) if d <= m]
        if limit is not None and self._wide is not None and np.isfinite(limit.at(m - 1)):
            near = self._near(beyond, ds)
            for n in here:
                if np.isfinite(limit.at(m - DS[n])):
                    found[n] = min(found[n], near[n] + limit.extra(alphas[m - DS[n]], m - DS[n]))
            here = [n for n in here if limit.at(m - DS[n]) > _FORGOTTEN]
        if isinstance(self.start, AnyStart):
            for n in here:
                diameter = np.max(self.start.diameter(m, DS[n])[0], where=self._pairs(m), initial=0.0)
                found[n] = min(found[n], float(through_any(beyond[n], np.asarray(diameter))))
        elif self._sorted:
            own = np.array(DS) * alphas[0]
            guess = own + self._near(beyond, ds)
            for n in sorted((n for n in here if DS[n] in self._sorted), key=lambda n: guess[n])[:_FEW]:
                if own[n] < float((own + found).min()):  # what passes is at least 0
                    found[n] = min(found[n], self._front(m, DS[n]).passed(alphas[m - DS[n]]))
        elif 0 in here:
            found[0] = min(found[0], from_total_variation(alphas[m - 1], self._eta(m)))
        return found

    def _near(self, beyond: Array, ds: tuple[int, ...]) -> Array:
        """What passes in the stationary chain, where its frontier is asked; else all that is beyond."""
        found = beyond.copy()
        if self._wide is not None and ds:
            at = [DS.index(d) for d in ds]
            found[at] = self._wide.together(ds).passed(beyond[at])
        return found

    def _front(self, m: int, d: int) -> Frontier:
        if (m, d) not in self._fronts and isinstance(self.start, GivenStart):
            self._fronts[m, d] = Frontier.of(*self.start.kernel(m, d), self.start.valid_at(m))
        return self._fronts[m, d]

    def _eta(self, m: int) -> float:
        if m not in self._etas and isinstance(self.start, GivenStart):
            kernel, _, error = self.start.kernel(m, 1)
            self._etas[m] = row_variation(kernel, self.start.valid_at(m), error)
        return self._etas[m]

    def _pairs(self, m: int) -> Mask:
        valid = self.start.valid_at(m)
        pairs: Mask = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
        return pairs

    def tried(self, m: int, epsilon: float, alphas: list[float], ds: tuple[int, ...]) -> list[int]:
        """The numbers d that are tried pair by pair: the best ones by the scalar bound."""
        scores = (np.array(DS) - 1) * epsilon + self.most(m, alphas, ds)
        return [DS[n] for n in np.argsort(scores)[:_TRIED] if DS[n] <= m]

    def rough(self, m: int, d: int, alpha: float) -> Array:
        """What passes d kernels for all pairs, by the total variation of rows; for any start by the closed form."""
        if isinstance(self.start, GivenStart):
            if (m, d) not in self._tables:
                if len(self._tables) >= _KEPT:
                    self._tables.clear()
                self._tables[m, d] = variations(*self.start.kernel(m, d))
            return by_variation(alpha, self._tables[m, d])
        every = np.indices((self.start.k, self.start.k))
        return self.start.through(m, d, alpha, (every[0], every[1]))

    def late(self, alpha: float, known: int) -> tuple[int, float] | None:
        """The first m from which on w hardly counts, and what it adds there and beyond, if alpha bounds all alphas.

        What is beyond must begin at `known` or before; None where w counts up to there."""
        if self._wide is None or self.start.limit is None:
            return None
        first = min(known, int(np.argmax(np.append(self.start.limit.spread, 0.0) <= _NOTHING)))
        if not np.isfinite(self.start.limit.at(first)):
            return None
        return first, self.start.limit.extra(alpha, first)


@dataclass
class StartLevels:
    """alpha_m for m = 0, 1, ..., and F pair by pair where it is asked for; the last one for all beyond if settled."""

    sweep: WideSweep
    epsilon: float
    ds: tuple[int, ...]
    alphas: list[float]
    settled: bool

    def __len__(self) -> int:
        return len(self.alphas)

    @property
    def rising(self) -> bool:
        """The kernels differ from node to node."""
        return False

    @property
    def grid(self) -> range:
        """The numbers m at which the bound changes."""
        return range(len(self.alphas))

    def most(self, m: int) -> float:
        """A bound on F_m for every pair."""
        return max(0.0, self.alphas[min(m, len(self.alphas) - 1)] - self.epsilon * (1 - 4 * U))

    @cached_property
    def _late(self) -> tuple[int, float, WideLevels] | None:
        """From this m on F is that of the stationary chain with this much more, for losses of at most the largest."""
        known, alpha = len(self.alphas) - 1 - (DS[-1] if self.settled else 0), max(self.alphas)
        found = self.sweep.late(alpha, known)
        if found is None or self.sweep._wide is None or not self.ds:
            return None
        table = WideLevels(self.sweep._wide, self.epsilon, self.ds, [alpha], True, [0])
        return found[0] + max(table.tried(DS[-1])), found[1], table

    def rough(self, m: int) -> Array:
        """A bound on F_m for all pairs."""
        return self._bounds(m, None)

    def at(self, m: int, asked: Mask) -> Array:
        """An upper bound on F_m for the pairs asked."""
        return self._bounds(m, asked)

    def _bounds(self, m: int, asked: Mask | None) -> Array:
        if self._late is not None and m >= self._late[0]:
            _, more, table = self._late
            found = table.rough(m) if asked is None else table.at(m, asked)
            return np.asarray(up(found + more))
        best = np.full((self.sweep.start.k, self.sweep.start.k), self.most(m))
        for d in self.sweep.tried(m, self.epsilon, self.alphas, self.ds) if m else ():
            own, alpha = up((d - 1) * self.epsilon), self.alphas[m - d]
            best = np.minimum(best, up(own + self.sweep.rough(m, d, alpha)))
            if asked is not None and asked.any() and isinstance(self.sweep.start, GivenStart):
                at = np.nonzero(asked)
                best[at] = np.minimum(best[at], up(own + self.sweep.start.through(m, d, alpha, at)))
        return best
