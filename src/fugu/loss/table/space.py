"""What Laplace and Gaussian noise share on discrete laws of vectors: independent noise in every coordinate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, NotProvable
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.vectors.bounds import space_of, vector_delta, vector_pure, vector_renyi
from fugu.noise import Gaussian, Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real, as_fraction, decimal_step, integers
from fugu.transport.bottleneck import bottleneck
from fugu.transport.cells import SubCoupling, compact

OnLattice = TypeVar("OnLattice", Laplace, Gaussian)


class Space(Leakage[Family, OnLattice]):
    """Bounds by couplings, plans and the exact ratio on the product grid (docs/proofs/vectors.md)."""

    def pure(self, item: Family, noise: OnLattice, epsilon: Fraction) -> list[PairLoss]:
        """The exact ratio on the product grid of coordinates where that is small enough, or W_inf x rate."""
        return vector_pure(item, noise, epsilon)

    def delta(self, item: Family, noise: OnLattice, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By closeness, by a plan, or by conversion."""
        return vector_delta(item, noise, epsilon, delta)

    def divergence(self, item: Family, noise: OnLattice, alpha: Fraction) -> list[PairLoss]:
        """By joint convexity with a plan of exact marginals."""
        return vector_renyi(item, noise, alpha)

    def conditioned(self, item: Family, noise: OnLattice, alpha: Fraction, delta: Fraction) -> Family:
        """The pair given the events of probability at least 1 - delta that bring the laws closest: the normalised
        margins of a sub-coupling of least distance (`fugu.loss.divergence.conditioning`)."""
        from dataclasses import replace

        plan = bottleneck(space_of(item, item.pairs[0], noise.norm), delta)[1]
        size = len(item.points)
        laws = tuple(_law(plan, sums) for sums in (plan.row_masses(size), plan.column_masses(size)))
        return replace(item, laws=laws, pairs=((0, 1),), errors=(0.0, 0.0))

    def epsilon(self, item: Family, noise: OnLattice) -> float:
        """Exact on the product grid of coordinates up to 60,000 vertices, else W_inf / scale."""
        return self._stated(item, noise, lambda family, drawn: self.pure(family, drawn, Fraction(0)))

    def delta_at(self, item: Family, noise: OnLattice, epsilon: Real) -> float:
        """A proved delta(epsilon), by bounds that hold for continuous and for lattice noise."""
        exact = as_fraction(epsilon)
        return min(1.0, self._stated(item, noise, lambda f, drawn: self.delta(f, drawn, exact, Fraction(0))))

    def renyi(self, item: Family, noise: OnLattice, alpha: Fraction) -> float:
        """A proved bound on D_alpha by joint convexity; for vectors the tight divergence is not computed."""
        return self._stated(item, noise, lambda family, drawn: self.divergence(family, drawn, alpha))

    def _stated(self, item: Family, noise: OnLattice, losses: Callable[[Family, OnLattice], list[PairLoss]]) -> float:
        """Laws in lattice steps, and the noise on that lattice. Continuous Laplace noise has the ratios of lattice
        noise at the points of any lattice that holds all atoms; the Gaussian bounds hold for both."""
        lattice = Lattice.holding([item.points]) if noise.grid is None else Lattice(noise.grid)
        if lattice is None:
            raise NotProvable("coordinates that are no short decimals stand on no lattice; round them first")
        if noise.grid is not None and not _holds(lattice, item):
            raise BadNoise("some atoms are off the lattice of this grid; round the laws onto it first (calibrate does)")
        drawn = noise.at(noise.scale, lattice.grid)
        return max((loss.value for loss in losses(item.on(lattice), drawn)), default=0.0)


def _law(plan: SubCoupling, sums: NDArray[Any]) -> Masses:
    total = int(plan.masses.sum())
    return Masses(compact(sums, total), Fraction(total))


def _holds(lattice: Lattice, family: Family) -> bool:
    """Whether every coordinate is a whole number of steps, decided exactly."""
    step = decimal_step(family.points)
    if step is None:
        return all((as_fraction(x) / lattice.grid).denominator == 1 for x in np.unique(family.points).tolist())
    ratio = step / lattice.grid
    return all((int(k) * ratio).denominator == 1 for k in np.unique(integers(family.points, step)).tolist())
