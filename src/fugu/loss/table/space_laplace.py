"""Laplace noise in every coordinate, on discrete laws of vectors (docs/proofs/vectors.md)."""

from __future__ import annotations

from fractions import Fraction
from typing import final

from fugu.errors import NotProvable
from fugu.laws.family import Family
from fugu.loss.table.space import Space
from fugu.noise.laplace import Laplace


@final
class SpaceLaplace(Space[Laplace]):
    """Distances in the l1 norm."""

    about = "Laplace noise on laws of vectors"

    def renyi(self, item: Family, noise: Laplace, alpha: Fraction) -> float:
        """For lattice noise only."""
        if noise.grid is None and not noise.silent:
            raise NotProvable("for vectors the divergence is bounded for lattice noise; give the noise a grid")
        return super().renyi(item, noise, alpha)


LEAKAGE = SpaceLaplace()
