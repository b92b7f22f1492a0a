"""The exact pure epsilon of d-dimensional Laplace noise on discrete laws: the largest ratio on the product grid.

Along one coordinate, between neighbouring atoms' values, each noised law is e^{-y/b} (A e^{2y/b} + B) with A, B >= 0
that do not depend on y: the ratio of two laws is a ratio of affine functions of e^{2y/b}, hence monotone, and constant
beyond the outermost values. So its extremes lie where every coordinate is that of some atom: on the product grid of
coordinate values, **not** on the atoms alone. Lattice and continuous noise have the same ratios there."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.atoms.decay import Reader
from fugu.loss.leakage import PairLoss
from fugu.numbers import balls

LARGEST = 60_000
"""Product grids of more vertices are not enumerated."""
_PRECISION = 128


def vertices(family: Family) -> int:
    """How many points the product grid of the atoms' coordinates has."""
    return math.prod(len(np.unique(column)) for column in family.points.T)


def fast_vector_pure(family: Family, steps: float) -> float:
    """max over pairs and orders of the largest log ratio on the product grid, in doubles and logarithms; to search
    with. `steps` is the scale in the unit of the points; 0 means no noise."""
    axes, places = _grid(family)
    rows = []
    for weights in family.weights:
        with np.errstate(divide="ignore"):
            dense = np.full([len(axis) for axis in axes], -np.inf)
            dense[places] = np.log(weights)
        rows.append(_spread(dense, axes, steps) if steps > 0 else dense)
    worst = 0.0
    for (i, j), _ in family.different:
        held = ~(np.isneginf(rows[i]) & np.isneginf(rows[j]))
        worst = max(worst, float(np.max(np.abs(rows[i][held] - rows[j][held]))))
    return worst


def _spread(dense: NDArray[np.float64], axes: list[NDArray[np.int64]], steps: float) -> NDArray[np.float64]:
    """Every axis in turn: log of sum_k m_k e^{-|y - x_k| / b} at all coordinates y, by one pass each way."""
    for number, axis in enumerate(axes):
        rows = np.moveaxis(dense, number, 0)
        gaps = np.diff(axis) / steps
        left, right = rows.copy(), rows.copy()
        for k, gap in enumerate(gaps):
            left[k + 1] = np.logaddexp(rows[k + 1], left[k] - gap)
        for k in range(len(gaps) - 1, -1, -1):
            right[k] = np.logaddexp(rows[k], right[k + 1] - gaps[k])
        total = left.copy()
        total[:-1] = np.logaddexp(left[:-1], right[1:] - gaps.reshape(-1, *[1] * (rows.ndim - 1)))
        dense = np.moveaxis(total, 0, number)
    return dense


def prove_vector_pure(family: Family, rate: Fraction | None) -> list[PairLoss]:
    """For each pair an epsilon with S_i <= e^epsilon S_j and the reverse at every vertex, hence everywhere; in balls.

    `rate` is grid / scale; None means no noise. The family's points are lattice indices."""
    with balls.precision(_PRECISION):
        axes, places = _grid(family)
        shape = [len(axis) for axis in axes]
        rows = []
        for law in family.laws:
            dense = [arb(0)] * math.prod(shape)
            read, share = Reader(law), balls.of(1 / law.total)
            for k, place in enumerate(np.ravel_multi_index(places, shape).tolist()):
                dense[place] = read(k) * share
            rows.append(dense if rate is None else _spread_balls(dense, axes, rate))
        return [PairLoss(label, _ratio(rows[i], rows[j]), (i, j)) for (i, j), label in family.different]


def _spread_balls(dense: list[arb], axes: list[NDArray[np.int64]], rate: Fraction) -> list[arb]:
    """`_spread` in balls, on the flat list of vertices."""
    r = balls.of(rate)
    shape = [len(axis) for axis in axes]
    for number, axis in enumerate(axes):
        factors = [(-r * int(gap)).exp() for gap in np.diff(axis).tolist()]
        stride = math.prod(shape[number + 1 :])
        ranges = [range(n) for k, n in enumerate(shape) if k != number]
        strides = [math.prod(shape[k + 1 :]) for k in range(len(shape)) if k != number]
        for rest in itertools.product(*ranges):
            start = sum(i * s for i, s in zip(rest, strides, strict=True))
            line = slice(start, start + stride * len(axis), stride)
            dense[line] = _line(dense[line], factors)
    return dense


def _line(mass: list[arb], factors: list[arb]) -> list[arb]:
    """sum_k m_k q^{|y - x_k|} along one line of vertices."""
    left, sums = arb(0), []
    for k, m in enumerate(mass):
        left = m + (factors[k - 1] * left if k else arb(0))
        sums.append(left)
    beyond = arb(0)
    for k in range(len(mass) - 2, -1, -1):
        beyond = factors[k] * (mass[k + 1] + beyond)
        sums[k] = sums[k] + beyond
    return sums


def _ratio(first: list[arb], second: list[arb]) -> float:
    """An upper bound on the largest |log ratio|; inf where one law may vanish and the other not."""
    worst = arb(1)
    for a, b in zip(first, second, strict=True):
        for s, t in ((a, b), (b, a)):
            if s == 0 or s <= worst * t:
                continue
            if not t > 0:
                return math.inf
            worst = (s / t).upper()
    return balls.upper(worst.log())


def _grid(family: Family) -> tuple[list[NDArray[np.int64]], tuple[NDArray[np.int64], ...]]:
    """The coordinate values along every axis, and the place of every atom on their product."""
    found = [np.unique(column, return_inverse=True) for column in family.points.T]
    return [axis for axis, _ in found], tuple(np.asarray(where).ravel() for _, where in found)
