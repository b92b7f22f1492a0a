"""The tight losses of Laplace noise in doubles, each at or above the truth by an a-priori error bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.numbers import balls
from fugu.numbers.exact import UNIT

# Between atoms the noised density is A e^{-y/b} + B e^{y/b}, so the ratio of two of them is monotone in y there and
# constant outside all atoms: the supremum over y is a maximum over atoms
# (docs/proofs/laplace.md#2-the-supremum-of-the-ratio-is-attained-at-an-atom). On a lattice that holds the atoms
# the same numbers appear and the normaliser cancels, so the pure loss is the same
# (docs/proofs/laplace.md#4-on-a-lattice-the-pure-loss-is-the-same). The delta is not: it has its own sums.


_TINY = 1e-280
_MAX_EXPONENT = 700.0
_AT_ONCE = 2**20
"""Ratios that are worked out together."""
_FAR = 1e5
"""Distances beyond this many scales count as this many: e^-745 is nothing already."""


def pure_loss(family: Family, scale: float) -> PairLoss:
    """max over pairs, orders and atoms of ln(S_i / S_j), rounded up; inf where no finite epsilon holds."""
    if family.inexact:  # total variation bounds no ratio
        label, pair = next((label, pair) for pair, label in family.different if family.blurred(pair))
        return PairLoss(label, math.inf, pair)
    weights = family.weights
    if not family.minute:
        if scale == 0:
            return _worst(family, weights, 8 * UNIT)
        sums = decayed_sums(family.points, weights, scale)
        total = sums.total(weights)
        if not float(total.min()) < _TINY:
            return _worst(family, total, 4 * sums.error + 12 * UNIT)
    logs = np.stack([law.logs() for law in family.laws])
    return _worst_log(family, log_decayed_sums(family.points, logs, scale) if scale else logs, silent=scale == 0)


def _worst(family: Family, total: NDArray[np.float64], error: float) -> PairLoss:
    """ln of the largest ratio plus the bound on its error; `error` is on the ratio, relative."""
    worst = PairLoss(family.labels[0], 0.0, family.pairs[0])
    pairs = np.array([pair for pair, _ in family.different], dtype=np.int64).reshape(-1, 2)
    together = max(1, _AT_ONCE // total.shape[1])
    for first in range(0, len(pairs), together):
        i, j = pairs[first : first + together].T
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = total[i] / total[j]
            up, down = np.nanmax(ratio, axis=1), 1 / np.abs(np.nanmin(ratio, axis=1))
        k = int(np.argmax(np.nan_to_num(np.fmax(up, down), nan=0.0, posinf=np.inf)))
        largest, order = (up[k], (i[k], j[k])) if up[k] >= down[k] else (down[k], (j[k], i[k]))
        value = max(0.0, math.log(largest)) * (1 + 4 * UNIT) + 1.01 * error
        if value > worst.value:
            worst = PairLoss(family.different[first + k][1], value, (int(order[0]), int(order[1])))
    return worst


def _worst_log(family: Family, logs: NDArray[np.float64], silent: bool) -> PairLoss:
    """The same from logarithms, for ratios beyond the range of doubles."""
    worst = PairLoss(family.labels[0], 0.0, family.pairs[0])
    # of `log_decayed_sums`, relative to |ln S| + 1: each of the log2(n) passes rounds an exponent (3 units), a
    # difference (1) and a logaddexp (2), all at most as large as the result
    error = (8 * max(1, logs.shape[1].bit_length()) + 20) * UNIT
    for pair, label in family.different:
        i, j = pair
        with np.errstate(invalid="ignore", over="ignore"):
            gap = logs[i] - logs[j]
            size = np.abs(logs[i]) + np.abs(logs[j])
            bound = np.abs(gap) + error * (size + 2)
        # both zero: without noise an atom of neither law, with noise both beyond the range, where no finite bound is
        # known
        bound[np.isnan(bound)] = 0.0 if silent else np.inf
        k = int(np.argmax(bound))
        if bound[k] > worst.value:
            worst = PairLoss(label, float(bound[k]), (i, j) if gap[k] >= 0 else (j, i))
    return worst


def delta_loss(family: Family, scale: float, epsilon: float, grid: float | None) -> PairLoss:
    """max over pairs and orders of sup_S P(S) - e^epsilon Q(S), rounded up; exactly 0 where the ratio bound says so.

    `scale` and `grid` are in the unit of the points; grid None is the continuous noise.
    Error: wherever the true or the computed integrand is positive, e^eps f_j <= f_i (1 + 3 eta), so a relative error
    eta of the sums costs at most 2.1 eta of the mass of f_i, which is 1 (eta = error + 8 units). What the laws' own
    errors cost comes on top (`slack`)."""
    weights = family.weights
    e = math.exp(min(epsilon, _MAX_EXPONENT))  # delta falls with epsilon: capping epsilon can only raise it
    sums = None if scale == 0 else decayed_sums(family.points, weights, scale)
    worst = PairLoss(family.labels[0], 0.0, family.pairs[0])
    for pair, label in family.different:
        for i, j in (pair, pair[::-1]):
            if sums is None:
                value = float(np.maximum(weights[i] - e * weights[j], 0).sum()) + 20 * UNIT
            else:
                value = _delta(family, sums, scale, e, (i, j), grid)
            if family.blurred(pair):
                value += 2 * UNIT + balls.upper(family.slack((i, j), arb(min(epsilon, _MAX_EXPONENT)).exp()))
            if not value <= worst.value:  # a value that is not a number counts as the worst
                worst = PairLoss(label, 1.0 if math.isnan(value) else min(1.0, value), (i, j))
    return worst


def _delta(family: Family, sums: Decayed, scale: float, e: float, order: tuple[int, int], grid: float | None) -> float:
    """delta of one order: what the laws differ at atoms, in gaps, and in the two tails.

    Proofs: docs/proofs/laplace.md#5-delta-of-continuous-noise and docs/proofs/laplace.md#6-delta-of-lattice-noise."""
    i, j = order
    eta = sums.error + 8 * UNIT
    s_i = sums.left[i] + sums.right[i] - family.weights[i]
    s_j = sums.left[j] + sums.right[j] - family.weights[j]
    if np.all(s_i * (1 + 5 * eta) <= e * s_j) and float(s_j.min()) > _TINY:
        return 0.0
    left = sums.left[i] - e * sums.left[j]
    right = sums.right[i] - e * sums.right[j]
    tails = max(0.0, float(right[0])) + max(0.0, float(left[-1]))
    with np.errstate(over="ignore"):
        gaps = np.diff(family.points).astype(np.float64)
        apart = np.minimum(gaps / scale, _FAR)
    if grid is None:
        found = 0.5 * (tails + continuous_gaps(left[:-1], right[1:], apart))
    else:
        rate = min(max(grid / scale, 1e-300), _FAR)
        with np.errstate(over="ignore"):
            steps = np.minimum(np.rint(gaps / grid), np.ceil(_FAR / rate))
        inside = lattice_gaps(left[:-1], right[1:], steps, rate)
        atoms = float(np.maximum(s_i - e * s_j, 0).sum())
        found = math.tanh(rate / 2) * (atoms + tail_sum(rate) * tails + inside)
    return found * (1 + 4000 * UNIT) + 8 * eta + 1e-300  # exponents up to 745 are off by 3 units each


# Positive parts between two neighbouring atoms: of a e^{-t} + c e^{-(g - t)}, integrated or summed over a lattice.
#
# With a the decayed sum at the left atom and c the one at the right atom, the difference of the two noised laws inside
# the gap is proportional to this; it changes sign at most once
# (docs/proofs/laplace.md#5-delta-of-continuous-noise, docs/proofs/laplace.md#6-delta-of-lattice-noise).


def continuous_gaps(a: NDArray[np.float64], c: NDArray[np.float64], g: NDArray[np.float64]) -> float:
    """sum over gaps of int_0^g [a e^{-t} + c e^{-(g-t)}]_+ dt, gap lengths in units of the scale."""
    both = (a >= 0) & (c >= 0)
    total = float(np.sum((a[both] + c[both]) * -np.expm1(-g[both])))
    a, c, g = _mixed(a, c, g)
    if a.size == 0:
        return total
    t = np.clip(0.5 * (g + np.log(a) - np.log(-c)), 0, g)
    return total + float(np.sum(np.maximum(0, a * -np.expm1(-t) + c * np.exp(-(g - t)) * -np.expm1(-t))))


def lattice_gaps(a: NDArray[np.float64], c: NDArray[np.float64], steps: NDArray[Any], rate: float) -> float:
    """sum over gaps of sum_{t=1}^{G-1} [a q^t + c q^{G-t}]_+ with q = e^{-rate}; geometric sums up to the sign
    change."""
    inner = steps > 1
    a, c, big = a[inner], c[inner], steps[inner].astype(np.float64)
    ratio = tail_sum(rate)
    both = (a >= 0) & (c >= 0)
    total = float(np.sum((a[both] + c[both]) * -np.expm1(-rate * (big[both] - 1)))) * ratio
    a, c, big = _mixed(a, c, big)
    if a.size == 0:
        return total
    last = np.clip(np.ceil(0.5 * (big + (np.log(a) - np.log(-c)) / rate)) - 1, 0, big - 1)
    shrunk = -np.expm1(-rate * last)
    part = a * shrunk + c * np.exp(-rate * (big - last - 1)) * shrunk
    return total + float(np.sum(np.maximum(0, part))) * ratio


def tail_sum(rate: float) -> float:
    """q + q^2 + ... = q / (1 - q) for q = e^{-rate}; times 1 - q^T it is q + ... + q^T."""
    return float(np.exp(-rate) / -np.expm1(-rate))


def _mixed(
    a: NDArray[np.float64], c: NDArray[np.float64], g: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The gaps with one sign change, mirrored where needed so that a > 0 > c."""
    falls, rises = (a > 0) & (c < 0), (a < 0) & (c > 0)
    return (
        np.concatenate((a[falls], c[rises])),
        np.concatenate((c[falls], a[rises])),
        np.concatenate((g[falls], g[rises])),
    )


# Decayed sums L_k = sum_{j<=k} p_j e^{-(x_k - x_j)/b}, for all k at once, with an a-priori bound on their error.
#
# The recurrence L_k = p_k + e^{-(x_k - x_{k-1})/b} L_{k-1} is a cumulative sum in disguise: inside a block that
# starts at x_0, L_k = w_k^{-1} (C + sum p_j w_j) with w_j = e^{(x_j - x_0)/b}. Blocks are rows of a matrix; the
# carries C between blocks obey the same recurrence on the block ends, which is solved by the same function.
# All terms are non-negative, so relative errors only add up.


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
    for size in _BLOCKS:  # the largest block in which no exponent exceeds the limit
        starts = points[::size]
        ends = np.append(points[size - 1 :: size], points[-1:])[: starts.size]
        with np.errstate(over="ignore"):
            if float((ends - starts).max()) / scale <= _SPAN:
                break
    else:
        return _doubling(points, weights, scale)
    size = min(size, n)
    rows = -(-n // size)
    x = np.concatenate((points, np.full(rows * size - n, points[-1]))).reshape(rows, size)
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
    """ln S_k from ln p_k by doubling in log space, for sums that a double cannot hold."""
    # ln sum_{j>k} p_j e^{-(x_j - x_k)/b}: the mirrored prefix moved by one atom
    full = _log_prefix(-points[::-1], logs[:, ::-1], scale)[:, ::-1]
    strict = np.full_like(full, -np.inf)
    with np.errstate(over="ignore"):
        strict[:, :-1] = full[:, 1:] - (points[1:] - points[:-1]).astype(np.float64) / scale
    return np.logaddexp(_log_prefix(points, logs, scale), strict)


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
