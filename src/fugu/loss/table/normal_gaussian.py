"""Independent Gaussian noise on normal laws of vectors: correlated noise without columns, or continuous noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from fugu.guarantee.asks import Ask
from fugu.laws.multinormal import NormalPair
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.normal.bounds import normal_divergence, prove_normal_delta
from fugu.loss.search.gaussian import require_delta
from fugu.loss.table.normal_correlated import LEAKAGE as CORRELATED
from fugu.loss.table.normal_correlated import isotropic
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.gaussian import Gaussian
from fugu.numbers.exact import Real, as_fraction


@final
class NormalGaussian(Leakage[NormalPair, Gaussian]):
    """The same noise in every coordinate."""

    about = "Gaussian noise on normal laws of vectors"

    def pure(self, item: NormalPair, noise: Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def delta(self, item: NormalPair, noise: Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Lattice noise as correlated noise without columns; continuous noise exactly."""
        if noise.grid is not None:
            return CORRELATED.delta(item, _lattice(noise, item.dimension), epsilon, delta)
        return [PairLoss(item.label, prove_normal_delta(item, _cov(noise, item), epsilon))]

    def divergence(self, item: NormalPair, noise: Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Likewise."""
        if noise.grid is not None:
            return CORRELATED.divergence(item, _lattice(noise, item.dimension), alpha)
        return [PairLoss(item.label, normal_divergence(item, _cov(noise, item), alpha))]

    def require(self, item: NormalPair, ask: Ask) -> None:
        """Gaussian noise needs a delta, or finite orders."""
        require_delta(ask)

    def epsilon(self, item: NormalPair, noise: Gaussian) -> float:
        """Infinite unless the laws are equal."""
        return self.pure(item, noise, Fraction(0))[0].value

    def delta_at(self, item: NormalPair, noise: Gaussian, epsilon: Real) -> float:
        """As proved."""
        return 0.0 if item.same else self.delta(item, noise, as_fraction(epsilon), Fraction(0))[0].value

    def renyi(self, item: NormalPair, noise: Gaussian, alpha: Fraction) -> float:
        """As proved."""
        return 0.0 if item.same else self.divergence(item, noise, alpha)[0].value


def _lattice(noise: Gaussian, dimension: int) -> CorrelatedGaussian:
    assert noise.grid is not None
    return CorrelatedGaussian(noise.scale, (), (), noise.grid, dimension)


def _cov(noise: Gaussian, item: NormalPair) -> tuple[tuple[Fraction, ...], ...]:
    return isotropic(as_fraction(noise.scale) ** 2, item.dimension)


LEAKAGE = NormalGaussian()
