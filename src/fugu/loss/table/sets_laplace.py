"""Laplace noise on sets of laws (docs/proofs/sets.md): the pure loss exactly, at every declared value."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.ranges import over
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.pure import prove_pure, pure_loss
from fugu.loss.table.line import NO_NOISE
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import float_up


@final
class SetsLaplace(Leakage[SetFamily, Laplace]):
    """Windows of the nearest and the farthest mass, which do not depend on the scale."""

    about = "Laplace noise on sets of laws"

    def pure(self, item: SetFamily, noise: Laplace, epsilon: Fraction) -> list[PairLoss]:
        """The largest N / D; what is above `epsilon` by rounding alone may meet it by coupling, exactly: no mass need
        move farther than the range."""
        if noise.silent:
            return prove_pure(item, Kernel.of(noise))
        far = int(item.points[-1] - item.points[0]) * noise.rate <= epsilon
        return [
            PairLoss(loss.label, float_up(epsilon), loss.pair, met=True) if far and not loss.within(epsilon) else loss
            for loss in prove_pure(item, Kernel.of(noise))
        ]

    def fast_pure(self, item: SetFamily, steps: float) -> float:
        """In doubles, O(n) for every scale."""
        return pure_loss(item, Kernel.laplace(steps))

    def require(self, item: SetFamily, ask: Ask) -> None:
        """Equal outputs of different laws are impossible."""
        if ask.impossible:
            raise NotProvable(NO_NOISE)

    def start(self, item: SetFamily, ask: Ask) -> float:
        """range / epsilon, or range / delta when epsilon is tiny."""
        reach = float(item.points[-1] - item.points[0])
        by_epsilon = reach / float(ask.epsilon) if ask.epsilon else math.inf
        by_delta = reach / float(ask.delta) if ask.delta else math.inf
        return max(1e-280, min(by_epsilon, by_delta)) * (1 + 1e-9)

    def sure(self, item: SetFamily, ask: Ask) -> float:
        """range / epsilon where no delta is allowed: if every law is possible it is the exact root."""
        return over(float(item.points[-1] - item.points[0]), ask.epsilon) if ask.pure else math.inf

    def leak(self, item: SetFamily, noise: Laplace) -> float:
        """The largest N / D."""
        return pure_loss(item, Kernel.of(noise))


LEAKAGE = SetsLaplace()
