"""`exact`: the least scale there is, by bisection on the tight loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from fugu.calibration import smooth
from fugu.calibration.l1 import l1_distance, over
from fugu.calibration.method import AnyBudget, Budget, Proposal, method
from fugu.calibration.search import least_scale
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.atoms.laplace import prove_delta
from fugu.loss.atoms.slack import require_room
from fugu.loss.search.laplace import delta_loss, pure_loss
from fugu.numbers.exact import as_fraction, float_down

_FINE = 1e-9
"""Below this delta the error bound of the fast loss is no longer negligible: small problems are searched in balls."""
_SMALL = 20_000


@method(
    "exact", "the tight loss of the noise that is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md"
)
def exact(item: Item, budget: Budget) -> Proposal:
    """scale = min { b : loss(b) <= budget }; 0 when the beliefs alone suffice."""
    return exact_with("laplace", item, budget)


def exact_with(kind: str, item: Item, budget: Budget) -> Proposal:
    """The least scale of one kind of noise, in lattice steps."""
    if item.same if isinstance(item, Analytic) else not item.different:
        return Proposal(0.0, "the laws are the same: nothing to hide")
    steps = least_steps(item, budget, kind)
    return Proposal(steps, "" if steps else "the beliefs alone suffice: no noise is needed")


def least_steps(item: Item, budget: AnyBudget, kind: str = "laplace") -> float:
    """The least scale of lattice noise, in lattice steps, whatever the laws and the noise."""
    if isinstance(budget, Renyi | RenyiCurve):
        from fugu.calibration.renyi.exact import least_tight
        from fugu.calibration.renyi.kinds import kind_of
        from fugu.calibration.renyi.target import Target

        return least_tight(item, Target.of(budget), kind_of(kind))
    if kind == "gaussian":
        return smooth.least_gaussian(item, budget)
    if isinstance(item, Analytic):
        return smooth.least_analytic(item, budget)
    return least(item, budget, lattice=True)


def least(family: Family, budget: Budget, lattice: bool) -> float:
    """The least scale, in the unit of the points, of lattice or continuous noise; larger scales lose less (theory
    F1)."""
    if not family.different:
        return 0.0
    require_room(family, budget)
    if isinstance(budget, Approx) and budget.delta > 0:
        return least_scale(
            _delta_of(family, budget, lattice), float_down(as_fraction(budget.delta)), _upper(family, budget)
        )
    if budget.epsilon == 0:
        raise NotProvable("epsilon 0 asks for identical outputs, and these laws differ: no finite noise does that")
    found = least_scale(
        lambda b: pure_loss(family, b).value, float_down(as_fraction(budget.epsilon)), _upper(family, budget)
    )
    return min(found, over(l1_distance(family), budget))  # for two points the plain Laplace scale is the exact root


def _upper(family: Family, budget: Budget) -> float:
    """A scale that should suffice: l1 / epsilon, or l1 / delta when epsilon is tiny (a shift by D costs delta <= D /
    2b)."""
    farthest = l1_distance(family)
    by_epsilon = farthest / float(budget.epsilon) if budget.epsilon else math.inf
    by_delta = farthest / float(budget.delta) if isinstance(budget, Approx) and budget.delta else math.inf
    return max(1e-280, min(by_epsilon, by_delta)) * (1 + 1e-9)


def _delta_of(family: Family, budget: Approx, lattice: bool) -> Callable[[float], float]:
    """The tight delta as a function of the scale."""
    epsilon = as_fraction(budget.epsilon)
    if lattice and budget.delta < _FINE and len(family.points) * len(family.pairs) <= _SMALL:
        return lambda b: max(found.value for found in prove_delta(family, 1 / Fraction(b) if b else None, epsilon))
    return lambda b: delta_loss(family, b, float(epsilon), 1.0 if lattice else None).value
