"""`DirectedAdditive`: round a vector onto the lattice, add Laplace noise along directions, each of its own scale."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

from fugu.mechanism.intake import as_rows
from fugu.mechanism.mechanism import Column, Mechanism
from fugu.mechanism.post import Step
from fugu.noise.bits import BitSource
from fugu.noise.directed import DirectedLaplace
from fugu.noise.kind import Objective
from fugu.noise.lattice import Lattice


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class DirectedAdditive(Mechanism):
    """Y = value(index(X) + sum_j b_j Z_j) on the lattice; see `fugu.noise.directed`."""

    noise: DirectedLaplace
    lattice: Lattice

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.noise.dimension

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_1 or E ||N||_2^2: the sum over coordinates."""
        return self.noise.expected_error(objective)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """(-h, h): all coordinates lie in it together with at least this probability; rounding adds half a step."""
        half = self.noise.quantile(level) + float(self.lattice.grid) / 2
        return (-half, half)

    def then(self, f: Step, name: str | None = None) -> DirectedAdditive:
        """The same noise followed by `f`; the two share one release."""
        return replace(self, **self._with_post(f, name))

    def _silent(self) -> bool:
        return False

    def _draw(self, column: Column, source: BitSource) -> Column:
        steps = self.noise.draw(len(column), source)
        return self.lattice.value(self.lattice.index(self.lattice.within(column)) + steps)

    def _column(self, values: object, already_mapped: bool) -> tuple[Column, bool]:  # noqa: ARG002 - no query here
        return as_rows(values, self.dimension, [0.0] * self.dimension)

    def __repr__(self) -> str:
        return f"DirectedAdditive({self.dimension} coordinates, {self.guarantee!r}, method={self.certificate.method!r})"
