"""Which mass is nearest to an output, and which is farthest: decided in whole numbers, once for every scale.

Of weights w >= 0 on sorted points let a mass M be chosen, at most w at each point. A kernel that falls with the
distance makes the sum largest for the mass nearest to the output y and least for the farthest (exchange). Either is all
of w on one side of a distance r(y), and a rest at r(y) itself. r does not depend on the kernel, so not on the scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
_FITS = 2**62


@dataclass(frozen=True, eq=False)
class Window:
    """For every output: the points [first, last) on its near side of the distance, and the rest of the mass, which lies
    at the distance itself."""

    first: Whole
    last: Whole
    distance: Whole
    rest: list[int]


class Cumulated:
    """Cumulated whole weights on sorted points."""

    def __init__(self, points: Whole, weights: Sequence[int]) -> None:
        sums = [0, *accumulate(weights)]
        self._points = points
        self.total = sums[-1]
        self._exact = np.array(sums, dtype=np.int64 if self.total < _FITS else object)
        self._unit = self.total or 1
        self._quick = np.array([held / self._unit for held in sums], dtype=np.float64)

    def nearest(self, outputs: Whole, mass: int) -> Window:
        """The nearest `mass`: all of [first, last), which is what lies at less than the distance, and the rest."""

        def enough(exact: bool, y: Whole, r: Whole) -> NDArray[np.bool_]:
            return self._closed(exact, y, r) >= (mass if exact else mass / self._unit)

        r = self._least(outputs, enough)
        first, last = np.searchsorted(self._points, outputs - r, "right"), np.searchsorted(self._points, outputs + r)
        last = np.maximum(first, last)  # nothing is at less than no distance
        inside = self._exact[last] - self._exact[first]
        return Window(first, last, r, [mass - int(held) for held in inside.tolist()])

    def farthest(self, outputs: Whole, mass: int) -> Window:
        """The farthest `mass`: all but [first, last), which is what lies at most at the distance, and the rest."""

        def too_far(exact: bool, y: Whole, r: Whole) -> NDArray[np.bool_]:  # less than `mass` at more than r
            return self._closed(exact, y, r) > (self.total - mass if exact else (self.total - mass) / self._unit)

        r = self._least(outputs, too_far)
        first, last = np.searchsorted(self._points, outputs - r), np.searchsorted(self._points, outputs + r, "right")
        inside = self._exact[last] - self._exact[first]
        return Window(first, last, r, [mass - (self.total - int(held)) for held in inside.tolist()])

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
