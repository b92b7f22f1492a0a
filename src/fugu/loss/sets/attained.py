"""Extremes by the laws that attain them, one for every output: for sets whose extreme laws follow no window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, fmpz

from fugu.laws.sets import LawSet
from fugu.laws.sets.path import Path
from fugu.loss.sets.extremes import PRECISION, Balls, Extremes
from fugu.loss.sets.forms import Whole
from fugu.loss.sets.kernels import Kernel
from fugu.numbers import balls

Laws = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Attained(Extremes):
    """Boxes and bands together: which law is extreme depends on the order of the distances alone, not on the scale.

    `most` and `least` hold the laws that attain N and D, as whole numbers over `total`; `which` says which of them at
    each output."""

    distances: Whole
    which: Whole
    most: Laws
    least: Laws
    total: int

    def proved(self, kernel: Kernel) -> Balls:
        """The same in balls: each law is a member of the set, and attains what it is for."""
        with balls.precision(PRECISION):
            g = kernel.proved()
            share = balls.of(Fraction(1, self.total))
            rows, which = self.distances.tolist(), self.which.tolist()
            most, least = ([laws[k] for k in which] for laws in (self.most, self.least))
            return _sums(rows, most, g, share), _sums(rows, least, g, share)


_FOUND: WeakKeyDictionary[Path, dict[tuple[int, int], tuple[list[int], list[int]]]] = WeakKeyDictionary()


def path(found: Path, points: Whole, outputs: Whole) -> Attained:
    """The extreme laws of boxes and bands together: the nearest that the limits allow, and the farthest.

    Between two neighbouring middles of points the order of the distances is the same for all outputs."""
    middles = np.unique(points[:, None] + points[None, :])
    places = [np.searchsorted(middles, 2 * outputs, side) for side in ("left", "right")]
    distances: Whole = np.abs(outputs[:, None] - points[None, :])
    orders, first, which = np.unique(np.stack(places), axis=1, return_index=True, return_inverse=True)
    known, most, least = _FOUND.setdefault(found, {}), [], []
    for order, row in zip(orders.T.tolist(), distances[first].tolist(), strict=True):
        key = tuple(order)
        if key not in known:
            known[key] = found.best([-d for d in row]), found.best(row)
        most.append(known[key][0])
        least.append(known[key][1])
    return Attained(distances, which.reshape(-1), most, least, found.total)


@dataclass(frozen=True, eq=False)
class Generic(Extremes):
    """Any set, by its support function at the kernel of every output."""

    law_set: LawSet
    distances: Whole

    def proved(self, kernel: Kernel) -> Balls:
        """The proved maximum and minimum for every output."""
        with balls.precision(PRECISION):
            g = kernel.proved()
            rows = [[g(d) for d in row] for row in self.distances.tolist()]
            most = [self.law_set.top_ball(row) for row in rows]
            return most, [self.law_set.bottom_ball(row) for row in rows]


def _sums(rows: Laws, laws: Laws, g: Callable[[int], arb], share: arb) -> list[arb]:
    pairs = (zip(law, row, strict=True) for law, row in zip(laws, rows, strict=True))
    return [share * sum((arb(fmpz(m)) * g(d) for m, d in pair if m), arb(0)) for pair in pairs]
