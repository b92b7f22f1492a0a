"""Amounts of privacy: whether a budget allows one, what is left of it, and what a guarantee says at a Rényi order."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.guarantee import ZCDP, Approx, Guarantee, Pure, rho_of
from fugu.guarantee.numbers import exact, plain
from fugu.numbers.exact import Real, as_fraction, float_down


def fits(spent: Guarantee, budget: Guarantee) -> bool:
    """Whether the budget allows this much: number by number for epsilon and delta, else by a proved conversion."""
    if spent.renyi or budget.renyi:
        return spent <= budget
    return exact(spent.epsilon) <= exact(budget.epsilon) and exact(spent.delta) <= exact(budget.delta)


def left(spent: Guarantee, budget: Guarantee) -> Guarantee:
    """The budget minus what was spent, in the budget's own language; never below nothing."""
    if isinstance(budget, ZCDP):
        used = rho_of(spent)
        return ZCDP(_rest(budget.rho, math.inf if used is None else plain(used)))
    if budget.renyi:
        return budget.with_epsilons({a: _rest(e, at(spent, a)) for a, e in budget.orders})
    if budget.pure:
        return Pure(_rest(budget.epsilon, at(spent, math.inf) if spent.renyi else spent.epsilon))
    if not spent.renyi:
        delta = plain(max(Fraction(0), exact(budget.delta) - exact(spent.delta)))
        return Approx(_rest(budget.epsilon, spent.epsilon), delta)
    if exact(spent.delta) >= exact(budget.delta):
        return Approx(0, 0)
    return Approx(_rest(budget.epsilon, spent.to_approx(budget.delta).epsilon), 0)


def at(g: Guarantee, alpha: Real) -> Real:
    """A proved bound on D_alpha under g, or inf; none holds outside some events only."""
    return math.inf if g.delta else g.divergence_at(alpha)


def orders_of(g: Guarantee | None) -> list[Real]:
    """The orders at which a Rényi guarantee speaks."""
    return [a for a, _ in g.orders] if g is not None and g.renyi else []


def _rest(have: Real, used: Real) -> Real:
    """have - used, exactly if that is short to write, else the nearest double that does not mean more."""
    found = Fraction(0) if math.isinf(used) else max(Fraction(0), exact(have) - exact(used))
    if found.denominator <= 10**15 or as_fraction(float(found)) == found:
        return plain(found)
    below = float_down(found)
    while as_fraction(below) > found:
        below = math.nextafter(below, 0)
    return below
