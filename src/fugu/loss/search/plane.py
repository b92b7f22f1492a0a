"""The least value of a convex function of two numbers: cuts through the centre of gravity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float]
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
        centre = _centroid(corners)
        x, y = a * float(centre[0]), b * float(centre[1])
        value, (dx, dy) = slope(x, y)
        if value < best:
            best, at = value, (x, y)
        rise = (corners - centre) @ np.array([a * dx, b * dy])
        floor = max(floor, value + float(rise.min()))
        if best - floor <= _CLOSE * abs(best) or not np.isfinite(value):
            break
        corners = _cut(corners, rise)
        if len(corners) < 3:
            break
    return at


def _centroid(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """The centre of gravity of a convex polygon; the mean of its corners where its area is lost to rounding."""
    x, y = (corners - corners[0]).T
    cross = x * np.roll(y, -1) - np.roll(x, -1) * y
    area = float(cross.sum())
    middle: NDArray[np.float64] = corners.mean(axis=0)
    if not abs(area) > 1e-300:
        return middle
    found = corners[0] + np.array([((x + np.roll(x, -1)) @ cross), ((y + np.roll(y, -1)) @ cross)]) / (3 * area)
    low, high = corners.min(axis=0), corners.max(axis=0)
    return found if np.all((found >= low) & (found <= high)) else middle


def _cut(corners: NDArray[np.float64], rise: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of the polygon where the tangent does not rise."""
    kept = []
    after, climb = np.roll(corners, -1, axis=0), np.roll(rise, -1)
    for here, there, one, other in zip(corners, after, rise.tolist(), climb.tolist(), strict=True):
        if one <= 0:
            kept.append(here)
        if (one < 0 < other) or (other < 0 < one):
            kept.append(here + (there - here) * (one / (one - other)))
    return np.array(kept)
