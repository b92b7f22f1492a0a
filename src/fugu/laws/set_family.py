"""`SetFamily`: sets of laws on the same declared values, and the pairs among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.pair import Law, LawPair
from fugu.laws.places import Digest, nearest, spread
from fugu.laws.sets import Hull, LawSet
from fugu.laws.several_pairs import SeveralPairs
from fugu.noise.lattice import Lattice


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
        return self.moved(lattice.index(self.points))

    def push(self, support: NDArray[np.float64]) -> SetFamily:
        """The laws of the nearest supported value."""
        return self.moved(nearest(support, self.points))

    def numbered(self) -> SetFamily:
        """The same laws on the points 0, 1, 2, ...: all that matters where neither noise nor rounding is applied."""
        return self.placed(np.arange(len(self.points)))

    def placed(self, points: NDArray[Any]) -> SetFamily:
        """The same laws on other points, as many and in the same order."""
        return self.moved(points)

    def moved(self, to: NDArray[Any]) -> SetFamily:
        """Every point moved, in order: the sets of images of the laws, exactly."""
        points, where = np.unique(to, return_inverse=True)
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

    def mark(self, digest: Digest) -> None:
        """Add what is stated to a digest: equal for two calibrations on the same beliefs."""
        digest.update(b"sets")
        digest.update(self.points.tobytes())
        digest.update(repr(self.pairs).encode())
        for one in self.sets:
            digest.update(repr(one.to_json()).encode())


def set_family(pairs: Sequence[LawPair]) -> SetFamily:
    """All pairs as one family, as soon as one law of one of them is a set; a `Discrete` law is the set of itself.

    Raises `BadLaw` unless all sets declare the same values, and every other law is `Discrete` on some of them."""
    values = next(law.values for pair in pairs for law in (pair.p, pair.q) if isinstance(law, LawSet))
    both = [(law, law is pair.q and pair.q is pair.p and second, pair) for pair in pairs
            for second, law in enumerate((pair.p, pair.q))]  # fmt: skip
    sets = {(id(law), bool(again)): _set_of(law, values, pair.label) for law, again, pair in both}
    number = {key: i for i, key in enumerate(sets)}
    return SetFamily(
        values,
        tuple(sets.values()),
        tuple((number[id(p.p), False], number[id(p.q), p.q is p.p]) for p in pairs),
        tuple(p.label for p in pairs),
    )


def _set_of(law: Law, values: NDArray[np.float64], label: str) -> LawSet:
    where = f" (pair {label!r})" if label else ""
    if isinstance(law, LawSet):
        if not np.array_equal(law.values, values):
            raise BadLaw(f"sets of laws must declare the same values, and two of them do not{where}")
        return law
    if not isinstance(law, Discrete) or law.dimension > 1:
        raise BadLaw(f"beside a set of laws a law must be Discrete on its values, got {type(law).__name__}{where}")
    if law.error:
        raise BadLaw(f"a law known up to an error cannot stand beside a set of laws{where}; give the set around it")
    place = np.searchsorted(values, law.values)
    if np.any(place == len(values)) or not np.array_equal(values[place], law.values):
        raise BadLaw(f"a law has values that the sets of laws do not declare{where}; declare them in every set")
    return Hull([_spread_out(law, values, place)])


def _spread_out(law: Discrete, values: NDArray[np.float64], place: NDArray[np.int64]) -> Discrete:
    """The same law, with weight 0 on the declared values that it does not have."""
    if len(law.values) == len(values):
        return law
    return Discrete._with_error(values.copy(), law.masses.scatter(place, len(values)), 0.0)
