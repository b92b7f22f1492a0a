"""From a proposal to a proof: round the scale up, bound the loss in balls, keep the figures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from fugu.calibration.method import AnyBudget
from fugu.calibration.proof import Proof
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Renyi, RenyiCurve
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.atoms.slack import require_exact
from fugu.loss.bounds import Noise, delta_bounds, pure_bounds
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import as_fraction, decimal_up, float_up

_DIGITS = 10
_NUDGES = (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
Drawn = TypeVar("Drawn")


def prove(items: tuple[Item, ...], noise: Noise, budget: AnyBudget) -> Proof:
    """Bound the loss of lattice noise on items of lattice indices, and compare with the budget in exact arithmetic.

    Pure: max over pairs of sup ln(P/Q). Approx: that, if it meets epsilon; else delta(epsilon) of the same sampler.
    Laws known up to an error are refused for Pure, and cost delta for Approx (`fugu.loss.atoms.slack`)."""
    if isinstance(budget, Renyi | RenyiCurve):
        from fugu.calibration.renyi.prove import prove_renyi
        from fugu.calibration.renyi.target import Target

        return prove_renyi(items, noise, Target.of(budget))
    epsilon = as_fraction(budget.epsilon)
    losses = [loss for item in items for loss in pure_bounds(item, noise, epsilon)]
    pure = max(losses, key=lambda loss: loss.value)
    if all(loss.within(epsilon) for loss in losses):
        return Proof(pure.value, 0.0, pure.label, holds=True)
    if not isinstance(budget, Approx) or budget.delta == 0:
        for item in items:
            if isinstance(item, Family):
                require_exact(item)  # says why, where no pure loss is known
        return Proof(pure.value, 0.0, pure.label, holds=False)
    deltas = [loss for item in items for loss in delta_bounds(item, noise, epsilon)]
    worst = max(deltas, key=lambda loss: loss.value)
    return Proof(
        float_up(epsilon), worst.value, worst.label, all(loss.within(as_fraction(budget.delta)) for loss in deltas)
    )


def proved_noise(
    items: tuple[Item, ...], grid: Fraction, steps: float, budget: AnyBudget, kind: str = "laplace"
) -> tuple[Noise, Proof]:
    """The noise of least 10-digit scale at or above `steps * grid` that is proved; a scale that is not is refused."""

    def attempt(scale: Fraction) -> tuple[Noise, Proof]:
        noise = with_scale(kind, float(scale), grid)
        return noise, prove(items, noise, budget)

    return least_proved(steps, grid, kind, attempt)


def least_proved(
    steps: float, grid: Fraction, kind: str, attempt: Callable[[Fraction], tuple[Drawn, Proof]]
) -> tuple[Drawn, Proof]:
    """What `attempt` makes of the first scale whose proof holds, among 10-digit decimals from `steps * grid` upward.

    A proposal is a float: it may be a little short of what it stands for. More than 1e-5 of it is not made up for."""
    found = float(decimal_up(float(Fraction(steps) * grid), _DIGITS))
    for scale in dict.fromkeys(decimal_up(found * (1 + nudge), _DIGITS) for nudge in _NUDGES):
        drawn, proof = attempt(scale)
        if proof.holds:
            return drawn, proof
    raise NotProvable(
        f"the {kind} scale {float(scale):g} could not be proved for pair {proof.worst_pair!r}: the bound is epsilon "
        f"{proof.epsilon:.12g}, delta {proof.delta:.3g}; ask for a larger epsilon or delta"
    )


def with_scale(kind: str, scale: float, grid: Fraction) -> Noise:
    """The lattice noise of that kind."""
    return Gaussian(scale, grid) if kind == "gaussian" else Laplace(scale, grid)
