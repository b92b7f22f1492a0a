"""Gaussian noise, continuous for analysis, on a lattice for release."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.kind import Floats, Ints, Noise, Objective, check_objective, kind
from fugu.noise.laplace import Laplace
from fugu.noise.lattice import as_grid, check_scale
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

if TYPE_CHECKING:
    from fugu.guarantee.asks import Ask
    from fugu.noise.discrete_gaussian import LatticeGaussianSampler

_WIDE = 1 / (2 * 1000.0**2)  # below this decay (a width of 1000 steps) sums are integrals with corrections
_FINEST = Fraction(1, 2**105)  # below this decay doubles do not see the lattice
_TELLING = 9
"""Standard deviations beyond the outermost values from which on an output tells no more."""
_SLACK = Fraction(1, 10**12)
NO_RATIO = (
    "Gaussian noise gives no pure guarantee unless the laws are equal: far out, one noised law outweighs the other "
    "without bound. Give a delta > 0, or use Laplace noise"
)


@kind
@dataclass(frozen=True, init=False)
class Gaussian(Noise):
    """Density ~ exp(-x^2 / (2 scale^2)); with a grid, mass ~ exp(-(k grid)^2 / (2 scale^2)) at k * grid.

    Parameters:

    - `scale`: the standard deviation, a finite number >= 0; 0 is no noise.
    - `grid`: None for continuous noise, which is analysed and never released; or the step of the lattice that is
      released, a positive number, a Fraction, or a text such as "0.1" or "1/3", read exactly.

    Raises `BadNoise` for others.

    On a lattice the true standard deviation is a little less (Canonne, Kamath and Steinke 2020). Continuous: N(0, t^2)
    = N(0, s^2) + N(0, t^2 - s^2) for t > s, so every loss is non-increasing in the scale. **On a lattice this fails**:
    lattice Gaussians are not convolutions of each other, and more can leak more. On the integers, scale 0.55 tells (0,
    5, 7) from (6, -1, 1), each with weights (10, 1, 1) / 12, better than scale 0.5 does: total variation 0.7097 against
    0.7013. A larger lattice scale must be proved on its own.

    >>> round(Gaussian(2.0).expected_error(), 6), Gaussian(2.0).expected_error("squared")
    (1.595769, 4.0)
    >>> round(Gaussian(0.5, grid=1).expected_error("squared"), 6)
    0.215013
    """

    name: ClassVar[str] = "gaussian"
    words: ClassVar[str] = "Gaussian noise, a bell curve with a scale (about its standard deviation) of"
    place: ClassVar[int] = 1
    title: ClassVar[str] = "Gaussian noise"
    proof: ClassVar[str] = "docs/proofs/gaussian.md"
    norm: ClassVar[int] = 2
    log_concave: ClassVar[bool] = True
    closed: ClassVar[bool] = True
    scale: Real
    grid: Fraction | None

    def __init__(self, scale: Real, grid: Real | str | None = None) -> None:
        check_scale(scale)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "grid", None if grid is None else as_grid(grid))

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:
        """It bounds no ratio, so it needs a delta or a finite order."""
        return NO_RATIO if ask.pure else None

    @property
    def sampler(self) -> LatticeGaussianSampler:
        """Independent integers with P(k) ~ exp(-precision k^2)."""
        return gaussian_sampler(self.precision)

    @property
    def precision(self) -> Fraction:
        """grid^2 / (2 scale^2), the decay per squared lattice step, exactly."""
        if self.grid is None or self.scale == 0:
            raise BadNoise("only lattice noise of positive scale has a precision")
        return self.grid**2 / (2 * as_fraction(self.scale) ** 2)

    @property
    def spread_in_steps(self) -> float:
        """The standard deviation, in steps of the lattice."""
        return math.sqrt(0.5 / float(self.precision))

    def mass(self, k: int) -> arb:
        """e^(-precision k^2) over the sum of all."""
        return (-balls.of(self.precision) * (k * k)).exp() / _total(self.precision, ctx.prec)

    def beyond(self, k: int) -> arb:
        """2 e^(-c (k + 1)^2) / (1 - e^(-2 c (k + 1))) over the sum of all, c = precision."""
        return _above(self.precision, k + 1) / _total(self.precision, ctx.prec)

    def shift(self, steps: int, alpha: Fraction | None) -> arb:
        """alpha precision steps^2, also on a lattice (Canonne, Kamath and Steinke 2020, Proposition 5)."""
        return super().shift(steps, alpha) if alpha is None else balls.of(alpha * self.precision * steps**2)

    def reach(self, fall: float) -> int:
        """sqrt(2 fall) scales."""
        return 0 if self.silent else math.ceil((fall / float(self.precision)) ** (1 / 2))

    def log_mass(self, steps: Ints) -> Floats:
        """-precision k^2 - ln of the sum of all."""
        if self.silent:
            return super().log_mass(steps)
        decay = float(self.precision)
        total = math.log1p(2 * upper_sum(decay, 1)) if decay > 1e-12 else 0.5 * math.log(math.pi / decay)
        return np.asarray(-decay * np.abs(steps).astype(np.float64) ** 2 - total)

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """-precision |y - x|^2."""
        return np.asarray(-float(self.precision) * np.abs(seen[:, None] - at[None, :]).astype(np.float64) ** 2)

    @property
    def margin(self) -> int:
        """Nine standard deviations."""
        return int(_TELLING * self.spread_in_steps) + 1

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| (`objective` "absolute") or E N^2 ("squared"). Continuous: scale sqrt(2 / pi), scale^2. Lattice: the
        sums, to some 14 digits.

        By Poisson summation the lattice variance is scale^2 (1 - e) with e < 1e-130 once scale >= 4 grid.
        """
        check_objective(objective)
        if self.scale == 0:
            return 0.0
        s = float(self.scale)
        decay = self._decay()
        if objective == "squared" and decay <= 1 / 32:
            return s * s
        if decay == 0:
            return s * math.sqrt(2 / math.pi)
        g = float(self.grid or 0)
        error = g * g * moment(decay, 2) if objective == "squared" else g * moment(decay, 1)
        return max(error, 5e-324)  # positive, however small: only no noise has no error

    def tail(self, error: float) -> float:
        """P(|N| > `error`); as for every noise, an error within 1e-12 of a lattice point is that point."""
        if not error >= 0:
            raise BadNoise(f"an error must be a number >= 0, got {error!r}")
        if self.scale == 0 or error == math.inf:
            return 0.0
        decay = self._decay()
        if self.grid is None or decay == 0:
            return math.erfc(float(error) / float(self.scale) / math.sqrt(2))
        steps = math.floor(as_fraction(error) * (1 + _SLACK) / self.grid)
        return at_least(decay, steps + 1) if steps**2 * self.precision < 1000 else 0.0

    def quantile(self, level: float) -> float:
        """The least error h (a multiple of the grid, if there is one) with P(|N| <= h) >= `level` < 1, from above.

        What doubles leave in doubt, a relative 1e-12 of 1 - level, goes up.
        """
        if not 0 <= level < 1:
            raise BadNoise(f"a level must be in [0, 1), got {level!r}")
        if self.scale == 0 or level == 0:
            return 0.0
        miss = 1 - as_fraction(level)
        decay = self._decay()
        if self.grid is None or decay == 0:
            return -NormalDist().inv_cdf(float(miss / 2)) * float(self.scale) * (1 + 1e-12)
        allowed = float(miss * (1 - _SLACK))
        high = 1
        while at_least(decay, high) > allowed:
            high *= 2
        steps = bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)
        return float(steps * self.grid)

    def _decay(self) -> float:
        """The precision as a double; 0 without a lattice, or where it is too fine to be seen."""
        if self.grid is None or self.precision < _FINEST:
            return 0.0
        return float(min(self.precision, Fraction(10**4)))


def _above(precision: Fraction, k: int) -> arb:
    """A ball above 2 sum over j >= k of e^(-precision j^2), k >= 1."""
    c = balls.of(precision)
    return 2 * (-c * (k * k)).exp() / (1 - (-2 * c * k).exp())


@lru_cache(maxsize=64)
def _total(precision: Fraction, bits: int) -> arb:
    """A ball that holds the sum over all whole k of e^(-precision k^2)."""
    far = math.ceil(math.sqrt(bits / float(precision))) + 1
    with balls.precision(bits + 32):
        c = balls.of(precision)
        inside = 1 + 2 * sum(((-c * (k * k)).exp() for k in range(1, far + 1)), arb(0))
        return inside.union(inside + _above(precision, far + 1))


def at_least(decay: float, k: int) -> float:
    """P(|K| >= k) for P(K = k) ~ exp(-decay k^2) and k >= 1.

    >>> round(at_least(0.5, 2), 6)
    0.117116
    """
    return 2 * upper_sum(decay, k) / (1 + 2 * upper_sum(decay, 1))


def upper_sum(decay: float, start: int) -> float:
    """sum over k >= start of f(k) = exp(-decay k^2), to some 13 digits (relative), for start >= 1.

    Term by term to a width of 1000 steps. Beyond, with m = start - 1/2, the Euler-Maclaurin formula at midpoints:
    integral from m of f, + f'(m) / 24 - 7 f'''(m) / 5760.
    """
    if decay >= _WIDE:
        j = np.arange(math.ceil(math.sqrt(start**2 + 45 / decay) - start) + 1, dtype=np.float64)
        return math.exp(-decay * start**2) * float(np.exp(-decay * (j * j + 2.0 * start * j)).sum())
    m = start - 0.5
    x = decay * m * m
    slope = 2 * decay * m * (1 / 24 + 7 / 5760 * (6 - 4 * x) * decay)
    return math.sqrt(math.pi / decay) / 2 * math.erfc(math.sqrt(x)) - slope * math.exp(-x)


def moment(decay: float, power: int) -> float:
    """E|K|^power for P(K = k) ~ exp(-decay k^2); for widths beyond 1000 steps by Euler-Maclaurin, power 1 only."""
    if decay < _WIDE:
        return (1 / decay - 1 / 6 - decay / 60) * math.sqrt(decay / math.pi)
    k: NDArray[np.float64] = np.arange(1, math.ceil(math.sqrt(45 / decay)) + 2, dtype=np.float64)
    mass = np.exp(-decay * k * k)
    return float(2 * (k**power * mass).sum() / (1 + 2 * mass.sum()))


@lru_cache(maxsize=64)
def gaussian_sampler(precision: Fraction) -> LatticeGaussianSampler:
    """One sampler for all noise of one precision: its tables take time, and never change."""
    from fugu.noise.discrete_gaussian import LatticeGaussianSampler

    return LatticeGaussianSampler(precision)


LatticeNoise = Laplace | Gaussian
"""What can be released, and is proved on every shape of laws."""
