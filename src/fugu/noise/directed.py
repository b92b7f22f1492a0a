"""Laplace noise along whole directions: an integer matrix times independent lattice Laplace numbers, each of its scale.

Along the axes it is Laplace noise with a scale of its own for every coordinate; along the directions in which laws
differ it leaves everything beside them as it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.guarantee.asks import Ask
from fugu.noise.bits import BitSource
from fugu.noise.geometric import MIN_RATE, LatticeLaplaceSampler
from fugu.noise.kind import Noise, Objective, check_objective, kind
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import as_grid, check_scale
from fugu.numbers.exact import Real, as_fraction, read_number, read_whole
from fugu.visible import Json


@kind
@dataclass(frozen=True, init=False)
class DirectedLaplace(Noise):
    """N = grid sum_j b_j Z_j, Z_j independent whole numbers with P(k) ~ exp(-|k| / t_j), b_j vectors of whole numbers.

    - `columns`: the directions b_j; `scales`: t_j, positive, in steps along b_j; `grid`: the step of the lattice.

    Moving every value by grid sum_j b_j z_j, z_j whole, changes no ratio by more than exp(sum_j |z_j| / t_j): each Z_j
    by itself is Laplace noise (docs/proofs/directed.md). Raises `BadNoise` for others.

    >>> noise = DirectedLaplace(((1, 0), (0, 1)), (2.0, 8.0), Fraction(1, 4))
    >>> noise.loss((1, 4)), noise.along((1, 4))
    (Fraction(1, 1), (Fraction(1, 1), Fraction(4, 1)))
    """

    name: ClassVar[str] = "directed"
    place: ClassVar[int] = 5
    considered: ClassVar[bool] = False
    columns: tuple[tuple[int, ...], ...]
    scales: tuple[Real, ...]
    grid: Fraction

    def __init__(self, columns: Sequence[Sequence[int]], scales: Sequence[Real], grid: Real | str) -> None:
        made = tuple(tuple(column) for column in columns)
        if not made or len(made) != len(scales) or len({len(c) for c in made}) > 1 or not made[0]:
            raise BadNoise("directed noise needs directions of one length, and one scale for each")
        if any(type(x) is not int for column in made for x in column) or not all(map(any, made)):
            raise BadNoise("the directions of directed noise are vectors of whole numbers, none of them zero")
        for scale in scales:
            check_scale(scale)
            if not 0 < as_fraction(scale) <= 1 / MIN_RATE:
                raise BadNoise("the scales of directed noise must be positive, and at most 2^52 steps")
        object.__setattr__(self, "columns", made)
        object.__setattr__(self, "scales", tuple(scales))
        object.__setattr__(self, "grid", as_grid(grid))

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:  # noqa: ARG003
        """It has no single scale to search for."""
        return "noise along directions is found by the methods anisotropic-laplace and several-directions"

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.columns[0])

    @property
    def scale(self) -> float:  # type: ignore[override]
        """The largest scale of a coordinate: grid sum_j |b_ij| t_j."""
        return max(self.coordinate_scales())

    def coordinate_scales(self) -> tuple[float, ...]:
        """grid sum_j |b_ij| t_j for every coordinate i: its own scale where directions are axes, a bound on E |N_i|."""
        return tuple(
            float(self.grid * sum((abs(b[i]) * as_fraction(t) for b, t in self._parts()), Fraction(0)))
            for i in range(self.dimension)
        )

    @property
    def axes(self) -> bool:
        """Whether every direction is an axis, each of them once: independent noise in each coordinate."""
        held = [[i for i, x in enumerate(b) if x] for b in self.columns]
        return all(len(h) == 1 for h in held) and len({h[0] for h in held}) == len(held)

    def coordinate(self, i: int) -> Laplace:
        """The noise of one coordinate, where directions are axes; no noise on one that none of them reaches."""
        if not self.axes:
            raise BadNoise("the noise of one coordinate is Laplace noise only where directions are axes")
        return Laplace(self.coordinate_scales()[i], self.grid)

    def variances(self) -> tuple[float, ...]:
        """The variance of every coordinate: grid^2 sum_j b_ij^2 Var Z_j, Var Z = 1 / (2 sinh(1 / 2t)^2)."""
        each = [_variance(float(as_fraction(t))) for _, t in self._parts()]
        g = float(self.grid) ** 2
        return tuple(g * sum(b[i] ** 2 * v for b, v in zip(self.columns, each, strict=True))
                     for i in range(self.dimension))  # fmt: skip

    def along(self, moved: Sequence[int]) -> tuple[Fraction, ...] | None:
        """z with sum_j b_j z_j = moved, by elimination in rationals; None if there is none."""
        if len(moved) != self.dimension:
            raise BadNoise("the laws and the noise are of different dimensions")
        rows = [[*(Fraction(b[i]) for b in self.columns), Fraction(int(moved[i]))] for i in range(self.dimension)]
        pivots: list[int] = []
        for column in range(len(self.columns)):
            at = len(pivots)
            found = next((r for r in range(at, len(rows)) if rows[r][column]), None)
            if found is None:
                continue
            rows[at], rows[found] = rows[found], rows[at]
            rows[at] = [x / rows[at][column] for x in rows[at]]
            for r in range(len(rows)):
                if r != at and rows[r][column]:
                    factor = rows[r][column]
                    rows[r] = [x - factor * y for x, y in zip(rows[r], rows[at], strict=True)]
            pivots.append(column)
        if any(row[-1] for row in rows[len(pivots) :]):
            return None
        z = [Fraction(0)] * len(self.columns)
        for row, column in zip(rows, pivots, strict=False):
            z[column] = row[-1]
        return tuple(z)

    def loss(self, moved: Sequence[int]) -> Fraction | None:
        """sum_j |z_j| / t_j for a move by so many steps; None where no whole z leads there: nothing hides it."""
        z = self.along(moved)
        if z is None or any(x.denominator != 1 for x in z):
            return None
        return sum((abs(x) / as_fraction(t) for x, t in zip(z, self.scales, strict=True)), Fraction(0))

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_2^2, summed over coordinates, for "squared"; for "absolute" E ||N||_1, or for directions beside the
        axes the sum of the coordinates' deviations, which is no less."""
        check_objective(objective)
        if objective == "squared":
            return sum(self.variances())
        if self.axes:
            return sum(float(self.grid) * max(map(abs, b)) / math.sinh(1 / float(as_fraction(t)))
                       for b, t in self._parts())  # fmt: skip
        return sum(math.sqrt(v) for v in self.variances())

    def total_error(self, objective: Objective, coordinates: int) -> float:  # noqa: ARG002 - it knows its coordinates
        """E ||N||_1 or E ||N||_2^2."""
        return self.expected_error(objective)

    def halves(self, level: float) -> tuple[float, ...]:
        """For every coordinate an error that its noise exceeds with probability at most 1 - level (union of tails)."""
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        found = []
        for i in range(self.dimension):
            used = [(abs(b[i]), float(as_fraction(t))) for b, t in self._parts() if b[i]]
            tail = (1 - level) / max(1, len(used))
            found.append(sum(float(self.grid) * b * _quantile(t, tail) for b, t in used))
        return tuple(found)

    def quantile(self, level: float) -> float:
        """An error that no coordinate exceeds with probability above 1 - level, all of them together."""
        each = 1 - (1 - level) / self.dimension
        return max(self.halves(each)) if each < 1 else math.inf

    def exact_chance(self) -> float:
        """The probability that a coordinate goes out as it is, at most; 1 for one that no direction reaches."""
        chances = []
        for i in range(self.dimension):
            used = [float(as_fraction(t)) for b, t in self._parts() if b[i]]
            chances.append(min((math.tanh(0.5 / t) for t in used), default=1.0))
        return max(chances)

    def draw(self, rows: int, source: BitSource) -> NDArray[np.int64]:
        """Independent exact draws in lattice steps, one vector per row."""
        noise = np.zeros((rows, self.dimension), dtype=np.int64)
        for b, t in self._parts():
            drawn = LatticeLaplaceSampler(1 / as_fraction(t)).draw(rows, source)
            noise += drawn[:, None] * np.array(b, dtype=np.int64)[None, :]
        return noise

    def to_json(self) -> Json:
        """The kind and its numbers, exactly."""
        scales = [str(as_fraction(t)) for t in self.scales]
        return {"kind": self.name, "columns": [list(b) for b in self.columns], "scales": scales, "grid": str(self.grid)}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """The noise that `to_json` wrote."""
        columns = [[read_whole(x) for x in b] for b in found["columns"]]
        return cls(columns, [read_number(t) for t in found["scales"]], read_number(found["grid"]))

    def _parts(self) -> list[tuple[tuple[int, ...], Real]]:
        return list(zip(self.columns, self.scales, strict=True))


def _variance(t: float) -> float:
    return 0.5 / math.sinh(0.5 / t) ** 2 if t > 1e-3 else 0.0


def _quantile(t: float, tail: float) -> int:
    """The least k with P(|Z| > k) = 2 q^(k+1) / (1 + q) <= tail, from above."""
    k = (math.log(2 / (1 + math.exp(-1 / t))) - math.log(tail)) * t - 1
    return max(0, math.ceil(k * (1 + 1e-12)))
