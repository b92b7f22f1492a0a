"""The same recursion with one number for all pairs of values, for chains of many values that are not stationary.

    alpha_0 = eps,   alpha_m = min( (m + 1) eps, min over d <= m of d eps + l_(m,d)(alpha_(m-d)) ),

l_(m,d) the most that passes the d kernels from a node with m further nodes to the d-th beyond, over all pairs of its
values: the frontier of these kernels (`contraction_wide`), the closed form for any start, or, where the start is nearly
forgotten, the frontier of the stationary chain and what `contraction_start.Limit` adds. It stops as `contraction_sweep`
does. Frontiers do not depend on eps and are kept. Where there would be too many, fewer d are used, and in the end only
the total variation eta between rows: L <= log (1 + (e^alpha - 1) eta).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fugu.translation.contraction.closed import from_total_variation, spread
from fugu.translation.contraction.kernel import Array, U, passed_scalar, sort_pairs
from fugu.translation.contraction.limit import up
from fugu.translation.contraction.side import Mask
from fugu.translation.contraction.start import AnyStart, GivenStart, Start, through_any
from fugu.translation.contraction.wide import DS, Frontier, Wide

_MOST_SORTED = 4 * 10**7
_LEAST_FRONTIERS = 40
_FORGOTTEN, _NOTHING = 1e-3, 1e-6
_ROOMS = (1e-9, 1e-7, 1e-6)
_FEW = 3
"""How many frontiers are made at one node for one epsilon: those that promise most."""
_TRIED = 2
"""How many numbers d are tried pair by pair at one node."""


@dataclass
class WideSweep:
    """The earlier side of a chain of many values."""

    start: Start
    _fronts: dict[tuple[int, int], Frontier] = field(default_factory=dict)
    _etas: dict[int, float] = field(default_factory=dict)

    def levels(self, epsilon: float, nodes: int) -> WideLevels:
        """alpha_m up to `nodes`; settled where the start is forgotten before."""
        limit, far = self.start.limit, DS[-1]
        goal = self._wide.alpha(epsilon, None) if self._wide is not None and nodes > 2 * far else np.inf
        alphas, own = [float(up(epsilon))], up(np.array(DS) * epsilon)
        for m in range(1, nodes + 1):
            best = float(up(own + self.most(m, alphas)).min())
            alphas.append(min(best, float(up((m + 1) * epsilon))))
            if limit is None or m <= far or not np.isfinite(goal):
                continue
            for room in _ROOMS:
                bound = max(goal, *alphas[-far:]) * (1 + room) + 1e-14
                more = limit.extra(bound, m + 1 - far)
                if more <= room * bound and self._wide is not None and self._wide.holds(bound, epsilon, more):
                    return WideLevels(self, epsilon, [*alphas, bound], True)
        return WideLevels(self, epsilon, alphas, False)

    @cached_property
    def _wide(self) -> Wide | None:
        return None if self.start.limit is None else Wide(self.start.limit.side)

    @cached_property
    def _exact(self) -> tuple[int, ...]:
        """The numbers d whose frontiers are made at every node where the start still counts."""
        nodes, limit = self.start.chain.length, self.start.limit
        if limit is not None:
            nodes = int(np.sum(limit.spread > _FORGOTTEN)) + DS[-1]
        most = max(_LEAST_FRONTIERS, _MOST_SORTED // self.start.k**3)
        return next((ds for ds in (DS, DS[:8:2], DS[:1]) if nodes * len(ds) <= most), ())

    def most(self, m: int, alphas: list[float]) -> Array:
        """l_(m,d)(alpha_(m-d)) for every d, at most alpha; inf where there are no d further nodes."""
        beyond = np.array([alphas[m - d] if d <= m else np.inf for d in DS])
        found, limit = beyond.copy(), self.start.limit
        here = [n for n, d in enumerate(DS) if d <= m]
        if limit is not None and self._wide is not None and np.isfinite(limit.at(m - 1)):
            near = self._wide.all.passed(beyond)
            for n in here:
                if np.isfinite(limit.at(m - DS[n])):
                    found[n] = min(found[n], near[n] + limit.extra(alphas[m - DS[n]], m - DS[n]))
            here = [n for n in here if limit.at(m - DS[n]) > _FORGOTTEN]
        if isinstance(self.start, AnyStart):
            for n in here:
                diameter = np.max(self.start.diameter(m, DS[n])[0], where=self._pairs(m), initial=0.0)
                found[n] = min(found[n], float(through_any(beyond[n], np.asarray(diameter))))
        elif self._exact:
            own = np.array(DS) * alphas[0]
            guess = own + (beyond if self._wide is None else self._wide.all.passed(beyond))
            for n in sorted((n for n in here if DS[n] in self._exact), key=lambda n: guess[n])[:_FEW]:
                if own[n] < float((own + found).min()):  # what passes is at least 0
                    found[n] = min(found[n], self._front(m, DS[n]).passed(alphas[m - DS[n]]))
        elif 0 in here:
            found[0] = min(found[0], from_total_variation(alphas[m - 1], self._eta(m)))
        return found

    def _front(self, m: int, d: int) -> Frontier:
        if (m, d) not in self._fronts and isinstance(self.start, GivenStart):
            rows, error = self.start.sorted_rows(m, (d,))
            self._fronts[m, d] = Frontier.of(rows, 2 * float(error[0]) + (6 * self.start.k + 64) * U)
        return self._fronts[m, d]

    def _eta(self, m: int) -> float:
        if m not in self._etas and isinstance(self.start, GivenStart):
            kernel, _, error = self.start.kernel(m, 1)
            self._etas[m] = spread(kernel, self.start.valid_at(m), error)
        return self._etas[m]

    def _pairs(self, m: int) -> Mask:
        valid = self.start.valid_at(m)
        pairs: Mask = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
        return pairs

    def pairs(self, m: int, epsilon: float, alphas: list[float], asked: Mask) -> Array:
        """F(x, x') of a node with m further nodes for the pairs asked, from the numbers alpha of those nodes."""
        scores = (np.array(DS) - 1) * epsilon + self.most(m, alphas)
        tried = [DS[n] for n in np.argsort(scores)[:_TRIED] if DS[n] <= m]
        best = np.full((self.start.k, self.start.k), alphas[m] - epsilon * (1 - 4 * U))
        at = np.nonzero(asked)
        for d in tried if at[0].size else ():
            own, start = float(up((d - 1) * epsilon)), self.start
            if isinstance(start, AnyStart):
                found = through_any(np.full(at[0].shape, alphas[m - d]), start.diameter(m, d)[0][at])
            elif isinstance(start, GivenStart):
                rows = sort_pairs(*start.kernel(m, d), at)
                found = passed_scalar(rows, np.array([alphas[m - d]]))[0, 0]
            best[at] = np.minimum(best[at], up(own + found))
        return best

    def late(self, alpha: float, epsilon: float, known: int) -> tuple[int, Array] | None:
        """The first m from which on w hardly counts, and F(x, x') for it and all beyond, if alpha bounds all alphas.

        What is beyond must begin at `known` or before; None where w counts up to there."""
        if self._wide is None or self.start.limit is None:
            return None
        first = min(known, int(np.argmax(np.append(self.start.limit.spread, 0.0) <= _NOTHING)))
        if not np.isfinite(self.start.limit.at(first)):
            return None
        farthest = max(DS[n] for n in self._wide.best(alpha, epsilon))
        more = self.start.limit.extra(alpha, first)
        return first + farthest, self._wide.pairs_at(alpha, epsilon, np.inf, more)


@dataclass
class WideLevels:
    """alpha_m for m = 0, 1, ..., and F pair by pair where it is asked for; the last one for all beyond if settled."""

    sweep: WideSweep
    epsilon: float
    alphas: list[float]
    closed: bool

    def __len__(self) -> int:
        return len(self.alphas)

    def most(self, m: int) -> float:
        """A bound on F_m for every pair."""
        return max(0.0, self.alphas[min(m, len(self.alphas) - 1)] - self.epsilon * (1 - 4 * U))

    @cached_property
    def _late(self) -> tuple[int, Array] | None:
        known = len(self.alphas) - 1 - (DS[-1] if self.closed else 0)
        return self.sweep.late(max(self.alphas), self.epsilon, known)

    def at(self, m: int, asked: Mask) -> Array:
        """An upper bound on F_m for the pairs asked."""
        if self._late is not None and m >= self._late[0]:
            return self._late[1]
        if m == 0:
            return np.zeros(asked.shape)
        return self.sweep.pairs(m, self.epsilon, self.alphas, asked)
