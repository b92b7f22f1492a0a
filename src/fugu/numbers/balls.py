"""Ball arithmetic (python-flint): every number carries a rigorous error, so an inequality between balls is a proof.

The few helpers the proofs need, with the pitfalls settled once: `float(ball.upper())` may round below the ball,
so floats leave this module only through `upper`, which rounds outward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
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


def raised(bound: arb, numerator: arb, denominator: arb) -> arb:
    """At or above the bound and the ratio of two balls >= 0, as an exact number; infinite where the denominator may be
    zero and the numerator may not."""
    if numerator == 0 or numerator <= bound * denominator:
        return bound
    ratio = (numerator / denominator).upper() if denominator > 0 else arb("inf")
    return ratio if not ratio <= bound else bound


def positive_parts(first: Iterable[arb], second: Iterable[arb], e: arb) -> arb:
    """At or above the sum of (p - e q)+ over two rows: the upper end of each part, unless it is surely not above 0."""
    total = arb(0)
    for p, q in zip(first, second, strict=True):
        if not (part := (p - e * q).upper()) <= 0:
            total += part
    return total


def divergence(total: arb, alpha: Fraction) -> float:
    """ln(total) / (alpha - 1), rounded up; a divergence is never below 0."""
    if not total.is_finite():
        return math.inf
    end = total.upper()
    return max(0.0, upper(end.log() / of(alpha - 1))) if end > 1 else 0.0


def log_upper(x: float) -> float:
    """A float at or above ln x for a float x > 0."""
    return upper(arb(x).log())
