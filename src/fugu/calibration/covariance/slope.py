"""How the loss between two normal laws falls with the noise, in standard units and symmetric coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.laws.multinormal import NormalPair
from fugu.noise.kind import Objective

# How the loss between two normal laws falls with the noise: ln delta, or D_alpha, its gradient and its bend in S.
#
# P = N(d, A), Q = N(0, B), A = V_p + S, B = V_q + S, W(s) = s B + (1 - s) A = W_0(s) + S. With ln M(s) = ln E_Q e^{sL},
#
#     d/dS ln M(s) = G(s) = -s (s-1)/2 W^-1 d d' W^-1 + 1/2 ((1-s) A^-1 + s B^-1 - W^-1),
#
# and for a symmetric K, W(s) = W, d^2/dS^2 ln M(s) [K, K] is
#
#     s (s-1) d' W^-1 K W^-1 K W^-1 d + 1/2 tr(W^-1 K W^-1 K - (1-s) A^-1 K A^-1 K - s B^-1 K B^-1 K).
#
# Under the contour integral of delta (docs/proofs/normal-vectors.md#4-the-contour-integral) these are factors of the
# same integrand, so one path gives all three. In coordinates with B = I and A diagonal W is diagonal too. All in
# doubles, to search with; nothing here proves.


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
    nothing = Local(_LEAST, np.zeros_like(a), np.zeros((len(d) * (len(d) + 1) // 2,) * 2) if bend else None)
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
        return Local(math.inf, np.zeros_like(a), np.zeros((len(d) * (len(d) + 1) // 2,) * 2) if bend else None)
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


# Pairs of normal laws in units of their own: each statistic divided by its deviation under the beliefs.
#
# A count and a mean age have no common unit, so a floor, a trace or a length in the units of the values would let the
# largest numbers rule. With the public diagonal D_j = root of the mean variance of statistic j over all laws, S is
# sought as D S' D: d'(V + S)^-1 d and every divergence are the same for (D^-1 d, D^-1 V D^-1, S'). Multiplying a
# statistic by a constant multiplies D_j by it, and leaves the problem for S' as it was:
# docs/proofs/normal-vectors.md#7-units.


@dataclass(frozen=True, eq=False)
class StandardPairs:
    """Pairs N(shift_k, first_k) against N(0, second_k), in units of `unit`; pairs of equal laws are left out."""

    unit: Array
    shift: Array
    first: Array
    second: Array

    @staticmethod
    def of(pairs: Iterable[NormalPair]) -> StandardPairs:
        """The pairs in the units of `units_of`; one pair of equal laws is kept where there is no other."""
        listed = tuple(pairs)
        D = units_of(listed)
        kept = [pair for pair in listed if not pair.same] or list(listed[:1])
        scale = np.outer(D, D)
        return StandardPairs(
            D,
            np.array([[float(x) for x in pair.difference] for pair in kept]) / D,
            np.array([pair.p.cov_array for pair in kept]) / scale,
            np.array([pair.q.cov_array for pair in kept]) / scale,
        )

    def __len__(self) -> int:
        return len(self.shift)

    @property
    def dimension(self) -> int:
        """The number of statistics."""
        return len(self.unit)

    @property
    def middle(self) -> Array:
        """The mean of the two covariances of each pair."""
        return np.asarray((self.first + self.second) / 2)

    @property
    def alike(self) -> bool:
        """Whether the two covariances of every pair are equal."""
        return bool((self.first == self.second).all())

    def raw(self, S: Array) -> Array:
        """A covariance in the units of the values."""
        return np.asarray(S * np.outer(self.unit, self.unit))

    def own(self, S: Array) -> Array:
        """A covariance of the values in these units."""
        return np.asarray(S / np.outer(self.unit, self.unit))

    def only(self, which: list[int]) -> StandardPairs:
        """Some of the pairs, in the same units."""
        return StandardPairs(self.unit, self.shift[which], self.first[which], self.second[which])


def units_of(pairs: Iterable[NormalPair]) -> Array:
    """D_j: the root of the mean variance of statistic j over all laws; where no law varies, the largest difference of
    its means, and 1 where that is 0 too.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> law = MultivariateNormal([0, 0], [[9, 1], [1, 0.25]])
    >>> units_of([NormalPair(law, law, "one")]).tolist()
    [3.0, 0.5]
    """
    listed = tuple(pairs)
    variances = np.array([np.diag(law.cov_array) for pair in listed for law in (pair.p, pair.q)])
    D = np.sqrt(variances.mean(axis=0))
    apart = np.abs([pair.p.mean_array - pair.q.mean_array for pair in listed]).max(axis=0)
    return np.asarray(np.where(D > 0, D, np.where(apart > 0, apart, 1.0)))


class Symmetric:
    """Entry (i, j), i <= j, of a symmetric matrix is a coordinate, times sqrt(2) off the diagonal."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.i, self.j = np.triu_indices(d)
        self.c = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        self.grid = self.i[:, None], self.j[:, None], self.i[None, :], self.j[None, :]
        i, b, j, a = self.grid
        self.diagonal = np.flatnonzero(self.i == self.j)
        self.at = [
            ((w * d + x) * d + y) * d + z for w, x, y, z in ((i, j, a, b), (b, j, a, i), (i, a, j, b), (b, a, j, i))
        ]
        self.cc = self.c[:, None] * self.c[None, :] / 4

    def vector(self, S: Array) -> Array:
        """The coordinates of a symmetric matrix."""
        return np.asarray(S[self.i, self.j] * self.c)

    def matrix(self, v: Array) -> Array:
        """The symmetric matrix with these coordinates."""
        S = np.empty((self.d, self.d))
        S[self.i, self.j] = S[self.j, self.i] = v / self.c
        return S

    def schur(self, P: Array, Z: Array) -> Array:
        """The matrix of S -> sum_k (P_k S Z_k + Z_k S P_k) / 2, P_k and Z_k symmetric."""
        k = len(P)
        T = (P.reshape(k, -1).T @ Z.reshape(k, -1)).ravel()
        total = T[self.at[0]]
        for at in self.at[1:]:
            total += T[at]
        return np.asarray(total * self.cc)

    def congruence(self, M: Array) -> Array:
        """The matrix of S -> M S M'."""
        i, j, k, m = self.grid
        return np.asarray((M[i, k] * M[j, m] + M[i, m] * M[j, k]) * (2 * self.cc))

    def form(self, F: Array) -> Array:
        """The matrix of the quadratic form sum F_ijkl S_ij S_kl."""
        i, j, k, m = self.grid
        found = (F[i, j, k, m] + F[j, i, k, m] + F[i, j, m, k] + F[j, i, m, k]) * self.cc
        return np.asarray((found + found.T) / 2)


@cache
def symmetric(d: int) -> Symmetric:
    """The coordinates for one size."""
    return Symmetric(d)


@dataclass(frozen=True, eq=False)
class CovarianceCost:
    """tr(W S), or with `absolute` E |N|_1 = sum_j sqrt(2 S_jj / pi), of a covariance S in standardised units.

    `weight`: W; the identity unless a user gives one for the values, which is turned into these units: D W D."""

    weight: Array
    absolute: bool = False

    @staticmethod
    def of(laws: StandardPairs, weight: Array | None, objective: Objective) -> CovarianceCost:
        """A user's weight decides alone; else the objective, every statistic in its own unit."""
        if weight is not None:
            d = laws.dimension
            if weight.shape != (d, d) or not np.isfinite(weight).all() or not (weight == weight.T).all():
                raise UsageError(f"weight must be a symmetric {d} x {d} matrix of finite numbers")
            return CovarianceCost(laws.raw(weight))
        return CovarianceCost(np.eye(laws.dimension), objective == "absolute")

    def value(self, S: Array) -> float:
        """The cost of S."""
        if self.absolute:
            return float(np.sqrt(2 * np.maximum(np.diag(S), 0.0) / math.pi).sum())
        return float((self.weight * S).sum())

    def slope(self, S: Array) -> Array:
        """The gradient in S; a variance next to 0 counts as a little more, where the root has no slope."""
        if self.absolute:
            variances = np.diag(S)
            return np.diag(np.sqrt(0.5 / math.pi / np.maximum(variances, 1e-9 * variances.max())))
        return self.weight

    def bend(self, S: Array) -> Array:
        """The second derivative in S, in coordinates of `symmetric`."""
        at = symmetric(len(S))
        found = np.zeros((len(at.c), len(at.c)))
        if self.absolute:
            variances = np.maximum(np.diag(S), 1e-9 * np.diag(S).max())
            found[at.diagonal, at.diagonal] = -0.5 * np.diag(self.slope(S)) / variances
        return found
