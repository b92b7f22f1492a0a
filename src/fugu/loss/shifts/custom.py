"""The divergence of a custom noise from its shift: quadrature in balls, the declared tail, and the declared slope."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb

from fugu.errors import NotProvable
from fugu.guarantee import pure_as_renyi
from fugu.noise.custom import BITS, CustomNoise
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction

_NEGLIGIBLE = Fraction(1, 2**60)
_TOLERANCE = 0.02
_MOST = 256


def log_moment(noise: CustomNoise, a: Fraction, shift: Fraction) -> arb:
    """log I(x) with I(x) = integral of p(y) (p(y) / p(y + x))^(a-1) dy = exp((a-1) D_a(N shifted by x || N)).

    As p(y) / p(y + x) <= e^{L |x|}, what |y| > r adds lies between 0 and e^{(a-1) L |x|} tail(r). r is chosen so that
    this is below 2^-60; it is added all the same.
    """
    with balls.precision(BITS):
        x, up, down = balls.of(shift), balls.of(a), balls.of(a - 1)
        factor = (down * balls.of(as_fraction(noise.slope) * abs(shift))).exp()
        radius = noise.radius(balls.of(_NEGLIGIBLE) / factor)

        def integrand(y: acb, analytic: bool) -> acb:
            here = noise.density(y, analytic).log(analytic=analytic)
            there = noise.density(y + x, analytic).log(analytic=analytic)
            return (up * here - down * there).exp()

        cuts = tuple(as_fraction(c) for c in noise.cuts)
        inside = noise.integral(integrand, -radius, radius, cuts + tuple(c - shift for c in cuts))
        return (inside + arb(0).union((factor * noise.beyond(radius)).upper())).log()


def custom_renyi(noise: CustomNoise, distance: Fraction, a: Fraction | None, dimension: int) -> float:
    """A float at or above the sup over |x| <= distance of D_a(N shifted by x || N), a = None for inf.

    a = inf: at most L distance. Symmetric unimodal p: D_a does not decrease in |x|, so the sup is at the end. (For C >
    0 both p^a and C - min(p^(1-a), C) are symmetric and non-increasing in |y|, and so is their convolution (layer
    cake); let C grow.) Else, as p(y) / p(y + x') is within e^{L |x - x'|} of p(y) / p(y + x), D_a(x') - D_a(x) is at
    most L |x - x'|; [-distance, distance] is halved until the bound is within 2 % of a value that is attained, or
    refused.
    """
    if dimension > 1:
        raise NotProvable("a custom noise is analysed in one dimension only")
    slope = as_fraction(noise.slope)
    with balls.precision(BITS):
        if a is None:
            return balls.upper(balls.of(slope * distance))
        pure = pure_as_renyi(slope * distance, a)
        if noise.unimodal:
            return min(pure, _divergence(noise, a, distance))
    return min(pure, _searched(noise, a, distance, slope))


def _divergence(noise: CustomNoise, a: Fraction, shift: Fraction) -> float:
    """D_a at one shift, rounded up, never below 0."""
    return max(0.0, balls.upper(log_moment(noise, a, shift) / balls.of(a - 1)))


def _searched(noise: CustomNoise, a: Fraction, distance: Fraction, slope: Fraction) -> float:
    """max over cells [x, x'] of (D(x) + D(x') + L (x' - x)) / 2, the cell with the largest bound halved first.

    A cell of width w is bounded by L w / 2 at least: where that asks for too many cells, it is refused at once."""
    with balls.precision(BITS):
        values = {x: (_divergence(noise, a, x) if x else 0.0) for x in (-distance, Fraction(0), distance)}
        cells = [(-distance, Fraction(0)), (Fraction(0), distance)]
        while True:
            bounds = [balls.upper((arb(values[x]) + arb(values[y]) + balls.of(slope * (y - x))) / 2) for x, y in cells]
            worst = max(bounds)
            best = max(values.values())
            if worst <= best * (1 + _TOLERANCE):
                return worst
            cells_needed = float(slope * distance) / (1 + _TOLERANCE) / best if best > 0 else math.inf
            if len(values) > _MOST or cells_needed > _MOST:
                raise NotProvable(
                    f"the slope of noise {noise.name!r} bounds its loss under shifts up to {float(distance):g} only to"
                    f" {worst:.3g}, not to 2 %; declare unimodal=True if that is so"
                )
            x, y = cells.pop(bounds.index(worst))
            middle = (x + y) / 2
            values[middle] = _divergence(noise, a, middle)
            cells += [(x, middle), (middle, y)]
