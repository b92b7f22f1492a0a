"""`Sum`: the law of a sum of whole numbers, and how far it may be from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.laws.masses import Masses, exact_sum
from fugu.numbers import balls

UNIT = 2.0**-53
UP = 1 + 2.0**-20
"""Covers the rounding of the few float operations on bounds: sums of at most 2^27 terms lose 2^27 2^-53 of them."""
_FLOOR = 2.0**-90


@dataclass(frozen=True, eq=False)
class Sum:
    """P(S = at[k]) = masses[k], up to the total variation `error`."""

    at: NDArray[np.int64]
    masses: Masses
    error: float


def placed(at: NDArray[np.int64], y: NDArray[np.float64], eta: float, tau: float) -> Sum:
    """The law proportional to max(y, 0), for y within eta of the truth on the window `at`, tau of which lies outside.

    Masses below 2^-90 are left out, so that exact sums of the others stay short."""
    held = y >= _FLOOR
    total = exact_sum(y[held])
    return Sum(at[held], Masses(y[held], total), total_variation(UP * (eta + len(at) * _FLOOR), tau, total))


def total_variation(eta: float, tau: float, total: Fraction) -> float:
    """(|1 - T| + eta + 2 tau) / 2, rounded up: see `fugu.laws.convolve.convolve_fft`."""
    with balls.precision(128):
        return min(1.0, balls.upper((balls.of(abs(1 - total)) + balls.of(eta) + 2 * balls.of(tau)) / 2))
