"""Least scales where there are no closed forms at atoms: Gaussian components, or Gaussian noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.calibration.method import Budget
from fugu.calibration.search import least_scale
from fugu.errors import NotProvable
from fugu.exact import as_fraction, float_down, float_up
from fugu.guarantee import Approx
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.analytic import prove_pure_analytic
from fugu.loss.analytic_fast import fast_delta, fast_pure
from fugu.loss.fast import delta_loss
from fugu.loss.gaussian import fast_gaussian_delta


def least_analytic(pair: Analytic, budget: Budget) -> float:
    """The least lattice Laplace scale, in steps, for laws with Gaussian components."""
    if pair.same:
        return 0.0
    if isinstance(budget, Approx) and budget.delta > 0:
        epsilon, target = float(budget.epsilon), float_down(as_fraction(budget.delta))
        return least_scale(lambda b: fast_delta(pair, b, epsilon), target, first_guess(pair, float(budget.epsilon)))
    if budget.epsilon == 0:
        raise NotProvable("epsilon 0 asks for identical outputs, and these laws differ: no finite noise does that")
    shift = pair.shift()
    if shift is not None and shift.denominator == 1:
        return float_up(abs(shift) / as_fraction(budget.epsilon))  # translates: the plain Laplace scale is exact
    return least_scale(
        lambda b: _pure(pair, b), float_down(as_fraction(budget.epsilon)), first_guess(pair, float(budget.epsilon))
    )


def _pure(pair: Analytic, steps: float) -> float:
    if steps == 0:
        return math.inf
    found = fast_pure(pair, steps)
    return prove_pure_analytic(pair, 1 / Fraction(steps)) if found is None else found


def least_gaussian(item: Item, budget: Budget) -> float:
    """The least discrete Gaussian scale, in steps; larger ones are not post-processings of it, so each is proved
    anew."""
    if item.same if isinstance(item, Analytic) else not item.different:
        return 0.0
    if not isinstance(budget, Approx) or budget.delta == 0:
        raise NotProvable(
            "Gaussian noise gives no pure guarantee unless the laws are equal: far out, one noised law outweighs "
            "the other "
            "without bound. Give a delta > 0, or use Laplace noise"
        )
    epsilon, target = float(budget.epsilon), float_down(as_fraction(budget.delta))

    def loss(steps: float) -> float:
        if steps > 0:
            return fast_gaussian_delta(item, 0.5 / steps**2, epsilon) * (1 + 1e-12) + 1e-15
        if isinstance(item, Analytic):
            return fast_delta(item, 0.0, epsilon)
        return delta_loss(item, 0.0, epsilon, None).value

    return least_scale(loss, target, first_guess(item, float(budget.epsilon)))


def first_guess(item: Item, epsilon: float) -> float:
    """A first guess from above; the search doubles it where it is too small."""
    if isinstance(item, Analytic):
        assert item.lattice is not None
        means = np.concatenate((item.p.means, item.q.means))
        spread = float(np.ptp(means)) + 4 * float(max(item.p.stds.max(), item.q.stds.max()))
        distance = spread / float(item.lattice.grid)
    else:
        distance = float(item.points[-1] - item.points[0])
    return max(1.0, 2 * distance) / max(epsilon, 0.05)
