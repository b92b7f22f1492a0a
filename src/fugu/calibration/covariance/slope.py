"""How the loss between two normal laws falls with the noise: ln delta, or D_alpha, its gradient and its bend in S.

P = N(d, A), Q = N(0, B), A = V_p + S, B = V_q + S, W(s) = s B + (1 - s) A = W_0(s) + S. With ln M(s) = ln E_Q e^{sL},

    d/dS ln M(s) = G(s) = -s (s-1)/2 W^-1 d d' W^-1 + 1/2 ((1-s) A^-1 + s B^-1 - W^-1),

and for a symmetric K, W(s) = W, d^2/dS^2 ln M(s) [K, K] is

    s (s-1) d' W^-1 K W^-1 K W^-1 d + 1/2 tr(W^-1 K W^-1 K - (1-s) A^-1 K A^-1 K - s B^-1 K B^-1 K).

Under the contour integral of delta (docs/proofs/normal-vectors.md#4-the-contour-integral) these are factors of the same
integrand, so one path gives all three. In coordinates with B = I and A diagonal W is diagonal too. All in doubles, to
search with; nothing here proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.symmetric import symmetric

Array = NDArray[np.float64]
Complexes = NDArray[np.complex128]
_TILT = 0.5
_WILD = 1e6
_NODES, _MOST = 64, 1 << 13
_AGREE = 1e-6
_LADDER = np.linspace(0, 30, 61)
_LEAST = -700.0
_SAME = 1e-11


@dataclass(frozen=True, eq=False)
class Local:
    """A loss at one covariance, its gradient, and its second derivative in coordinates of `symmetric`, if asked for."""

    value: float
    slope: Array
    bend: Array | None = None


def log_delta(d: Array, a: Array, b: Array, epsilon: float, bend: bool = False) -> Local:
    """ln HS_epsilon(P || Q) of this order, as a function of the covariance added to both laws.

    Where the bent path runs uphill, the bound of the one order c: e^(ln M(c) - epsilon (c-1)) (c-1)^(c-1) / c^c."""
    mu, V = _together(a, b)
    g = V.T @ d
    squares = g * g
    apart = np.abs(mu) > _SAME  # elsewhere the laws have one variance, and L only moves with the shift
    kappa = -epsilon - (float(np.log1p(mu).sum()) + float(np.sum(squares[apart] / mu[apart]))) / 2
    nothing = Local(_LEAST, np.zeros_like(a), _none(len(d)) if bend else None)
    if not squares[~apart].any() and (mu[apart] < 0).all() and kappa <= 0:
        return nothing
    c, width = _saddle(mu, squares, epsilon)
    if c <= 1:  # the cut is within a rounding of 1: one law has next to no variance where the other has some
        return Local(0.0, nothing.slope, nothing.bend)
    tilt = -_TILT * math.copysign(1.0, kappa) if apart.any() else 0.0
    peak = float(np.real(_log_integrand(mu, squares, np.array([c + 0j]), epsilon))[0])

    def on_path(y: Array) -> tuple[Complexes, Complexes]:
        s = c + width * (tilt * (np.cosh(y) - 1) + 1j * np.sinh(y))
        ds = width * (tilt * np.sinh(y) + 1j * np.cosh(y))
        with np.errstate(all="ignore"):
            value = np.exp(_log_integrand(mu, squares, s, epsilon) - peak) * ds
        return s, np.where(np.isfinite(value), value, 0)

    size = np.abs(on_path(_LADDER)[1])
    if size.max() > _WILD * size[0] or size[0] == 0:
        one = min(0.0, peak + c * math.log1p(-1 / c) + math.log(c))
        return nothing if one <= _LEAST else _local(one, mu, g, V, np.array([c + 0j]), np.array([1j]), bend, True)
    last = int(np.flatnonzero(size > 1e-14 * size.max()).max()) + 1
    end = float(_LADDER[min(len(_LADDER) - 1, last)])
    nodes = _NODES
    while True:  # the rule converges exponentially: half the nodes within a root of what is wanted
        s, value = on_path(np.linspace(0, end, nodes + 1))
        value[0] /= 2
        total, half = float(np.imag(value).sum()), 2 * float(np.imag(value[::2]).sum())
        if abs(total - half) <= _AGREE * abs(total) or nodes >= _MOST:
            break
        nodes *= 2
    if total <= 0:
        return nothing
    value, total = value * (end / nodes / math.pi), total * (end / nodes / math.pi)
    if peak + math.log(total) <= _LEAST:
        return nothing
    return _local(peak + math.log(total), mu, g, V, s, value / total, bend, True)


def divergence(d: Array, a: Array, b: Array, alpha: float, bend: bool = False) -> Local:
    """D_alpha(P || Q) of this order; infinite, with no slope, unless W(alpha) > 0."""
    mu, V = _together(a, b)
    den = 1 + mu * (1 - alpha)
    if den.min() <= 0:
        return Local(math.inf, np.zeros_like(a), _none(len(d)) if bend else None)
    g = V.T @ d
    volume = float(np.sum((1 - alpha) * np.log1p(mu) - np.log(den)) / 2)
    value = (volume + alpha * (alpha - 1) / 2 * float(np.sum(g * g / den))) / (alpha - 1)
    return _local(value, mu, g, V, np.array([alpha + 0j]), np.array([1j / (alpha - 1)]), bend, False)


def distance(d: Array, v: Array, bend: bool = False) -> Local:
    """d' V^-1 d, on which the loss of two laws of one covariance depends alone: slope -V^-1 d d' V^-1, and second
    derivative 2 d' V^-1 K V^-1 K V^-1 d."""
    inverse = np.linalg.inv(v)
    r = inverse @ d
    slope = -np.outer(r, r)
    found = 2 * symmetric(len(d)).form(np.einsum("i,jk,l->ijkl", r, inverse, r)) if bend else None
    return Local(float(d @ r), slope, found)


def _saddle(mu: Array, squares: Array, epsilon: float) -> tuple[float, float]:
    """Where the integrand is least between 1 and its cut, which is unique, and 1 / root of the bend of its logarithm
    there: Newton's steps on the slope in ln(s - 1), or in the logit of the way to the cut, kept in a bracket."""
    steepest = float(mu.max())
    room = 1 / steepest if steepest > 0 else math.inf
    drop = float(np.log1p(mu).sum()) / 2 + epsilon
    low, high, x = -40.0, 40.0, 0.0 if math.isfinite(room) else math.log1p(epsilon)
    c = bend = 1.0
    for _ in range(80):
        grow = math.exp(x)
        r = grow if math.isinf(room) else room * grow / (1 + grow)
        c, den = 1 + r, 1 - mu * r
        inverse = 1 / np.maximum(den, 1e-60)  # next to the cut, where no minimum is
        rise = float(mu @ inverse) / 2 - drop - 1 / c - 1 / r
        rise += float(squares @ (inverse * ((2 * c - 1) + c * r * mu * inverse))) / 2
        bend = float(np.sum((mu * inverse) ** 2)) / 2 + float(squares @ ((1 + mu) * inverse**3)) + 1 / c**2 + 1 / r**2
        low, high = (x, high) if rise < 0 else (low, x)
        rate = r if math.isinf(room) else r / (1 + grow)  # dr / dx
        step = -rise / max(bend * rate + rise * (1 if math.isinf(room) else (1 - grow) / (1 + grow)), 1e-300)
        x = x + step if low < x + step < high else (low + high) / 2
        if abs(step) < 1e-6 or high - low < 1e-9:
            break
    return c, 1 / math.sqrt(bend)


def _none(d: int) -> Array:
    n = d * (d + 1) // 2
    return np.zeros((n, n))


def _together(a: Array, b: Array) -> tuple[Array, Array]:
    """mu and V with V'BV = I, V'AV = I + diag(mu)."""
    from scipy.linalg import eigh

    mu, V = eigh(a - b, b)
    return np.maximum(mu, -1 + 2.0**-52), V


def _log_integrand(mu: Array, squares: Array, s: Complexes, epsilon: float) -> Complexes:
    """ln of M(s) e^{-epsilon (s-1)} / (s (s-1))."""
    den = 1 + np.multiply.outer(1 - s, mu)
    moment = ((1 - s) * float(np.log1p(mu).sum()) - np.log(den).sum(axis=1)) / 2
    moment = moment + s * (s - 1) / 2 * ((1 / den) @ squares)
    return np.asarray(moment - epsilon * (s - 1) - np.log(s) - np.log(s - 1), dtype=np.complex128)


def _local(
    value: float, mu: Array, g: Array, V: Array, s: Complexes, weight: Complexes, bend: bool, logarithm: bool
) -> Local:
    """Im sum over s of weight G(s), and of weight times the second derivative (of a logarithm where it is one)."""
    d = len(mu)
    inverse = 1 / (1 + np.multiply.outer(1 - s, mu))
    r = g * inverse
    each = -(s * (s - 1) / 2)[:, None, None] * (r[:, :, None] * r[:, None, :])
    spread = (np.multiply.outer(1 - s, 1 / (1 + mu)) + s[:, None] - inverse) / 2
    each[:, range(d), range(d)] += spread
    mean = (weight[:, None, None] * each).sum(axis=0).imag
    slope = V @ mean @ V.T
    if not bend:
        return Local(value, (slope + slope.T) / 2)
    at = symmetric(d)
    lam = 1 / (1 + mu)
    flat = inverse[:, :, None] * inverse[:, None, :] - np.multiply.outer(1 - s, np.outer(lam, lam)) - s[:, None, None]
    flat = (weight[:, None, None] * flat).sum(axis=0).imag / 2
    form = np.zeros((d, d, d, d))
    i, j, k = np.ogrid[:d, :d, :d]
    form[i, j, j, k] = np.einsum("ni,nj,nl->ijl", r * (weight * s * (s - 1))[:, None], inverse, r).imag
    found = at.form(form) + np.diag(flat[at.i, at.j])
    if logarithm:
        rows = each[:, at.i, at.j] * at.c
        middle = at.vector(mean)
        paid = weight[:, None] * rows
        # plain sums: products this small only wake the threads of a linear algebra library
        both = np.concatenate([paid.real, paid.imag]), np.concatenate([rows.imag, rows.real])
        found = found + np.einsum("na,nb->ab", *both) - np.outer(middle, middle)
    turn = at.congruence(V.T)
    return Local(value, (slope + slope.T) / 2, turn.T @ found @ turn)
