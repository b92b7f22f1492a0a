"""Straight lines above everything that a Rényi divergence allows, in ball arithmetic: the proof of a conversion.

Let p = P(S), q = Q(S) for an event S. D_a(P || Q) <= eR implies, by data processing, F(p, q) + F(1-p, 1-q) <= c with
F(p, q) = q f(p/q), f(x) = x^b, b = a, c = e^{(a-1) eR}; the other order of the pair gives the same with b = 1 - a.
F is convex and homogeneous, so it lies above its tangent planes: F(p, q) >= f'(t) p - h(t) q, h(x) = x f'(x) - f(x).
Two of them, at any 0 < s < t, give  p <= r + kappa q  with

    kappa = (h(t) - h(s)) / (f'(t) - f'(s)),     r = (c - f'(s) + h(s)) / (f'(t) - f'(s)).

A line with kappa <= e^eps proves P(S) - e^eps Q(S) <= r, because q >= 0. Two lines may be averaged.
All of it holds for every choice of t and s; the choice decides how tight it is (docs/proofs/conversions.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from fugu.numbers import balls


@dataclass(frozen=True)
class Line:
    """p <= rest + slope q for every event."""

    slope: arb
    rest: arb


@dataclass(frozen=True)
class Constraint:
    """sum of q (p/q)^power over the event and its complement is at most e^log_bound."""

    power: Fraction
    log_bound: Fraction

    def line(self, log_t: arb, log_s: arb) -> Line:
        """The line of this constraint at the ratios t > s > 0."""
        rise = self._slope_of_f(log_t) - self._slope_of_f(log_s)
        steep = self._h(log_t) - self._h(log_s)
        return Line(steep / rise, self.room(log_s) / rise)

    def room(self, log_s: arb) -> arb:
        """c - f'(s) + h(s); at least c - 1 because f is convex with f(1) = 1."""
        spare: arb = balls.of(self.log_bound).expm1() + (1 - self._slope_of_f(log_s) + self._h(log_s))
        return spare

    def line_below(self, slope: arb, log_s: arb) -> Line | None:
        """The line with this s and the largest t for which the slope is proved to be at most `slope`.

        The slope is the mean of x over [s, t] with weight f''(x), so it grows with t and lies between s and t."""
        b = balls.of(self.power)
        low = slope.log().mid()
        if not low > log_s:
            return None
        high = (low + (b / (b - 1)).log().mid()) if self.power > 1 else low + 64
        best = None
        for _ in range(_STEPS):
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


_STEPS = 160


def pure_lines(epsilon: Fraction, symmetric: bool) -> list[Line]:
    """p <= K q, and in the other order 1 - q <= K (1 - p), with K = e^epsilon."""
    k = balls.of(epsilon).exp()
    return [Line(k, arb(0)), *([Line(1 / k, 1 - 1 / k)] if symmetric else [])]


def rest_at(slope: arb, lines: list[Line]) -> list[arb]:
    """Every proved bound on p - slope q from one line or from the average of two."""
    found = [line.rest for line in lines if line.slope <= slope]
    for low in lines:
        for high in lines:
            if low.slope < slope and high.slope > slope:
                share = (slope - low.slope) / (high.slope - low.slope)
                found.append(low.rest + share * (high.rest - low.rest))
    return found


def slope_at(rest: arb, lines: list[Line]) -> list[arb]:
    """Every proved slope of a line with this rest, from one line or from the average of two."""
    found = [line.slope for line in lines if line.rest <= rest]
    for low in lines:
        for high in lines:
            if low.rest < rest and high.rest > rest:
                share = (rest - low.rest) / (high.rest - low.rest)
                found.append(low.slope + share * (high.slope - low.slope))
    return found
