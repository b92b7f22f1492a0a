"""The promises of one output as linear rows, the same for every output: G z >= 0, some z >= 0.

The first n variables are the column k of the channel; others are added by the sets of laws (`sets`). A promise
about every member of a set becomes linear by duality: max_p p.k is the least of a linear program in new variables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Entries = tuple[Places, Places, Floats]
"""Rows, places and values of a matrix."""


@dataclass(frozen=True, eq=False)
class Form:
    """A linear function of the variables: sum of value * z[place]."""

    place: Places
    value: Floats

    @classmethod
    def of(cls, place: Places | int, value: Floats | float) -> Form:
        """One term, or one for each place."""
        places = np.atleast_1d(np.asarray(place, dtype=np.int64))
        return cls(places, np.broadcast_to(np.asarray(value, dtype=np.float64), places.shape))

    def __add__(self, other: Form) -> Form:
        return Form(np.concatenate([self.place, other.place]), np.concatenate([self.value, other.value]))

    def __rmul__(self, factor: float) -> Form:
        return Form(self.place, factor * self.value)

    def __sub__(self, other: Form) -> Form:
        return self + -1.0 * other

    def at(self, places: Places, size: int) -> Floats:
        """The coefficients of some of `size` variables."""
        found = np.zeros(size)
        np.add.at(found, self.place, self.value)
        return found[places]


@dataclass(frozen=True, eq=False)
class Vector:
    """One linear function for each point: the sum of its terms, each a factor and the places of n variables."""

    terms: tuple[tuple[float, Places], ...]

    @property
    def size(self) -> int:
        """How many points there are."""
        return self.terms[0][1].size

    def dot(self, weights: Floats) -> Form:
        """sum_x weights[x] * vector[x]."""
        place = np.concatenate([places for _, places in self.terms])
        return Form(place, np.concatenate([factor * weights for factor, _ in self.terms]))

    def minus(self, places: Places) -> Vector:
        """The vector less n new variables."""
        return Vector((*self.terms, (-1.0, places)))

    def negative(self) -> Vector:
        """The vector with the other sign."""
        return Vector(tuple((-factor, places) for factor, places in self.terms))

    def at(self, points: Places) -> Vector:
        """The vector at some of the points."""
        return Vector(tuple((factor, places[points]) for factor, places in self.terms))


@dataclass
class Cone:
    """Rows as they are gathered; `size` variables, of which those in `positive` are not negative.

    `points` says to which point each variable belongs, `wide` which rows reach over many points: all others concern
    one point or two neighbours, which `interior` makes use of. `planes` are rows (one for each point) and variables
    (one for each plane) between which entries -h_jx are still to be made."""

    size: int = 0
    count: int = 0
    positive: list[Places] = field(default_factory=list)
    points: list[Places] = field(default_factory=list)
    wide: list[int] = field(default_factory=list)
    rows: list[Places] = field(default_factory=list)
    places: list[Places] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    planes: list[tuple[Places, Places]] = field(default_factory=list)
    ends: dict[tuple[tuple[float, bytes], ...], tuple[Places, Places]] = field(default_factory=dict)

    def new(self, count: int, positive: bool = False) -> Places:
        """New variables that belong to no point."""
        return self._add(np.full(count, -1), positive)

    def new_at(self, points: Places, positive: bool = False) -> Places:
        """New variables, one for each of these points."""
        return self._add(points, positive)

    def _add(self, points: Places, positive: bool) -> Places:
        places = np.arange(self.size, self.size + points.size)
        self.size += points.size
        self.points.append(points)
        if positive:
            self.positive.append(places)
        return places

    def require(self, form: Form) -> int:
        """form >= 0, as one row."""
        self.wide.append(self.count)
        self._enter(np.full(form.place.size, self.count), form.place, form.value)
        self.count += 1
        return self.count - 1

    def require_all(self, vector: Vector, others: tuple[tuple[float, Places], ...]) -> Places:
        """vector[x] + sum of factor * z[places[x]] >= 0 for every point; one place stands for all points."""
        rows = np.arange(self.count, self.count + vector.size)
        for factor, places in (*vector.terms, *others):
            self._enter(rows, np.broadcast_to(places, rows.shape), np.full(rows.size, factor))
        self.count += rows.size
        return rows

    def _enter(self, rows: Places, places: Places, values: Floats) -> None:
        kept = values != 0
        self.rows.append(rows[kept])
        self.places.append(places[kept])
        self.values.append(values[kept])

    def above(self, vector: Vector) -> Places:
        """One variable that is at least every entry of a vector; the same one for the same vector."""
        key = tuple((factor, places.tobytes()) for factor, places in vector.terms)
        if key not in self.ends:
            place = self.new(1)
            self.ends[key] = place, self.require_all(vector.negative(), ((1.0, place),))
        return self.ends[key][0]

    def floor(self) -> Floats:
        """The least value of every variable: 0 or minus infinity."""
        least = np.full(self.size, -np.inf)
        for places in self.positive:
            least[places] = 0.0
        return least

    def triplets(self) -> Entries:
        """All entries of G, each place at most once."""
        rows, places, values = (np.concatenate(part) for part in (self.rows, self.places, self.values))
        flat, back = np.unique(rows * self.size + places, return_inverse=True)
        sums = np.zeros(flat.size)
        np.add.at(sums, back, values)
        return flat // self.size, flat % self.size, sums
