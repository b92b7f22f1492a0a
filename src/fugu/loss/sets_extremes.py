"""The largest and the least noised mass over a set of laws at every output, as forms of kernels and windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import accumulate
from typing import Any

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.loss.atoms import forwards
from fugu.noise.gaussian import Gaussian
from fugu.numbers import balls

# N(y) = max over the set of sum_x p(x) g(y - x) and D(y) = min of the same, for a kernel g that is not normalised.


PRECISION = 128
Balls = tuple[list[arb], list[arb]]


class Extremes(ABC):
    """N and D of one set."""

    @abstractmethod
    def proved(self, kernel: DecayKernel) -> Balls:
        """Balls whose upper ends are at or above N, and whose lower ends are at or below D. `kernel`: of the noise."""


@dataclass(frozen=True, eq=False)
class Formed(Extremes):
    """N and D that are forms."""

    grid: Grid
    upper: Form
    lower: Form

    def proved(self, kernel: DecayKernel) -> Balls:
        """Both forms in balls, with as many bits more as a difference may cancel."""
        with balls.precision(PRECISION + self.grid.cancelled.bit_length()):
            way = proved_by_scans if kernel.scans else proved_by_sums
            most, least = way(self.grid, (self.upper, self.lower), kernel)
            return most, least

    @cached_property
    def scanned(self) -> list[tuple[list[tuple[RunningSum, Floats, bool]], list[tuple[Floats, Whole]]]]:
        """Both forms in doubles, for kernels with scans: sums with their signs, 0 where there is none, and whether they
        are read anywhere but at the output itself; and masses with their distances."""
        return [
            (
                [(part, part.sign * part.there.astype(np.float64), bool(part.distance.any()))
                 for part in sums(self.grid, form)],
                [(self.grid.shares(spot.masses), spot.distance) for spot in form.spots],
            )
            for form in (self.upper, self.lower)
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class SeveralSets(Extremes):
    """Several sets: the largest N and the least D of any are those of their hull; the least N and the greatest D are
    bounds for the laws that they share."""

    parts: Sequence[Extremes]
    shared: bool

    def proved(self, kernel: DecayKernel) -> Balls:
        """In balls; of shared laws the safe end of each counts."""
        most, least = zip(*(part.proved(kernel) for part in self.parts), strict=True)
        highs, lows = zip(*most, strict=True), zip(*least, strict=True)
        with balls.precision(PRECISION):
            if self.shared:
                return [reduce(arb.min, (x.upper() for x in column)) for column in highs], [
                    reduce(arb.max, (x.lower() for x in column)) for column in lows
                ]
            return [reduce(arb.max, column) for column in highs], [reduce(arb.min, column) for column in lows]


# Sums of noised masses as a form: which ranges of which rows of weights count at an output, and what lies at a place.
#
# The largest and the least noised mass over a set of laws are such forms, and the form does not depend on the scale. So
# it is worked out once, in whole numbers, and evaluated for every scale: in doubles to search, in balls to prove.


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

    def shares(self, masses: Sequence[int]) -> Floats:
        """Masses as doubles."""
        return np.array([m / self.total for m in masses], dtype=np.float64)

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


@dataclass(frozen=True)
class DecayKernel:
    """g(d) = e^{-decay |d|^power}: power 1 is Laplace noise, 2 is Gaussian noise; decay None is no noise."""

    decay: Fraction | None
    power: int = 1

    @staticmethod
    def of(noise: Any) -> DecayKernel:
        """Of lattice noise that states its rate, or its precision."""
        power = 2 if isinstance(noise, Gaussian) else 1
        return DecayKernel(None if noise.silent else noise.rate or noise.precision, power)

    @staticmethod
    def laplace(steps: float) -> DecayKernel:
        """Of Laplace noise of a scale in lattice steps."""
        return DecayKernel(1 / Fraction(steps) if steps else None)

    @staticmethod
    def gaussian(steps: float) -> DecayKernel:
        """Of Gaussian noise of a scale in lattice steps."""
        return DecayKernel(1 / (2 * Fraction(steps) ** 2) if steps else None, 2)

    @property
    def scans(self) -> bool:
        """Whether g(d + e) = g(d) g(e): then sums over many points follow from neighbouring ones."""
        return self.decay is None or self.power == 1

    @property
    def steps(self) -> float:
        """The scale of Laplace noise; 0 for none."""
        return 0.0 if self.decay is None else float(1 / self.decay)

    def floats(self, distances: Whole) -> Floats:
        """g in doubles."""
        if self.decay is None:
            here: Floats = (distances == 0).astype(np.float64)
            return here
        with np.errstate(over="ignore", under="ignore"):
            found: Floats = np.exp(-float(self.decay) * distances.astype(np.float64) ** self.power)
        return found

    def proved(self) -> Callable[[int], arb]:
        """g in balls of the precision that is set, remembered."""
        known = {0: arb(1)}
        slope = None if self.decay is None else -balls.of(self.decay)

        def at(distance: int) -> arb:
            found = known.get(distance)
            if found is None:
                found = arb(0) if slope is None else (slope * distance**self.power).exp()
                known[distance] = found
            return found

        return at


# Which mass is nearest to an output, and which is farthest: decided in whole numbers, once for every scale.
#
# Of weights w >= 0 on sorted points let a mass M be chosen, at most w at each point. A kernel that falls with the
# distance makes the sum largest for the mass nearest to the output y and least for the farthest (exchange). Either is
# all of w on one side of a distance r(y), and a rest at r(y) itself. r does not depend on the kernel, so not on the
# scale.


_FITS = 2**62
Windows = tuple[Whole, Whole, Spot]
"""For every output: the points [first, last) on its near side of the distance, and the rest of the mass, which lies at
the distance itself."""


class Cumulated:
    """Cumulated whole weights on sorted points."""

    def __init__(self, points: Whole, weights: Sequence[int]) -> None:
        sums = [0, *accumulate(weights)]
        self._points = points
        self.total = sums[-1]
        self._exact = np.array(sums, dtype=np.int64 if self.total < _FITS else object)
        self._unit = self.total or 1
        self._quick = np.array([held / self._unit for held in sums], dtype=np.float64)

    def nearest(self, outputs: Whole, mass: int) -> Windows:
        """The nearest `mass`: all of [first, last), which is what lies at less than the distance, and the rest."""

        def enough(exact: bool, y: Whole, r: Whole) -> NDArray[np.bool_]:
            return self._closed(exact, y, r) >= (mass if exact else mass / self._unit)

        r = self._least(outputs, enough)
        first, last = np.searchsorted(self._points, outputs - r, "right"), np.searchsorted(self._points, outputs + r)
        last = np.maximum(first, last)  # nothing is at less than no distance
        inside = self._exact[last] - self._exact[first]
        return first, last, Spot([mass - int(held) for held in inside.tolist()], r)

    def farthest(self, outputs: Whole, mass: int) -> Windows:
        """The farthest `mass`: all but [first, last), which is what lies at most at the distance, and the rest."""

        def too_far(exact: bool, y: Whole, r: Whole) -> NDArray[np.bool_]:  # less than `mass` at more than r
            return self._closed(exact, y, r) > (self.total - mass if exact else (self.total - mass) / self._unit)

        r = self._least(outputs, too_far)
        first, last = np.searchsorted(self._points, outputs - r), np.searchsorted(self._points, outputs + r, "right")
        inside = self._exact[last] - self._exact[first]
        return first, last, Spot([mass - (self.total - int(held)) for held in inside.tolist()], r)

    def _closed(self, exact: bool, y: Whole, r: Whole) -> NDArray[np.float64]:
        """The mass within the distance r, its ends included."""
        sums = self._exact if exact else self._quick
        found: NDArray[np.float64] = (
            sums[np.searchsorted(self._points, y + r, "right")] - sums[np.searchsorted(self._points, y - r)]
        )
        return found

    def _least(self, outputs: Whole, good: Callable[[bool, Whole, Whole], NDArray[np.bool_]]) -> Whole:
        """The least distance r >= 0 that is good, for conditions that stay good; the range if none is.

        In doubles first; where whole numbers do not agree, in whole numbers."""
        widest = np.maximum(np.abs(outputs - self._points[0]), np.abs(self._points[-1] - outputs))
        found = _bisected(np.zeros_like(outputs), widest, lambda r: good(False, outputs, r))
        held = good(True, outputs, found) | (found == widest)
        wrong = np.flatnonzero(~held | ((found > 0) & good(True, outputs, np.maximum(found - 1, 0))))
        y = outputs[wrong]
        found[wrong] = _bisected(np.zeros_like(y), widest[wrong], lambda r: good(True, y, r))
        return found


def _bisected(low: Whole, high: Whole, good: Callable[[Whole], NDArray[np.bool_]]) -> Whole:
    """The least whole number in [low, high] that is good; high if none below it is."""
    low, high = low.copy(), high.copy()
    while np.any(low < high):
        middle = (low + high) // 2
        fine = good(middle).astype(bool)
        high = np.where(fine, middle, high)
        low = np.where(fine, low, np.minimum(middle + 1, high))
    return high


# Forms for kernels with g(d + e) = g(d) g(e): one sum from the left and one from the right give every range.
#
# L_k = w_k + g(x_k - x_{k-1}) L_{k-1}; then sum_{i in [s, k]} w_i g(y - x_i) = g(y - x_k) L_k - g(y - x_{s-1}) L_{s-1}
# for an output y at or after x_k, and the mirror. A range that begins at the first point, or ends at the last one,
# takes no difference; those around the output lose no more digits than all weight is larger than theirs.


@dataclass(frozen=True, eq=False)
class RunningSum:
    """For every output sign times the sum of a row over all points up to `at` from its side, where `there`."""

    row: int
    at: Whole
    sign: int
    left: bool
    there: NDArray[np.bool_]
    distance: Whole


def sums(grid: Grid, form: Form) -> Iterator[RunningSum]:
    """Every range as at most four sums: up to the output and from it on, less what lies beyond the range."""
    k, n = grid.before, len(grid.points)
    for part in form.ranges:
        here, beyond = part.start < np.minimum(part.stop, k + 1), np.maximum(part.start, k + 1) < part.stop
        for at, sign, left, there in (
            (np.minimum(part.stop - 1, k), 1, True, here),
            (part.start - 1, -1, True, here & (part.start > 0)),
            (np.maximum(part.start, k + 1), 1, False, beyond),
            (part.stop, -1, False, beyond & (part.stop < n)),
        ):
            if there.any():
                place = np.clip(at, 0, n - 1)
                yield RunningSum(part.row, place, sign, left, there, np.abs(grid.outputs - grid.points[place]))


def proved_by_scans(grid: Grid, forms: Sequence[Form], kernel: DecayKernel) -> list[list[arb]]:
    """Every form at every output, in balls."""
    decay = kernel.proved()
    steps = [decay(gap) for gap in np.diff(grid.points).tolist()]
    left = [forwards([arb(fmpz(w)) for w in row], steps) for row in grid.rows]
    right = [forwards([arb(fmpz(w)) for w in row[::-1]], steps[::-1])[::-1] for row in grid.rows]
    share = balls.of(Fraction(1, grid.total))
    found = []
    for form in forms:
        total = [arb(0)] * len(grid.outputs)
        for part in sums(grid, form):
            row = (left if part.left else right)[part.row]
            read = zip(part.at.tolist(), part.there.tolist(), part.distance.tolist(), strict=True)
            for k, (at, there, distance) in enumerate(read):
                if there:
                    total[k] += part.sign * row[at] * decay(distance)
        for spot in form.spots:
            for k, (mass, distance) in enumerate(zip(spot.masses, spot.distance.tolist(), strict=True)):
                if mass:
                    total[k] += arb(fmpz(mass)) * decay(distance)
        found.append([share * value for value in total])
    return found


def proved_by_sums(grid: Grid, forms: Sequence[Form], kernel: DecayKernel) -> list[list[arb]]:
    """Every form at every output, in balls."""
    g, share = kernel.proved(), balls.of(Fraction(1, grid.total))
    rows = [[(arb(fmpz(w)), x) if w else None for w, x in zip(row, grid.points.tolist(), strict=True)]
            for row in grid.rows]  # fmt: skip
    found = []
    for form in forms:
        total = []
        for k, y in enumerate(grid.outputs.tolist()):
            value = arb(0)
            for part in form.ranges:
                held = rows[part.row][int(part.start[k]) : int(part.stop[k])]
                value = sum((w * g(abs(y - x)) for w, x in filter(None, held)), value)
            for spot in form.spots:
                value += arb(fmpz(spot.masses[k])) * g(int(spot.distance[k]))
            total.append(share * value)
        found.append(total)
    return found
