"""Amounts of privacy: whether a budget allows one, what is left of it, and what a guarantee says at a Rényi order."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.guarantee import Approx, Guarantee, Pure, Renyi, RenyiCurve, pure_as_renyi
from fugu.guarantee.numbers import exact, plain
from fugu.numbers.exact import Real, as_fraction, float_down


def fits(spent: Guarantee, budget: Guarantee) -> bool:
    """Whether the budget allows this much: number by number for epsilon and delta, else by a proved conversion."""
    if isinstance(spent, Pure | Approx) and isinstance(budget, Pure | Approx):
        return exact(spent.epsilon) <= exact(budget.epsilon) and delta_of(spent) <= delta_of(budget)
    return spent <= budget


def left(spent: Guarantee, budget: Guarantee) -> Guarantee:
    """The budget minus what was spent, in the budget's own language; never below nothing."""
    if isinstance(budget, RenyiCurve):
        return RenyiCurve({a: _rest(e, at(spent, a)) for a, e in budget.points})
    if isinstance(budget, Renyi):
        return Renyi(budget.alpha, _rest(budget.epsilon, at(spent, budget.alpha)))
    if isinstance(spent, Pure | Approx):
        delta = plain(max(Fraction(0), delta_of(budget) - delta_of(spent)))
        epsilon = _rest(budget.epsilon, spent.epsilon)
        return Pure(epsilon) if isinstance(budget, Pure) else Approx(epsilon, delta)
    if isinstance(budget, Pure):
        return Pure(_rest(budget.epsilon, at(spent, math.inf)))
    if delta_of(spent) >= delta_of(budget):
        return Approx(0, 0)
    return Approx(_rest(budget.epsilon, spent.to_approx(budget.delta).epsilon), 0)


def at(g: Guarantee, alpha: Real) -> Real:
    """A proved bound on D_alpha under g, or inf."""
    if isinstance(g, RenyiCurve):
        listed = (e for a, e in g.points if exact(a) == exact(alpha))  # a dict would take Fraction(1.1) for 1.1
        return min(next(listed, math.inf), g(alpha), key=exact)
    if isinstance(g, Renyi):
        return g.epsilon if exact(g.alpha) >= exact(alpha) and not delta_of(g) else math.inf
    if delta_of(g):
        return math.inf
    if math.isinf(alpha) or math.isinf(g.epsilon):
        return g.epsilon
    return min(g.epsilon, Fraction(pure_as_renyi(exact(g.epsilon), exact(alpha))), key=exact)


def orders_of(g: Guarantee | None) -> list[Real]:
    """The orders at which a Rényi guarantee speaks."""
    if isinstance(g, RenyiCurve):
        return list(g.epsilons)
    return [g.alpha] if isinstance(g, Renyi) else []


def delta_of(g: Guarantee) -> Fraction:
    """Its delta; none is 0."""
    return exact(getattr(g, "delta", 0))


def _rest(have: Real, used: Real) -> Real:
    """have - used, exactly if that is short to write, else the nearest double that does not mean more."""
    found = Fraction(0) if math.isinf(used) else max(Fraction(0), exact(have) - exact(used))
    if found.denominator <= 10**15 or as_fraction(float(found)) == found:
        return plain(found)
    below = float_down(found)
    while as_fraction(below) > found:
        below = math.nextafter(below, 0)
    return below
