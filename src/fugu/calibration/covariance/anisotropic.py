"""Independent Laplace noise with a scale of its own for every coordinate, of least mean squared error."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.calibration.covariance.feasible import pairs_of, positive, up

Array = NDArray[np.float64]
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
