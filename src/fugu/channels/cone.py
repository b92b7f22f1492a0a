"""The promises of one output as rows of a cone: linear ones, and logarithms for Kullback-Leibler balls."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

# The same for every output: G z >= 0, some z >= 0, and some triples of rows of G z in the exponential cone. The first n
# variables are the column k of the channel; others are added by the sets of laws (`sets`). A promise about every member
# of a set becomes one of rows by duality: max_p p.k is the least of a program in new variables.


Places = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Entries = tuple[Places, Places, Floats]
"""Rows, places and values of a matrix."""


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A linear function of the variables: sum of value * z[place]."""

    place: Places
    value: Floats

    @classmethod
    def of(cls, place: Places | int, value: Floats | float) -> LinearForm:
        """One term, or one for each place."""
        places = np.atleast_1d(np.asarray(place, dtype=np.int64))
        return cls(places, np.broadcast_to(np.asarray(value, dtype=np.float64), places.shape))

    def __add__(self, other: LinearForm) -> LinearForm:
        return LinearForm(np.concatenate([self.place, other.place]), np.concatenate([self.value, other.value]))

    def __rmul__(self, factor: float) -> LinearForm:
        return LinearForm(self.place, factor * self.value)

    def __sub__(self, other: LinearForm) -> LinearForm:
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

    def dot(self, weights: Floats) -> LinearForm:
        """sum_x weights[x] * vector[x]."""
        place = np.concatenate([places for _, places in self.terms])
        return LinearForm(place, np.concatenate([factor * weights for factor, _ in self.terms]))

    def negative(self) -> Vector:
        """The vector with the other sign."""
        return Vector(tuple((-factor, places) for factor, places in self.terms))

    def at(self, points: Places) -> Vector:
        """The vector at some of the points."""
        return Vector(tuple((factor, places[points]) for factor, places in self.terms))


@dataclass
class Cone:
    """Rows as they are gathered; `size` variables, of which those in `positive` are not negative. Rows are not negative
    either, except those in `bells`: triples (a, b, c) with b e^(a / b) <= c, b and c not negative."""

    size: int = 0
    count: int = 0
    positive: list[Places] = field(default_factory=list)
    bells: list[Places] = field(default_factory=list)
    rows: list[Places] = field(default_factory=list)
    places: list[Places] = field(default_factory=list)
    values: list[Floats] = field(default_factory=list)
    ends: dict[tuple[tuple[float, bytes], ...], tuple[Places, Places]] = field(default_factory=dict)

    def new(self, count: int, positive: bool = False) -> Places:
        """New variables."""
        places = np.arange(self.size, self.size + count)
        self.size += count
        if positive:
            self.positive.append(places)
        return places

    def require(self, form: LinearForm) -> int:
        """form >= 0, as one row."""
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

    def require_bells(self, logs: Places, price: Places, vector: Vector, level: Places) -> None:
        """logs[x] >= price ln(price / (level - vector[x])) for every point, price and level one place each."""
        three = self.count + np.arange(3 * vector.size).reshape(-1, 3)
        terms = [(0, -1.0, logs), (1, 1.0, price), (2, 1.0, level), *((2, -f, places) for f, places in vector.terms)]
        for row, factor, places in terms:
            self._enter(three[:, row], np.broadcast_to(places, len(three)), np.full(len(three), factor))
        self.count += three.size
        self.bells.append(three)

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

    def triplets(self) -> Entries:
        """All entries of G, each place at most once."""
        rows, places, values = (np.concatenate(part) for part in (self.rows, self.places, self.values))
        flat, back = np.unique(rows * self.size + places, return_inverse=True)
        sums = np.zeros(flat.size)
        np.add.at(sums, back, values)
        return flat // self.size, flat % self.size, sums
