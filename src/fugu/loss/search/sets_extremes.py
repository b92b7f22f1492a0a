"""The largest and the least noised mass over a set of laws, in doubles: O(n) for a scale where there are windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from weakref import WeakKeyDictionary

import numpy as np

from fugu.loss.search.scan import Decayed, decayed_sums
from fugu.loss.sets.attained import Attained, Generic
from fugu.loss.sets.extremes import Extremes, Formed, Narrowest, Widest
from fugu.loss.sets.forms import Floats, Form, Grid
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.scanned import Sum, sums

Pair = tuple[Floats, Floats]


@singledispatch
def extreme_masses(known: Extremes, kernel: Kernel) -> Pair:
    """N and D at every output, not normalised. `known`: of one set; `kernel`: of the noise."""
    raise NotImplementedError(type(known).__name__)


@extreme_masses.register
def _(known: Formed, kernel: Kernel) -> Pair:
    forms = known.upper, known.lower
    if not kernel.scans:
        return _summed(known.grid, known.upper, kernel), _summed(known.grid, known.lower, kernel)
    found = _SCANNED.get(known)
    if found is None:
        found = _SCANNED[known] = _Scanned(known.grid, forms)
    most, least = found.at(kernel)
    return most, least


@extreme_masses.register
def _(known: Widest, kernel: Kernel) -> Pair:
    most, least = zip(*(extreme_masses(part, kernel) for part in known.parts), strict=True)
    return np.max(most, axis=0), np.min(least, axis=0)


@extreme_masses.register
def _(known: Narrowest, kernel: Kernel) -> Pair:
    most, least = zip(*(extreme_masses(part, kernel) for part in known.parts), strict=True)
    return np.min(most, axis=0), np.max(least, axis=0)


@extreme_masses.register
def _(known: Attained, kernel: Kernel) -> Pair:
    g = kernel.floats(known.distances)
    found = _ATTAINED.get(known)
    if found is None:
        most, least = (np.array([[m / known.total for m in law] for law in laws]) for laws in (known.most, known.least))
        found = _ATTAINED[known] = most, least
    return np.einsum("ij,ij->i", found[0], g), np.einsum("ij,ij->i", found[1], g)


@extreme_masses.register
def _(known: Generic, kernel: Kernel) -> Pair:
    g = kernel.floats(known.distances)
    return known.law_set.tops(g), known.law_set.bottoms(g)


class _Scanned:
    """Forms on one grid, for kernels with scans."""

    def __init__(self, grid: Grid, forms: Sequence[Form]) -> None:
        self._grid = grid
        self._sums = [[_signed(part) for part in sums(grid, form)] for form in forms]
        self._spots = [[(_shares(grid, spot.masses), spot.distance) for spot in form.spots] for form in forms]

    def at(self, kernel: Kernel) -> list[Floats]:
        """Every form at every output."""
        weights, steps = self._grid.weights, kernel.steps
        scans = decayed_sums(self._grid.points, weights, steps) if steps else Decayed(weights, weights, 0.0)
        found = []
        for parts, spots in zip(self._sums, self._spots, strict=True):
            total = np.zeros(len(self._grid.outputs))
            for part, sign, apart in parts:
                held = (scans.left if part.left else scans.right)[part.row][part.at] * sign
                total += held * kernel.floats(part.distance) if apart else held
            for masses, distance in spots:
                total += masses * kernel.floats(distance)
            found.append(total)
        return found


_SCANNED: WeakKeyDictionary[Formed, _Scanned] = WeakKeyDictionary()
_ATTAINED: WeakKeyDictionary[Attained, Pair] = WeakKeyDictionary()


def _signed(part: Sum) -> tuple[Sum, Floats, bool]:
    """The sign, or 0 where the sum is none, and whether it is read anywhere but at the output itself."""
    return part, part.sign * part.there.astype(np.float64), bool(part.distance.any())


def _shares(grid: Grid, masses: Sequence[int]) -> Floats:
    return np.array([m / grid.total for m in masses], dtype=np.float64)


def _summed(grid: Grid, form: Form, kernel: Kernel) -> Floats:
    """A form for any kernel: every point of every range is added up."""
    g, place = kernel.floats(grid.distances), np.arange(len(grid.points))[None, :]
    total = np.zeros(len(grid.outputs))
    for part in form.ranges:
        held = (place >= part.start[:, None]) & (place < part.stop[:, None])
        total += np.where(held, g, 0.0) @ grid.weights[part.row]
    for spot in form.spots:
        total += _shares(grid, spot.masses) * kernel.floats(spot.distance)
    return total
