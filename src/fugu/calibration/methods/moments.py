"""`cauchy-moments`: generalised Cauchy noise from a transport distance of finite order (corrected Corollary 4.1)."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.methods.wasserstein import least_excess
from fugu.calibration.registry import Proposal, method
from fugu.guarantee.asks import Divergences
from fugu.laws.family import Family
from fugu.loss.search.ranges import farthest
from fugu.loss.shifts.shift import shift_renyi
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.kind import Kind
from fugu.numbers.exact import as_fraction
from fugu.transport.coupling import monotone
from fugu.transport.wasserstein import mean_cost


@method(
    "cauchy-moments",
    "Pierquin et al. 2024, Corollary 4.1, corrected: W of order tail (alpha - 1) (docs/proofs/renyi.md)",
    place=40,
    shapes=("line",),
    finite=True,
    noises=("cauchy",),
    beaten_by="exact",
    largest=50_000,
)
def cauchy_moments(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale with R_alpha(noise, W) <= epsilon for W = W_{2 nu}, nu = tail (alpha - 1) / 2 a whole number.

    The cost F(u^2 / s^2) is a polynomial of degree nu in u^2 with positive coefficients, so E F <= F(W^2 / s^2) term by
    term (Lyapunov): the formula for a shift by W, although single values may move further than W."""
    noise = kind.at(1.0, Fraction(1))
    assert isinstance(noise, GeneralizedCauchy)
    tail = as_fraction(noise.tail)
    if any((tail * (alpha - 1) / 2).denominator != 1 for alpha, _ in ask.orders):
        return Proposal(math.inf, "tail (alpha - 1) / 2 must be a whole number; raise alpha until it is")
    plans = [monotone(item.points, item.laws[i], item.laws[j]) for (i, j), _ in item.different]
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    moved = {alpha: max(mean_cost(plan, tail * (alpha - 1), Fraction(1)) for plan in plans) for alpha, _ in ask.orders}

    def loss(steps: float, alpha: Fraction) -> float:
        return shift_renyi(GeneralizedCauchy(steps), moved[alpha], alpha) if steps else math.inf

    return Proposal(least_excess(ask, loss, ask.start(distance)))
