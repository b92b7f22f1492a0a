"""`gaussian-prior` and `mixture-coupling`: the coupling bounds for normal beliefs and mixtures of them."""

from __future__ import annotations

import math

from fugu.calibration.registry import Proposal, method
from fugu.guarantee.asks import Ratio
from fugu.laws.analytic import Analytic
from fugu.laws.normal import Normal
from fugu.loss.search.mixture_coupling import coupled_scale
from fugu.loss.search.theorem1 import theorem1_scale
from fugu.noise.kind import Kind
from fugu.numbers.exact import Real

_ROUNDING = "one lattice step is added to every distance, for rounding"
_SMOOTH = ("smooth",)


@method(
    "gaussian-prior-lambert",
    "Ding 2024, Theorem 1, tau by equation (23), which is never smaller",
    place=60,
    shapes=_SMOOTH,
    beaten_by="exact",
)
def gaussian_prior_lambert(item: Analytic, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """The same with tau = sqrt W(2 / (pi delta^2))."""
    return _theorem1(item, ask, "lambert")


@method(
    "gaussian-prior",
    "Ding 2024, Theorem 1, tau by the normal quantile",
    place=70,
    shapes=_SMOOTH,
    beaten_by="exact",
)
def gaussian_prior(item: Analytic, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = (|mean gap| + tau |std gap|) / epsilon with P(|Z| > tau) = delta, for two normal laws."""
    return _theorem1(item, ask, "quantile")


@method(
    "mixture-coupling",
    "sound replacements for Ding 2024, Theorem 2: docs/proofs/mixtures.md, R1 to R4",
    place=80,
    shapes=_SMOOTH,
    beaten_by="exact",
)
def mixture_coupling(item: Analytic, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """The least of four bounds over couplings of components, each sound in both orders. The printed Theorem 2 is
    not."""
    return _in_steps(item, coupled_scale(item.p.law, item.q.law, _epsilon(ask), float(ask.delta)).scale, ask)


def _theorem1(item: Analytic, ask: Ratio, form: str) -> Proposal:
    if not isinstance(item.p.law, Normal) or not isinstance(item.q.law, Normal):
        return Proposal(math.inf, "this theorem is for two normal laws")
    return _in_steps(item, theorem1_scale(item.p.law, item.q.law, _epsilon(ask), float(ask.delta), form), ask)


def _in_steps(item: Analytic, scale: float, ask: Ratio) -> Proposal:
    """A continuous scale on the lattice: rounding moves two coupled values at most one step further apart."""
    assert item.lattice is not None
    if scale == 0 or math.isinf(scale) or ask.epsilon == 0:
        return Proposal(scale if scale == 0 else math.inf, "" if scale == 0 else "no finite scale at this delta")
    own = scale / float(item.lattice.grid)
    return Proposal(own + 1 / float(ask.epsilon), _ROUNDING, own)


def _epsilon(ask: Ratio) -> Real:
    return ask.epsilon
