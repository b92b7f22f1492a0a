"""Numbers as the user wrote them: decimals read exactly, and rounding that only goes the safe way.

A float that is a decimal of at most 15 digits *means* that decimal: 0.1 is 1/10, so ten spends of 0.1
are 1. Any other float means the binary number it is. (Two different decimals of at most 15 digits are never
the same float, so the reading is unique.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

Real = float | int | Fraction
_MAX_DIGITS = 15
_EXACT_INT = 10**_MAX_DIGITS


def as_fraction(x: Real) -> Fraction:
    """The exact rational that a number given by a user stands for.

    >>> as_fraction(0.1), as_fraction(3)
    (Fraction(1, 10), Fraction(3, 1))
    """
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))  # plain integers, also for numpy ones that could wrap
    value = float(x)
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    text = repr(value)
    digits = text.partition("e")[0].replace(".", "").lstrip("-0")
    return Fraction(text) if len(digits) <= _MAX_DIGITS else Fraction(value)


def float_up(x: Fraction) -> float:
    """The least float >= x (inf beyond the range)."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else -float(np.finfo(np.float64).max)
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def meant_up(x: float) -> float:
    """The least float at or above x whose decimal meaning is not below x either: what may be handed on as a bound.

    >>> meant_up(0.5), as_fraction(meant_up(0.515101235598719)) >= Fraction(0.515101235598719)
    (0.5, True)
    """
    found = x
    while math.isfinite(found) and as_fraction(found) < Fraction(x):
        found = math.nextafter(found, math.inf)
    return found


def float_down(x: Fraction) -> float:
    """The greatest float <= x."""
    return -float_up(-x)


def decimal_up(x: float, digits: int = 10) -> Fraction:
    """The least decimal of that many significant digits that is >= x; used to publish scales and epsilons.

    >>> decimal_up(0.116700009377384, 8)
    Fraction(11670001, 100000000)
    """
    exact = as_fraction(x)
    if exact <= 0:
        return Fraction(0)
    exponent = math.floor(math.log10(x)) - digits + 1
    unit = Fraction(10) ** exponent
    return math.ceil(exact / unit) * unit


def decimal_step(values: NDArray[np.float64]) -> Fraction | None:
    """The power of ten of which all values are multiples when read as decimals, or None if some is not a decimal.

    Vectorised: v is the decimal m 10^-k with |m| <= 1e15, k <= 22 iff float(m) / 10^k == v, because that
    division is correctly rounded (both operands are exact floats).
    """
    if values.size == 0:
        return Fraction(1)
    for k in range(23):
        with np.errstate(over="ignore"):
            m = np.rint(values * 10.0**k)
        if not np.all(np.abs(m) <= _EXACT_INT):
            return None
        if np.array_equal(m / 10.0**k, values):
            return Fraction(1, 10**k)
    return None


def integers(values: NDArray[np.float64], step: Fraction) -> NDArray[np.int64]:
    """The integers m with values = m * step, for a step that `decimal_step` returned."""
    return np.rint(values * float(1 / step)).astype(np.int64)
