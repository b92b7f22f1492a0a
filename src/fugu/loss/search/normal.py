"""Losses between normal laws in doubles, to search with: shifts, vectors, and draws of record swaps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.loss.densities import normal_hockey_stick

# With (lam, g) of fugu.loss.normal, den = lam - (lam - 1) s, and L = ln p/q,
#
#     ln M(s) = ln E_q e^{s L} = sum 1/2 ((1 - s) ln lam - ln den) + s (s - 1)/2 sum g / den,
#     delta(e) = 1/(2 pi i) int_{c - i inf}^{c + i inf} M(s) e^{-e (s-1)} / (s (s-1)) ds, 1 < c < min_{lam>1}
#     lam/(lam-1).
#
# The line is bent into a hyperbola through the saddle point, where the trapezoidal rule converges exponentially.
# Proofs: docs/proofs/normal-vectors.md#4-the-contour-integral.


Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
_SAME = 1e-13
_TILT = 0.5
_WILD = 1e6


@dataclass(frozen=True)
class FloatSpectrum:
    """lam - 1 with multiplicities, lam - 1 with its g, and g at lam = 1; see `Spectrum`."""

    scales: Floats
    times: Floats
    at: Floats
    shifts: Floats
    level: float

    def log_moment(self, s: Complexes | Floats) -> Complexes:
        """ln M(s), at every s off the cuts."""
        z = np.asarray(s, dtype=np.complex128)
        total = z * (z - 1) / 2 * self.level
        for mu, k in zip(self.scales, self.times, strict=True):
            total = total + k / 2 * ((1 - z) * math.log1p(mu) - np.log1p(mu * (1 - z)))
        for mu, g in zip(self.at, self.shifts, strict=True):
            total = total + z * (z - 1) / 2 * g / (1 + mu * (1 - z))
        return np.asarray(total, dtype=np.complex128)

    def slope(self, epsilon: float) -> float:
        """kappa: ln of the integrand grows like kappa s far out (if level = 0)."""
        return -epsilon - 0.5 * float(np.sum(self.times * np.log1p(self.scales)) + np.sum(self.shifts / self.at))

    def log_integrand(self, s: Complexes, epsilon: float) -> Complexes:
        """ln of M(s) e^{-epsilon (s-1)} / (s (s-1)), up to multiples of 2 pi i."""
        return np.asarray(self.log_moment(s) - epsilon * (s - 1) - np.log(s) - np.log(s - 1), dtype=np.complex128)

    def saddle(self, epsilon: float) -> float:
        """The s that minimises the integrand on the real line between its cut and 1: it is log-convex there."""
        steepest = max(0.0, float(self.scales.max(initial=0.0)), float(self.at.max(initial=0.0)))
        room = 1 / steepest if steepest > 0 else math.inf
        low, high = -30.0, 45.0

        def s_of(y: Floats) -> Floats:
            step = np.exp(y)
            return np.asarray(1 + (step if math.isinf(room) else room * step / (1 + step)), dtype=np.float64)

        for _ in range(6):
            y = np.linspace(low, high, 61)
            with np.errstate(all="ignore"):
                value = np.real(self.log_integrand(s_of(y).astype(np.complex128), epsilon))
                value[~np.isfinite(value) | (s_of(y) <= 1) | (1 + steepest * (1 - s_of(y)) <= 0)] = np.inf
            best = int(np.argmin(value))
            low, high = y[max(0, best - 1)], y[min(60, best + 1)]
        return float(s_of(np.array([(low + high) / 2]))[0])

    def width(self, c: float) -> float:
        """1 / sqrt of the second derivative of ln integrand at c."""
        den, den_g = 1 + self.scales * (1 - c), 1 + self.at * (1 - c)
        bend = np.sum(self.times / 2 * (self.scales / den) ** 2) + np.sum(self.shifts * (1 + self.at) / den_g**3)
        return 1 / math.sqrt(float(bend) + self.level + 1 / c**2 + 1 / (c - 1) ** 2)

    def hockey_stick(self, epsilon: float) -> float:
        """delta(epsilon) of this order, relatively good to about 1e-8 or better; where the bent line runs uphill only a
        bound from above, which may be a few times too large."""
        bounded = self.level == 0 and bool(np.all(self.scales < 0))  # all lam < 1: sup L = kappa + epsilon <= epsilon
        if (self.level == 0 and self.scales.size + self.shifts.size == 0) or (bounded and self.slope(epsilon) <= 0):
            return 0.0
        if self.scales.size == 0:
            return float(fast_gaussian_delta(epsilon, math.sqrt(self.level)))
        c = self.saddle(epsilon)
        a, tilt = self.width(c), -_TILT * math.copysign(1.0, self.slope(epsilon))
        peak = float(np.real(self.log_integrand(np.array([c + 0j]), epsilon))[0])

        def on_path(y: Floats) -> Complexes:
            s = c + a * (tilt * (np.cosh(y) - 1) + 1j * np.sinh(y))
            ds = a * (tilt * np.sinh(y) + 1j * np.cosh(y))
            with np.errstate(all="ignore"):
                value = np.exp(self.log_integrand(s, epsilon) - peak) * ds
            return np.where(np.isfinite(value), value, 0)  # far out, where doubles end

        ladder = np.linspace(0, 40, 401)
        size = np.abs(on_path(ladder))
        if size.max() > _WILD * size[0]:  # the bent line runs uphill: what cancels is lost, so the bound of one order
            return min(1.0, math.exp(min(0.0, peak + c * math.log1p(-1 / c) + math.log(c))))
        alive = np.flatnonzero(size > 1e-17 * size[:50].max())
        end, nodes, before = float(ladder[min(400, int(alive.max()) + 1)]), 64, math.inf
        while True:
            values = np.imag(on_path(np.linspace(0, end, nodes + 1)))
            found = (end / nodes) * float(values.sum() - values[0] / 2)
            if abs(found - before) <= 1e-11 * abs(found) or nodes >= 1 << 14:
                break
            before, nodes = found, 2 * nodes
        return min(1.0, max(0.0, math.exp(peak) * found / math.pi))


def fast_normal_delta(p_mean: Floats, p_cov: Floats, q_mean: Floats, q_cov: Floats, epsilon: float) -> float:
    """max of both orders of delta(epsilon) for N(p_mean, p_cov) against N(q_mean, q_cov), in doubles.

    >>> S = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.5, 0.2], [0.2, 1.2]])
    >>> round(fast_normal_delta(np.array([1.0, 0.0]), S[0], np.array([0.0, 0.5]), S[1], 1.0), 9)
    0.172700602
    """
    d = np.asarray(p_mean, dtype=np.float64) - np.asarray(q_mean, dtype=np.float64)
    a, b = np.atleast_2d(np.asarray(p_cov, dtype=np.float64)), np.atleast_2d(np.asarray(q_cov, dtype=np.float64))
    d = np.atleast_1d(d)
    if np.array_equal(a, b) and not d.any():
        return 0.0
    unit = np.sqrt(np.diag(a) + np.diag(b))
    unit[unit == 0] = 1.0
    d, a, b = d / unit, a / np.outer(unit, unit), b / np.outer(unit, unit)
    values, vectors = np.linalg.eigh(a + b)
    keep = values > 1e-13 * max(float(values.max()), 0.0)
    basis = vectors[:, keep]
    inside = basis.T @ d
    if np.linalg.norm(d - basis @ inside) > 1e-9 * float(np.linalg.norm(d)) or not keep.any():
        return 1.0
    basis = basis / np.sqrt(values[keep])
    shift, one, two = basis.T @ d, basis.T @ a @ basis, basis.T @ b @ basis
    if np.array_equal(a, b):
        return float(fast_gaussian_delta(epsilon, math.sqrt(2 * float(shift @ shift))))
    return max(_order(shift, one, two, epsilon), _order(-shift, two, one, epsilon))


def _order(d: Floats, a: Floats, b: Floats, epsilon: float) -> float:
    from scipy.linalg import eigh

    if min(float(np.linalg.eigvalsh(a)[0]), float(np.linalg.eigvalsh(b)[0])) < 1e-13:
        return 1.0  # a + b = I here: one law is flat where the other is not
    if d.size == 1:
        return normal_hockey_stick(float(d[0] / math.sqrt(b[0, 0])), math.sqrt(float(a[0, 0] / b[0, 0])), epsilon)
    mu, vectors = eigh(a - b, b)
    mu = np.maximum(mu, -1 + 2.0**-52)
    g = (vectors.T @ d) ** 2
    one = np.abs(mu) < _SAME
    moved = ~one & (g > 0)
    return FloatSpectrum(mu[~one], np.ones(int((~one).sum())), mu[moved], g[moved], float(g[one].sum())).hockey_stick(
        epsilon
    )


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


# Which noise the draws of record swaps allow, in doubles: the first step down that fails is where the search ends.
#
# The order of the tests is fixed, from the largest sigma down, and all of them look at the same draws. The true
# expectations fall as sigma grows, so the first sigma that is truly too small is one number, fixed before any draw;
# going below it needs that one test to pass by mistake, which has probability at most beta
# (docs/proofs/record-swap.md#4-which-sigma).


_SLACK = 1 + 1e-6
"""Far above the rounding of the Gaussian curve in doubles, about 1e-12, and of the sums."""
_LOST = 1e-15
"""Above what the difference of two numbers of at most 1 loses in doubles."""
_CELLS = 200_000


def steps_down(
    sigma: Callable[[int], float],
    most: int,
    lengths: Floats,
    counts: NDArray[np.int64],
    longest: Floats,
    epsilon: float,
    delta: float,
    beta: float,
) -> int:
    """How many steps down from sigma(0) pass, one after the other, at most `most`.

    `lengths`: of the places, increasing; `counts`: of every place in each block, one row a block; `longest`: the length
    that no draw of a block exceeds. A step passes if the bound of every block is at most `delta`."""
    n = counts.sum(axis=1)
    shares = counts / n[:, None]
    odds = math.log(2 / beta)
    many = max(1, _CELLS // (len(lengths) + len(longest)))
    for start in range(1, most + 1, many):
        sigmas = np.array([sigma(k) for k in range(start, min(start + many, most + 1))])
        losses, tops = (fast_gaussian_delta(epsilon, x[:, None] / sigmas) for x in (lengths, longest))
        mean = shares @ losses
        variance = (np.maximum(shares @ losses**2 - mean**2, 0.0) + _LOST) * (n / (n - 1))[:, None] * _SLACK
        slack = np.sqrt(2 * variance * odds / n[:, None]) + 7 * tops * odds / (3 * (n - 1))[:, None]
        failed = np.flatnonzero(~((mean + slack) * _SLACK <= delta).all(axis=0))
        if len(failed):
            return start - 1 + int(failed[0])
    return most
