"""Whether Gaussian noise hides every pair, and what protects without beliefs: baselines, lengths of noise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError

# Whether Gaussian noise of covariance S hides every pair: d'(Sigma + S)^-1 d <= t^2, checked on the safe side.


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


# The expected l2 error E |noise|_2, for tables: closed forms, and one integral for everything else.
#
# For a sum Q of independent squares, E sqrt(Q) = 1/(2 sqrt(pi)) integral_0^inf (1 - E e^(-sQ)) s^(-3/2) ds. With s =
# e^u
# the integrand decays like e^(-|u|/2) and is analytic and bounded in the strip |Im u| < pi/2, where Re s >= 0 keeps
# |E e^(-sQ)| <= 1: the trapezoid rule with step h errs by about e^(-pi^2 / h), below 1e-16 for h = 1/4.


_STEP = 0.25
_REACH = 320


def isotropic_length(sigma: float, d: int) -> float:
    """E |N(0, sigma^2 I_d)| = sigma sqrt(2) Gamma((d + 1)/2) / Gamma(d/2).

    >>> round(isotropic_length(1, 5), 9)
    2.127692162
    """
    return sigma * math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))


def gaussian_length(covariance: ArrayLike) -> float:
    """E |N(0, S)|, from E e^(-sQ) = prod (1 + 2 s lambda_j)^(-1/2) over the eigenvalues of S."""
    values = np.linalg.eigvalsh(np.asarray(covariance, dtype=np.float64))
    if values[0] < -1e-9 * max(abs(values[-1]), abs(values[0])):
        raise UsageError("the covariance is not positive semidefinite")
    values = np.maximum(values, 0.0)
    top = float(values.max())
    if top == 0:
        return 0.0
    s = _nodes()
    logs = -0.5 * np.log1p(2 * np.outer(s, values / top)).sum(axis=1)
    return _root_mean(s, logs) * math.sqrt(top)


def laplace_length(scales: ArrayLike) -> float:
    """E |z| for independent Laplace z_j of scale b_j: E e^(-s b^2 X^2) = sqrt(pi) y erfcx(y), y = 1 / (2 b sqrt(s)).

    >>> round(laplace_length([1.0]), 9)
    1.0
    """
    from scipy.special import erfcx

    b = np.asarray(scales, dtype=np.float64)
    if b.ndim != 1 or not np.isfinite(b).all() or (b < 0).any():
        raise UsageError("scales must be finite numbers, none negative: one for each coordinate")
    top = float(b.max(initial=0.0))
    if top == 0:
        return 0.0
    s = _nodes()
    q = np.outer(s, (b[b > 0] / top) ** 2)
    y = 0.5 / np.sqrt(q)
    small = q < 3e-4
    series = np.zeros_like(q)
    for n in range(8, 0, -1):  # E e^(-q X^2) - 1 = sum of (-q)^n (2n)! / n! from n = 1, by Horner
        series = -2 * (2 * n - 1) * q * (1 + series)
    logs = np.where(small, np.log1p(np.where(small, series, 0.0)), np.log(math.sqrt(math.pi) * y * erfcx(y)))
    return _root_mean(s, logs.sum(axis=1)) * top


def spherical_length(k: int, scale: float) -> float:
    """E |z| for the density ~ exp(-|z|_2 / b) in k dimensions: the radius is Gamma(k, b), with mean k b."""
    return k * scale


def _nodes() -> Array:
    return np.asarray(np.exp(np.arange(-_REACH, _REACH + 1) * _STEP))


def _root_mean(s: Array, logs: Array) -> float:
    """The integral above, from log E e^(-sQ) at the nodes."""
    return float((-np.expm1(logs) / np.sqrt(s)).sum()) * _STEP / (2 * math.sqrt(math.pi))


# Independent Laplace noise with a scale of its own for every coordinate, of least mean squared error.


_STEPS = 200
_CLOSE = 1e-9


def anisotropic_laplace(differences: ArrayLike, epsilon: float) -> Array:
    """Scales b of least error 2 sum b_j^2 with sum_j |d_j| / b_j <= eps for every difference d (pure, translates).

    One difference: b_j = |d_j|^(1/3) sum_i |d_i|^(2/3) / eps (stationarity of the Lagrangian), error
    2 (sum |d_i|^(2/3))^3 / eps^2. Several: with x = 1 / b, minimise sum x_j^-2 subject to linear constraints, by
    Newton's method on the log barrier; then all scales grow until every constraint holds. A coordinate on which all
    differences vanish gets no noise.

    >>> anisotropic_laplace([[1, 8]], 1).round(9).tolist()
    [5.0, 10.0]
    """
    D = np.abs(pairs_of(differences)) / positive(epsilon, "epsilon")
    b = np.zeros(D.shape[1])
    used, rows = D.any(axis=0), D.any(axis=1)
    if not used.any():
        return b
    A = np.unique(D[rows][:, used], axis=0)
    A = A[[not ((row <= A).all(axis=1) & (row < A).any(axis=1)).any() for row in A]]
    b[used] = np.cbrt(A[0]) * (np.cbrt(A[0]) ** 2).sum() if len(A) == 1 else programme(A)[0]
    b[used] *= float((D[:, used] / b[used]).sum(axis=1).max()) * up(D.shape[1])
    return b


def least_error(A: Array, shares: Array) -> float:
    """A lower bound on sum b_j^2 for constraints sum_j a_kj / b_j <= 1: (sum_j (A' shares)_j^(2/3))^3, by duality.

    The mean of the constraints with weights `shares` (summing to 1) is one constraint, with the closed form above."""
    return float((np.cbrt(shares @ A) ** 2).sum() ** 3)


def programme(A: Array) -> tuple[Array, Array]:
    """The minimiser of sum x_j^-2 over A x <= 1, as 1 / x, and the shares of the constraints in its dual."""
    size = A.max(axis=0)
    A = A / size  # x_j in units of 1 / size_j: no coordinate is tiny
    gain = (size / size.max()) ** 2
    x = np.full(A.shape[1], 0.5 / A.shape[1])
    weight = float((gain / x**2).sum()) / len(A)
    for _ in range(_STEPS):
        slack = 1 - A @ x
        slope = -2 * gain / x**3 + weight * (A / slack[:, None]).sum(axis=0)
        hessian = np.diag(6 * gain / x**4) + weight * (A / slack[:, None] ** 2).T @ A
        step = -np.linalg.solve(hessian, slope)
        decrement = float(-slope @ step)
        last = weight * len(A) <= _CLOSE * float((gain / x**2).sum())
        if last and decrement <= 1e-8 * weight:
            break
        x = x + _length(A, gain, x, step, weight, decrement) * step
        if not last and decrement <= 1e-2 * weight:
            weight /= 8
    price = 1 / (1 - A @ x)
    return np.asarray(size / x), np.asarray(price / price.sum())


def _length(A: Array, gain: Array, x: Array, step: Array, weight: float, decrement: float) -> float:
    """A step that stays inside and lowers the barrier function; near its centre any step that stays inside will do,
    since doubles no longer resolve the function there."""

    def height(y: Array) -> float:
        slack = 1 - A @ y
        if y.min() <= 0 or slack.min() <= 0:
            return float("inf")
        return float((gain / y**2).sum() - weight * np.log(slack).sum())

    here, a = np.finfo(float).max if decrement <= 0.05 * weight else height(x), 1.0
    while a > 1e-10 and not height(x + a * step) <= here:
        a /= 2
    return a
