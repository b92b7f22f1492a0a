"""The pure loss of Laplace noise on laws of vectors, in doubles, to search with; `loss.vectors.exact` proves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.vectors.exact import grid_of


def fast_vector_pure(family: Family, steps: float) -> float:
    """max over pairs and orders of the largest log ratio on the product grid, in doubles and logarithms; to search
    with. `steps` is the scale in the unit of the points; 0 means no noise."""
    axes, places = grid_of(family)
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
