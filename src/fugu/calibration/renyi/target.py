"""`Target`: what a Rényi budget asks for, order by order, and how far a loss is from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from fugu.calibration.method import AnyBudget
from fugu.calibration.search import least_scale
from fugu.errors import BadBudget, NotProvable
from fugu.guarantee import Approx, Pure, Renyi, RenyiCurve
from fugu.numbers.exact import as_fraction, float_down


@dataclass(frozen=True)
class Target:
    """D_alpha <= epsilon for every (alpha, epsilon) listed, outside events of probability delta on each side."""

    orders: tuple[tuple[Fraction, Fraction], ...]
    delta: Fraction

    @staticmethod
    def of(budget: Renyi | RenyiCurve) -> Target:
        """The orders of a budget; those with an infinite epsilon ask for nothing and are left out."""
        listed = budget.epsilons.items() if isinstance(budget, RenyiCurve) else [(budget.alpha, budget.epsilon)]
        orders = tuple((as_fraction(a), as_fraction(e)) for a, e in listed if math.isfinite(e))
        if not orders:
            raise BadBudget("an infinite epsilon promises nothing; give a finite one")
        return Target(orders, as_fraction(budget.delta))

    @property
    def highest(self) -> Fraction:
        """The largest order."""
        return max(alpha for alpha, _ in self.orders)

    def excess(self, loss: Callable[[Fraction], float]) -> float:
        """max over orders of loss(alpha) / epsilon(alpha): the budget is met where it is at most 1."""
        return max(_ratio(loss(alpha), epsilon) for alpha, epsilon in self.orders)

    def least(self, loss: Callable[[float, Fraction], float], upper: float) -> float:
        """The least scale b with loss(b, alpha) <= epsilon(alpha) for every order, for losses that fall with b."""
        if any(epsilon == 0 for _, epsilon in self.orders):
            return math.inf
        return least_scale(lambda b: self.excess(lambda alpha: loss(b, alpha)), 1.0, upper)

    def start(self, distance: float) -> float:
        """A scale that should do for a shift by `distance`: Laplace needs distance / epsilon, Gaussian distance
        sqrt(alpha / 2 epsilon)."""
        needed = [max(distance / e, distance * math.sqrt(a / (2 * e))) for a, e in map(_floats, self.orders) if e]
        return max(1e-280, *needed) if needed else math.inf


def plain(budget: AnyBudget) -> AnyBudget:
    """Rényi of infinite order is a pure or approximate guarantee; any other budget is itself."""
    if isinstance(budget, Renyi) and math.isinf(budget.alpha):
        return Approx(budget.epsilon, budget.delta) if budget.delta else Pure(budget.epsilon)
    if isinstance(budget, RenyiCurve) and any(math.isinf(a) for a in budget.epsilons):
        raise NotProvable("a curve with the order inf is a pure guarantee as well; give Pure, or the finite orders")
    return budget


def _ratio(loss: float, epsilon: Fraction) -> float:
    if loss <= 0:
        return 0.0
    return loss / float_down(epsilon) if epsilon else math.inf


def _floats(order: tuple[Fraction, Fraction]) -> tuple[float, float]:
    return float(order[0]), float(order[1])
