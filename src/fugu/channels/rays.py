"""One pair of laws: the columns with one or two points that make up every channel, where to begin, coarse to fine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.channels.program import Floats, Ints, PointLaws

# With a = p - e^epsilon q and b = q - e^epsilon p, a column k >= 0 of a channel needs a.k <= 0 and b.k <= 0. Points
# with a > 0 tell p, those with b > 0 tell q, the rest are free. The extreme columns are single free points and pairs of
# a telling point h and any x with a_x < 0 in the proportion k_h : k_x = 1 / a_h : 1 / |a_x|, and the same with b; a
# channel of least loss gives each of them its best output
# (docs/proofs/optimal-channels.md#1-few-atoms-behind-every-output).


@dataclass(frozen=True, eq=False)
class PointPair:
    """One pair of laws on the points that they can take.

    - `rate`: a and b, one row each.
    - `loss`: (points, outputs).
    - `law`: (laws, points), for the worst of the laws; `weight` is None then.
    - `mass`: the mean of the two laws of the pair.
    - `delta`: what each of the two sides may exceed in all.
    - `points`: the values of the points, if the outputs are the points and the loss is the distance; then the best
      output of a ray is the end that weighs more.
    - `ordered`: whether neighbouring rows, and neighbouring columns, of the loss are alike.
    """

    rate: Floats
    loss: Floats
    law: Floats
    weight: Floats | None
    mass: Floats
    delta: float
    points: Floats | None = None
    ordered: bool = False

    @classmethod
    def of(cls, laws: PointLaws, c: int) -> PointPair:
        """The pair whose two orders are the rows c and c + 1 of a problem, on the points that they can take."""
        problem, kept = laws.problem, laws.active
        whole = bool(kept.all())
        loss = problem.loss if whole else problem.loss[kept]
        weight = None if problem.weight is None else problem.weight[kept]
        x, y = problem.points, problem.outputs
        line = whole and x is not None and y is not None and np.array_equal(x, y) and _is_distance(loss, x)
        ordered = x is not None and y is not None and bool(np.all(np.diff(y) > 0))
        return cls(
            laws.excess[c : c + 2, kept],
            loss,
            laws.law[:, kept],
            weight,
            laws.law[list(laws.problem.ordered()[c])][:, kept].mean(axis=0),
            float(problem.delta),
            x if line else None,
            ordered,
        )

    @property
    def n(self) -> int:
        """How many points there are."""
        return int(self.loss.shape[0])

    @cached_property
    def scale(self) -> float:
        """The unit of costs: about the largest that a point can cost."""
        heaviest = self.law.mean() if self.weight is None else self.weight.mean()
        return max(float(self.loss.max()) * float(heaviest), 1e-300)

    @cached_property
    def tellers(self) -> tuple[Ints, Ints]:
        """The points that tell p, and those that tell q."""
        return np.flatnonzero(self.rate[0] > 0), np.flatnonzero(self.rate[1] > 0)

    @cached_property
    def partners(self) -> tuple[Ints, Ints]:
        """The points that can hide a point that tells p, or q."""
        return np.flatnonzero(self.rate[0] < 0), np.flatnonzero(self.rate[1] < 0)

    @cached_property
    def free(self) -> Ints:
        """The points that tell neither."""
        return np.flatnonzero((self.rate[0] <= 0) & (self.rate[1] <= 0))

    @cached_property
    def best(self) -> Ints:
        """The output of least loss of each point."""
        return np.asarray(np.argmin(self.loss, axis=1))

    def matrix(self, rays: Rays, amount: Floats, units: Floats, constant: Floats) -> Floats:
        """The channel that gives `amount` of each ray, `units` of each point by itself, and the constant outputs."""
        found = np.zeros(self.loss.shape)
        if constant.any():
            found += constant
        found[np.arange(self.n), self.best] += units
        np.add.at(found, (rays.teller, rays.output), amount * rays.told)
        np.add.at(found, (rays.partner, rays.output), amount * rays.hidden)
        return found


@dataclass(frozen=True, eq=False)
class Rays:
    """Two-point columns: side (0 hides p, 1 hides q), telling point, partner, output, and the two entries, the larger
    of which is 1."""

    side: Ints
    teller: Ints
    partner: Ints
    output: Ints
    told: Floats
    hidden: Floats

    @classmethod
    def of(cls, pair: PointPair, side: Ints, teller: Ints, partner: Ints, output: Ints) -> Rays:
        """The rays with these places; their entries follow from the laws."""
        up, down = pair.rate[side, teller], -pair.rate[side, partner]
        unit = np.minimum(up, down)
        return cls(side, teller, partner, output, unit / up, unit / down)

    @classmethod
    def none(cls) -> Rays:
        """No ray."""
        empty, zero = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(empty, empty, empty, empty, zero, zero)

    def __len__(self) -> int:
        return self.side.size

    @property
    def _parts(self) -> tuple[NDArray[Any], ...]:
        return self.side, self.teller, self.partner, self.output, self.told, self.hidden

    def take(self, places: NDArray[np.bool_] | Ints) -> Rays:
        """Some of the rays."""
        return Rays(*(part[places] for part in self._parts))

    def plus(self, other: Rays) -> Rays:
        """These and the others."""
        return Rays(*(np.concatenate(two) for two in zip(self._parts, other._parts, strict=True)))

    def keys(self, pair: PointPair) -> Ints:
        """One whole number for each ray, the same for the same places."""
        n, m = pair.loss.shape
        return np.asarray(((self.side * n + self.teller) * n + self.partner) * m + self.output)

    def cost(self, pair: PointPair, weight: Floats) -> Floats:
        """The expected loss of each ray at its output."""
        here = weight[self.teller] * self.told * pair.loss[self.teller, self.output]
        there = weight[self.partner] * self.hidden * pair.loss[self.partner, self.output]
        return np.asarray(here + there)


def _is_distance(loss: Floats, points: Floats) -> bool:
    """Whether the loss is |x - y|, looked at in blocks."""
    step = max(1, (1 << 20) // points.size)
    return all(
        np.array_equal(loss[i : i + step], np.abs(points[i : i + step, None] - points))
        for i in range(0, points.size, step)
    )


# Rays to begin with: each telling point with the points that hide it most cheaply or stand nearest.


NEAR = 2
"""Neighbours on each side."""


def nearest(pair: PointPair, weight: Floats, count: int = NEAR) -> Rays:
    """For points in order: every telling point with the next partners on both sides, and every partner with the next
    telling points; the output is the best one of the point that weighs more."""
    found = []
    for side in (0, 1):
        tell, hide = pair.tellers[side], pair.partners[side]
        if tell.size and hide.size:
            for teller, partner in (_next(tell, hide, count), _next(hide, tell, count)[::-1]):
                found.append((np.full(teller.size, side), teller, partner))
    if not found:
        return Rays.none()
    return at_better_end(pair, weight, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def at_better_end(pair: PointPair, weight: Floats, side: Ints, teller: Ints, partner: Ints) -> Rays:
    """These rays at the best output of one of their two points, each once."""
    ends = [Rays.of(pair, side, teller, partner, pair.best[end]) for end in (teller, partner)]
    costs = [rays.cost(pair, weight) for rays in ends]
    output = np.where(costs[0] <= costs[1], ends[0].output, ends[1].output)
    return once(pair, Rays.of(pair, side, teller, partner, output))


def once(pair: PointPair, rays: Rays) -> Rays:
    """Each ray once, in a fixed order."""
    _, first = np.unique(rays.keys(pair), return_index=True)
    return rays.take(first)


def _next(of: Ints, among: Ints, count: int) -> tuple[Ints, Ints]:
    """Every point of one list with the next `count` points of another, before and after it."""
    middle = np.searchsorted(among, of)
    places = middle[:, None] + np.arange(-count, count)
    inside = (places >= 0) & (places < among.size)
    return np.broadcast_to(of[:, None], places.shape)[inside], among[places[inside]]


# Coarse to fine: the problem with neighbours merged by twos says where far rays go, and about what a point costs.
#
# Only a guide. What is merged may differ as it likes from the problem itself: the search ends when all rays of the
# problem itself are priced.


_LOOK = 16
_KEPT = 0.2


def is_far(pair: PointPair) -> bool:
    """Whether telling points stand together, so that they are hidden far away: what tells p or q in groups of 16
    neighbours is still a fifth of what tells it point by point."""
    groups = np.arange(0, pair.n, _LOOK)
    merged_rate = np.add.reduceat(pair.rate, groups, axis=1)
    kept, whole = (np.clip(rate, 0, None).sum() for rate in (merged_rate, pair.rate))
    return bool(pair.ordered and kept > _KEPT * whole)


def merged(pair: PointPair) -> PointPair:
    """The same problem with neighbouring points added up by twos, and every second output."""
    groups = np.arange(0, pair.n, 2)
    weight = pair.law.mean(axis=0) if pair.weight is None else pair.weight
    sums = np.add.reduceat(weight, groups)
    share = weight / np.repeat(np.where(sums > 0, sums, 1.0), 2)[: pair.n]
    share[np.repeat(sums == 0, 2)[: pair.n]] = 0.5
    rate, law = (np.add.reduceat(rows, groups, axis=1) for rows in (pair.rate, pair.law))
    own, mass = None if pair.weight is None else sums, np.add.reduceat(pair.mass, groups)
    if pair.points is not None:
        points = np.add.reduceat(share * pair.points, groups)
        return PointPair(rate, np.abs(points[:, None] - points), law, own, mass, pair.delta, points, True)
    loss = np.add.reduceat(share[:, None] * pair.loss[:, ::2], groups, axis=0)
    return PointPair(rate, loss, law, own, mass, pair.delta, None, True)


def spread(price: Floats, outputs: int) -> Floats:
    """Prices of every second output, laid out over all of them."""
    return np.array([np.interp(np.arange(outputs), np.arange(0, outputs, 2), row) for row in price])


def lifted(pair: PointPair, weight: Floats, rays: Rays) -> Rays:
    """Rays of the merged problem as rays of the problem itself: 2 x 2 for each, as far as they are rays."""
    first, second = (part.ravel() for part in np.meshgrid([0, 1], [0, 1]))
    teller = np.ravel(2 * rays.teller[:, None] + first)
    partner = np.ravel(2 * rays.partner[:, None] + second)
    side = np.repeat(rays.side, 4)
    inside = (teller < pair.n) & (partner < pair.n)
    side, teller, partner = side[inside], teller[inside], partner[inside]
    fits = (pair.rate[side, teller] > 0) & (pair.rate[side, partner] < 0)
    return at_better_end(pair, weight, side[fits], teller[fits], partner[fits])
