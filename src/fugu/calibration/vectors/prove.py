"""Proofs for published vectors, for every kind of budget: one door, as for numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fugu.calibration.method import AnyBudget
from fugu.calibration.proof import Proof
from fugu.calibration.renyi.target import Target
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.masses import Masses
from fugu.laws.vectors import VectorFamily
from fugu.loss.atoms.laplace import PairLoss
from fugu.loss.bounds import Noise
from fugu.loss.vectors.bounds import space_of, vector_delta, vector_pure, vector_renyi
from fugu.noise import Laplace
from fugu.numbers.exact import as_fraction, float_up
from fugu.transport.bottleneck import bottleneck
from fugu.transport.cells import SubCoupling, compact

_NOTHING = PairLoss("", 0.0)


def prove_vectors(families: tuple[VectorFamily, ...], noise: Noise, budget: AnyBudget) -> Proof:
    """Bound the loss of independent lattice noise on laws of vectors, and compare with the budget exactly."""
    if isinstance(budget, Renyi | RenyiCurve):
        return _renyi(families, noise, Target.of(budget))
    epsilon = as_fraction(budget.epsilon)
    losses = [loss for family in families for loss in vector_pure(family, noise, epsilon)] or [_NOTHING]
    pure = max(losses, key=lambda loss: loss.value)
    if all(loss.within(epsilon) for loss in losses):
        return Proof(pure.value, 0.0, pure.label, holds=True)
    if not isinstance(budget, Approx) or budget.delta == 0:
        return Proof(pure.value, 0.0, pure.label, holds=False)
    delta = as_fraction(budget.delta)
    deltas = [loss for family in families for loss in vector_delta(family, noise, epsilon, delta)] or [_NOTHING]
    worst = max(deltas, key=lambda loss: loss.value)
    holds = all(loss.within(delta) for loss in deltas)
    return Proof(float_up(epsilon), worst.value, worst.label, holds)


def _renyi(families: tuple[VectorFamily, ...], noise: Noise, target: Target) -> Proof:
    """D_alpha of every pair and order; a pair above its epsilon is conditioned on events of probability 1 - delta."""
    worst, excess, delta, holds = _NOTHING, -1.0, 0.0, True
    for family in families:
        for pair, label in family.different:
            alone = replace(family, pairs=(pair,), labels=(label,))
            losses = _orders(alone, noise, target)
            if target.delta and not all(loss.within(epsilon) for loss, epsilon in losses):
                norm = 1 if isinstance(noise, Laplace) else 2
                losses = _orders(conditioned(alone, pair, norm, target.delta), noise, target)
                delta = float_up(target.delta)
            for loss, epsilon in losses:
                holds = holds and loss.within(epsilon)
                ratio = loss.value / float(epsilon) if epsilon else loss.value
                if ratio > excess:
                    worst, excess = replace(loss, label=label), ratio
    return Proof(worst.value, delta, worst.label, holds)


def _orders(family: VectorFamily, noise: Noise, target: Target) -> list[tuple[PairLoss, Fraction]]:
    return [(loss, epsilon) for alpha, epsilon in target.orders for loss in vector_renyi(family, noise, alpha)]


def conditioned(family: VectorFamily, pair: tuple[int, int], norm: int, delta: Fraction) -> VectorFamily:
    """The pair given the events of probability at least 1 - delta that bring the laws closest: the normalised margins
    of a sub-coupling of least distance (see `fugu.calibration.renyi.partial`)."""
    plan = bottleneck(space_of(family, pair, norm), delta)[1]
    size = len(family.points)
    laws = tuple(_law(plan, sums) for sums in (plan.row_masses(size), plan.column_masses(size)))
    return replace(family, laws=laws, pairs=((0, 1),), errors=(0.0, 0.0))


def _law(plan: SubCoupling, sums: object) -> Masses:
    total = int(plan.masses.sum())
    return Masses(compact(sums, total), Fraction(total))  # type: ignore[arg-type]
