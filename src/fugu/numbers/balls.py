"""Ball arithmetic (python-flint): every number carries a rigorous error, so an inequality between balls is a proof.

The few helpers the proofs need, with the pitfalls settled once: `float(ball.upper())` may round below the ball,
so floats leave this module only through `upper`, which rounds outward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with that many bits inside the block; the process-wide setting is put back afterwards."""
    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def of(x: Fraction | int | float) -> arb:
    """A ball that holds x (a float is taken as the binary number it is)."""
    if isinstance(x, float):
        return arb(x)
    if isinstance(x, int):
        return arb(fmpz(x))
    return arb(fmpq(x.numerator, x.denominator))


def top(x: arb) -> arb:
    """The upper end of the ball as an exact number (a ball of radius zero)."""
    return x.upper()


def upper(x: arb) -> float:
    """A float at or above every number in the ball; inf if the ball is unbounded or not a number."""
    if not x.is_finite():
        return math.inf
    end = x.upper()
    nearest = float(end)
    while not arb(nearest) >= end:
        nearest = math.nextafter(nearest, math.inf)
    return nearest


def lower(x: arb) -> float:
    """A float at or below every number in the ball."""
    return -upper(-x)


def log_upper(x: float) -> float:
    """A float at or above ln x for a float x > 0."""
    return upper(arb(x).log())
