"""Gaussian noise on normal laws of vectors: correlated lattice noise, or independent in every coordinate."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask
from fugu.laws.multinormal import Matrix, NormalPair
from fugu.loss import search
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.normal import normal_divergence, prove_normal_delta
from fugu.loss.vectors_gaussian import excess
from fugu.noise.gaussian import Gaussian
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

# Correlated lattice noise on normal laws of vectors, in the Gaussian model (docs/proofs/correlated.md).


_SLACK = Fraction(1, 10**25)
"""At least 2 kappa; checked."""
_NO_RATIO = "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"


@final
class NormalCorrelated(Leakage[NormalPair, CorrelatedGaussian]):
    """M / R within e^{+-kappa} (`fugu.loss.vectors_gaussian`) gives delta_M(epsilon) <= e^kappa delta_R(epsilon - 2
    kappa) and D_a(M) <= D_a(R) + (2a - 1) kappa / (a - 1); R is a rounding of continuous Gaussian noise of the same
    covariance."""

    about = "correlated noise on normal laws of vectors"

    def pure(self, item: NormalPair, noise: CorrelatedGaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def explain_pure(self, item: NormalPair, noise: CorrelatedGaussian) -> None:
        """No ratio is bounded."""
        if not item.same:
            raise NotProvable(_NO_RATIO)

    def delta(self, item: NormalPair, noise: CorrelatedGaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """Exact for every pair of covariances, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        kappa = _kappa(item, noise)
        left = max(Fraction(0), epsilon - _SLACK) if kappa > 0 else epsilon
        more = balls.of(_SLACK) if kappa > 0 and epsilon < _SLACK else arb(0)  # HS_{-x} <= HS_0 + x
        with balls.precision(128):
            found = balls.upper((arb(prove_normal_delta(item, noise.covariance(), left)) + more) * kappa.exp())
        return [PairLoss(item.label, min(1.0, found))]

    def divergence(self, item: NormalPair, noise: CorrelatedGaussian, alpha: Fraction) -> list[PairLoss]:
        """Closed form, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        kappa = _kappa(item, noise)
        with balls.precision(128):
            more = kappa * balls.of((2 * alpha - 1) / (alpha - 1))
            return [PairLoss(item.label, balls.upper(arb(normal_divergence(item, noise.covariance(), alpha)) + more))]

    def epsilon(self, item: NormalPair, noise: CorrelatedGaussian) -> float:
        """Infinite unless the laws are equal."""
        return self.pure(item, noise, Fraction(0))[0].value

    def delta_at(self, item: NormalPair, noise: CorrelatedGaussian, epsilon: Real) -> float:
        """As proved."""
        return self.delta(item, noise, as_fraction(epsilon), Fraction(0))[0].value

    def renyi(self, item: NormalPair, noise: CorrelatedGaussian, alpha: Fraction) -> float:
        """As proved."""
        return self.divergence(item, noise, alpha)[0].value


def _kappa(item: NormalPair, noise: CorrelatedGaussian) -> arb:
    kappa = excess(noise, [item.p.cov, item.q.cov])
    if not 2 * kappa <= balls.of(_SLACK):
        raise NotProvable("too many coordinates or columns for the smoothing bound")
    return kappa


def isotropic(variance: Fraction, dimension: int) -> Matrix:
    """variance x I."""
    return tuple(tuple(variance if i == j else Fraction(0) for j in range(dimension)) for i in range(dimension))


NORMAL_CORRELATED = NormalCorrelated()


# Independent Gaussian noise on normal laws of vectors: correlated noise without columns, or continuous noise.


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
            return NORMAL_CORRELATED.delta(item, _lattice(noise, item.dimension), epsilon, delta)
        return [PairLoss(item.label, prove_normal_delta(item, _cov(noise, item), epsilon))]

    def divergence(self, item: NormalPair, noise: Gaussian, alpha: Fraction) -> list[PairLoss]:
        """Likewise."""
        if noise.grid is not None:
            return NORMAL_CORRELATED.divergence(item, _lattice(noise, item.dimension), alpha)
        return [PairLoss(item.label, normal_divergence(item, _cov(noise, item), alpha))]

    def require(self, item: NormalPair, ask: Ask) -> None:
        """Gaussian noise needs a delta, or finite orders."""
        search.require_delta(ask)

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


NORMAL_GAUSSIAN = NormalGaussian()
