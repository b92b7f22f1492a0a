"""Sums of noised masses as a form: which ranges of which rows of weights count at an output, and what lies at a place.

The largest and the least noised mass over a set of laws are such forms, and the form does not depend on the scale. So
it is worked out once, in whole numbers, and evaluated for every scale: in doubles to search, in balls to prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Range:
    """For every output: the points [start, stop) of a row."""

    row: int
    start: Whole
    stop: Whole


@dataclass(frozen=True, eq=False)
class Spot:
    """For every output a mass, in units of the grid, at a distance from it."""

    masses: Sequence[int]
    distance: Whole


@dataclass(frozen=True, eq=False)
class Form:
    """The sum of all its parts, each mass times the kernel of its distance to the output."""

    ranges: tuple[Range, ...]
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

    @property
    def distances(self) -> Whole:
        """From every output, one a row, to every point."""
        found: Whole = np.abs(self.outputs[:, None] - self.points[None, :])
        return found

    def full(self, row: int) -> Range:
        """All points."""
        none = np.zeros(len(self.outputs), dtype=np.int64)
        return Range(row, none, none + len(self.points))

    def outside(self, row: int, first: Whole, last: Whole) -> tuple[Range, Range]:
        """All but the points [first, last)."""
        whole = self.full(row)
        return Range(row, whole.start, first), Range(row, last, whole.stop)
