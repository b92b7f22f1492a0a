"""`Amount`: what is asked of everything that runs, and its answer for independent noise of one scale."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from fugu.documents.certificate import Certificate
from fugu.report.kernels import kernel_of

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
