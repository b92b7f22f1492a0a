"""The optimal conversion from a Rényi divergence to (epsilon, delta): where the best lines touch is searched in
doubles, and those lines prove it in balls (docs/proofs/conversions.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

_ACTIVE = 3
"""How many of the constraints that bind at the touching point make lines; two of them decide."""
_MOST_BITS = 20_000


def delta(orders: Mapping[Real, Fraction], epsilon: Fraction, symmetric: bool) -> float:
    """A proved upper bound on sup P(S) - e^epsilon Q(S), the least up to rounding, for finite positive divergences."""
    edges, constraints, pure = _split(orders, symmetric)
    least = 0.0  # about the logarithm of the optimal delta of one order: where the search begins
    for a, bound in ((float(a), float(a - 1) * float(e)) for a, e in orders.items() if not math.isinf(a)):
        room = bound if bound > 30 else math.log(math.expm1(bound))
        least = min(least, room - (a - 1) * float(epsilon) + a * math.log1p(-1 / a) - math.log(a - 1))
    e = float(epsilon)

    def height(x: Array) -> tuple[Array, Array]:
        """ln of p - e^epsilon q(p) at the logits x of p."""
        gap = e - _log_ratios(x, np.min(edges.reach(x), axis=1))[0]
        return np.where(gap < 0, _log(x) + np.log(-np.expm1(np.minimum(gap, -1e-300))), -1e9 - gap), x

    x, d, tight = _climb(edges, height, least - 60, _high(edges))
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
    left = math.log1p(-math.exp(log_delta))

    def height(z: Array) -> tuple[Array, Array]:
        """ln of (p - delta) / q(p), the steepest line through (0, delta), at p = (delta + e^z) / (1 + e^z)."""
        x = np.logaddexp(log_delta, z) - left
        return _log(z) - _log(x - np.min(edges.reach(x), axis=1)), x

    x, d, tight = _climb(edges, height, log_delta - 60, _high(edges))
    with balls.precision(_bits(x)):
        rest = balls.of(delta)
        log_t, log_s = _ratios(x, d)
        active = _active(constraints, tight)
        lines = _lines(active, pure, symmetric, log_t, log_s)
        slopes = [slope for c in active if (slope := c.slope_for(rest, log_s)) is not None]
        slopes += rest_at(rest, [Tangent(line.rest, line.slope) for line in lines])
        return min((_log_up(slope) for slope in slopes if slope.is_finite()), default=math.inf)


def _log_up(slope: arb) -> float:
    """A float at or above ln of every positive number in the ball; 0 where there is none: then p <= delta."""
    top = slope.upper()
    return balls.upper(top.log()) if top > 0 else 0.0


def _split(
    orders: Mapping[Real, Fraction], symmetric: bool
) -> tuple[DoubleConstraints, list[Constraint], Fraction | None]:
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
    return DoubleConstraints(powers, bounds, math.inf if pure is None else float(pure), symmetric), constraints, pure


def _lines(active: list[Constraint], pure: Fraction | None, symmetric: bool, log_t: arb, log_s: arb) -> list[Tangent]:
    lines = [Tangent(arb(0), arb(1))]  # p <= 1
    if log_t > log_s:
        lines += [c.line(log_t, log_s) for c in active]
    if pure is not None:  # p <= K q, and in the other order 1 - q <= K (1 - p), with K = e^pure
        k = balls.of(pure).exp()
        lines += [Tangent(k, arb(0)), *([Tangent(1 / k, 1 - 1 / k)] if symmetric else [])]
    return lines


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


def _high(edges: DoubleConstraints) -> float:
    """Where the search ends: 1 - p of about e^-high."""
    forward = edges.powers > 1
    if not forward.any():
        return 100.0 + edges.pure
    a = edges.powers[forward]
    return float(min(1e5, 100 + np.max(edges.log_bounds[forward] / (a - 1)) + 3 / (np.min(a) - 1)))


# Where the best tangents touch: a fast search in doubles that proves nothing and may miss by a little.
#
# The allowed pairs (p, q) form a convex set, so on its lower edge q(p) the quantity sought has one hill in p. The hill
# is found by zooming on a grid in the logit of p; q(p) is the largest of the lower ends that the constraints allow, by
# Newton's method in the distance of the logits. An error here costs tightness of second order, never the proof.


Array = NDArray[np.float64]
_POINTS, _ROUNDS, _STEPS = 17, 16, 40
_NEVER, _SETTLED = -1e300, 1e-12


@dataclass(frozen=True)
class DoubleConstraints:
    """The constraints as doubles: q (p/q)^b summed over both cells is at most e^log_bound; pure ones by epsilon."""

    powers: Array
    log_bounds: Array
    pure: float
    symmetric: bool

    def reach(self, x: Array) -> Array:
        """The largest d with q = sigmoid(x - d) allowed beside p = sigmoid(x), one column a constraint."""
        forward = self.powers > 1
        a, bound = self.powers[forward], self.log_bounds[forward]
        pure = []  # p <= K q, and 1 - q <= K (1 - p), solved for d
        if not math.isinf(self.pure):
            pure = [np.logaddexp(0.0, np.log(np.expm1(np.minimum(self.pure, 700.0))) - _log(-x))[:, None]]
            if self.symmetric:
                other = np.expm1(-self.pure) / np.exp(_log(x))
                pure.append(np.where(other > -1, -np.log1p(np.maximum(other, -1.0)), np.inf)[:, None])
        if not a.size:
            return np.concatenate(pure, axis=1)
        start = np.min([x - np.max((a * _log(x)[:, None] - bound) / (a - 1), axis=1), *[c[:, 0] for c in pure]], axis=0)
        # the d at which each constraint binds, at most that: Newton steps on the logarithm, kept in a bracket
        x, d = x[:, None], np.repeat(np.maximum(start, 0.0)[:, None], len(self.powers), axis=1)
        low, high = np.zeros_like(d), d
        for _ in range(_STEPS):
            excess, slope = self._excess(x, d)
            inside = excess <= 0
            low, high = np.where(inside, d, low), np.where(inside, high, d)
            step = np.where(d < 1, d * np.exp(-excess / (d * slope)), d - excess / slope)
            new = np.where((step > low) & (step < high), step, (low + high) / 2)
            new = np.where(np.abs(excess) < _SETTLED, d, new)  # else rounding would send it back to the middle
            done = bool(np.all(np.abs(new - d) <= 1e-11 * d))
            d = new
            if done:
                break
        return np.concatenate([d, *pure], axis=1)

    def _excess(self, x: Array, d: Array) -> tuple[Array, Array]:
        """The logarithm of (left side - 1) / (c - 1) and its derivative in d; without the 1 where c is large.

        left side - 1 = q g(ln p/q) + (1-q) g(ln (1-p)/(1-q)), g(v) = e^{bv} - 1 - b (e^v - 1) >= 0: no cancellation.
        """
        b, bound = self.powers, self.log_bounds
        t, s = _log_ratios(x, d)
        log_q, log_rest = _log(x - d), _log(d - x)
        one, two = b * t + log_q, b * s + log_rest
        both = np.logaddexp(one, two)
        small = _above_tangent(b, t, log_q) + _above_tangent(b, s, log_rest)
        steep = (b - 1) * np.exp(log_q + log_rest + b * s - both) * np.expm1(np.minimum(b * (t - s), 700.0))
        far = (b - 1) * (np.exp(one + log_rest - both) - np.exp(two + log_q - both))
        slope = np.where(np.abs(b * (t - s)) < 1, steep, far)
        return (
            np.where(bound < 30, np.log(small) - np.log(np.expm1(bound)), both - bound),
            np.where(bound < 30, slope * np.exp(both) / small, slope),
        )


def _above_tangent(b: Array, v: Array, log_q: Array) -> Array:
    """q (e^{bv} - 1 - b (e^v - 1)), by its series where it would cancel and in logarithms where it would overflow."""
    q = np.exp(log_q)
    series = b * (b - 1) * v * v / 2 * (1 + (b + 1) * v / 3 + (b * b + b + 1) * v * v / 12)
    near = np.where(np.maximum(np.abs(b), 1) * np.abs(v) < 1e-4, series, np.expm1(b * v) - b * np.expm1(v))
    return np.where(np.abs(v) < 1, q * near, np.exp(b * v + log_q) - q - b * (np.exp(v + log_q) - q))


def _log_ratios(x: Array, d: Array) -> tuple[Array, Array]:
    """ln p/q and ln (1-p)/(1-q) for the logits x and x - d."""
    far = d > 30
    t = np.where(far, _log(x) - _log(x - d), np.log1p(np.exp(_log(-x)) * np.expm1(np.minimum(d, 31.0))))
    s = np.where(far, _log(-x) - _log(d - x), np.log1p(np.exp(_log(x)) * np.expm1(-d)))
    return t, s


def _log(x: Array) -> Array:
    """log p for p = sigmoid(x)."""
    return -np.logaddexp(0.0, -x)


def _climb(edges: DoubleConstraints, height, low: float, high: float) -> tuple[float, float, Array]:  # type: ignore[no-untyped-def]
    # Dense where p is neither near 0 nor near 1: close to 1 the hill may be a plain, on which rounding would lead
    near_zero, near_one = np.linspace(min(low, -41.0), -40.0, _POINTS), np.geomspace(41.0, max(high, 42.0), 12)
    best, grid = low, np.unique(np.concatenate([near_zero, np.linspace(-40.0, 40.0, 33), near_one]))
    with np.errstate(all="ignore"):
        for _ in range(_ROUNDS):
            values, places = height(grid)
            k = int(np.argmax(np.where(np.isnan(values), _NEVER, values)))
            best = float(places[k])
            low, high = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
            if high - low < 1e-7 * max(1.0, abs(low)):
                break
            grid = np.linspace(low, high, _POINTS)
        x = np.array([[best]])
        d = float(np.min(edges.reach(x[0])))
        return best, d, np.nan_to_num(edges._excess(x, np.array([[d]]))[0][0], nan=_NEVER)


# Straight lines above everything that a Rényi divergence allows, in ball arithmetic: the proof of a conversion.
#
# Let p = P(S), q = Q(S) for an event S. D_a(P || Q) <= eR implies, by data processing, F(p, q) + F(1-p, 1-q) <= c with
# F(p, q) = q f(p/q), f(x) = x^b, b = a, c = e^{(a-1) eR}; the other order of the pair gives the same with b = 1 - a.
# F is convex and homogeneous, so it lies above its tangent planes: F(p, q) >= f'(t) p - h(t) q, h(x) = x f'(x) - f(x).
# Two of them, at any 0 < s < t, give  p <= r + kappa q  with
#
#     kappa = (h(t) - h(s)) / (f'(t) - f'(s)),     r = (c - f'(s) + h(s)) / (f'(t) - f'(s)).
#
# A line with kappa <= e^eps proves P(S) - e^eps Q(S) <= r, because q >= 0. Two lines may be averaged.
# All of it holds for every choice of t and s; the choice decides how tight it is (docs/proofs/conversions.md).


@dataclass(frozen=True)
class Tangent:
    """p <= rest + slope q for every event."""

    slope: arb
    rest: arb


@dataclass(frozen=True)
class Constraint:
    """sum of q (p/q)^power over the event and its complement is at most e^log_bound."""

    power: Fraction
    log_bound: Fraction

    def line(self, log_t: arb, log_s: arb) -> Tangent:
        """The line of this constraint at the ratios t > s > 0."""
        rise = self._slope_of_f(log_t) - self._slope_of_f(log_s)
        steep = self._h(log_t) - self._h(log_s)
        return Tangent(steep / rise, self.room(log_s) / rise)

    def room(self, log_s: arb) -> arb:
        """c - f'(s) + h(s); at least c - 1 because f is convex with f(1) = 1."""
        spare: arb = balls.of(self.log_bound).expm1() + (1 - self._slope_of_f(log_s) + self._h(log_s))
        return spare

    def line_below(self, slope: arb, log_s: arb) -> Tangent | None:
        """The line with this s and the largest t for which the slope is proved to be at most `slope`.

        The slope is the mean of x over [s, t] with weight f''(x), so it grows with t and lies between s and t."""
        b = balls.of(self.power)
        low = slope.log().mid()
        if not low > log_s:
            return None
        high = (low + (b / (b - 1)).log().mid()) if self.power > 1 else low + 64
        best = None
        for _ in range(_HALVINGS):
            middle = ((low + high) / 2).mid()
            found = self.line(middle, log_s)
            if found.slope <= slope:
                low, best = middle, found
            else:
                high = middle
        return best

    def slope_for(self, rest: arb, log_s: arb) -> arb | None:
        """The slope of the line with this s and this rest: t solves f'(t) = f'(s) + room / rest, or there is none."""
        b = balls.of(self.power)
        rise = self.room(log_s) / rest
        base = ((b - 1) * log_s).exp() + rise / b
        if not base > 0 or not rise > 0:
            return None
        log_t = base.log() / (b - 1)
        slope: arb = (self._h(log_t) - self._h(log_s)) / rise
        return slope

    def _slope_of_f(self, log_x: arb) -> arb:
        b = balls.of(self.power)
        return b * ((b - 1) * log_x).exp()

    def _h(self, log_x: arb) -> arb:
        b = balls.of(self.power)
        return (b - 1) * (b * log_x).exp()


_HALVINGS = 160


def rest_at(slope: arb, lines: list[Tangent]) -> list[arb]:
    """Every proved bound on p - slope q from one line or from the average of two; of lines with slope and rest changed
    for one another, every proved slope of a line with this rest."""
    found = [line.rest for line in lines if line.slope <= slope]
    for low in lines:
        for high in lines:
            if low.slope < slope and high.slope > slope:
                share = (slope - low.slope) / (high.slope - low.slope)
                found.append(low.rest + share * (high.rest - low.rest))
    return found
