"""The promises of one output as linear rows, and where the entries of its Newton matrix stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# The same for every output: G z >= 0, some z >= 0. The first n variables are the column k of the channel; others are
# added by the sets of laws (`sets`). A promise about every member of a set becomes linear by duality: max_p p.k is the
# least of a linear program in new variables.


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

    def new(self, points: Places | int, positive: bool = False) -> Places:
        """New variables, one for each of these points; or so many that belong to no point."""
        where = np.full(points, -1) if isinstance(points, int) else points
        places = np.arange(self.size, self.size + where.size)
        self.size += where.size
        self.points.append(where)
        if positive:
            self.positive.append(places)
        return places

    def require(self, form: LinearForm) -> int:
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

    def triplets(self) -> Entries:
        """All entries of G, each place at most once."""
        rows, places, values = (np.concatenate(part) for part in (self.rows, self.places, self.values))
        flat, back = np.unique(rows * self.size + places, return_inverse=True)
        sums = np.zeros(flat.size)
        np.add.at(sums, back, values)
        return flat // self.size, flat % self.size, sums


# Where the entries of the Newton matrix of one output stand: blocks along the points, and a narrow border.
#
# With weights d > 0 of the rows, H = sum_r d_r g_r g_r'. Rows of one point, or of two neighbours, fill blocks along the
# diagonal; variables of no point, and rows over many points (each with a multiplier t = d g.z of its own), a border. A
# variable that is in its bound and in one narrow row only ("private": the (.)_+ of `sets`) is eliminated on
# paper: with the weights d_j of the bound and d_r of the row, the rest of the row keeps d_r d_j / (d_j + d_r).
#
# So H of one output is a few numbers for each point, although the program has thousands of rows.


_NOWHERE = -1


class NewtonLayout:
    """The nodes of the Newton matrix: n points with b slots each, then e of the border.

    - `cone`: the promises of one output. Its rows come first, then the bounds of its positive variables.
    - `column`: the places of the column k, which gets slot 0 of every point.

    `matrix` is G with the bounds, `node` the node of every variable (-1: private), `entries` the map from the weights
    of `weights` to the numbers of `blocks`.
    """

    def __init__(self, cone: Cone, column: Places) -> None:
        bounds = np.concatenate(cone.positive)
        rows, places, values = cone.triplets()
        self.count, self.size, self.n = cone.count + bounds.size, cone.size, column.size
        rows = np.concatenate([rows, cone.count + np.arange(bounds.size)])
        places, values = np.concatenate([places, bounds]), np.concatenate([values, np.ones(bounds.size)])
        self.matrix = csr_array((values, (rows, places)), shape=(self.count, self.size))
        self.wide = np.array(cone.wide, dtype=np.int64)
        self.point = np.concatenate(cone.points)
        self.bound = np.full(self.size, _NOWHERE)
        self.bound[bounds] = cone.count + np.arange(bounds.size)
        self._choose_private(column, rows, places, values, cone.count)
        self._number(column)
        self._map()

    def _choose_private(self, column: Places, rows: Places, places: Places, values: Floats, count: int) -> None:
        """Variables with a bound that stand in one narrow row, with factor 1, and in no other; one for each row."""
        narrow = (rows < count) & ~np.isin(rows, self.wide)
        often = np.bincount(places[narrow], minlength=self.size)
        fit = (often == 1) & (self.bound >= 0) & (self.point >= 0)
        fit[column] = False
        chosen = np.flatnonzero(narrow & fit[places] & (values == 1.0))
        _, first = np.unique(rows[chosen], return_index=True)
        self.private, self.own_row = places[chosen[first]], rows[chosen[first]]
        self.own_bound = self.bound[self.private]

    def _number(self, column: Places) -> None:
        """Slots for the variables of points, places in the border for the others and for the wide rows."""
        hidden = np.isin(np.arange(self.size), self.private)
        slot, filled = np.full(self.size, _NOWHERE), np.zeros(self.n, dtype=np.int64)
        first = np.isin(np.arange(self.size), column)
        for j in [*column.tolist(), *np.flatnonzero((self.point >= 0) & ~hidden & ~first).tolist()]:
            slot[j] = filled[self.point[j]]
            filled[self.point[j]] += 1
        self.b, self.filled = int(filled.max()), filled
        outside = np.flatnonzero(self.point < 0)
        self.e = outside.size + self.wide.size
        self.node = np.where(slot >= 0, self.point * self.b + slot, _NOWHERE)
        self.node[outside] = self.n * self.b + np.arange(outside.size)
        self.wide_node = self.n * self.b + outside.size + np.arange(self.wide.size)

    def _map(self) -> None:
        """Each number of the blocks as a sum of weights times constants."""
        n, b, e = self.n, self.b, self.e
        self.chained = False
        self.sizes = (n * b * b, n * b * b, n * b * e, e * e)
        into: list[tuple[int, int, float]] = []
        fixed: list[tuple[int, float]] = [
            (x * b * b + a * b + a, 1.0) for x in range(n) for a in range(int(self.filled[x]), b)
        ]
        own = dict(zip(self.own_row.tolist(), range(self.private.size), strict=True))
        owner = dict(zip(self.private.tolist(), range(self.private.size), strict=True))
        hidden_bounds, wide = (
            set(self.own_bound.tolist()),
            dict(zip(self.wide.tolist(), self.wide_node.tolist(), strict=True)),
        )
        start, index, value = self.matrix.indptr.tolist(), self.matrix.indices.tolist(), self.matrix.data.tolist()
        steep: dict[int, list[tuple[int, float]]] = {}
        for row in range(self.count):
            there = list(zip(index[start[row] : start[row + 1]], value[start[row] : start[row + 1]], strict=True))
            if row in wide:
                for j, v in there:
                    if j in owner:
                        steep.setdefault(owner[j], []).append((wide[row], v))
                    else:
                        fixed += [(p, v) for p in self._places(int(self.node[j]), wide[row])]
            elif row not in hidden_bounds:
                nodes = [(int(self.node[j]), v) for j, v in there if j not in owner]
                into += [(p, row, v * w) for (i, v), (j, w) in product(nodes, nodes) for p in self._place(i, j)]
        for row, q in wide.items():
            into += [(p, row, -1.0) for p in self._place(q, q)]
        rest: list[tuple[int, int, float]] = []
        for row, j in own.items():
            nodes = [
                (int(self.node[i]), v)
                for i, v in zip(index[start[row] : start[row + 1]], value[start[row] : start[row + 1]], strict=True)
                if i not in owner
            ]
            rest += [(j, i, v) for i, v in nodes]
            for q, a in steep.get(j, []):
                into += [(p, self.count + j, -v * a) for i, v in nodes for p in self._places(i, q)]
                into += [
                    (p, self.count + self.private.size + j, -a * c) for r, c in steep[j] for p in self._place(q, r)
                ]
        nodes_count = n * b + e
        self.rest = _sparse(rest, self.private.size, nodes_count)
        self.steep = _sparse([(j, q, a) for j, many in steep.items() for q, a in many], self.private.size, nodes_count)
        self.entries = _sparse(into, sum(self.sizes), self.count + 2 * self.private.size)
        self.fixed = np.zeros(sum(self.sizes))
        for p, v in fixed:
            self.fixed[p] += v

    def _places(self, i: int, j: int) -> list[int]:
        """Where an entry between two different nodes stands, in both orders."""
        return self._place(i, j) + (self._place(j, i) if i != j else [])

    def _place(self, i: int, j: int) -> list[int]:
        """Where the entry (i, j) stands; nowhere if only its mirror image is kept."""
        n, b, e = self.n, self.b, self.e
        edge = n * b
        if i >= edge and j >= edge:
            return [sum(self.sizes[:3]) + (i - edge) * e + j - edge]
        if j >= edge:
            return [sum(self.sizes[:2]) + i * e + j - edge]
        if i >= edge:
            return []
        (x, a), (z, c) = divmod(i, b), divmod(j, b)
        if x == z:
            return [x * b * b + a * b + c]
        if z == x + 1:
            self.chained = True
            return [self.sizes[0] + x * b * b + a * b + c]
        return []

    def weights(self, d: Floats) -> tuple[Floats, Floats]:
        """What `entries` maps, (outputs, ...), from the weights d of the rows (outputs, rows); and 1 / (d_j + d_r)."""
        bound, row = d[:, self.own_bound], d[:, self.own_row]
        share = 1 / (bound + row)
        kept = d.copy()
        kept[:, self.own_row] = row * (bound * share)
        kept[:, self.wide] = 1 / d[:, self.wide]
        return np.concatenate([kept, row * share, share], axis=1), share

    def blocks(self, weights: Floats) -> tuple[Floats, Floats | None, Floats, Floats]:
        """The blocks of the points (outputs, n, b, b), those beside them (None if there are none), the border's columns
        (outputs, n, b, e) and its corner (outputs, e, e)."""
        n, b, e = self.n, self.b, self.e
        numbers = (self.entries @ weights.T).T + self.fixed
        parts = np.split(numbers, np.cumsum(self.sizes)[:-1], axis=1)
        beside = parts[1].reshape(-1, n, b, b) if self.chained else None
        return parts[0].reshape(-1, n, b, b), beside, parts[2].reshape(-1, n, b, e), parts[3].reshape(-1, e, e)


def _sparse(entries: list[tuple[int, int, float]], rows: int, columns: int) -> csr_array:
    row, column, value = zip(*entries, strict=True) if entries else ((), (), ())
    return csr_array(
        (np.array(value, dtype=np.float64), (np.array(row, int), np.array(column, int))), shape=(rows, columns)
    )
