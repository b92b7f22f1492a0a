"""`wasserstein`, `closeness` and `transport` for Rényi budgets: three bounds from one coupling of the laws.

For every coupling pi of the two laws, exp((a-1) D_a(M_i, M_j)) <= E_pi exp((a-1) D_a(zeta_X, zeta_Y)), because
(P, Q) -> sum P^a Q^(1-a) is jointly convex. The coupling that keeps the largest distance least gives `wasserstein`, the
one of least expected cost `transport`; leaving out a share delta of the mass on both sides gives `closeness`."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.method import Proposal
from fugu.calibration.renyi.kinds import Kind
from fugu.calibration.renyi.method import NO_ATOMS, renyi_method
from fugu.calibration.renyi.target import Target
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.shifts.cost import log_cost
from fugu.loss.shifts.shift import shift_renyi
from fugu.numbers.exact import float_up
from fugu.transport.closeness import closeness_index
from fugu.transport.coupling import Coupling, monotone
from fugu.transport.plan import plan_log_cost


@renyi_method("wasserstein", "Pierquin et al. 2024, Theorem 3.3: R_alpha(noise, W_inf), for every noise")
def wasserstein(item: Item, target: Target, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, max over pairs of W_inf) <= epsilon."""
    if isinstance(item, Analytic):
        return _translates(item, target, kind)
    return Proposal(within(farthest(item), target, kind))


@renyi_method(
    "closeness",
    "Pierquin et al. 2024, Theorem 4.3, both laws conditioned: no log 1/(1 - delta) terms (docs/proofs/renyi.md)",
    laws="atoms",
)
def closeness(item: Item, target: Target, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, z) <= epsilon, for the least z that couples all but delta of every pair."""
    if isinstance(item, Analytic):
        return NO_ATOMS
    distance = max(
        (closeness_index(item.points, item.laws[i], item.laws[j], target.delta) for (i, j), _ in item.different),
        default=0,
    )
    return Proposal(within(distance, target, kind), "" if target.delta else "delta is 0: the same as wasserstein")


@renyi_method(
    "transport", "Pierquin et al. 2024, Theorem 4.5 with q = 1: the least expected cost over couplings", laws="atoms"
)
def transport(item: Item, target: Target, kind: Kind) -> Proposal:
    """The least scale with log E exp((a-1) D_a(zeta_X, zeta_Y)) <= (a-1) epsilon under the monotone coupling, which is
    optimal for every convex cost at once, hence for every scale."""
    if isinstance(item, Analytic):
        return NO_ATOMS
    plans = _plans(item)
    distance = max((plan.distances.max().item() for plan in plans), default=0)
    if distance == 0:
        return Proposal(0.0)
    return Proposal(
        target.least(lambda b, a: max(coupled(plan, b, a, kind) for plan in plans), target.start(float(distance)))
    )


def coupled(plan: Coupling, scale: float, alpha: Fraction, kind: Kind) -> float:
    """log E exp((a-1) D_a(zeta_X, zeta_Y)) / (a-1) under a plan with exact marginals; inf without noise unless nothing
    moves."""
    if scale == 0:
        return math.inf if plan.distances.max() > 0 else 0.0
    found = plan_log_cost(plan, log_cost(kind.make(scale), float(alpha), plan.distances))
    return found / float(alpha - 1)


def within(distance: float, target: Target, kind: Kind) -> float:
    """The least scale with R_alpha(noise, distance) <= epsilon."""
    if distance == 0:
        return 0.0
    return target.least(
        lambda b, a: shift_renyi(kind.make(b), distance, a) if b else math.inf, target.start(float(distance))
    )


def _translates(pair: Analytic, target: Target, kind: Kind) -> Proposal:
    """W_inf of two normal laws is the distance of their means if their spreads agree, else infinite."""
    shift = pair.shift()
    if shift is None:
        return Proposal(math.inf, "the values are unbounded: no distance covers them all")
    if pair.lattice is None or shift.denominator == 1:
        return Proposal(within(_number(abs(shift)), target, kind))
    steps = math.floor(abs(shift)) + 1
    return Proposal(within(steps, target, kind), "one lattice step is added for rounding")


def _number(x: Fraction) -> float:
    return int(x) if x.denominator == 1 else float_up(x)


def farthest(family: Family) -> float:
    """The largest W_inf of any pair, in the unit of the points."""
    return max((plan.distances.max().item() for plan in _plans(family)), default=0)


def _plans(family: Family) -> list[Coupling]:
    """The monotone coupling of every pair that differs."""
    return [monotone(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different]
