"""Outputs for the squared loss, where none are stated: the best ones lie between the values of the laws.

For one pair of laws, Pure and a stated weight, a channel of least loss is made of columns that lead from one value, or
from two; the best output of a column is the mean of what leads to it, so the means of all pairs of values that can
share a column are outputs enough. Else outputs lie on a grid: with the step s the least loss is at most s^2 / 4 above
that of all real outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.documents.optimum import protected
from fugu.guarantee.asks import Ask
from fugu.laws.masses import Masses

Floats = NDArray[np.float64]
_MOST = 2000
"""Outputs that are listed at most."""
_FINER = 8
"""Points of the grid for each value."""


def squared_outputs(item: Any, laws: tuple[Any, ...], ask: Ask, weight: Floats | None) -> Floats:
    """The outputs: means of pairs where they are known to be enough and few, else a grid and the values."""
    points: Floats = np.asarray(item.points, dtype=np.float64)
    pairs = protected(item.pairs)
    if len(pairs) == 1 and ask.delta == 0 and weight is not None and ask.epsilon > 0:
        p, q = (laws[k] for k in pairs[0])
        if isinstance(p, Masses) and isinstance(q, Masses):
            found = _means(points, p.floats(), q.floats(), float(ask.epsilon), weight)
            if len(found) <= _MOST:
                return found
    count = min(_MOST - len(points), _FINER * len(points))
    return np.unique(np.concatenate([points, np.linspace(points[0], points[-1], max(2, count))]))


def _means(points: Floats, p: Floats, q: Floats, epsilon: float, weight: Floats) -> Floats:
    """(A h + B x) / (A + B), A = w_h / a_h and B = w_x / |a_x|, for a_h > 0 > a_x, a = p - e^epsilon q; both orders."""
    listed, e = [points], math.exp(min(epsilon, 700.0))
    for a in (p - e * q, q - e * p):
        tells, takes = a > 0, a < 0
        with np.errstate(divide="ignore", invalid="ignore"):
            first, other = (weight[tells] / a[tells])[:, None], (weight[takes] / -a[takes])[None, :]
            mean = (first * points[tells][:, None] + other * points[takes][None, :]) / (first + other)
        listed.append(mean[np.isfinite(mean)].ravel())
    return np.unique(np.clip(np.concatenate(listed), points[0], points[-1]))
