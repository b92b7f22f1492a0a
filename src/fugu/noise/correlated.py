"""Correlated Gaussian noise on a lattice: an integer matrix times independent discrete Gaussians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, CertificateError
from fugu.noise.bits import BitSource
from fugu.noise.discrete_gaussian import LatticeGaussianSampler
from fugu.noise.kind import Objective, check_objective
from fugu.noise.lattice import as_grid, check_scale
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import brief

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class CorrelatedGaussian:
    """N = grid (Z_0 + sum_j b_j Z_j): Z_0 a vector of independent discrete Gaussians with P(k) ~ exp(-(k grid)^2 /
    (2 base^2)), Z_j whole numbers with P(k) ~ exp(-k^2 / (2 scales_j^2)), b_j vectors of whole numbers.

    Its covariance is base^2 I + grid^2 sum_j scales_j^2 b_j b_j' up to what `loss.normal.smoothing` bounds. Noise of
    full rank: `base` is positive, so every direction is blurred.

    >>> noise = CorrelatedGaussian(8, ((1, -1),), (16,), Fraction(1, 4))
    >>> noise.dimension, [[str(x) for x in row] for row in noise.covariance()]
    (2, [['80', '-16'], ['-16', '80']])
    """

    name: ClassVar[str] = "correlated"
    base: Real
    columns: tuple[tuple[int, ...], ...]
    scales: tuple[Real, ...]
    grid: Fraction
    coordinates: int = 0
    """Needed only where there are no columns."""

    def __post_init__(self) -> None:
        check_scale(self.base)
        for scale in self.scales:
            check_scale(scale)
        object.__setattr__(self, "grid", as_grid(self.grid))
        if len(self.columns) != len(self.scales) or len({len(c) for c in self.columns}) > 1:
            raise BadNoise("correlated noise needs one scale for each column, and columns of one length")
        if any(not isinstance(x, int) or isinstance(x, bool) for column in self.columns for x in column):
            raise BadNoise("the columns of correlated noise are vectors of whole numbers")
        if self.dimension < 1 or self.coordinates not in (0, self.dimension):
            raise BadNoise("say how many coordinates the noise has: as many as each column")

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.columns[0]) if self.columns else self.coordinates

    @property
    def scale(self) -> float:
        """The largest standard deviation of a coordinate; 0 means no noise."""
        cov = self.covariance()
        return math.sqrt(max(float(cov[i][i]) for i in range(self.dimension)))

    def covariance(self) -> Matrix:
        """base^2 I + grid^2 sum_j scales_j^2 b_j b_j', exactly."""
        d, base = self.dimension, as_fraction(self.base) ** 2
        parts = [(as_fraction(s) ** 2 * self.grid**2, c) for s, c in zip(self.scales, self.columns, strict=True)]
        return tuple(
            tuple((base if i == j else Fraction(0)) + sum((v * c[i] * c[j] for v, c in parts), Fraction(0))
                  for j in range(d))
            for i in range(d)
        )  # fmt: skip

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return self.base == 0 and not any(self.scales)

    def to_json(self) -> dict[str, Any]:
        """The kind and its numbers, exactly."""
        return {
            "kind": self.name,
            "base": str(as_fraction(self.base)),
            "columns": [list(column) for column in self.columns],
            "scales": [str(as_fraction(s)) for s in self.scales],
            "grid": str(self.grid),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any], dimension: int) -> CorrelatedGaussian:
        """The noise that `to_json` wrote."""
        if found["kind"] != cls.name:
            raise CertificateError(f"this version of fugu knows no correlated noise {brief(str(found['kind']), 40)}")
        columns = tuple(tuple(column) for column in found["columns"])
        scales = tuple(read_number(x) for x in found["scales"])
        return cls(read_number(found["base"]), columns, scales, read_number(found["grid"]), dimension)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_1 (sum of sqrt(2 variance / pi)) or E ||N||_2^2 (the trace); discrete Gaussians vary no more."""
        check_objective(objective)
        variances = [float(row[i]) for i, row in enumerate(self.covariance())]
        if objective == "squared":
            return sum(variances)
        return sum(math.sqrt(2 * v / math.pi) for v in variances)

    def total_error(self, objective: Objective, coordinates: int) -> float:  # noqa: ARG002 - it knows its coordinates
        """E ||N||_1 or E ||N||_2^2."""
        return self.expected_error(objective)

    def draw(self, rows: int, source: BitSource) -> NDArray[np.int64]:
        """Independent exact draws in lattice steps, one per row."""
        noise = np.zeros((rows, self.dimension), dtype=np.int64)
        if self.base:
            sampler = LatticeGaussianSampler(self.grid**2 / (2 * as_fraction(self.base) ** 2))
            noise += sampler.draw(rows * self.dimension, source).reshape(rows, self.dimension)
        for scale, column in zip(self.scales, self.columns, strict=True):
            if scale:
                drawn = LatticeGaussianSampler(1 / (2 * as_fraction(scale) ** 2)).draw(rows, source)
                noise += drawn[:, None] * np.array(column, dtype=np.int64)[None, :]
        return noise
