"""`Amount`: how much what runs moves what is published, in the units of the value, rounding apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from fugu.documents.certificate import Certificate
from fugu.documents.remap import Remap
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace, Matrix

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
class Amount:
    """The noise of a certificate that is not a mixture, by what it says of itself. Outputs that a table moves have the
    errors of the table; values that a channel exchanges those of the laws."""

    certificate: Certificate

    @cached_property
    def noise(self) -> Any:
        """The noise in the units of the value."""
        return self.certificate.noise

    @cached_property
    def _stated(self) -> Any:
        """What states errors in place of the noise; None where the noise does."""
        return self.certificate.errors if self.noise.tabled else Remap.in_certificate(self.certificate)

    @property
    def released(self) -> bool:
        """Whether it is ever drawn."""
        return bool(self.noise.released)

    @property
    def dimension(self) -> int:
        """How many numbers are published."""
        return self.certificate.dimension

    @property
    def scale(self) -> float:
        """Its scale; of correlated noise the largest standard deviation of a coordinate."""
        return math.nan if self.noise.tabled else float(self.noise.scale)

    @property
    def name(self) -> str:
        """What tables call it."""
        noise = self.noise.of_one if isinstance(self.noise, DirectedLaplace) else self.noise
        return str(noise.name).capitalize()

    @property
    def told(self) -> str:
        """The noise in words, up to its scale."""
        return "" if self.noise.silent else str(self.noise.words)

    @cached_property
    def error(self) -> float:
        """E ||N||_1: the sum over coordinates."""
        if self._stated is None:
            return float(self.noise.total_error("absolute", self.dimension))
        return float(self._stated.expected("absolute") if self.noise.tabled else self._stated.expected_error())

    @cached_property
    def half(self) -> float:
        """At least 95 % of the noise lies within +-half, in all coordinates at once."""
        stated = self._stated
        return float(self.noise.joint_quantile(LEVEL, self.dimension) if stated is None else stated.quantile(LEVEL))

    @property
    def unchanged(self) -> float:
        """Probability that the noise is 0."""
        if self._stated is not None:
            return float(self._stated.unchanged if self.noise.tabled else self._stated.exact_chance())
        if not self.released or isinstance(self.noise, CorrelatedGaussian):
            return float(self.noise.silent)
        return float(self.noise.exact_chance()) ** (1 if isinstance(self.noise, Matrix) else self.dimension)

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The noise coordinate by coordinate; one line where all have the same."""
        noise, d = self.noise, self.dimension
        if self._stated is not None:
            return (Coordinate("each", self.scale, self.error, self.half),)
        if not isinstance(noise, Matrix):
            return (Coordinate("each", self.scale, float(noise.expected_error()), float(noise.quantile(LEVEL))),)
        spreads, halves = noise.deviations(d), noise.each_quantile(LEVEL, d)
        if isinstance(noise, DirectedLaplace):
            scales = noise.coordinate_scales()
            errors = [min(scale, spread) for scale, spread in zip(scales, spreads, strict=True)]
        else:
            scales, errors = spreads, [spread * math.sqrt(2 / math.pi) for spread in spreads]
        stated = [str(name) for name in (self.certificate.body.get("property") or {}).get("statistics", ())]
        names = stated if len(stated) == d else [str(j + 1) for j in range(d)]
        return tuple(map(Coordinate._make, zip(names, scales, errors, halves, strict=True)))

    @property
    def covariance(self) -> tuple[tuple[float, ...], ...]:
        """Of correlated noise, its covariance; else nothing."""
        if not isinstance(self.noise, CorrelatedGaussian):
            return ()
        return tuple(tuple(map(float, row)) for row in self.noise.covariance())

    @property
    def size(self) -> float:
        """What the scales in a certificate are: of noise that knows its coordinates the root of E ||N||_2^2."""
        return math.sqrt(self.noise.expected_error("squared")) if isinstance(self.noise, Matrix) else self.scale

    @property
    def ordered(self) -> bool:
        """Whether noise of a larger scale is a post-processing of noise of a smaller one."""
        return not self.noise.tabled and not isinstance(self.noise, Matrix) and bool(self.noise.ordered)

    def at(self, scale: float) -> float | None:
        """E ||N||_1 of the same kind of noise with another scale; None where the scale does not tell."""
        if self._stated is not None or isinstance(self.noise, Matrix):
            return None
        return float(self.dimension * self.noise.rescaled(scale).expected_error())
