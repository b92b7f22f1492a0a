"""`closeness`: the least distance that matches two laws up to a mass delta, exact on the line and in space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, BadLaw, NotProvable, UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.transport.coupling import Coupling, compact, distance_up, matched, monotone, on_line, one_total
from fugu.transport.flows import max_flow


def closeness(p: Discrete, q: Discrete, delta: Real, norm: Real = 1) -> float:
    """How far all mass but delta must move to turn one law into the other: the least W such that some coupling has P(|X
    - Y| <= W) >= 1 - delta; for delta 0 it is W_inf.

    Parameters: `p`, `q` are two `Discrete` laws of one dimension; `delta` is a number in [0, 1); `norm` is 1, 2 or
    infinity, the distance of vectors (all norms agree in one dimension).

    Returns a float at or above the exact value. Raises `BadBudget` for another delta, `BadLaw` for laws of different
    dimensions.

    Laplace noise of scale W / epsilon then gives Approx(epsilon, delta) in both orders (Chen and Ohrimenko
    2023, Theorem 4.2). The mass left over never grows with W, so W is found by bisection over the lattice
    steps, or over the doubles where there is no lattice. Vectors: by maximum flow
    (`bottleneck`).

    >>> mu, nu = Discrete([1, 2, 100], [6, 2, 2]), Discrete([1, 2, 3, 100], [4, 3, 2, 1])
    >>> closeness(mu, nu, 0), closeness(mu, nu, 0.1), closeness(mu, nu, 0.3)
    (97.0, 1.0, 0.0)
    >>> closeness(Discrete([[0, 0], [3, 4]]), Discrete([[0, 0]]), 0.1), closeness(mu, nu, 0.5)
    (7.0, 0.0)
    """
    spare = _delta(delta)
    if in_plane(p, q):
        return bottleneck(in_space(p, q, norm), spare)[0]
    line = on_line(p, q, norm)
    if line.unit is not None:
        return float_up(line.unit * closeness_index(line.points, line.p, line.q, spare))
    total, left_over = _matching(line.points, line.p, line.q)
    allowed = total * spare.numerator // spare.denominator
    top = int(monotone(line.points, line.p, line.q).distances.max().view(np.int64))
    return _double(_least(top, lambda w: left_over(Fraction(_double(w))) <= allowed))


def closeness_index(points: NDArray[np.int64], p: Masses, q: Masses, delta: Fraction) -> int:
    """The least whole number of lattice steps W for which two laws on lattice indices are (W, delta)-close."""
    widest = int(monotone(points, p, q).distances.max())
    total, left_over = _matching(points, p, q)
    allowed = total * delta.numerator // delta.denominator
    return widest if allowed == 0 else _least(widest, lambda w: left_over(Fraction(w)) <= allowed)


def unmatched(points: NDArray[Any], p: Masses, q: Masses, distance: Real) -> Fraction:
    """The least delta for which two laws on sorted points are (distance, delta)-close, exactly.

    Points and distance count in the same unit: lattice steps, or doubles read as binary numbers. It is the
    largest P(A) - Q(points within the distance of A) over all sets A (Strassen 1965, Theorem 11), the same in
    both orders. The monotone coupling would not do: below it leaves everything unmatched at distance 0.

    >>> low = Masses(np.array([1] * 10 + [0]), Fraction(10))
    >>> high = Masses(np.array([0] + [1] * 10), Fraction(10))
    >>> unmatched(np.arange(11), low, high, 0), unmatched(np.arange(11), low, high, 1)
    (Fraction(1, 10), Fraction(0, 1))
    """
    total, left_over = _matching(points, p, q)
    return Fraction(left_over(Fraction(distance)), total)


def _matching(points: NDArray[Any], p: Masses, q: Masses) -> tuple[int, Callable[[Fraction], int]]:
    """One total of both laws, and the mass out of it that no coupling can bring within a distance: with positions as
    multiples of one unit each such question costs one pass."""
    a, b, total = one_total(p, q)
    at, unit = points.tolist(), Fraction(1)  # a power of two for doubles, which are whole multiples of it
    if points.dtype != np.int64:
        ratios = [x.as_integer_ratio() for x in at]
        finest = max(d for _, d in ratios)
        at, unit = [n * (finest // d) for n, d in ratios], Fraction(1, finest)
    held = ([(x, m) for x, m in zip(at, mass.tolist(), strict=True) if m] for mass in (a, b))
    (x, mine), (y, theirs) = (tuple(map(list, zip(*side, strict=True))) for side in held)

    def left_over(distance: Fraction) -> int:
        reach = distance / unit
        return total if distance < 0 else total - matched(x, mine, y, theirs, reach.numerator // reach.denominator)

    return total, left_over


def _least(high: int, holds: Callable[[int], bool]) -> int:
    """The least whole number in [0, high] that holds, if holding persists upward and `high` holds."""
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _double(bits: int) -> float:
    """The double with this bit pattern; patterns of non-negative doubles are in the order of the numbers."""
    return float(np.int64(bits).view(np.float64))


def _delta(delta: Real) -> Fraction:
    if isinstance(delta, bool) or not isinstance(delta, int | float | Fraction) or not 0 <= delta < 1:
        raise BadBudget(f"delta must be a number in [0, 1), got {delta!r}")
    return as_fraction(delta)


_Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def bottleneck(space: Space, delta: Fraction) -> tuple[float, Coupling]:
    """The least W with a sub-coupling of mass at least 1 - delta within W, rounded up, and that sub-coupling.

    The mass that can be matched within W is a maximum flow along the pairs at most W apart (Strassen 1965, Theorem
    11, by max-flow min-cut), and it changes only where W is the distance of a pair: a bisection over the keys of
    the pairs. Pairs farther than the first distance found to suffice are never listed. For delta 0 it is W_inf.
    """
    needed = space.total - space.total * delta.numerator // delta.denominator
    keys = []  # the least at which atoms of mass `needed` have some partner, for each side; then wider by quarters
    for nearest, mass in zip(space.nearest(), (space.a, space.b), strict=True):
        order = np.argsort(nearest, kind="stable")
        place = np.searchsorted(np.cumsum(mass[order]), needed) if needed > 0 else 0
        keys.append(nearest[order][place].item())
    key = max(keys)

    def enough(pairs: _Pairs, count: int) -> NDArray[Any] | None:
        """A flow of what is needed along the first pairs; none, at once, where atoms without a partner leave too
        much."""
        for index, mass in ((pairs[0], space.a), (pairs[1], space.b)):
            partnered = np.zeros(len(mass), dtype=bool)
            partnered[index[:count]] = True
            if int(mass[partnered].sum()) < needed:
                return None
        flow = max_flow(space.a, space.b, pairs[0][:count], pairs[1][:count], needed)
        return flow if int(flow.sum()) >= needed else None

    while (best := enough(pairs := space.near(key), len(pairs[0]))) is None:
        key = space.wider(key)
    ends = np.append(np.flatnonzero(pairs[2][1:] != pairs[2][:-1]), len(pairs[2]) - 1)
    low, high = -1, len(ends) - 1  # the pairs up to ends[high] suffice
    while high - low > 1:
        middle = (low + high) // 2
        found = enough(pairs, int(ends[middle]) + 1)
        low, high, best = (middle, high, best) if found is None else (low, middle, found)
    plan = _plan(space, pairs, best, needed)
    farthest = space.distance(pairs[2][ends[high]])
    return farthest, Coupling(space.rows[plan.rows], space.columns[plan.columns], plan.masses, plan.total)


def _plan(space: Space, pairs: _Pairs, flow: NDArray[Any], needed: int) -> Coupling:
    """The pairs that mass flows along, as a sub-coupling whose marginals are checked."""
    moved = np.flatnonzero(flow)
    return Coupling(pairs[0][moved], pairs[1][moved], flow[moved], space.total).checked(space.a, space.b, needed)


def kept_within(space: Space, key: Any) -> Fraction:
    """The largest mass that some sub-coupling keeps within the distance of a key."""
    pairs = space.near(key)
    return _plan(space, pairs, max_flow(space.a, space.b, *pairs[:2]), 0).kept


# Two laws of vectors: exact integer keys for the distances on a decimal lattice, doubles rounded up elsewhere.
#
# The key of a pair is its distance in lattice steps (norms 1 and inf), its squared distance in lattice steps (norm
# 2), or the distance itself as a double at or above it. Keys are in the order of the distances, so a question about
# distances is a question about keys. A k-d tree only proposes pairs; which of them count is decided by their keys.


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
            return _doubles(distance_up(x, y), self.norm)
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
        reach = (math.sqrt(key) if self.squared else float(key)) * scale * _WIDER + 1e-150
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
