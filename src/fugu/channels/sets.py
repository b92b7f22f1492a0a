"""The promises of one output about sets of laws as rows of a cone: extremes of p.k over a set as linear functions of
new variables, and the pairs made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from fugu.channels.problem import ChannelProblem
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection
from fugu.laws.sets.law_set import LawSet

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


# A recipe for each kind of set, exactly.
#
# For a box, R = 1 - sum lower, c = upper - lower >= 0:        max = min_t lower.k + t R + sum c (k - t)_+.
# For a ball in total variation of radius r around p:          max = min_g sum p max(k, g) + r (max k - g).
# For limits L <= F <= U of the CDF within a box:              max = min_k' sum lower (k - k') + c (k - k')_+
#                                                                    + k'_n + sum -L_i dk'_i + (U_i - L_i) (-dk'_i)_+.
# For a hull: the max over its laws. For an intersection: min over k = k' + k'' of max_A k' + max_B k''.
# For a Kullback-Leibler ball, sum c ln(c / p) <= r:           max = min_{t, l} t + l (r - 1) + sum c l ln(l / (t - k)).
# Here (.)_+ and l ln(l / (t - k)) are new variables, and the min of k is -max of -k. Each is duality of convex
# programs, so nothing is lost (docs/proofs/robust-channels.md).


Bound = Callable[[Cone, Vector], LinearForm]
"""Adds what it needs to a cone and returns a form that is at least max p.v, and equal to it at its least."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """`form` is at least max p.k, or at most min p.k; the rows first .. last of the cone make it so."""

    form: LinearForm
    first: int
    last: int

    def weighed(self, cone: Cone, entries: Entries, k: Places, price: Floats, duals: Floats) -> Floats:
        """price * p for the member p that the duals single out (for a minimum: -price * p), one row for each output.

        Stationarity: what k pays through `form` and through its rows is price times a law of the set. Rows that
        several sets share (`cone.above`) count by the part of their price that comes from this form.

        - `cone`, `entries`: the cone and its triplets; `k`: the places of the column.
        - `price`: (outputs,), what one unit of `form` costs; `duals`: (outputs, rows).
        """
        rows, places, values = entries
        column = np.full(cone.size, -1)
        column[k] = np.arange(k.size)
        total = price[:, None] * self.form.at(k, cone.size)
        shared = {int(place[0]): there for place, there in cone.ends.values()}
        ours = np.zeros(cone.count, dtype=bool)
        ours[self.first : self.last] = True
        for there in shared.values():
            ours[there] = False
        total = total - _paid(ours, rows, column[places], values, duals, k.size)
        for place, there in shared.items():
            amount = price * float(self.form.at(np.array([place]), cone.size)[0])
            whole = duals[:, there].sum(axis=1)
            part = np.divide(amount, whole, out=np.zeros_like(amount), where=whole > 0)
            mask = np.zeros(cone.count, dtype=bool)
            mask[there] = True
            if np.any(part):
                total = total - part[:, None] * _paid(mask, rows, column[places], values, duals, k.size)
        return total


def _paid(mask: Flags, rows: Places, column: Places, values: Floats, duals: Floats, n: int) -> Floats:
    """sum over the rows in the mask of dual times the entry at each point."""
    chosen = mask[rows] & (column >= 0)
    matrix = np.zeros((int(mask.sum()), n))
    place = np.cumsum(mask) - 1
    matrix[place[rows[chosen]], column[chosen]] = values[chosen]
    return duals[:, mask] @ matrix


def extreme(cone: Cone, law: Masses | LawSet, column: Vector, side: int = 1) -> Extreme:
    """At least max p.k over the set; with side -1 at most min p.k, which is -max p.(-k). The cone gets the variables
    and rows; `column` is k, one linear function for each point."""
    first = cone.count
    form = _bound(law)(cone, column if side > 0 else column.negative())
    return Extreme(form if side > 0 else -1.0 * form, first, cone.count)


def _bound(law: Masses | LawSet) -> Bound:
    if isinstance(law, Masses):
        return partial(_hull, law.floats()[None, :])
    parts = law.sets if isinstance(law, Intersection) else (law,)
    boxes = [part for part in parts if isinstance(part, Box)]
    bands = [part for part in parts if isinstance(part, Band)]
    bounds: list[Bound] = []
    if boxes or bands:  # together: one box, and one band if there is any
        size = law.values.size
        lower = np.max([box.lower for box in boxes] or [np.zeros(size)], axis=0)
        upper = np.min([box.upper for box in boxes] or [np.ones(size)], axis=0)
        bounds.append(partial(_path, lower, upper, bands) if bands else partial(_box, lower, upper))
    balls = [part for part in parts if isinstance(part, Ball)]
    bounds += [partial(_ball if part.distance == "tv" else _kl, part.weights, part.radius) for part in balls]
    bounds += [partial(_hull, part.weights) for part in parts if isinstance(part, Hull)]
    return reduce(lambda one, two: partial(_both, one, two), bounds)


def _hull(weights: Floats, cone: Cone, v: Vector) -> LinearForm:
    if len(weights) == 1:
        return v.dot(weights[0])
    top = LinearForm.of(cone.new(1), 1.0)
    for row in weights:
        cone.require(top - v.dot(row))
    return top


def _ball(weights: Floats, radius: float, cone: Cone, v: Vector) -> LinearForm:
    top, level = cone.above(v), cone.new(1)
    form = v.dot(weights) + LinearForm.of(top, radius) - LinearForm.of(level, radius)
    seen = np.flatnonzero(weights)
    below = cone.new(seen.size, positive=True)
    cone.require_all(v.at(seen), ((1.0, below), (-1.0, level)))
    return form + LinearForm.of(below, weights[seen])


def _kl(weights: Floats, radius: float, cone: Cone, v: Vector) -> LinearForm:
    level, price, seen = cone.new(1), cone.new(1, positive=True), np.flatnonzero(weights)
    logs = cone.new(seen.size)
    cone.require_bells(logs, price, v.at(seen), level)
    if (rest := np.flatnonzero(weights == 0)).size:
        cone.require_all(v.at(rest).negative(), ((1.0, level),))
    return LinearForm.of(level, 1.0) + LinearForm.of(price, radius - 1.0) + LinearForm.of(logs, weights[seen])


def _box(lower: Floats, upper: Floats, cone: Cone, v: Vector) -> LinearForm:
    free, width = max(0.0, 1.0 - float(lower.sum())), upper - lower
    level, wide = cone.new(1), np.flatnonzero(width > 0)
    over = cone.new(wide.size, positive=True)
    cone.require_all(v.at(wide).negative(), ((1.0, over), (1.0, level)))
    return v.dot(lower) + LinearForm.of(level, free) + LinearForm.of(over, width[wide])


def _path(lower: Floats, upper: Floats, bands: list[Band], cone: Cone, v: Vector) -> LinearForm:
    low = np.max([band.lower for band in bands], axis=0)
    high = np.min([band.upper for band in bands], axis=0)
    width, gap = upper - lower, high - low
    other = cone.new(v.size)
    wide, loose = np.flatnonzero(width > 0), np.flatnonzero(gap[:-1] > 0)
    over, falls = cone.new(wide.size, positive=True), cone.new(loose.size, positive=True)
    cone.require_all(v.at(wide).negative(), ((1.0, over), (1.0, other[wide])))
    cone.require_all(Vector(((1.0, other[loose + 1]), (-1.0, other[loose]))), ((1.0, falls),))
    step = np.diff(low, prepend=0.0)  # k'_n - sum L_i (k'_(i+1) - k'_i) = sum k'_i (L_i - L_(i-1)), as L_n = 1
    form = v.dot(lower) + LinearForm.of(other, step - lower)
    return form + LinearForm.of(over, width[wide]) + LinearForm.of(falls, gap[loose])


def _both(one: Bound, two: Bound, cone: Cone, v: Vector) -> LinearForm:
    part = cone.new(v.size)
    return one(cone, Vector((*v.terms, (-1.0, part)))) + two(cone, Vector(((1.0, part),)))


# The promises of a problem as one cone, and how the duals of its rows are read as prices and members.


_LARGEST_POWER = 30.0
"""e^30 in a row is as far as doubles go beside 1; a larger budget is held to it, which is sound and costs nothing."""


class Promises:
    """z = (k, ...) with G z >= 0: column k of a channel keeps the promises, for every member of the sets.

    For each law an upper form N >= max p.k and a lower one D <= min p.k, for each ordered pair (s, t) the row
    D_t - e^-epsilon N_s >= 0 (with a slack for delta). The members of two laws are chosen independently, and a law is
    never held against itself: one bound t_y for all laws at once would be dearer."""

    def __init__(self, problem: ChannelProblem) -> None:
        self.problem, self.cone = problem, Cone()
        self.k = self.cone.new(problem.n, positive=True)
        self.column = Vector(((1.0, self.k),))
        self.ratio = float(np.exp(min(float(problem.epsilon), _LARGEST_POWER)))
        ordered = problem.ordered()
        self.slack = self.cone.new(len(ordered), positive=True) if problem.delta else None
        often = Counter(s for s, _ in ordered)
        self.upper = {s: self._held(s, 1, often[s] > 1) for s in often}
        self.lower = {s: self._held(s, -1, often[s] > 1) for s in often}
        rows = []
        for c, (s, t) in enumerate(ordered):
            form = self.lower[t][1] - (1 / self.ratio) * self.upper[s][1]
            if self.slack is not None:
                form = form + LinearForm.of(self.slack[c], 1 / self.ratio)
            rows.append(self.cone.require(form))
        self.pair_rows = np.array(rows, dtype=np.int64)
        self.cap_rows = self._cap()
        self.entries = self.cone.triplets()

    def _held(self, s: int, side: int, shared: bool) -> tuple[Extreme, LinearForm, int | None]:
        """The form of a law, the form to use in pairs, and the row that links them if the law is in several pairs."""
        found = extreme(self.cone, self.problem.laws[s], self.column, side)
        if not shared:
            return found, found.form, None
        one = LinearForm.of(self.cone.new(1, positive=True), 1.0)
        return found, one, self.cone.require(one - found.form if side > 0 else found.form - one)

    def _cap(self) -> tuple[Places, Places] | None:
        """m <= k_x and k_x <= e^cap m."""
        if self.problem.cap is None:
            return None
        floor = self.cone.new(1, positive=True)
        height = float(np.exp(min(float(self.problem.cap), _LARGEST_POWER)))
        over = self.cone.require_all(self.column, ((-1.0, floor),))
        return over, self.cone.require_all(Vector(((-1 / height, self.k),)), ((1.0, floor),))

    def ratios(self, duals: Floats) -> Floats:
        """alpha of the ordered pairs (pairs, outputs) from the duals (outputs, rows): those of D_t - e^-epsilon N_s are
        e^epsilon alpha, also where the row was held to a smaller power."""
        alpha: Floats = np.clip(duals[:, self.pair_rows].T * np.exp(-float(self.problem.epsilon)), 0.0, None)
        return alpha

    def caps(self, duals: Floats) -> Floats | None:
        """The prices of the cap, (points, outputs)."""
        if self.cap_rows is None or self.problem.cap is None:
            return None
        over, under = self.cap_rows
        height = float(np.exp(min(float(self.problem.cap), _LARGEST_POWER)))
        return (duals[:, under] / height - duals[:, over]).T

    def members(self, duals: Floats, side: int) -> Floats:
        """The members that the duals single out, (laws, outputs, points), up to rounding; 0 where there is no price."""
        found = np.zeros((len(self.problem.laws), len(duals), self.problem.n))
        ordered = self.problem.ordered()
        for s, (end, _, row) in (self.upper if side > 0 else self.lower).items():
            mine = [c for c, pair in enumerate(ordered) if pair[0 if side > 0 else 1] == s]
            through = duals[:, self.pair_rows[mine]].sum(axis=1) / (self.ratio if side > 0 else 1.0)
            price = through if row is None else duals[:, row]
            total = side * end.weighed(self.cone, self.entries, self.k, side * price, duals)
            sums = total.sum(axis=1, keepdims=True)
            found[s] = np.divide(total, sums, out=np.zeros_like(total), where=sums > 0)
        return found


def provable(laws: tuple[Masses | LawSet, ...]) -> list[tuple[Masses | LawSet, ...]]:
    """The laws with sets around them whose `top` is exact: an intersection with balls or hulls proves no more than the
    best of its parts, so each part is tried. One entry if every set is such a set already."""
    choices: list[list[Masses | LawSet]] = []
    for law in laws:
        parts: list[Masses | LawSet] = [law]
        if isinstance(law, Intersection) and not law.exact:
            limits = [*law.boxes, *law.bands]
            parts = [*([Intersection(limits)] if limits else []), *law.others]
        choices.append(parts)
    return [tuple(parts[min(i, len(parts) - 1)] for parts in choices) for i in range(max(map(len, choices), default=1))]
