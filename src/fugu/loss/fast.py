"""The tight losses of Laplace noise in floating point, each at or above the truth by an a-priori error bound.

Between atoms the noised density is A e^{-y/b} + B e^{y/b}, so the ratio of two of them is monotone in y there and
constant outside all atoms: the supremum over y is a maximum over atoms (theory, section 7). On a lattice that holds
the atoms the same numbers appear and the normaliser cancels, so the pure loss is the same (section 8). The delta is
not: it has its own sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.gaps import continuous_gaps, lattice_gaps, tail_sum
from fugu.loss.scan import UNIT, Decayed, decayed_sums, log_decayed_sums, log_error

_TINY = 1e-280
_MAX_EXPONENT = 700.0


@dataclass(frozen=True)
class Worst:
    """The largest loss over the pairs of a family, both orders, and where it is attained."""

    value: float
    label: str = ""
    pair: tuple[int, int] = (0, 0)


def pure_loss(family: Family, scale: float) -> Worst:
    """max over pairs, orders and atoms of ln(S_i / S_j), rounded up; inf where no finite epsilon holds."""
    weights = family.weights
    if scale == 0:
        return _worst(family, weights, 4 * UNIT)
    sums = decayed_sums(family.points, weights, scale)
    total = sums.total(weights)
    if float(total.min()) < _TINY:
        return _worst_log(family, log_decayed_sums(family.points, weights, scale))
    return _worst(family, total, 4 * sums.error + 12 * UNIT)


def _worst(family: Family, total: NDArray[np.float64], error: float) -> Worst:
    """ln of the largest ratio plus the bound on its error; `error` is on the ratio, relative."""
    worst = Worst(0.0, family.labels[0], family.pairs[0])
    for pair, label in family.different:
        i, j = pair
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = total[i] / total[j]
        up, least = float(np.nanmax(ratio)), float(np.nanmin(ratio))
        down = math.inf if least == 0 else 1 / least
        largest, order = (up, (i, j)) if up >= down else (down, (j, i))
        value = max(0.0, math.log(largest)) * (1 + 4 * UNIT) + 1.01 * error
        if value > worst.value:
            worst = Worst(value, label, order)
    return worst


def _worst_log(family: Family, logs: NDArray[np.float64]) -> Worst:
    """The same from logarithms, for ratios beyond the range of doubles."""
    worst = Worst(0.0, family.labels[0], family.pairs[0])
    error = log_error(logs.shape[1])
    for pair, label in family.different:
        i, j = pair
        with np.errstate(invalid="ignore"):
            gap = logs[i] - logs[j]
            size = np.abs(logs[i]) + np.abs(logs[j])
            bound = np.abs(gap) + np.where(np.isfinite(size), error * (size + 2), 0.0)
        bound[np.isnan(bound)] = np.inf  # both logarithms beyond the range: no finite bound is known
        k = int(np.argmax(bound))
        if bound[k] > worst.value:
            worst = Worst(float(bound[k]), label, (i, j) if gap[k] >= 0 else (j, i))
    return worst


def delta_loss(family: Family, scale: float, epsilon: float, lattice: bool) -> Worst:
    """max over pairs and orders of sup_S P(S) - e^epsilon Q(S), rounded up; exactly 0 where the ratio bound says so.

    Error: wherever the true or the computed integrand is positive, e^eps f_j <= f_i (1 + 3 eta), so a relative error
    eta of the sums costs at most 2.1 eta of the mass of f_i, which is 1 (eta = error + 8 units)."""
    weights = family.weights
    e = math.exp(min(epsilon, _MAX_EXPONENT))  # delta falls with epsilon: capping epsilon can only raise it
    sums = None if scale == 0 else decayed_sums(family.points, weights, scale)
    worst = Worst(0.0, family.labels[0], family.pairs[0])
    for pair, label in family.different:
        for i, j in (pair, pair[::-1]):
            value = _delta(family, weights, sums, scale, e, (i, j), lattice)
            if value > worst.value:
                worst = Worst(value, label, (i, j))
    return worst


def _delta(
    family: Family,
    weights: NDArray[np.float64],
    sums: Decayed | None,
    scale: float,
    e: float,
    order: tuple[int, int],
    lattice: bool,
) -> float:
    i, j = order
    if sums is None:
        at_atoms = weights[i] - e * weights[j]
        return min(1.0, float(np.maximum(at_atoms, 0).sum()) + 20 * UNIT)
    eta = sums.error + 8 * UNIT
    s_i = sums.left[i] + sums.right[i] - weights[i]
    s_j = sums.left[j] + sums.right[j] - weights[j]
    if np.all(s_i * (1 + 5 * eta) <= e * s_j) and float(s_j.min()) > _TINY:
        return 0.0
    left = sums.left[i] - e * sums.left[j]
    right = sums.right[i] - e * sums.right[j]
    ends = max(0.0, float(right[0])) + max(0.0, float(left[-1]))
    gap = np.diff(family.points)
    if lattice:
        inside = lattice_gaps(left[:-1], right[1:], gap, 1 / scale)
        outside = tail_sum(1 / scale) * ends
        found = math.tanh(0.5 / scale) * (float(np.maximum(s_i - e * s_j, 0).sum()) + outside + inside)
    else:
        found = 0.5 * (ends + continuous_gaps(left[:-1], right[1:], gap.astype(np.float64) / scale))
    return min(1.0, found + 8 * eta + 1e-300)
