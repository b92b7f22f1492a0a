"""What Laplace and Gaussian noise share on sets of laws (docs/proofs/sets.md): bounds for delta and finite orders."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.sets_bounds import fast_loss
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Excess, Measure, Power
from fugu.loss.sets.summing import prove_loss
from fugu.loss.stated import require_lattice
from fugu.loss.table.line import NO_NOISE
from fugu.noise import Gaussian, Laplace
from fugu.numbers.exact import Real, as_fraction, decimal_step, integers

OnLattice = TypeVar("OnLattice", Laplace, Gaussian)


class Sets(Leakage[SetFamily, OnLattice]):
    """The envelope and the dual of `fugu.loss.sets.bounds`."""

    def kernel(self, steps: float) -> Kernel:
        """Of the noise of a scale in lattice steps."""
        raise NotImplementedError

    def delta(self, item: SetFamily, noise: OnLattice, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """A bound on delta, not exact."""
        return prove_loss(item, Kernel.of(noise), Excess(epsilon), delta)

    def divergence(self, item: SetFamily, noise: OnLattice, alpha: Fraction) -> list[PairLoss]:
        """A bound on the divergence, not exact."""
        return prove_loss(item, Kernel.of(noise), Power(alpha), Fraction(0))

    def fast_delta(self, item: SetFamily, steps: float, ask: Ratio) -> float:
        """In doubles."""
        return fast_loss(item, self.kernel(steps), Excess(ask.epsilon), ask.target)

    def fast_divergence(self, item: SetFamily, steps: float, alpha: Fraction) -> float:
        """In doubles."""
        return fast_loss(item, self.kernel(steps), Power(alpha), 0.0)

    def require(self, item: SetFamily, ask: Ask) -> None:
        """Equal outputs of different laws are impossible."""
        if ask.impossible:
            raise NotProvable(NO_NOISE)

    def range(self, item: SetFamily) -> float:
        """From the first declared value to the last, in lattice steps."""
        return float(item.points[-1] - item.points[0])

    def delta_at(self, item: SetFamily, noise: OnLattice, epsilon: Real) -> float:
        """A bound on delta, of lattice noise."""
        return self._stated(item, noise, Excess(as_fraction(epsilon)))

    def renyi(self, item: SetFamily, noise: OnLattice, alpha: Fraction) -> float:
        """A bound on the divergence, of lattice noise."""
        return self._stated(item, noise, Power(alpha))

    def _stated(self, item: SetFamily, noise: OnLattice, measure: Measure) -> float:
        if noise.grid is None and not noise.silent:
            raise NotProvable(
                f"{self.about}: give the noise a grid; what continuous noise loses is known for pure budgets"
            )
        whole, unit = in_steps(item, noise)
        kernel = Kernel.of(noise) if noise.silent else Kernel.of(type(noise)(as_fraction(noise.scale) / unit, grid=1))
        return max(loss.value for loss in prove_loss(whole, kernel, measure, Fraction(0)))


def in_steps(item: SetFamily, noise: Laplace | Gaussian) -> tuple[SetFamily, Fraction]:
    """The sets on whole numbers of steps, and the step: that of lattice noise, on which all declared values must lie;
    else the decimal step of the values."""
    step = decimal_step(item.points)
    if step is None:
        raise NotProvable("sets of laws with declared values that are no short decimals: round the values onto a grid")
    whole = integers(item.points, step)
    if noise.grid is None or noise.silent:
        return item.placed(whole), step
    require_lattice(item.placed(whole), noise.grid / step)
    steps = [(Fraction(x) - int(whole[0])) * step / noise.grid for x in whole.tolist()]
    return item.placed(np.array([int(s) for s in steps], dtype=np.int64)), noise.grid


def finite(x: float) -> float:
    """A scale to begin with: positive and finite, where it is known."""
    return x if math.isinf(x) else max(1e-280, x) * (1 + 1e-9)
