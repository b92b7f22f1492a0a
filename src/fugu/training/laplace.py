"""The price of Laplace noise: R_alpha(Lap^d, l2, a) = d h(a / (b sqrt d)), with the least total allocation.

    h(u) = ln( (alpha e^{(alpha-1) u} + (alpha-1) e^{-alpha u}) / (2 alpha - 1) ) / (alpha-1) <= min(u, alpha u^2 / 2)

(loss/shift.py has the formula in d dimensions; the last part: Bun and Steinke 2016, Proposition 3.3). h is convex.
Without contraction and with one noise the isotonic allocation is the least for every convex price, as it is majorised
by every other. Otherwise it is only a start: Newton's method replaces the price by its second-order model, whose least
allocation is again an isotonic regression. Every allocation that pays for the shifts is a proof; the search is not.

For short runs the least allocation is also looked for block by block, as the quadratic models may stop short of it.
In b_t = w_t a_t the problem is a sum of convex prices under tail sums, so the least allocation has blocks within which
the slope of the price per unit of b is one number, larger from block to block (pool adjacent violators for convex
prices: Best, Chakravarti and Ubhaya 2000). With g_t = c_{t+1} ... c_e up to the end e of its block, the slope of the
price at a_t is g_t l, 0 <= l < 1, and solves to

    u = ln(1 + (2 - 1/alpha) g l / (1 - g l)) / (2 alpha - 1),    a = b sqrt(d) u.

l is where the block pays for its own shifts, sum g_t a_t = sum g_t s_t, by bisection in x, l = 1 - e^{-x}.
"""

from __future__ import annotations

import math

import numpy as np

from fugu.training.allocation import feasible, isotonic
from fugu.training.steps import UNIT, Floats, Steps

_ROUNDS, _SETTLED, _FLOOR = 30, 1e-12, 1e-9
_LONGEST, _HALVINGS = 40, 70


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
    if steps.alike or steps.scales.size > 1 or steps.shifts.size > _LONGEST:
        return found
    return min(found, _total(steps, feasible(steps, _blocks(steps, alpha, dimension)), alpha, dimension))


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


def _blocks(steps: Steps, alpha: float, dimension: int) -> Floats:
    """The allocation in doubles, for one noise at all steps: it proves nothing and may miss by a little."""
    size = steps.shifts.size
    contraction = np.broadcast_to(steps.contraction, (size,))
    root = float(steps.scales[0]) * math.sqrt(dimension)
    found: list[tuple[int, Floats]] = []
    for t in range(size):
        start, hidden = t, _block(steps, contraction, t, t, alpha, root)
        while found and _slope(found[-1][1][-1], alpha, root) > contraction[start] * _slope(hidden[0], alpha, root):
            start = found.pop()[0]
            hidden = _block(steps, contraction, start, t, alpha, root)
        found.append((start, hidden))
    return np.concatenate([hidden for _, hidden in found])


def _block(steps: Steps, contraction: Floats, start: int, end: int, alpha: float, root: float) -> Floats:
    """What each step of a block hides, so that together they hide what the block moves."""
    left = np.concatenate((contraction[start + 1 : end + 1], [1.0]))
    g: Floats = np.asarray(np.cumprod(left[::-1])[::-1], dtype=np.float64)
    total = float(g @ steps.shifts[start : end + 1])
    if total == 0:
        return np.zeros(g.size)
    low, high = -700.0, math.log(1e6)  # of ln x
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = float(g @ _hidden(g, math.exp(middle), alpha, root)) >= total
        low, high = (low, middle) if enough else (middle, high)
    return _hidden(g, math.exp(high), alpha, root)


def _hidden(g: Floats, x: float, alpha: float, root: float) -> Floats:
    """a with slope g (1 - e^{-x}); in logarithms, as 1 - g l may be below all rounding."""
    with np.errstate(divide="ignore"):
        rest = np.logaddexp(np.log1p(-np.minimum(g, 1.0)), np.log(g) - x)
        level = np.log(g) + math.log(-math.expm1(-x))
        return np.asarray(root * np.logaddexp(0.0, math.log(2 - 1 / alpha) + level - rest) / (2 * alpha - 1))


def _slope(hidden: float, alpha: float, root: float) -> float:
    far = (2 * alpha - 1) * float(hidden) / root
    return alpha * -math.expm1(-far) / (alpha + (alpha - 1) * math.exp(-far))
