"""Sums of laws and noise in doubles: along the atoms, or over every lattice point. To draw, not to prove."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.loss.search.scan import decayed_sums, log_decayed_sums

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
_TINY = 1e-280
_BY_HAND = 20_000_000
"""Up to this many products a convolution is summed term by term, which keeps small numbers right."""


def log_sums(family: Family, steps: float, extra: Indices | None = None) -> tuple[Indices, Floats]:
    """Points, and ln sum_j p_j e^{-|x_k - x_j| / steps} at them, one row a law; without noise it is ln p_k.

    The points are the atoms, and `extra` ones if given. Right to about 1e-12."""
    points, weights = family.points, family.weights
    if steps == 0:
        return points, _logs(family)
    if extra is not None:
        points, weights = spread(family, extra, weights)
    total = decayed_sums(points, weights, steps).total(weights)
    if not family.minute and float(total.min()) > _TINY:
        return points, np.log(total)
    logs = _logs(family)
    if extra is not None:
        points, logs = spread(family, extra, logs, empty=-np.inf)
    return points, log_decayed_sums(points, logs, steps)


def spread(family: Family, extra: Indices, rows: Floats, empty: float = 0.0) -> tuple[Indices, Floats]:
    """Atoms and extra points together, sorted; rows of numbers at the atoms continued by `empty` elsewhere."""
    points = np.union1d(family.points, extra)
    wide = np.full((len(rows), len(points)), empty)
    wide[:, np.searchsorted(points, family.points)] = rows
    return points, wide


def _logs(family: Family) -> Floats:
    return np.stack([law.logs() for law in family.laws])


def convolved(row: Floats, kernel: Floats) -> Floats:
    """A law convolved with the masses of a noise."""
    if len(row) * len(kernel) <= _BY_HAND:
        return np.convolve(row, kernel)
    from scipy.signal import fftconvolve

    return np.asarray(np.maximum(fftconvolve(row, kernel), 0.0), dtype=np.float64)
