"""`SubCoupling`: part of the mass of two laws, moved; masses are exact integers over one total."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable

_INT64 = 2**62


@dataclass(frozen=True, eq=False)
class SubCoupling:
    """Mass masses[c] / total moves from atom rows[c] of P to atom columns[c] of Q; what is left over stays free.

    Masses are positive integers (int64, or Python integers in an object array). Row sums are at most P and
    column sums at most Q; where `kept` is 1 they are equal to them, and this is a coupling.

    >>> half = SubCoupling(np.array([0, 1]), np.array([1, 1]), np.array([1, 2]), 6)
    >>> half.kept, half.row_masses(2).tolist(), half.column_masses(2).tolist()
    (Fraction(1, 2), [1, 2], [0, 3])
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    masses: NDArray[Any]
    total: int

    @property
    def kept(self) -> Fraction:
        """The mass that is moved, 1 for a coupling."""
        return Fraction(int(self.masses.sum()), self.total)

    def row_masses(self, size: int) -> NDArray[Any]:
        """The part of P that is moved, over `total`: one integer for each of its `size` atoms."""
        return gathered(self.rows, self.masses, size)

    def column_masses(self, size: int) -> NDArray[Any]:
        """The part of Q that is moved, over `total`."""
        return gathered(self.columns, self.masses, size)

    def checked(self, a: NDArray[Any], b: NDArray[Any], at_least: int) -> SubCoupling:
        """Itself, if its row sums are within a, its column sums within b, and it moves at least that much.

        Every plan passes through here, so that no bound rests on the solver that found it."""
        held = bool(np.all(self.masses > 0)) and int(self.masses.sum()) >= at_least
        if held and np.all(self.row_masses(len(a)) <= a) and np.all(self.column_masses(len(b)) <= b):
            return self
        raise NotProvable("a plan came back whose marginals are not those of the laws; please report the two laws")


def gathered(index: NDArray[np.int64], masses: NDArray[Any], size: int) -> NDArray[Any]:
    """The sums of integer masses by index, exactly."""
    sums = np.zeros(size, dtype=masses.dtype)
    np.add.at(sums, index, masses)
    return sums


def compact(masses: NDArray[Any], total: int) -> NDArray[Any]:
    """The masses in int64 if every sum of them fits, else as Python integers."""
    return masses.astype(np.int64 if total < _INT64 else object)
