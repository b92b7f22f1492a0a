"""Two laws of vectors: exact integer keys for the distances on a decimal lattice, doubles rounded up elsewhere.

The key of a pair is its distance in lattice steps (norms 1 and inf), its squared distance in lattice steps (norm
2), or the distance itself as a double at or above it. Keys are in the order of the distances, so a question about
distances is a question about keys. A k-d tree only proposes pairs; which of them count is decided by their keys.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, NotProvable, UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import Real, float_up
from fugu.transport.cells import compact
from fugu.transport.coupling import _distance, one_total

_MOST_PAIRS = 2**25
"""Beyond this many pairs within the distance in question the memory for them is not asked for."""
_WIDER = 1 + 1e-9
"""The tree works in doubles: it looks this much further than the distance in question."""


@dataclass(frozen=True, eq=False)
class Space:
    """Atoms x of P and y of Q (all of them have mass), their integer masses a and b over one total, and the norm."""

    x: NDArray[Any]
    y: NDArray[Any]
    a: NDArray[Any]
    b: NDArray[Any]
    total: int
    norm: float
    unit: Fraction | None
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    @property
    def squared(self) -> bool:
        """Whether the keys are squared distances."""
        return self.unit is not None and self.norm == 2

    def keys(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[Any]:
        """The keys of the pairs (i, j)."""
        x, y = self.x[i], self.y[j]
        if self.unit is None:
            return _doubles(_distance(x, y), self.norm)
        apart = np.abs(x - y)
        if self.squared:
            squares: NDArray[Any] = (apart * apart).sum(axis=-1)
            return squares
        whole: NDArray[Any] = apart.sum(axis=-1) if self.norm == 1 else apart.max(axis=-1)
        return whole

    def distance(self, key: Any) -> float:
        """The least float at or above the distance that a key stands for."""
        if self.unit is None:
            return float(key)
        return root_up(int(key) * self.unit**2) if self.squared else float_up(int(key) * self.unit)

    def power(self, keys: NDArray[Any], order: Fraction) -> list[Any]:
        """distance^order of each key in units of the lattice, as balls."""
        exponent = balls.of(order / 2 if self.squared else order)
        return [balls.of(k) ** exponent if k else balls.of(0) for k in keys.tolist()]

    def near(self, key: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """All pairs whose key is at most `key`, and their keys, in increasing order of the keys."""
        left, right, scale = self._trees
        reach = self._length(key) * scale * _WIDER + 1e-150
        if left.count_neighbors(right, reach, p=self.norm) > _MOST_PAIRS:
            raise NotProvable(
                f"more than {_MOST_PAIRS:,} pairs of atoms lie within the distance in question; "
                "give laws with fewer atoms, for instance on a coarser grid"
            )
        found = left.sparse_distance_matrix(right, reach, p=self.norm, output_type="ndarray")
        i, j = found["i"].astype(np.int64), found["j"].astype(np.int64)
        keys = self.keys(i, j)
        held = keys <= key
        i, j, keys = i[held], j[held], keys[held]
        order = np.argsort(keys, kind="stable")
        return i[order], j[order], keys[order]

    def nearest(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """For every atom of each side the key of an atom nearest to it on the other, up to the tree's rounding."""
        left, right, _ = self._trees
        to_right = right.query(left.data, p=self.norm)[1].astype(np.int64)
        to_left = left.query(right.data, p=self.norm)[1].astype(np.int64)
        rows, columns = np.arange(len(self.x)), np.arange(len(self.y))
        return self.keys(rows, to_right), self.keys(to_left, columns)

    def wider(self, key: Any) -> Any:
        """A key for a distance a quarter further, never beyond the farthest pair there can be."""
        if self.unit is None:
            grown = max(float(key) * 1.25, float(self.farthest) * 2.0**-24)
        else:
            grown = max(int(key) * 25 // 16 if self.squared else int(key) * 5 // 4, int(key) + 1)
        return min(grown, self.farthest)

    @cached_property
    def farthest(self) -> Any:
        """A key at or above all keys: that of the two corners of a box around all atoms."""
        low = np.minimum(self.x.min(axis=0), self.y.min(axis=0))
        high = np.maximum(self.x.max(axis=0), self.y.max(axis=0))
        corners = Space(
            low[None], high[None], self.a, self.b, self.total, self.norm, self.unit, self.rows, self.columns
        )
        return corners.keys(np.array([0]), np.array([0]))[0].item()

    def _length(self, key: Any) -> float:
        return math.sqrt(key) if self.squared else float(key)

    @cached_property
    def _trees(self) -> tuple[Any, Any, float]:
        """Trees of both sides, shifted by nothing and scaled by a power of two into the unit box."""
        from scipy.spatial import cKDTree

        largest = max(float(np.abs(self.x).max()), float(np.abs(self.y).max()), 2.0**-1000)
        scale = 2.0 ** -(math.frexp(largest)[1])
        return cKDTree(self.x * scale), cKDTree(self.y * scale), scale


def in_plane(p: Discrete, q: Discrete) -> bool:
    """Whether these are two laws of vectors; everything else is a matter for the line, or for its refusals."""
    return isinstance(p, Discrete) and isinstance(q, Discrete) and p.dimension > 1 and q.dimension > 1


def in_space(p: Discrete, q: Discrete, norm: Real) -> Space:
    """The two laws with exact masses; values that are all short decimals stand on one lattice.

    Norms 1, 2 and inf; squared distances must stay below 2^62, else the values are taken as doubles."""
    if isinstance(norm, bool) or norm not in (1, 2, math.inf):
        raise UsageError(f"norm must be 1, 2 or inf for laws of vectors, got {norm!r}")
    if p.dimension != q.dimension:
        raise BadLaw(f"the laws must have one dimension, got {p.dimension} and {q.dimension}")
    if p.error or q.error:
        raise NotProvable("a law known up to an error has no exact distance; give the law exactly")
    rows, columns = (np.flatnonzero(law.masses.parts != 0) for law in (p, q))
    x, y = (law.values.reshape(len(law.values), -1)[held] for law, held in ((p, rows), (q, columns)))
    a, b, total = one_total(*(Masses(law.masses.parts[h], law.masses.total) for law, h in ((p, rows), (q, columns))))
    common = math.gcd(*(int(m) for m in a), *(int(m) for m in b))
    a, b, total = compact(a // common, total // common), compact(b // common, total // common), total // common
    lattice = Lattice.holding([x, y])
    if lattice is not None:
        i, j = lattice.index(x), lattice.index(y)
        low = np.minimum(i.min(axis=0), j.min(axis=0))
        span = int(max((i - low).max(), (j - low).max()))
        if x.shape[1] * (span**2 if norm == 2 else span) < 2**62:
            return Space(i - low, j - low, a, b, total, float(norm), lattice.grid, rows, columns)
    return Space(x, y, a, b, total, float(norm), None, rows, columns)


def root_up(square: Fraction) -> float:
    """The least float whose square is at or above a rational number.

    >>> root_up(Fraction(1, 4)), root_up(Fraction(2)) ** 2 >= 2
    (0.5, True)
    """
    if square == 0:
        return 0.0
    with balls.precision(128):
        found = balls.upper(balls.of(square).sqrt())
    while (below := math.nextafter(found, 0.0)) and Fraction(below) ** 2 >= square:
        found = below
    return found


def _doubles(apart: NDArray[np.float64], norm: float) -> NDArray[np.float64]:
    """The norm of vectors of non-negative doubles, at or above it by at most (d + 12) 2^-52 of it.

    Divided by the largest entry, no square overflows and one that underflows is below the slack."""
    largest: NDArray[np.float64] = apart.max(axis=-1)
    if norm == math.inf:
        return largest
    slack = 1 + (apart.shape[-1] + 8) * 2.0**-52
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if norm == 1:
            found = apart.sum(axis=-1) * slack
        else:
            share = apart / np.where(largest > 0, largest, 1.0)[..., None]
            found = np.sqrt((share * share).sum(axis=-1)) * slack * largest
        found = np.where(np.isfinite(apart).all(axis=-1), np.nextafter(found, np.inf), np.inf)
    single = (apart > 0).sum(axis=-1) <= 1
    return np.where(single, largest, found)
