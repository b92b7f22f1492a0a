"""`Family` and `SetFamily`: laws, or sets of laws, on one common support, and the pairs among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadNoise, CertificateError
from fugu.laws.components import Digest, SeveralPairs, nearest, pairs_from, spread
from fugu.laws.masses import Masses
from fugu.laws.sets.law_set import LawSet
from fugu.noise.lattice import MAX_INDEX, Lattice
from fugu.numbers.exact import as_fraction

_VECTORS = "vectors"


@dataclass(frozen=True, eq=False)
class Family(SeveralPairs):
    """Points, each law's masses on them, and pairs of law numbers.

    The points are sorted numbers (n,), or distinct vectors (n, d) in lexicographic order: positions as doubles, or
    lattice indices as int64. Evaluating a ratio of noised laws at a point where neither has an atom changes no
    supremum, so a support that is common to many laws is as good as each pair's own; each law's noised mass is then
    computed once, not once per pair."""

    points: NDArray[Any]
    laws: tuple[Masses, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    translates: bool = False
    """Whether this is one pair of translates of an unknown law, standing in as two point masses."""
    errors: tuple[float, ...] = ()
    """How far, in total variation, each true law may be from its masses; none given means all exact."""
    atoms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.errors:
            object.__setattr__(self, "errors", (0.0,) * len(self.laws))

    @property
    def dimension(self) -> int:
        """1 for numbers, d for vectors of d coordinates."""
        return 1 if self.points.ndim == 1 else int(self.points.shape[1])

    @property
    def shape(self) -> str:
        """What the table of losses knows it by."""
        return "line" if self.points.ndim == 1 else "space"

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """All probabilities, one row a law."""
        return np.stack([law.floats() for law in self.laws])

    @cached_property
    def different(self) -> tuple[tuple[tuple[int, int], str], ...]:
        """The pairs whose two laws are not surely the same law, with their labels; the others lose nothing."""
        labelled = zip(self.pairs, self.labels, strict=True)
        return tuple(
            (pair, label)
            for pair, label in labelled
            if self.blurred(pair) or not self.laws[pair[0]].same_as(self.laws[pair[1]])
        )

    def blurred(self, pair: tuple[int, int]) -> bool:
        """Whether the pair is two laws of which one is known up to an error only: equal masses are no proof then."""
        i, j = pair
        return i != j and (self.errors[i] > 0 or self.errors[j] > 0)

    def slack(self, order: tuple[int, int], e: arb) -> arb:
        """a + e b for |P - p| <= a and |Q - q| <= b in total variation, P and Q the true laws, p and q the masses held.

        Noise and rounding bring laws no farther apart, so for every set S of outputs P(S) - e Q(S) <= p(S) + a - e
        (q(S) - b) <= delta + a + e b, with delta that of p and q. Ratios are another matter: P may have mass where Q
        has none, so no pure loss is known.

        >>> from fugu.laws import Discrete, LawPair, families
        >>> families([LawPair(Discrete([0]), Discrete([1]))])[0].slack((0, 1), arb(1)) == 0
        True
        """
        first, second = (arb(self.errors[k]) for k in order)
        return first + e * second if self.blurred(order) else arb(0)

    @cached_property
    def inexact(self) -> bool:
        """Whether some pair is blurred."""
        return any(self.blurred(pair) for pair in self.pairs)

    @cached_property
    def minute(self) -> bool:
        """Whether some probability is positive but so small that arithmetic on doubles would lose it."""
        return any(np.any((law.parts != 0) & (row < 1e-280)) for law, row in zip(self.laws, self.weights, strict=True))

    def on(self, lattice: Lattice) -> Family:
        """The laws pushed through rounding onto the lattice: integer points, masses that meet added exactly."""
        if not self.translates:
            return self._at(lattice.index(self.points))
        # rounding commutes with a shift only if the shift is a whole number of grid steps in every coordinate
        shift = (self.points[-1] - self.points[0]).reshape(-1)
        steps = [as_fraction(float(x)) / lattice.grid for x in shift]
        if any(s.denominator != 1 for s in steps):
            raise BadNoise(
                f"a grid of {lattice.grid} does not divide the shift of pair {self.labels[0]!r}; choose one that does"
            )
        ends = np.array([[0] * len(steps), [int(s) for s in steps]], dtype=np.int64)[: len(self.points)]
        return Family(ends.reshape(self.points.shape), self.laws, self.pairs, self.labels, translates=True)

    def push(self, support: NDArray[np.float64]) -> Family:
        """The laws of the nearest supported value; masses that meet are added exactly."""
        if self.translates:
            raise BadNoise("it moves every value to its own atoms, and these laws have none")
        return self._at(nearest(support, self.points))

    def numbered(self) -> Family:
        """The same laws on the points 0, 1, 2, ...: all that matters where neither noise nor rounding is applied."""
        return replace(self, points=np.arange(len(self.points)))

    def placed(self, points: NDArray[Any]) -> Family:
        """The same laws on other points, as many and in the same order."""
        return replace(self, points=points)

    def _at(self, places: NDArray[Any]) -> Family:
        """Every point moved to its place; no map brings laws farther apart, so errors stay."""
        if places.ndim == 1 and np.all(np.diff(places) > 0):
            return replace(self, points=places)
        points, where = distinct(places)
        return replace(self, points=points, laws=tuple(law.scatter(where, len(points)) for law in self.laws))

    @property
    def point_masses(self) -> bool:
        """Whether every law is known to have one atom."""
        known = not self.translates and not any(self.errors)
        return known and all(np.count_nonzero(law.parts != 0) == 1 for law in self.laws)

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:
        """Whether a law is surely not that one of another family; what stands in for translates is never compared."""
        if not other.atoms:
            return False
        if other is self:
            return not self.laws[number].same_as(self.laws[its])
        return comparable and not (self._alone or other._alone) and self._held(number) != other._held(its)

    @property
    def _alone(self) -> bool:
        """One pair of point masses: what translates by a shift are written as, wherever they are."""
        return len(self.pairs) == 1 and all(np.count_nonzero(law.parts) == 1 for law in self.laws)

    def _held(self, number: int) -> tuple[list[Any], list[int], int]:
        """Where a law has mass, and how much, over the least total."""
        masses, total = self.laws[number].whole()
        there = [k for k, mass in enumerate(masses) if mass]
        common = int(np.gcd.reduce(np.array([masses[k] for k in there] + [total], dtype=object)))
        return [self.points[k].tolist() for k in there], [masses[k] // common for k in there], total // common

    def spread(self) -> float:
        """The standard deviation of the published value under all laws together; 1 where it has none."""
        return spread(self.weights.mean(axis=0), self.points, np.zeros(len(self.points))) or 1.0

    def to_json(self) -> dict[str, Any]:
        """The laws on lattice indices, exactly; of vectors one row a point, and that they are."""
        laws = [law.to_json(error) for law, error in zip(self.laws, self.errors, strict=True)]
        rows = {"points": self.points.astype(np.int64).tolist(), "laws": laws, **self.pairs_json()}
        return rows if self.points.ndim == 1 else {"kind": _VECTORS, **rows, "translates": self.translates}

    @staticmethod
    def from_json(found: dict[str, Any], vectors: bool = False) -> Family:
        """What `to_json` wrote, checked: distinct points in order, of one dimension, and laws that are laws."""
        points = ordered_points(found, 1 + vectors)
        if vectors and found.get("kind") != _VECTORS:
            raise CertificateError("the certificate's laws are not laws of vectors in order")
        laws = [Masses.from_json(law, len(points)) for law in found["laws"]]
        pairs, labels = pairs_from(found, len(laws))
        translates = vectors and bool(found["translates"])
        masses, errors = tuple(law for law, _ in laws), tuple(error for _, error in laws)
        return Family(points, masses, pairs, labels, translates, errors)

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest: equal for two calibrations on the same beliefs."""
        digest.update(self.points.tobytes())
        digest.update(repr((self.pairs, self.translates)).encode())
        if self.points.ndim > 1:
            for law in self.laws:
                digest.update(repr(law.whole()).encode())
            if any(self.errors):
                digest.update(repr(self.errors).encode())
            return
        for masses in self.laws:
            digest.update(f"{masses.total.numerator:x}/{masses.total.denominator:x}".encode())
            big = masses.parts.dtype == object
            digest.update(",".join(map(hex, masses.parts.tolist())).encode() if big else masses.parts.tobytes())
        digest.update(repr(self.errors if self.inexact else ()).encode())


def ordered_points(found: dict[str, Any], dimensions: int) -> NDArray[np.int64]:
    """Lattice indices of a document, in one list or in rows, distinct and in order; numpy alone would read 1.5 and true
    as 1."""
    flat = [x for row in found["points"] for x in (row if isinstance(row, list) else (row,))]
    if any(type(x) is not int or abs(x) > MAX_INDEX for x in flat):
        raise CertificateError("the certificate's laws are not on a lattice: their points are not whole numbers")
    points = np.array(found["points"], dtype=np.int64)
    if points.ndim != dimensions or not len(points) or not np.array_equal(distinct(points)[0], points):
        what = "not in order" if dimensions == 1 else "not laws of vectors in order"
        raise CertificateError(f"the certificate's laws are {what}")
    return points


def distinct(points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct points in order (vectors in lexicographic order), and for every point its number among them."""
    if points.ndim == 1:
        return np.unique(points, return_inverse=True)
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    fresh = np.concatenate(([True], np.any(ordered[1:] != ordered[:-1], axis=1)))
    where = np.empty(len(points), dtype=np.int64)
    where[order] = np.cumsum(fresh) - 1
    return ordered[fresh], where


def reached(laws: Sequence[Family], lattice: Lattice | None, support: NDArray[np.float64]) -> bool:
    """Whether rounding the supported vectors onto the lattice leads to every atom of the laws, as a release does."""
    if lattice is None:
        return False
    places = set(map(tuple, lattice.index(support).tolist()))
    return all(tuple(point) in places for family in laws for point in family.points.tolist())


def value_range(item: Any) -> float:
    """The largest distance of two values, in lattice steps, of vectors in the l1 norm; about, of laws with spread."""
    if item.atoms:
        return float(np.ptp(item.points.reshape(len(item.points), -1), axis=0).sum())
    means = np.concatenate((item.p.means, item.q.means))
    far = float(np.ptp(means)) + 4 * float(max(item.p.stds.max(), item.q.stds.max()))
    return far / float(item.lattice.grid)


@dataclass(frozen=True, eq=False)
class SetFamily(SeveralPairs):
    """Points, sets of laws on them, and pairs of set numbers.

    A pair stands for every pair of laws of which the first is in the one set and the second in the other, chosen
    independently of each other. The points are the declared values, sorted: positions as doubles, or lattice indices
    as int64; they are the values of every set. Points without any mass are kept: every set declares all of them."""

    points: NDArray[Any]
    sets: tuple[LawSet, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    shape: ClassVar[str] = "sets"
    dimension: ClassVar[int] = 1
    atoms: ClassVar[bool] = True
    translates: ClassVar[bool] = False
    inexact: ClassVar[bool] = False
    """Whether a pair is known up to an error in total variation: what is not known of a law is in its set."""
    point_masses: ClassVar[bool] = False

    @property
    def different(self) -> tuple[tuple[tuple[int, int], str], ...]:
        """Every pair, with its label: two laws of one set differ too."""
        return tuple(zip(self.pairs, self.labels, strict=True))

    def on(self, lattice: Lattice) -> SetFamily:
        """The laws pushed through rounding onto the lattice: integer points."""
        return self.placed(lattice.index(self.points))

    def push(self, support: NDArray[np.float64]) -> SetFamily:
        """The laws of the nearest supported value."""
        return self.placed(nearest(support, self.points))

    def numbered(self) -> SetFamily:
        """The same laws on the points 0, 1, 2, ...: all that matters where neither noise nor rounding is applied."""
        return self.placed(np.arange(len(self.points)))

    def placed(self, points: NDArray[Any]) -> SetFamily:
        """Every point moved, in order: the sets of images of the laws, exactly."""
        points, where = np.unique(points, return_inverse=True)
        values = points.astype(np.float64)
        return replace(self, points=points, sets=tuple(one.at(where, values) for one in self.sets))

    def differs(self, number: int, other: Any, its: int, comparable: bool) -> bool:
        """Whether a set is surely not that one of another family."""
        if other.shape != self.shape or not (other is self or comparable):
            return False
        return bool(self.sets[number].to_json() != other.sets[its].to_json())

    def centres(self) -> tuple[Masses, ...]:
        """One member of every set, to show."""
        found = (one.centre() for one in self.sets)
        return tuple(law.masses.scatter(np.searchsorted(self.points, law.values), len(self.points)) for law in found)

    def spread(self) -> float:
        """The standard deviation of the published value under a member of every set together; 1 where it has none."""
        weights = np.mean([law.floats() for law in self.centres()], axis=0)
        return spread(weights, self.points.astype(np.float64), np.zeros(len(self.points))) or 1.0

    def to_json(self) -> dict[str, Any]:
        """The sets on lattice indices, exactly."""
        sets = [one.to_json() for one in self.sets]
        return {"kind": self.shape, "points": self.points.astype(np.int64).tolist(), "sets": sets, **self.pairs_json()}

    @staticmethod
    def from_json(found: dict[str, Any]) -> SetFamily:
        """What `to_json` wrote, checked: sorted points, sets that are not empty and declare just them."""
        from fugu.laws.sets.ball import law_set_from

        points, sets = ordered_points(found, 1), tuple(law_set_from(one) for one in found["sets"])
        if any(not np.array_equal(one.values, points) for one in sets):
            raise CertificateError("a set of laws in the certificate declares other values than the certificate")
        return SetFamily(points, sets, *pairs_from(found, len(sets)))

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest: equal for two calibrations on the same beliefs."""
        digest.update(b"sets")
        digest.update(self.points.tobytes())
        digest.update(repr(self.pairs).encode())
        for one in self.sets:
            digest.update(repr(one.to_json()).encode())
