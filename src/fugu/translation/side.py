"""One side of a node of a chain: what the nodes beyond can add to the loss, by recursion, and what it tends to."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.priors.chain import MarkovChain
from fugu.priors.transitions import largest, single, stationary_law
from fugu.translation.kernel import (
    Array,
    KeptRows,
    Power,
    RowPairs,
    U,
    by_variation,
    chosen,
    pairs_of,
    passed,
    passed_scalar,
    shortest_paths,
    sort_rows,
    times,
    up,
    variations,
)

# For a node with m further nodes on this side let F_m(x, x') be the largest log E[f | x] / E[f | x'] that those nodes
# alone can cause, over all f whose logarithm changes by at most eps per cell, and Lam_m = O + F_m off the diagonal, O
# what the cell of a node adds to it: eps, or less where it is seen through an emission. Then
# (docs/proofs/contraction.md#the-recursion), with K the product of the d kernels that lead from this node to the d-th
# beyond it,
#
#     F_0 = 0,   F_m <= m eps,   F_m <= (d - 1) eps + L(K_x, K_x'; Lam_(m-d))   for every 1 <= d <= m.
#
# All three are taken, and the shortest paths of the result. For two values d = 1 gives the exact optimum. This is one
# recursion for every chain: a side says how much passes its kernels, whether they are known (`Side`, `GivenStart`),
# known up to the start (`AnyStart`) or up to limits of their rows (`IntervalSide`).
#
# If from some node on the kernels do not depend on the place and A >= F_m, ..., F_(m-D+1), D the largest d, with
# A >= min_d (d - 1) eps + L(K^d; O + A), then A bounds F for every number of further nodes from m on: L grows with Lam.
# Such an A is looked for by extrapolation, then checked.
#
# Proofs: docs/proofs/contraction.md#the-recursion, docs/proofs/contraction.md#two-values and
# docs/proofs/contraction.md#every-length.

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
Kernel = tuple[Array, Mask, float]
"""A product of kernels, what of it is positive, and the relative error of its entries."""
Own = Callable[[float], float | Array]
"""What the cell of a node adds to it, by the per-entry epsilon: one number, or one for each ordered pair of values."""
_JUMPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 30)
_MOST_WORK = 2_000_000
"""Entries (d, x, x', p, q) of one step of the pairwise recursion."""
_MOST_SORTED = 10**8
"""Entries (m, x, x', p) of the rows of a side that are sorted."""
EVERY = 8
"""Every so many levels all d are tried, between them those that were best for some pair: any choice is a bound."""
_TIGHTER = 12
"""Steps that take back most of the room which a bound for every number of nodes needs."""


def blocks(k: int, pairwise: bool = True) -> tuple[int, ...]:
    """The numbers d of kernels taken at once: d = 1 is exact for two values, more help from three on, near and far."""
    work = k**4 if pairwise else 2 * k**3
    many = 1 if k == 2 else max(1, min(_MOST_WORK // work, len(_JUMPS)))
    return tuple(_JUMPS[n * (len(_JUMPS) - 1) // max(1, many - 1)] for n in range(many))


def open_cell(epsilon: float) -> float:
    """The cell of a node is the node itself: eps."""
    return epsilon


class OneSide:
    """The nodes on one side of a node; those with m further nodes are asked by their m = 0, 1, ...

    A subclass says which values can occur, and `kernel` or `through`: what passes to the d-th node beyond."""

    k: int
    ds: tuple[int, ...]
    own: Own
    pairwise: bool = True
    """Whether one loss is carried for each ordered pair; else one number for all of them."""
    sorts: bool = True
    """Whether one number is passed through sorted rows; else by the total variation between rows, where these would
    take too long."""
    same: bool = False
    """Whether nothing depends on the place: F_m then grows with m."""
    still: float = math.inf
    """From how many further nodes on neither kernels nor values change."""
    slots: int | None = 2
    """How many of the best d are tried for each pair between two looks at all of them. 1: the best d of any pair are
    tried for all pairs. None: all d, always."""
    limit: StationaryLimit | None = None
    _kept: KeptRows

    def valid_at(self, m: int) -> Mask:
        """The values that a node with m further nodes can take: paths may lead through them."""
        raise NotImplementedError

    def pairs_at(self, m: int) -> Mask:
        """The ordered pairs of values that are compared there."""
        return pairs_of(self.valid_at(m))

    def kernel(self, m: int, d: int) -> Kernel:
        """The kernel from a node with m further nodes to the d-th beyond it."""
        raise NotImplementedError

    def kernels(self, m: int, ds: tuple[int, ...]) -> tuple[Array, Mask, Array]:
        """The same for several d, stacked."""
        powers, reach, errors = zip(*(self.kernel(m, d) for d in ds), strict=True)
        return np.stack(powers), np.stack(reach), np.array(errors)

    def rows(self, m: int, ds: tuple[int, ...]) -> RowPairs:
        """Their sorted rows; they serve every epsilon, so as many as fit are kept."""
        return self._kept.get(
            (0 if self.same else m, ds), lambda: sort_rows(*self.kernels(m, ds), self.valid_at(0 if self.same else m))
        )

    def losses(self, beyond: list[Array], epsilon: float) -> Array:
        """O + F off the diagonal, rounded up."""
        stack = np.stack(beyond)
        return np.where(~np.eye(stack.shape[-1], dtype=bool), up(self.own(epsilon) + stack), 0.0)

    def through(self, m: int, losses: Array, ds: tuple[int, ...], which: Places | None = None) -> Array:
        """(n, k, k): L for d in `ds` and the losses beyond each, from above.

        `which` (n, k, k): the places in `ds` that are asked for each pair; all of them if None."""
        if self.pairwise:
            rows = self.rows(m, ds)
            return passed(rows, losses) if which is None else passed(chosen(rows, which), losses, which)
        alpha = losses.max(axis=(1, 2))
        if self.sorts:
            return passed_scalar(self.rows(m, ds), alpha)
        return by_variation(alpha[:, None, None], np.stack([variations(*self.kernel(m, d)) for d in ds]))

    def passed(
        self, m: int, beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Places | None = None
    ) -> Array:
        """(d - 1) eps + L for d in `ds` and F `beyond` each, rounded up."""
        held = up((np.asarray(ds) - 1) * epsilon)
        found = self.through(m, self.losses(beyond, epsilon), ds, which)
        return up((held[:, None, None] if which is None else held[which]) + found)

    def levels(self, epsilon: float, nodes: int) -> SideLevels:
        """The recursion up to `nodes` further nodes, or until a bound for all beyond is found."""
        found: list[Array] = [np.zeros((self.k, self.k))]
        best: tuple[tuple[int, ...], Places | None] | None = None
        for m in range(1, nodes + 1):
            if best is None or m % EVERY == 0 or m <= EVERY:
                usable = tuple(d for d in self.ds if d <= m)
                each = self.passed(m, [found[m - d] for d in usable], usable, epsilon)
                if self.slots is not None and m >= EVERY:
                    first, which = np.argsort(each, axis=0)[: self.slots], None
                    if self.slots == 1:
                        used = np.unique(first[:, self.pairs_at(m)])
                    else:
                        used, at = np.unique(first, return_inverse=True)
                        which = at.reshape(first.shape)
                    best = tuple(usable[n] for n in used) or self.ds[:1], which
            else:
                each = self.passed(m, [found[m - d] for d in best[0]], best[0], epsilon, best[1])
            new = np.minimum(shortest_paths(each.min(axis=0), self.valid_at(m)), up(m * epsilon))
            found.append(np.where(self.pairs_at(m), new, 0.0))
            if (rest := self.settled(found, m, epsilon, nodes)) is not None:
                return SideLevels([*found, rest], True)
        return SideLevels(found, False)

    def settled(self, found: list[Array], m: int, epsilon: float, nodes: int) -> Array | None:  # noqa: ARG002
        """A bound A for every node beyond the m-th, by extrapolation, then checked; None if none is found near by."""
        widest = self.ds[-1]
        if m < self.still + widest + 2:
            return None
        last, before, earlier = found[-1], found[-2], found[-3]
        now, old = float(np.max(last - before)), float(np.max(before - earlier))
        two = float(np.max(last - earlier))
        floor = (8 * self.k + 200) * U * (1 + float(last.max()))
        if now <= floor and old <= floor:
            rate = 0.9
        elif len(found) > 4 and two < (previous := float(np.max(earlier - found[-5]))):
            rate = max(0.5, float(np.sqrt(max(two, 0.0) / previous)))
        else:
            return None
        room = floor / (1 - rate)
        gap = 1.1 * max(two, 0.0) * rate / (1 - rate)
        if rate >= 1 or gap > max(1e-11 * float(last.max()), 4 * room):
            return None
        far = m + 1 + widest
        valid, pairs = self.valid_at(far), self.pairs_at(far)

        def after(bound: Array) -> Array:
            each = self.passed(far, [bound] * len(self.ds), self.ds, epsilon)
            return np.where(pairs, shortest_paths(each.min(axis=0), valid), 0.0)

        recent = np.max(np.stack(found[-widest:]), axis=0)
        for more in (0.0, gap + room) if now <= 0 else (gap + room,):  # where nothing grows any more, as it is
            bound = np.where(pairs, recent + more, 0.0)
            less = after(bound)
            if bool(np.all(less <= bound)):
                break
        else:
            return None
        for _ in range(_TIGHTER if self.same else 0):  # what bounds every m bounds them after another step, too
            bound, less = less, after(less)
            if not bool(np.all(less <= bound)):
                break
        return bound


@dataclass
class Side(OneSide):
    """Kernels from a node with m further nodes to the next one, m = 1, ..., n; one kernel means: the same for all m.

    `valid[m]` says which values a node with m further nodes can take; `error` is the relative error of the kernels
    that does not grow with d (marginal laws telescope in a product of backward kernels)."""

    steps: Sequence[Array]
    valid: Sequence[Mask]
    error: float = 0.0
    own: Own = open_cell
    pairwise: bool = True
    _powers: dict[int, Power] = field(default_factory=dict)
    _products: tuple[int, list[Power]] = (0, [])

    def __post_init__(self) -> None:
        self.slots = None if self.own is open_cell else 1
        self.k, self.same = len(self.valid[0]), len(self.valid) == 1
        self.ds, self.still = blocks(self.k, self.pairwise), 1 if self.same else math.inf
        self.sorts = len(self.valid) * self.k**3 <= _MOST_SORTED
        self._kept = KeptRows() if self.same else KeptRows(0)

    def by_one_number(self) -> Side:
        """The same with one number for the losses of all pairs, one kernel at a time: for many values."""
        found = Side(self.steps, self.valid, self.error, self.own, pairwise=False)
        found.ds = (1,)
        return found

    def step(self, m: int) -> Array:
        """The kernel from a node with m further nodes to the next."""
        return self.steps[0] if self.same else self.steps[m - 1]

    def valid_at(self, m: int) -> Mask:
        return self.valid[0] if self.same else self.valid[m]

    def kernel(self, m: int, d: int) -> Kernel:
        return *self._power(m, d), float(self.relative([d])[0])

    def relative(self, ds: Sequence[int]) -> Array:
        """A bound on the relative error of each entry of a product of d kernels: d (k + 6) u and the common error,
        whatever the order of the multiplications."""
        return 1.01 * np.asarray(ds, dtype=np.float64) * (self.k + 6) * U + 2.02 * self.error

    def _power(self, m: int, d: int) -> Power:
        """The product of d kernels: of the one kernel by halves; else from those that start one node later."""
        if self.same:
            if d not in self._powers:
                one = self.step(1), self.step(1) > 0
                self._powers[d] = one if d == 1 else times(self._power(m, d // 2), self._power(m, d - d // 2))
            return self._powers[d]
        last, products = self._products
        most = max(d, len(products))
        if last != m or len(products) < d:
            first = m
            if last != m - 1 or len(products) < min(d, m) - 1:
                first, products = max(1, m - most + 1), []
            for n in range(first, m + 1):
                one = self.step(n), self.step(n) > 0
                products = [one, *(times(one, power) for power in products)][:most]
            self._products = m, products
        return products[d - 1]


def next_place(places: Sequence[int], m: int) -> int:
    """The index of the first grid point at or above m: a bound for it is one for m, that for the one below is not."""
    return bisect_left(places, m)


@dataclass(frozen=True)
class SideLevels:
    """F_m for m = 0, 1, ..., or for a grid of them; if `settled`, the last one bounds F for every larger number.

    `places`: the grid, 0 first. The value of a grid point bounds F_m for every m up to it."""

    values: list[Array]
    settled: bool
    places: Sequence[int] | None = None

    rising: ClassVar[bool] = False
    """Whether a bound for m nodes is one for fewer; not asked where tables cost nothing."""

    @property
    def grid(self) -> Sequence[int]:
        """The numbers m at which the bound changes; it is the same up to each of them."""
        return range(len(self.values)) if self.places is None else self.places

    def __len__(self) -> int:
        return self.grid[-1] + 1

    def index(self, m: int) -> int:
        """The place of the bound for m further nodes."""
        return min(next_place(self.grid, m), len(self.values) - 1)

    def at(self, m: int, _: Mask | None = None) -> Array:
        """An upper bound on F_m, for all pairs."""
        return self.values[self.index(m)]

    rough = at

    def most(self, m: int) -> float:
        """The same over all pairs."""
        return float(self.at(m).max())


# What a chain tends to: once the start is forgotten, its backward kernels are nearly those of the stationary chain.
#
# h_t = mu_t / pi is averaged by every step, h_(t+1)(x) = sum over y of pi(y) P(y, x) / pi(x) h_t(y), so its extremes
# only come closer. With w = log max h - log min h at t - d, the law of X_(t-d) given X_t = x is h_(t-d)(y) / h_t(x)
# times that of the stationary chain, and two laws with quotients in [m, M], M / m <= e^w, differ by at most tanh(w / 4)
# in total variation. Hence, for losses of at most alpha,
#
#     L <= L_stationary + 2 log(1 + (e^alpha - 1) tanh(w / 4)),
#
# at this entry and at every later one.
#
# Proofs: docs/proofs/contraction.md#the-start-is-forgotten.

_FORGOTTEN = 1e-13
_MOST_POWERS = 4096
_EVER = 1e-3
"""A chain that does not come this near within its length is not compared at all."""
NEAR = 1.0
"""A start whose w is above this is not yet worth comparing with the stationary chain."""


def backward_kernel(before: Array, kernel: Array, after: Array) -> Array:
    """before(y) kernel(y, x) / after(x) in row x; the ratio of the marginals first, so that nothing is lost below.

    What is positive stays positive: zeros are told apart by the kernel, not by arithmetic."""
    live = (before[:, None] > 0) & (kernel > 0) & (after[None, :] > 0)
    with np.errstate(under="ignore"):
        ratio = before[:, None] / np.where(after > 0, after, 1.0)[None, :]
        out: Array = np.where(live, np.maximum(ratio * kernel, 1e-320), 0.0).T
    return out


@dataclass
class StationaryLimit:
    """The backward side of the stationary chain, and w for a node with m further nodes, m = 0, 1, ...; inf: far."""

    side: Side
    spread: Array

    def at(self, m: int) -> float:
        """w; the last one computed bounds the later ones."""
        return float(self.spread[min(m, len(self.spread) - 1)])

    def extra(self, alpha: float | Array, m: int | Places) -> Array:
        """2 log(1 + (e^alpha - 1) tanh(w / 4)), rounded up, for one node or for each of several."""
        w = self.spread[np.minimum(m, len(self.spread) - 1)]
        return np.where(np.isfinite(w), 2 * by_variation(alpha, np.tanh(w / 4) * (1 + 16 * U)), alpha)

    def through(self, m: int, losses: Array, ds: tuple[int, ...], which: Places | None = None) -> Array:
        """What `OneSide.through` is for a node with m further nodes: that of the stationary chain, and `extra`."""
        more = self.extra(losses.max(axis=(1, 2)), np.maximum(m - np.asarray(ds), 0))
        return self.side.through(m, losses, ds, which) + (more[:, None, None] if which is None else more[which])


def limit_of(chain: MarkovChain, nodes: int, own: Own = open_cell, pairwise: bool = True) -> StationaryLimit | None:
    """The stationary chain that this homogeneous one tends to; None if it has many, or is not near any."""
    try:
        law, error = stationary_law(chain.transition(1))
    except BadLaw:
        return None
    live = law > 0
    pi = np.where(live, np.log(np.where(live, law, 1.0)), 0.0)
    slack = 1.01 * error + 16 * U * (1 + largest(pi))
    found = np.full(nodes + 1, np.inf)
    if chain.free:
        power = single(np.eye(chain.size))
        for m in range(1, min(nodes, _MOST_POWERS) + 1):
            power = power.then(chain.step(1))
            h = power.logs[:, live] - pi[live]
            if np.array_equal(chain.supports[m], live) and np.isfinite(h).all():
                found[m] = float(h.max() - h.min()) + 2.02 * (power.error + slack) + 32 * U * (1 + largest(h))
                if found[m] <= _FORGOTTEN:
                    break
    else:
        logs, errors = chain.log_marginals
        near = (np.asarray(chain.supports)[: nodes + 1] == live).all(axis=1)
        h = logs[: nodes + 1][near][:, live] - pi[live]
        pad = 2.02 * (errors[: nodes + 1][near] + slack) + 32 * U * (1 + np.abs(h).max(axis=1, initial=0.0))
        found[near] = h.max(axis=1, initial=-np.inf) - h.min(axis=1, initial=np.inf) + pad
    found = np.minimum.accumulate(found)
    if not found[-1] < _EVER:
        return None
    kernel = backward_kernel(law, chain.transition(1), law)
    return StationaryLimit(Side([kernel], [live], 2.02 * error + 16 * U, own, pairwise), found)
