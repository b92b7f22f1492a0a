"""Gaussian noise on normal laws of vectors: correlated lattice noise, or independent in every coordinate."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.multinormal import Matrix, NormalPair
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.normal import normal_divergence, prove_normal_delta
from fugu.loss.vectors_gaussian import SLACK, excess
from fugu.noise.gaussian import Gaussian
from fugu.noise.matrix import CorrelatedGaussian
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction

_NO_RATIO = "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"


@final
class NormalLeakage(Leakage[NormalPair, Gaussian | CorrelatedGaussian]):
    """The Gaussian model (docs/proofs/correlated.md): M / R within e^{+-kappa} (`fugu.loss.vectors_gaussian`) gives
    delta_M(epsilon) <= e^kappa delta_R(epsilon - 2 kappa) and D_a(M) <= D_a(R) + (2a - 1) kappa / (a - 1); R is a
    rounding of continuous Gaussian noise of the same covariance. Independent lattice noise is correlated noise without
    columns; continuous noise has kappa 0."""

    def pure(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def explain_pure(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> None:
        """No ratio is bounded."""
        if not item.same and isinstance(noise, CorrelatedGaussian):
            raise NotProvable(_NO_RATIO)

    def delta(
        self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, epsilon: Fraction, delta: Fraction
    ) -> list[PairLoss]:
        """Exact for every pair of covariances, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        covariance, kappa = _gaussian(item, noise)
        left = max(Fraction(0), epsilon - SLACK) if kappa > 0 else epsilon
        more = balls.of(SLACK) if kappa > 0 and epsilon < SLACK else arb(0)  # HS_{-x} <= HS_0 + x
        with balls.precision(128):
            found = balls.upper((arb(prove_normal_delta(item, covariance, left)) + more) * kappa.exp())
        return [PairLoss(item.label, min(1.0, found))]

    def divergence(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, alpha: Fraction) -> list[PairLoss]:
        """Closed form, and kappa for the lattice."""
        if item.same:
            return [PairLoss(item.label, 0.0)]
        covariance, kappa = _gaussian(item, noise)
        with balls.precision(128):
            more = kappa * balls.of((2 * alpha - 1) / (alpha - 1))
            return [PairLoss(item.label, balls.upper(arb(normal_divergence(item, covariance, alpha)) + more))]


def _gaussian(item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> tuple[Matrix, arb]:
    """The covariance of the noise, and kappa, for which 2 kappa <= SLACK is checked."""
    d = item.dimension
    if isinstance(noise, Gaussian):
        if noise.grid is None:
            variance = as_fraction(noise.scale) ** 2
            return tuple(tuple(variance if i == j else Fraction(0) for j in range(d)) for i in range(d)), arb(0)
        noise = CorrelatedGaussian(noise.scale, (), (), noise.grid, d)
    kappa = excess(noise, [item.p.cov, item.q.cov])
    if not 2 * kappa <= balls.of(SLACK):
        raise NotProvable("too many coordinates or columns for the smoothing bound")
    return noise.covariance(), kappa
