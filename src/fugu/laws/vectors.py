"""`VectorFamily`: laws of vectors on one common support, and the pairs among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, BadNoise, NotProvable
from fugu.laws.discrete import Discrete
from fugu.laws.family import PairsOfLaws, numbered_laws
from fugu.laws.masses import Masses
from fugu.laws.pair import LawPair, Shifted
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction


@dataclass(frozen=True, eq=False)
class VectorFamily(PairsOfLaws):
    """Distinct points (n, d), float64 positions or int64 lattice indices; each law's masses on them; pairs of laws."""

    points: NDArray[Any]
    laws: tuple[Masses, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    translates: bool = False
    """Whether this is one pair of translates of an unknown law, standing in as two point masses."""
    errors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.errors:
            object.__setattr__(self, "errors", (0.0,) * len(self.laws))

    @property
    def dimension(self) -> int:
        """d, of the points in R^d."""
        return int(self.points.shape[1])

    def on(self, lattice: Lattice) -> VectorFamily:
        """The laws pushed through rounding of every coordinate onto the lattice; masses that meet are added exactly."""
        if self.translates:
            return self._translates_on(lattice)
        points, where = distinct(lattice.index(self.points))
        return replace(self, points=points, laws=tuple(law.scatter(where, len(points)) for law in self.laws))

    def _translates_on(self, lattice: Lattice) -> VectorFamily:
        """Rounding commutes with a shift only if the shift is a whole number of grid steps in every coordinate."""
        shift = (self.points[-1] - self.points[0]).tolist()
        steps = [as_fraction(x) / lattice.grid for x in shift]
        if any(s.denominator != 1 for s in steps):
            raise BadNoise(
                f"a grid of {lattice.grid} does not divide the shift of pair {self.labels[0]!r}; choose one that does"
            )
        points = np.array([[0] * len(steps), [int(s) for s in steps]], dtype=np.int64)
        return replace(self, points=points[: len(self.points)])

    @cached_property
    def same_points(self) -> bool:
        """Whether all laws sit on one point: then nothing differs."""
        return len(self.points) == 1


def vector_families(pairs: Sequence[LawPair]) -> tuple[VectorFamily, ...]:
    """One family for all discrete laws, one for each pair of translates; all of one dimension."""
    if len(dimensions := sorted({pair.dimension for pair in pairs})) > 1:
        raise BadLaw(f"the laws have several dimensions: {dimensions}; publish vectors of one length")
    if dimensions == [1]:
        raise BadLaw("these are laws of numbers, and vectors are expected")
    found = [_translates(pair) for pair in pairs if isinstance(pair.p, Shifted)]
    discrete = [pair for pair in pairs if not isinstance(pair.p, Shifted)]
    if any(not isinstance(law, Discrete) for pair in discrete for law in (pair.p, pair.q)):
        raise NotProvable("laws of vectors must be Discrete or Shifted here")
    if discrete:
        found.append(_family(discrete))
    return tuple(found)


def distinct(points: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct rows in lexicographic order, and for every row its number among them."""
    order = np.lexsort(points.T[::-1])
    ordered = points[order]
    fresh = np.concatenate(([True], np.any(ordered[1:] != ordered[:-1], axis=1)))
    where = np.empty(len(points), dtype=np.int64)
    where[order] = np.cumsum(fresh) - 1
    return ordered[fresh], where


def reached(families: Sequence[VectorFamily], lattice: Lattice | None, support: NDArray[np.float64]) -> bool:
    """Whether rounding the supported vectors onto the lattice leads to every atom of the laws, as a release does."""
    if lattice is None:
        return False
    places = set(map(tuple, lattice.index(support).tolist()))
    return all(tuple(point) in places for family in families for point in family.points.tolist())


def _family(pairs: Sequence[LawPair]) -> VectorFamily:
    laws = numbered_laws(pairs)
    points, where = distinct(np.concatenate([law.values for law in laws.values()]))
    ends = np.cumsum([0, *(len(law.values) for law in laws.values())])
    rows = tuple(
        law.masses.scatter(where[a:b], len(points)) for law, a, b in zip(laws.values(), ends, ends[1:], strict=False)
    )
    number = {key: i for i, key in enumerate(laws)}
    return VectorFamily(
        points,
        rows,
        tuple((number[id(pair.p), False], number[id(pair.q), pair.q is pair.p]) for pair in pairs),
        tuple(pair.label for pair in pairs),
        errors=tuple(law.error for law in laws.values()),
    )


def _translates(pair: LawPair) -> VectorFamily:
    """Translates as the two point masses that are their worst case."""
    assert isinstance(pair.p, Shifted)
    assert isinstance(pair.q, Shifted)
    gap = [b - a for a, b in zip(pair.p.exact, pair.q.exact, strict=True)]
    if any(as_fraction(float(x)) != x for x in gap):
        raise BadLaw(f"the shift of pair {pair.label!r} is no short decimal; round it outward, or rescale the values")
    points = np.array([[0.0] * len(gap), [float(x) for x in gap]])
    one, other = (Discrete(points[k : k + 1]) for k in (0, 1))
    return replace(_family([LawPair(one, other, pair.label)]), translates=True)
