"""How much noise moves what is published, by the kind of what runs: in the units of the value, rounding apart."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, NamedTuple

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.noise.kind import noise_from
from fugu.report.kernels import CORRELATED, kernel_of

LEVEL = 0.95


class Coordinate(NamedTuple):
    """The noise of one coordinate."""

    name: str
    scale: float
    error: float
    """E|N|."""
    half: float
    """At least 95 % of the noise of this coordinate alone lies within +-half."""


@dataclass(frozen=True)
class Amount(ABC):
    """The noise of a certificate that is not a mixture."""

    certificate: Certificate

    released = True
    """Whether it is ever drawn."""

    @property
    @abstractmethod
    def noise(self) -> Any:
        """The noise in the units of the value."""

    @property
    def dimension(self) -> int:
        """How many numbers are published."""
        return self.certificate.dimension

    @property
    def scale(self) -> float:
        """Its scale; of correlated noise the largest standard deviation of a coordinate."""
        return float(self.noise.scale)

    @property
    def name(self) -> str:
        """What tables call it."""
        return str(self.noise.name).capitalize()

    @property
    def told(self) -> str:
        """The noise in words, up to its scale."""
        return kernel_of(self.noise).shape

    @property
    @abstractmethod
    def error(self) -> float:
        """E ||N||_1: the sum over coordinates."""

    @property
    @abstractmethod
    def half(self) -> float:
        """At least 95 % of the noise lies within +-half, in all coordinates at once."""

    @property
    @abstractmethod
    def unchanged(self) -> float:
        """Probability that the noise is 0."""

    @property
    @abstractmethod
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The noise coordinate by coordinate; one line where all have the same."""

    @property
    def covariance(self) -> tuple[tuple[float, ...], ...]:
        """Of correlated noise, its covariance; else nothing."""
        return ()

    @property
    def size(self) -> float:
        """What the scales in a certificate are: of correlated noise the root of its expected squared length."""
        return self.scale

    @property
    def ordered(self) -> bool:
        """Whether noise of a larger scale is a post-processing of noise of a smaller one."""
        return bool(self.noise.ordered)

    def at(self, scale: float) -> float | None:
        """E ||N||_1 of the same kind of noise with another scale; None where the scale does not tell."""
        del scale
        return None

    def names(self) -> list[str]:
        """The statistics that the certificate names, or numbers."""
        stated = self.certificate.body.get("property") or {}
        names = [str(name) for name in stated.get("statistics", ())]
        return names if len(names) == self.dimension else [str(j + 1) for j in range(self.dimension)]


class Independent(Amount):
    """Lattice noise of one scale on every coordinate."""

    @property
    def noise(self) -> Any:
        return self.certificate.noise

    @property
    def error(self) -> float:
        return float(self.dimension * self.noise.expected_error())

    @property
    def half(self) -> float:
        each = LEVEL if self.dimension == 1 else LEVEL ** (1 / self.dimension) * (1 + 1e-15)
        return float(self.noise.quantile(each))

    @property
    def unchanged(self) -> float:
        return float(1 - self.noise.tail(0)) ** self.dimension

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (Coordinate("each", self.scale, float(self.noise.expected_error()), float(self.noise.quantile(LEVEL))),)

    def at(self, scale: float) -> float:
        return float(self.dimension * type(self.noise)(scale, self.noise.grid).expected_error())


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


class Correlated(Amount):
    """Correlated lattice noise."""

    @property
    def noise(self) -> Any:
        return self.certificate.correlated

    @property
    def told(self) -> str:
        return CORRELATED

    @property
    def size(self) -> float:
        return math.sqrt(self.noise.expected_error("squared"))

    @property
    def ordered(self) -> bool:
        return False

    @property
    def error(self) -> float:
        return float(self.noise.expected_error())

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
    return AMOUNTS[certificate.runs](certificate)
