"""The tight losses of Laplace noise in floating point, each at or above the truth by an a-priori error bound.

Between atoms the noised density is A e^{-y/b} + B e^{y/b}, so the ratio of two of them is monotone in y there and
constant outside all atoms: the supremum over y is a maximum over atoms
(docs/proofs/laplace.md#2-the-supremum-of-the-ratio-is-attained-at-an-atom). On a lattice that holds the atoms
the same numbers appear and the normaliser cancels, so the pure loss is the same
(docs/proofs/laplace.md#4-on-a-lattice-the-pure-loss-is-the-same). The delta is not: it has its own sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.atoms.slack import slack
from fugu.loss.search.gaps import continuous_gaps, lattice_gaps, tail_sum
from fugu.loss.search.scan import Decayed, decayed_sums, log_decayed_sums, log_error
from fugu.numbers import balls
from fugu.numbers.exact import UNIT

_TINY = 1e-280
_MAX_EXPONENT = 700.0
_FAR = 1e5
"""Distances beyond this many scales count as this many: e^-745 is nothing already."""


@dataclass(frozen=True)
class Worst:
    """The largest loss over the pairs of a family, both orders, and where it is attained."""

    value: float
    label: str = ""
    pair: tuple[int, int] = (0, 0)


def pure_loss(family: Family, scale: float) -> Worst:
    """max over pairs, orders and atoms of ln(S_i / S_j), rounded up; inf where no finite epsilon holds."""
    if family.inexact:  # total variation bounds no ratio
        return Worst(math.inf, *next((label, pair) for pair, label in family.different if family.blurred(pair)))
    weights = family.weights
    if family.minute:
        return _worst_log(family, _logs(family, scale), silent=scale == 0)
    if scale == 0:
        return _worst(family, weights, 8 * UNIT)
    sums = decayed_sums(family.points, weights, scale)
    total = sums.total(weights)
    if float(total.min()) < _TINY:
        return _worst_log(family, _logs(family, scale), silent=scale == 0)
    return _worst(family, total, 4 * sums.error + 12 * UNIT)


def _logs(family: Family, scale: float) -> NDArray[np.float64]:
    logs = np.stack([law.logs() for law in family.laws])
    return log_decayed_sums(family.points, logs, scale) if scale else logs


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


def _worst_log(family: Family, logs: NDArray[np.float64], silent: bool) -> Worst:
    """The same from logarithms, for ratios beyond the range of doubles."""
    worst = Worst(0.0, family.labels[0], family.pairs[0])
    error = log_error(logs.shape[1])
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
            worst = Worst(float(bound[k]), label, (i, j) if gap[k] >= 0 else (j, i))
    return worst


def delta_loss(family: Family, scale: float, epsilon: float, grid: float | None) -> Worst:
    """max over pairs and orders of sup_S P(S) - e^epsilon Q(S), rounded up; exactly 0 where the ratio bound says so.

    `scale` and `grid` are in the unit of the points; grid None is the continuous noise.
    Error: wherever the true or the computed integrand is positive, e^eps f_j <= f_i (1 + 3 eta), so a relative error
    eta of the sums costs at most 2.1 eta of the mass of f_i, which is 1 (eta = error + 8 units). What the laws' own
    errors cost comes on top (`slack`)."""
    weights = family.weights
    e = math.exp(min(epsilon, _MAX_EXPONENT))  # delta falls with epsilon: capping epsilon can only raise it
    sums = None if scale == 0 else decayed_sums(family.points, weights, scale)
    worst = Worst(0.0, family.labels[0], family.pairs[0])
    for pair, label in family.different:
        for i, j in (pair, pair[::-1]):
            if sums is None:
                value = float(np.maximum(weights[i] - e * weights[j], 0).sum()) + 20 * UNIT
            else:
                value = _delta(family, sums, scale, e, (i, j), grid)
            if family.blurred(pair):
                value += 2 * UNIT + balls.upper(slack(family, (i, j), arb(min(epsilon, _MAX_EXPONENT)).exp()))
            if not value <= worst.value:  # a value that is not a number counts as the worst
                worst = Worst(1.0 if math.isnan(value) else min(1.0, value), label, (i, j))
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
