"""Losses over sets of laws in doubles: extremes, the pure loss and where it is attained, envelope and dual."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fugu.laws.family import SetFamily
from fugu.laws.sets import LawSet
from fugu.loss.search.laplace import Decayed, decayed_sums
from fugu.loss.sets_extremes import (
    DecayKernel,
    Extremes,
    Floats,
    Form,
    Formed,
    Grid,
    SeveralSets,
)
from fugu.loss.sets_outputs import Bounded, Measure, Point, SetOutputs, outputs, prove_pure, reach
from fugu.loss.sets_reach import Attained, Supported, at_outputs, at_points

DUAL = 50_000
"""Most outputs for which the dual is solved: some hundred passes over all of them."""
_STEEPEST = 1e200


def fast_loss(family: SetFamily, kernel: DecayKernel, measure: Measure, enough: float) -> float:
    """The largest bound over pairs and orders; the dual is solved only where the envelope is not `enough`."""
    found = noised(family, outputs(family, kernel, reach(family, kernel, measure)))
    worst = 0.0
    for order in ((i, j) for pair in family.pairs for i, j in (pair, pair[::-1])):
        first = measure.loss(envelope(family.sets[order[0]], found, order, measure))
        loss = first if first <= enough else min(first, measure.loss(dual(found, order, measure)[0]))
        worst = max(worst, math.inf if math.isnan(loss) else loss)
    return worst


def noised(family: SetFamily, where: SetOutputs) -> Bounded:
    """N and D at the outputs."""
    found, norm = [extreme_masses(one, where.kernel) for one in at_outputs(family, where.at)], where.floats[0]
    return Bounded(where, [norm * n for n, _ in found], [norm * np.maximum(d, 0.0) for _, d in found])


def envelope(law_set: LawSet, found: Bounded, order: tuple[int, int], measure: Measure) -> float:
    """The first bound."""
    i, j = order
    psi = measure.psi(found.most[i], found.least[j])
    if not np.all(np.isfinite(psi)):
        return math.inf
    where, (norm, times) = found.where, found.where.floats
    spread = psi * times * norm  # then sum_y g(y - x) psi(y) at every declared value x
    if where.kernel.decay is not None and where.kernel.scans:
        row = spread[None, :]
        spread = decayed_sums(where.at, row, where.kernel.steps).total(row)[0][where.points - where.at[0]]
    elif where.kernel.decay is not None:
        spread = where.kernel.floats(np.abs(where.points[:, None] - where.at[None, :])) @ spread
    return float(law_set.tops(spread[None, :])[0])


def dual(found: Bounded, order: tuple[int, int], measure: Measure) -> tuple[float, Point]:
    """The second bound, and where it is least; infinite where it is out of reach."""
    (i, j), nowhere = order, (math.inf, (0.0, 0.0))
    p = np.stack([found.least[i], found.least[i], found.most[i], found.most[i]])
    q = np.stack([found.least[j], found.most[j], found.least[j], found.most[j]])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = float(np.max(np.where(found.most[i] > 0, found.most[i] / found.least[j], 0.0)))
    try:
        widths = measure.steepest(ratio)
    except OverflowError:
        return nowhere
    f = measure.f(p, q)
    if not (np.all(np.isfinite(f)) and max(widths) < _STEEPEST) or p.shape[1] > DUAL:
        return nowhere

    def slope(tau: float, other: float) -> tuple[float, Point]:
        """The second bound at tau and tau', and a subgradient."""
        height = f - tau * p + other * q
        best = np.argmax(height, axis=0)[None, :]
        value, up, down = (np.take_along_axis(x, best, axis=0)[0] @ found.where.floats[1] for x in (height, p, q))
        return float(tau - other + value), (float(1 - up), float(down - 1))

    at = least(slope, widths)
    return slope(*at)[0], at


Pair = tuple[Floats, Floats]


def extreme_masses(known: Extremes, kernel: DecayKernel) -> Pair:
    """N and D at every output, not normalised. `known`: of one set; `kernel`: of the noise."""
    if isinstance(known, SeveralSets):
        most, least = zip(*(extreme_masses(part, kernel) for part in known.parts), strict=True)
        top, bottom = (np.min, np.max) if known.shared else (np.max, np.min)
        return top(most, axis=0), bottom(least, axis=0)
    if isinstance(known, Attained):
        g = kernel.floats(known.distances)
        ends = [np.einsum("ij,ij->i", laws, g) for laws in known.floats]
        return ends[0], ends[1]
    if isinstance(known, Supported):
        g = kernel.floats(known.distances)
        return known.law_set.tops(g), known.law_set.bottoms(g)
    assert isinstance(known, Formed)
    grid = known.grid
    if not kernel.scans:
        return _summed(grid, known.upper, kernel), _summed(grid, known.lower, kernel)
    weights, steps = grid.weights, kernel.steps
    scans = decayed_sums(grid.points, weights, steps) if steps else Decayed(weights, weights, 0.0)
    found = []
    for parts, spots in known.scanned:
        total = np.zeros(len(grid.outputs))
        for part, sign, apart in parts:
            held = (scans.left if part.left else scans.right)[part.row][part.at] * sign
            total += held * kernel.floats(part.distance) if apart else held
        for masses, distance in spots:
            total += masses * kernel.floats(distance)
        found.append(total)
    return found[0], found[1]


def _summed(grid: Grid, form: Form, kernel: DecayKernel) -> Floats:
    """A form for any kernel: every point of every range is added up."""
    g, place = kernel.floats(grid.distances), np.arange(len(grid.points))[None, :]
    total = np.zeros(len(grid.outputs))
    for part in form.ranges:
        held = (place >= part.start[:, None]) & (place < part.stop[:, None])
        total += np.where(held, g, 0.0) @ grid.weights[part.row]
    for spot in form.spots:
        total += grid.shares(spot.masses) * kernel.floats(spot.distance)
    return total


_TINY = 1e-280


def sets_pure_loss(family: SetFamily, kernel: DecayKernel) -> float:
    """max over pairs, orders and declared values of ln(N / D), in doubles; inf where no finite epsilon holds.

    Where masses are below the range of doubles it is worked out in balls."""
    found = [extreme_masses(one, kernel) for one in at_points(family)]
    used = {k for pair in family.pairs for k in pair}
    if kernel.decay and any(float(found[k][0].min()) < _TINY for k in used):
        return max(loss.value for loss in prove_pure(family, kernel))
    worst = 0.0
    for order in ((i, j) for pair in family.pairs for i, j in (pair, pair[::-1])):
        largest = float(np.max(_ratios(found, order)))
        loss = math.inf if math.isnan(largest) else math.log(largest) if largest > 0 else 0.0
        worst = max(worst, loss)
    return worst


def worst_laws(family: SetFamily, kernel: DecayKernel) -> tuple[Floats, Floats]:
    """The laws of the first pair that attain N and D at the declared value where N / D is largest, in either order."""
    pair, found = family.pairs[0], [extreme_masses(one, kernel) for one in at_points(family)]
    ratios = [(np.nan_to_num(_ratios(found, order), nan=0.0), order) for order in (pair, pair[::-1])]
    ratio, (i, j) = max(ratios, key=lambda each: float(np.max(each[0])))
    column = kernel.floats(np.abs(family.points - family.points[int(np.argmax(ratio))]))
    most, least = _law(family.sets[i].extreme(column)), _law(family.sets[j].extreme(-column))
    return (most, least) if (i, j) == pair else (least, most)


def _ratios(found: list[tuple[Floats, Floats]], order: tuple[int, int]) -> Floats:
    """N / D at every declared value; 1 where neither law is ever."""
    most, least = found[order[0]][0], np.maximum(found[order[1]][1], 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio: Floats = most / least
    ratio[(most == 0) & (least == 0)] = 1.0
    return ratio


def _law(weights: Floats) -> Floats:
    """Rounding taken out: no weight below 0, and 1 in all."""
    held = np.maximum(weights, 0.0)
    law: Floats = held / held.sum()
    return law


_MOST = 250
_CLOSE = 1e-11


def least(slope: Callable[[float, float], tuple[float, Point]], widths: Point) -> Point:
    """Where a convex function on [0, widths[0]] x [0, widths[1]] is least, nearly; any answer is one to prove with.

    `slope` gives the value and a subgradient. Every cut keeps the half in which the function can be smaller, which is
    at most 63 % of the area (Grünbaum); a tangent says how much smaller it can be."""
    a, b = widths
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # in units of the widths
    best, at, floor = np.inf, (0.0, 0.0), -np.inf
    for _ in range(_MOST):
        u, v = (corners - corners[0]).T  # the centre of gravity; the mean of the corners where the area is lost
        cross = u * np.roll(v, -1) - np.roll(u, -1) * v
        centre, area = corners.mean(axis=0), float(cross.sum())
        if abs(area) > 1e-300:
            sums = np.array([(u + np.roll(u, -1)) @ cross, (v + np.roll(v, -1)) @ cross])
            inner = corners[0] + sums / (3 * area)
            if np.all((inner >= corners.min(axis=0)) & (inner <= corners.max(axis=0))):
                centre = inner
        x, y = a * float(centre[0]), b * float(centre[1])
        value, (dx, dy) = slope(x, y)
        if value < best:
            best, at = value, (x, y)
        rise = (corners - centre) @ np.array([a * dx, b * dy])
        floor = max(floor, value + float(rise.min()))
        if best - floor <= _CLOSE * abs(best) or not np.isfinite(value):
            break
        kept = []  # the part of the polygon where the tangent does not rise
        ends = zip(corners, np.roll(corners, -1, axis=0), rise.tolist(), np.roll(rise, -1).tolist(), strict=True)
        for here, there, one, other in ends:
            if one <= 0:
                kept.append(here)
            if (one < 0 < other) or (other < 0 < one):
                kept.append(here + (there - here) * (one / (one - other)))
        corners = np.array(kept)
        if len(corners) < 3:
            break
    return at
