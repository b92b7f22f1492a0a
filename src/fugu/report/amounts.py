"""How much noise moves what is published, by the kind of what runs: in the units of the value, rounding apart."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.noise.directed import DirectedLaplace
from fugu.noise.kind import noise_from
from fugu.report.amount import LEVEL, Amount, Coordinate, Independent
from fugu.report.kernels import CORRELATED


class OnAtoms(Independent):
    """Noise on atoms: what it moves depends on the value, so errors are those of its weight, and ends those of all."""

    @property
    def noise(self) -> Any:
        return self.certificate.number_noise

    @property
    def name(self) -> str:
        return "Atoms"

    @property
    def unchanged(self) -> float:
        return float(self.noise.exact_chance())

    def at(self, scale: float) -> float:
        noise = self.noise
        return float(type(noise)(scale, noise.grid, noise.atoms, noise.weight).expected_error())


class Remapped(OnAtoms):
    """Outputs that a table moves: what is published is the table's."""

    @cached_property
    def remap(self) -> Remap:
        """The table."""
        found = Remap.in_certificate(self.certificate)
        assert found is not None
        return found

    @property
    def name(self) -> str:
        return str(self.noise.name).capitalize()

    @property
    def error(self) -> float:
        return self.remap.expected_error()

    @property
    def half(self) -> float:
        return self.remap.quantile(LEVEL)

    @property
    def unchanged(self) -> float:
        return self.remap.exact_chance()

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (Coordinate("each", self.scale, self.error, self.half),)

    def at(self, scale: float) -> float | None:  # type: ignore[override]
        """Not known: another scale has another table."""
        del scale
        return None


class Analysed(Independent):
    """Continuous noise that is never drawn."""

    released = False

    @property
    def noise(self) -> Any:
        return noise_from(self.certificate.body["noise"])

    @property
    def unchanged(self) -> float:
        return float(self.noise.silent)

    def at(self, scale: float) -> float:
        return float(type(self.noise)(scale, self.noise.tail).expected_error())


class Joint(Amount):
    """Noise that knows its coordinates: its size is the root of E ||N||_2^2, its error E ||N||_1."""

    @property
    def size(self) -> float:
        return math.sqrt(self.noise.expected_error("squared"))

    @property
    def ordered(self) -> bool:
        return False

    @property
    def error(self) -> float:
        return float(self.noise.expected_error())


class Correlated(Joint):
    """Correlated lattice noise."""

    @property
    def noise(self) -> Any:
        return self.certificate.correlated

    @property
    def told(self) -> str:
        return CORRELATED

    @property
    def half(self) -> float:
        return max((self._half(j, (1 - LEVEL) / (2 * self.dimension)) for j in range(self.dimension)), default=0.0)

    def _half(self, j: int, tail: float) -> float:
        """A discrete Gaussian is within one of its steps of a normal number; a coordinate of noise of full rank is one
        on the lattice, without a base it is a sum of multiples b_ij of such numbers (`fugu.mechanism.correlated`)."""
        noise, variance = self.noise, self._variance(j)
        if variance == 0:
            return 0.0
        steps = 1 if noise.base else sum(abs(column[j]) for column in noise.columns)
        return -NormalDist().inv_cdf(tail) * math.sqrt(variance) * (1 + 1e-9) + steps * float(noise.grid)

    def _variance(self, j: int) -> float:
        return self.covariance[j][j]

    @property
    def unchanged(self) -> float:
        return float(self.noise.silent)

    @property
    def covariance(self) -> tuple[tuple[float, ...], ...]:
        rows: tuple[tuple[Fraction, ...], ...] = self.noise.covariance()
        return tuple(tuple(float(x) for x in row) for row in rows)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        listed = []
        for j, name in enumerate(self.names()):
            deviation, half = math.sqrt(self._variance(j)), self._half(j, (1 - LEVEL) / 2)
            listed.append(Coordinate(name, deviation, deviation * math.sqrt(2 / math.pi), half))
        return tuple(listed)


class Directed(Joint):
    """Laplace noise along directions, each of its own scale."""

    @property
    def noise(self) -> Any:
        return self.certificate.released_noise

    @property
    def told(self) -> str:
        return "Laplace noise with a scale of its own for every number"

    @property
    def name(self) -> str:
        return "Laplace"

    @property
    def half(self) -> float:
        return float(self.noise.quantile(LEVEL))

    @property
    def unchanged(self) -> float:
        return float(self.noise.exact_chance())

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        parts = (self.names(), self.noise.variances(), self.noise.halves(LEVEL), self.noise.coordinate_scales())
        return tuple(
            Coordinate(name, scale, min(scale, math.sqrt(variance)), half)
            for name, variance, half, scale in zip(*parts, strict=True)
        )


class Exchanged(Amount):
    """A channel: values are exchanged, most of them for themselves. Errors are under its weight, or the worst law."""

    @property
    def noise(self) -> Any:
        return self.certificate.channel

    @property
    def scale(self) -> float:
        return math.nan

    @property
    def told(self) -> str:
        return "a channel, which exchanges values"

    @property
    def ordered(self) -> bool:
        return False

    @property
    def error(self) -> float:
        return self.certificate.errors.expected("absolute")

    @property
    def half(self) -> float:
        return self.certificate.errors.quantile(LEVEL)

    @property
    def unchanged(self) -> float:
        return self.certificate.errors.unchanged

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (Coordinate("each", self.scale, self.error, self.half),)


AMOUNTS: dict[str, type[Amount]] = {
    "additive": Independent, "vector": Independent, "analysis": Analysed, "correlated": Correlated,
    "channel": Exchanged,
}  # fmt: skip


def amount_of(certificate: Certificate) -> Amount:
    """The noise of a certificate that is not a mixture."""
    if certificate.body.get("remap") is not None:
        return Remapped(certificate)
    if certificate.runs == "additive" and certificate.number_noise.on_atoms:
        return OnAtoms(certificate)
    if certificate.runs == "vector" and isinstance(certificate.released_noise, DirectedLaplace):
        return Directed(certificate)
    return AMOUNTS[certificate.runs](certificate)
