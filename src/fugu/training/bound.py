"""What the last iterate of a noisy contraction reveals (corrected Theorem 5.2), and the inverse questions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import BadNoise, NotProvable, UsageError
from fugu.guarantee import ZCDP, Guarantee, Pure, Renyi, is_guarantee
from fugu.guarantee.asks import check_alpha, check_delta, exact, outward
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, VectorLike, as_fraction, decimal_up, is_whole
from fugu.training.allocation import UNIT, Floats, Steps, feasible, isotonic, least, squares

if TYPE_CHECKING:
    from fugu.training.accountant import NoisySGD


_FAR = 1e60
StepNoise = Real | VectorLike | Gaussian | Laplace
"""What each step adds to the iterate: a standard deviation, one per step, or continuous noise."""


def shift_bound(
    shifts: VectorLike,
    noise: StepNoise,
    alpha: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    dimension: int = 1,
    diameter: Real | None = None,
) -> Renyi:
    """The largest Rényi divergence between the last iterates of two runs: with W_t = psi_t(W_{t-1}, x_t) + noise it is
    at most the least of

        sum_t R_alpha(noise_t, a_t),   z_t = c_t z_{t-1} + s_t - a_t >= 0,   z_0 = z_T = 0.

    Parameters:

    - `shifts`: s_t = sup_w |psi_t(w, x_t) - psi_t(w, x'_t)| (l2), one per step, under ONE coupling of the two whole
      data sequences, for all coupled values at once. Distances of single records are not that unless the records are
      independent: see `fugu.iterate.from_marginals` for the counterexample.
    - `noise`: the standard deviation of Gaussian noise added to the iterate, one number or one per step; or
      `fugu.Gaussian`, `fugu.Laplace` (independent in each of `dimension` coordinates).
    - `alpha`: a number above 1, or infinity (where only Laplace noise has a finite bound).
    - `contraction`: psi_t(., x) is c_t-Lipschitz, c_t <= 1; one number or one per step.
    - `diameter`: of the convex set onto which each step projects before the gradient, and the end; None without one.

    Returns `Renyi(alpha, epsilon)`, rounded up. Raises `UsageError`, `BadBudget` and `BadNoise` for other arguments.

    >>> [round(shift_bound(s, 1, 2).epsilon, 9) for s in ([4, 0, 0, 0], [0, 0, 0, 4])]  # early is hidden, late is not
    [4.0, 16.0]
    """
    check_alpha(alpha)
    if alpha != math.inf:
        above(alpha)
    laplace = isinstance(noise, Laplace)
    steps = Steps.read(shifts, scales_of(noise), contraction)
    width = read_diameter(diameter)
    if not is_whole(dimension, least=1):
        raise UsageError(f"dimension must be a whole number of at least 1, got {dimension!r}")
    if laplace:
        order = math.inf if math.isinf(alpha) else above(alpha)
        found = least(steps, width, lambda some: price(some, order, dimension))
        return Renyi(alpha, up(found))
    found = least(steps, width, squares)
    if math.isinf(alpha):
        return Renyi(alpha, math.inf if found else 0)
    return Renyi(alpha, up(found, as_fraction(alpha) / 2))


def above(x: Real) -> float:
    """A float at or above the number that is meant; R_alpha does not decrease in alpha."""
    if x > _FAR:
        raise UsageError(f"orders and diameters above {_FAR:g} are not offered; alpha=inf is the pure guarantee")
    return float(x) * (1 + 2 * UNIT)


def up(value: float, factor: Fraction = Fraction(1)) -> float:
    """value * factor, from above."""
    return outward(Fraction(value) * factor) if math.isfinite(value) else math.inf


def scales_of(noise: Any) -> Any:
    """The scale of the noise, or of each step's."""
    if isinstance(noise, Laplace | Gaussian):
        if noise.grid is not None:
            raise BadNoise("training noise is continuous (in the real-arithmetic model); leave the grid out")
        return float(noise.scale)
    if noise is None or isinstance(noise, bool | str) or hasattr(noise, "expected_error"):
        raise BadNoise("noise must be the standard deviation added to the iterate, or fugu.Gaussian or fugu.Laplace")
    return noise


def read_diameter(diameter: Real | None) -> float | None:
    """The diameter of the domain, checked; None for no domain."""
    if diameter is None:
        return None
    if not is_number(diameter) or not 0 < diameter < math.inf:
        raise UsageError("the diameter of the domain must be a finite number above 0, or None for no domain")
    return above(diameter)


# The price of Laplace noise: R_alpha(Lap^d, l2, a) = d h(a / (b sqrt d)), with the least total allocation.
#
#     h(u) = ln( (alpha e^{(alpha-1) u} + (alpha-1) e^{-alpha u}) / (2 alpha - 1) ) / (alpha-1) <= min(u, alpha u^2 / 2)
#
# (loss/shift.py has the formula in d dimensions; the last part: Bun and Steinke 2016, Proposition 3.3). h is convex.
# Without contraction and with one noise the isotonic allocation is the least for every convex price, as it is majorised
# by every other. Otherwise it is only a start: Newton's method replaces the price by its second-order model, whose
# least allocation is again an isotonic regression. Every allocation that pays for the shifts is a proof; the search is
# not.
#
# For short runs the least allocation is also looked for block by block, as the quadratic models may stop short of it.
# In b_t = w_t a_t the problem is a sum of convex prices under tail sums, so the least allocation has blocks within
# which the slope of the price per unit of b is one number, larger from block to block (pool adjacent violators for
# convex prices: Best, Chakravarti and Ubhaya 2000). With g_t = c_{t+1} ... c_e up to the end e of its block, the slope
# of the price at a_t is g_t l, 0 <= l < 1, and solves to
#
#     u = ln(1 + (2 - 1/alpha) g l / (1 - g l)) / (2 alpha - 1),    a = b sqrt(d) u.
#
# l is where the block pays for its own shifts, sum g_t a_t = sum g_t s_t, by bisection in x, l = 1 - e^{-x}.

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


# The inverse questions: the epsilon of a delta, and the noise of a budget. Searched in doubles, then proved.

_NUDGES = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
_DIGITS = 10
_SCALES = (1e-60, 1e60)


def least_epsilon(sgd: NoisySGD, delta: Real) -> float:
    """A decimal of 12 digits with a proved delta(epsilon) <= delta, close to the least."""
    check_delta(delta, positive=True)
    goal, scale = float(delta), sgd._noise[0]
    if exact(sgd.delta_at(0)) <= exact(delta):
        return 0.0
    found = _threshold(lambda e: max(case.fast_delta(scale, e) for case in sgd._squares) <= goal, 1e-9, 1e9)
    for nudge in _NUDGES:
        epsilon = float(decimal_up(found * (1 + nudge), 12))
        if exact(sgd.delta_at(epsilon)) <= exact(delta):
            return epsilon
    raise NotProvable(f"no epsilon could be proved at delta {float(delta):g}; ask for a larger delta")


def least_noise(sgd: NoisySGD, budget: Guarantee) -> NoisySGD:
    """The training with the least noise, to 10 digits, whose guarantee is proved to imply the budget."""
    laplace = sgd.laplace
    budget = _checked(budget, laplace)
    slack = not (budget.pure or budget.renyi)

    shape = None if laplace or sgd.noise is None or np.ndim(cast(ArrayLike, sgd.noise)) == 0 else sgd._noise[1]

    def noise(scale: float) -> StepNoise:
        return Laplace(scale) if laplace else scale if shape is None else scale * shape

    def made(scale: float) -> NoisySGD:
        return sgd.with_noise(noise(scale))

    first = made(1.0)
    if not laplace and not any(case.values.any() for case in first._squares):
        raise UsageError("no step depends on the records, so there is nothing to hide")

    def enough(scale: float) -> bool:
        if laplace:
            return meets(made(scale), budget)
        if slack:
            return max(c.fast_delta(scale, float(budget.epsilon)) for c in first._squares) <= float(budget.delta)
        return all(max(c.renyi(scale, float(a)) for c in first._squares) <= float(e) for a, e in budget.orders)

    low, high = _SCALES
    if laplace and slack and budget.epsilon > 0:
        high = 1.01 * float(scales_of(least_noise(sgd, Pure(budget.epsilon)).noise))  # enough without any delta
        low = high / 1000
    found = _threshold(enough, low, high, 40 if laplace else 200)
    for nudge in _NUDGES:
        done = first.with_noise(noise(float(decimal_up(found * (1 + nudge), _DIGITS))))
        if meets(done, budget):
            return done
    raise NotProvable("no noise could be proved for this budget; ask for a larger epsilon or delta")


def meets(sgd: NoisySGD, budget: Guarantee) -> bool:
    """Whether the training is proved to meet the budget."""
    if budget.pure or budget.renyi:
        return all(exact(sgd.renyi(a).epsilon) <= exact(e) for a, e in budget.orders)
    return exact(sgd.delta_at(budget.epsilon)) <= exact(budget.delta)


def _checked(given: Guarantee, laplace: bool) -> Guarantee:
    """The budget, pure where it has no delta; refused where no noise meets it."""
    if not is_guarantee(given):
        raise UsageError("the budget must be Approx, Renyi, RenyiCurve or Pure")
    budget = given if given.renyi or given.delta else Pure(given.epsilon)
    if isinstance(budget, ZCDP):
        budget.asks()  # a training is proved at listed orders
    if budget.pure and not laplace:
        raise NotProvable(
            "Gaussian noise has no pure guarantee; give the budget a delta (Approx), or use noise=fugu.Laplace(1)"
        )
    if budget.renyi and budget.delta:
        raise UsageError("a Renyi budget of training must have delta 0; state it as Approx instead")
    if not budget.several and math.isinf(budget.epsilon):
        raise UsageError("an infinite epsilon asks for no privacy; give a finite one")
    if (budget.pure or budget.renyi) and any(e == 0 for _, e in budget.orders):
        raise UsageError("epsilon 0 would need infinite noise")
    return budget


def _threshold(enough: Callable[[float], bool], low: float, high: float, rounds: int = 200) -> float:
    """About the least number for which `enough` holds, by bisection in the logarithm."""
    if not enough(high):
        raise NotProvable("no finite noise or epsilon meets this budget; ask for more")
    if enough(low):
        return low
    a, b = math.log(low), math.log(high)
    for _ in range(rounds):
        middle = (a + b) / 2
        if not a < middle < b or b - a < 1e-13 * max(1.0, abs(b)):
            break
        a, b = (a, middle) if enough(math.exp(middle)) else (middle, b)
    return math.exp(b)
