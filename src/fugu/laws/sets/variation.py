"""Linear functions over a ball in total variation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def top(masses: Sequence[int], total: int, radius: Fraction, v: Sequence[int]) -> Fraction:
    """max { sum p v : TV(c, p) <= radius }, exactly, with c = masses / total.

    p = c - z + z' with z <= c and both of mass r <= radius: take the mass with the least v away, put it on the largest.
    """
    best = max(v)
    gain, left = Fraction(0), radius * total
    for x, mass in sorted(zip(v, masses, strict=True)):
        step = min(left, Fraction(mass))
        gain, left = gain + step * (best - x), left - step
        if left <= 0:
            break
    return (sum(m * x for m, x in zip(masses, v, strict=True)) + gain) / total


def extremes(centre: Floats, radius: float, rows: Floats) -> Floats:
    """For every row of v a law of the ball that attains the maximum, in doubles."""
    order = np.argsort(rows, axis=1, kind="stable")
    there = centre[order]
    before = np.cumsum(there, axis=1) - there
    moved = np.clip(radius - before, 0.0, there)
    left = there - moved
    left[:, -1] += moved.sum(axis=1)
    found = np.empty_like(left)
    np.put_along_axis(found, order, left, axis=1)
    return found
