"""Laplace noise, continuous for analysis, on a lattice for release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from flint import arb

from fugu.errors import BadNoise
from fugu.guarantee.asks import Ask
from fugu.noise.geometric import LatticeLaplaceSampler
from fugu.noise.kind import Floats, Ints, Noise, Objective, by_tails, check_objective, kind
from fugu.noise.lattice import as_grid, check_scale
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

_SEEN = 1e-9
"""A lattice finer than this part of the scale changes no expected error that a double can hold."""


@kind
@dataclass(frozen=True, init=False)
class Laplace(Noise):
    """Density ~ exp(-|x| / scale); with a grid, mass ~ exp(-|k| grid / scale) at k * grid.

    Parameters:

    - `scale`: the mean of |x| of continuous noise, a finite number >= 0; 0 is no noise.
    - `grid`: None for continuous noise, which is analysed and never released; or the step of the lattice that is
      released, a positive number, a Fraction, or a text such as "0.1" or "1/3", read exactly.

    Raises `BadNoise` for others.

    Larger scales are post-processings of smaller ones, Lap(c) = Lap(b) + {0 w.p. (b/c)^2, else Lap(c)}, and
    likewise on a lattice (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less):
    every loss is non-increasing in the scale, for every pair of laws.

    >>> Laplace(2.0).expected_error(), Laplace(2.0).expected_error("squared")
    (2.0, 8.0)
    >>> round(Laplace(2.0, grid=1).expected_error(), 6)
    1.919035
    """

    name: ClassVar[str] = "laplace"
    place: ClassVar[int] = 0
    title: ClassVar[str] = "Laplace noise"
    proof: ClassVar[str] = "docs/proofs/laplace.md"
    ordered: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    scale: Real
    grid: Fraction | None

    def __init__(self, scale: Real, grid: Real | str | None = None) -> None:
        check_scale(scale)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "grid", None if grid is None else as_grid(grid))

    @classmethod
    def refusal(cls, ask: Ask) -> str | None:  # noqa: ARG003
        """Never: it bounds every ratio."""
        return None

    @property
    def sampler(self) -> LatticeLaplaceSampler:
        """Independent integers with P(k) ~ exp(-rate |k|)."""
        return _sampler(self.rate)

    @property
    def rate(self) -> Fraction:
        """grid / scale, the decay per lattice step, exactly."""
        if self.grid is None or self.scale == 0:
            raise BadNoise("only lattice noise of positive scale has a rate")
        return self.grid / as_fraction(self.scale)

    @property
    def decay(self) -> Fraction:
        """The mass of k steps is proportional to exp(-decay |k|)."""
        return self.rate

    @property
    def words(self) -> str:
        """In words, up to its scale."""
        return "Laplace noise, a sharp peak at zero with a scale of"

    def mass(self, k: int) -> arb:
        """(1 - q) / (1 + q) q^|k| with q = e^-rate."""
        rate = balls.of(self.rate)
        return (rate / 2).tanh() * (-rate * abs(k)).exp()

    def beyond(self, k: int) -> arb:
        """2 q^(k + 1) / (1 + q)."""
        rate = balls.of(self.rate)
        return 2 * (-rate * (k + 1)).exp() / (1 + (-rate).exp())

    def shift(self, steps: int, alpha: Fraction | None) -> arb:  # noqa: ARG002
        """rate steps, whatever the order."""
        return balls.of(self.rate * steps)

    def reach(self, fall: float) -> int:
        """fall scales."""
        return 0 if self.silent else math.ceil(fall / float(self.rate))

    def log_likelihood(self, at: Ints, seen: Ints) -> Floats:
        """-rate |y - x|."""
        return np.asarray(-float(self.rate) * np.abs(seen[:, None] - at[None, :]).astype(np.float64))

    @property
    def margin(self) -> int:
        """Beyond the outermost value every output tells the same."""
        return 0

    def log_mass(self, steps: Ints) -> Floats:
        """ln tanh(rate / 2) - rate |k|."""
        if self.silent:
            return super().log_mass(steps)
        rate = float(self.rate)
        return np.asarray(-rate * np.abs(steps).astype(np.float64) + math.log(math.tanh(rate / 2)))

    def cdf(self, steps: Ints) -> Floats:
        """q^-k / (1 + q) below 0, 1 - q^(k + 1) / (1 + q) from 0 on."""
        return by_tails(self.tail, float(self.grid or 1), steps)

    def expected_error(self, objective: Objective = "absolute") -> float:
        """E|N| (`objective` "absolute") or E N^2 ("squared"). Continuous: b, 2 b^2. Lattice with q = exp(-grid/b): 2 g
        q / (1 - q^2), 2 g^2 q / (1 - q)^2."""
        check_objective(objective)
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None or float(self.grid) < _SEEN * b:
            return b if objective == "absolute" else 2 * b * b
        g = float(self.grid)
        h = g / b
        if h > 700:
            return max(2 * g * math.exp(-h), 5e-324)  # positive, however small: only no noise has no error
        return g / math.sinh(h) if objective == "absolute" else g * g / (2 * math.sinh(h / 2) ** 2)

    def tail(self, error: float) -> float:
        """P(|N| > `error`), `error` >= 0."""
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None:
            return math.exp(-error / b)
        h = float(self.grid) / b
        k = math.floor(error / float(self.grid) * (1 + 1e-12)) + 1
        return 2 * math.exp(-k * h) / (1 + math.exp(-h))

    def quantile(self, level: float) -> float:
        """The least error h (a multiple of the grid, if there is one) with P(|N| <= h) >= `level` < 1, from above."""
        if self.scale == 0:
            return 0.0
        b = float(self.scale)
        if self.grid is None or float(self.grid) < _SEEN**2 * b:
            return -b * math.log1p(-level) * (1 + 1e-12)
        h = float(self.grid) / b
        k = (math.log(2 / (1 + math.exp(-h))) - math.log1p(-level)) / h - 1
        steps = max(0, math.ceil(k * (1 + 1e-12)))
        return steps * float(self.grid)


@lru_cache(maxsize=64)
def _sampler(rate: Fraction) -> LatticeLaplaceSampler:
    """One sampler for all noise of one rate: its tables take time, and never change."""
    return LatticeLaplaceSampler(rate)
