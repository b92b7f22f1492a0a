"""Bands: limits of the distribution function at every value; the law is chosen level by level of probability."""

from __future__ import annotations

import numpy as np

from fugu.laws.sets import Band
from fugu.laws.sets.reading import whole
from fugu.loss.sets.extremes import Formed
from fugu.loss.sets.forms import Form, Grid, Range, Spot, Whole


def band(law_set: Band, points: Whole, outputs: Whole) -> Formed:
    """The quantile of each level s lies between a(s) and b(s), the inverses of the upper and the lower limits.

    N: as near to the output as it can be, b(s) left of it, a(s) right of it, next to it else. D: the farther of a(s)
    and b(s). Both choices grow with s, so each is one law of the band."""
    (low, high), one = whole(law_set.lower, law_set.upper)
    rows = tuple([b - a for a, b in zip([0, *row[:-1]], row, strict=True)] for row in (low, high))
    grid = Grid(points, outputs, rows, one)
    return Formed(grid, _nearest(grid, low, high), _farthest(grid, law_set, low, high))


def _nearest(grid: Grid, low: list[int], high: list[int]) -> Form:
    """Levels up to lower(k), k the last point at or before the output, are left of it, those above upper(k) right of
    it, and those between may be at k or right after it."""
    k, n = grid.before, len(grid.points)
    behind = np.abs(grid.outputs - grid.points[np.clip(k, 0, n - 1)])
    ahead = np.abs(grid.points[np.clip(k + 1, 0, n - 1)] - grid.outputs)
    between = [high[i] - low[i] if i >= 0 else 0 for i in k.tolist()]
    spot = Spot(between, np.where((ahead < behind) & (k + 1 < n), ahead, behind))
    return Form((Range(0, 0 * k, k + 1), Range(1, k + 1, 0 * k + n)), (spot,))


def _farthest(grid: Grid, law_set: Band, low: list[int], high: list[int]) -> Form:
    """Levels below c are at a(s), left of the output, those above c at b(s): c is where a(s) + b(s) passes twice the
    output. Between neighbouring limits a(s) + b(s) is constant, and it never falls."""
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
    return Form(
        (Range(1, 0 * at, np.minimum(at, grid.before + 1)), Range(0, beyond + 1, 0 * at + len(grid.points))),
        (Spot(begun, np.abs(grid.outputs - grid.points[at])), Spot(ended, np.abs(grid.points[beyond] - grid.outputs))),
    )
