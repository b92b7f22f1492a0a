"""Laplace and Gaussian noise on laws of vectors, discrete or normal: in every coordinate, along whole directions, or
correlated."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb

from fugu.errors import BadNoise, NotProvable
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.laws.multinormal import Matrix, NormalPair
from fugu.loss.leakage import Leakage
from fugu.loss.normal import normal_divergence, prove_normal_delta
from fugu.loss.vectors import pure_as_delta, space_of, vector_delta, vector_pure, vector_renyi
from fugu.loss.vectors_gaussian import SLACK, excess
from fugu.noise import Gaussian, Laplace
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_up, integers
from fugu.transport.matching import bottleneck

_NO_RATIO = "Gaussian noise gives no pure guarantee unless the laws are equal; give a delta > 0, or a Renyi budget"


@final
class SpaceLeakage(Leakage[Family, Laplace | Gaussian]):
    """Independent noise in every coordinate: bounds by couplings, plans and the exact ratio on the product grid
    (docs/proofs/vectors.md). Distances are in the norm of the noise, l1 for Laplace and l2 for Gaussian noise."""

    def pure(self, item: Family, noise: Laplace | Gaussian, epsilon: Fraction) -> list[PairLoss]:
        """The exact ratio on the product grid of coordinates where that is small enough, or W_inf x rate."""
        return vector_pure(item, noise, epsilon)

    def delta(self, item: Family, noise: Laplace | Gaussian, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By closeness, by a plan, or by conversion."""
        return vector_delta(item, noise, epsilon, delta)

    def divergence(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction) -> list[PairLoss]:
        """By joint convexity with a plan of exact marginals."""
        return vector_renyi(item, noise, alpha)

    def conditioned(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction, delta: Fraction) -> Family:
        """The pair given the events of probability at least 1 - delta that bring the laws closest: the normalised
        margins of a sub-coupling of least distance (`fugu.loss.divergence`)."""
        from fugu.loss.divergence import margins

        return margins(item, bottleneck(space_of(item, item.pairs[0], noise.norm), delta)[1], item.labels[0])

    def coupled(self, item: Family, pair: tuple[int, int], noise: Laplace | Gaussian) -> Fraction | None:
        """Of Laplace noise W_inf x rate."""
        if noise.silent or isinstance(noise, Gaussian):
            return None
        return Fraction(bottleneck(space_of(item, pair, noise.norm), Fraction(0))[0]) * noise.rate

    def leak(self, item: Family, noise: Laplace | Gaussian) -> None:
        """None: only bounds are known."""

    def given(self, item: Family, noise: Laplace | Gaussian) -> tuple[Family, Laplace | Gaussian]:
        """Laws in lattice steps, and the noise on that lattice. Continuous Laplace noise has the ratios of lattice
        noise at the points of any lattice that holds all atoms; the Gaussian bounds hold for both."""
        lattice = Lattice.holding([item.points]) if noise.grid is None else Lattice(noise.grid)
        if lattice is None:
            raise NotProvable("coordinates that are no short decimals stand on no lattice; round them first")
        step, points = decimal_step(item.points), item.points
        exact = (as_fraction(x) for x in np.unique(points).tolist())
        if step is not None:
            exact = (int(k) * step for k in np.unique(integers(points, step)).tolist())
        if noise.grid is not None and any((x / lattice.grid).denominator != 1 for x in exact):
            raise BadNoise("some atoms are off the lattice of this grid; round the laws onto it first (calibrate does)")
        return item.on(lattice), noise.at(noise.scale, lattice.grid)

    def delta_at(self, item: Family, noise: Laplace | Gaussian, epsilon: Real) -> float:
        """A proved delta(epsilon), by bounds that hold for continuous and for lattice noise."""
        return min(1.0, super().delta_at(item, noise, epsilon))

    def renyi(self, item: Family, noise: Laplace | Gaussian, alpha: Fraction) -> float:
        """A proved bound on D_alpha by joint convexity, of Laplace noise on a lattice only; for vectors the tight
        divergence is not computed."""
        if isinstance(noise, Laplace) and noise.grid is None and not noise.silent:
            raise NotProvable("for vectors the divergence is bounded for lattice noise; give the noise a grid")
        return super().renyi(item, noise, alpha)


@final
class SpaceDirected(Leakage[Family, DirectedLaplace]):
    """Laplace noise along whole directions, on translates of laws of vectors (docs/proofs/directed.md): exact
    rationals, the whole multiples of the directions that make up the shift."""

    def pure(self, item: Family, noise: DirectedLaplace, epsilon: Fraction) -> list[PairLoss]:
        """sum_j |z_j| / t_j for translates; infinite where the shift leaves the directions."""
        found = []
        for pair, label in item.different:
            ends = []
            for number in pair:
                held = np.flatnonzero(item.laws[number].parts != 0)
                if len(held) != 1 or item.blurred(pair):
                    raise NotProvable("noise along directions is proved for translates; these laws have several atoms")
                ends.append(item.points[held[0]])
            loss = noise.loss(tuple(int(x) for x in np.atleast_1d(ends[1] - ends[0])))
            value = math.inf if loss is None else float_up(loss)
            found.append(PairLoss(label, value, pair, met=loss is not None and loss <= epsilon))
        return found

    def delta(self, item: Family, noise: DirectedLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By conversion from the pure loss."""
        return [
            PairLoss(loss.label, pure_as_delta(loss.value, epsilon), loss.pair)
            for loss in self.pure(item, noise, epsilon)
        ]


@final
class NormalLeakage(Leakage[NormalPair, Gaussian | CorrelatedGaussian]):
    """The Gaussian model (docs/proofs/correlated.md): M / R within e^{+-kappa} (`fugu.loss.vectors_gaussian`) gives
    delta_M(epsilon) <= e^kappa delta_R(epsilon - 2 kappa) and D_a(M) <= D_a(R) + (2a - 1) kappa / (a - 1); R is a
    rounding of continuous Gaussian noise of the same covariance. Independent lattice noise is correlated noise without
    columns; continuous noise has kappa 0."""

    def pure(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian, epsilon: Fraction) -> list[PairLoss]:
        """Infinite unless the laws are equal."""
        return [PairLoss(item.label, 0.0 if item.same else math.inf)]

    def leak(self, item: NormalPair, noise: Gaussian | CorrelatedGaussian) -> None:
        """None: no table lists it."""

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
