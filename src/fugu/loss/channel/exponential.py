"""e^epsilon against rationals, decided exactly: a channel of least error meets its budget with nothing to spare."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.numbers import balls

_BITS = (128, 512, 2048, 8192)
_FINE = 192
"""Bits of the rational below e^epsilon that positive parts are taken with."""


def at_most_exp(ratio: Fraction | None, epsilon: Fraction) -> bool:
    """Whether ratio <= e^epsilon, proved; None stands for an infinite ratio.

    For a rational epsilon > 0 no rational is equal to e^epsilon (Lindemann), so more bits decide at last; what they do
    not decide counts as above.

    >>> at_most_exp(Fraction(2), Fraction(1)), at_most_exp(Fraction(1), Fraction(0)), at_most_exp(None, Fraction(9))
    (True, True, False)
    """
    if ratio is None:
        return False
    if ratio <= 1:
        return True
    for bits in _BITS if epsilon > 0 else ():
        with balls.precision(bits):
            found = balls.of(ratio).log()
            if found <= balls.of(epsilon):
                return True
            if found > balls.of(epsilon):
                return False
    return False


def log_up(ratio: Fraction | None) -> float:
    """A float at or above ln(ratio), for a ratio >= 1; inf for None.

    >>> log_up(Fraction(1)), log_up(None)
    (0.0, inf)
    """
    if ratio is None:
        return math.inf
    with balls.precision(_BITS[0]):
        return 0.0 if ratio <= 1 else balls.upper(balls.of(ratio).log())


def exp_below(epsilon: Fraction) -> Fraction:
    """A rational at or below e^epsilon, within 2^-180 of it relatively; 1 at 0.

    >>> exp_below(Fraction(0)), float(exp_below(Fraction(1)))
    (Fraction(1, 1), 2.718281828459045)
    """
    if epsilon == 0:
        return Fraction(1)
    with balls.precision(_FINE):
        mantissa, exponent = balls.of(epsilon).exp().lower().man_exp()
    whole, power = int(mantissa), int(exponent)
    return Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power)
