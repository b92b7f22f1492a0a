"""The hockey sticks between rows of the kernels of one side of a chain: all pairs together, or one pair.

A node with m further nodes on this side, and the product of the d kernels to the d-th beyond it. Later nodes: the
transition kernels. Earlier nodes: the real backward kernels of this start; whatever the start, two of their rows have
quotients within a factor e^D, D the projective diameter of the columns of P^d (`Corners.apart`). Where a start is
nearly forgotten, the kernels of the stationary chain moved by tanh(w / 4) in total variation.

Proofs: docs/proofs/profiles.md#the-sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fugu.priors.chain import MarkovChain
from fugu.translation.contraction.chain import Contraction
from fugu.translation.contraction.kernel import Array, U
from fugu.translation.contraction.limit import Limit
from fugu.translation.contraction.side import Mask, Products, Side
from fugu.translation.contraction.start import AnyStart, GivenStart
from fugu.translation.profiles.kernel import Corners

Rows = tuple[Array, Mask, float]
"""A kernel, which entries are positive, and the relative error of its entries."""
_TWO, _MANY, _VERY_MANY = 2, 12, 60
_NEAR = 0.05
"""A start within this total variation of the stationary chain is compared with it."""


def distances(k: int) -> tuple[int, ...]:
    """The numbers d of kernels taken at once: fewer where there are many values."""
    if k > _VERY_MANY:
        return (1, 2, 4, 8, 16)
    if k == _TWO:
        return (1, 2, 4)
    return (1, 2, 3, 4, 6, 8, 12, 16) if k > _MANY else (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


@dataclass
class Hockey:
    """Corners of one side, kept between calls.

    `rows(m, d)` gives the kernel, or `diameter(m, d)` what is known of it; `valid(m)` the values of a node with m
    further nodes; `same`: nothing depends on m; `limit`: the stationary chain that this side tends to."""

    k: int
    valid: Callable[[int], Mask]
    same: bool
    rows: Callable[[int, int], Rows] | None = None
    diameter: Callable[[int, int], Array] | None = None
    limit: Limit | None = None
    _known: dict[tuple[int, ...], Corners] = field(default_factory=dict)
    _home: Hockey | None = None

    def all_pairs(self, m: int, d: int) -> Corners:
        """For every ordered pair of values that a node with m further nodes can take."""
        key = (0 if self.same else m, d)
        if key not in self._known:
            live = np.flatnonzero(self.valid(m))
            x, y = (z.ravel() for z in np.meshgrid(live, live, indexing="ij"))
            self._known[key] = self._corners(m, d, x[x != y], y[x != y])
        return self._known[key]

    def pair(self, m: int, d: int, x: int, y: int) -> Corners:
        """For one ordered pair."""
        key = (0 if self.same else m, d, x, y)
        if key not in self._known:
            self._known[key] = self._corners(m, d, np.array([x]), np.array([y]))
        return self._known[key]

    def _corners(self, m: int, d: int, x: Array, y: Array) -> Corners:
        if self.diameter is not None:
            return Corners.apart(float(np.max(self.diameter(m, d)[x, y], initial=0.0)))
        assert self.rows is not None
        return Corners.rows(*self.rows(m, d), (x, y))

    def tables(self, m: int, d: int, x: int | None = None, y: int = 0) -> list[Corners]:
        """Every bound that is known, for all pairs or for one: by the kernels, and by those of the stationary chain."""
        found = [self.all_pairs(m, d) if x is None else self.pair(m, d, x, y)]
        if self.diameter is not None and (near := self.forgotten(m - d)) is not None and near[1] < _NEAR:
            home, moved = near
            found.append((home.all_pairs(1, d) if x is None else home.pair(1, d, x, y)).moved(moved))
        return found

    def at_last(self, m: int, d: int, x: int, y: int) -> list[Corners]:
        """For one pair at a node with m further nodes or more, m beyond the largest d."""
        near = self.forgotten(m - 1 - distances(self.k)[-1])
        return [] if near is None else [near[0].pair(1, d, x, y).moved(near[1])]

    def forgotten(self, m: int) -> tuple[Hockey, float] | None:
        """The stationary side and the total variation from it of every row that leads to this node or a later one."""
        if self.limit is None or not math.isfinite(self.limit.at(m)):
            return None
        if self._home is None:
            self._home = of_side(self.limit.side)
        return self._home, math.tanh(self.limit.at(m) / 4) * (1 + 16 * U)


def of_side(side: Side) -> Hockey:
    """From kernels, one for all places or one for each."""
    products: dict[int, Products] = {}

    def rows(m: int, d: int) -> Rows:
        if side.same:
            only = products.setdefault(0, Products(side, distances(side.k)[-1]))
            while len(only.powers) < d:
                only.step(1)
            return only.powers[d - 1], only.reach[d - 1], float(side.relative([d])[0])
        for n in range(max(products, default=0) + 1, m + 1):
            before = products.get(n - 1, Products(side, distances(side.k)[-1]))
            new = Products(side, before.most, before.powers, before.reach)
            new.step(n)
            products[n] = new
        return products[m].powers[d - 1], products[m].reach[d - 1], float(side.relative([d])[0])

    return Hockey(side.k, side.valid_at, side.same, rows=rows)


def later(chain: MarkovChain) -> Hockey:
    """The later nodes."""
    return of_side(Contraction(chain).forward)


def earlier(chain: MarkovChain) -> Hockey:
    """The earlier nodes."""
    if chain.stationary:
        return of_side(Contraction(chain).backward)
    if chain.free:
        start = AnyStart(chain)
        return Hockey(
            chain.size, start.valid_at, False, diameter=lambda m, d: start.diameter(m, d)[0], limit=start.limit
        )
    if chain.homogeneous:
        given = GivenStart(chain)
        return Hockey(chain.size, given.valid_at, False, rows=given.kernel, limit=given.limit)
    return of_side(Contraction(chain).backward)
