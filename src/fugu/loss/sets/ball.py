"""Balls in total variation: a mass of the radius may be moved from the centre to anywhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.laws.sets import Ball
from fugu.loss.sets.extremes import Formed
from fugu.loss.sets.forms import Form, Grid, Range, Spot, Whole
from fugu.loss.sets.windows import Cumulated


def variation(law_set: Ball, points: Whole, outputs: Whole) -> Formed:
    """N = radius at the nearest point + the nearest 1 - radius of the centre; D the same with the farthest."""
    masses, total = law_set.masses
    n, d = min(Fraction(1), Fraction(law_set.radius)).as_integer_ratio()
    row, one, moved = [m * d for m in masses], total * d, n * total
    held = Cumulated(points, row)
    near, far = held.nearest(outputs, one - moved), held.farthest(outputs, one - moved)
    grid = Grid(points, outputs, (row,), one, cancelled=one // max(one - moved, 1))
    k, last = grid.before, len(points) - 1
    behind, ahead = (np.abs(outputs - points[np.clip(i, 0, last)]) for i in (k, k + 1))
    widest = np.maximum(np.abs(outputs - points[0]), np.abs(points[-1] - outputs))
    free = [moved] * len(outputs)
    return Formed(
        grid,
        Form(
            (Range(0, near.first, near.last),),
            (Spot(near.rest, near.distance), Spot(free, np.minimum(behind, ahead))),
        ),
        Form(grid.outside(0, far.first, far.last), (Spot(far.rest, far.distance), Spot(free, widest))),
    )
