"""Bins with short decimal edges, so that their middles are short decimals and a coarse lattice holds them."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable
from fugu.numbers.exact import as_fraction


def equal_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """Edges of `count` equal bins over [low, high]; rounding outward adds at most a fifth of a bin in all.

    >>> equal_bins(126, 564, 4)
    (126.0, 236.0, 346.0, 456.0, 566.0)
    """
    start, stop = as_fraction(low), as_fraction(high)
    span = stop - start or max(abs(start), Fraction(1))
    unit = Fraction(10) ** _exponent(span / (10 * count * count))
    first = math.floor(start / unit) * unit
    width = math.ceil((start + span - first) / count / unit) * unit
    try:
        edges = sorted({float(first + i * width) for i in range(count + 1)})
    except OverflowError:
        raise BadTable("the published values reach too far for equal bins; give bins as edges") from None
    return tuple(edges)


def day_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """The same for days: edges of whole days, `count` bins at most, the last day inside the last.

    >>> day_bins(0, 9, 3)
    (0.0, 4.0, 8.0, 12.0)
    """
    first, days = math.floor(low), math.floor(high) + 1 - math.floor(low)
    width = -(-days // count)
    return tuple(float(first + i * width) for i in range(-(-days // width) + 1))


@lru_cache(maxsize=64)
def middles(edges: tuple[float, ...]) -> NDArray[np.float64]:
    """The middle of each bin, edges read as decimals: (0.1, 0.2) gives 0.15."""
    exact = [as_fraction(edge) for edge in edges]
    found = np.array([float((a + b) / 2) for a, b in pairwise(exact)])
    found.setflags(write=False)
    return found


def _exponent(x: Fraction) -> int:
    """The greatest whole e with 10^e <= x."""
    guess = len(str(x.numerator)) - len(str(x.denominator))
    return guess if Fraction(10) ** guess <= x else guess - 1
