"""The lattice origin + grid * Z on which values are rounded, noise is drawn, and guarantees are proved."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.numbers.exact import Real, as_fraction, decimal_step, integers, read_number
from fugu.visible import brief

MAX_INDEX = 2**50
"""Indices stay below this, so that `index` inverts `value` exactly: |x q / p - k| <= 3 k 2^-53 < 1/2."""


@dataclass(frozen=True)
class Lattice:
    """The equally spaced values on which numbers are published: origin + grid * Z. Rounding onto it (`index`) is part
    of the query: the same function runs on laws and on data.

    >>> tenths = Lattice(Fraction(1, 10))
    >>> tenths.index(np.array([0.3, 0.34, -0.05]))
    array([3, 3, 0])
    >>> tenths.value(np.array([3]))
    array([0.3])
    """

    grid: Fraction
    origin: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not self.grid > 0:
            raise BadNoise(f"a grid must be positive, got {self.grid}")
        if max(self.grid, 1 / self.grid, abs(self.origin)) > sys.float_info.max:
            raise BadNoise("the grid, or where it begins, is beyond the range of doubles; rescale the values")

    def index(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """floor((x - origin) / grid + 1/2) of each value, exactly: a shift by whole steps moves the index by them.

        In doubles where they decide; values within rounding of a cell's edge are settled in rationals."""
        with np.errstate(over="ignore", invalid="ignore"):
            t = (values - float(self.origin)) * float(1 / self.grid) + 0.5
            k = np.floor(t)
            edge = (
                np.abs(t - np.rint(t)) <= np.abs(values) * float(1 / self.grid) * 2**-50 + np.abs(t) * 2**-50 + 2**-40
            )
        if not np.all(np.abs(k) <= MAX_INDEX):
            raise BadNoise(
                f"a grid of {float(self.grid):g} is too fine for values this far apart; choose a coarser grid or bins"
            )
        for place in np.flatnonzero(edge).tolist():
            exact = (as_fraction(float(values.flat[place])) - self.origin) / self.grid + Fraction(1, 2)
            k.flat[place] = math.floor(exact)
        return k.astype(np.int64)

    def within(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values so far out that they have no index are moved to the last ones that have: a clip, so no two values come
        further apart."""
        reach = MAX_INDEX // 2 * self.grid
        largest = Fraction(sys.float_info.max)
        low, high = max(self.origin - reach, -largest), min(self.origin + reach, largest)
        return np.clip(values, float(low), float(high))

    def value(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """origin + grid * index, correctly rounded wherever the integers involved are below 2^53; each by itself."""
        denominator = math.lcm(self.grid.denominator, self.origin.denominator)
        step, start = int(self.grid * denominator), int(self.origin * denominator)
        far = float(self.origin) + index.astype(np.float64) * float(self.grid)
        room = 2**53 - 1 - abs(start)
        if room < 0 or max(step, denominator) >= 2**53:
            return far
        near = np.abs(index) <= room // step
        exact: NDArray[np.float64] = (np.where(near, index, 0) * step + start) / np.float64(denominator)
        return exact if near.all() else np.where(near, exact, far)

    def to_json(self) -> dict[str, str]:
        """Grid and origin, exactly."""
        return {"grid": str(self.grid), "origin": str(self.origin)}

    @staticmethod
    def holding(columns: Iterable[NDArray[np.float64]]) -> Lattice | None:
        """The coarsest lattice that holds every value, read as decimals; None if some value is not a short decimal."""
        arrays = [c.ravel() for c in columns]
        steps = [decimal_step(a) for a in arrays]
        if any(s is None for s in steps) or not arrays:
            return None
        step = min(s for s in steps if s is not None)
        whole = [integers(a, step) for a in arrays]
        start = min(int(w.min()) for w in whole)
        gcd = math.gcd(*(int(np.gcd.reduce(w - start)) for w in whole))
        span = max(int(w.max()) for w in whole) - start
        if gcd and span // gcd > MAX_INDEX // 4:
            return None
        grid = gcd * step if gcd else Fraction(1)
        aligned = (start * step) % grid == 0
        return Lattice(grid, Fraction(0) if aligned and abs(start * step / grid) < MAX_INDEX // 4 else start * step)


def check_scale(scale: object) -> None:
    """A scale is a finite number >= 0 that a double can hold; every noise refuses others alike."""
    if not isinstance(scale, int | float | Fraction) or isinstance(scale, bool) or not 0 <= scale < math.inf:
        raise BadNoise(f"a scale must be a finite number >= 0, got {scale!r}")
    if scale > sys.float_info.max:
        raise BadNoise("a scale must be within the range of doubles; rescale the values")


def as_grid(grid: Real | str) -> Fraction:
    """A user's grid as an exact positive rational; text such as "0.1" or "1/3" is read exactly."""
    try:
        exact = read_number(grid) if isinstance(grid, str) else as_fraction(grid)
    except (TypeError, ValueError) as error:
        raise BadNoise(f"a grid must be a positive number or Fraction, got {brief(str(grid), 40)}") from error
    if exact <= 0:
        raise BadNoise(f"a grid must be positive, got {grid!r}")
    return exact


def rounding_error(lattice: Lattice | None, support: NDArray[np.float64] | None) -> float:
    """The largest error, in any coordinate, of rounding a supported value onto the lattice; half a step if any value
    may come, none without a lattice."""
    if lattice is None:
        return 0.0
    if support is None:
        return float(lattice.grid) / 2
    return float(np.max(np.abs(lattice.value(lattice.index(support)) - support)))
