"""How good a noisy ranking is, without draws: the chance of every state at every rank, and the metrics that follow.

Every count c_j gets independent noise and the states are sorted. State j has rank r with probability

    sum over x of P(c_j + N_j = x) P(exactly r - 1 of the others rank above (j, x)),

the second factor being a sum of independent indicators. Laplace noise lives on the integers, as fugu draws it, and the
earlier state wins a tie; where its scale is large the sum is an integral. One-shot Gumbel noise has the law of the
exponential mechanism, peeled. Permute-and-flip draws anew in each round: its chances come round by round. Acc@k, the
hit rate, NDCG and the l1 count error are linear in these chances, so nothing here rests on repetitions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Way = Literal["laplace", "gumbel", "permute-and-flip"]
_FINE = 60.0
"""Up to this scale Laplace noise is summed over the integers."""
_REACH = 40.0
_BREAKS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, _REACH)
_NODES = 12


@dataclass(frozen=True)
class _Noise:
    """What the sum needs: the points x, the weight of c_j + N_j = x (j, x), and P(c_j + N_j > x), P(... >= x)."""

    weight: Floats
    above: Floats
    at_least: Floats


def chances(counts: Sequence[int], way: Way, scale: float, top: int) -> Floats:
    """P(state j has rank r), a row for each rank r = 1 .. top; `scale`: that of the noise.

    >>> chances([3, 3], "gumbel", 1.0, 1).round(6).tolist()
    [[0.5, 0.5]]
    """
    given = np.asarray(counts, dtype=np.float64)
    return _peeled(given, scale, top) if way == "permute-and-flip" else _ranked(_noise(given, way, scale), top)


def _ranked(noise: _Noise, top: int) -> Floats:
    """The sum above; the earlier states rank above at a tie, the later ones do not."""
    many, points = noise.weight.shape
    before = np.zeros((many + 1, top, points))
    after = np.zeros((many + 1, top, points))
    before[0, 0] = after[many, 0] = 1.0
    for j in range(many):
        before[j + 1] = _joined(before[j], noise.at_least[j])
    for j in reversed(range(many)):
        after[j] = _joined(after[j + 1], noise.above[j])
    found = np.zeros((top, many))
    for rank in range(top):
        for part in range(rank + 1):
            found[rank] += np.einsum("jx,jx,jx->j", noise.weight, before[:-1, part], after[1:, rank - part])
    return found


def _joined(many: Floats, chance: Floats) -> Floats:
    """How many are above, with one state more; counts from `top` on are of no interest."""
    found = many * (1 - chance)
    found[1:] += many[:-1] * chance
    return np.asarray(found)


def _noise(counts: Floats, way: Way, scale: float) -> _Noise:
    if way == "laplace" and scale <= _FINE:
        reach = math.ceil(_REACH * scale)
        near = {x for c in counts.tolist() for x in range(int(c) - reach, int(c) + reach + 1)}
        away = (np.array(sorted(near)) - counts[:, None]) / scale
        q = math.exp(-1 / scale)
        mass = (1 - q) / (1 + q) * np.exp(-np.abs(away))
        more = np.where(away >= 0, np.exp(-np.abs(away)) * q / (1 + q), 1 - np.exp(-np.abs(away)) / (1 + q))
        return _Noise(mass, more, more + mass)
    points, steps = _nodes(counts, scale)
    away = (points - counts[:, None]) / scale
    if way == "laplace":
        density, more = 0.5 * np.exp(-np.abs(away)), 0.5 * np.exp(-np.abs(away))
        more = np.where(away >= 0, more, 1 - more)
    elif way == "gumbel":
        density = np.exp(-away - np.exp(-np.maximum(away, -_REACH)))
        more = -np.expm1(-np.exp(-np.maximum(away, -_REACH)))
    else:  # exponential noise
        density = np.where(away >= 0, np.exp(-np.maximum(away, 0)), 0.0)
        more = np.exp(-np.maximum(away, 0))
    return _Noise(density * steps / scale, more, more)


def _nodes(counts: Floats, scale: float) -> tuple[Floats, Floats]:
    """Gauss-Legendre points and weights between breaks around every count, where the laws have their kinks."""
    around = np.array([-b for b in _BREAKS[:0:-1]] + list(_BREAKS)) * scale
    breaks = np.unique(np.round((counts[:, None] + around).ravel(), 9))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    half, middle = np.diff(breaks) / 2, (breaks[:-1] + breaks[1:]) / 2
    kept = half > 0
    half, middle = half[kept], middle[kept]
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


def _peeled(counts: Floats, scale: float, top: int) -> Floats:
    """Round by round; what is left depends only on the set of states that were taken."""
    many = len(counts)
    taken: dict[tuple[int, ...], float] = {(): 1.0}
    found = np.zeros((top, many))
    for rank in range(top):
        after = dict.fromkeys(combinations(range(many), rank + 1), 0.0)
        for gone, chance in taken.items():
            left = [j for j in range(many) if j not in gone]
            first = _ranked(_noise(counts[left], "permute-and-flip", scale), 1)[0]
            for j, each in zip(left, first.tolist(), strict=True):
                found[rank, j] += chance * each
                after[tuple(sorted((*gone, j)))] += chance * each
        taken = after
    return found


Metric = Callable[[Floats, Floats], float]
"""From chances and counts, less is better."""


def missed(rank: int) -> Metric:
    """100 (1 - Acc@rank): how often, in per cent, the state at this rank is not the true one."""

    def metric(found: Floats, counts: Floats) -> float:
        return 100 * (1 - float(found[rank - 1, _true(counts)[rank - 1]]))

    return metric


def unhit(found: Floats, counts: Floats) -> float:
    """100 (1 - hit rate): how many of the reported states, in per cent, are not among the true ones."""
    return 100 * (1 - float(found[:, _true(counts)[: len(found)]].sum()) / len(found))


def lost_gain(found: Floats, counts: Floats) -> float:
    """1 - NDCG, with the true count of a state as its relevance."""
    gain = 1 / np.log2(np.arange(2, len(found) + 2))
    ideal = float(gain @ counts[_true(counts)[: len(found)]])
    return 1 - float(gain @ (found @ counts)) / ideal


def count_error(found: Floats, counts: Floats) -> float:
    """The sum over ranks of |count of the reported state - count of the true one|."""
    truth = counts[_true(counts)[: len(found)]]
    return float((found * np.abs(counts - truth[:, None])).sum())


def _true(counts: Floats) -> NDArray[np.intp]:
    """The true ranking, the earlier state first on ties."""
    return np.argsort(-counts, kind="stable")
