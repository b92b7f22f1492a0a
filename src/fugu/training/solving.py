"""The inverse questions: the epsilon of a delta, and the noise of a budget. Searched in doubles, then proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from fugu.errors import NotProvable, UsageError
from fugu.guarantee import ZCDP, Guarantee, Pure, is_guarantee
from fugu.guarantee.numbers import check_delta, exact
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, decimal_up
from fugu.training.bound import StepNoise, scales_of

if TYPE_CHECKING:
    from fugu.training.accountant import NoisySGD

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
