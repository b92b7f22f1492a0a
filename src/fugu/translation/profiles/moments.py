"""A Rényi divergence from a profile.

    int P^a Q^(1-a) = 1 + a (a-1) [ int_1^inf g^(a-2) E_g dg + int_0^1 g^(a-2) (E_g - (1 - g)) dg ],

with E_g = E_g(P || Q), as u^a has the second derivative a (a-1) u^(a-2). E_g is convex in g, so between two lines it is
at most the mean of their b: each piece has a closed form, evaluated in balls. Beyond the steepest line E_g is at most
its b, and at most what a divergence R of a larger order r says: ((r-1)^(r-1) / r^r) e^((r-1) R) g^(1-r).

Proofs: docs/proofs/profiles.md#back-to-renyi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from fugu.numbers import balls
from fugu.translation.profiles.lines import Lines

_BITS = 192


@dataclass(frozen=True)
class Tail:
    """A proved divergence of a larger order."""

    order: Fraction
    divergence: float


def divergence(lines: Lines, alpha: Fraction, tails: list[Tail]) -> float:
    """An upper bound on D_alpha(P || Q) where P(S) <= lines(Q(S)) for every event S; inf if the tail is not bounded.

    Parameters: `lines`; `alpha`, a finite order above 1; `tails`, divergences of larger orders of the same P and Q."""
    with balls.precision(_BITS):
        a = balls.of(alpha)
        points = [(arb(float(x)), arb(float(y))) for x, y in zip(lines.a, lines.b, strict=True)]
        total = arb(0)
        for (g1, e1), (g0, e0) in pairwise(points):
            total += _piece(a, g0, e0, g1, e1)
        if float(lines.a[0]) < 1:
            return math.inf
        if float(lines.b[0]) > 0:
            rest = [_beyond(a, alpha, *points[0], tail) for tail in tails if tail.order > alpha]
            if not rest or not all(r.is_finite() for r in rest):
                return math.inf
            total += min(rest, key=balls.upper)
        total = total if total > 0 else arb(max(0.0, balls.upper(total)))
        return max(0.0, balls.upper(total.log1p() / (a - 1)))


def _piece(a: arb, g0: arb, e0: arb, g1: arb, e1: arb) -> arb:
    """a (a-1) times the integral of g^(a-2) (E_g - (1 - g)_+) from g0 to g1 with E_g linear; 1 cuts a piece in two."""
    if g0 < 1 < g1:
        middle = e0 + (e1 - e0) * (1 - g0) / (g1 - g0)
        return _piece(a, g0, e0, arb(1), middle) + _piece(a, arb(1), middle, g1, e1)
    if g1 <= 1:
        e0, e1 = e0 - (1 - g0), e1 - (1 - g1)
    slope = (e1 - e0) / (g1 - g0)
    level = e0 - slope * g0
    return a * level * (_power(g1, a - 1) - _power(g0, a - 1)) + (a - 1) * slope * (_power(g1, a) - _power(g0, a))


def _power(g: arb, a: arb) -> arb:
    return g**a if g > 0 else arb(0)


def _beyond(a: arb, alpha: Fraction, g: arb, e: arb, tail: Tail) -> arb:
    """a (a-1) times the integral beyond g: E <= e up to where the tail is below it, then the tail."""
    if not math.isfinite(tail.divergence):
        return arb("inf")
    r, d = balls.of(tail.order), arb(tail.divergence)
    log_c = (r - 1) * d + (r - 1) * (r - 1).log() - r * r.log()
    start = arb(max(balls.upper(g.log()), balls.upper((log_c - e.log()) / (r - 1))))
    flat = a * e * (((a - 1) * start).exp() - g ** (a - 1))
    return flat + a * (a - 1) * (log_c + (a - r) * start).exp() / balls.of(tail.order - alpha)
