"""Noise along whole directions: an integer matrix times independent lattice numbers, each of a scale of its own.

Gaussian along any directions, on a base in every coordinate (`CorrelatedGaussian`); Laplace along the axes, with a
scale for every coordinate, or along the directions in which laws differ, which leaves everything beside them as it is
(`DirectedLaplace`)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, CertificateError
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Noise, Objective, check_level, check_objective, kind
from fugu.noise.laplace import MIN_RATE, Laplace
from fugu.noise.lattice import as_grid, check_scale
from fugu.numbers.exact import Real, as_fraction, echelon, read_number, read_whole
from fugu.visible import Json, brief

if TYPE_CHECKING:
    pass

Rationals = tuple[tuple[Fraction, ...], ...]
Direction = tuple[int, ...]


class Matrix(Noise):
    """N = grid (Z_0 + sum_j b_j Z_j): b_j vectors of whole numbers, Z_j independent lattice numbers of scale t_j steps,
    Z_0 none, or an independent one of scale `base` in every coordinate. It knows its coordinates."""

    remaps: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    of_one: ClassVar[type[Laplace] | type[Gaussian]]
    """The noise of one number that it is made of."""
    columns: tuple[Direction, ...]
    scales: tuple[Real, ...]
    grid: Fraction
    base: Real
    coordinates: int = 0
    """Needed only where there are no columns."""

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.columns[0]) if self.columns else self.coordinates

    def along_each(self, dimension: int) -> Iterator[tuple[Direction, Noise]]:
        """b_j and the noise of Z_j in steps, for every direction that has noise; those of the base first."""
        if self.base:
            yield from self.of_one(self.base, self.grid).along_each(dimension)
        yield from ((b, self.of_one(t, 1)) for b, t in zip(self.columns, self.scales, strict=True) if t)

    def move(self, places: NDArray[np.int64], source: BitSource) -> NDArray[np.int64]:
        """Vectors of lattice indices, one per row, each with an independent exact draw added."""
        moved = places.copy()
        if self.base:
            moved += self.of_one(self.base, self.grid).sampler.draw(places.size, source).reshape(places.shape)
        for b, t in zip(self.columns, self.scales, strict=True):
            if t:
                drawn = self.of_one(t, 1).sampler.draw(len(places), source)
                moved += drawn[:, None] * np.array(b, dtype=np.int64)[None, :]
        return moved

    @abstractmethod
    def variances(self) -> tuple[float, ...]:
        """The variance of every coordinate."""

    def deviations(self, coordinates: int) -> tuple[float, ...]:  # noqa: ARG002 - it knows its coordinates
        """The standard deviation of every coordinate."""
        return tuple(math.sqrt(v) for v in self.variances())

    def to_json(self) -> Json:
        """The kind and its numbers, exactly."""
        return {
            "kind": self.name,
            "columns": [list(b) for b in self.columns],
            "scales": [str(as_fraction(t)) for t in self.scales],
            "grid": str(self.grid),
        }


@dataclass(frozen=True)
class CorrelatedGaussian(Matrix):
    """N = grid (Z_0 + sum_j b_j Z_j): Z_0 a vector of independent discrete Gaussians with P(k) ~ exp(-(k grid)^2 /
    (2 base^2)), Z_j whole numbers with P(k) ~ exp(-k^2 / (2 scales_j^2)), b_j vectors of whole numbers.

    Its covariance is base^2 I + grid^2 sum_j scales_j^2 b_j b_j' up to what `loss.normal.smoothing` bounds. Noise of
    full rank: `base` is positive, so every direction is blurred.

    >>> noise = CorrelatedGaussian(8, ((1, -1),), (16,), Fraction(1, 4))
    >>> noise.dimension, [[str(x) for x in row] for row in noise.covariance()]
    (2, [['80', '-16'], ['-16', '80']])
    """

    name: ClassVar[str] = "correlated"
    words: ClassVar[str] = "Gaussian noise, correlated between coordinates, with a standard deviation of up to"
    proof: ClassVar[str] = "docs/proofs/correlated.md"
    of_one: ClassVar[type[Laplace] | type[Gaussian]] = Gaussian
    shown: ClassVar[tuple[str, str]] = (
        "",
        "CorrelatedAdditive({0.dimension} coordinates, {0.guarantee!r}, method={0.certificate.method!r})",
    )
    base: Real
    columns: tuple[Direction, ...]
    scales: tuple[Real, ...]
    grid: Fraction
    coordinates: int = 0

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
    def scale(self) -> float:  # type: ignore[override]
        """The largest standard deviation of a coordinate; 0 means no noise."""
        return math.sqrt(max(self.variances()))

    def covariance(self) -> Rationals:
        """base^2 I + grid^2 sum_j scales_j^2 b_j b_j', exactly."""
        d, base = self.dimension, as_fraction(self.base) ** 2
        parts = [(as_fraction(s) ** 2 * self.grid**2, c) for s, c in zip(self.scales, self.columns, strict=True)]
        return tuple(
            tuple((base if i == j else Fraction(0)) + sum((v * c[i] * c[j] for v, c in parts), Fraction(0))
                  for j in range(d))
            for i in range(d)
        )  # fmt: skip

    def variances(self) -> tuple[float, ...]:
        """The diagonal of the covariance; discrete Gaussians vary no more."""
        return tuple(float(row[i]) for i, row in enumerate(self.covariance()))

    @property
    def silent(self) -> bool:
        """Whether nothing is added."""
        return self.base == 0 and not any(self.scales)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E ||N||_1 (sum of sqrt(2 variance / pi)) or E ||N||_2^2 (the trace); discrete Gaussians vary no more."""
        check_objective(objective)
        if objective == "squared":
            return sum(self.variances())
        return sum(math.sqrt(2 * v / math.pi) for v in self.variances())

    def quantile(self, level: float) -> float:
        """An error that no coordinate exceeds with probability above 1 - level, all of them together (Bonferroni)."""
        if self.silent:
            return 0.0
        tail, steps = (1 - check_level(level)) / (2 * self.dimension), max(self._widest())
        return -NormalDist().inv_cdf(tail) * self.scale * (1 + 1e-9) + steps * float(self.grid)

    def each_quantile(self, level: float, coordinates: int) -> tuple[float, ...]:  # noqa: ARG002
        """For every coordinate an error that its own noise exceeds with probability at most 1 - level."""
        z = -NormalDist().inv_cdf((1 - level) / 2) * (1 + 1e-9)
        each = zip(self.variances(), self._widest(), strict=True)
        return tuple(z * math.sqrt(v) + k * float(self.grid) for v, k in each)

    def _widest(self) -> list[int]:
        """How many steps each coordinate is at most from a normal number of its variance.

        A discrete Gaussian is within one of its steps of a normal number: a sum over k >= m lies between the integrals
        from m and from m - 1. A coordinate of noise of full rank is one on the lattice; without a base it is a sum of
        multiples b_ij of such numbers."""
        return [1 if self.base else sum(abs(b[i]) for b in self.columns) for i in range(self.dimension)]

    def exact_chance(self) -> float:
        """None but without noise: it is at least eight steps wide, or none."""
        return float(self.scale == 0)

    @property
    def partial(self) -> bool:  # type: ignore[override]
        """Whether its rank is deficient."""
        return not self.base and not self.silent

    def told(self) -> Json:
        """How many numbers it is on."""
        words = f"Gaussian noise on {self.dimension} numbers together, correlated as the certificate says"
        return {"kind": self.name, "words": words}

    def to_json(self) -> Json:
        """The kind and its numbers, exactly."""
        stated = super().to_json()
        return {"kind": stated.pop("kind"), "base": str(as_fraction(self.base)), **stated}

    @classmethod
    def from_json(cls, found: Json, dimension: int = 0) -> CorrelatedGaussian:
        """The noise that `to_json` wrote, in so many coordinates."""
        if found["kind"] != cls.name:
            raise CertificateError(f"this version of fugu knows no correlated noise {brief(str(found['kind']), 40)}")
        columns = tuple(tuple(column) for column in found["columns"])
        scales = tuple(read_number(x) for x in found["scales"])
        return cls(read_number(found["base"]), columns, scales, read_number(found["grid"]), dimension)


@kind
@dataclass(frozen=True, init=False)
class DirectedLaplace(Matrix):
    """N = grid sum_j b_j Z_j, Z_j independent whole numbers with P(k) ~ exp(-|k| / t_j), b_j vectors of whole numbers.

    - `columns`: the directions b_j; `scales`: t_j, positive, in steps along b_j; `grid`: the step of the lattice.

    Moving every value by grid sum_j b_j z_j, z_j whole, changes no ratio by more than exp(sum_j |z_j| / t_j): each Z_j
    by itself is Laplace noise (docs/proofs/directed.md). Raises `BadNoise` for others.

    >>> noise = DirectedLaplace(((1, 0), (0, 1)), (2.0, 8.0), Fraction(1, 4))
    >>> noise.loss((1, 4)), noise.along((1, 4))
    (Fraction(1, 1), (Fraction(1, 1), Fraction(4, 1)))
    """

    name: ClassVar[str] = "directed"
    refused: ClassVar[str | None] = (
        "noise along directions is found by the methods anisotropic-laplace and several-directions"
    )
    words: ClassVar[str] = "Laplace noise with a scale of its own for every number"
    proof: ClassVar[str] = "docs/proofs/directed.md"
    place: ClassVar[int] = 5
    considered: ClassVar[bool] = False
    of_one: ClassVar[type[Laplace] | type[Gaussian]] = Laplace
    base: ClassVar[int] = 0  # type: ignore[misc]
    shown: ClassVar[tuple[str, str]] = ("", CorrelatedGaussian.shown[1].replace("Correlated", "Directed"))
    columns: tuple[Direction, ...]
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

    @property
    def partial(self) -> bool:  # type: ignore[override]
        """Whether there is more that moves no number by a single step."""
        return not self.axes or any(sum(map(abs, b)) > 1 for b in self.columns)

    def told(self) -> Json:
        """The scale of every coordinate."""
        scales = [float(f"{x:.6g}") for x in self.coordinate_scales()]
        along = "each number" if self.axes else f"{len(self.columns)} directions of {self.dimension} numbers"
        listed = ", ".join(f"{x:.4g}" for x in scales)
        words = f"Laplace noise of its own scale on {along} ({listed}); values come in steps of {float(self.grid):.4g}"
        return {"kind": self.name, "scales": scales, "step": float(self.grid), "words": words}

    def coordinate(self, i: int) -> Laplace:
        """The noise of one coordinate, where directions are axes; no noise on one that none of them reaches."""
        if not self.axes:
            raise BadNoise("the noise of one coordinate is Laplace noise only where directions are axes")
        return Laplace(self.coordinate_scales()[i], self.grid)

    def variances(self) -> tuple[float, ...]:
        """The variance of every coordinate: grid^2 sum_j b_ij^2 Var Z_j, Var Z = 1 / (2 sinh(1 / 2t)^2)."""
        spans = [float(as_fraction(t)) for t in self.scales]
        each = [0.5 / math.sinh(0.5 / t) ** 2 if t > 1e-3 else 0.0 for t in spans]
        g = float(self.grid) ** 2
        return tuple(g * sum(b[i] ** 2 * v for b, v in zip(self.columns, each, strict=True))
                     for i in range(self.dimension))  # fmt: skip

    def along(self, moved: Sequence[int]) -> tuple[Fraction, ...] | None:
        """z with sum_j b_j z_j = moved, by elimination in rationals; None if there is none."""
        if len(moved) != self.dimension:
            raise BadNoise("the laws and the noise are of different dimensions")
        rows = [[*(Fraction(b[i]) for b in self.columns), Fraction(int(moved[i]))] for i in range(self.dimension)]
        z = [Fraction(0)] * len(self.columns)
        for pivot, row in echelon(rows):
            if pivot == len(z):
                return None
            z[pivot] = row[-1]
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

    def each_quantile(self, level: float, coordinates: int = 0) -> tuple[float, ...]:  # noqa: ARG002
        """For every coordinate an error that its noise exceeds with probability at most 1 - level (union of tails)."""
        check_level(level)
        found = []
        for i in range(self.dimension):
            used = [(abs(b[i]), float(as_fraction(t))) for b, t in self._parts() if b[i]]
            tail = (1 - level) / max(1, len(used))
            # the least k with P(|Z| > k) = 2 q^(k+1) / (1 + q) <= tail, from above
            each = [(b, (math.log(2 / (1 + math.exp(-1 / t))) - math.log(tail)) * t - 1) for b, t in used]
            found.append(sum(float(self.grid) * b * max(0, math.ceil(k * (1 + 1e-12))) for b, k in each))
        return tuple(found)

    def quantile(self, level: float) -> float:
        """An error that no coordinate exceeds with probability above 1 - level, all of them together."""
        each = 1 - (1 - level) / self.dimension
        return max(self.each_quantile(each)) if each < 1 else math.inf

    def exact_chance(self) -> float:
        """The probability that a coordinate goes out as it is, at most; 1 for one that no direction reaches."""
        chances = []
        for i in range(self.dimension):
            used = [float(as_fraction(t)) for b, t in self._parts() if b[i]]
            chances.append(min((math.tanh(0.5 / t) for t in used), default=1.0))
        return max(chances)

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """The noise that `to_json` wrote."""
        columns = [[read_whole(x) for x in b] for b in found["columns"]]
        return cls(columns, [read_number(t) for t in found["scales"]], read_number(found["grid"]))

    def _parts(self) -> list[tuple[tuple[int, ...], Real]]:
        return list(zip(self.columns, self.scales, strict=True))
