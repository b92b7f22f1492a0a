"""Ready-made post-processing for `Mechanism.then`: functions of the released column alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError
from fugu.mechanism.mechanism import Step


def clip(low: float, high: float) -> Step:
    """Move released values into [low, high].

    >>> clip(0, 10)(np.array([-3.0, 4.0, 12.0]))
    array([ 0.,  4., 10.])
    """
    if not low <= high:
        raise UsageError(f"clip needs low <= high, got {low} and {high}")
    return _named(lambda column: np.clip(column, low, high), f"clip({low:g}, {high:g})")


def round_to(step: float) -> Step:
    """Round released values to multiples of `step`."""
    if not 0 < step < math.inf:
        raise UsageError(f"round_to needs a positive step, got {step}")
    return _named(lambda column: np.round(column / step) * step, f"round_to({step:g})")


def valid(values: ArrayLike) -> Step:
    """Move released values to the nearest of these."""
    from fugu.laws.places import nearest

    allowed = np.unique(np.asarray(values, dtype=np.float64))
    if allowed.size == 0 or not np.all(np.isfinite(allowed)):
        raise UsageError("valid needs at least one finite value")

    def move(column: NDArray[np.float64]) -> NDArray[np.float64]:
        known = ~np.isnan(column)
        moved = column.copy()
        moved[known] = nearest(allowed, column[known])
        return moved

    return _named(move, f"valid({allowed.size} values)")


def _named(f: Step, name: str) -> Step:
    f.__name__ = name
    return f
