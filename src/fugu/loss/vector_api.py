"""`fugu.epsilon`, `fugu.delta` and `fugu.renyi` for published vectors: independent noise in every coordinate."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fugu.errors import BadNoise, NotProvable
from fugu.laws.pair import LawPair
from fugu.laws.vectors import VectorFamily, vector_families
from fugu.loss.atoms.laplace import PairLoss
from fugu.loss.atoms.subnormal import worst_reading
from fugu.loss.bounds import Noise
from fugu.loss.vectors.bounds import vector_delta, vector_pure, vector_renyi
from fugu.noise import Gaussian, Laplace
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import as_fraction, decimal_step, integers


def vector_epsilon(noise: Noise, pairs: tuple[LawPair, ...]) -> float:
    """The largest log ratio: exact on the product grid of coordinates up to 60,000 vertices, else W_inf / scale."""
    families, drawn = _on_lattice(noise, pairs)
    return _worst(families, lambda f: vector_pure(f, drawn, Fraction(0)))


def vector_delta_at(noise: Noise, pairs: tuple[LawPair, ...], epsilon: Fraction) -> float:
    """A proved delta(epsilon), by bounds that hold for continuous and for lattice noise (`vector_delta`)."""
    families, drawn = _on_lattice(noise, pairs)
    return min(1.0, _worst(families, lambda f: vector_delta(f, drawn, epsilon)))


def vector_divergence(noise: Noise, pairs: tuple[LawPair, ...], alpha: Fraction) -> float:
    """A proved bound on D_alpha by joint convexity; for vectors the tight divergence is not computed."""
    families, drawn = _on_lattice(noise, pairs)
    if noise.grid is None and isinstance(noise, Laplace) and noise.scale > 0:
        raise NotProvable("for vectors the divergence is bounded for lattice noise; give the noise a grid")
    return _worst(families, lambda f: vector_renyi(f, drawn, alpha))


def _worst(families: tuple[VectorFamily, ...], losses: Callable[[VectorFamily], list[PairLoss]]) -> float:
    """The largest loss of any pair, whatever its smallest masses stand for."""

    def largest(family: VectorFamily) -> float:
        return max((loss.value for loss in losses(family)), default=0.0)

    return max((worst_reading(family, largest) for family in families), default=0.0)


def _on_lattice(noise: Noise, pairs: tuple[LawPair, ...]) -> tuple[tuple[VectorFamily, ...], Noise]:
    """Laws in lattice steps, and the noise on that lattice. Continuous Laplace noise has the ratios of lattice noise at
    the points of any lattice that holds all atoms; the Gaussian bounds alpha |k|^2 / (2 s^2) hold for both."""
    given = vector_families(pairs)
    if noise.grid is not None:
        lattice = Lattice(noise.grid)
        if not all(_holds(lattice, family) for family in given):
            raise BadNoise("some atoms are off the lattice of this grid; round the laws onto it first (calibrate does)")
    else:
        found = Lattice.holding([family.points for family in given])
        if found is None:
            raise NotProvable("coordinates that are no short decimals stand on no lattice; round them first")
        lattice = found
    drawn: Noise = type(noise)(noise.scale, lattice.grid) if isinstance(noise, Gaussian | Laplace) else noise
    return tuple(family.on(lattice) for family in given), drawn


def _holds(lattice: Lattice, family: VectorFamily) -> bool:
    """Whether every coordinate is a whole number of steps, decided exactly."""
    step = decimal_step(family.points)
    if step is None:
        return all((as_fraction(x) / lattice.grid).denominator == 1 for x in np.unique(family.points).tolist())
    ratio = step / lattice.grid
    return all((int(k) * ratio).denominator == 1 for k in np.unique(integers(family.points, step)).tolist())
