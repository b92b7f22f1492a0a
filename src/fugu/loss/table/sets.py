"""What Laplace and Gaussian noise share on sets of laws (docs/proofs/sets.md): bounds for delta and finite orders."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Ratio
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Excess, Power
from fugu.loss.sets.summing import fast_loss, prove_loss
from fugu.loss.table.line import NO_NOISE
from fugu.noise import Gaussian, Laplace

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


def finite(x: float) -> float:
    """A scale to begin with: positive and finite, where it is known."""
    return x if math.isinf(x) else max(1e-280, x) * (1 + 1e-9)
