"""Noises for analysis only, continuous: generalised Cauchy noise, whose polynomial tails have a finite loss at every
order; any noise with a density, by certified quadrature from what its author declares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import acb, arb

from fugu.errors import BadNoise, NotProvable
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_objective, kind
from fugu.noise.lattice import check_scale
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import Json

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask

BITS = 128
_GOAL = Fraction(1, 2**80)
_CHECKED = Fraction(1, 2**30)  # the mass is checked at doubling radii until the declared tail is below this
_WIDEST = 100  # radii up to 2^100

Density = Callable[[acb, bool], acb]


@kind
@dataclass(frozen=True)
class GeneralizedCauchy(Noise):
    """Noise with polynomial tails: density beta (1 + (x / scale)^2)^(-tail / 2); tail 2 is the Cauchy law.

    `scale`: a finite number >= 0, 0 is no noise; `tail`: a finite number above 1; `grid`: None, or the step of the
    lattice. Raises `BadNoise` for others.

    beta = Gamma(k/2) / (sqrt(pi) Gamma((k-1)/2) scale) with k = tail: scale T / sqrt(k - 1) for a Student T with k - 1
    degrees of freedom. Continuous noise is for analysis only. With a `grid`, and a tail of 2, 4 or 6, it is the lattice
    noise of masses ~ (1 + (k grid / scale)^2)^(-tail / 2) that is released: noise="cauchy2", "cauchy4", "cauchy6".

    >>> GeneralizedCauchy(2, tail=4).expected_error("squared"), GeneralizedCauchy(1).expected_error()
    (4.0, inf)
    >>> round(GeneralizedCauchy(2, tail=4).density(0.7), 14)
    0.25262564069328
    """

    name: ClassVar[str] = "cauchy"
    words: ClassVar[str] = "generalised Cauchy noise, a peak at zero with heavy tails and a scale of"
    place: ClassVar[int] = 2
    proof: ClassVar[str] = "docs/proofs/renyi.md"
    released: ClassVar[bool] = False
    remaps: ClassVar[bool] = False
    shown: ClassVar[tuple[str, str]] = (Noise.shown[0].replace("Additive", "Analysis"), "")
    scale: Real
    tail: Real = 2  # type: ignore[assignment]
    grid: Fraction | None = None

    def __new__(cls, scale: Real = 0, tail: Real = 2, grid: Real | str | None = None) -> Any:
        """With a grid the noise of another class, which is drawn."""
        if grid is None:
            return super().__new__(cls)
        from fugu.noise.heavy import heavy_kind

        return heavy_kind(tail)(scale, grid)

    def __post_init__(self) -> None:
        check_scale(self.scale)
        k = self.tail
        if not isinstance(k, int | float | Fraction) or isinstance(k, bool) or not 1 < k < math.inf:
            raise BadNoise(f"the tail exponent of generalised Cauchy noise must be a finite number > 1, got {k!r}")

    @classmethod
    def at(cls, scale: Real, grid: Fraction) -> GeneralizedCauchy:  # noqa: ARG003
        """Continuous noise of that scale: no sampler on a lattice is proved."""
        return cls(scale)

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:
        """It is analysed for divergences of finite order, and without delta."""
        if not ask.finite:
            return "Cauchy noise is analysed for Renyi budgets only; use noise='laplace' or 'gaussian'"
        return "Cauchy noise is analysed without delta; give Renyi(alpha, epsilon)" if ask.delta else None

    def in_steps(self, grid: Fraction) -> GeneralizedCauchy:
        """The same noise with the grid for its unit."""
        return GeneralizedCauchy(as_fraction(self.scale) / grid, self.tail)

    def to_json(self) -> Json:
        """The kind, the scale and the tail exponent, exactly."""
        return {"kind": self.name, "scale": str(as_fraction(self.scale)), "tail": str(as_fraction(self.tail))}

    @classmethod
    def from_json(cls, found: Json) -> GeneralizedCauchy:
        """The noise that `to_json` wrote."""
        return cls(read_number(found["scale"]), read_number(found["tail"]))

    def exact_chance(self) -> float:
        """0: it is never drawn."""
        return 0.0

    def density(self, x: float) -> float:
        """The density at `x`, in doubles; inf at 0 and 0 elsewhere for scale 0."""
        if self.scale == 0:
            return math.inf if x == 0 else 0.0
        s, k = float(self.scale), float(self.tail)
        return math.exp(-k / 2 * math.log1p((x / s) ** 2)) * self._peak() / s

    def log_mass(self, steps: Ints) -> Floats:
        """ln P(k - 1/2 < N < k + 1/2), for pictures: N is scale T / sqrt(tail - 1), T Student with tail - 1 degrees."""
        from scipy.special import stdtr

        freedom = float(self.tail) - 1
        ends = [(side - np.abs(steps)) * math.sqrt(freedom) / float(self.scale) for side in (-0.5, 0.5)]
        return np.asarray(np.log(stdtr(freedom, ends[1]) - stdtr(freedom, ends[0])))

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| or E N^2, by the `objective`, "absolute" or "squared": E|N| = 2 beta scale^2 / (k - 2), inf for k <= 2;
        E N^2 = scale^2 / (k - 3), inf for k <= 3."""
        check_objective(objective)
        if self.scale == 0:
            return 0.0
        s, k = as_fraction(self.scale), as_fraction(self.tail)
        if objective == "squared":
            return float(s**2 / (k - 3)) if k > 3 else math.inf
        return float(2 * s / (k - 2)) * self._peak() if k > 2 else math.inf

    def tail_probability(self, error: float) -> float:
        """P(|N| > `error`) = I_x((k-1)/2, 1/2) at x = 1 / (1 + (error/scale)^2), from above.

        (x = tan t has cos^2 t ~ Beta((k-1)/2, 1/2).)

        >>> round(GeneralizedCauchy(1).tail_probability(1.0), 12)
        0.5
        """
        if not error >= 0:
            raise BadNoise(f"an error must be a number >= 0, got {error!r}")
        if self.scale == 0 or error == math.inf:
            return 0.0
        with balls.precision(BITS):
            ratio = balls.of(as_fraction(error)) / balls.of(as_fraction(self.scale))
            return min(1.0, balls.upper(_beyond(ratio, as_fraction(self.tail))))

    def quantile(self, level: float) -> float:
        """An error h with P(|N| <= h) >= `level`, at most a relative 1e-12 above the least such error.

        >>> round(GeneralizedCauchy(1).quantile(0.5), 9)
        1.0
        """
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        if self.scale == 0 or level == 0:
            return 0.0
        miss, low, high = 1 - as_fraction(level), 0.0, float(self.scale)
        while not self._misses_less(high, miss):
            low, high = high, 2 * high
            if high == math.inf:
                return high
        while high - low > 5e-13 * high:
            middle = (low + high) / 2
            if self._misses_less(middle, miss):
                high = middle
            else:
                low = middle
        return high

    def _misses_less(self, error: float, miss: Fraction) -> bool:
        """Whether P(|N| > error) <= miss, proved (False means not proved)."""
        with balls.precision(BITS):
            ratio = balls.of(Fraction(error)) / balls.of(as_fraction(self.scale))
            return bool(_beyond(ratio, as_fraction(self.tail)) <= balls.of(miss))

    def _peak(self) -> float:
        """beta scale, the density at 0 of the law of scale 1."""
        with balls.precision(BITS):
            return float(peak(as_fraction(self.tail)).mid())


def peak(k: Fraction) -> arb:
    """Gamma(k/2) / (sqrt(pi) Gamma((k-1)/2)), as a ball: the density at 0 of the law of scale 1."""
    return balls.of(k / 2).gamma() / (arb.pi().sqrt() * balls.of((k - 1) / 2).gamma())


def _beyond(ratio: arb, k: Fraction) -> arb:
    """P(|N| > ratio) of the law of scale 1, as a ball."""
    return (1 / (1 + ratio**2)).beta_lower(balls.of((k - 1) / 2), arb(0.5), regularized=True)


@dataclass(frozen=True)
class CustomNoise:
    """Noise of density p on the line, given by what can be integrated with proof.

    The author declares, and the guarantee rests on:

    - density(x, analytic): p at a complex ball x, analytic between the `cuts` (the real points where p may bend). With
      analytic=True it must be infinite or not a number where p is not analytic: hand the flag on to sqrt, log,
      real_abs, as `acb.integral` of python-flint asks.
    - tail(r) >= P(|N| > r) for every r > 0.
    - slope L with |log p(x) - log p(y)| <= L |x - y| for all x, y. So a shift by z is L z-pure; noise without such an
      L (a normal law) does not fit here.
    - unimodal=True: p(x) = p(-x), and p does not increase in |x|.

    What can be refuted is: the mass within r is enclosed at growing r, and must fit [1 - tail(r), 1]; slope and shape
    are tried at points on both sides.

    >>> logistic = CustomNoise(
    ...     lambda x, analytic: 1 / (2 * (x / 2).cosh()) ** 2, tail=lambda r: 2 * balls.of(-r).exp(), slope=1, cuts=())
    >>> logistic.name
    'custom'
    """

    density: Density
    tail: Callable[[Fraction], arb | Real]
    slope: Real
    cuts: tuple[Real, ...] = (0,)
    unimodal: bool = False
    name: str = "custom"

    def __post_init__(self) -> None:
        if not isinstance(self.slope, int | float | Fraction) or not 0 < self.slope < math.inf:
            raise BadNoise(f"a slope must be a finite number > 0, got {self.slope!r}")
        object.__setattr__(self, "cuts", tuple(sorted({as_fraction(c) for c in self.cuts})))
        with balls.precision(BITS):
            radii = self._check_mass()
            self._check_shape(radii)

    def at(self, x: Fraction) -> arb:
        """p(x) as a ball; refused unless it is proved positive."""
        value = self.density(acb(balls.of(x)), False)
        found = value.real if isinstance(value, acb) else arb(value)
        if not found > 0:
            raise BadNoise(f"the density of noise {self.name!r} is not positive at {float(x)!r}")
        return found

    def beyond(self, radius: Fraction) -> arb:
        """The declared bound on P(|N| > radius), as a ball."""
        value = self.tail(radius)
        bound = value if isinstance(value, arb) else balls.of(value)
        if not bound.is_finite() or bound < 0:
            raise BadNoise(f"the tail of noise {self.name!r} is not a number >= 0 at {float(radius)!r}")
        return bound

    def radius(self, allowed: arb) -> Fraction:
        """A power of two beyond which the declared tail is at most `allowed`."""
        for j in range(-_WIDEST, _WIDEST + 1):
            if self.beyond(Fraction(2) ** j) <= allowed:
                return Fraction(2) ** j
        raise NotProvable(f"the declared tail of noise {self.name!r} falls too slowly for this order and distance")

    def integral(self, integrand: Density, low: Fraction, high: Fraction, cuts: tuple[Fraction, ...]) -> arb:
        """The integral of a real function over [low, high], split at the cuts, as a ball."""
        ends = sorted({low, high, *(c for c in cuts if low < c < high)})
        goal = balls.of(_GOAL)
        total = arb(0)
        for start, end in pairwise(ends):
            part = acb.integral(integrand, balls.of(start), balls.of(end), rel_tol=goal, abs_tol=goal)
            total += part.real
        if not total.is_finite():
            raise NotProvable(f"the density of noise {self.name!r} cannot be integrated here; are all cuts given?")
        return total

    def _check_mass(self) -> list[Fraction]:
        """1 - tail(r) <= P(|N| <= r) <= 1 at doubling radii, as far as balls can tell."""
        radius = self.radius(arb(1) / 2)
        mass = self.integral(self.density, -radius, radius, self.cuts)  # type: ignore[arg-type]
        radii = [radius]
        while True:
            if mass > 1 or mass + self.beyond(radius) < 1:
                raise BadNoise(
                    f"noise {self.name!r} has mass {float(mass.mid()):.9g} within {float(radius):g}, which does not fit"
                    f" its declared tail there, {float(self.beyond(radius).mid()):.3g}; normalise the density, correct"
                    " the tail"
                )
            if self.beyond(radius) <= balls.of(_CHECKED) or len(radii) > _WIDEST:
                return radii
            for side in (1, -1):
                low, high = sorted((side * radius, 2 * side * radius))
                mass += self.integral(self.density, low, high, self.cuts)  # type: ignore[arg-type]
            radius *= 2
            radii.append(radius)

    def _check_shape(self, radii: list[Fraction]) -> None:
        """Try the slope, and the declared shape, at points on both sides, close to 0 and far from it."""
        right = sorted({radii[0] * Fraction(j, 16) for j in range(33)} | {Fraction(3, 2) * r for r in radii} | {*radii})
        points = [-x for x in reversed(right[1:])] + right
        logs = [self.at(x).log() for x in points]
        for i in range(len(points) - 1):
            step = balls.of((points[i + 1] - points[i]) * as_fraction(self.slope))
            if abs(logs[i + 1] - logs[i]) > step:
                raise BadNoise(f"the log density of noise {self.name!r} is steeper than its slope {self.slope}")
        if self.unimodal:
            half = len(right)
            for i in range(half):
                left, here = logs[half - 1 - i], logs[half - 1 + i]
                if not left.overlaps(here) or (i > 0 and here > logs[half - 2 + i]):
                    raise BadNoise(f"noise {self.name!r} is not symmetric and unimodal; leave out unimodal=True")
