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
from fugu.loss.search.scan import decayed_sums
from fugu.loss.sets.extremes import PRECISION
from fugu.loss.sets.forms import Floats, Whole
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

    @property
    def times(self) -> Floats:
        """How often every output counts, in doubles: those beyond the ends count there."""
        found = np.ones(len(self.at))
        if self.kernel.power == 1 and self.kernel.decay is not None:
            beyond = 1 / math.expm1(min(float(self.kernel.decay), 700.0))
            found[0] += beyond
            found[-1] += beyond
        return found

    def proved_times(self) -> list[arb]:
        """The same in balls."""
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

    def norm(self) -> float:
        """What the kernel is multiplied by, in doubles."""
        if self.kernel.decay is None:
            return 1.0
        c = float(self.kernel.decay)
        if self.kernel.power == 1:
            return math.tanh(c / 2)
        far = math.ceil(8.7 / math.sqrt(2 * c)) + 2
        return 1 / float(self.kernel.floats(np.arange(-far, far + 1)).sum())

    def proved_norm(self) -> tuple[arb, arb]:
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
            return balls.upper(2 * beyond(balls.of(self.kernel.decay), self.reach) * self.proved_norm()[0])


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
class Noised:
    """N and D of every set at every output, in doubles, normalised."""

    where: Outputs
    most: list[Floats]
    least: list[Floats]


def noised(family: SetFamily, where: Outputs) -> Noised:
    """N and D in doubles."""
    found = [one.floats(where.kernel) for one in at_outputs(family, where.at)]
    norm = where.norm()
    return Noised(where, [norm * n for n, _ in found], [norm * np.maximum(d, 0.0) for _, d in found])


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
        high, low = where.proved_norm()
        return Bounded(
            where,
            [[(high * n.upper()).upper() for n in most] for most, _ in found],
            [[(low * d.lower()).lower().max(arb(0)) for d in least] for _, least in found],
        )


def spreads(where: Outputs, psi: Floats) -> Floats:
    """sum_y g(y - x) psi(y) at every declared value x, in doubles, normalised."""
    weighted = psi * where.times * where.norm()
    if where.kernel.decay is None:
        return weighted
    if where.kernel.scans:
        row = weighted[None, :]
        found: Floats = decayed_sums(where.at, row, where.kernel.steps).total(row)[0][where.points - where.at[0]]
        return found
    g = where.kernel.floats(np.abs(where.points[:, None] - where.at[None, :]))
    matrix: Floats = g @ weighted
    return matrix


def proved_spreads(where: Outputs, psi: list[arb]) -> list[arb]:
    """The same in balls, at or above."""
    high = where.proved_norm()[0]
    weighted = [high * t * p for t, p in zip(where.proved_times(), psi, strict=True)]
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
