"""Where values lie: the nearest supported one, and how far values are spread."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_BLOCK = 10_000_000


class Digest(Protocol):
    """A running hash."""

    def update(self, data: bytes, /) -> None: ...


def nearest(support: Floats, values: NDArray[Any]) -> Floats:
    """Each value, or each row, moved to the nearest supported one.

    Numbers: halves downward, infinities to the ends. Vectors: in the l2 norm, the first in the list on ties.

    >>> nearest(np.array([0.0, 1.0, 5.0]), np.array([-3.0, 0.4, 3.0, 9.0]))
    array([0., 0., 1., 5.])
    >>> nearest(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.9, 0.1], [5.0, 5.0]]))
    array([[0., 0.],
           [2., 0.]])
    """
    if support.ndim > 1:
        return _nearest_rows(support, values)
    right = np.clip(np.searchsorted(support, values), 0, len(support) - 1)
    left = np.maximum(right - 1, 0)
    closer_left = np.abs(values - support[left]) <= np.abs(support[right] - values)
    return np.where(closer_left & (values < support[right]), support[left], support[right])


def _nearest_rows(support: Floats, rows: Floats) -> Floats:
    out = np.empty_like(rows)
    step = max(1, _BLOCK // support.size)
    scale = 2.0 ** -math.frexp(float(np.max(np.abs(support))))[1] if support.any() else 1.0
    placed = support * scale  # a power of two, so that no square of a gap between supported vectors underflows
    with np.errstate(over="ignore", under="ignore"):
        for start in range(0, len(rows), step):
            block = rows[start : start + step] * scale
            gaps = ((block[:, None, :] - placed[None, :, :]) ** 2).sum(axis=2)
            out[start : start + step] = support[np.argmin(gaps, axis=1)]
    return out


def spread(weights: Floats, means: Floats, stds: Floats) -> float:
    """sqrt(sum w (std^2 + (mean - centre)^2)), in a unit that keeps squares from overflowing or vanishing."""
    unit = float(np.maximum(np.abs(means), stds).max()) or 1.0
    centred = means / unit - weights @ (means / unit)
    return float(np.sqrt(weights @ ((stds / unit) ** 2 + centred**2))) * unit
