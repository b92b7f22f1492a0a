"""`gaussian-prior` and `mixture-coupling`: the coupling bounds for normal beliefs and mixtures of them."""

from __future__ import annotations

import math

from fugu.calibration.l1 import UNBOUNDED
from fugu.calibration.method import Budget, Proposal, method
from fugu.guarantee import Approx
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.laws.normal import Normal
from fugu.loss.smooth.mixture_coupling import coupled_scale
from fugu.loss.smooth.theorem1 import theorem1_scale

_ROUNDING = "one lattice step is added to every distance, for rounding"


@method("gaussian-prior", "Ding 2024, Theorem 1, tau by the normal quantile", laws="smooth")
def gaussian_prior(item: Item, budget: Budget) -> Proposal:
    """scale = (|mean gap| + tau |std gap|) / epsilon with P(|Z| > tau) = delta, for two normal laws."""
    return _theorem1(item, budget, "quantile")


@method("gaussian-prior-lambert", "Ding 2024, Theorem 1, tau by equation (23), which is never smaller", laws="smooth")
def gaussian_prior_lambert(item: Item, budget: Budget) -> Proposal:
    """The same with tau = sqrt W(2 / (pi delta^2))."""
    return _theorem1(item, budget, "lambert")


@method("mixture-coupling", "sound replacements for Ding 2024, Theorem 2: theory section 4, R1 to R4", laws="smooth")
def mixture_coupling(item: Item, budget: Budget) -> Proposal:
    """The least of four bounds over couplings of components, each sound in both orders. The printed Theorem 2 is
    not."""
    if not isinstance(item, Analytic):
        return UNBOUNDED
    found = coupled_scale(item.p.law, item.q.law, budget.epsilon, _delta(budget))
    return _in_steps(item, found.scale, budget)


def _theorem1(item: Item, budget: Budget, form: str) -> Proposal:
    if not isinstance(item, Analytic) or not isinstance(item.p.law, Normal) or not isinstance(item.q.law, Normal):
        return Proposal(math.inf, "this theorem is for two normal laws")
    return _in_steps(item, theorem1_scale(item.p.law, item.q.law, budget.epsilon, _delta(budget), form), budget)


def _in_steps(item: Analytic, scale: float, budget: Budget) -> Proposal:
    """A continuous scale on the lattice: rounding moves two coupled values at most one step further apart."""
    assert item.lattice is not None
    if scale == 0 or math.isinf(scale) or budget.epsilon == 0:
        return Proposal(scale if scale == 0 else math.inf, "" if scale == 0 else "no finite scale at this delta")
    return Proposal(scale / float(item.lattice.grid) + 1 / float(budget.epsilon), _ROUNDING)


def _delta(budget: Budget) -> float:
    return float(budget.delta) if isinstance(budget, Approx) else 0.0
