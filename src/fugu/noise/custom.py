"""Any noise with a density, analysed by certified quadrature from what its author declares. For analysis only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import acb, arb

from fugu.errors import BadNoise, NotProvable
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

BITS = 128
_GOAL = Fraction(1, 2**80)
_CHECKED = Fraction(1, 2**30)  # the mass is checked at doubling radii until the declared tail is below this
_WIDEST = 100  # radii up to 2^100

Density = Callable[[acb, bool], acb]


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
