"""Laplace noise on sets of laws (docs/proofs/sets.md): the pure loss exactly, at every declared value."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import OutOfReach
from fugu.guarantee.asks import Ask, Divergences
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import PairLoss
from fugu.loss.search.ranges import over
from fugu.loss.search.sets_pure import pure_loss
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.pure import prove_pure
from fugu.loss.table.sets import Sets, finite, in_steps
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction, float_up


@final
class SetsLaplace(Sets[Laplace]):
    """Windows of the nearest and the farthest mass, which do not depend on the scale."""

    about = "Laplace noise on sets of laws"

    def kernel(self, steps: float) -> Kernel:
        """e^{-d / steps}."""
        return Kernel.laplace(steps)

    def pure(self, item: SetFamily, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """The largest N / D; what is above `epsilon` by rounding alone may meet it by coupling, exactly: no mass need
        move farther than the range."""
        far = None if noise.silent else int(item.points[-1] - item.points[0]) * noise.rate
        covered = far is not None and far <= epsilon
        try:
            found = prove_pure(item, Kernel.of(noise))
        except OutOfReach:
            if far is None or not covered:
                raise
            return [PairLoss(label, float_up(far), pair, met=True) for pair, label in item.different]
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True)
            if covered and not loss.within(epsilon)
            else loss
            for loss in found
        ]

    def fast_pure(self, item: SetFamily, steps: float) -> float:
        """In doubles, O(n) for every scale."""
        return pure_loss(item, Kernel.laplace(steps))

    def start(self, item: SetFamily, ask: Ask) -> float:
        """range / epsilon, or range / delta when epsilon is tiny."""
        if isinstance(ask, Divergences):
            return ask.start(self.range(item))
        by_epsilon = self.range(item) / float(ask.epsilon) if ask.epsilon else math.inf
        by_delta = self.range(item) / float(ask.delta) if ask.delta else math.inf
        return finite(min(by_epsilon, by_delta))

    def sure(self, item: SetFamily, ask: Ask) -> float:
        """range / epsilon where no delta is allowed: if every law is possible it is the exact root."""
        return over(self.range(item), ask.epsilon) if ask.pure else math.inf

    def leak(self, item: SetFamily, noise: Laplace) -> float:
        """The largest N / D."""
        return pure_loss(item, Kernel.of(noise))

    def epsilon(self, item: SetFamily, noise: Laplace) -> float:
        """The largest N / D; lattice and continuous noise agree."""
        whole, unit = in_steps(item, noise)
        kernel = Kernel(None if noise.silent else unit / as_fraction(noise.scale))
        return max(loss.value for loss in prove_pure(whole, kernel))


LEAKAGE = SetsLaplace()
