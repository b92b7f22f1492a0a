"""The contraction accountant of a chain whose rows are known up to limits: per-entry eps to Pufferfish epsilon.

The rows of every step lie in their boxes, chosen freely for each state and each step (time-varying; homogeneous chains
are among them). As for one chain

    log P(output | X_i = x) / P(output | X_i = x') <= eps + F_fwd(x, x') + F_bwd(x, x'),

and, F_m being the largest loss through m further nodes over all these chains,

    F_0 = 0,   F_m <= m eps,   F_m(x, x') <= (d - 1) eps + sup over p in R_x, p' in R_x' of L(p, p'; eps + F_(m-d)),

R the boxes of the products of d steps (pushed forward; d = 1: the limits themselves). For x != x' the two rows are
free, for fixed later steps the bound of one chain holds, and a larger last argument only adds what is bounded. One
later step must serve all pairs, so this is a bound and not an equality. The earlier nodes: the same with the boxes of
P(X_(t-d) | X_t), which follow from limits of the law of X_(t-d); and, whatever that law is, what `start` proves for any
start from the diameter D(x, x') of the boxes. The lesser of the two is taken.

From where the boxes no longer change, a bound A of the last levels that is not below what it passes on itself bounds F
for every larger m.

Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.numbers.exact import meant_up
from fugu.priors.interval_chain import IntervalChain
from fugu.priors.interval_limits import Limits, diameters, pushed, seen_backwards
from fugu.translation.contraction.interval_rows import MOST_SUBSETS, Operator, operator
from fugu.translation.contraction.kernel import Array, U, shortest_paths, up
from fugu.translation.contraction.side import Levels
from fugu.translation.contraction.start import through_any

Mask = NDArray[np.bool_]
_MOST_STEPS = 1_500
_FEW_PLACES = 6
"""Laws of how many entries are told apart where there are many values; the last serves for all beyond."""
_MANY_PLACES = 200
_BLOCKS = (1, 2, 3, 4, 6)
_EVERY = 8


@dataclass(frozen=True)
class Passing:
    """What passes d steps: through the boxes of their rows, and for any start through their diameter (None: later)."""

    rows: Operator
    diameter: Array | None = None

    def passed(self, losses: Array) -> Array:
        """The lesser of the two."""
        found = self.rows.passed(losses)
        if self.diameter is None:
            return found
        any_start = through_any(np.full(losses.shape, float(losses.max())), self.diameter)
        np.fill_diagonal(any_start, 0.0)
        return np.minimum(found, any_start)


class Side:
    """The later nodes, or the earlier ones: F_m by recursion; what passes is kept between calls."""

    def __init__(self, chain: IntervalChain, laws: Limits | None) -> None:
        self.chain, self.laws = chain, laws
        self.ds = (1,) if chain.size == 2 else _BLOCKS if chain.size <= MOST_SUBSETS else _BLOCKS[:3]
        self.places = 1 if laws is None else len(laws.lower)
        self._known: dict[tuple[int, int], Passing] = {}

    @cached_property
    def _products(self) -> list[Limits]:
        """The boxes of the products of 1, 2, ... steps."""
        found = [self.chain.rows]
        while len(found) < self.ds[-1]:
            found.append(pushed(found[-1], self.chain.rows))
        return found

    def _passing(self, m: int, d: int) -> Passing:
        """From a node with m further nodes to the d-th beyond it; m stands for itself or, beyond the last, for all."""
        place = 0 if self.laws is None else min(m - d, self.places - 1)
        if (place, d) not in self._known:
            rows = self._products[d - 1]
            if self.laws is None:
                made = Passing(operator(rows))
            else:
                law = Limits(self.laws.lower[place], self.laws.upper[place])
                made = Passing(operator(seen_backwards(law, rows)), diameters(rows, law.upper > 0))
            self._known[place, d] = made
        return self._known[place, d]

    def _sure(self, m: int) -> Mask:
        """The values of a node with m further nodes that no chain rules out: paths may lead through them."""
        if self.laws is None:
            return np.ones(self.chain.size, dtype=bool)
        return np.asarray(self.laws.lower[min(m, self.places - 1)] > 0)

    def levels(self, epsilon: float, nodes: int) -> Levels:
        """F_m up to `nodes` further nodes; settled where a bound for all beyond is found."""
        k = self.chain.size
        found, best = [np.zeros((k, k))], self.ds
        for m in range(1, nodes + 1):
            every = m <= _EVERY or m % _EVERY == 0
            usable = tuple(d for d in (self.ds if every else best) if d <= m)
            each = self._each(m, [found[m - d] for d in usable], usable, epsilon)
            if every:
                best = tuple(usable[n] for n in np.unique(each.argmin(axis=0)[~np.eye(k, dtype=bool)])) or self.ds[:1]
            found.append(np.minimum(shortest_paths(each.min(axis=0), self._sure(m)), up(m * epsilon)))
            if m >= self.places + self.ds[-1] + 2 and (bound := self._settled(epsilon, found, m)) is not None:
                return Levels([*found, bound], True)
            if m >= self.places + _MOST_STEPS:
                raise NotProvable(f"no bound settles within {_MOST_STEPS} steps of this chain")
        return Levels(found, False)

    def _each(self, m: int, beyond: list[Array], ds: tuple[int, ...], epsilon: float) -> Array:
        """(n, k, k): (d - 1) eps + what passes d steps, with the losses beyond them."""
        apart = ~np.eye(self.chain.size, dtype=bool)
        losses = [np.where(apart, up(epsilon + loss), 0.0) for loss in beyond]
        found = [up(up((d - 1) * epsilon) + self._passing(m, d).passed(x)) for d, x in zip(ds, losses, strict=True)]
        return np.stack([np.where(apart, x, 0.0) for x in found])

    def _settled(self, epsilon: float, found: list[Array], m: int) -> Array | None:
        """A bound for this and every larger number of further nodes, by extrapolation, then checked; None if none."""
        last, before, earlier = found[-1], found[-2], found[-3]
        size, now, old = float(last.max()), float(np.max(last - before)), float(np.max(before - earlier))
        floor = (8 * len(last) + 200) * U * (1 + size)
        rate = 0.9 if now <= floor else min(now / old, 1.0) if old > 0 else 1.0
        if rate >= 1:
            return None
        more = (1.1 * max(now, 0.0) * rate + 2 * floor) / (1 - rate)
        if more > max(1e-11 * size, 4 * floor / (1 - rate)):
            return None
        recent = np.max(np.stack(found[-self.ds[-1] :]), axis=0)
        bound = np.where(np.eye(len(last), dtype=bool), 0.0, recent + more)
        each = self._each(m + 1 + self.ds[-1], [bound] * len(self.ds), self.ds, epsilon)
        after = shortest_paths(each.min(axis=0), self._sure(m + 1))
        return bound if bool(np.all(after <= bound)) else None


class IntervalContraction:
    """What per-entry privacy is worth under all chains between the limits; tables are kept between calls.

    >>> chain = IntervalChain([[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]], length=7)
    >>> [round(float(level.max()), 8) for level in IntervalContraction(chain).later.levels(0.3, 3).values]
    [0.0, 0.16790798, 0.26328768, 0.31746768]
    """

    def __init__(self, chain: IntervalChain) -> None:
        self.chain, self.length = chain, chain.length
        self.laws = chain.laws(_MANY_PLACES if chain.size <= MOST_SUBSETS else _FEW_PLACES)
        self.later, self.earlier = Side(chain, None), Side(chain, self.laws)

    def __call__(self, epsilon: float) -> float:
        """The largest bound over all nodes and ordered pairs of possible values; `epsilon` is the per-entry one."""
        later, earlier = (side.levels(epsilon, self.length - 1) for side in (self.later, self.earlier))
        first, last = len(earlier), self.length + 1 - len(later)  # between two settled ends all nodes are alike
        nodes = [*range(1, self.length + 1)] if last <= first else [*range(1, first + 1), *range(last, self.length + 1)]
        worst = 0.0
        for i in nodes:
            total = later.at(self.length - i) + earlier.at(i - 1)
            worst = max(worst, float(np.max(total, where=self._pairs(i), initial=0.0)))
        return meant_up(float((epsilon + worst * (1 + 4 * U)) * (1 + 4 * U))) if worst > 0 else epsilon

    def _pairs(self, i: int) -> Mask:
        """Ordered pairs of different values that entry i can take under some chain."""
        valid = self.laws.upper[min(i, len(self.laws.upper)) - 1] > 0
        pairs: Mask = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
        return pairs
