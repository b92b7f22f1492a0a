"""How the loss between two normal laws falls with the noise: ln delta, or D_alpha, and its gradient in S.

P = N(d, A), Q = N(0, B), A = V_p + S, B = V_q + S, W(s) = s B + (1 - s) A = W_0(s) + S. With ln M(s) = ln E_Q e^{sL},

    d/dS ln M(s) = G(s) = -s (s-1)/2 W^-1 d d' W^-1 + 1/2 ((1-s) A^-1 + s B^-1 - W^-1),

and under the contour integral of delta (docs/proofs/normal-vectors.md#4-the-contour-integral) the gradient of delta is
the same integral with G(s) as a factor: one path gives both. All in doubles, to search with; nothing here proves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fugu.loss.search.normal import FloatSpectrum

Array = NDArray[np.float64]
_TILT = 0.5
_WILD = 1e6
_NODES = 160
_LEAST = -700.0
_SAME = 1e-11


def log_delta(d: Array, a: Array, b: Array, epsilon: float) -> tuple[float, Array]:
    """ln HS_epsilon(P || Q) of this order, and its gradient in the covariance added to both laws.

    Where the bent path runs uphill, the bound of the one order c: e^(ln M(c) - epsilon (c-1)) (c-1)^(c-1) / c^c."""
    mu, V = _together(a, b)
    g = V.T @ d
    if np.abs(mu).max() < _SAME:
        return _equal(g, V, epsilon)
    squares = g * g
    moved = squares > 0
    seen = FloatSpectrum(mu, np.ones(len(mu)), mu[moved], squares[moved], 0.0)
    if bool((mu < 0).all()) and seen.slope(epsilon) <= 0:
        return _LEAST, np.zeros_like(a)
    c = seen.saddle(epsilon)
    width, tilt = seen.width(c), -_TILT * math.copysign(1.0, seen.slope(epsilon))
    peak = float(np.real(_log_integrand(mu, squares, np.array([c + 0j]), epsilon))[0])

    def on_path(y: Array) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
        s = c + width * (tilt * (np.cosh(y) - 1) + 1j * np.sinh(y))
        ds = width * (tilt * np.sinh(y) + 1j * np.cosh(y))
        with np.errstate(all="ignore"):
            value = np.exp(_log_integrand(mu, squares, s, epsilon) - peak) * ds
        return s, np.where(np.isfinite(value), value, 0)

    ladder = np.linspace(0, 40, 161)
    size = np.abs(on_path(ladder)[1])
    if size.max() > _WILD * size[0] or size[0] == 0:
        value = min(0.0, peak + c * math.log1p(-1 / c) + math.log(c))
        return max(_LEAST, value), _turned(V, _factors(mu, g, np.array([c + 0j]), np.array([1.0 + 0j])))
    end = float(ladder[min(160, int(np.flatnonzero(size > 1e-16 * size.max()).max()) + 1)])
    y = np.linspace(0, end, _NODES + 1)
    s, value = on_path(y)
    value[0] /= 2
    value = value * (end / _NODES / math.pi)
    total = float(np.imag(value).sum())
    if total <= 0:
        return _LEAST, np.zeros_like(a)
    slope = _factors(mu, g, s, value / total, imaginary=True)
    return max(_LEAST, peak + math.log(total)), _turned(V, slope)


def divergence(d: Array, a: Array, b: Array, alpha: float) -> tuple[float, Array]:
    """D_alpha(P || Q) and its gradient in S; infinite, with no gradient, unless W(alpha) > 0."""
    mu, V = _together(a, b)
    den = 1 + mu * (1 - alpha)
    if den.min() <= 0:
        return math.inf, np.zeros_like(a)
    g = V.T @ d
    volume = float(np.sum((1 - alpha) * np.log1p(mu) - np.log(den)) / 2)
    value = (volume + alpha * (alpha - 1) / 2 * float(np.sum(g * g / den))) / (alpha - 1)
    slope = _factors(mu, g, np.array([alpha + 0j]), np.array([1.0 + 0j])) / (alpha - 1)
    return value, _turned(V, slope)


def _together(a: Array, b: Array) -> tuple[Array, Array]:
    """mu and V with V'BV = I, V'AV = I + diag(mu)."""
    from scipy.linalg import eigh

    mu, V = eigh(a - b, b)
    return np.maximum(mu, -1 + 2.0**-52), V


def _equal(g: Array, V: Array, epsilon: float) -> tuple[float, Array]:
    """One covariance: delta = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m), of slope phi(m/2 - e/m) in m."""
    from fugu.loss.search.shifts import fast_gaussian_delta

    m = math.sqrt(float(g @ g))
    value = float(fast_gaussian_delta(epsilon, m)) if m > 0 else 0.0
    if value <= 0:
        return _LEAST, np.zeros((len(g), len(g)))
    rate = math.exp(-((m / 2 - epsilon / m) ** 2) / 2) / math.sqrt(2 * math.pi)
    return max(_LEAST, math.log(value)), _turned(V, np.outer(g, g) * (-rate / (2 * m * value)))


def _log_integrand(mu: Array, squares: Array, s: NDArray[np.complex128], epsilon: float) -> NDArray[np.complex128]:
    """ln of M(s) e^{-epsilon (s-1)} / (s (s-1))."""
    den = 1 + np.multiply.outer(1 - s, mu)
    moment = ((1 - s) * float(np.log1p(mu).sum()) - np.log(den).sum(axis=1)) / 2 + s * (s - 1) / 2 * (
        (1 / den) @ squares
    )
    return np.asarray(moment - epsilon * (s - 1) - np.log(s) - np.log(s - 1), dtype=np.complex128)


def _factors(
    mu: Array, g: Array, s: NDArray[np.complex128], weight: NDArray[np.complex128], imaginary: bool = False
) -> Array:
    """sum over s of weight G(s), in the coordinates of V."""
    den = 1 + np.multiply.outer(1 - s, mu)
    bent = g / den
    total = (bent * (-weight * s * (s - 1) / 2)[:, None]).T @ bent
    spread = weight @ (np.multiply.outer(1 - s, 1 / (1 + mu)) + s[:, None] - 1 / den) / 2
    total = total + np.diag(spread)
    return np.asarray(total.imag if imaginary else total.real, dtype=np.float64)


def _turned(V: Array, slope: Array) -> Array:
    found = V @ slope @ V.T
    return np.asarray((found + found.T) / 2)
