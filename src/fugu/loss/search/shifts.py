"""The curve of two normal laws that differ by a shift, in doubles, to search with; `loss.shifts.gaussian` proves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
_FAR = -30.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def fast_gaussian_log_delta(epsilon: ArrayLike, m: ArrayLike) -> Floats:
    """ln delta(epsilon, m) in doubles, entry by entry, relatively good to about 1e-12 of delta also where it is 1e-300.

    With R = Phi / phi, a = m/2 - e/m, b = a - m, e^e phi(b) = phi(a): delta = phi(a) (R(a) - R(b)), and R(a) - R(b) is
    the integral of R' = 1 + x R(x) over [b, a] where the difference would cancel (m <= 1).

    >>> float(np.round(fast_gaussian_log_delta(1.0, 0.388401248306584) / math.log(10), 10))
    -3.0
    """
    from scipy.special import erfcx, log_ndtr

    e, shift = np.broadcast_arrays(np.asarray(epsilon, dtype=np.float64), np.asarray(m, dtype=np.float64))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        a, b = shift / 2 - e / shift, -shift / 2 - e / shift
        log_phi = -a * a / 2 - 0.5 * math.log(2 * math.pi)
        narrow = np.log(
            shift / 2 * sum(w * _slope(b + shift * (1 + x) / 2) for x, w in zip(_NODES, _WEIGHTS, strict=True))
        )
        wide = np.log(math.sqrt(math.pi / 2) * (erfcx(-np.minimum(a, 30) / math.sqrt(2)) - erfcx(-b / math.sqrt(2))))
        first = log_ndtr(a)
        direct = first + np.log(-np.expm1(np.minimum(e + log_ndtr(b) - first, 0.0)))
        found = np.where(shift <= 1, log_phi + narrow, np.where(a < 0, log_phi + wide, direct))
    return np.asarray(np.where(shift > 0, found, -np.inf), dtype=np.float64)


def fast_gaussian_delta(epsilon: ArrayLike, m: ArrayLike) -> Floats:
    """delta(epsilon, m) in doubles, entry by entry."""
    return np.asarray(np.exp(fast_gaussian_log_delta(epsilon, m)), dtype=np.float64)


def fast_gaussian_mu(epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    """The m with delta(epsilon, m) = delta in doubles, entry by entry, by bisection in ln m; 0 < delta < 1."""
    e, wanted = np.broadcast_arrays(np.asarray(epsilon, dtype=np.float64), np.log(np.asarray(delta, dtype=np.float64)))
    low, high = np.full(e.shape, -750.0), np.full(e.shape, 20.0)
    for _ in range(64):
        middle = (low + high) / 2
        over = fast_gaussian_log_delta(e, np.exp(middle)) > wanted
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(np.exp((low + high) / 2), dtype=np.float64)


def _slope(x: Floats) -> Floats:
    """R'(x) = 1 + x R(x); far to the left by its asymptotic series 1/x^2 - 3/x^4 + 15/x^6 - ..."""
    from scipy.special import erfcx

    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        y = 1 / (x * x)
        series = y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y * (1 - 11 * y)))))
        near = 1 + x * math.sqrt(math.pi / 2) * erfcx(-np.maximum(x, _FAR) / math.sqrt(2))
        return np.asarray(np.where(x < _FAR, series, near), dtype=np.float64)
