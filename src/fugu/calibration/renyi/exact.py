"""`exact` for Rényi budgets: the least scale at which the tight divergence of the noised laws meets the budget."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.method import Proposal
from fugu.calibration.renyi.couplings import farthest
from fugu.calibration.renyi.kinds import Kind
from fugu.calibration.renyi.method import renyi_method
from fugu.calibration.renyi.target import Target
from fugu.calibration.smooth import first_guess
from fugu.errors import NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item

_SAME = Proposal(0.0, "the laws are the same: nothing to hide")


@renyi_method("exact", "the tight divergence of the two noised laws, proved in docs/proofs/renyi.md")
def exact(item: Item, target: Target, kind: Kind) -> Proposal:
    """scale = min { b : D_alpha(M_i, M_j) <= epsilon(alpha) in both orders }; 0 when the beliefs alone suffice."""
    if item.same if isinstance(item, Analytic) else not item.different:
        return _SAME
    steps = least_tight(item, target, kind)
    note = "" if steps else "the beliefs alone suffice: no noise is needed"
    return Proposal(steps, "no event is left out: delta is not used" if target.delta and steps else note)


def least_tight(item: Item, target: Target, kind: Kind) -> float:
    """The search behind `exact`, in floating point; the scale it finds is proved afterwards."""
    from fugu.loss.renyi_api import cauchy_divergence
    from fugu.loss.search.divergence import fast_renyi

    if isinstance(item, Analytic):
        upper = first_guess(item, float(min(epsilon for _, epsilon in target.orders)))
    else:
        distance = float(farthest(item))
        if distance == 0:
            return 0.0
        upper = target.start(distance)

    def loss(scale: float, alpha: Fraction) -> float:
        if kind.name == "cauchy":
            try:
                return cauchy_divergence(item, kind.make(scale), alpha)
            except NotProvable:
                return math.inf  # too small a scale for the quadrature counts as too small
        return fast_renyi(item, kind.name, scale, float(alpha))

    return target.least(loss, upper)
