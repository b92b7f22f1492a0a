"""The window outside of which a sum of independent numbers has next to no mass, by Bennett's inequality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from flint import arb

from fugu.laws.term import Term
from fugu.numbers import balls

TAIL = 1e-17
"""The mass that may lie beyond either end of the window."""
_BITS = 192
_MARGIN = 1e-12


@dataclass(frozen=True)
class Window:
    """low <= S <= high but for a probability of at most `outside`."""

    low: int
    high: int
    outside: float

    @property
    def width(self) -> int:
        """How many whole numbers it holds."""
        return self.high - self.low + 1


def enclose(terms: Sequence[Term], tail: float = TAIL) -> Window:
    """A window with P(S < low) <= tail and P(S > high) <= tail; an end that is an end of the support costs nothing.

    Moments are doubles. The mean m is within 8 units of 2^-53 of itself, so less than 1 off (sums stay below 10^15),
    and an integer S > high >= m + s is at least s above the true mean. E (X - c)^2 >= Var X for every c, so V is on the
    safe side wherever its centre falls; the margin of 1e-12 covers its rounding and that of the bounds.

    >>> enclose([Term([0, 1], [1, 1], 2, times=10**6)], 1e-15).width
    8325
    """
    span = sum(term.times * term.at[-1] for term in terms)
    means, seconds, up, down = [], [], 0.0, 0.0
    for term in terms:
        weights = term.floats()
        mean = math.fsum(w * k for w, k in zip(weights, term.at, strict=True))
        second = math.fsum(w * (k - mean) ** 2 for w, k in zip(weights, term.at, strict=True))
        means.append(term.times * mean)
        seconds.append(term.times * second)
        up, down = max(up, term.at[-1] - mean), max(down, mean)
    mean, margin = math.fsum(means), _MARGIN * max(term.at[-1] for term in terms)
    with balls.precision(_BITS):
        variance = arb(math.fsum(seconds)) * arb(1 + _MARGIN)
        above, beyond = _distance(variance, arb(up) + arb(margin), tail, span)
        below, before = _distance(variance, arb(down) + arb(margin), tail, span)
    low, high = max(0, math.floor(mean - below)), min(span, math.ceil(mean + above))
    return Window(low, high, math.fsum([before if low > 0 else 0.0, beyond if high < span else 0.0]) * (1 + _MARGIN))


def bennett(variance: arb, bound: arb, distance: int) -> arb:
    """P(S - E S >= s) <= exp(-(V / b^2) h(b s / V)), h(u) = (1 + u) ln(1 + u) - u, if all X_i - E X_i <= b.

    Bennett 1962; Boucheron, Lugosi, Massart 2013, Theorem 2.9. V is the variance of S, or anything above it."""
    u = bound * distance / variance
    return (-(variance / bound**2) * ((1 + u) * u.log1p() - u)).exp()


def _distance(variance: arb, bound: arb, tail: float, span: int) -> tuple[int, float]:
    """The least whole distance at which Bennett's bound is at most `tail` (at most the span), and the bound there."""
    low, high = 0, 1
    while high <= span and not bennett(variance, bound, high) <= tail:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bennett(variance, bound, middle) <= tail else (middle, high)
    return high, balls.upper(bennett(variance, bound, high))
