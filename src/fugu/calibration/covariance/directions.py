"""Noise for translates and for normal laws along directions, whether it hides every pair, and how long it is.

Gaussian noise of covariance S hides a pair if d'(Sigma + S)^-1 d <= t^2, checked on the safe side."""

from __future__ import annotations

import math
from contextlib import suppress

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
        found = np.full(len(D), np.inf)
        for k in range(len(D)):
            with suppress(np.linalg.LinAlgError):
                found[k] = _forms(D[k : k + 1], M[k : k + 1])[0] if D[k].any() else 0.0
        return found


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
# For a sum Q of independent squares, E sqrt(Q) = 1/(2 sqrt(pi)) integral_0^inf (1 - E e^(-sQ)) s^(-3/2) ds. With
# s = e^u the integrand decays like e^(-|u|/2) and is analytic and bounded in the strip |Im u| < pi/2, where Re s >= 0
# keeps |E e^(-sQ)| <= 1: the trapezoid rule with step h errs by about e^(-pi^2 / h), below 1e-16 for h = 1/4.


_STEP = 0.25
_NODES = np.exp(np.arange(-320, 321) * _STEP)


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
    logs = -0.5 * np.log1p(2 * np.outer(_NODES, values / top)).sum(axis=1)
    return _root_mean(logs) * math.sqrt(top)


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
    q = np.outer(_NODES, (b[b > 0] / top) ** 2)
    y = 0.5 / np.sqrt(q)
    small = q < 3e-4
    series = np.zeros_like(q)
    for n in range(8, 0, -1):  # E e^(-q X^2) - 1 = sum of (-q)^n (2n)! / n! from n = 1, by Horner
        series = -2 * (2 * n - 1) * q * (1 + series)
    logs = np.where(small, np.log1p(np.where(small, series, 0.0)), np.log(math.sqrt(math.pi) * y * erfcx(y)))
    return _root_mean(logs.sum(axis=1)) * top


def _root_mean(logs: Array) -> float:
    """The integral above, from log E e^(-sQ) at the nodes."""
    return float((-np.expm1(logs) / np.sqrt(_NODES)).sum()) * _STEP / (2 * math.sqrt(math.pi))


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


# Noise for translates: the same in every direction, or along one line.
#
# These rules know only the differences d of the two means. They hold if each pair of laws is a law and its exact
# translate by d (so also for normal laws of one covariance), and for nothing less: noise on a line or on a subspace
# leaves everything beside it as it was. Whether given laws are exact translates is for the caller to know.


ROUNDING = 2.0**-48
"""Differences beside the line or the span by no more than this share are there by the rounding of doubles."""


def expected_value_gaussian(differences: ArrayLike, t: float) -> float:
    """sigma = max |d|_2 / t: N(0, sigma^2 I) moves each pair within t = mu(eps, delta).

    Chen and Ohrimenko 2023, Theorem 5.2, with the exact curve (Balle and Wang 2018) in place of eps / c(delta), which
    fails for large eps (at delta = 1e-3 from 7.463 on)."""
    D = pairs_of(differences)
    return float(lengths(D).max(initial=0.0) / positive(t, "t, the largest admissible distance,")) * up(D.shape[1])


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
    limit = positive_limit(t, epsilon)
    v = along(D, direction)
    return v, float(np.abs(D @ v).max(initial=0.0) / limit) * (1 + ROUNDING)


def along(D: Array, direction: ArrayLike | None = None) -> Array:
    """The unit vector that all differences are parallel to; refused, with the angle, if there is none."""
    sizes = lengths(D)
    if direction is None:
        v = D[int(np.argmax(sizes))].copy()
        v = v if v.any() else np.eye(len(v))[0]
    else:
        v = np.asarray(direction, dtype=np.float64).copy()
        if v.shape != D.shape[1:] or not np.isfinite(v).all() or not v.any():
            raise UsageError(f"direction must be {D.shape[1]} finite numbers that are not all zero")
    v /= np.abs(v).max()
    v /= np.sqrt(v @ v)
    beside = lengths(D - (D @ v)[:, None] * v)
    refuse_beside(beside, sizes, "parallel to one direction", "use noise on their span, or in all coordinates")
    return np.asarray(v)


def positive_limit(t: float | None, epsilon: float | None) -> float:
    if (t is None) == (epsilon is None):
        raise UsageError("give one of t (Gaussian noise, t = mu(epsilon, delta)) and epsilon (Laplace noise)")
    return positive(t, "t, the largest admissible distance,") if t is not None else positive(epsilon or 0.0, "epsilon")


def refuse_beside(beside: Array, sizes: Array, what: str, instead: str) -> None:
    """Refuse differences that leave the line or the span: there the release would be exact, hiding nothing."""
    share = np.where(sizes > 0, beside / np.where(sizes > 0, sizes, 1.0), 0.0)
    if share.max(initial=0.0) > ROUNDING:
        raise UsageError(
            f"the differences must be {what}: pair {int(share.argmax())} is beside it by {share.max():.3g} of its "
            f"length, and noise would not hide that part at all; {instead}"
        )


def lengths(D: Array) -> Array:
    return np.asarray(np.sqrt((D * D).sum(axis=1)))


# Noise for normal laws that counts the spread of the laws themselves: along eigenvectors, or along one direction.


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
