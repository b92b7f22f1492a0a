"""What noise costs: the error that is minimised and ranked by, in units of each statistic's own deviation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.standard import Laws
from fugu.calibration.covariance.symmetric import symmetric
from fugu.errors import UsageError
from fugu.noise.kind import Objective

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cost:
    """tr(W S), or with `absolute` E |N|_1 = sum_j sqrt(2 S_jj / pi), of a covariance S in standardised units.

    `weight`: W; the identity unless a user gives one for the values, which is turned into these units: D W D."""

    weight: Array
    absolute: bool = False

    @staticmethod
    def of(laws: Laws, weight: Array | None, objective: Objective) -> Cost:
        """A user's weight decides alone; else the objective, every statistic in its own unit."""
        if weight is not None:
            d = laws.dimension
            if weight.shape != (d, d) or not np.isfinite(weight).all() or not (weight == weight.T).all():
                raise UsageError(f"weight must be a symmetric {d} x {d} matrix of finite numbers")
            return Cost(laws.raw(weight))
        return Cost(np.eye(laws.dimension), objective == "absolute")

    @property
    def trace(self) -> Cost:
        """The mean squared error with the same weight."""
        return Cost(self.weight)

    def value(self, S: Array) -> float:
        """The cost of S."""
        if self.absolute:
            return float(np.sqrt(2 * np.maximum(np.diag(S), 0.0) / math.pi).sum())
        return float((self.weight * S).sum())

    def slope(self, S: Array) -> Array:
        """The gradient in S; a variance next to 0 counts as a little more, where the root has no slope."""
        if self.absolute:
            variances = np.diag(S)
            return np.diag(np.sqrt(0.5 / math.pi / np.maximum(variances, 1e-9 * variances.max())))
        return self.weight

    def bend(self, S: Array) -> Array:
        """The second derivative in S, in coordinates of `symmetric`."""
        at = symmetric(len(S))
        found = np.zeros((len(at.c), len(at.c)))
        if self.absolute:
            variances = np.maximum(np.diag(S), 1e-9 * np.diag(S).max())
            found[at.diagonal, at.diagonal] = -0.5 * np.diag(self.slope(S)) / variances
        return found
