"""The earlier side of a chain of a few values that is not stationary: one loss per ordered pair of them.

The recursion over the earlier nodes is stopped where the start is forgotten. F_m for m = 0, 1, ... as in `side`, with
what `start` passes on. Let A bound the last D of them, D the largest number of kernels taken at once, and w that of the
first of these nodes. If

    min over d of (d - 1) eps + L_stationary(K^d; eps + A) + 2 log(1 + (e^(eps + max A) - 1) tanh(w / 4)) <= A,

then A bounds F_m for every later m too, by induction: w only falls. A is the bound of the stationary chain for every
number of nodes, or the largest of the last D levels where these are above it, and a little room; more of it the longer
the recursion has gone on. Which d are tried at a node is free, every one is a bound: all of them now and then, else for
each pair the two that were best lately.

Proofs: docs/proofs/contraction.md#the-start-is-forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fugu.translation.contraction.kernel import Array, shortest_paths, up
from fugu.translation.contraction.limit import Limit
from fugu.translation.contraction.number import Numbered
from fugu.translation.contraction.side import Levels, Mask, blocks, levels
from fugu.translation.contraction.start import Start, Which

_EVERY = 8
_ROOMS = ((1e-9, 0), (1e-7, 0), (1e-6, 0), (1e-5, 200), (1e-4, 400), (1e-3, 1600))
"""What may be lost where the recursion stops, as a share, and from which node on."""
_RECURSION = 5


@dataclass
class Sweep:
    """The earlier side of a chain of a few values: one loss per ordered pair of them."""

    start: Start
    _numbered: dict[int, Numbered] = field(default_factory=dict)

    def levels(self, epsilon: float, nodes: int) -> Levels:
        """F_m up to `nodes`; settled where the start is forgotten before."""
        ds, every = blocks(self.start.k), ~np.eye(self.start.k, dtype=bool)
        limit = self.start.limit
        goal = None if limit is None or nodes <= 2 * ds[-1] else self._goal(limit, epsilon, nodes)
        found: list[Array] = [np.zeros((self.start.k, self.start.k))]
        best: tuple[tuple[int, ...], Which] | None = None
        for m in range(1, nodes + 1):
            usable = tuple(d for d in ds if d <= m)
            if best is None or m % _EVERY == 0 or m <= _EVERY:
                each = self.start.passed(m, [found[m - d] for d in usable], usable, epsilon)
                best = None if m < _EVERY else _best(each, usable)
            else:
                each = self.start.passed(m, [found[m - d] for d in best[0]], best[0], epsilon, best[1])
            valid = self.start.valid_at(m)
            pairs = valid[:, None] & valid[None, :] & every
            new = np.minimum(shortest_paths(each.min(axis=0), valid), up(m * epsilon))
            found.append(np.where(pairs, new, 0.0))
            if limit is not None and goal is not None and m % _EVERY == 0 and m > ds[-1]:
                rest = _forgotten(found[-ds[-1] :], goal, limit, ds, epsilon, m)
                if rest is not None:
                    return Levels([*found, rest], True)
        return Levels(found, False)

    def _goal(self, limit: Limit, epsilon: float, nodes: int) -> Array | None:
        """A bound for every number of earlier nodes of the stationary chain; None if none is found."""
        if self.start.k <= _RECURSION:
            found = levels(limit.side, epsilon, nodes)
            return found.values[-1] if found.settled else None
        if not self._numbered:
            self._numbered[0] = Numbered(limit.side)
        return self._numbered[0].ever(epsilon)


def _best(each: Array, ds: tuple[int, ...]) -> tuple[tuple[int, ...], Which]:
    """The two d with the least bounds for each pair: all that are among them, and their places in these."""
    first = np.argsort(each, axis=0)[:2]
    used, at = np.unique(first, return_inverse=True)
    return tuple(ds[n] for n in used), at.reshape(first.shape)


def _forgotten(
    recent: list[Array], goal: Array, limit: Limit, ds: tuple[int, ...], epsilon: float, m: int
) -> Array | None:
    """The bound A for every node beyond the m-th, or None if it does not hold yet."""
    least = np.maximum(np.max(np.stack(recent), axis=0), goal)
    size, valid = float(least.max()), limit.side.valid_at(0)
    pairs: Mask = limit.rows(ds).valid[0]
    for room in (room for room, first in _ROOMS if m >= first):
        more = room * size + 1e-14
        if limit.extra(up(epsilon + size + more), m + 1 - ds[-1]) <= more / 2:
            bound = np.where(pairs, least + more, 0.0)
            each = limit.passed([m + 1 - ds[-1]] * len(ds), [bound] * len(ds), ds, epsilon)
            after = np.where(pairs, shortest_paths(each.min(axis=0), valid), 0.0)
            if bool(np.all(after <= bound)):
                return bound
    return None
