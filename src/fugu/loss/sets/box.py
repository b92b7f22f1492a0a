"""Boxes: lower <= p <= upper at every value; what the lower limits leave of 1 lies near the output, or far."""

from __future__ import annotations

from fugu.laws.sets import Box
from fugu.laws.sets.reading import whole
from fugu.loss.sets.extremes import Formed
from fugu.loss.sets.forms import Form, Grid, Range, Spot, Whole
from fugu.loss.sets.windows import Cumulated


def box(law_set: Box, points: Whole, outputs: Whole) -> Formed:
    """N = S_lower + the nearest R of c, D = S_lower + the farthest R of c; R = 1 - sum lower, c = upper - lower."""
    (lower, upper), one = whole(law_set.lower, law_set.upper)
    room = [u - low for low, u in zip(lower, upper, strict=True)]
    rest = one - sum(lower)
    held = Cumulated(points, room)
    near, far = held.nearest(outputs, rest), held.farthest(outputs, rest)
    grid = Grid(points, outputs, (lower, room), one, cancelled=held.total // max(rest, 1))
    return Formed(
        grid,
        Form((grid.full(0), Range(1, near.first, near.last)), (Spot(near.rest, near.distance),)),
        Form((grid.full(0), *grid.outside(1, far.first, far.last)), (Spot(far.rest, far.distance),)),
    )
