"""Generalised Cauchy noise on laws of one number with atoms: divergences of continuous noise, by quadrature."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.family import Family
from fugu.loss.divergence.cauchy import cauchy
from fugu.loss.divergence.continuous import divergence_of_atoms
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.search.ranges import farthest
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
        return 0.0 if farthest(item) == 0 else None

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


LEAKAGE = LineCauchy()
