"""Noise for translates: the same in every direction, along one line, or on the span of all differences.

These rules know only the differences d of the two means. They hold if each pair of laws is a law and its exact
translate by d (so also for normal laws of one covariance), and for nothing less: noise on a line or on a subspace
leaves everything beside it as it was. Whether given laws are exact translates is for the caller to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import pairs_of, positive, up
from fugu.errors import UnknownName, UsageError

Array = NDArray[np.float64]
_ROUNDING = 2.0**-48
"""Differences beside the line or the span by no more than this share are there by the rounding of doubles."""


@dataclass(frozen=True)
class Subspace:
    """Noise basis @ z on the span of the columns of `basis`; z has `scale`, and mean squared length `error`."""

    basis: Array
    scale: float
    error: float


def expected_value_gaussian(differences: ArrayLike, t: float) -> float:
    """sigma = max |d|_2 / t: N(0, sigma^2 I) moves each pair within t = mu(eps, delta).

    Chen and Ohrimenko 2023, Theorem 5.2, with the exact curve (Balle and Wang 2018) in place of eps / c(delta), which
    fails for large eps (at delta = 1e-3 from 7.463 on)."""
    D = pairs_of(differences)
    return float(_l2(D).max(initial=0.0) / positive(t, "t, the largest admissible distance,")) * up(D.shape[1])


def expected_value_laplace(differences: ArrayLike, epsilon: float) -> float:
    """b = max |d|_1 / eps: independent Laplace noise of scale b gives the pure level eps (the same, Theorem 5.1).

    >>> round(expected_value_laplace([[1, -2], [0.5, 0.5]], 2), 12)
    1.5
    """
    D = pairs_of(differences)
    return float(np.abs(D).sum(axis=1).max(initial=0.0) / positive(epsilon, "epsilon")) * up(D.shape[1])


def directional(
    differences: ArrayLike, t: float | None = None, epsilon: float | None = None, direction: ArrayLike | None = None
) -> tuple[Array, float]:
    """A unit vector v and the scale of one number z whose noise z v hides every difference (Theorem 5.3).

    With t: z is normal with deviation max |v'd| / t. With epsilon: z is Laplace of scale max |v'd| / eps. Every
    difference must be parallel to v; to be private, exactly so, which doubles cannot tell below their rounding.

    >>> v, scale = directional([[3, 4], [-6, -8]], epsilon=2)
    >>> v.round(12).tolist(), round(scale, 12)
    ([-0.6, -0.8], 5.0)
    """
    D = pairs_of(differences)
    limit = _limit(t, epsilon)
    v = along(D, direction)
    return v, float(np.abs(D @ v).max(initial=0.0) / limit) * (1 + _ROUNDING)


def along(D: Array, direction: ArrayLike | None = None) -> Array:
    """The unit vector that all differences are parallel to; refused, with the angle, if there is none."""
    lengths = _l2(D)
    if direction is None:
        v = D[int(np.argmax(lengths))].copy()
        v = v if v.any() else np.eye(len(v))[0]
    else:
        v = np.asarray(direction, dtype=np.float64).copy()
        if v.shape != D.shape[1:] or not np.isfinite(v).all() or not v.any():
            raise UsageError(f"direction must be {D.shape[1]} finite numbers that are not all zero")
    v /= np.abs(v).max()
    v /= np.sqrt(v @ v)
    beside = _l2(D - (D @ v)[:, None] * v)
    _refuse_beside(beside, lengths, "parallel to one direction", "use noise on their span, or in all coordinates")
    return np.asarray(v)


def several_directions(
    differences: ArrayLike,
    noise: Literal["laplace", "spherical", "gaussian"],
    t: float | None = None,
    epsilon: float | None = None,
    basis: ArrayLike | None = None,
) -> Subspace:
    """Noise on the span of all differences, with an orthonormal basis V (columns; their own span if none is given).

    laplace: independent, scale max |V'd|_1 / eps, error 2 k b^2. The printed scale max |d|_2 / eps has the pure level
    sqrt(k) eps. spherical: density ~ exp(-|z|_2 / b), b = max |d|_2 / eps, pure level eps by the triangle inequality,
    error k (k + 1) b^2. gaussian: deviation max |d|_2 / t, error k sigma^2."""
    D = pairs_of(differences)
    if noise not in ("laplace", "spherical", "gaussian"):
        raise UnknownName("noise", noise, ("laplace", "spherical", "gaussian"))
    if (noise == "gaussian") != (epsilon is None):
        raise UsageError("gaussian noise takes t = mu(epsilon, delta); laplace and spherical noise take epsilon")
    limit = _limit(t, epsilon)
    V = _span(D) if basis is None else np.asarray(basis, dtype=np.float64)
    k = V.shape[1] if V.ndim == 2 else 0
    if V.shape != (D.shape[1], k) or np.abs(V.T @ V - np.eye(k)).max(initial=0.0) > 1e-12:
        raise UsageError(f"basis must hold orthonormal columns of {D.shape[1]} numbers")
    Y = D @ V
    _refuse_beside(_l2(D - Y @ V.T), _l2(D), "in the span of the basis", "add directions until they are")
    reach = np.abs(Y).sum(axis=1) if noise == "laplace" else _l2(Y)
    scale = float(reach.max(initial=0.0) / limit) * (
        1 + (4e-12 * k * k if basis is not None else _ROUNDING * D.shape[1])
    )
    return Subspace(V, scale, {"laplace": 2 * k, "spherical": k * (k + 1), "gaussian": k}[noise] * scale**2)


def _span(D: Array) -> Array:
    """An orthonormal basis of the span of the rows."""
    _, s, rows = np.linalg.svd(D, full_matrices=False)
    return np.asarray(rows[s > s.max(initial=0.0) * _ROUNDING].T)


def _limit(t: float | None, epsilon: float | None) -> float:
    if (t is None) == (epsilon is None):
        raise UsageError("give one of t (Gaussian noise, t = mu(epsilon, delta)) and epsilon (Laplace noise)")
    return positive(t, "t, the largest admissible distance,") if t is not None else positive(epsilon or 0.0, "epsilon")


def _refuse_beside(beside: Array, lengths: Array, what: str, instead: str) -> None:
    """Refuse differences that leave the line or the span: there the release would be exact, hiding nothing."""
    share = np.where(lengths > 0, beside / np.where(lengths > 0, lengths, 1.0), 0.0)
    if share.max(initial=0.0) > _ROUNDING:
        raise UsageError(
            f"the differences must be {what}: pair {int(share.argmax())} is beside it by {share.max():.3g} of its "
            f"length, and noise would not hide that part at all; {instead}"
        )


def _l2(D: Array) -> Array:
    return np.asarray(np.sqrt((D * D).sum(axis=1)))
