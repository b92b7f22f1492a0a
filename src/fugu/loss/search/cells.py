"""The least Gaussian noise of a histogram, by few looks at a loss that takes time and is smooth in the scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from fugu.errors import NotProvable

_CLOSE = 1e-6
_WIDEST = 1e6


def least_gaussian(loss: Callable[[float], float], target: float, start: float) -> float:
    """A scale with loss(scale) <= target, some 1e-6 above one with more, from a first guess.

    Raises `NotProvable` where no scale within reach meets the target."""
    from scipy.optimize import brentq

    @cache
    def height(scale: float) -> float:
        return math.log(max(loss(scale), 1e-300) / target)

    low = high = start
    step = 1.0
    while height(high) > 0:
        low, high = high, high * 2
        if high > _WIDEST:
            raise NotProvable("no Gaussian noise within reach meets the budget; ask for a larger epsilon or delta")
    while low == high or height(low) <= 0:
        step *= 2
        high, low = min(high, low), low / step
        if low < 1e-3:
            return high
    found = float(brentq(height, low, high, xtol=0.3 * _CLOSE * high, rtol=1e-12))
    while height(found) > 0:
        found *= 1 + _CLOSE
    return found
