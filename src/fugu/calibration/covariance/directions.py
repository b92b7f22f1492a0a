"""Noise for translates and for normal laws along directions: one line, a span, eigenvectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import covariances_of, pairs_of, positive, repaired, up
from fugu.errors import UnknownName, UsageError

# Noise for translates: the same in every direction, along one line, or on the span of all differences.
#
# These rules know only the differences d of the two means. They hold if each pair of laws is a law and its exact
# translate by d (so also for normal laws of one covariance), and for nothing less: noise on a line or on a subspace
# leaves everything beside it as it was. Whether given laws are exact translates is for the caller to know.


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


# Noise for normal laws that counts the spread of the laws themselves: along eigenvectors, or along one direction.


_EPS = float(np.finfo(float).eps)
_HARMONIC_ROUNDING = 2.0**-44


def eigenvector(differences: ArrayLike, covariances: ArrayLike, t: float, vectors: ArrayLike | None = None) -> Array:
    """S = V diag(s) V' with s_j = max over pairs of (|d|^2 / t^2 - lambda_j)_+ on common eigenvectors V.

    Then Sigma + S >= (|d|/t)^2 I >= d d'/t^2 (Chen and Ohrimenko 2023, Theorem 5.5, with t = mu(eps, delta)). This
    fails as soon as a column of V is not an eigenvector, so such columns are refused; columns that are eigenvectors
    up to rounding are accepted, and the result is repaired until d'(Sigma + S)^-1 d <= t^2 is verified."""
    D = pairs_of(differences)
    C = covariances_of(covariances, D.shape)
    t = positive(t, "t, the largest admissible distance,")
    d = D.shape[1]
    V = np.linalg.eigh((C / _sizes(C)).sum(axis=0))[1] if vectors is None else np.asarray(vectors, dtype=np.float64)
    if V.shape != (d, d) or np.abs(V.T @ V - np.eye(d)).max() > 1e-12:
        raise UsageError(f"vectors must be {d} orthonormal columns of {d} numbers")
    turned = V.T @ C @ V
    beside = np.abs(turned - turned * np.eye(d)).max(axis=(1, 2)) / _sizes(C)[:, 0, 0]
    if beside.max() > _HARMONIC_ROUNDING:
        raise UsageError(
            f"the directions are not common eigenvectors: pair {int(beside.argmax())} has a covariance of "
            f"{beside.max():.3g} (its largest entry is 1) between two of them; use the optimal covariance"
        )
    spread = np.maximum(np.diagonal(turned, axis1=1, axis2=2), 0.0)
    s = np.maximum(((D * D).sum(axis=1) / t**2)[:, None] - spread, 0.0).max(axis=0)
    return repaired(D, C, (V * s) @ V.T, t)


def directional_uncertainty(
    differences: ArrayLike, covariances: ArrayLike, t: float, direction: ArrayLike | None = None
) -> tuple[Array, float]:
    """A unit vector v and the variance s of normal noise along it: s = max (0, (a/t)^2 - 1/(v' Sigma^-1 v)), d = a v.

    v'(Sigma + s v v')^-1 v = 1 / (s + 1/(v' Sigma^-1 v)) (Sherman and Morrison), so this is the least s, in place of
    the root of a determinant (Chen and Ohrimenko 2023, Theorem B.4). If v leaves the range of Sigma the law has no
    spread along v, and s = (a/t)^2; doubles that cannot tell singular from regular count as singular.

    >>> v, s = directional_uncertainty([[1, 0]], [[4, 0], [0, 1]], 0.4)
    >>> round(s, 12)
    2.25
    """
    D = pairs_of(differences)
    C = covariances_of(covariances, D.shape)
    t = positive(t, "t, the largest admissible distance,")
    v = along(D, direction)
    a = np.abs(D @ v)
    needed = [(x / t) ** 2 * (up(len(v)) ** 2) - harmonic(sigma, v) for x, sigma in zip(a, C, strict=True) if x > 0]
    return v, float(max([0.0, *needed]))


def harmonic(sigma: Array, v: Array) -> float:
    """A lower bound on 1 / (v' Sigma^-1 v), zero if v is not in the range of Sigma: what Sigma - x v v' >= 0 allows.

    Rounding moves eigenvalues by at most a few n eps |Sigma| (Weyl); that much is taken off."""
    live = sigma.any(axis=1) | (v != 0)  # a coordinate without spread on which v vanishes plays no part
    values, Q = np.linalg.eigh(sigma[np.ix_(live, live)])
    values = values - 8 * len(values) * _EPS * np.abs(values).max(initial=0.0)
    z = Q.T @ v[live]
    if (values[z != 0] <= 0).any():
        return 0.0
    return float(1 / (z[z != 0] ** 2 / values[z != 0]).sum()) * (1 - 64 * _EPS)


def _sizes(C: Array) -> Array:
    return np.asarray(np.maximum(np.abs(C).max(axis=(1, 2)), 1e-300)[:, None, None])
