"""The extremes of each kind of set: balls, bands, boxes, hulls, and sets known by the laws that attain them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.errors import OutOfReach
from fugu.laws.family import SetFamily
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection, LawSet
from fugu.laws.sets.law_set import Path, whole
from fugu.loss.sets_extremes import (
    PRECISION,
    Balls,
    Cumulated,
    DecayKernel,
    Extremes,
    Form,
    Formed,
    Grid,
    Range,
    SeveralSets,
    Spot,
    Whole,
)
from fugu.numbers import balls

Laws = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Attained(Extremes):
    """Boxes and bands together: which law is extreme depends on the order of the distances alone, not on the scale.

    `most` and `least` hold the laws that attain N and D, as whole numbers over `total`; `which` says which of them at
    each output."""

    distances: Whole
    which: Whole
    most: Laws
    least: Laws
    total: int

    @cached_property
    def floats(self) -> list[NDArray[np.float64]]:
        """The laws that attain N, and those that attain D, in doubles, one for each output."""
        each = (np.array([[m / self.total for m in law] for law in laws]) for laws in (self.most, self.least))
        return [laws[self.which] for laws in each]

    def proved(self, kernel: DecayKernel) -> Balls:
        """In balls: each law is a member of the set, and attains what it is for."""
        with balls.precision(PRECISION):
            g = kernel.proved()
            share = balls.of(Fraction(1, self.total))
            most, least = (
                [
                    share * sum((arb(fmpz(m)) * g(d) for m, d in zip(laws[k], row, strict=True) if m), arb(0))
                    for k, row in zip(self.which.tolist(), self.distances.tolist(), strict=True)
                ]
                for laws in (self.most, self.least)
            )
            return most, least


_FOUND: WeakKeyDictionary[Path, dict[tuple[int, int], tuple[list[int], list[int]]]] = WeakKeyDictionary()


def path(found: Path, points: Whole, outputs: Whole) -> Attained:
    """The extreme laws of boxes and bands together: the nearest that the limits allow, and the farthest.

    Between two neighbouring middles of points the order of the distances is the same for all outputs."""
    middles = np.unique(points[:, None] + points[None, :])
    places = [np.searchsorted(middles, 2 * outputs, side) for side in ("left", "right")]
    distances: Whole = np.abs(outputs[:, None] - points[None, :])
    orders, first, which = np.unique(np.stack(places), axis=1, return_index=True, return_inverse=True)
    known, most, least = _FOUND.setdefault(found, {}), [], []
    for order, row in zip(orders.T.tolist(), distances[first].tolist(), strict=True):
        key = tuple(order)
        if key not in known:
            known[key] = found.best([-d for d in row]), found.best(row)
        most.append(known[key][0])
        least.append(known[key][1])
    return Attained(distances, which.reshape(-1), most, least, found.total)


@dataclass(frozen=True, eq=False)
class Supported(Extremes):
    """Any set, by its support function at the kernel of every output."""

    law_set: LawSet
    distances: Whole

    def proved(self, kernel: DecayKernel) -> Balls:
        """The proved maximum and minimum for every output."""
        with balls.precision(PRECISION):
            g = kernel.proved()
            rows = [[g(d) for d in row] for row in self.distances.tolist()]
            most = [self.law_set.top_ball(row) for row in rows]
            return most, [self.law_set.bottom_ball(row) for row in rows]


def variation(law_set: Ball, points: Whole, outputs: Whole) -> Formed:
    """N = radius at the nearest point + the nearest 1 - radius of the centre; D the same with the farthest."""
    masses, total = law_set.masses
    n, d = min(Fraction(1), Fraction(law_set.radius)).as_integer_ratio()
    row, one, moved = [m * d for m in masses], total * d, n * total
    held = Cumulated(points, row)
    (first, last, near), (start, stop, far) = (f(outputs, one - moved) for f in (held.nearest, held.farthest))
    grid = Grid(points, outputs, (row,), one, cancelled=one // max(one - moved, 1))
    k, end = grid.before, len(points) - 1
    behind, ahead = (np.abs(outputs - points[np.clip(i, 0, end)]) for i in (k, k + 1))
    widest = np.maximum(np.abs(outputs - points[0]), np.abs(points[-1] - outputs))
    free = [moved] * len(outputs)
    return Formed(
        grid,
        Form(
            (Range(0, first, last),),
            (near, Spot(free, np.minimum(behind, ahead))),
        ),
        Form(grid.outside(0, start, stop), (far, Spot(free, widest))),
    )


def band(law_set: Band, points: Whole, outputs: Whole) -> Formed:
    """The quantile of each level s lies between a(s) and b(s), the inverses of the upper and the lower limits.

    N: as near to the output as it can be, b(s) left of it, a(s) right of it, next to it else. D: the farther of a(s)
    and b(s). Both choices grow with s, so each is one law of the band."""
    (low, high), one = whole(law_set.lower, law_set.upper)
    rows = tuple([b - a for a, b in zip([0, *row[:-1]], row, strict=True)] for row in (low, high))
    grid = Grid(points, outputs, rows, one)
    # Levels up to lower(k), k the last point at or before the output, are left of it, those above upper(k) right of
    # it, and those between may be at k or right after it
    k, n = grid.before, len(grid.points)
    behind = np.abs(grid.outputs - grid.points[np.clip(k, 0, n - 1)])
    ahead = np.abs(grid.points[np.clip(k + 1, 0, n - 1)] - grid.outputs)
    between = [high[i] - low[i] if i >= 0 else 0 for i in k.tolist()]
    spot = Spot(between, np.where((ahead < behind) & (k + 1 < n), ahead, behind))
    # Levels below c are at a(s), left of the output, those above c at b(s): c is where a(s) + b(s) passes twice the
    # output. Between neighbouring limits a(s) + b(s) is constant, and it never falls.
    levels = np.unique(np.concatenate([law_set.lower, law_set.upper]))
    levels = levels[levels > 0]
    first, last = np.searchsorted(law_set.upper, levels), np.searchsorted(law_set.lower, levels)
    turn = np.searchsorted(grid.points[first] + grid.points[last], 2 * grid.outputs)
    (row,), one = whole(levels)
    unit = grid.total // one  # a level is a limit: no finer than they are
    cut = [0, *(unit * level for level in row)]
    c = [cut[i] for i in turn.tolist()]
    at, beyond = np.append(first, len(grid.points) - 1)[turn], np.append(last, len(grid.points) - 1)[turn]
    # levels up to c: what the upper limits hold before `at` (left of the output, where there is mass), and what is left
    # of c there; levels above c: the same with the lower limits
    begun = [cc - (high[i - 1] if i else 0) for cc, i in zip(c, at.tolist(), strict=True)]
    ended = [low[i] - cc for cc, i in zip(c, beyond.tolist(), strict=True)]
    far = Form(
        (Range(1, 0 * at, np.minimum(at, grid.before + 1)), Range(0, beyond + 1, 0 * at + len(grid.points))),
        (Spot(begun, np.abs(grid.outputs - grid.points[at])), Spot(ended, np.abs(grid.points[beyond] - grid.outputs))),
    )
    return Formed(grid, Form((Range(0, 0 * k, k + 1), Range(1, k + 1, 0 * k + n)), (spot,)), far)


def box(law_set: Box, points: Whole, outputs: Whole) -> Formed:
    """N = S_lower + the nearest R of c, D = S_lower + the farthest R of c; R = 1 - sum lower, c = upper - lower."""
    (lower, upper), one = whole(law_set.lower, law_set.upper)
    room = [u - low for low, u in zip(lower, upper, strict=True)]
    rest = one - sum(lower)
    held = Cumulated(points, room)
    (first, last, near), (start, stop, far) = held.nearest(outputs, rest), held.farthest(outputs, rest)
    grid = Grid(points, outputs, (lower, room), one, cancelled=held.total // max(rest, 1))
    return Formed(
        grid,
        Form((grid.full(0), Range(1, first, last)), (near,)),
        Form((grid.full(0), *grid.outside(1, start, stop)), (far,)),
    )


def hull(law_set: Hull, points: Whole, outputs: Whole) -> SeveralSets:
    """N = the largest, D = the least noised mass of any of the laws."""
    parts = []
    for law in law_set.laws:
        masses, total = law.masses.whole()
        grid = Grid(points, outputs, (masses,), total)
        everything = Form((grid.full(0),))
        parts.append(Formed(grid, everything, everything))
    return SeveralSets(parts, shared=False)


_ATTAINED = 400
"""Most declared values for which the extreme laws of boxes and bands together are kept, one for every output."""
_GENERIC = 160_000
"""Most (output, declared value) cells for a ball in Kullback-Leibler divergence: each output is a search of its own."""
_KEPT = 2
"""The declared values, and all lattice points between them: other outputs depend on the scale."""
_KNOWN: WeakKeyDictionary[SetFamily, dict[tuple[int, int, int], tuple[Extremes, ...]]] = WeakKeyDictionary()


def extremes(law_set: LawSet, points: Whole, outputs: Whole) -> Extremes:
    """N and D of a set at the outputs, by its kind."""
    if isinstance(law_set, Box):
        return box(law_set, points, outputs)
    if isinstance(law_set, Band):
        return band(law_set, points, outputs)
    if isinstance(law_set, Hull):
        return hull(law_set, points, outputs)
    if isinstance(law_set, Intersection):  # exact for boxes and bands on few values; else the least N, the greatest D
        together, parts = law_set.path, [*law_set.boxes, *law_set.bands]
        if together is not None and len(parts) > 1 and len(points) <= _ATTAINED:
            known: list[Extremes] = [path(together, points, outputs)]
        else:
            known = [extremes(part, points, outputs) for part in parts]
        others = (extremes(part, points, outputs) for part in law_set.others)
        return SeveralSets([*known, *others], shared=True)
    assert isinstance(law_set, Ball)
    if law_set.distance == "tv":
        return variation(law_set, points, outputs)
    if (cells := len(points) * len(outputs)) > _GENERIC:
        raise OutOfReach(
            f"a ball in Kullback-Leibler divergence is searched at every output, {cells:,} cells of outputs and "
            f"values, more than {_GENERIC:,}; join values, or use a Box, a Band or a ball in total variation",
            points=cells,
            limit=_GENERIC,
        )
    return Supported(law_set, np.abs(outputs[:, None] - points[None, :]))


def at_points(family: SetFamily) -> tuple[Extremes, ...]:
    """N and D of every set of a family in lattice indices, at every declared value."""
    return at_outputs(family, np.asarray(family.points, dtype=np.int64))


def at_outputs(family: SetFamily, outputs: Whole) -> tuple[Extremes, ...]:
    """N and D of every set at these outputs, the last ones remembered: they do not depend on the scale."""
    known = _KNOWN.setdefault(family, {})
    key = int(outputs[0]), int(outputs[-1]), len(outputs)
    if key not in known:
        if len(known) >= _KEPT:
            del known[next(iter(known))]
        points = np.asarray(family.points, dtype=np.int64)
        known[key] = tuple(extremes(one, points, outputs) for one in family.sets)
    return known[key]
