"""From a covariance to noise that can be drawn: an integer matrix times independent discrete Gaussians on a lattice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.lattice import short_step
from fugu.errors import NotProvable
from fugu.loss.normal.smoothing import TAU
from fugu.noise.correlated import CorrelatedGaussian
from fugu.numbers.exact import decimal_up

_LENGTH = 48
"""Directions are whole vectors of about this length: their angle to the true ones is below 0.02 in ten dimensions."""
_LONG = 1024
"""The same where the laws' own spread takes the place of noise in the other directions."""
_ZERO = 1e-10
"""Eigenvalues below this share of the largest are none; below what a proposal may have without a declaration."""
_FINER = 16
"""The grid is at most this fraction of the least deviation of noise and laws, so that rounding costs little."""
_CLOSE = 1.02
"""Variances within this factor of the least one count as equal to it."""
_FLAT = (
    "a law does not vary at all in some direction, so no lattice is fine enough for it; protect it as a shift "
    "(fugu.Shifted), or leave out statistics that are functions of the others"
)


def realise(
    covariance: NDArray[np.float64], laws: Sequence[NDArray[np.float64]], grid: Fraction | None = None
) -> CorrelatedGaussian:
    """Noise whose covariance is about the one asked for, on a grid fine enough for `fugu.loss.normal.smoothing`.

    The least variance goes to every coordinate alike, what is above it to columns along the other eigenvectors, rounded
    to whole numbers. What the result really protects is proved afterwards, from its own exact covariance."""
    values, vectors = np.linalg.eigh(covariance)
    if not values[0] > _ZERO * max(float(values[-1]), 1e-300):
        return _along(values, vectors, laws, grid)
    small = values <= _CLOSE * values[0]
    base = float(values[small].max())
    directions = [np.rint(_LENGTH * v).astype(np.int64) for v in vectors.T[~small]]
    spare = [float(x) - base for x in values[~small]]
    step = _grid(base, directions, spare, laws) if grid is None else grid
    return CorrelatedGaussian(
        float(decimal_up(math.sqrt(base))),
        _columns(directions),
        _scales(spare, directions, step),
        step,
        len(covariance),
    )


def _along(
    values: NDArray[np.float64],
    vectors: NDArray[np.float64],
    laws: Sequence[NDArray[np.float64]],
    grid: Fraction | None,
) -> CorrelatedGaussian:
    """Noise along some directions only, or none at all: for laws that are declared exact."""
    held = values > _ZERO * max(float(values[-1]), 1e-300)
    directions = [np.rint(_LONG * v).astype(np.int64) for v in vectors.T[held]] if values[-1] > 0 else []
    spare = [float(x) for x in values[held]] if directions else []
    width = math.sqrt(2 * float(TAU))
    limits = [math.sqrt(x) / (width * float(np.linalg.norm(b))) for x, b in zip(spare, directions, strict=True)]
    B = np.array(directions, dtype=np.float64).reshape(-1, len(values)).T
    for cov in laws:
        if not np.linalg.eigvalsh(cov)[0] > 0:
            raise NotProvable(_FLAT)
        reach = float(np.linalg.eigvalsh(B.T @ np.linalg.solve(cov, B))[-1]) if directions else 0.0
        limits.append(1 / (width * math.sqrt(reach)) if reach else math.sqrt(float(np.linalg.eigvalsh(cov)[0])) / 64)
    step = short_step(0.99 * min(limits)) if grid is None else grid
    return CorrelatedGaussian(0.0, _columns(directions), _scales(spare, directions, step), step, len(values))


def _columns(directions: list[NDArray[np.int64]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(x) for x in b) for b in directions)


def _scales(spare: list[float], directions: list[NDArray[np.int64]], step: Fraction) -> tuple[float, ...]:
    """r_j with r_j^2 |b_j|^2 step^2 equal to the variance along b_j, rounded up."""
    lengths = [float(step) * float(np.linalg.norm(b)) for b in directions]
    return tuple(float(decimal_up(math.sqrt(x) / length)) for x, length in zip(spare, lengths, strict=True))


def _grid(
    base: float, directions: list[NDArray[np.int64]], spare: list[float], laws: Sequence[NDArray[np.float64]]
) -> Fraction:
    """The largest of 1, 2, 5 x 10^k at which every sum over the lattice is an integral."""
    width = math.sqrt(2 * float(TAU))
    matrix = np.array(directions, dtype=np.float64)
    longest = max(1.0, math.sqrt(float(np.linalg.eigvalsh(matrix @ matrix.T)[-1]))) if directions else 1.0
    limits = [math.sqrt(base) / max(_FINER, width * longest)]
    limits += [math.sqrt(x) / (width * float(np.linalg.norm(b))) for x, b in zip(spare, directions, strict=True)]
    limits += [math.sqrt(max(0.0, float(np.linalg.eigvalsh(cov)[0]))) / _FINER for cov in laws]
    if not min(limits) > 0:
        raise NotProvable(_FLAT)
    return short_step(0.99 * min(limits))
