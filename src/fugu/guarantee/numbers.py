"""The numbers of a guarantee: read exactly, checked, written back plainly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fugu.errors import BadBudget
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_up


def exact(x: Real) -> Fraction:
    """The rational that x means; infinity becomes a number beyond every other."""
    return Fraction(10**400) if math.isinf(x) else as_fraction(x)


def plain(x: Fraction) -> Real:
    """A whole number, or a float where one means exactly this, else the Fraction.

    >>> plain(Fraction(1, 10)), plain(Fraction(4, 2)), plain(Fraction(1, 3))
    (0.1, 2, Fraction(1, 3))
    """
    if x.denominator == 1:
        return int(x)
    return float(x) if as_fraction(float(x)) == x else x


def outward(x: Fraction) -> float:
    """The least float at or above x that also means a number at or above x.

    >>> outward(Fraction(1, 10)), outward(Fraction(1, 3)) > Fraction(1, 3)
    (0.1, True)
    """
    found = float_up(x)
    while math.isfinite(found) and as_fraction(found) < x:
        found = math.nextafter(found, math.inf)
    return found


def check_alpha(x: Any) -> None:
    """Refuse what is no order of a Rényi divergence above 1."""
    if not is_number(x) or not x > 1:
        raise BadBudget(f"alpha must be a number above 1 (inf allowed), got {x!r}")


def check_epsilon(x: Any) -> None:
    """Refuse what is no epsilon."""
    if not is_number(x) or not x >= 0:
        raise BadBudget(f"epsilon must be a number >= 0 (inf allowed), got {x!r}")


def check_delta(x: Any, positive: bool = False) -> None:
    """Refuse what is no delta; with `positive` also zero."""
    if not is_number(x) or not 0 <= x < 1 or (positive and x == 0):
        raise BadBudget(f"delta must be a number in {'(' if positive else '['}0, 1), got {x!r}")
