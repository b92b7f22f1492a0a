"""From a family of sets to the extremes of each, by the kind of set; remembered for as long as the family lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fugu.errors import OutOfReach
from fugu.laws.set_family import SetFamily
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection, LawSet
from fugu.loss.sets.attained import Generic, path
from fugu.loss.sets.ball import variation
from fugu.loss.sets.band import band
from fugu.loss.sets.box import box
from fugu.loss.sets.extremes import Extremes, Narrowest
from fugu.loss.sets.forms import Whole
from fugu.loss.sets.hull import hull

_ATTAINED = 400
"""Most declared values for which the extreme laws of boxes and bands together are kept, one for every output."""
_GENERIC = 160_000
"""Most (output, declared value) cells for a ball in Kullback-Leibler divergence: each output is a search of its own."""
_KEPT = 2
"""The declared values, and all lattice points between them: other outputs depend on the scale."""
_KNOWN: WeakKeyDictionary[SetFamily, dict[tuple[int, int, int], tuple[Extremes, ...]]] = WeakKeyDictionary()


def extremes(law_set: LawSet, points: Whole, outputs: Whole) -> Extremes:
    """N and D of a set at the outputs, by its kind."""
    return _MADE[type(law_set)](law_set, points, outputs)


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


def _ball(law_set: Ball, points: Whole, outputs: Whole) -> Extremes:
    if law_set.distance == "tv":
        return variation(law_set, points, outputs)
    if (cells := len(points) * len(outputs)) > _GENERIC:
        raise OutOfReach(
            f"a ball in Kullback-Leibler divergence is searched at every output, {cells:,} cells of outputs and "
            f"values, more than {_GENERIC:,}; join values, or use a Box, a Band or a ball in total variation",
            points=cells,
            limit=_GENERIC,
        )
    return Generic(law_set, np.abs(outputs[:, None] - points[None, :]))


def _intersection(law_set: Intersection, points: Whole, outputs: Whole) -> Extremes:
    """Exact for boxes and bands on few values; else the least N and the greatest D of the parts."""
    together, parts = law_set.path, [*law_set.boxes, *law_set.bands]
    known: list[Extremes]
    if together is not None and len(parts) > 1 and len(points) <= _ATTAINED:
        known = [path(together, points, outputs)]
    else:
        known = [extremes(part, points, outputs) for part in parts]
    return Narrowest([*known, *(extremes(part, points, outputs) for part in law_set.others)])


_MADE: dict[type[LawSet], Callable[[Any, Whole, Whole], Extremes]] = {
    Box: box,
    Band: band,
    Ball: _ball,
    Hull: hull,
    Intersection: _intersection,
}
