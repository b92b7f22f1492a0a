"""Rational numbers on either side of e^x: below it where privacy is proved, above it where a limit of utility is."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from fugu.numbers.balls import of, precision

_BITS = 96
"""Bits that count: those of e^x, or of e^x - 1 where that is smaller."""


@lru_cache(maxsize=256)
def power_below(x: Fraction) -> Fraction:
    """A rational E with 1 <= E <= e^x for x >= 0, relative distance of E - 1 from e^x - 1 below 2^-90."""
    return 1 + _end(x, -1)


@lru_cache(maxsize=256)
def power_above(x: Fraction) -> Fraction:
    """A rational E >= e^x for x >= 0, relative distance of E - 1 from e^x - 1 below 2^-90."""
    return 1 + _end(x, 1)


def _end(x: Fraction, side: int) -> Fraction:
    """One end of a ball around e^x - 1: a dyadic number."""
    if x == 0:
        return Fraction(0)
    with precision(_BITS + max(0, x.numerator.bit_length() - x.denominator.bit_length())):
        ball = of(x).expm1()
        end: arb = ball.upper() if side > 0 else ball.lower()
        mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
