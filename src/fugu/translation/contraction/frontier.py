"""The most that passes a kernel, over all pairs of its rows, for one loss alpha between all values; for every alpha.

    l(alpha) = max over pairs of rows and over prefix sets A of log (a + q (1 - a)) / (b + q (1 - b)),  q = e^-alpha,

a = K_x(A), b = K_x'(A) (docs/proofs/contraction.md#many-values). Of all (a, b) only the upper corners of their convex
hull matter. They are found once, a few rows at a time, and then any alpha costs nothing.

Proofs: docs/proofs/contraction.md#many-values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.translation.contraction.kernel import Array, Rows, U, sort_pairs

_AT_ONCE = 400_000
"""Entries (x, x', y) that are sorted together."""
_BINS = 4096
Pairs = tuple[NDArray[np.intp], ...]


@dataclass
class Frontier:
    """The undominated (a, b) of one power of the kernel, with the slack of its entries inside."""

    a: Array
    b: Array
    slack: float

    @classmethod
    def of(cls, kernel: Array, reach: NDArray[np.bool_], error: float, valid: NDArray[np.bool_]) -> Frontier:
        """Of all pairs of rows of values that are `valid`, some rows at a time; `error` is that of the entries."""
        values, k = np.flatnonzero(valid), len(kernel)
        slack = 2 * error + (6 * k + 64) * U
        a, b = np.ones(1) if values.size < 2 else np.zeros(0), np.ones(1) if values.size < 2 else np.zeros(0)
        some = max(1, _AT_ONCE // (k * max(1, values.size)))
        for begin in range(0, values.size, some):
            x, y = (grid.ravel() for grid in np.meshgrid(values[begin : begin + some], values, indexing="ij"))
            rows = sort_pairs(kernel, reach, error, (x[x != y], y[x != y]))
            a, b = _added(a, b, rows)
        return cls(a, b, slack)

    @classmethod
    def some(cls, kernel: Array, reach: NDArray[np.bool_], error: float, pairs: Pairs) -> Frontier:
        """Of some pairs of rows."""
        rows = sort_pairs(kernel, reach, error, pairs)
        return cls(*_added(np.zeros(0), np.zeros(0), rows), 2 * error + (6 * len(kernel) + 64) * U)

    def passed(self, alpha: float) -> float:
        """l_d(alpha), rounded up; at most alpha."""
        return float(Frontiers([self]).passed(np.array([alpha]))[0])


def _added(a: Array, b: Array, rows: Rows) -> tuple[Array, Array]:
    """The corners of the points known and the prefixes of these pairs of rows."""
    more_a, more_b = (np.cumsum(part[0, 0], -1)[:, :-1].ravel() for part in (rows.u, rows.v))
    if a.size:  # what lies below the corners already known is left out at once
        least = np.interp(np.arange(_BINS) / _BINS, b, a, left=-1.0) * (1 - 16 * U)  # a grows with b: least in its bin
        keep = more_a > least[np.minimum((more_b * _BINS).astype(np.intp), _BINS - 1)]
        more_a, more_b = more_a[keep], more_b[keep]
    a, b = np.concatenate([a, more_a]), np.concatenate([b, more_b])
    order = np.argsort(b)  # of equal b a smaller a may come first and stay: harmless
    a, b = a[order], b[order]
    best = np.maximum.accumulate(a)
    new = np.concatenate([[True], a[1:] > best[:-1]])
    return corners(a[new], b[new])


def corners(a: Array, b: Array) -> tuple[Array, Array]:
    """The upper corners of the convex hull of points sorted by b: (a + q (1 - a)) / (b + q (1 - b)) is largest at one.

    A point is dropped only if it lies below the line through its neighbours by more than the error of the product; no
    two neighbours at once."""
    parity, idle = 0, 0
    while idle < 2 and a.size > 2:
        one = (b[2:] - b[:-2]) * (a[1:-1] - a[:-2])
        two = (a[2:] - a[:-2]) * (b[1:-1] - b[:-2])
        below = one - two < -16 * U * (np.abs(one) + np.abs(two))
        below &= np.arange(1, a.size - 1) % 2 == parity
        idle, parity = (0 if below.any() else idle + 1), 1 - parity
        keep = np.concatenate([[True], ~below, [True]])
        a, b = a[keep], b[keep]
    return a, b


class Frontiers:
    """Several frontiers, asked at once."""

    def __init__(self, fronts: list[Frontier]) -> None:
        self.a, self.b = (np.concatenate([getattr(f, name) for f in fronts]) for name in ("a", "b"))
        sizes = [f.a.size for f in fronts]
        self.at = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
        self.which = np.repeat(np.arange(len(fronts)), sizes)
        slack = np.array([f.slack for f in fronts])
        self.even = (1 + slack) / (1 - slack)  # what the whole set gives: the totals of u and v are within `slack` of 1
        self.rest_a = np.maximum(1 + slack[self.which] - self.a, 0)
        self.rest_b = np.maximum(1 - slack[self.which] - self.b, 0)

    def passed(self, alphas: Array) -> Array:
        """l_d(alpha), one alpha for each frontier, rounded up; at most alpha."""
        with np.errstate(under="ignore", divide="ignore", over="ignore"):
            q = np.exp(-alphas)
            top = self.a + (q * (1 + 4 * U) + 1e-290)[self.which] * self.rest_a
            best = np.maximum.reduceat(top / (self.b + (q * (1 - 4 * U))[self.which] * self.rest_b), self.at)
            found = np.log(np.maximum(best, self.even)) * (1 + 4 * U) + 16 * U
        return np.asarray(np.minimum(alphas, found))
