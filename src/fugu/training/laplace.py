"""The price of Laplace noise: R_alpha(Lap^d, l2, a) = d h(a / (b sqrt d)), with the least total allocation.

    h(u) = ln( (alpha e^{(alpha-1) u} + (alpha-1) e^{-alpha u}) / (2 alpha - 1) ) / (alpha-1) <= min(u, alpha u^2 / 2)

(loss/shift.py has the formula in d dimensions; the last part: Bun and Steinke 2016, Proposition 3.3). h is convex.
Without contraction and with one noise the isotonic allocation is the least for every convex price, as it is majorised
by every other. Otherwise it is only a start: Newton's method replaces the price by its second-order model, whose least
allocation is again an isotonic regression. Every allocation that pays for the shifts is a proof; the search is not.
"""

from __future__ import annotations

import math

import numpy as np

from fugu.training.allocation import feasible, isotonic
from fugu.training.laplace_blocks import LONGEST, blocks
from fugu.training.steps import UNIT, Floats, Steps

_ROUNDS, _SETTLED, _FLOOR = 30, 1e-12, 1e-9


def price(steps: Steps, alpha: float, dimension: int) -> float:
    """A float at or above the least sum of R_alpha(Lap(scale_t)^d, a_t)."""
    if not steps.shifts.any():
        return 0.0
    if math.isinf(alpha):
        return _pure(steps, dimension)
    steps = steps.recent()
    if not steps.shifts.any():
        return 1e-300
    best = isotonic(steps)
    value = _total(steps, best, alpha, dimension)
    for _ in range(0 if steps.alike else _ROUNDS):
        aims = [_model(steps, best, alpha, dimension, newton) for newton in (True, False)]
        tried = [best + share * (aim - best) for aim in aims for share in (1.0, 0.5, 0.125)]
        values = [_total(steps, hidden, alpha, dimension) for hidden in tried]
        k = int(np.argmin(values))
        if not values[k] < value * (1 - _SETTLED):
            break
        best, value = tried[k], values[k]
    found = _total(steps, feasible(steps, best), alpha, dimension)
    if steps.alike or steps.scales.size > 1 or steps.shifts.size > LONGEST:
        return found
    return min(found, _total(steps, feasible(steps, blocks(steps, alpha, dimension)), alpha, dimension))


def _total(steps: Steps, hidden: Floats, alpha: float, dimension: int) -> float:
    """The sum of the prices, from above: both the formula, raised by its rounding error, and alpha u^2 / 2 bound h."""
    u = np.abs(hidden) / (steps.scales * math.sqrt(dimension))
    a = alpha - 1
    far = -np.expm1(-(a + alpha) * u) * a / (a + alpha)
    formula = u + np.log1p(-np.minimum(far, 1.0)) / a + 8 * UNIT * (u + (1 + far) / a)
    near = np.minimum(u, 0.5 / alpha)  # there the two terms of the sum are seen apart, which keeps its digits
    grows, falls = alpha * np.expm1(a * near), -a * np.expm1(-alpha * near)
    exact = np.log1p((grows - falls + 8 * UNIT * (grows + falls)) / (a + alpha)) / a * (1 + 8 * UNIT)
    formula = np.where(u < 0.5 / alpha, exact, np.maximum(formula, 0.0))
    each = np.minimum(np.minimum(u, alpha * u * u / 2), formula)
    return max(1e-300, dimension * float(np.sum(each)) * (1 + 128 * UNIT))


def _model(steps: Steps, hidden: Floats, alpha: float, dimension: int, newton: bool) -> Floats:
    """The least allocation for a quadratic model of the price at `hidden`.

    Newton's has the slope and the curvature of the price. The other lies above it everywhere and touches it, as h'(u)/u
    does not increase: h(x) <= h(u) + h'(u) (x^2 - u^2) / (2 u); it never overshoots, and is the problem of Gaussian
    noise. In between entries may be negative; the price is even."""
    from scipy.optimize import isotonic_regression

    w, b = steps.weights(), steps.scales * math.sqrt(dimension)
    a, shifts = hidden, steps.shifts
    u = np.maximum(np.abs(a) / b, _FLOOR)
    far = np.exp(-(2 * alpha - 1) * u)
    below = alpha + (alpha - 1) * far
    slope = alpha * -np.expm1(-(2 * alpha - 1) * u) / below
    if newton:
        bend = alpha * np.maximum((2 * alpha - 1) ** 2 * far / below**2, _FLOOR) / (b * w) ** 2
        steep = np.sign(a) * slope / (b * w)
        level = isotonic_regression((w * shifts - w * a) * bend + steep, weights=1 / bend).x
        aim = (w * a + (level - steep) / bend) / w
    else:
        bend = slope / u / (b * w) ** 2
        aim = isotonic_regression(w * shifts * bend, weights=1 / bend).x / bend / w
    return np.asarray(aim)


def _pure(steps: Steps, dimension: int) -> float:
    """alpha = inf, price sqrt(d) a / b: each shift is hidden where what is left of it is cheapest.

    sum_t s_t min_{e >= t} (c_{t+1} ... c_e) sqrt(d) / b_e, in logarithms; their rounding is charged in full."""
    size = steps.shifts.size
    scale = np.broadcast_to(steps.scales, (size,))
    rates = np.broadcast_to(steps.contraction, (size,)).copy()
    rates[0] = 1.0
    start = int(np.flatnonzero(rates == 0)[-1]) if (rates == 0).any() else 0
    rates[start] = 1.0
    kept = np.cumsum(np.log(rates[start:]))
    cheapest = np.minimum.accumulate((kept - np.log(scale[start:]))[::-1])[::-1]
    with np.errstate(under="ignore"):
        prices = np.maximum(np.exp(cheapest - kept), 1e-300)
    error = (8 + 4 * size) * UNIT * (1 + float(np.abs(kept).max()) + float(np.abs(np.log(scale)).max()))
    return float(np.sum(steps.shifts[start:] * prices)) * math.sqrt(dimension) * math.exp(error) * (1 + 128 * UNIT)
