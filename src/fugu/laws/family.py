"""`Family`: laws on one common support and the pairs among them, ready for a loss to be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, BadNoise, NotProvable
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.pair import LawPair, Shifted
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction

_CELLS = 20_000_000
"""Above this many (law, point) cells the pairs are treated one by one instead of on a common support."""


class PairsOfLaws:
    """Several laws and the pairs among them: what does not depend on where the points lie."""

    laws: tuple[Masses, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    errors: tuple[float, ...]

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

    @cached_property
    def inexact(self) -> bool:
        """Whether some pair is blurred."""
        return any(self.blurred(pair) for pair in self.pairs)


@dataclass(frozen=True, eq=False)
class Family(PairsOfLaws):
    """Sorted points (float64 positions, or int64 lattice indices), each law's masses on them, pairs of law numbers.

    Evaluating a ratio of noised laws at a point where neither has an atom changes no supremum, so a support that is
    common to many laws is as good as each pair's own; each law's noised mass is then computed once, not once a pair."""

    points: NDArray[Any]
    laws: tuple[Masses, ...]
    pairs: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    translates: bool = False
    """Whether this is one pair of translates of an unknown law, standing in as two point masses."""
    errors: tuple[float, ...] = ()
    """How far, in total variation, each true law may be from its masses; none given means all exact."""

    def __post_init__(self) -> None:
        if not self.errors:
            object.__setattr__(self, "errors", (0.0,) * len(self.laws))

    @cached_property
    def minute(self) -> bool:
        """Whether some probability is positive but so small that arithmetic on doubles would lose it."""
        return any(np.any((law.parts != 0) & (row < 1e-280)) for law, row in zip(self.laws, self.weights, strict=True))

    def on(self, lattice: Lattice) -> Family:
        """The laws pushed through rounding onto the lattice: integer points, masses that meet added exactly."""
        if self.translates:
            return self._translates_on(lattice)
        index = lattice.index(self.points)
        points, where = (index, None) if np.all(np.diff(index) > 0) else np.unique(index, return_inverse=True)
        laws = self.laws if where is None else tuple(law.scatter(where, len(points)) for law in self.laws)
        return replace(self, points=points, laws=laws)  # no map brings laws farther apart: errors stay

    def _translates_on(self, lattice: Lattice) -> Family:
        """Rounding commutes with a shift only if the shift is a whole number of grid steps."""
        steps = as_fraction(float(self.points[-1] - self.points[0])) / lattice.grid
        if steps.denominator != 1:
            raise BadNoise(
                f"a grid of {lattice.grid} does not divide the shift of pair {self.labels[0]!r}; choose one that does"
            )
        points = np.array([0, int(steps)], dtype=np.int64)[: len(self.points)]
        return Family(points, self.laws, self.pairs, self.labels, translates=True)


def families(pairs: Sequence[LawPair]) -> tuple[Family, ...]:
    """Group law pairs into families: one for all laws on a common support, one for each pair of translates."""
    shifted = [p for p in pairs if isinstance(p.p, Shifted)]
    discrete = [p for p in pairs if not isinstance(p.p, Shifted)]
    if any(pair.dimension > 1 for pair in pairs):
        raise NotProvable("this is for one published number; laws of vectors are calibrated and verified as vectors")
    found = [replace(_family([_points(p)]), translates=True) for p in shifted]
    if discrete:
        laws = {id(law): law for p in discrete for law in (p.p, p.q)}
        union = _union([law for law in laws.values() if isinstance(law, Discrete)])
        if len(union) * len(laws) <= _CELLS or len(discrete) == 1:
            found.append(_family(discrete, union))
        else:
            found.extend(_family([p]) for p in discrete)
    return tuple(found)


def _points(pair: LawPair) -> LawPair:
    """Translates as the two point masses that are their worst case."""
    assert isinstance(pair.p, Shifted)
    assert isinstance(pair.q, Shifted)
    gap: Fraction = pair.q.exact[0] - pair.p.exact[0]
    if as_fraction(float(gap)) != gap:
        raise BadLaw(f"the shift of pair {pair.label!r} is no short decimal; rescale the values so that it is")
    return LawPair(Discrete([0.0]), Discrete([float(gap)]), pair.label)


def _union(laws: Sequence[Discrete]) -> NDArray[np.float64]:
    first = laws[0].values
    if all(law.values is first or np.array_equal(law.values, first) for law in laws[1:]):
        return first
    merged = np.concatenate([law.values for law in laws])
    merged.sort(kind="stable")  # merges runs that are sorted already
    return merged[np.concatenate(([True], merged[1:] != merged[:-1]))]


def numbered_laws(pairs: Sequence[LawPair]) -> dict[tuple[int, bool], Discrete]:
    """Each law once, however many pairs it is in; one that is paired with itself once more, as the second secret's."""
    both = ((law, law is p.q and p.q is p.p and second) for p in pairs for second, law in enumerate((p.p, p.q)))
    return {(id(law), bool(again)): law for law, again in both if isinstance(law, Discrete)}


def _family(pairs: Sequence[LawPair], union: NDArray[np.float64] | None = None) -> Family:
    laws = numbered_laws(pairs)
    support = _union(list(laws.values())) if union is None else union
    number = {key: i for i, key in enumerate(laws)}
    rows = tuple(
        law.masses if law.values is support else law.masses.scatter(np.searchsorted(support, law.values), len(support))
        for law in laws.values()
    )
    return Family(
        support,
        rows,
        tuple((number[id(p.p), False], number[id(p.q), p.q is p.p]) for p in pairs),
        tuple(p.label for p in pairs),
        errors=tuple(law.error for law in laws.values()),
    )
