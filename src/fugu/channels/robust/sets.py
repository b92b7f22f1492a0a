"""max and min of p.k over a set of laws as linear functions of new variables, exactly: a recipe for each kind of set.

For a box, R = 1 - sum lower, c = upper - lower >= 0:        max = min_t lower.k + t R + sum c (k - t)_+.
For a ball in total variation of radius r around p:          max = min_g sum p max(k, g) + r (max k - g).
For limits L <= F <= U of the CDF within a box:              max = min_k' sum lower (k - k') + c (k - k')_+
                                                                   + k'_n + sum -L_i dk'_i + (U_i - L_i) (-dk'_i)_+.
For a hull: the max over its laws. For an intersection: min over k = k' + k'' of max_A k' + max_B k''.
A Kullback-Leibler ball is not polyhedral: a box, a total variation ball and planes around it stand for it; for planes
h_j.p >= 1: max = min t - sum b_j over b >= 0 with t - sum b_j h_j >= k. Here (.)_+ is a new variable, and the min of k
is -max of -k. Each is duality of linear programs, so nothing is lost (docs/proofs/robust-channels.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from fugu.channels.robust.cone import Cone, Entries, Flags, Floats, Form, Places, Vector
from fugu.channels.robust.outer import outer_sets
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Band, Box, Hull
from fugu.laws.sets.law_set import LawSet

Bound = Callable[[Cone, Vector], Form]
"""Adds what it needs to a cone and returns a form that is at least max p.v, and equal to it at its least."""


@dataclass(frozen=True, eq=False)
class Extreme:
    """`form` is at least max p.k, or at most min p.k; the rows first .. last of the cone make it so."""

    form: Form
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


def largest(cone: Cone, law: Masses | LawSet, column: Vector, planes: int = 0) -> Extreme:
    """At least max p.k over the set.

    - `cone`: gets the variables and rows.
    - `law`: one law, or a set.
    - `column`: k, one linear function for each point.
    - `planes`: how many planes h.p >= 1 hold the set in besides; their entries differ from output to output, so they
      are entered by whoever copies the cone (`cone.planes`).
    """
    first = cone.count
    form = _bound(law, planes)(cone, column)
    return Extreme(form, first, cone.count)


def least(cone: Cone, law: Masses | LawSet, column: Vector, planes: int = 0) -> Extreme:
    """At most min p.k over the set: -max p.(-k); parameters as in `largest`."""
    first = cone.count
    form = -1.0 * _bound(law, planes)(cone, column.negative())
    return Extreme(form, first, cone.count)


def _bound(law: Masses | LawSet, planes: int) -> Bound:
    if isinstance(law, Masses):
        return _hull(law.floats()[None, :])
    parts = outer_sets(law)
    boxes = [part for part in parts if isinstance(part, Box)]
    bands = [part for part in parts if isinstance(part, Band)]
    bounds = [_limits(boxes, bands)] if boxes or bands else []
    bounds += [_ball(part.weights, part.radius) for part in parts if isinstance(part, Ball)]
    bounds += [_hull(part.weights) for part in parts if isinstance(part, Hull)]
    if planes:
        bounds.append(_planes(planes))
    return reduce(_both, bounds)


def _hull(weights: Floats) -> Bound:
    def bound(cone: Cone, v: Vector) -> Form:
        if len(weights) == 1:
            return v.dot(weights[0])
        top = Form.of(cone.new(1), 1.0)
        for row in weights:
            cone.require(top - v.dot(row))
        return top

    return bound


def _ball(weights: Floats, radius: float) -> Bound:
    def bound(cone: Cone, v: Vector) -> Form:
        top, level = cone.above(v), cone.new(1)
        form = v.dot(weights) + Form.of(top, radius) - Form.of(level, radius)
        seen = np.flatnonzero(weights)
        below = cone.new_at(seen, positive=True)
        cone.require_all(v.at(seen), ((1.0, below), (-1.0, level)))
        return form + Form.of(below, weights[seen])

    return bound


def _limits(boxes: list[Box], bands: list[Band]) -> Bound:
    """Boxes and bands together: one box, and one band if there is any."""
    size = (boxes or bands)[0].size
    lower = np.max([box.lower for box in boxes] or [np.zeros(size)], axis=0)
    upper = np.min([box.upper for box in boxes] or [np.ones(size)], axis=0)
    if not bands:
        return _box(lower, upper)
    low = np.max([band.lower for band in bands], axis=0)
    high = np.min([band.upper for band in bands], axis=0)
    return _path(lower, upper, low, high)


def _box(lower: Floats, upper: Floats) -> Bound:
    free, width = max(0.0, 1.0 - float(lower.sum())), upper - lower

    def bound(cone: Cone, v: Vector) -> Form:
        level, wide = cone.new(1), np.flatnonzero(width > 0)
        over = cone.new_at(wide, positive=True)
        cone.require_all(v.at(wide).negative(), ((1.0, over), (1.0, level)))
        return v.dot(lower) + Form.of(level, free) + Form.of(over, width[wide])

    return bound


def _path(lower: Floats, upper: Floats, low: Floats, high: Floats) -> Bound:
    width, gap = upper - lower, high - low

    def bound(cone: Cone, v: Vector) -> Form:
        n = v.size
        other = cone.new_at(np.arange(n))
        wide, loose = np.flatnonzero(width > 0), np.flatnonzero(gap[:-1] > 0)
        over, falls = cone.new_at(wide, positive=True), cone.new_at(loose, positive=True)
        cone.require_all(v.at(wide).negative(), ((1.0, over), (1.0, other[wide])))
        cone.require_all(Vector(((1.0, other[loose + 1]), (-1.0, other[loose]))), ((1.0, falls),))
        step = np.diff(low, prepend=0.0)  # k'_n - sum L_i (k'_(i+1) - k'_i) = sum k'_i (L_i - L_(i-1)), as L_n = 1
        form = v.dot(lower) + Form.of(other, step - lower)
        return form + Form.of(over, width[wide]) + Form.of(falls, gap[loose])

    return bound


def _planes(count: int) -> Bound:
    def bound(cone: Cone, v: Vector) -> Form:
        level, parts = cone.new(1), cone.new(count, positive=True)
        cone.planes.append((cone.require_all(v.negative(), ((1.0, level),)), parts))
        return Form.of(level, 1.0) - Form.of(parts, 1.0)

    return bound


def _both(one: Bound, two: Bound) -> Bound:
    def bound(cone: Cone, v: Vector) -> Form:
        part = cone.new_at(np.arange(v.size))
        return one(cone, v.minus(part)) + two(cone, Vector(((1.0, part),)))

    return bound
