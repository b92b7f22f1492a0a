"""The largest rate whose price stays within a target: steps by the slope, inside a bracket."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

_DIGITS, _TRIALS, _PATIENCE = 9, 60, 3
"""Digits of a trial, how many there are at most, and how many in a row may fail to halve the bracket."""
_LEAST = 1e-7
"""Rates below this part of the largest one are not worth asking for."""
_LESS = (1.0, 1 - 1e-9, 1 - 1e-3, 0.95, 0.5)


class Bracket:
    """A price that rises with a rate is known to be within the target at `low`, and is asked for up to `high`.

    Parameters:
        target: what the price may be.
        low: a rate at which the true price is within the target, though a proof may miss it.
        high: the largest rate that is asked for; it is tried first.
        precision: how near to the target, or low to high, is near enough, in proportion.
    """

    def __init__(self, target: Fraction, low: Fraction, high: Fraction, precision: float) -> None:
        self.target, self.low, self.high, self.precision = target, min(low, high), high, precision
        self._proved, self._least = Fraction(0), float(high) * _LEAST
        self._trial: Fraction | None = None
        self._tried_high = False
        self._slow, self._width = 0, math.inf

    def begin_at(self, rate: Fraction) -> None:
        """Where to try first: a rate that is about right; 0 says nothing."""
        self._trial = rate or None

    def run(self, price: Callable[[Fraction], tuple[Fraction, float]]) -> Fraction:
        """The largest rate found whose price, as computed, is within the target; 0 if none is.

        `price`: the price at a rate, as proved, and about how fast it rises there."""
        trial = self.high if self._trial is None else self._trial
        for _ in range(_TRIALS):
            if self._near() and trial != self.high:
                break
            found, slope = price(trial)
            if found <= self.target:
                self._proved = self.low = max(self.low, trial)
                if found >= self.target * Fraction(1 - self.precision) or trial == self.high:
                    break
            else:
                self.high, self._tried_high = min(self.high, trial), True
            trial = self._next(trial, float(found), slope)
        return self._proved or self._prove(price)

    def _prove(self, price: Callable[[Fraction], tuple[Fraction, float]]) -> Fraction:
        """The lower end, or a rate a little below it, with a price that is proved: so far it is only known to exist."""
        for less in _LESS:
            rate = self.low if less == 1 else _short(float(self.low) * less)
            if rate and price(rate)[0] <= self.target:
                return rate
        return Fraction(0)

    def _near(self) -> bool:
        return self._tried_high and float(self.high) <= max(float(self.low) * (1 + self.precision), self._least)

    def _next(self, trial: Fraction, found: float, slope: float) -> Fraction:
        """Where the slope meets the target, or a little before; the middle where that leads out of the bracket."""
        low, high = float(self.low), float(self.high)
        aim = float(self.target) * (1 - self.precision / 2)
        step = float(trial) + (aim - found) / slope if slope > 0 else math.inf
        if not self._tried_high and step >= high:
            return self.high
        self._slow = self._slow + 1 if high - low > 0.5 * self._width else 0
        self._width = high - low if self._slow == 0 else self._width
        if not low < step < high or self._slow > _PATIENCE:
            step, self._slow = math.sqrt(low * high) if 0 < 4 * low < high else (low + high) / 2, 0
        return max(_short(step), self.low)


def _short(x: float) -> Fraction:
    """The decimal of nine digits at or below x."""
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _DIGITS + 1) if x > 0 else Fraction(1)
    return math.floor(Fraction(x) / unit) * unit
