"""Generalised Cauchy noise on laws with Gaussian components: nothing is proved but that equal laws lose nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.analytic import Analytic
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.ranges import first_guess, smooth_range
from fugu.noise.cauchy import GeneralizedCauchy


@final
class SmoothCauchy(Leakage[Analytic, GeneralizedCauchy]):
    """Refused unless the laws are equal."""

    about = "Cauchy noise on normal laws"

    def divergence(self, item: Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> list[PairLoss]:
        """0 for equal laws."""
        return [PairLoss(item.label, self.renyi(item, noise, alpha))]

    def fast_divergence(self, item: Analytic, steps: float, alpha: Fraction) -> float:
        """0 for equal laws."""
        return self.renyi(item, GeneralizedCauchy(steps), alpha)

    def start(self, item: Analytic, ask: Ask) -> float:
        """Any scale."""
        return first_guess(smooth_range(item), ask)

    def epsilon(self, item: Analytic, noise: GeneralizedCauchy) -> float:
        """0 for equal laws."""
        return self.renyi(item, noise, Fraction(2))

    def renyi(self, item: Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> float:
        """0 for equal laws."""
        if item.same:
            return 0.0
        raise NotProvable("the Rényi divergence of Cauchy noise on normal laws has no proof; use Laplace or Gaussian")


LEAKAGE = SmoothCauchy()
