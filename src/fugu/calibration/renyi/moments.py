"""`cauchy-moments`: generalised Cauchy noise from a transport distance of finite order (corrected Corollary 4.1)."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.method import Proposal
from fugu.calibration.renyi.couplings import farthest
from fugu.calibration.renyi.kinds import Kind
from fugu.calibration.renyi.method import NO_ATOMS, renyi_method
from fugu.calibration.renyi.target import Target
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.shifts.shift import shift_renyi
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.numbers.exact import as_fraction
from fugu.transport.coupling import monotone
from fugu.transport.wasserstein import mean_cost


@renyi_method(
    "cauchy-moments",
    "Pierquin et al. 2024, Corollary 4.1, corrected: W of order tail (alpha - 1) (docs/proofs/renyi.md)",
    noises=("cauchy",),
    laws="atoms",
)
def cauchy_moments(item: Item, target: Target, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, W) <= epsilon for W = W_{2 nu}, nu = tail (alpha - 1) / 2 a whole number.

    The cost F(u^2 / s^2) is a polynomial of degree nu in u^2 with positive coefficients, so E F <= F(W^2 / s^2) term by
    term (Lyapunov): the formula for a shift by W, although single values may move further than W."""
    if isinstance(item, Analytic):
        return NO_ATOMS
    noise = kind.make(1.0)
    assert isinstance(noise, GeneralizedCauchy)
    tail = as_fraction(noise.tail)
    if any((tail * (alpha - 1) / 2).denominator != 1 for alpha, _ in target.orders):
        return Proposal(math.inf, "tail (alpha - 1) / 2 must be a whole number; raise alpha until it is")
    plans = [monotone(item.points, item.laws[i], item.laws[j]) for (i, j), _ in item.different]
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    moved = {
        alpha: max(mean_cost(plan, tail * (alpha - 1), Fraction(1)) for plan in plans) for alpha, _ in target.orders
    }
    return Proposal(
        target.least(lambda b, a: shift_renyi(kind.make(b), moved[a], a) if b else math.inf, target.start(distance))
    )
