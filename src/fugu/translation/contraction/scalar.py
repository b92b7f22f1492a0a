"""The scalar recursion, for chains with many values: one number alpha bounds the losses of all pairs of values.

    alpha_0 = eps,   alpha_m = min( (m + 1) eps, min over d <= m of d eps + l_d(alpha_(m-d)) ),
    l_d(alpha) = max over pairs of rows and over prefix sets A of log (a + q (1 - a)) / (b + q (1 - b)),  q = e^-alpha,

where a = K^d_x(A), b = K^d_x'(A) (docs/proofs/contraction.md#many-values). Only the pairs (a, b) that no other pair
beats in both numbers matter; they are found once by comparison alone, and then any alpha costs nothing. If alpha >=
alpha_m for all m, every F_m is at most min over d of (d - 1) eps + L(K^d_x, K^d_x'; alpha), pair by pair, since F_m <=
m eps for m < d.

Where the chain is not stationary, l_d belongs to a place: l_(m,d) is the most that passes the d kernels from a node
with m further nodes to the d-th beyond, over all pairs of its values. It is bounded by the frontier of these kernels,
by the closed form for any start, or, where the start is nearly forgotten, by the frontier of the stationary chain and
what `limit.Limit` adds; it stops as `pairwise.Sweep` does. Frontiers do not depend on eps and are kept. Where there
would be too many, fewer d are used, and in the end only the total variation eta between rows: L <= log (1 + (e^alpha -
1) eta).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fugu.translation.contraction.closed import from_total_variation, row_variation
from fugu.translation.contraction.kernel import Array, Rows, U, passed_scalar, sort_rows, up
from fugu.translation.contraction.side import Levels, Mask, Side
from fugu.translation.contraction.start import AnyStart, GivenStart, Start, through_any

DS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30)
_MOST_STEPS = 20_000
_KEPT = 4
"""How many numbers d are tried pair by pair at the end: the best ones by the scalar bound."""
_MOST_SORTED_ALL = 10**8
_MOST_SORTED = 4 * 10**7
_LEAST_FRONTIERS = 40
_FORGOTTEN, _NOTHING = 1e-3, 1e-6
_ROOMS = (1e-9, 1e-7, 1e-6)
_FEW = 3
"""How many frontiers are made at one node for one epsilon: those that promise most."""
_TRIED = 2
"""How many numbers d are tried pair by pair at one node."""


@dataclass
class Frontier:
    """The undominated (a, b) of one power of the kernel, with the slack of its entries inside."""

    a: Array
    b: Array
    slack: float

    @classmethod
    def of(cls, rows: Rows, slack: float) -> Frontier:
        """Of all pairs of rows and prefixes keep those with the largest a for their b."""
        valid = rows.valid[0]
        a = np.cumsum(rows.u[0], -1)[valid][:, :-1].ravel()
        b = np.cumsum(rows.v[0], -1)[valid][:, :-1].ravel()
        if a.size == 0:
            return cls(np.ones(1), np.ones(1), slack)
        order = np.argsort(b)  # of equal b a smaller a may come first and stay: harmless
        a, b = a[order], b[order]
        best = np.maximum.accumulate(a)
        new = np.concatenate([[True], a[1:] > best[:-1]])
        return cls(*_corners(a[new], b[new]), slack)

    def passed(self, alpha: float) -> float:
        """l_d(alpha), rounded up; at most alpha."""
        return float(Frontiers([self]).passed(np.array([alpha]))[0])


class Frontiers:
    """Several frontiers, asked at once."""

    def __init__(self, fronts: list[Frontier]) -> None:
        self.a, self.b = (np.concatenate([getattr(f, name) for f in fronts]) for name in ("a", "b"))
        sizes = [f.a.size for f in fronts]
        self.at = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self.which = np.repeat(np.arange(len(fronts)), sizes)
        slack = np.array([f.slack for f in fronts])
        self.even = (1 + slack) / (1 - slack)  # what the whole set gives: the totals of u and v are within `slack` of 1
        self.rest_a = np.maximum(1 + slack[self.which] - self.a, 0)
        self.rest_b = np.maximum(1 - slack[self.which] - self.b, 0)

    def passed(self, alphas: Array) -> Array:
        """l_d(alpha), one alpha for each frontier, rounded up; at most alpha."""
        with np.errstate(under="ignore", divide="ignore"):
            q = np.exp(-alphas)
            top = self.a + (q * (1 + 4 * U) + 1e-290)[self.which] * self.rest_a
            best = np.maximum.reduceat(top / (self.b + (q * (1 - 4 * U))[self.which] * self.rest_b), self.at)
            found = np.log(np.maximum(best, self.even)) * (1 + 4 * U) + 16 * U
        return np.asarray(np.minimum(alphas, found))


def _corners(a: Array, b: Array) -> tuple[Array, Array]:
    """The upper corners of the convex hull of points sorted by b: (a + q (1 - a)) / (b + q (1 - b)) is largest at one.

    A point is dropped only if it lies below the line through its neighbours by more than the error of the product; no
    two neighbours at once."""
    parity, idle = 0, 0
    while idle < 2 and a.size > 2:
        one = (b[2:] - b[:-2]) * (a[1:-1] - a[:-2])
        two = (a[2:] - a[:-2]) * (b[1:-1] - b[:-2])
        below = one - two < -16 * U * (np.abs(one) + np.abs(two))
        below &= np.arange(1, a.size - 1) % 2 == parity
        idle, parity = (0 if below.any() else idle + 1), 1 - parity
        keep = np.concatenate([[True], ~below, [True]])
        a, b = a[keep], b[keep]
    return a, b


@dataclass
class Wide:
    """One side of a chain whose kernel is the same everywhere."""

    side: Side
    fronts: list[Frontier] = field(default_factory=list)
    powers: list[Array] = field(default_factory=list)
    reach: list[Mask] = field(default_factory=list)
    kept: dict[int, Rows] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kernel, positive = self.side.kernel(1), self.side.kernel(1) > 0
        power, reach, size = kernel, positive, self.side.k
        for d in range(1, DS[-1] + 1):
            if d in DS:
                self.powers.append(power)
                self.reach.append(reach)
                slack = float(2 * self.side.relative([d])[0] + (6 * size + 64) * U)
                self.fronts.append(Frontier.of(self._rows(len(self.powers) - 1), slack))
            with np.errstate(under="ignore"):
                power = power @ kernel
            reach = (reach.astype(np.float32) @ positive.astype(np.float32)) > 0

    @cached_property
    def all(self) -> Frontiers:
        """The frontiers of all d together."""
        return Frontiers(self.fronts)

    def _rows(self, n: int) -> Rows:
        if n in self.kept:
            return self.kept[n]
        return sort_rows(self.powers[n][None], self.reach[n][None], self.side.relative([DS[n]]), self.side.valid_at(0))

    def alpha(self, epsilon: float, nodes: int | None) -> float:
        """A bound on alpha_m for all m up to `nodes` (None: for every m; inf if none is found)."""
        alphas, own = [up(epsilon)], np.array([up(d * epsilon) for d in DS])
        for m in range(1, (_MOST_STEPS if nodes is None else nodes) + 1):
            beyond = np.array([alphas[m - d] if d <= m else np.inf for d in DS])
            new = np.where(np.isfinite(beyond), own + self.all.passed(beyond), np.inf).min() * (1 + 4 * U)
            alphas.append(min(float(new), up((m + 1) * epsilon)))
            if m >= 4 and (bound := self._settled(alphas, epsilon)) is not None:
                return bound
        return max(alphas) if nodes is not None else float("inf")

    def _settled(self, alphas: list[float], epsilon: float) -> float | None:
        """alpha >= d eps + l_d(alpha) for one d, and at or above the earlier ones: it then bounds all of them."""
        step = max(alphas[-1] - alphas[-2], 0.0)
        bound = max(alphas) + 2 * step + 1e-12 * (1 + alphas[-1])
        if step > 1e-4 * alphas[-1]:
            return None
        return bound if self.holds(bound, epsilon) and all(a <= bound for a in alphas) else None

    def holds(self, bound: float, epsilon: float, more: float = 0.0) -> bool:
        """bound >= d eps + l_d(bound) + more for some d: if it bounds enough nodes, it bounds all beyond."""
        own = np.array([up(d * epsilon) for d in DS])
        passed = self.all.passed(np.full(len(DS), bound))
        return bool(np.any((own + passed + more) * (1 + 4 * U) <= bound))

    def pairs(self, epsilon: float, nodes: int | None) -> Array:
        """F(x, x') for every number of further nodes up to `nodes`; rounded up."""
        cap = np.inf if nodes is None else up(nodes * epsilon)
        return self.pairs_at(self.alpha(epsilon, nodes), epsilon, cap)

    def ever(self, epsilon: float) -> Array:
        """F(x, x') for every number of further nodes."""
        return self.pairs(epsilon, None)

    def levels(self, epsilon: float, nodes: int) -> Levels:
        """One table."""
        return Levels([self.pairs(epsilon, nodes)], True)

    def best(self, alpha: float, epsilon: float) -> list[int]:
        """The places in DS of the few numbers d that are tried pair by pair: the best ones by the scalar bound."""
        scores = (np.array(DS) - 1) * epsilon + self.all.passed(np.full(len(DS), alpha))
        return [int(n) for n in np.argsort(scores)[:_KEPT]]

    def pairs_at(self, alpha: float, epsilon: float, cap: float, more: float = 0.0) -> Array:
        """F(x, x') for a number alpha that bounds the losses beyond, at most `cap`; `more` is added to what passes."""
        valid = self.side.valid_at(0)
        apart = valid[:, None] & valid[None, :] & ~np.eye(self.side.k, dtype=bool)
        if not np.isfinite(alpha):
            return np.where(apart, cap, 0.0)
        best = np.where(apart, cap, 0.0)
        for n in self.best(alpha, epsilon):
            rows = self._rows(int(n))
            if len(self.kept) < 2 * _KEPT:
                self.kept[int(n)] = rows
            found = passed_scalar(rows, np.array([alpha]))[0] + more
            best = np.minimum(best, up(1.0) * (up((DS[n] - 1) * epsilon) + found))
        return np.where(apart, best, 0.0)


def levels_scalar(side: Side, epsilon: float, nodes: int) -> Levels:
    """The recursion with d = 1, one number alpha and one F per pair, for kernels that differ from place to place.

    Where sorting all rows would take too long, only the total variation eta between rows is used: for every set A,
    a <= b + eta gives L <= log (1 + (e^alpha - 1) eta), the worst case b = 0."""
    found, alpha = [np.zeros((side.k, side.k))], up(epsilon)
    sort = nodes * side.k**3 <= _MOST_SORTED_ALL
    for m in range(1, nodes + 1):
        kernel, valid = side.kernel(m), side.valid_at(m)
        pairs = valid[:, None] & valid[None, :] & ~np.eye(side.k, dtype=bool)
        if sort:
            rows = sort_rows(kernel[None], (kernel > 0)[None], side.relative([1]), valid)
            new = passed_scalar(rows, np.array([alpha]))[0]
        else:
            eta = row_variation(kernel, valid, float(side.relative([1])[0]))
            new = np.where(pairs, from_total_variation(alpha, eta), 0.0)
        new = np.minimum(new * up(1.0), up(m * epsilon))
        found.append(np.where(pairs, new, 0.0))
        alpha = up(epsilon + float(found[-1].max()))
    return Levels(found, False)


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
        alphas, own = [up(epsilon)], up(np.array(DS) * epsilon)
        for m in range(1, nodes + 1):
            best = float(up(own + self.most(m, alphas)).min())
            alphas.append(min(best, up((m + 1) * epsilon)))
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
    def _sorted(self) -> tuple[int, ...]:
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
        elif self._sorted:
            own = np.array(DS) * alphas[0]
            guess = own + (beyond if self._wide is None else self._wide.all.passed(beyond))
            for n in sorted((n for n in here if DS[n] in self._sorted), key=lambda n: guess[n])[:_FEW]:
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
            self._etas[m] = row_variation(kernel, self.start.valid_at(m), error)
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
            found = self.start.through(m, d, alphas[m - d], at)
            best[at] = np.minimum(best[at], up(up((d - 1) * epsilon) + found))
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
    settled: bool

    def __len__(self) -> int:
        return len(self.alphas)

    @property
    def grid(self) -> range:
        """The numbers m at which the bound changes."""
        return range(len(self.alphas))

    def most(self, m: int) -> float:
        """A bound on F_m for every pair."""
        return max(0.0, self.alphas[min(m, len(self.alphas) - 1)] - self.epsilon * (1 - 4 * U))

    @cached_property
    def _late(self) -> tuple[int, Array] | None:
        known = len(self.alphas) - 1 - (DS[-1] if self.settled else 0)
        return self.sweep.late(max(self.alphas), self.epsilon, known)

    def at(self, m: int, asked: Mask) -> Array:
        """An upper bound on F_m for the pairs asked."""
        if self._late is not None and m >= self._late[0]:
            return self._late[1]
        if m == 0:
            return np.zeros(asked.shape)
        return self.sweep.pairs(m, self.epsilon, self.alphas, asked)
