"""`Additive`: round onto the lattice, add exact lattice noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.laws.places import nearest
from fugu.mechanism.mechanism import Column, Mechanism, Step
from fugu.noise.bits import BitSource
from fugu.noise.discrete_gaussian import LatticeGaussianSampler
from fugu.noise.gaussian import Gaussian
from fugu.noise.geometric import LatticeLaplaceSampler
from fugu.noise.kind import Objective
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Additive(Mechanism):
    """Y = value(index(nearest supported X) + N) on the lattice, N the lattice noise: what is proved."""

    noise: Laplace | Gaussian
    lattice: Lattice | None
    """Where values are rounded; None if neither noise nor rounding is applied."""
    support: NDArray[np.float64] | None
    """The atoms of all laws, sorted; None for translates of an unknown law, where only the lattice is known."""

    @cached_property
    def sampler(self) -> LatticeLaplaceSampler | LatticeGaussianSampler:
        """The exact sampler of this noise."""
        return sampler_of(self.noise)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2 of the noise."""
        return self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): noise quantile plus half a grid step where values are rounded."""
        half = self.noise.quantile(level) + rounding_error(self.lattice, self.support)
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> Additive:
        """The same noise followed by `f`; the two share one release."""
        return Additive(**self._with_post(f, name), noise=self.noise, lattice=self.lattice, support=self.support)

    def _silent(self) -> bool:
        return self.noise.scale == 0

    def _centre(self) -> float:
        return 0.0 if self.support is None else float(self.support[(len(self.support) - 1) // 2])

    def _draw(self, column: Column, source: BitSource) -> Column:
        known = ~np.isnan(column)
        clean = column[known] if self.support is None else nearest(self.support, column[known])
        out = np.full(column.shape, np.nan)
        if self.lattice is None:
            out[known] = clean
        else:
            noise = self.sampler.draw(clean.size, source) if self.noise.scale else np.int64(0)
            out[known] = self.lattice.value(self.lattice.index(self.lattice.within(clean)) + noise)
        return out

    def __repr__(self) -> str:
        return f"Additive({self.noise!r}, {self.guarantee!r}, method={self.certificate.method!r})"


def sampler_of(noise: Laplace | Gaussian) -> LatticeLaplaceSampler | LatticeGaussianSampler:
    """The exact sampler of a lattice noise."""
    return noise.sampler


def rounding_error(lattice: Lattice | None, support: NDArray[np.float64] | None) -> float:
    """The largest error, in any coordinate, of rounding a supported value onto the lattice; half a step if any value
    may come, none without a lattice."""
    if lattice is None:
        return 0.0
    if support is None:
        return float(lattice.grid) / 2
    return float(np.max(np.abs(lattice.value(lattice.index(support)) - support)))
