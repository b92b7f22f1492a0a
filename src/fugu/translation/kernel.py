"""How much of a loss passes through a Markov kernel: for each pair of its rows, or for all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.guarantee.asks import outward as outward_number
from fugu.numbers.exact import Real, as_fraction, meant_up

# For two rows p, p' of a kernel and losses Lam(y, y') >= 0 at its far end (docs/proofs/contraction.md#the-operator)
#
#     L(p, p'; Lam) = max { log (p g) / (p' g) : g > 0, g(y) <= e^Lam(y, y') g(y') for all y, y' }.
#
# `passed` bounds it from above. Let u >= p and v <= p' hold entry by entry, and A(l) = {y : u(y) > l v(y)}. If
#
#     sum over A of (u - l v) e^r <= sum over the rest of (l v - u),    r(y) = max of Lam(y, z), z outside A      (rows)
#  or sum over A of (u - l v) <= sum over the rest of (l v - u) e^-c,   c(z) = max of Lam(y, z), y inside A
#  (columns)
#
# then p g <= l p' g for every such g: on A move g(y) <= e^r(y) min g outside A, or g(y) e^-c(z) <= g(z) for all z. A(l)
# is a prefix of the values sorted by u/v, and the two conditions say l >= rows(A) and l >= columns(A), where
#
#     rows(A) = (sum_A u e^r + sum_rest u) / (sum_A v e^r + sum_rest v),   columns(A) likewise with 1 on A, e^-c
#     outside.
#
# So l = max over proper prefixes A of min(rows(A), columns(A)), and of u(all) / v(all) for the empty one (then A(l) is
# never everything), is a bound. With Lam a constant it is exact (docs/proofs/contraction.md#one-number-for-all-pairs);
# if Lam satisfies the triangle inequality it is attained for two and for three values. Losses are finite.
#
# Rounding: u and v are the float entries moved outward by the a-priori error of a product of d kernels; every weight is
# rounded up above the bar and down below it; the logarithm is rounded up.
#
# Proofs: docs/proofs/contraction.md#the-operator and docs/proofs/contraction.md#rounding.

Array = NDArray[np.float64]
Power = tuple[Array, NDArray[np.bool_]]
"""A product of kernels, and which of its entries are positive."""
U = 2.0**-53
Number = TypeVar("Number", float, Array)
TINY = 1e-290
"""Entries below this may have lost digits to underflow: counted as this above the bar, as 0 below it."""


_AT_ONCE = 20_000
"""Entries (p, q, pair) that are looked at together: they stay in the cache."""


def up(x: Number) -> Number:
    """Past two roundings."""
    return x * (1 + 4 * U)


@dataclass(frozen=True)
class RowPairs:
    """Pairs of rows (x, x') of a stack of kernels, columns sorted by falling u/v: arrays of shape (n, k, k, k)."""

    u: Array
    v: Array
    order: NDArray[np.intp]
    dead: NDArray[np.bool_]
    """Columns that neither row reaches: they bind nothing."""
    valid: NDArray[np.bool_]
    """(n, k, k): both values have positive probability."""


_PARTS = ("u", "v", "order", "dead", "valid")
_MOST_KEPT = 3 * 10**6
"""Entries of sorted rows that are kept for the next level or the next epsilon, 33 bytes each."""


class KeptRows:
    """Sorted rows by what they are of: as many as fit are kept, the last ones at least."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._rows: dict[object, RowPairs] = {}
        self._size, self._most = 0, most

    def get(self, name: object, made: Callable[[], RowPairs]) -> RowPairs:
        """Those of this name, made where they are not kept."""
        if name not in self._rows:
            rows = made()
            self._size += rows.u.size
            if self._size > self._most:
                self._rows.clear()
                self._size = rows.u.size
            self._rows[name] = rows
        return self._rows[name]


def chosen(rows: RowPairs, which: NDArray[np.intp]) -> RowPairs:
    """For each pair of rows those of the `which`-th kernel of the stack: which is (n, k, k), and so is the answer."""
    x, y = np.ogrid[: which.shape[1], : which.shape[2]]
    return RowPairs(*(getattr(rows, name)[which, x, y] for name in _PARTS))


def pairs_of(valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Ordered pairs of different values that can occur."""
    pairs: NDArray[np.bool_] = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
    return pairs


def sort_rows(kernels: Array, reach: NDArray[np.bool_], error: Array, valid: NDArray[np.bool_]) -> RowPairs:
    """Prepare `passed` for a stack (n, k, k) of kernels whose entries have relative error at most `error` (n,).

    `reach` says which entries are positive, decided without arithmetic; `valid` (k,) which values can occur."""
    n, k, _ = kernels.shape
    high, low = outward(kernels, reach, error[:, None, None])
    u = np.broadcast_to(high[:, :, None, :], (n, k, k, k))
    v = np.broadcast_to(low[:, None, :, :], (n, k, k, k))
    both = np.broadcast_to(pairs_of(valid), (n, k, k))
    return _sorted(u, v, ~(reach[:, :, None, :] | reach[:, None, :, :]), both)


def sort_pairs(kernel: Array, reach: NDArray[np.bool_], error: float, pairs: tuple[NDArray[np.intp], ...]) -> RowPairs:
    """The same for some pairs of rows of one kernel: arrays of shape (1, 1, pairs, k)."""
    high, low = outward(kernel, reach, np.array(error))
    x, y = pairs
    shape = (1, 1, len(x), kernel.shape[-1])
    dead = ~(reach[x] | reach[y])
    return _sorted(high[x].reshape(shape), low[y].reshape(shape), dead.reshape(shape), np.ones(shape[:-1], dtype=bool))


def outward(kernels: Array, reach: NDArray[np.bool_], error: Array) -> tuple[Array, Array]:
    slack = error + (2 * kernels.shape[-1] + 16) * U
    high = np.where(reach, np.maximum(kernels, TINY), 0.0) * (1 + slack)
    return high, np.where(reach & (kernels >= TINY), kernels, 0.0) * (1 - slack)


def _sorted(u: Array, v: Array, dead: NDArray[np.bool_], valid: NDArray[np.bool_]) -> RowPairs:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(dead, -1.0, np.where(v > 0, u / np.where(v > 0, v, 1.0), np.where(u > 0, np.inf, 0.0)))
    order = np.argsort(-ratio, axis=-1)
    take = np.take_along_axis
    return RowPairs(take(u, order, -1), take(v, order, -1), order, take(dead, order, -1), valid)


def times(first: Power, second: Power) -> Power:
    """The product of two kernels; what of it is positive is found without arithmetic."""
    with np.errstate(under="ignore"):
        return first[0] @ second[0], (first[1].astype(np.float32) @ second[1].astype(np.float32)) > 0


def passed_scalar(rows: RowPairs, alpha: Array) -> Array:
    """Upper bounds (n, k, k) on L(p_x, p_x'; Lam) for a loss `alpha` (n,) that is the same for all pairs of values.

    max over prefixes A of log (u(A) + q u(rest)) / (v(A) + q v(rest)) with q = e^-alpha; never above alpha."""
    k = rows.u.shape[-1]
    with np.errstate(under="ignore"):
        q = np.exp(-alpha)[:, None, None, None]
    above, below = q * (1 + 4 * U) + TINY, q * (1 - 4 * U)
    inside_u, inside_v = np.cumsum(rows.u, -1), np.cumsum(rows.v, -1)
    top = inside_u + above * np.maximum(inside_u[..., -1:] - inside_u, 0) + above * (k * U)
    bottom = inside_v + below * np.maximum(inside_v[..., -1:] - inside_v - k * U, 0)
    return _log_of_best(top[..., :-1], bottom[..., :-1], rows, alpha[:, None, None], k)


def passed(rows: RowPairs, losses: Array, which: NDArray[np.intp] | None = None) -> Array:
    """Upper bounds (n, k, k) on L(p_x, p_x'; Lam) for a stack (n, k, k) of losses Lam with zero diagonal.

    `which` (n, k, k): the table in `losses` that counts for each pair of rows, where it is not the n-th."""
    shape, k = rows.order.shape[:-1], rows.order.shape[-1]
    stack = np.arange(shape[0])[:, None, None] if which is None else which
    most = np.broadcast_to(losses.max(axis=(1, 2))[stack], shape).ravel()
    table = np.ascontiguousarray(np.broadcast_to(stack * k * k, shape)).ravel()
    flat, size = losses.ravel(), most.size
    top, bottom = np.empty((k - 1, size)), np.empty((k - 1, size))
    u, v, order, dead = rows.u.reshape(size, k), rows.v.reshape(size, k), rows.order.reshape(size, k), rows.dead
    dead = dead.reshape(size, k)
    some = max(1, _AT_ONCE // k**2)
    for begin in range(0, size, some):
        part = slice(begin, begin + some)
        place = order[part].T.copy()
        lam = flat[table[part] + place[:, None] * k + place[None]]  # [p, q, pair] in sorted order
        off = dead[part].T
        if off.any():
            lam[off[:, None] | off[None]] = 0.0
        sides = _weights(lam, most[part])
        u_, v_ = u[part].T.copy(), v[part].T.copy()
        (high, low), (other, below) = (_fraction(u_, v_, weight, most[part]) for weight in sides)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first = np.divide(high, low) <= np.divide(other, below)  # near a tie either may be taken, both are bounds
        top[:, part], bottom[:, part] = np.where(first, high, other), np.where(first, low, below)
    top, bottom = top.T.reshape(*shape, k - 1), bottom.T.reshape(*shape, k - 1)
    return _log_of_best(top, bottom, rows, most.reshape(shape), k)


def _weights(lam: Array, most: Array) -> tuple[Array, Array]:
    """e^r inside a prefix and 1 outside, both times e^-most; and 1 inside, e^-c outside: [p, j, pair]."""
    k = len(lam)
    by_rows, by_columns = np.empty((k, k - 1, lam.shape[-1])), np.empty((k, k - 1, lam.shape[-1]))
    far = np.zeros_like(lam[0])
    for j in range(k - 2, -1, -1):  # the prefix of the values 0 .. j
        far = np.maximum(far, lam[:, j + 1])  # [p]: max over q > j
        by_rows[: j + 1, j] = far[: j + 1] - most
        by_rows[j + 1 :, j] = -most
    near = np.zeros_like(lam[0])
    for j in range(k - 1):
        near = np.maximum(near, lam[j])  # [q]: max over p <= j
        by_columns[: j + 1, j] = 0.0
        by_columns[j + 1 :, j] = -near[j + 1 :]
    with np.errstate(under="ignore", invalid="ignore"):
        return np.exp(by_rows, out=by_rows), np.exp(by_columns, out=by_columns)


def _fraction(u: Array, v: Array, weight: Array, most: Array) -> tuple[Array, Array]:
    """Numerator (up) and denominator (down) of the weights [p, j, pair], for each proper prefix j: [j, pair]."""
    slack = (8 + 2 * np.minimum(most, 800.0)) * U
    top = np.einsum("pn,pjn->jn", u, weight) * (1 + slack) + TINY * u.sum(axis=0)
    small = weight < TINY
    if small.any():
        weight[small] = 0.0
    return top, np.einsum("pn,pjn->jn", v, weight) * (1 - slack)


def _log_of_best(top: Array, bottom: Array, rows: RowPairs, most: Array, k: int) -> Array:
    """log of the largest fraction, rounded up, at least 0, at most the largest loss; 0 where a value cannot occur."""
    proper = ~rows.dead[..., 1:]  # the rest of the prefix must hold a value that matters
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        best = np.max(np.where(proper & (top > 0), top / bottom, 1.0), axis=-1, initial=1.0)
        found = np.log(np.maximum(best, rows.u.sum(-1) / rows.v.sum(-1)))
    found = found + (2 * k + 16) * U + 4 * U * np.abs(np.where(np.isfinite(found), found, 0.0))
    return np.where(rows.valid, np.minimum(found, most), 0.0)


def shortest_paths(losses: Array, valid: NDArray[np.bool_]) -> Array:
    """Shortest paths: F(x, x') <= F(x, z) + F(z, x') holds for the true suprema, so it may be imposed; rounded up.

    Only through values z that can occur: the others carry no bound. A table (k, k), or n with `valid` (n, k)."""
    out = losses.copy()
    for z in np.flatnonzero(valid if valid.ndim == 1 else valid.any(axis=0)):
        over = (out[..., z, None] + out[..., z, None, :]) * (1 + 2 * U)
        out = np.minimum(out, over if valid.ndim == 1 else np.where(valid[:, z, None, None], over, np.inf))
    np.einsum("...xx->...x", out)[...] = 0.0  # the diagonal, in place
    return out


# By the total variation eta between rows of the kernels (Dobrushin's coefficient): for every set A two rows have
# a <= b + eta, so L <= log (1 + (e^alpha - 1) eta) (docs/proofs/contraction.md#closed-forms).


def variations(kernel: Array, reach: NDArray[np.bool_], error: float) -> Array:
    """Upper bounds on the total variation between any two rows x and x'."""
    high, low = outward(kernel, reach, np.array(error))
    found = np.stack([np.maximum(row - low, 0.0).sum(-1) for row in high])
    return np.asarray(np.minimum(found * (1 + (kernel.shape[-1] + 8) * U), 1.0))


def by_variation(alpha: float | Array, eta: float | Array) -> Array:
    """log (1 + (e^alpha - 1) eta), rounded up: what passes between rows that differ by at most eta; at most alpha, and
    nothing between rows that are the same."""
    eta = np.asarray(eta)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.log1p(np.expm1(alpha) * eta) * (1 + 16 * U) + 4e-323
    return np.where(eta > 0, np.where(np.isfinite(found), np.minimum(found, alpha), alpha), 0.0)


def with_own_cell(epsilon: float, worst: float) -> float:
    """eps and the largest loss that the other nodes cause, rounded up; eps itself where they cause none."""
    return meant_up(float((epsilon + worst * (1 + 4 * U)) * (1 + 4 * U))) if worst > 0 else epsilon


def group(epsilon: Real, cells: int) -> float:
    """All cells at once: cells x epsilon, rounded up. Needs nothing but privacy on the whole product domain."""
    return outward_number(as_fraction(epsilon) * cells)


# The most that passes a kernel, over all pairs of its rows, for one loss alpha between all values; for every alpha.
#
#     l(alpha) = max over pairs of rows and over prefix sets A of log (a + q (1 - a)) / (b + q (1 - b)),  q = e^-alpha,
#
# a = K_x(A), b = K_x'(A) (docs/proofs/contraction.md#many-values). Of all (a, b) only the upper corners of their convex
# hull matter. They are found once, a few rows at a time, and then any alpha costs nothing.

_SORTED_AT_ONCE = 400_000
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
    some = max(1, _SORTED_AT_ONCE // (k * max(1, values.size)))
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
