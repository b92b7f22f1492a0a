"""Laplace noise in every coordinate, on discrete laws of vectors (docs/proofs/vectors.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.loss.table.space import Space
from fugu.loss.vectors.bounds import space_of
from fugu.noise.laplace import Laplace
from fugu.transport.bottleneck import bottleneck


@final
class SpaceLaplace(Space[Laplace]):
    """Distances in the l1 norm."""

    about = "Laplace noise on laws of vectors"

    def limit(self, item: Family, noise: Laplace) -> Fraction | None:
        """W_inf x rate in exact rationals where that is less than the ratio on the product grid."""
        if noise.silent:
            return super().limit(item, noise)
        worst = Fraction(0)
        for loss in self.pure(item, noise, Fraction(0)):
            moved = Fraction(bottleneck(space_of(item, loss.pair, noise.norm), Fraction(0))[0]) * noise.rate
            worst = max(worst, moved if math.isinf(loss.value) else min(moved, Fraction(loss.value)))
        return worst

    def renyi(self, item: Family, noise: Laplace, alpha: Fraction) -> float:
        """For lattice noise only."""
        if noise.grid is None and not noise.silent:
            raise NotProvable("for vectors the divergence is bounded for lattice noise; give the noise a grid")
        return super().renyi(item, noise, alpha)


LEAKAGE = SpaceLaplace()
