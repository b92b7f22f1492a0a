"""Couplings of two laws, whole or in part, with masses that are exact integers over one total."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real

_INT64 = 2**62
"""Common totals below this are held in int64; every partial sum then fits as well."""


@dataclass(frozen=True, eq=False)
class Coupling:
    """P(X = points[rows[c]], Y = points[columns[c]]) = masses[c] / total, the two being distances[c] apart.

    Masses are positive integers (int64, or Python integers in an object array) that add up to `total`.
    Distances are lattice steps (int64, exact) or doubles at or above the true distance by less than one unit
    in the last place.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    masses: NDArray[Any]
    distances: NDArray[Any]
    total: int


@dataclass(frozen=True, eq=False)
class CommonLine:
    """Two laws on one sorted support: indices of a lattice of step `unit`, or doubles (unit None)."""

    points: NDArray[Any]
    p: Masses
    q: Masses
    unit: Fraction | None


def monotone(points: NDArray[Any], p: Masses, q: Masses) -> Coupling:
    """The coupling (F^-1(U), G^-1(U)) of two laws on sorted points, F and G their distribution functions.

    It is optimal for every cost h(|x - y|) with h convex and increasing, and for the largest distance: a
    coupling within W gives F(t) <= G(t + W) and G(t) <= F(t + W) for all t, hence |F^-1(u) - G^-1(u)| <= W
    for every u. No tolerance anywhere: a cell of mass 1e-300 is a cell, a cell of mass zero is none.

    >>> p, q = Masses(np.array([1, 2, 0]), Fraction(3)), Masses(np.array([1, 0, 1]), Fraction(2))
    >>> both = monotone(np.array([0, 1, 5]), p, q)
    >>> both.rows.tolist(), both.columns.tolist(), both.masses.tolist(), both.total
    ([0, 1, 1], [0, 0, 2], [2, 1, 3], 6)
    >>> both.distances.tolist()
    [0, 1, 4]
    """
    a, b, total = one_total(p, q)
    if not len(a) == len(b) == len(points):
        raise BadLaw(f"laws of {len(a)} and {len(b)} atoms do not fit a support of {len(points)} points")
    rows, columns, mass = _merge(a, b) if a.dtype == np.int64 else north_west(a.tolist(), b.tolist())
    return Coupling(rows, columns, mass, _distance(points[rows], points[columns]), total)


def one_total(p: Masses, q: Masses) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Both laws as integers over one total: the least common multiple of theirs.

    >>> one_total(Masses(np.array([1, 2]), Fraction(3)), Masses(np.array([1, 1]), Fraction(2)))
    (array([2, 4]), array([3, 3]), 6)
    """
    (a, s), (b, t) = _whole(p), _whole(q)
    total = math.lcm(s, t)
    kind: type[Any] = np.int64 if total < _INT64 else object
    a, b = a.astype(kind) * (total // s), b.astype(kind) * (total // t)
    if not int(a.sum()) == int(b.sum()) == total:
        raise BadLaw("the masses of a law do not add up to its total")
    return a, b, total


def on_line(p: Discrete, q: Discrete, norm: Real) -> CommonLine:
    """The two laws on a common support; atoms without mass are left out, so they change nothing.

    Values that are all short decimals are read as such, on the coarsest lattice that holds them; otherwise
    every value is the binary number it is."""
    for law in (p, q):
        if not isinstance(law, Discrete):
            raise BadLaw(f"expected two Discrete laws, got {type(law).__name__}")
    if isinstance(norm, bool) or not isinstance(norm, int | float | Fraction) or not norm >= 1:
        raise UsageError(f"norm must be a number of at least 1 (inf allowed), got {norm!r}")
    if p.dimension != q.dimension:
        raise BadLaw(f"the laws must have one dimension, got {p.dimension} and {q.dimension}")
    if p.dimension > 1:
        raise NotProvable("laws of vectors have no common line; `wasserstein` and `closeness` compare them in space")
    if p.error or q.error:
        raise NotProvable("a law known up to an error has no exact distance; give the law exactly")
    (x, a), (y, b) = _held(p), _held(q)
    lattice = Lattice.holding([x, y])
    if lattice is not None:
        x, y = lattice.index(x), lattice.index(y)
    points = _distinct(x, y)
    size = len(points)
    a, b = a.scatter(np.searchsorted(points, x), size), b.scatter(np.searchsorted(points, y), size)
    return CommonLine(points, a, b, None if lattice is None else lattice.grid)


def _held(law: Discrete) -> tuple[NDArray[Any], Masses]:
    """The atoms that have mass."""
    held = law.masses.parts != 0
    return law.values.ravel()[held], Masses(law.masses.parts[held], law.masses.total)


def _whole(law: Masses) -> tuple[NDArray[Any], int]:
    if law.parts.dtype == np.int64 and law.total.denominator == 1:
        return law.parts, law.total.numerator
    parts, total = law.whole()
    return np.array(parts, dtype=object), total


_Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def _merge(a: NDArray[np.int64], b: NDArray[np.int64]) -> _Cells:
    """Cut [0, total] at both cumulative sums; what ends at c lies in the first atom whose sum reaches c."""
    upto_a, upto_b = np.cumsum(a), np.cumsum(b)
    cuts = _distinct(upto_a, upto_b)
    cuts = cuts[cuts > 0]
    return np.searchsorted(upto_a, cuts), np.searchsorted(upto_b, cuts), np.diff(cuts, prepend=0)


def _distinct(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The numbers of both, sorted, each once; two sorted runs are merged in one pass, which np.unique does not do."""
    both = np.sort(np.concatenate([x, y]), kind="stable")
    found: NDArray[Any] = both[np.concatenate([[True], both[1:] != both[:-1]])]
    return found


def north_west(a: list[int], b: list[int]) -> _Cells:
    """The same cells in Python integers: pour each atom of a into the atoms of b, both from left to right."""
    rows, columns, mass = [], [], []
    j, room = -1, 0
    for i, atom in enumerate(a):
        left = atom
        while left:
            while not room:
                j += 1
                room = b[j]
            poured = min(left, room)
            rows.append(i)
            columns.append(j)
            mass.append(poured)
            left, room = left - poured, room - poured
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(mass, dtype=object)


def _distance(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """|x - y|: exact for integers, the least double at or above it for doubles.

    With d = fl(x - y), Knuth's e = (x - (d - v)) - (y + v), v = d - x, is x - y - d exactly (TwoSum)."""
    high, low = np.maximum(x, y), np.minimum(x, y)
    with np.errstate(over="ignore", invalid="ignore"):
        d: NDArray[Any] = high - low
        if d.dtype == np.int64:
            return d
        v = d - high
        short = (high - (d - v)) - (low + v) > 0
        return np.where(short, np.nextafter(d, np.inf), d)


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


def close_coupling(points: NDArray[np.int64], p: Masses, q: Masses, distance: int) -> Coupling:
    """A sub-coupling within `distance` lattice steps of the largest mass there is (see `closeness._matched`).

    Row sums are at most p, column sums at most q; `total` is the mass that is kept, so that the cells couple their own
    normalised margins. It is the same pass from left to right as the one that decides closeness.

    >>> low, high = Masses(np.array([1, 1, 0]), 2), Masses(np.array([0, 1, 1]), 2)
    >>> kept = close_coupling(np.arange(3), low, high, 0)
    >>> kept.rows.tolist(), kept.columns.tolist(), kept.masses.tolist(), kept.total
    ([1], [1], [1], 1)
    """
    a, b, _ = one_total(p, q)
    left, right = a.tolist(), b.tolist()
    x = np.flatnonzero(a != 0).tolist()
    y = np.flatnonzero(b != 0).tolist()
    at = points.tolist()
    rows, columns, mass = [], [], []
    i = j = 0
    while i < len(x) and j < len(y):
        r, c = x[i], y[j]
        gap = at[c] - at[r]
        if gap > distance:
            i += 1
        elif gap < -distance:
            j += 1
        else:
            moved = min(left[r], right[c])
            rows.append(r)
            columns.append(c)
            mass.append(moved)
            left[r] -= moved
            right[c] -= moved
            i, j = i + (left[r] == 0), j + (right[c] == 0)
    row, column = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    total = sum(mass)
    kind: type[np.int64] | type[object] = np.int64 if total < 2**62 else object
    return Coupling(row, column, np.array(mass, dtype=kind), np.abs(points[row] - points[column]), total)
