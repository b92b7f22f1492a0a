"""Least scales where there are no closed forms at atoms: Gaussian components, or Gaussian noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.calibration.method import Budget
from fugu.calibration.search import least_scale
from fugu.errors import NotProvable
from fugu.guarantee import Approx
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.atoms.gaussian import fast_gaussian_delta, widest_scale
from fugu.loss.search.laplace import delta_loss
from fugu.loss.search.smooth import fast_delta, fast_pure
from fugu.loss.shifts.gaussian import fast_gaussian_mu
from fugu.loss.smooth.laplace import prove_pure_analytic
from fugu.numbers.exact import as_fraction, float_down, float_up

_LEAST = 1e-15
"""What rounding may hide of a delta that is summed in doubles."""


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
            return fast_gaussian_delta(item, 0.5 / steps**2, epsilon) * (1 + 1e-12) + _LEAST
        if isinstance(item, Analytic):
            return fast_delta(item, 0.0, epsilon)
        return delta_loss(item, 0.0, epsilon, None).value

    if loss(0.0) <= target:
        return 0.0
    if target <= _LEAST:
        raise NotProvable(
            f"a delta of {target:g} is below what the search for Gaussian noise can tell from 0; give at least 1e-14, "
            "or use Laplace noise"
        )
    # what continuous noise needs for a shift by the whole range (Balle and Wang 2018), and a step for the lattice
    guess = 1.001 * distance_of(item) / float(fast_gaussian_mu(epsilon, target)) + 1
    widest = widest_scale(item)
    if guess <= widest or (widest >= 1 and loss(widest) <= target):
        return least_scale(loss, target, min(guess, widest))
    return loss(guess)  # which says how many points that would take


def first_guess(item: Item, epsilon: float) -> float:
    """A first guess from above; the search doubles it where it is too small."""
    return max(1.0, 2 * distance_of(item)) / max(epsilon, 0.05)


def distance_of(item: Item) -> float:
    """About the largest distance of two values, in lattice steps."""
    if not isinstance(item, Analytic):
        return float(item.points[-1] - item.points[0])
    assert item.lattice is not None
    means = np.concatenate((item.p.means, item.q.means))
    spread = float(np.ptp(means)) + 4 * float(max(item.p.stds.max(), item.q.stds.max()))
    return spread / float(item.lattice.grid)
