"""Sums of decayed masses as a form: which part of which row of weights counts at an output, and what lies at one place.

The largest and the least noised mass over a set of laws are such forms, and the form does not depend on the scale. So it
is worked out once, in whole numbers, and evaluated in O(n) for every scale: in doubles to search, in balls to prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.loss.search.scan import Decayed, decayed_sums
from fugu.numbers import balls

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sum:
    """For every output: sign times the sum of a row over all points up to `at` from the left, or from the right, each
    times the kernel of its distance to the output. -1, or n from the right, is no point at all."""

    row: int
    at: Whole
    sign: int = 1
    left: bool = True


@dataclass(frozen=True, eq=False)
class Spot:
    """For every output a mass, in units of the grid, at a distance from it."""

    masses: Sequence[int]
    distance: Whole


@dataclass(frozen=True, eq=False)
class Form:
    """The sum of all its parts."""

    sums: tuple[Sum, ...]
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True, eq=False)
class Grid:
    """Sorted whole points, outputs among or beside them, and rows of whole weights over one total."""

    points: Whole
    outputs: Whole
    rows: tuple[Sequence[int], ...]
    total: int
    cancelled: int = 1
    """By how much at most a difference of sums is smaller than they are: proofs use as many bits more."""

    @cached_property
    def weights(self) -> Floats:
        """The rows as doubles, one a row."""
        return np.array([[w / self.total for w in row] for row in self.rows], dtype=np.float64)

    @cached_property
    def before(self) -> Whole:
        """The last point at or before every output."""
        return np.searchsorted(self.points, self.outputs, "right") - 1

    def full(self, row: int) -> tuple[Sum, ...]:
        """Everything."""
        return Sum(row, self.before), Sum(row, self.before + 1, left=False)

    def inside(self, row: int, first: Whole, last: Whole) -> tuple[Sum, ...]:
        """The points [first, last), which hold all that is nearer to the output than they are."""
        near = self.full(row)
        return *near, Sum(row, first - 1, -1), Sum(row, np.maximum(last, self.before + 1), -1, left=False)

    def outside(self, row: int, first: Whole, last: Whole) -> tuple[Sum, ...]:
        """All but the points [first, last)."""
        return Sum(row, first - 1), Sum(row, last, left=False)


class Evaluated:
    """Forms on one grid, in doubles."""

    def __init__(self, grid: Grid, forms: Sequence[Form]) -> None:
        self._grid = grid
        self._forms = [
            ([(s, *self._placed(s)) for s in form.sums], [self._spot(spot) for spot in form.spots]) for form in forms
        ]

    def _placed(self, part: Sum) -> tuple[Whole, Floats, Floats | None]:
        """Where a sum is read, its sign or 0 where there is no point, and how far from the output; None for nowhere."""
        n = len(self._grid.points)
        at = np.clip(part.at, 0, n - 1)
        apart = np.abs(self._grid.outputs - self._grid.points[at]).astype(np.float64)
        there = (part.at >= 0) & (part.at < n)
        return at, part.sign * there.astype(np.float64), apart if apart.any() else None

    def _spot(self, spot: Spot) -> tuple[Floats, Floats]:
        masses = np.array([m / self._grid.total for m in spot.masses], dtype=np.float64)
        return masses, spot.distance.astype(np.float64)

    def at(self, steps: float) -> list[Floats]:
        """Every form at every output, for Laplace noise of so many lattice steps; 0 is no noise."""
        weights = self._grid.weights
        scans = decayed_sums(self._grid.points, weights, steps) if steps else Decayed(weights, weights, 0.0)
        return [self._value(sums, spots, scans, steps) for sums, spots in self._forms]

    def _value(
        self,
        sums: list[tuple[Sum, Whole, Floats, Floats | None]],
        spots: list[tuple[Floats, Floats]],
        scans: Decayed,
        steps: float,
    ) -> Floats:
        found = np.zeros(len(self._grid.outputs))
        for part, at, sign, apart in sums:
            held = (scans.left if part.left else scans.right)[part.row][at] * sign
            found += held if apart is None else held * _decay(apart, steps)
        for masses, distance in spots:
            found += masses * _decay(distance, steps)
        return found


def _decay(distance: Floats, steps: float) -> Floats:
    if not steps:
        return (distance == 0).astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.exp(-distance / steps)
    return found


class Proved:
    """Forms on one grid, in balls, for Laplace noise of a rate per lattice step; None is no noise."""

    def __init__(self, grid: Grid, rate: Fraction | None) -> None:
        self._grid, self._known = grid, {0: arb(1)}
        self._rate = None if rate is None else balls.of(rate)
        steps = [self._decay(gap) for gap in np.diff(grid.points).tolist()]
        self._left = [_forwards(row, steps) for row in grid.rows]
        self._right = [_forwards(row[::-1], steps[::-1])[::-1] for row in grid.rows]

    def of(self, form: Form) -> list[arb]:
        """The form at every output."""
        found = [arb(0)] * len(self._grid.outputs)
        points, outputs, n = self._grid.points.tolist(), self._grid.outputs.tolist(), len(self._grid.points)
        for part in form.sums:
            row = (self._left if part.left else self._right)[part.row]
            for k, (y, at) in enumerate(zip(outputs, part.at.tolist(), strict=True)):
                if 0 <= at < n:
                    found[k] += part.sign * row[at] * self._decay(abs(y - points[at]))
        for spot in form.spots:
            for k, (mass, distance) in enumerate(zip(spot.masses, spot.distance.tolist(), strict=True)):
                if mass:
                    found[k] += arb(fmpz(mass)) * self._decay(distance)
        share = balls.of(Fraction(1, self._grid.total))
        return [share * value for value in found]

    def _decay(self, distance: int) -> arb:
        """e^{-rate distance}, remembered; without noise 0 beyond the place itself."""
        found = self._known.get(distance)
        if found is None:
            found = arb(0) if self._rate is None else (-self._rate * distance).exp()
            self._known[distance] = found
        return found


def _forwards(row: Sequence[int], steps: list[arb]) -> list[arb]:
    """L_k = w_k + e^{-rate gap} L_{k-1}."""
    sums = [arb(fmpz(row[0]))]
    for weight, step in zip(row[1:], steps, strict=True):
        sums.append(arb(fmpz(weight)) + step * sums[-1])
    return sums
