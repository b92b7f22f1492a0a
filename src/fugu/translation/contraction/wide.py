"""The scalar recursion, for chains with many values: one number alpha bounds the losses of all pairs of values.

    alpha_0 = eps,   alpha_m = min( (m + 1) eps, min over d <= m of d eps + l_d(alpha_(m-d)) ),
    l_d(alpha) = max over pairs of rows and over prefix sets A of log (a + q (1 - a)) / (b + q (1 - b)),  q = e^-alpha,

where a = K^d_x(A), b = K^d_x'(A) (composition notes, section 6.3). Only the pairs (a, b) that no other pair beats in
both numbers matter; they are found once by comparison alone, and then any alpha costs nothing. If alpha >= alpha_m for
all m, every F_m is at most min over d of (d - 1) eps + L(K^d_x, K^d_x'; alpha), pair by pair, since F_m <= m eps for m
< d.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fugu.translation.contraction.closed import from_total_variation, spread
from fugu.translation.contraction.kernel import Array, Rows, U, passed_scalar, sort_rows
from fugu.translation.contraction.side import Levels, Mask, Side

DS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30)
_MOST_STEPS = 20_000
_KEPT = 4
"""How many numbers d are tried pair by pair at the end: the best ones by the scalar bound."""


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
        plain, reach, size = kernel, positive, self.side.k
        for d in range(1, DS[-1] + 1):
            if d in DS:
                self.powers.append(plain)
                self.reach.append(reach)
                slack = float(2 * self.side.relative([d])[0] + (6 * size + 64) * U)
                self.fronts.append(Frontier.of(self._rows(len(self.powers) - 1), slack))
            with np.errstate(under="ignore"):
                plain = plain @ kernel
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
        alphas, own = [_up(epsilon)], np.array([_up(d * epsilon) for d in DS])
        for m in range(1, (_MOST_STEPS if nodes is None else nodes) + 1):
            beyond = np.array([alphas[m - d] if d <= m else np.inf for d in DS])
            new = np.where(np.isfinite(beyond), own + self.all.passed(beyond), np.inf).min() * (1 + 4 * U)
            alphas.append(min(float(new), _up((m + 1) * epsilon)))
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
        own = np.array([_up(d * epsilon) for d in DS])
        passed = self.all.passed(np.full(len(DS), bound))
        return bool(np.any((own + passed + more) * (1 + 4 * U) <= bound))

    def pairs(self, epsilon: float, nodes: int | None) -> Array:
        """F(x, x') for every number of further nodes up to `nodes`; rounded up."""
        cap = np.inf if nodes is None else _up(nodes * epsilon)
        return self.pairs_at(self.alpha(epsilon, nodes), epsilon, cap)

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
            best = np.minimum(best, _up(1.0) * (_up((DS[n] - 1) * epsilon) + found))
        return np.where(apart, best, 0.0)


def _up(x: float) -> float:
    return x * (1 + 4 * U)


_MOST_SORTED = 10**8


def levels_scalar(side: Side, epsilon: float, nodes: int) -> Levels:
    """The recursion with d = 1, one number alpha and one F per pair, for kernels that differ from place to place.

    Where sorting all rows would take too long, only the total variation eta between rows is used: for every set A,
    a <= b + eta gives L <= log (1 + (e^alpha - 1) eta), the worst case b = 0."""
    found, alpha = [np.zeros((side.k, side.k))], _up(epsilon)
    sort = nodes * side.k**3 <= _MOST_SORTED
    for m in range(1, nodes + 1):
        kernel, valid = side.kernel(m), side.valid_at(m)
        pairs = valid[:, None] & valid[None, :] & ~np.eye(side.k, dtype=bool)
        if sort:
            rows = sort_rows(kernel[None], (kernel > 0)[None], side.relative([1]), valid)
            new = passed_scalar(rows, np.array([alpha]))[0]
        else:
            new = np.where(pairs, from_total_variation(alpha, spread(kernel, valid, float(side.relative([1])[0]))), 0.0)
        new = np.minimum(new * _up(1.0), _up(m * epsilon))
        found.append(np.where(pairs, new, 0.0))
        alpha = _up(epsilon + float(found[-1].max()))
    return Levels(found, False)
