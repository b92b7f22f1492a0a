"""Couplings of two laws, whole or in part, with masses that are exact integers over one total."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
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
    """Mass masses[c] / total moves from atom rows[c] of P to atom columns[c] of Q; what is left over stays free.

    Masses are positive integers (int64, or Python integers in an object array). Row sums are at most P and column sums
    at most Q; where `kept` is 1 they are equal to them. On a line `distances` says how far each cell moves: lattice
    steps (int64, exact) or doubles at or above the true distance by less than one unit in the last place.

    >>> half = Coupling(np.array([0, 1]), np.array([1, 1]), np.array([1, 2]), 6)
    >>> half.kept, half.sums(half.rows, 2).tolist(), half.sums(half.columns, 2).tolist()
    (Fraction(1, 2), [1, 2], [0, 3])
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    masses: NDArray[Any]
    total: int
    distances: NDArray[Any] = field(default_factory=lambda: np.zeros(0))

    @property
    def kept(self) -> Fraction:
        """The mass that is moved, 1 for a coupling of all mass."""
        return Fraction(int(self.masses.sum()), self.total)

    def sums(self, index: NDArray[np.int64], size: int) -> NDArray[Any]:
        """The masses added up by row, by column or by any other number of each cell, exactly, over `total`."""
        found = np.zeros(size, dtype=self.masses.dtype)
        np.add.at(found, index, self.masses)
        return found

    def checked(self, a: NDArray[Any], b: NDArray[Any], at_least: int) -> Coupling:
        """Itself, if its row sums are within a, its column sums within b, and it moves at least that much.

        Every plan passes through here, so that no bound rests on the solver that found it."""
        held = bool(np.all(self.masses > 0)) and int(self.masses.sum()) >= at_least
        if held and np.all(self.sums(self.rows, len(a)) <= a) and np.all(self.sums(self.columns, len(b)) <= b):
            return self
        raise NotProvable("a plan came back whose marginals are not those of the laws; please report the two laws")


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
    if a.dtype == np.int64:  # cut [0, total] at both cumulative sums: what ends at c lies in the first atom up to c
        upto_a, upto_b = np.cumsum(a), np.cumsum(b)
        cuts = _distinct(upto_a, upto_b)
        cuts = cuts[cuts > 0]
        rows, columns = np.searchsorted(upto_a, cuts), np.searchsorted(upto_b, cuts)
        mass: NDArray[Any] = np.diff(cuts, prepend=0)
    else:
        rows, columns, mass = north_west(a.tolist(), b.tolist())
    return Coupling(rows, columns, mass, total, distance_up(points[rows], points[columns]))


def one_total(p: Masses, q: Masses) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Both laws as integers over one total: the least common multiple of theirs.

    >>> one_total(Masses(np.array([1, 2]), Fraction(3)), Masses(np.array([1, 1]), Fraction(2)))
    (array([2, 4]), array([3, 3]), 6)
    """
    whole: list[tuple[NDArray[Any], int]] = []
    for law in (p, q):
        if law.parts.dtype == np.int64 and law.total.denominator == 1:
            whole.append((law.parts, law.total.numerator))
        else:
            parts, own = law.whole()
            whole.append((np.array(parts, dtype=object), own))
    (a, s), (b, t) = whole
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
    held = [law.masses.parts != 0 for law in (p, q)]
    values: list[NDArray[Any]] = [law.values.ravel()[there] for law, there in zip((p, q), held, strict=True)]
    if (lattice := Lattice.holding(values)) is not None:
        values = [lattice.index(x) for x in values]
    points = _distinct(*values)
    a, b = (
        Masses(law.masses.parts[there], law.masses.total).scatter(np.searchsorted(points, x), len(points))
        for law, there, x in zip((p, q), held, values, strict=True)
    )
    return CommonLine(points, a, b, None if lattice is None else lattice.grid)


_Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


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


def distance_up(x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
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


def compact(masses: NDArray[Any], total: int) -> NDArray[Any]:
    """The masses in int64 if every sum of them fits, else as Python integers."""
    return masses.astype(np.int64 if total < _INT64 else object)


def close_coupling(points: NDArray[np.int64], p: Masses, q: Masses, distance: int) -> Coupling:
    """A sub-coupling within `distance` lattice steps of the largest mass there is (`matched`).

    Row sums are at most p, column sums at most q; `total` is the mass that is kept, so that the cells couple their own
    normalised margins.

    >>> low, high = Masses(np.array([1, 1, 0]), 2), Masses(np.array([0, 1, 1]), 2)
    >>> kept = close_coupling(np.arange(3), low, high, 0)
    >>> kept.rows.tolist(), kept.columns.tolist(), kept.masses.tolist(), kept.total
    ([1], [1], [1], 1)
    """
    a, b, _ = one_total(p, q)
    x, y = np.flatnonzero(a != 0), np.flatnonzero(b != 0)
    cells: list[tuple[int, int, int]] = []
    total = matched(points[x].tolist(), a[x].tolist(), points[y].tolist(), b[y].tolist(), distance, cells)
    i, j, mass = zip(*cells, strict=True) if cells else ((), (), ())
    rows, columns = x[np.array(i, dtype=np.int64)], y[np.array(j, dtype=np.int64)]
    masses = compact(np.array(mass, dtype=object), total)
    return Coupling(rows, columns, masses, total, np.abs(points[rows] - points[columns]))


def matched(
    x: list[int], a: list[int], y: list[int], b: list[int], reach: int, cells: list[tuple[int, int, int]] | None = None
) -> int:
    """The largest mass of a sub-coupling within `reach`, by one pass from left to right; its cells are listed in
    `cells`.

    An atom too far left of every atom that remains on the other side is lost. If the two leftmost atoms x1
    and y1 are within reach, matching all they can is optimal: if x1 goes to y' and y1 comes from x', swap, as
    x' - y' <= x' - y1 <= reach and y' - x' <= y' - x1 <= reach; mass left unmatched there can only gain.
    """
    i = j = total = 0
    left, right = a[0], b[0]
    last_i, last_j = len(x) - 1, len(y) - 1
    while True:
        gap = y[j] - x[i]
        if -reach <= gap <= reach:
            moved = left if left < right else right
            if cells is not None:
                cells.append((i, j, moved))
            total, left, right = total + moved, left - moved, right - moved
        elif gap > 0:
            left = 0
        else:
            right = 0
        if not left:
            if i == last_i:
                return total
            i += 1
            left = a[i]
        if not right:
            if j == last_j:
                return total
            j += 1
            right = b[j]
