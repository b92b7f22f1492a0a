"""Laplace and Gaussian noise on discrete laws of vectors, in every coordinate or along whole directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, NotProvable
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.loss.leakage import Leakage, PairLoss
from fugu.loss.vectors import pure_as_delta, space_of, vector_delta, vector_pure, vector_renyi
from fugu.noise import Gaussian, Laplace
from fugu.noise.lattice import Lattice
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_up, integers
from fugu.transport.coupling import SubCoupling, compact
from fugu.transport.matching import bottleneck

# What Laplace and Gaussian noise share on discrete laws of vectors: independent noise in every coordinate.


OnLattice = TypeVar("OnLattice", Laplace, Gaussian)


class SpaceLeakage(Leakage[Family, OnLattice]):
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
        margins of a sub-coupling of least distance (`fugu.loss.divergence`)."""
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


# Laplace noise in every coordinate, on discrete laws of vectors (docs/proofs/vectors.md).


@final
class SpaceLaplace(SpaceLeakage[Laplace]):
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


SPACE_LAPLACE = SpaceLaplace()


# Gaussian noise in every coordinate, on discrete laws of vectors (docs/proofs/vectors.md).


@final
class SpaceGaussian(SpaceLeakage[Gaussian]):
    """Distances in the l2 norm."""

    about = "Gaussian noise on laws of vectors"


SPACE_GAUSSIAN = SpaceGaussian()


# Laplace noise along whole directions, on translates of laws of vectors (docs/proofs/directed.md).


@final
class SpaceDirected(Leakage[Family, DirectedLaplace]):
    """Exact rationals: the whole multiples of the directions that make up the shift."""

    about = "Laplace noise along directions, on laws of vectors"

    def pure(self, item: Family, noise: DirectedLaplace, epsilon: Fraction) -> list[PairLoss]:
        """sum_j |z_j| / t_j for translates; infinite where the shift leaves the directions."""
        found = []
        for pair, label in item.different:
            loss = noise.loss(_shift(item, pair))
            value = math.inf if loss is None else float_up(loss)
            found.append(PairLoss(label, value, pair, met=loss is not None and loss <= epsilon))
        return found

    def delta(self, item: Family, noise: DirectedLaplace, epsilon: Fraction, delta: Fraction) -> list[PairLoss]:
        """By conversion from the pure loss."""
        del delta
        return [
            PairLoss(loss.label, 1.0 if math.isinf(loss.value) else pure_as_delta(loss.value, epsilon), loss.pair)
            for loss in self.pure(item, noise, epsilon)
        ]

    def epsilon(self, item: Family, noise: DirectedLaplace) -> float:
        """The pure loss."""
        return max((loss.value for loss in self.pure(item, noise, Fraction(0))), default=0.0)

    def delta_at(self, item: Family, noise: DirectedLaplace, epsilon: Real) -> float:
        """By conversion from the pure loss."""
        losses = self.delta(item, noise, as_fraction(epsilon), Fraction(0))
        return max((loss.value for loss in losses), default=0.0)


def _shift(item: Family, pair: tuple[int, int]) -> tuple[int, ...]:
    """How many steps apart the two point masses of a pair are."""
    ends = []
    for number in pair:
        held = np.flatnonzero(item.laws[number].parts != 0)
        if len(held) != 1 or item.blurred(pair):
            raise NotProvable("noise along directions is proved for translates; these laws have several atoms")
        ends.append(item.points[held[0]])
    return tuple(int(x) for x in np.atleast_1d(ends[1] - ends[0]))


SPACE_DIRECTED = SpaceDirected()
