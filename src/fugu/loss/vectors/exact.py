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


def prove_vector_pure(family: Family, rate: Fraction | None) -> list[PairLoss]:
    """For each pair an epsilon with S_i <= e^epsilon S_j and the reverse at every vertex, hence everywhere; in balls.

    `rate` is grid / scale; None means no noise. The family's points are lattice indices."""
    with balls.precision(_PRECISION):
        axes, places = grid_of(family)
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


def grid_of(family: Family) -> tuple[list[NDArray[np.int64]], tuple[NDArray[np.int64], ...]]:
    """The coordinate values along every axis, and the place of every atom on their product."""
    found = [np.unique(column, return_inverse=True) for column in family.points.T]
    return [axis for axis, _ in found], tuple(np.asarray(where).ravel() for _, where in found)
