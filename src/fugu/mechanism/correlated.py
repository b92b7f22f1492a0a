"""`CorrelatedAdditive`: round a vector onto the lattice, add correlated lattice noise."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import final

from fugu.errors import BadNoise
from fugu.mechanism.intake import as_rows
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.noise.bits import BitSource
from fugu.noise.correlated import CorrelatedGaussian
from fugu.noise.kind import Objective
from fugu.noise.lattice import Lattice


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CorrelatedAdditive(Mechanism):
    """Y = value(index(X) + Z_0 + sum_j b_j Z_j) on the lattice; see `fugu.noise.correlated`."""

    noise: CorrelatedGaussian
    lattice: Lattice

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_1 or E ||N||_2^2: the sum over coordinates."""
        return self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): all coordinates lie in it together with at least this probability (Bonferroni, Gaussian tails).

        A discrete Gaussian is within one of its steps of a normal number: a sum over k >= m lies between the integrals
        from m and from m - 1. A coordinate of noise of full rank is one on the lattice; without a base it is a sum of
        multiples b_ij of such numbers. Rounding adds half a step."""
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        if self._silent():
            return (-0.5 * float(self.lattice.grid), 0.5 * float(self.lattice.grid))
        columns, d = self.noise.columns, self.noise.dimension
        steps = 1 if self.noise.base else max(sum(abs(column[i]) for column in columns) for i in range(d))
        tail = (1 - level) / (2 * d)
        half = -NormalDist().inv_cdf(tail) * self.noise.scale * (1 + 1e-9) + (steps + 0.5) * float(self.lattice.grid)
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> CorrelatedAdditive:
        """The same noise followed by `f`; the two share one release."""
        return CorrelatedAdditive(**self._with_post(f, name), noise=self.noise, lattice=self.lattice)

    def _silent(self) -> bool:
        return self.noise.base == 0 and not any(self.noise.scales)

    def _draw(self, column: Column, source: BitSource) -> Column:
        steps = self.noise.draw(len(column), source)
        return self.lattice.value(self.lattice.index(self.lattice.within(column)) + steps)

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:  # noqa: ARG002 - no query here
        return as_rows(values, self.noise.dimension, [0.0] * self.noise.dimension)

    def __repr__(self) -> str:
        d = self.noise.dimension
        return f"CorrelatedAdditive({d} coordinates, {self.guarantee!r}, method={self.certificate.method!r})"
