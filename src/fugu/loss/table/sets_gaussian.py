"""Gaussian noise on sets of laws (docs/proofs/sets.md): no finite pure loss; bounds for delta and finite orders."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import PairLoss
from fugu.loss.search.gaussian import LEAST, gaussian_scale, require_delta
from fugu.loss.search.sets_pure import pure_loss
from fugu.loss.search.shifts import fast_gaussian_mu
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.pure import prove_pure
from fugu.loss.table.sets import Sets, finite, in_steps
from fugu.noise.gaussian import Gaussian


@final
class SetsGaussian(Sets[Gaussian]):
    """Every lattice point up to where the noise has vanished."""

    about = "Gaussian noise on sets of laws"

    def kernel(self, steps: float) -> Kernel:
        """e^{-d^2 / 2 steps^2}."""
        return Kernel.gaussian(steps)

    def pure(self, item: SetFamily, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """It bounds no ratio by itself, but what the laws do not lose, they do not lose after noise either."""
        return prove_pure(item, Kernel(None))

    def require(self, item: SetFamily, ask: Ask) -> None:
        """Gaussian noise needs a delta, or finite orders."""
        require_delta(ask)
        super().require(item, ask)

    def start(self, item: SetFamily, ask: Ask) -> float:
        """What continuous noise needs for a shift by the whole range, and a step for the lattice."""
        if isinstance(ask, Divergences):
            return ask.start(self.range(item))
        if ask.target <= LEAST:
            raise NotProvable(f"a delta of {ask.target:g} is below what the search for Gaussian noise can tell from 0")
        return finite(1.001 * self.range(item) / float(fast_gaussian_mu(float(ask.epsilon), ask.target)) + 1)

    def sure(self, item: SetFamily, ask: Ask) -> float:
        """range sqrt(alpha / (2 epsilon)) for divergences."""
        return gaussian_scale(self.range(item), ask)

    def leak(self, item: SetFamily, noise: Gaussian) -> float:
        """Infinite, unless nothing is added."""
        return pure_loss(item, Kernel(None)) if noise.silent else math.inf

    def epsilon(self, item: SetFamily, noise: Gaussian) -> float:
        """Infinite, unless nothing is added."""
        if not noise.silent:
            return math.inf
        return max(loss.value for loss in prove_pure(in_steps(item, noise)[0], Kernel(None)))


LEAKAGE = SetsGaussian()
