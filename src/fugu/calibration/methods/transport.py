"""`transport`, `relaxed`, and the coupling bounds for normal beliefs: least expected costs over couplings."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np

from fugu.calibration.lattice import least_scale
from fugu.calibration.methods.exact import LEAST, least_excess, monotone_plans, reach, steps_for, vectors_within
from fugu.calibration.offer import EVERY, RELEASED, Proposal, method
from fugu.guarantee.asks import Divergences, Ratio
from fugu.laws.family import Family
from fugu.laws.normal import Analytic, Normal
from fugu.loss.atoms import bare_divergences, prove_delta
from fugu.loss.cost import log_cost
from fugu.loss.divergence import kept, unmoved
from fugu.loss.search.couplings import coupled_scale, theorem1_scale
from fugu.loss.search.normal import fast_gaussian_delta
from fugu.loss.search.shapes import farthest
from fugu.loss.vectors import PLANNED, plan_for, space_of, steps_moved, unit_of
from fugu.loss.vectors_gaussian import TAU, levelled_delta, smooth_plan
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Kind
from fugu.numbers.exact import Real
from fugu.transport.coupling import Coupling
from fugu.transport.plan import plan_log_cost
from fugu.transport.wasserstein import form_scale, paper_scale, relaxed_scale

# For every coupling pi of the two laws, exp((a-1) D_a(M_i, M_j)) <= E_pi exp((a-1) D_a(zeta_X, zeta_Y)), because
# (P, Q) -> sum P^a Q^(1-a) is jointly convex (docs/proofs/renyi.md, docs/proofs/vectors.md).


_CELLS = 40_000
_MANY = 50_000
_UNIT = Fraction(1)
_VECTORS = "joint convexity with a plan of exact marginals (docs/proofs/vectors.md)"


@method(
    "transport",
    "Pierquin et al. 2024, Theorem 4.5 with q = 1: the least expected cost over couplings",
    place=45,
    shapes=("line",),
    finite=True,
    noises=EVERY,
    beaten_by="exact",
)
def transport(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with log E exp((a-1) D_a(zeta_X, zeta_Y)) <= (a-1) epsilon under the monotone coupling, which is
    optimal for every convex cost at once, hence for every scale."""
    plans = monotone_plans(item)
    distance = max((plan.distances.max().item() for plan in plans), default=0)
    if distance == 0:
        return Proposal(0.0)

    def loss(steps: float, alpha: Fraction) -> float:
        return max(coupled(plan, steps, alpha, kind) for plan in plans)

    return Proposal(least_excess(ask, loss, ask.start(float(distance))))


def coupled(plan: Coupling, steps: float, alpha: Fraction, kind: Kind) -> float:
    """log E exp((a-1) D_a(zeta_X, zeta_Y)) / (a-1) under a plan with exact marginals; inf without noise unless nothing
    moves."""
    if steps == 0:
        return math.inf if plan.distances.max() > 0 else 0.0
    noise = kind.at(steps, _UNIT)
    return plan_log_cost(plan, log_cost(noise, float(alpha), plan.distances)) / float(alpha - 1)


@method(
    "partial-transport",
    "joint convexity on a sub-coupling (docs/proofs/renyi.md): closeness and transport in one",
    place=48,
    shapes=("line",),
    finite=True,
    noises=EVERY,
    delta=True,
    largest=_MANY,
)
def partial_transport(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with min over sub-couplings of mass >= 1 - delta of the conditioned cost <= epsilon."""
    if not ask.delta:
        return Proposal(math.inf, "delta is 0: the same as transport")
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)

    def loss(steps: float, alpha: Fraction) -> float:
        if steps == 0:
            return max(unmoved(item, pair, ask.delta) for pair, _ in item.different)
        noise = kind.at(steps, _UNIT)
        plans = (kept(item, pair, noise, ask.highest, ask.delta) for pair, _ in item.different)
        return max(coupled(plan, steps, alpha, kind) for plan in plans)

    return Proposal(least_excess(ask, loss, ask.start(distance)))


@method("transport", _VECTORS, place=45, shapes=("space",), noises=("gaussian",), delta=True)
def smooth_vectors(item: Family, ask: Ratio, kind: Kind) -> Proposal:
    """The analytic curve averaged over a plan, and tau squared steps more variance for the lattice."""
    high = steps_for(reach(item, kind.norm, Fraction(0)), ask)
    spaces = [space_of(item, pair, kind.norm) for pair, _ in item.different]
    if high == 0 or any(len(space.x) * len(space.y) > PLANNED for space in spaces):
        return Proposal(high)
    bare = [loss.value for loss in prove_delta(item, None, ask.epsilon)]
    plans: dict[int, Coupling] = {}

    def cost(k: int, steps: float) -> float:
        space, noise = spaces[k], Gaussian(steps, _UNIT)
        if k not in plans or len(space.x) * len(space.y) <= _CELLS:
            plans[k] = smooth_plan(space, unit_of(space), noise, ask.epsilon)
        moved = np.sqrt((steps_moved(space, plans[k]).astype(np.float64) ** 2).sum(axis=1))
        losses = np.zeros(len(moved))
        far = moved > 0
        losses[far] = fast_gaussian_delta(float(ask.epsilon), moved[far] / math.sqrt(steps**2 - float(TAU)))
        shares = np.array([m / plans[k].total for m in plans[k].masses.tolist()])
        single = float(losses @ shares) * (1 + 1e-9)
        return (
            single if single <= ask.target else min(bare[k], levelled_delta(space, unit_of(space), noise, ask.epsilon))
        )

    def loss(steps: float) -> float:
        return max(bare) if steps == 0 else max(cost(k, max(steps, LEAST)) for k in range(len(spaces)))

    found = least_scale(loss, ask.target, high * (1 + 1e-9))
    return Proposal(max(LEAST, found) if found else 0.0)


@method("transport", _VECTORS, place=45, shapes=("space",), finite=True, noises=RELEASED)
def vectors(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale at which a plan of exact marginals has log E exp((a-1) sum h_a) <= (a-1) epsilon."""
    high = vectors_within(item, ask, kind, Fraction(0))
    if high == 0 or math.isinf(high):
        return Proposal(high)
    spaces = [space_of(item, pair, kind.norm) for pair, _ in item.different]
    plans: dict[tuple[int, Fraction], Coupling] = {}
    bare = {(k, alpha): x for alpha, _ in ask.orders for k, x in enumerate(bare_divergences(item, alpha))}

    def cost(k: int, steps: float, alpha: Fraction) -> float:
        if steps == 0 or bare[k, alpha] == 0:
            return bare[k, alpha]
        space, noise = spaces[k], kind.at(steps, _UNIT)
        if len(space.x) * len(space.y) <= _CELLS or (k, alpha) not in plans:
            plans[k, alpha] = plan_for(space, noise, alpha)  # type: ignore[arg-type]
        plan = plans[k, alpha]
        apart = steps_moved(space, plan).astype(np.float64) * float(noise.grid or 1)
        each = log_cost(noise, float(alpha), apart.ravel()).reshape(apart.shape)
        costs = np.asarray(each.sum(axis=1), dtype=np.float64)
        return min(bare[k, alpha], plan_log_cost(plan, costs) / float(alpha - 1))

    def loss(steps: float, alpha: Fraction) -> float:
        return max(cost(k, steps, alpha) for k in range(len(spaces)))

    return Proposal(least_excess(ask, loss, high * (1 + 1e-9)))


# `relaxed` and `relaxed-paper`: average over the transport plan instead of taking its largest distance.


Rule = Callable[[Coupling, Real], float]


def relaxed(rule: Rule, item: Family, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """The scale of a rule on the monotone plan, max over pairs.

    The four forms: max(min(col+, row-), min(row+, col-)). The paper's: col+ alone, for comparison, of the order of each
    pair that needs more: which secret a file names first changes nothing. The printed Algorithm 1 loses its bracket and
    is not offered."""
    return Proposal(max((rule(plan, ask.epsilon) for plan in monotone_plans(item)), default=0.0))


def _either_order(plan: Coupling, epsilon: Real) -> float:
    """Condition (11) with the columns of the plan in both roles: rows are the columns of the exchanged pair."""
    return max(paper_scale(plan, epsilon), form_scale(plan, epsilon, "row+"))


method(
    "relaxed-paper",
    "Yang, Ding et al. (noise reduction), condition (11) alone, which protects both orders (Jensen)",
    place=40,
    shapes=("line",),
    beaten_by="exact",
)(partial(relaxed, _either_order))
method(
    "relaxed",
    "the four-form rule: Yang, Ding et al. (noise reduction), conditions (11) and (12), sharpened by Jensen",
    place=50,
    shapes=("line",),
    beaten_by="exact",
)(partial(relaxed, relaxed_scale))


# `gaussian-prior` and `mixture-coupling`: the coupling bounds for normal beliefs and mixtures of them.


_ROUNDING = "one lattice step is added to every distance, for rounding"
_SMOOTH = ("smooth",)


def gaussian_prior(form: str, item: Analytic, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = (|mean gap| + tau |std gap|) / epsilon with P(|Z| > tau) = delta, for two normal laws; `form` "lambert":
    with tau = sqrt W(2 / (pi delta^2))."""
    if not isinstance(item.p.law, Normal) or not isinstance(item.q.law, Normal):
        return Proposal(math.inf, "this theorem is for two normal laws")
    return _in_steps(item, theorem1_scale(item.p.law, item.q.law, ask.epsilon, float(ask.delta), form), ask)


method(
    "gaussian-prior-lambert",
    "Ding 2024, Theorem 1, tau by equation (23), which is never smaller",
    place=60,
    shapes=_SMOOTH,
    beaten_by="exact",
)(partial(gaussian_prior, "lambert"))
method(
    "gaussian-prior", "Ding 2024, Theorem 1, tau by the normal quantile", place=70, shapes=_SMOOTH, beaten_by="exact"
)(partial(gaussian_prior, "quantile"))


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
    return _in_steps(item, coupled_scale(item.p.law, item.q.law, ask.epsilon, float(ask.delta)).scale, ask)


def _in_steps(item: Analytic, scale: float, ask: Ratio) -> Proposal:
    """A continuous scale on the lattice: rounding moves two coupled values at most one step further apart."""
    assert item.lattice is not None
    if scale == 0 or math.isinf(scale) or ask.epsilon == 0:
        return Proposal(scale if scale == 0 else math.inf, "" if scale == 0 else "no finite scale at this delta")
    own = scale / float(item.lattice.grid)
    return Proposal(own + 1 / float(ask.epsilon), _ROUNDING, own)
