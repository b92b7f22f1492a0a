"""The optimal conversion: search where the best lines touch, then prove by those lines (docs/proofs/conversions.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.guarantee.search import Edges, hill_for_delta, hill_for_epsilon
from fugu.guarantee.tangents import Constraint, Line, pure_lines, rest_at, slope_at
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

_ACTIVE = 3
"""How many of the constraints that bind at the touching point make lines; two of them decide."""
_MOST_BITS = 20_000


def delta(orders: Mapping[Real, Fraction], epsilon: Fraction, symmetric: bool) -> float:
    """A proved upper bound on sup P(S) - e^epsilon Q(S), the least up to rounding, for finite positive divergences."""
    edges, constraints, pure = _split(orders, symmetric)
    least = min((_log_delta(a, float(e), float(epsilon)) for a, e in orders.items()), default=0.0)
    low, high = min(least, 0.0) - 60, _high(edges)
    x, d, tight = hill_for_delta(edges, float(epsilon), low, high)
    with balls.precision(_bits(x)):
        slope = balls.of(epsilon).exp()
        log_t, log_s = _ratios(x, d)
        active = _active(constraints, tight)
        lines = _lines(active, pure, symmetric, log_t, log_s)
        lines += [line for c in active if (line := c.line_below(slope, log_s)) is not None]
        return min((balls.upper(r) for r in rest_at(slope, lines)), default=1.0)


def epsilon(orders: Mapping[Real, Fraction], delta: Fraction, symmetric: bool) -> float:
    """A proved upper bound on the least epsilon at `delta`, for finite positive divergences; may be below zero."""
    edges, constraints, pure = _split(orders, symmetric)
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    x, d, tight = hill_for_epsilon(edges, log_delta, log_delta - 60, _high(edges))
    with balls.precision(_bits(x)):
        rest = balls.of(delta)
        log_t, log_s = _ratios(x, d)
        active = _active(constraints, tight)
        lines = _lines(active, pure, symmetric, log_t, log_s)
        slopes = [slope for c in active if (slope := c.slope_for(rest, log_s)) is not None]
        proved = [slope for slope in slopes + slope_at(rest, lines) if slope.is_finite()]
        return min(map(_log_up, proved), default=math.inf)


def _log_up(slope: arb) -> float:
    """A float at or above ln of every positive number in the ball; 0 where there is none: then p <= delta."""
    top = slope.upper()
    return balls.upper(top.log()) if top > 0 else 0.0


def _split(orders: Mapping[Real, Fraction], symmetric: bool) -> tuple[Edges, list[Constraint], Fraction | None]:
    """Constraints of finite order, in one or both directions, and the pure epsilon if there is one."""
    pure = orders.get(math.inf)
    constraints = []
    for alpha, e in orders.items():
        if not math.isinf(alpha):
            a = as_fraction(alpha)
            constraints.append(Constraint(a, (a - 1) * e))
            if symmetric:
                constraints.append(Constraint(1 - a, (a - 1) * e))
    powers = np.array([float(c.power) for c in constraints])
    bounds = np.array([float(c.log_bound) for c in constraints])
    return Edges(powers, bounds, math.inf if pure is None else float(pure), symmetric), constraints, pure


def _lines(active: list[Constraint], pure: Fraction | None, symmetric: bool, log_t: arb, log_s: arb) -> list[Line]:
    lines = [Line(arb(0), arb(1))]  # p <= 1
    if log_t > log_s:
        lines += [c.line(log_t, log_s) for c in active]
    return lines + (pure_lines(pure, symmetric) if pure is not None else [])


def _active(constraints: list[Constraint], tight: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Constraint]:
    """Those that bind most tightly at the touching point."""
    ranked = np.argsort(-tight, kind="stable")
    return [constraints[int(k)] for k in ranked[:_ACTIVE]]


def _ratios(x: float, d: float) -> tuple[arb, arb]:
    """log p/q and log (1-p)/(1-q) for the logits x, x - d, as exact numbers: any two with the first larger will do."""
    p = balls.of(x)
    q = p - balls.of(d)

    def log(z: arb) -> arb:
        return -(1 + (-z).exp()).log()

    return (log(p) - log(q)).mid(), (log(-p) - log(-q)).mid()


def _bits(x: float) -> int:
    """Enough to see 1 - p beside 1 twice over."""
    return int(min(_MOST_BITS, 256 + 3 * abs(x)))


def _log_delta(alpha: Real, renyi: float, epsilon: float) -> float:
    """About the logarithm of the optimal delta of one order: where the search begins."""
    if math.isinf(alpha):
        return 0.0
    a = float(alpha)
    bound = (a - 1) * renyi
    room = bound if bound > 30 else math.log(math.expm1(bound))
    return min(0.0, room - (a - 1) * epsilon + a * math.log1p(-1 / a) - math.log(a - 1))


def _high(edges: Edges) -> float:
    """Where the search ends: 1 - p of about e^-high."""
    forward = edges.powers > 1
    if not forward.any():
        return 100.0 + edges.pure
    a = edges.powers[forward]
    return float(min(1e5, 100 + np.max(edges.log_bounds[forward] / (a - 1)) + 3 / (np.min(a) - 1)))
