"""Correlated lattice noise on normal laws of vectors, in the Gaussian model (docs/proofs/correlated.md)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.multinormal import Matrix, NormalPair
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.normal.bounds import normal_divergence, prove_normal_delta
from fugu.loss.normal.smoothing import excess
from fugu.noise.correlated import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

_SLACK = Fraction(1, 10**25)
"""At least 2 kappa; checked."""
_NO_RATIO = "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"


@final
class NormalCorrelated(Leakage[NormalPair, CorrelatedGaussian]):
    """M / R within e^{+-kappa} (`fugu.loss.normal.smoothing`) gives delta_M(epsilon) <= e^kappa delta_R(epsilon - 2
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


LEAKAGE = NormalCorrelated()
