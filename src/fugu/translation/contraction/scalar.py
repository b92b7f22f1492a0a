"""The scalar recursion, for chains with many values: one number alpha bounds the losses of all pairs of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.translation.contraction.kernel import (
    TINY,
    Array,
    RowPairs,
    U,
    by_variation,
    from_total_variation,
    outward,
    pairs_of,
    passed_scalar,
    row_variation,
    sort_pairs,
    sort_rows,
    up,
)
from fugu.translation.contraction.side import Mask, Side, SideLevels, next_place

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
_MOST_SORTED_ALL = 10**8


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

    def eta(self, d: int) -> Array:
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
            eta = np.where(pairs_of(self.side.valid_at(0)), self.eta(d), -1.0)
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
    epsilon."""

    wide: Wide
    epsilon: float
    ds: tuple[int, ...]
    alphas: list[float]
    settled: bool
    grid: Sequence[int]
    known: bool = True

    @property
    def rising(self) -> bool:
        """Whether a bound for m nodes is one for fewer; the first entries may have values of their own."""
        return self.wide.tail is None

    def alpha(self, m: int) -> float:
        """A bound on alpha_m, rounded to the next grid point above."""
        return self.alphas[min(next_place(self.grid, m), len(self.alphas) - 1)]

    def _nearest(self, m: int) -> int:
        """The least d that leads to nodes whose values are all known: 1, but for the first few entries."""
        return 1 if self.wide.tail is None or m <= self.wide.tail + 1 else m - self.wide.tail

    def most(self, m: int) -> float:
        """A bound on F_m for every pair: alpha_m - eps, or (d - 1) eps + alpha_(m-d)."""
        tail, cap = self.wide.tail, up(m * self.epsilon)
        if tail is None or m <= tail:
            return min(max(0.0, self.alpha(m) - self.epsilon * (1 - 4 * U)), cap)
        d = self._nearest(m)
        return min(up(up((d - 1) * self.epsilon) + self.alpha(m - d)), cap)

    def tried(self, m: int) -> list[int]:
        """The d that are tried pair by pair: the best ones by the scalar bound."""
        ds = tuple(d for d in self.ds if self._nearest(m) <= d <= m)
        if not ds:
            return []
        beyond = np.array([self.alpha(m - d) for d in ds])
        scores = (np.array(ds) - 1) * self.epsilon + self.wide.together(ds).passed(beyond)
        return [ds[n] for n in np.argsort(scores)[:_KEPT]]

    def rough(self, m: int) -> Array:
        """A bound on F_m for all pairs, by the total variation of rows."""
        best = np.full((self.wide.side.k, self.wide.side.k), self.most(m))
        for d in self.tried(m):
            passed = by_variation(self.alpha(m - d), self.wide.eta(d))
            best = np.minimum(best, up(up((d - 1) * self.epsilon) + passed))
        return best

    def at(self, m: int, asked: Mask) -> Array:
        """An upper bound on F_m for the pairs asked."""
        best = np.where(asked, self.most(m), 0.0)
        pairs = np.nonzero(asked)
        for d in self.tried(m) if pairs[0].size else ():
            passed = passed_pairs(*self.wide.side.kernel(1, d), pairs, self.alpha(m - d))
            best[pairs] = np.minimum(best[pairs], up(up((d - 1) * self.epsilon) + passed))
        return best


@dataclass(frozen=True)
class Placewise:
    """One side of a chain of many values whose kernels differ from place to place."""

    side: Side

    def levels(self, epsilon: float, nodes: int) -> SideLevels:
        """The recursion with d = 1, one number alpha and one F per pair.

        Where sorting all rows would take too long, only the total variation eta between rows is used: for every set A,
        a <= b + eta gives L <= log (1 + (e^alpha - 1) eta), the worst case b = 0."""
        side = self.side
        found, alpha = [np.zeros((side.k, side.k))], up(epsilon)
        sort = nodes * side.k**3 <= _MOST_SORTED_ALL
        for m in range(1, nodes + 1):
            kernel, pairs = side.step(m), side.pairs_at(m)
            if sort:
                rows = sort_rows(kernel[None], (kernel > 0)[None], side.relative([1]), side.valid_at(m))
                new = passed_scalar(rows, np.array([alpha]))[0]
            else:
                eta = row_variation(kernel, side.valid_at(m), float(side.relative([1])[0]))
                new = np.where(pairs, from_total_variation(alpha, eta), 0.0)
            new = np.minimum(new * up(1.0), up(m * epsilon))
            found.append(np.where(pairs, new, 0.0))
            alpha = up(epsilon + float(found[-1].max()))
        return SideLevels(found, False)


# The most that passes a kernel, over all pairs of its rows, for one loss alpha between all values; for every alpha.
#
#     l(alpha) = max over pairs of rows and over prefix sets A of log (a + q (1 - a)) / (b + q (1 - b)),  q = e^-alpha,
#
# a = K_x(A), b = K_x'(A) (docs/proofs/contraction.md#many-values). Of all (a, b) only the upper corners of their convex
# hull matter. They are found once, a few rows at a time, and then any alpha costs nothing.

_AT_ONCE = 400_000
"""Entries (x, x', y) that are sorted together."""
_BINS = 4096
Pairs = tuple[NDArray[np.intp], ...]


Frontier = tuple[Array, Array, float]
"""The undominated (a, b) of one power of the kernel, with the slack of its entries inside."""


def frontier(
    kernel: Array, reach: NDArray[np.bool_], error: float, valid: NDArray[np.bool_], pairs: Pairs | None = None
) -> Frontier:
    """Of all pairs of rows of values that are `valid`, some rows at a time, or of some `pairs`; `error` is that of the
    entries."""
    values, k = np.flatnonzero(valid), len(kernel)
    slack = 2 * error + (6 * k + 64) * U
    if pairs is not None:
        return *_added(np.zeros(0), np.zeros(0), sort_pairs(kernel, reach, error, pairs)), slack
    a, b = np.ones(1) if values.size < 2 else np.zeros(0), np.ones(1) if values.size < 2 else np.zeros(0)
    some = max(1, _AT_ONCE // (k * max(1, values.size)))
    for begin in range(0, values.size, some):
        x, y = (grid.ravel() for grid in np.meshgrid(values[begin : begin + some], values, indexing="ij"))
        a, b = _added(a, b, sort_pairs(kernel, reach, error, (x[x != y], y[x != y])))
    return a, b, slack


def _added(a: Array, b: Array, rows: RowPairs) -> tuple[Array, Array]:
    """The corners of the points known and the prefixes of these pairs of rows."""
    more_a, more_b = (np.cumsum(part[0, 0], -1)[:, :-1].ravel() for part in (rows.u, rows.v))
    if a.size:  # what lies below the corners already known is left out at once
        least = np.interp(np.arange(_BINS) / _BINS, b, a, left=-1.0) * (1 - 16 * U)  # a grows with b: least in its bin
        keep = more_a > least[np.minimum((more_b * _BINS).astype(np.intp), _BINS - 1)]
        more_a, more_b = more_a[keep], more_b[keep]
    a, b = np.concatenate([a, more_a]), np.concatenate([b, more_b])
    order = np.argsort(b)  # of equal b a smaller a may come first and stay: harmless
    a, b = a[order], b[order]
    best = np.maximum.accumulate(a)
    new = np.concatenate([[True], a[1:] > best[:-1]])
    return corners(a[new], b[new])


def corners(a: Array, b: Array) -> tuple[Array, Array]:
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


class Frontiers:
    """Several frontiers, asked at once."""

    def __init__(self, fronts: list[Frontier]) -> None:
        self.a, self.b = (np.concatenate([front[part] for front in fronts]) for part in (0, 1))
        sizes = [a.size for a, _, _ in fronts]
        self.at = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self.which = np.repeat(np.arange(len(fronts)), sizes)
        slack = np.array([slack for _, _, slack in fronts])
        self.even = (1 + slack) / (1 - slack)  # what the whole set gives: the totals of u and v are within `slack` of 1
        self.rest_a = np.maximum(1 + slack[self.which] - self.a, 0)
        self.rest_b = np.maximum(1 - slack[self.which] - self.b, 0)

    def passed(self, alphas: Array) -> Array:
        """l_d(alpha), one alpha for each frontier, rounded up; at most alpha."""
        with np.errstate(under="ignore", divide="ignore", over="ignore"):
            q = np.exp(-alphas)
            top = self.a + (q * (1 + 4 * U) + 1e-290)[self.which] * self.rest_a
            best = np.maximum.reduceat(top / (self.b + (q * (1 - 4 * U))[self.which] * self.rest_b), self.at)
            found = np.log(np.maximum(best, self.even)) * (1 + 4 * U) + 16 * U
        return np.asarray(np.minimum(alphas, found))


# Some pairs of rows of a large kernel, one loss alpha between all values: what passes, without sorting.
#
# For u >= p and v <= p' entry by entry and q = e^-alpha, A(l) = {y : u(y) > l v(y)} and
#
#     R(A) = (u(A) + q u(rest)) / (v(A) + q v(rest)),
#
# l is a bound, p g <= l p' g for every g between q and 1, as soon as R(A(l)) <= l; and R(A) is at most the least such
# l, whatever A is. So l = R(A(l)) again and again grows to the least bound, in a few steps (Dinkelbach 1967); it is a
# bound once it no longer grows (docs/proofs/contraction.md#without-sorting).

_PAIRS_AT_ONCE = 200_000
"""Entries (pair, y) that are looked at together."""
_STEPS = 60


def passed_pairs(kernel: Array, reach: NDArray[np.bool_], error: float, pairs: Pairs, alpha: float) -> Array:
    """Upper bounds on L(K_x, K_x'; alpha) for `pairs` (x, x'); at most alpha. `error`: relative, of the entries."""
    high, low = outward(kernel, reach, np.array(error))
    x, y = pairs
    some = max(1, _PAIRS_AT_ONCE // kernel.shape[-1])
    parts = [_grown(high[x[n : n + some]], low[y[n : n + some]], alpha) for n in range(0, len(x), some)]
    return np.concatenate([np.zeros(0), *parts])


def _grown(u: Array, v: Array, alpha: float) -> Array:
    k = u.shape[-1]
    with np.errstate(under="ignore"):
        q = float(np.exp(-alpha))
    above, below = q * (1 + 4 * U) + TINY, q * (1 - 4 * U)
    all_u, all_v = u.sum(-1), v.sum(-1)
    found, left = np.full(len(u), np.inf), np.arange(len(u))
    bound = np.maximum(all_u / np.where(all_v > 0, all_v, 1.0), 1.0)
    for _ in range(_STEPS):
        inside = u > bound[:, None] * v
        in_u, in_v = np.where(inside, u, 0.0).sum(-1), np.where(inside, v, 0.0).sum(-1)
        top = in_u + above * (np.maximum(all_u - in_u, 0) + k * U)
        bottom = in_v + below * np.maximum(all_v - in_v - k * U, 0)
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.where(inside.any(-1), top / bottom * (1 + 8 * U), 0.0)
        done = ratio <= bound
        found[left[done]] = bound[done]
        if done.all():
            break
        go = ~done
        u, v, all_u, all_v, left = u[go], v[go], all_u[go], all_v[go], left[go]
        bound = np.minimum(ratio[go], 1e300)
    raised = np.log(found)
    return np.asarray(np.minimum(raised + (2 * k + 16) * U + 4 * U * raised, alpha))


def variations(kernel: Array, reach: NDArray[np.bool_], error: float) -> Array:
    """(k, k) upper bounds on the total variation between rows x and x'."""
    high, low = outward(kernel, reach, np.array(error))
    size = len(kernel)
    found = np.stack([np.maximum(high[x] - low, 0.0).sum(-1) for x in range(size)])
    return np.asarray(np.minimum(found * (1 + (size + 8) * U), 1.0))
