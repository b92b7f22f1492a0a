"""Whether Gaussian noise of covariance S hides every pair: d'(Sigma + S)^-1 d <= t^2, checked on the safe side."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError

Array = NDArray[np.float64]
_EPS = float(np.finfo(float).eps)
_SMALL, _LARGE = 1e-140, 1e140
_MOST = 60


def up(d: int) -> float:
    """A factor that makes up for a sum of d terms and a few more roundings: what is computed times it is no less."""
    return 1 + (16 + 2 * d) * _EPS


def pairs_of(differences: ArrayLike) -> Array:
    """The differences of means as rows; one vector is one pair."""
    D = np.atleast_2d(np.asarray(differences, dtype=np.float64))
    if D.ndim != 2 or D.shape[1] == 0:
        raise UsageError(f"differences are rows of numbers, one row a pair; found an array of shape {D.shape}")
    if not np.isfinite(D).all():
        raise UsageError("a difference of means is not finite; give finite numbers")
    sizes = np.abs(D[D != 0])
    if sizes.size and not _SMALL <= sizes.min() <= sizes.max() <= _LARGE:
        raise UsageError(f"a difference of means is outside {_SMALL:g} .. {_LARGE:g}; give the values in other units")
    return D


def covariances_of(covariances: ArrayLike, shape: tuple[int, ...]) -> Array:
    """One symmetric matrix a pair, (k, d, d); a single matrix serves all pairs."""
    k, d = shape
    C = np.asarray(covariances, dtype=np.float64)
    C = np.broadcast_to(C, (k, d, d)) if C.shape == (d, d) else C
    if C.shape != (k, d, d):
        raise UsageError(f"{k} pairs of {d} coordinates need covariances of shape {(k, d, d)}, found {C.shape}")
    if not (np.abs(C) <= _LARGE**2).all():
        raise UsageError(f"a covariance is not finite, or beyond {_LARGE**2:g}; give finite numbers")
    if not (np.swapaxes(C, 1, 2) == C).all():
        raise UsageError("a covariance is not symmetric: entry (i, j) must equal entry (j, i)")
    return C


def positive(value: float, name: str) -> float:
    """A parameter that must be a positive finite number."""
    if not (np.isfinite(value) and value > 0):
        raise UsageError(f"{name} must be a positive finite number")
    return float(value)


def distances(D: Array, C: Array, S: Array) -> Array:
    """Upper bounds on d'(Sigma_k + S)^-1 d, in doubles; infinite where Sigma_k + S cannot be told from singular.

    Cholesky in floating point is exact for a matrix whose entries differ by at most (n + 1) eps sqrt(m_ii m_jj)
    (Higham 2002, Theorem 10.3), hence by a matrix within n (n + 1) eps diag(M). Four times that is taken off first,
    which only enlarges the quadratic form. A coordinate on which Sigma_k + S and d are exactly zero is left out: both
    laws agree there.

    >>> distances(np.array([[1.0, 1.0]]), np.array([[[1.0, 0.0], [0.0, 0.0]]]), np.zeros((2, 2)))
    array([inf])
    """
    M = C + S
    n = D.shape[1]
    dead = (M == 0).all(axis=2) & (D == 0)
    diagonal = np.diagonal(M, axis1=1, axis2=2)
    M = M + np.eye(n) * np.where(dead, 1.0, -4 * n * (n + 1) * _EPS * diagonal)[:, :, None]
    try:
        return _forms(D, M)
    except np.linalg.LinAlgError:
        return np.array([_one(d, m) for d, m in zip(D, M, strict=True)])


def _one(d: Array, m: Array) -> float:
    if not d.any():
        return 0.0
    try:
        return float(_forms(d[None], m[None])[0])
    except np.linalg.LinAlgError:
        return float("inf")


def _forms(D: Array, M: Array) -> Array:
    y = np.linalg.solve(np.linalg.cholesky(M), D[:, :, None])[:, :, 0]
    return np.asarray((y * y).sum(axis=1) * (1 + 8 * D.shape[1] * _EPS))


def hides(D: Array, C: Array, S: Array, t: float) -> bool:
    """Whether the bound on every pair's distance is within t: d'(Sigma + S)^-1 d <= t^2."""
    return bool((distances(D, C, S) <= t * t * (1 - 4 * _EPS)).all())


def repaired(D: Array, C: Array, S: Array, t: float) -> Array:
    """S + eta V with eta zero or about the least that makes every constraint hold as checked by `distances`.

    V is diagonal, in the units of each coordinate, with V_jj >= d_j^2 / t^2 for all pairs: d d'/t^2 <= n V, so the
    search ends at eta about n. The check, not whoever proposed S, is what soundness stands on."""
    S = (S + S.T) / 2
    if hides(D, C, S, t):
        return S
    V = np.diag(np.abs(np.diag(S)) + (np.diagonal(C, axis1=1, axis2=2) + (D / t) ** 2).max(axis=0))
    eta, good = _EPS, 0.0
    for _ in range(_MOST):
        if hides(D, C, S + eta * V, t):
            good = eta
            break
        eta *= 4
    if not good:
        raise UsageError("no noise was found that hides every pair in doubles; give the values in other units")
    low = good / 4
    for _ in range(6):
        middle = (low + good) / 2
        low, good = (low, middle) if hides(D, C, S + middle * V, t) else (middle, good)
    return np.asarray(S + good * V)
