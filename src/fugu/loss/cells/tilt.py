"""How much each cell speaks for one law: c = p - e^epsilon q, in doubles with a bound on what they err."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.laws.cells import Counts

Floats = NDArray[np.float64]
UNIT = 2.0**-53


@dataclass(frozen=True, eq=False)
class Tilt:
    """The cells with c != 0, the largest first: |c| and how far it may be off, and whether c > 0."""

    size: Floats
    error: Floats
    gains: NDArray[np.bool_]

    @property
    def least(self) -> Floats:
        """|c| from below."""
        return np.maximum(self.size - self.error, 0.0)

    @property
    def most(self) -> Floats:
        """|c| from above."""
        return self.size + self.error


def tilt(p: Counts, q: Counts, epsilon: Fraction) -> Tilt:
    """c of every cell. A quotient errs by 2 units, e^epsilon by 1, a product and a difference by 1 each: 8 units of
    p + e^epsilon q are more than all of it. A cell whose sign doubles do not tell has |c| within its error."""
    grown = math.exp(float(epsilon))
    mine, other = p / float(p.sum()), grown * (q / float(q.sum()))
    c, error = mine - other, 8 * UNIT * (mine + other)
    order = np.argsort(-np.abs(c), kind="stable")
    order = order[(mine + other)[order] > 0]
    return Tilt(np.abs(c)[order], error[order], c[order] > 0)
