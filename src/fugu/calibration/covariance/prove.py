"""Proofs for correlated lattice noise on normal laws of vectors, in the Gaussian model."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from fugu.calibration.method import AnyBudget
from fugu.calibration.proof import Proof
from fugu.calibration.renyi.target import Target
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.multinormal import Matrix, NormalPair
from fugu.loss.normal.bounds import normal_divergence, prove_normal_delta
from fugu.loss.normal.smoothing import excess
from fugu.noise.correlated import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction, float_up

_SLACK = Fraction(1, 10**25)
"""At least 2 kappa; checked."""


def prove_normal(pairs: tuple[NormalPair, ...], noise: CorrelatedGaussian, budget: AnyBudget) -> Proof:
    """Bound the loss of the released vectors and compare with the budget exactly.

    M / R within e^{+-kappa} (`loss.normal.smoothing`) gives delta_M(epsilon) <= e^kappa delta_R(epsilon - 2 kappa) and
    D_a(M) <= D_a(R) + (2a - 1) kappa / (a - 1); R is a rounding of continuous Gaussian noise of the same covariance."""
    different = [pair for pair in pairs if not pair.same]
    if not different:
        return Proof(0.0, 0.0, "", holds=True)
    kappa = excess(noise, [law.cov for pair in different for law in (pair.p, pair.q)])
    if not 2 * kappa <= balls.of(_SLACK):
        raise NotProvable("too many coordinates or columns for the smoothing bound")
    extra = noise.covariance()
    if isinstance(budget, Renyi | RenyiCurve):
        return _renyi(different, extra, kappa, Target.of(budget))
    if not isinstance(budget, Approx) or budget.delta == 0:
        raise NotProvable(
            "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"
        )
    epsilon = as_fraction(budget.epsilon)
    left = max(Fraction(0), epsilon - _SLACK) if kappa > 0 else epsilon
    more = balls.of(_SLACK) if kappa > 0 and epsilon < _SLACK else arb(0)  # HS_{-x} <= HS_0 + x
    worst, label = 0.0, different[0].label
    for pair in different:
        with balls.precision(128):
            delta = balls.upper((arb(prove_normal_delta(pair, extra, left)) + more) * kappa.exp())
        if delta >= worst:
            worst, label = min(1.0, delta), pair.label
    return Proof(float_up(epsilon), worst, label, Fraction(worst) <= as_fraction(budget.delta))


def _renyi(pairs: list[NormalPair], extra: Matrix, kappa: arb, target: Target) -> Proof:
    worst, ratio, label, holds = 0.0, -1.0, "", True
    for pair in pairs:
        for alpha, epsilon in target.orders:
            with balls.precision(128):
                more = kappa * balls.of((2 * alpha - 1) / (alpha - 1))
                loss = balls.upper(arb(normal_divergence(pair, extra, alpha)) + more)
            holds = holds and loss < float("inf") and Fraction(loss) <= epsilon
            found = loss / float(epsilon) if epsilon else loss
            if found > ratio:
                worst, ratio, label = loss, found, pair.label
    return Proof(worst, 0.0, label, holds)
