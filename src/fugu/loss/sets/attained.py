"""Extremes by the laws that attain them, one for every output: for sets whose extreme laws follow no window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz

from fugu.laws.sets import LawSet
from fugu.laws.sets.path import Path
from fugu.loss.sets.extremes import PRECISION, Balls, Extremes, Pair
from fugu.loss.sets.forms import Floats, Whole
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

    @cached_property
    def _weights(self) -> tuple[Floats, Floats]:
        most, least = (
            np.array([[m / self.total for m in law] for law in laws], dtype=np.float64)
            for laws in (self.most, self.least)
        )
        return most, least

    def floats(self, kernel: Kernel) -> Pair:
        """Sums over the laws."""
        g = kernel.floats(self.distances)
        most, least = self._weights
        return np.einsum("ij,ij->i", most, g), np.einsum("ij,ij->i", least, g)

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

    def floats(self, kernel: Kernel) -> Pair:
        """One maximum and one minimum for every output."""
        g = kernel.floats(self.distances)
        return self.law_set.tops(g), self.law_set.bottoms(g)

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
