"""`VectorAdditive`: round every coordinate onto the lattice, add independent exact lattice noise to each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.laws.places import nearest
from fugu.mechanism.additive import rounding_error
from fugu.mechanism.intake import as_rows
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Objective, Sampler
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import Lattice


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class VectorAdditive(Mechanism):
    """Y = value(index(nearest supported X) + (N_1, ..., N_d)), the N_j independent lattice noises of one scale."""

    noise: Laplace | Gaussian
    lattice: Lattice | None
    """Where coordinates are rounded; None if neither noise nor rounding is applied."""
    dimension: int
    support: NDArray[np.float64] | None
    """The atoms of all laws, one per row; None for translates of an unknown law."""

    @property
    def sampler(self) -> Sampler:
        """The exact sampler of one coordinate's noise."""
        return self.noise.sampler

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_1 or E ||N||_2^2: the sum over coordinates."""
        return self.dimension * self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): all coordinates lie in it together with at least this probability."""
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        each = level ** (1 / self.dimension) * (1 + 1e-15)
        if self.noise.scale and not each < 1:
            raise BadNoise(f"the level {level!r} is nearer to 1 than doubles can tell; give a lower one")
        noise = self.noise.quantile(each) if self.noise.scale else 0.0
        half = noise + rounding_error(self.lattice, self.support)
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> VectorAdditive:
        """The same noise followed by `f`; the two share one release."""
        kept = self._with_post(f, name)
        return VectorAdditive(
            **kept, noise=self.noise, lattice=self.lattice, dimension=self.dimension, support=self.support
        )

    def _silent(self) -> bool:
        return self.noise.scale == 0

    def _draw(self, column: Column, source: BitSource) -> Column:
        clean = column if self.support is None else nearest(self.support, column)
        if self.lattice is None:
            return clean
        noise = self.sampler.draw(clean.size, source).reshape(clean.shape) if self.noise.scale else np.int64(0)
        return self.lattice.value(self.lattice.index(self.lattice.within(clean)) + noise)

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:  # noqa: ARG002 - no query here
        middle = np.zeros(self.dimension) if self.support is None else np.median(self.support, axis=0)
        return as_rows(values, self.dimension, middle.tolist())

    def __repr__(self) -> str:
        return f"VectorAdditive({self.noise!r}, {self.dimension} coordinates, {self.guarantee!r})"
