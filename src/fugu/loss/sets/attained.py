"""Extremes by the laws that attain them, one for every output: for sets whose extreme laws follow no window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.laws.sets import LawSet
from fugu.laws.sets.path import Path
from fugu.loss.sets.extremes import PRECISION, Balls, Extremes
from fugu.loss.sets.forms import Whole
from fugu.loss.sets.kernels import Kernel
from fugu.numbers import balls


@dataclass(frozen=True, eq=False)
class Attained(Extremes):
    """Boxes and bands together: which law is extreme depends on the order of the distances alone, not on the scale.

    `most` and `least` hold the law that attains N and D at each output, as whole numbers over `total`."""

    distances: Whole
    most: Sequence[Sequence[int]]
    least: Sequence[Sequence[int]]
    total: int

    def proved(self, kernel: Kernel) -> Balls:
        """The same in balls: each law is a member of the set, and attains what it is for."""
        with balls.precision(PRECISION):
            g = kernel.proved()
            share = balls.of(Fraction(1, self.total))
            rows = self.distances.tolist()
            return _sums(rows, self.most, g, share), _sums(rows, self.least, g, share)


def path(found: Path, points: Whole, outputs: Whole) -> Attained:
    """The extreme laws of boxes and bands together: the nearest that the limits allow, and the farthest."""
    distances = np.abs(outputs[:, None] - points[None, :])
    most = [found.best(row) for row in (-distances).tolist()]
    least = [found.best(row) for row in distances.tolist()]
    return Attained(distances, most, least, found.total)


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


def _sums(
    rows: Sequence[Sequence[int]], laws: Sequence[Sequence[int]], g: Callable[[int], arb], share: arb
) -> list[arb]:
    pairs = (zip(law, row, strict=True) for law, row in zip(laws, rows, strict=True))
    return [share * sum((arb(fmpz(m)) * g(d) for m, d in pair if m), arb(0)) for pair in pairs]
