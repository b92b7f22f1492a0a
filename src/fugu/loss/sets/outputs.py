"""The outputs of lattice noise on sets of laws, and N and D at each of them, normalised.

Laplace: every lattice point between the first and the last declared value; beyond them all masses fall by the same
factor, so those outputs are added to the two ends. Gaussian: every lattice point up to a reach beyond; the noise's mass
farther out is `tail`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from fugu.errors import OutOfReach
from fugu.laws.set_family import SetFamily
from fugu.loss.sets.extremes import PRECISION
from fugu.loss.sets.forms import Whole
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.reach import at_outputs
from fugu.loss.sets.scanned import forwards
from fugu.numbers import balls

MOST = 200_000
"""Most outputs of Laplace noise: its proofs take 20 s then."""
CELLS = 3_000_000
"""Most (output, declared value) cells of Gaussian noise."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """Which outputs are looked at, how often each counts, and what lies beyond."""

    points: Whole
    at: Whole
    kernel: Kernel

    def times(self) -> list[arb]:
        """How often every output counts: those beyond the ends count there."""
        found = [arb(1)] * len(self.at)
        if self.kernel.power == 1 and self.kernel.decay is not None:
            beyond = 1 / balls.of(self.kernel.decay).expm1()
            found[0] += beyond
            found[-1] += beyond
        return found

    @property
    def reach(self) -> int:
        """How far beyond the declared values outputs are looked at."""
        return int(self.points[0] - self.at[0])

    def norm(self) -> tuple[arb, arb]:
        """Numbers at or above, and at or below, what the kernel is multiplied by."""
        if self.kernel.decay is None:
            return arb(1), arb(1)
        c = balls.of(self.kernel.decay)
        if self.kernel.power == 1:
            q = (-c).exp()
            found = (1 - q) / (1 + q)
            return found.upper(), found.lower()
        far = math.ceil(16 / math.sqrt(2 * float(self.kernel.decay))) + 2
        g = self.kernel.proved()
        inside = 1 + 2 * sum((g(k) for k in range(1, far + 1)), arb(0))
        return (1 / inside).upper(), (1 / (inside + 2 * beyond(c, far))).lower()

    def tail(self) -> float:
        """The noise's mass farther out than the outputs, rounded up."""
        if self.kernel.power == 1 or self.kernel.decay is None:
            return 0.0
        with balls.precision(PRECISION):
            return balls.upper(2 * beyond(balls.of(self.kernel.decay), self.reach) * self.norm()[0])


def beyond(c: arb, far: int | arb) -> arb:
    """At or above the sum of e^{-c k^2} over whole k > far >= 0: each is e^{-2 c (far + 1)} of the last, or less."""
    return (-c * (far + 1) ** 2).exp() / (1 - (-2 * c * (far + 1)).exp())


def outputs(family: SetFamily, kernel: Kernel, reach: int = 0) -> Outputs:
    """The outputs to look at, refused where they are too many. `reach`: how far beyond the ends, for Gaussian noise."""
    points = np.asarray(family.points, dtype=np.int64)
    if kernel.decay is None:
        return Outputs(points, points, kernel)
    first, last = int(points[0]), int(points[-1])
    count = last - first + 1 + 2 * reach
    limit = MOST if kernel.power == 1 else CELLS // len(points)
    if count > limit:
        raise OutOfReach(
            f"a bound with delta, or of finite order, needs every lattice point, and there are {count:,}, more than "
            f"{limit:,}; choose a coarser grid, fewer declared values, or a pure budget",
            points=count,
            limit=limit,
        )
    return Outputs(points, np.arange(first - reach, last + reach + 1), kernel)


@dataclass(frozen=True, eq=False)
class Bounded:
    """At or above N, and at or below D, of every set at every output, normalised: exact numbers."""

    where: Outputs
    most: list[list[arb]]
    least: list[list[arb]]


def bounded(family: SetFamily, where: Outputs) -> Bounded:
    """N and D in balls, rounded outward."""
    found = [one.proved(where.kernel) for one in at_outputs(family, where.at)]
    with balls.precision(PRECISION):
        high, low = where.norm()
        return Bounded(
            where,
            [[(high * n.upper()).upper() for n in most] for most, _ in found],
            [[(low * d.lower()).lower().max(arb(0)) for d in least] for _, least in found],
        )


def spreads(where: Outputs, psi: list[arb]) -> list[arb]:
    """At or above sum_y g(y - x) psi(y) at every declared value x, normalised; psi is at or above 0."""
    high = where.norm()[0]
    weighted = [high * t * p for t, p in zip(where.times(), psi, strict=True)]
    if where.kernel.decay is None:
        return weighted
    g = where.kernel.proved()
    places = (where.points - where.at[0]).tolist()
    if where.kernel.scans:
        steps = [g(1)] * (len(weighted) - 1)
        left, right = forwards(weighted, steps), forwards(weighted[::-1], steps)[::-1]
        return [left[k] + g(1) * right[k + 1] if k + 1 < len(right) else left[k] for k in places]
    there = [(y, w) for y, w in zip(where.at.tolist(), weighted, strict=True) if w != 0]
    return [sum((w * g(abs(y - x)) for y, w in there), arb(0)) for x in where.points.tolist()]
