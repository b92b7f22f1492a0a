"""The columns that make up every channel for one pair of laws p, q.

With a = p - e^epsilon q and b = q - e^epsilon p, a column k >= 0 of a channel needs a.k <= 0 and b.k <= 0. Points with
a > 0 tell p, those with b > 0 tell q, the rest are free. The extreme columns are single free points and pairs of a
telling point h and any x with a_x < 0 in the proportion k_h : k_x = 1 / a_h : 1 / |a_x|, and the same with b; a channel
of least loss gives each of them its best output (docs/proofs: extreme columns; Theorems 1 and 2 of the notes).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.channels.point_laws import PointLaws

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pair:
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
    def of(cls, laws: PointLaws, c: int) -> Pair:
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
            laws.law[list(laws.ordered[c])][:, kept].mean(axis=0),
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
        found = np.tile(constant, (self.n, 1))
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
    def of(cls, pair: Pair, side: Ints, teller: Ints, partner: Ints, output: Ints) -> Rays:
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

    def take(self, places: NDArray[np.bool_] | Ints) -> Rays:
        """Some of the rays."""
        side, teller, partner, output = (part[places] for part in self._places())
        return Rays(side, teller, partner, output, self.told[places], self.hidden[places])

    def plus(self, other: Rays) -> Rays:
        """These and the others."""
        side, teller, partner, output = (
            np.concatenate(two) for two in zip(self._places(), other._places(), strict=True)
        )
        told, hidden = (np.concatenate(two) for two in ((self.told, other.told), (self.hidden, other.hidden)))
        return Rays(side, teller, partner, output, told, hidden)

    def keys(self, pair: Pair) -> Ints:
        """One whole number for each ray, the same for the same places."""
        n, m = pair.loss.shape
        return np.asarray(((self.side * n + self.teller) * n + self.partner) * m + self.output)

    def cost(self, pair: Pair, weight: Floats) -> Floats:
        """The expected loss of each ray at its output."""
        here = weight[self.teller] * self.told * pair.loss[self.teller, self.output]
        there = weight[self.partner] * self.hidden * pair.loss[self.partner, self.output]
        return np.asarray(here + there)

    def _places(self) -> tuple[Ints, Ints, Ints, Ints]:
        return self.side, self.teller, self.partner, self.output


def _is_distance(loss: Floats, points: Floats) -> bool:
    """Whether the loss is |x - y|, looked at in blocks."""
    step = max(1, (1 << 20) // points.size)
    return all(
        np.array_equal(loss[i : i + step], np.abs(points[i : i + step, None] - points))
        for i in range(0, points.size, step)
    )
