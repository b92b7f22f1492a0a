"""From a proposal to a proof: round the scale up, bound the loss in balls, keep the figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from fugu.calibration.method import Budget
from fugu.errors import NotProvable
from fugu.exact import as_fraction, decimal_up
from fugu.guarantee import Approx
from fugu.laws.family import Family
from fugu.loss.proof import coupled_within, prove_delta, prove_pure
from fugu.noise.laplace import Laplace

_DIGITS = 10
_NUDGES = 4


@dataclass(frozen=True)
class Proof:
    """Proved upper bounds: every pair, both orders. delta is 0 if the pure bound alone meets epsilon."""

    epsilon: float
    delta: float
    worst_pair: str
    holds: bool


def prove(families: tuple[Family, ...], noise: Laplace, budget: Budget) -> Proof:
    """Bound the loss of lattice noise on families of lattice indices, and compare with the budget in exact arithmetic.

    Pure: max over pairs of sup ln(P/Q). Approx: that, if it meets epsilon; else delta(epsilon) of the same sampler."""
    rate = None if noise.scale == 0 else noise.rate
    epsilon = as_fraction(budget.epsilon)
    losses = [(family, loss) for family in families for loss in prove_pure(family, rate)]
    _, pure = max(losses, key=lambda entry: entry[1].value)
    over = [(family, loss) for family, loss in losses if math.isinf(loss.value) or Fraction(loss.value) > epsilon]
    if all(rate is not None and coupled_within(family, loss.pair, rate, epsilon) for family, loss in over):
        return Proof(min(pure.value, float(epsilon)), 0.0, pure.label, holds=True)
    if not isinstance(budget, Approx) or budget.delta == 0:
        return Proof(pure.value, 0.0, pure.label, holds=False)
    approx = max(
        (loss for family in families for loss in prove_delta(family, rate, epsilon)), key=lambda loss: loss.value
    )
    return Proof(float(epsilon), approx.value, approx.label, holds=Fraction(approx.value) <= as_fraction(budget.delta))


def proved_noise(families: tuple[Family, ...], grid: Fraction, steps: float, budget: Budget) -> tuple[Laplace, Proof]:
    """The noise of least 10-digit scale at or above `steps * grid` that is proved; a scale that is not is refused."""
    scale = Fraction(0) if steps == 0 else decimal_up(float(Fraction(steps) * grid), _DIGITS)
    for _ in range(_NUDGES):
        noise = Laplace(float(scale), grid)
        proof = prove(families, noise, budget)
        if proof.holds:
            return noise, proof
        scale = decimal_up(float(scale) * (1 + 1e-9), _DIGITS)
    raise NotProvable(
        f"the scale {float(scale):g} could not be proved for pair {proof.worst_pair!r}: the bound is epsilon "
        f"{proof.epsilon:.12g}, delta {proof.delta:.3g}; ask for a larger epsilon or delta"
    )
