"""Generalised Cauchy noise on laws of one number, for analysis: with atoms divergences of continuous noise, by
quadrature; with Gaussian components nothing is proved but that equal laws lose nothing."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.family import Family
from fugu.laws.normal import Analytic
from fugu.loss import search
from fugu.loss.continuous_divergence import cauchy, divergence_of_atoms
from fugu.loss.divergence import renyi_bounds
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.table.line import divergence_start
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import as_fraction


@final
class LineCauchy(Leakage[Family, GeneralizedCauchy]):
    """For analysis only; the noise is in the unit of the points."""

    about = "Cauchy noise on laws with atoms"

    def divergence(self, item: Family, noise: GeneralizedCauchy, alpha: Fraction) -> list[PairLoss]:
        """Every pair that differs by itself; the others lose nothing."""
        known = {one.pairs[0]: self.renyi(one, noise, alpha) for one in item.alone()}
        return [
            PairLoss(label, known.get(pair, 0.0), pair) for pair, label in zip(item.pairs, item.labels, strict=True)
        ]

    def fast_divergence(self, item: Family, steps: float, alpha: Fraction) -> float:
        """The same; too small a scale for the quadrature counts as too small."""
        try:
            return self.renyi(item, GeneralizedCauchy(steps), alpha)
        except NotProvable:
            return math.inf

    def known(self, item: Family, ask: Ask) -> float | None:
        """Nothing moves: no noise is needed."""
        return 0.0 if search.farthest(item) == 0 else None

    def start(self, item: Family, ask: Ask) -> float:
        """A scale for a shift by the largest W_inf."""
        return divergence_start(item, ask)  # type: ignore[arg-type]

    def epsilon(self, item: Family, noise: GeneralizedCauchy) -> float:
        """Not computed here."""
        raise NotProvable("the pure loss of Cauchy noise is not available here; use a finite alpha")

    def renyi(self, item: Family, noise: GeneralizedCauchy, alpha: Fraction) -> float:
        """Quadrature with a proved error, both orders of every pair."""
        if noise.silent:
            return max(loss.value for loss in renyi_bounds(item, Laplace(0), alpha))
        tail = as_fraction(noise.tail)
        return divergence_of_atoms(
            item, as_fraction(noise.scale), float(tail), alpha, lambda p, q, a: cauchy(p, q, a, tail)
        )


LINE_CAUCHY = LineCauchy()


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
        return search.first_guess(search.smooth_range(item), ask)

    def epsilon(self, item: Analytic, noise: GeneralizedCauchy) -> float:
        """0 for equal laws."""
        return self.renyi(item, noise, Fraction(2))

    def renyi(self, item: Analytic, noise: GeneralizedCauchy, alpha: Fraction) -> float:
        """0 for equal laws."""
        if item.same:
            return 0.0
        raise NotProvable("the Rényi divergence of Cauchy noise on normal laws has no proof; use Laplace or Gaussian")


SMOOTH_CAUCHY = SmoothCauchy()
