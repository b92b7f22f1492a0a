"""One side of a node of a chain: what the nodes beyond can add to the loss, by recursion, and what it tends to."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.priors.chain import MarkovChain
from fugu.priors.products import largest, single
from fugu.priors.transitions import stationary_law
from fugu.translation.contraction.kernel import (
    Array,
    Power,
    RowPairs,
    U,
    chosen,
    from_total_variation,
    passed,
    shortest_paths,
    sort_rows,
    times,
    up,
)

# For a node with m further nodes on this side let F_m(x, x') be the largest log E[f | x] / E[f | x'] that those nodes
# alone can cause, over all f whose logarithm changes by at most eps per cell, and Lam_m = eps + F_m off the diagonal.
# Then (docs/proofs/contraction.md#the-recursion), with K the product of the d kernels that lead from this node to the
# d-th beyond it,
#
#     F_0 = 0,   F_m <= m eps,   F_m <= (d - 1) eps + L(K_x, K_x'; Lam_(m-d))   for every 1 <= d <= m.
#
# All three are taken, and the shortest paths of the result. For two values d = 1 gives the exact optimum. If the
# kernels do not depend on the place and A >= F_m, ..., F_(m-D+1) with A >= min_d (d - 1) eps + L(K^d; eps + A), then A
# bounds F for every number of further nodes from m on: L grows with Lam. Such an A is looked for by extrapolation, then
# checked.
#
# Proofs: docs/proofs/contraction.md#the-recursion, docs/proofs/contraction.md#two-values and
# docs/proofs/contraction.md#every-length.

Mask = NDArray[np.bool_]
_MOST_WORK = 2_000_000
"""Entries (d, x, x', p, q) of one step of the pairwise recursion."""


def blocks(k: int) -> tuple[int, ...]:
    """The numbers d of kernels taken at once: d = 1 is exact for two values, more help from three on."""
    if k == 2:
        return (1,)
    wanted = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 30)
    return wanted[: max(1, _MOST_WORK // k**4)]


@dataclass
class Side:
    """Kernels from a node with m further nodes to the next one, m = 1, ..., n; one kernel means: the same for all m.

    `valid[m]` says which values a node with m further nodes can take; `error` is the relative error of the kernels
    that does not grow with d (marginal laws telescope in a product of backward kernels)."""

    kernels: Sequence[Array]
    valid: Sequence[Mask]
    error: float = 0.0
    _cache: dict[tuple[int, ...], RowPairs] = field(default_factory=dict)
    _powers: dict[int, tuple[Array, Mask, float]] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """One kernel for every place."""
        return len(self.valid) == 1

    @property
    def k(self) -> int:
        """How many values a node has."""
        return len(self.valid[0])

    def kernel(self, m: int) -> Array:
        """The kernel from a node with m further nodes to the next."""
        return self.kernels[0] if self.same else self.kernels[m - 1]

    def valid_at(self, m: int) -> Mask:
        """The values a node with m further nodes can take."""
        return self.valid[0] if self.same else self.valid[m]

    def relative(self, ds: Sequence[int]) -> Array:
        """A bound on the relative error of each entry of a product of d kernels: d (k + 6) u and the common error."""
        return 1.01 * np.asarray(ds, dtype=np.float64) * (self.k + 6) * U + 2.02 * self.error

    def power(self, d: int) -> tuple[Array, Mask, float]:
        """K^d of the one kernel, what of it is positive, and the relative error of its entries; kept."""
        if d not in self._powers:
            one = self.kernel(1), self.kernel(1) > 0
            kernel, positive = one if d == 1 else times(self.power(d - 1)[:2], one)
            self._powers[d] = kernel, positive, float(self.relative([d])[0])
        return self._powers[d]


def onward(powers: list[Power], kernel: Array, most: int) -> list[Power]:
    """Products of 1, 2, ... kernels, up to `most`, from those that start one node later and the kernel to that node."""
    one = kernel, kernel > 0
    return [one, *(times(one, power) for power in powers)][:most]


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

    def at(self, m: int, _: Mask | None = None) -> Array:
        """An upper bound on F_m, for all pairs."""
        return self.values[min(next_place(self.grid, m), len(self.values) - 1)]

    rough = at

    def most(self, m: int) -> float:
        """The same over all pairs."""
        return float(self.at(m).max())


def levels(side: Side, epsilon: float, nodes: int) -> SideLevels:
    """The recursion up to `nodes` further nodes, or until it settles."""
    ds = blocks(side.k)
    found = [np.zeros((side.k, side.k))]
    powers: list[Power] = []
    for m in range(1, nodes + 1):
        usable = tuple(d for d in ds if d <= m)
        if side.same and usable in side._cache:
            rows = side._cache[usable]
        else:
            for _ in range(usable[-1] - len(powers) if side.same else 1):
                powers = onward(powers, side.kernel(m), ds[-1])
            kernels, reach = (np.stack(part) for part in zip(*(powers[d - 1] for d in usable), strict=True))
            rows = sort_rows(kernels, reach, side.relative(usable), side.valid_at(m))
            if side.same:
                side._cache[usable] = rows
        valid = side.valid_at(m)
        beyond = [found[m - d] for d in usable]
        new = np.minimum(step(rows, beyond, usable, epsilon, valid), up(m * epsilon))
        found.append(np.where(rows.valid[0], new, 0.0))
        if side.same and m >= ds[-1] + 3 and (settled := _settle(found, rows, ds, epsilon, valid)) is not None:
            found.append(settled)
            return SideLevels(found, True)
    return SideLevels(found, False)


def step(rows: RowPairs, beyond: list[Array], ds: tuple[int, ...], epsilon: float, valid: Mask) -> Array:
    """min over d of (d - 1) eps + L(K^d; eps + F), rounded up, and its shortest paths."""
    own = up((np.asarray(ds) - 1) * epsilon)[:, None, None]
    return shortest_paths(np.asarray(up(own + passed(rows, losses_of(beyond, epsilon))).min(axis=0)), valid)


_TIGHTER = 12
"""Steps that take back most of the room which a bound for every number of nodes needs."""


def _settle(found: list[Array], rows: RowPairs, ds: tuple[int, ...], epsilon: float, valid: Mask) -> Array | None:
    """A bound A for this and all later m, or None if none is found near by."""
    last, before, earlier = found[-1], found[-2], found[-3]
    now, old = float(np.max(last - before)), float(np.max(before - earlier))
    two = float(np.max(last - earlier))
    floor = (8 * len(valid) + 200) * U * (1 + float(last.max()))
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
    recent = np.max(np.stack(found[-ds[-1] :]), axis=0)
    bound = np.where(rows.valid[0], recent + gap + room, 0.0)
    after = np.where(rows.valid[0], step(rows, [bound] * len(ds), ds, epsilon, valid), 0.0)
    if not bool(np.all(after <= bound)):
        return None
    for _ in range(_TIGHTER):  # what bounds all later m bounds them after another step, too
        bound, after = after, np.where(rows.valid[0], step(rows, [after] * len(ds), ds, epsilon, valid), 0.0)
        if not bool(np.all(after <= bound)):
            break
    return bound


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


Places = NDArray[np.intp]


def losses_of(beyond: list[Array], epsilon: float) -> Array:
    """eps + F off the diagonal, rounded up."""
    stack = np.stack(beyond)
    return np.where(~np.eye(stack.shape[-1], dtype=bool), up(epsilon + stack), 0.0)


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

    def extra(self, alpha: float, m: int) -> float:
        """2 log(1 + (e^alpha - 1) tanh(w / 4)), rounded up."""
        w = self.at(m)
        return alpha if not math.isfinite(w) else 2 * from_total_variation(alpha, math.tanh(w / 4) * (1 + 16 * U))

    def passed(
        self, far: list[int], beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Places | None = None
    ) -> Array:
        """(n, k, k): (d - 1) eps + L for d in `ds`, the losses `beyond` them, and the number of nodes beyond those.

        `which` (n, k, k): the place in `ds` that is asked for each pair; all of them if None."""
        losses = losses_of(beyond, epsilon)
        more = [self.extra(float(loss.max()), m) for m, loss in zip(far, losses, strict=True)]
        own = up((np.asarray(ds) - 1) * epsilon + np.array(more))
        if which is None:
            return up(own[:, None, None] + passed(self.rows(ds), losses))
        return up(own[which] + passed(chosen(self.rows(ds), which), losses, which))

    def rows(self, ds: tuple[int, ...]) -> RowPairs:
        """The sorted rows of the powers; kept."""
        if ds not in self.side._cache:
            powers, reach, errors = zip(*map(self.side.power, ds), strict=True)
            self.side._cache[ds] = sort_rows(np.stack(powers), np.stack(reach), np.array(errors), self.side.valid_at(0))
        return self.side._cache[ds]


def limit_of(chain: MarkovChain, nodes: int) -> StationaryLimit | None:
    """The stationary chain that this homogeneous one tends to; None if it has many, or is not near any."""
    try:
        law, error = stationary_law(chain.transition(1))
    except BadLaw:
        return None
    live = law > 0
    pi = np.where(live, np.log(np.where(live, law, 1.0)), 0.0)
    own = 1.01 * error + 16 * U * (1 + largest(pi))
    found = np.full(nodes + 1, np.inf)
    if chain.free:
        power = single(np.eye(chain.size))
        for m in range(1, min(nodes, _MOST_POWERS) + 1):
            power = power.then(chain.step(1))
            h = power.logs[:, live] - pi[live]
            if np.array_equal(chain.supports[m], live) and np.isfinite(h).all():
                found[m] = float(h.max() - h.min()) + 2.02 * (power.error + own) + 32 * U * (1 + largest(h))
                if found[m] <= _FORGOTTEN:
                    break
    else:
        logs, errors = chain.log_marginals
        near = (np.asarray(chain.supports)[: nodes + 1] == live).all(axis=1)
        h = logs[: nodes + 1][near][:, live] - pi[live]
        pad = 2.02 * (errors[: nodes + 1][near] + own) + 32 * U * (1 + np.abs(h).max(axis=1, initial=0.0))
        found[near] = h.max(axis=1, initial=-np.inf) - h.min(axis=1, initial=np.inf) + pad
    found = np.minimum.accumulate(found)
    if not found[-1] < _EVER:
        return None
    kernel = backward_kernel(law, chain.transition(1), law)
    return StationaryLimit(Side([kernel], [live], 2.02 * error + 16 * U), found)
