"""What a coupling costs: for every move the square that the noise must hide, with its chance.

Under Gaussian noise of standard deviation s, a move whose least allocation has the sum of squares q makes the outputs
at most as different as two normals m = sqrt(q) / s apart. With the chances p_k of the moves, by joint convexity,

    D_alpha <= 1/(alpha-1) log sum_k p_k exp((alpha-1) alpha q_k / (2 s^2)),     delta(e) <= sum_k p_k delta_G(e, m_k),

for both orders of the pair (docs/proofs/iterations.md#1-two-known-sequences-of-maps,
docs/proofs/iterations.md#2-data-with-a-joint-law).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fugu.loss.search.shifts import fast_gaussian_delta
from fugu.loss.shifts.gaussian import gaussian_delta
from fugu.training.steps import UNIT, Floats

_TINY, _LEAST = 1e-300, 5e-324
"""What underflows is not zero."""


@dataclass(frozen=True, eq=False)
class Squares:
    """Squares q_k, from above, with their chances."""

    chances: Floats
    values: Floats

    @property
    def height(self) -> float:
        """The mean of the squares: it ranks cases, nothing more."""
        return float(np.sum(self.chances * self.values))

    def renyi(self, scale: float, alpha: float) -> float:
        """The bound on D_alpha, from above."""
        with np.errstate(over="ignore"):
            exponents = (alpha - 1) * (alpha * (1 + 2 * UNIT)) * (self.values / scale / scale / 2 * (1 + 8 * UNIT))
        return mixed(self.chances, np.where(self.values > 0, np.maximum(exponents, _TINY), 0.0), alpha - 1)

    def delta(self, scale: float, epsilon: Fraction) -> float:
        """The bound on delta(epsilon), from above, every term proved in balls."""
        total = 0.0
        for q, p in _gathered(self.values, self.chances):
            found = gaussian_delta(epsilon, max(_TINY, _root(q) / scale * (1 + 4 * UNIT))) if q else 0.0
            total += p * found + (_LEAST if found else 0.0)
        return min(1.0, total * (1 + (8 + self.values.size) * UNIT))

    def fast_delta(self, scale: float, epsilon: float) -> float:
        """About the same in doubles, to search with."""
        return float(np.sum(self.chances * fast_gaussian_delta(epsilon, np.sqrt(self.values) / scale)))


def mixed(chances: Floats, exponents: Floats, order: float) -> float:
    """log(sum p_k e^{x_k}) / order from above, x_k >= 0, for chances whose exact values sum to 1."""
    most = float(exponents.max())
    if not math.isfinite(most):
        return math.inf
    if most < 700:
        found = math.log1p(float(np.sum(chances * np.expm1(exponents))) * (1 + (16 + chances.size) * UNIT))
        return found * (1 + 8 * UNIT) / order * (1 + 4 * UNIT)
    total = float(np.sum(chances * np.exp(exponents - most)))
    slack = (32 + 4 * chances.size + 4 * most) * UNIT
    return max(0.0, most + math.log(total + UNIT) + slack) / order * (1 + 4 * UNIT)


def _root(q: float) -> float:
    return math.sqrt(q) * (1 + 2 * UNIT)


def _gathered(values: Floats, chances: Floats) -> list[tuple[float, float]]:
    """Equal squares together, their chances added up."""
    order = np.argsort(values, kind="stable")
    values, chances = values[order], chances[order]
    starts = np.concatenate(([True], values[1:] != values[:-1]))
    index = np.cumsum(starts) - 1
    sums = np.bincount(index, weights=chances) * (1 + chances.size * UNIT)
    return list(zip(values[starts].tolist(), sums.tolist(), strict=True))
