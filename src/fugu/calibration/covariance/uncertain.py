"""Noise for normal laws that counts the spread of the laws themselves: along eigenvectors, or along one direction."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.directions import along
from fugu.calibration.covariance.feasible import covariances_of, pairs_of, positive, repaired, up
from fugu.errors import UsageError

Array = NDArray[np.float64]
_EPS = float(np.finfo(float).eps)
_ROUNDING = 2.0**-44


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
    if beside.max() > _ROUNDING:
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
