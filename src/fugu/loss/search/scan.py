"""Decayed sums L_k = sum_{j<=k} p_j e^{-(x_k - x_j)/b}, for all k at once, with an a-priori bound on their error.

The recurrence L_k = p_k + e^{-(x_k - x_{k-1})/b} L_{k-1} is a cumulative sum in disguise: inside a block that
starts at x_0, L_k = w_k^{-1} (C + sum p_j w_j) with w_j = e^{(x_j - x_0)/b}. Blocks are rows of a matrix; the
carries C between blocks obey the same recurrence on the block ends, which is solved by the same function.
All terms are non-negative, so relative errors only add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.numbers.exact import UNIT

_BLOCKS = (512, 64, 8)
_SPAN = 600.0
"""Largest exponent inside a block: w <= e^600 does not overflow, and w >= 1 never lets a mass of 1e-300 underflow."""
_GONE = 745.0
"""e^-745 is the least positive double; what is farther away contributes nothing."""


@dataclass(frozen=True)
class Decayed:
    """Left and right decayed sums, one row a law, and a bound on the relative error of every entry (units of 1)."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    error: float

    def total(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """S_k = sum_j p_j e^{-|x_k - x_j|/b} = L_k + R_k - p_k; relative error at most 2 error + 4 units."""
        return self.left + self.right - weights


def decayed_sums(points: NDArray[Any], weights: NDArray[np.float64], scale: float) -> Decayed:
    """Both decayed sums of every row of `weights` (m, n) on sorted `points` (n,), in O(n)."""
    left, error = _prefix(points, weights, scale)
    right, mirrored = _prefix(-points[::-1], weights[:, ::-1], scale)
    return Decayed(left, right[:, ::-1], max(error, mirrored) + 3 * UNIT)


def _prefix(points: NDArray[Any], weights: NDArray[np.float64], scale: float) -> tuple[NDArray[np.float64], float]:
    """L for every row, and its relative error bound.

    Error per level, in units: 2 x 3 span (two exponents, each from a rounded difference, a rounded quotient and a
    rounded exp), the cumulative sum's length, 3 x the exponent of the carry, and 20 for the single operations."""
    n = points.size
    size = _block_size(points, scale)
    if size == 0:
        return _doubling(points, weights, scale)
    rows = -(-n // size)
    x = _padded(points, rows * size).reshape(rows, size)
    offset = (x - x[:, :1]).astype(np.float64)
    offset /= scale
    grown = np.exp(offset)
    flat = np.zeros((weights.shape[0], rows * size))
    flat[:, :n] = weights
    sums = flat.reshape(-1, rows, size)
    sums *= grown
    np.cumsum(sums, axis=2, out=sums)
    error = (6 * float(offset[:, -1].max()) + size + 3 * _GONE * (rows > 1) + 20) * UNIT
    del offset
    if rows > 1:
        ends, deeper = _prefix(x[:, -1], sums[:, :, -1] / grown[:, -1], scale)
        with np.errstate(over="ignore"):
            step = (x[1:, 0] - x[:-1, -1]).astype(np.float64) / scale
        sums[:, 1:, :] += (ends[:, :-1] * np.exp(-step))[:, :, None]
        error += deeper
    sums /= grown
    return sums.reshape(-1, rows * size)[:, :n], error


def _block_size(points: NDArray[Any], scale: float) -> int:
    """The largest block in which no exponent exceeds the limit; 0 if even small blocks are too wide."""
    n = points.size
    for size in _BLOCKS:
        starts = points[::size]
        ends = np.append(points[size - 1 :: size], points[-1:])[: starts.size]
        with np.errstate(over="ignore"):
            if float((ends - starts).max()) / scale <= _SPAN:
                return min(size, n)
    return 0


def _padded(points: NDArray[Any], length: int) -> NDArray[Any]:
    return points if points.size == length else np.concatenate((points, np.full(length - points.size, points[-1])))


def _doubling(points: NDArray[Any], weights: NDArray[np.float64], scale: float) -> tuple[NDArray[np.float64], float]:
    """The same by doubling: after the pass with shift d, entry k holds the terms of its last 2d atoms. O(n log n).

    Passes stop once everything d atoms away has decayed below the least double."""
    sums = weights.copy()
    shift, passes = 1, 0
    while shift < points.size:
        with np.errstate(over="ignore"):
            apart = (points[shift:] - points[:-shift]).astype(np.float64) / scale
        if float(apart.min()) > _GONE:
            break
        sums[:, shift:] += sums[:, :-shift] * np.exp(-apart)
        shift, passes = 2 * shift, passes + 1
    return sums, (3 * _GONE + 10 * passes + 20) * UNIT


def log_decayed_sums(points: NDArray[Any], logs: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """ln S_k from ln p_k by doubling in log space, for sums that a double cannot hold; see `log_error` for how exact
    it is."""
    return np.logaddexp(_log_prefix(points, logs, scale), _log_strict(points, logs, scale))


def log_error(count: int) -> float:
    """The error of `log_decayed_sums` on `count` atoms, relative to |ln S| + 1: each of the log2(count) passes
    rounds an exponent (3 units), a difference (1) and a logaddexp (2), all at most as large as the result."""
    return (8 * max(1, count.bit_length()) + 20) * UNIT


def _log_prefix(points: NDArray[Any], logs: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    sums = logs.copy()
    shift = 1
    while shift < points.size:
        with np.errstate(over="ignore"):
            apart = (points[shift:] - points[:-shift]).astype(np.float64) / scale
        with np.errstate(invalid="ignore", over="ignore"):
            sums[:, shift:] = np.logaddexp(sums[:, shift:], sums[:, :-shift] - apart)
        shift *= 2
    return sums


def _log_strict(points: NDArray[Any], logs: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """ln sum_{j>k} p_j e^{-(x_j - x_k)/b}: the mirrored prefix moved by one atom."""
    full = _log_prefix(-points[::-1], logs[:, ::-1], scale)[:, ::-1]
    strict = np.full_like(full, -np.inf)
    with np.errstate(over="ignore"):
        strict[:, :-1] = full[:, 1:] - (points[1:] - points[:-1]).astype(np.float64) / scale
    return strict
