"""The loss between two normal laws of a vector after normal noise, proved for every pair of covariances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import acb, arb, arb_poly, fmpq, fmpq_poly

from fugu.errors import BadBudget, BadLaw, BadNoise, NotProvable
from fugu.guarantee.asks import check_alpha, check_epsilon
from fugu.guarantee.kinds import balle_delta, exact_delta
from fugu.laws.multinormal import Matrix, NormalPair, Row, is_semidefinite, positive_pivots
from fugu.loss.search.normal import FloatSpectrum
from fugu.loss.shifts import ball_delta
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_flint, as_fraction, meant_up

# `prove_normal_delta` bounds sup_S P(S) - e^epsilon Q(S) for P = N(mu_p, V_p + noise), Q = N(mu_q, V_q + noise), both
# orders. Equal covariances: the Gaussian curve at m^2 = d' V^{-1} d, a rational number. Unequal covariances: the
# contour integral of fugu.loss.normal; where that is not enclosed, the best that several Rényi divergences imply. Laws
# on different affine spaces: 1. Nothing is averaged and nothing is taken to be close enough. Proofs:
# docs/proofs/normal-vectors.md.


_PRECISIONS = ((640, 128), (2560, 256))
"""Bits for the eigenvalues, which may nearly coincide, and for the integral."""
_SMALL = 1e-12
_GOOD = 30
"""An enclosure with fewer good bits than this is tried again, and then compared with the Rényi bound."""


def prove_normal_delta(pair: NormalPair, extra: Matrix, epsilon: Fraction) -> float:
    """A float at or above max over both orders of sup_S P(S) - e^epsilon Q(S), with covariance `extra` added to both.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> p = MultivariateNormal([1, 0], [[2, 0.5], [0.5, 1]])
    >>> q = MultivariateNormal([0, 0.5], [[1.5, 0.2], [0.2, 1.2]])
    >>> none = ((Fraction(0),) * 2,) * 2
    >>> round(prove_normal_delta(NormalPair(p, q, "p and q"), none, Fraction(1)), 10)
    0.1727006019
    """
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise BadBudget(
            "epsilon must be finite here; at infinity only a law outside the other's support costs anything"
        )
    gap = common_gap(pair, extra)
    return 1.0 if gap is None else gap_delta(gap, as_fraction(epsilon))


def gap_delta(gap: Gap, epsilon: Fraction) -> float:
    """The same for laws already reduced to coordinates with positive definite covariances."""
    if gap.a == gap.b:
        m2 = squared_shift(gap.d, gap.a) if gap.size else Fraction(0)
        if m2 == 0:
            return 0.0
        return _stated(ball_delta(epsilon, lambda: balls.of(m2).sqrt()))
    return max(order_delta(gap, epsilon), order_delta(gap.reversed, epsilon))


def order_delta(gap: Gap, epsilon: Fraction) -> float:
    """A float at or above sup_S P(S) - e^epsilon Q(S), P = N(d, a), Q = N(0, b): this order only, a != b."""
    least = 1.0
    for bits, working in _PRECISIONS:
        try:
            with balls.precision(bits):
                found = spectrum(gap)
        except NotProvable:
            continue
        with balls.precision(working):
            value = hockey_stick(found, epsilon)
        least = min(least, _stated(value))
        if value.is_zero() or (value.is_finite() and value.rel_accuracy_bits() >= _GOOD):
            return least
        if not value.is_finite():
            with balls.precision(bits):
                peeled = without_near_one(found)
            if peeled is not None:
                with balls.precision(working):
                    least = min(least, _stated(hockey_stick(peeled[0], epsilon) + peeled[1]))
            break
    return min(least, renyi_delta(gap, epsilon))


def renyi_delta(gap: Gap, epsilon: Fraction) -> float:
    """The delta that D_alpha(P || Q) at five orders implies jointly, rounded up; 1 if none is finite. Where it is tiny,
    the least of the closed bounds M(s) e^{-epsilon (s-1)} (s-1)^(s-1) / s^s (Balle et al. 2020, Theorem 21)."""
    with balls.precision(_PRECISIONS[-1][0]):
        try:  # near the s that minimises the one-order bound: the saddle point of the integrand, in doubles
            best = float(np.clip(rough(spectrum(gap)).saddle(float(epsilon)), 1 + 1e-6, 1e9))
        except NotProvable:
            best = 2.0
    orders: dict[Real, Real] = {}
    for stretch in (0.5, 0.8, 1.0, 1.25, 2.0):
        alpha = 1 + Fraction((best - 1) * stretch).limit_denominator(10**6)
        if alpha > 1 and math.isfinite(found := gap_divergence(gap, alpha)):
            orders[alpha] = Fraction(found)
    least = min((balle_delta(alpha, bound, epsilon) for alpha, bound in orders.items()), default=1.0)
    return min(least, exact_delta(orders, epsilon)) if least > _SMALL else least


def normal_divergence(pair: NormalPair, extra: Matrix, alpha: Real) -> float:
    """A float at or above max over both orders of D_alpha, with covariance `extra` added to both; inf where infinite.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> v = [[2, 0.5], [0.5, 1]]
    >>> pair = NormalPair(MultivariateNormal([1, 0], v), MultivariateNormal([0, 0], v), "shift")
    >>> round(normal_divergence(pair, ((Fraction(0),) * 2,) * 2, 2), 12) == round(4 / 7, 12) * 1.0
    True
    """
    check_alpha(alpha)
    gap = common_gap(pair, extra)
    if gap is None or math.isinf(alpha):
        return 0.0 if pair.same else math.inf
    order = as_fraction(alpha)
    return max(gap_divergence(gap, order), gap_divergence(gap.reversed, order))


def gap_divergence(gap: Gap, alpha: Fraction) -> float:
    """A float at or above D_alpha(N(d, a) || N(0, b)); inf unless W = alpha b + (1 - alpha) a is positive definite.

    D_alpha = alpha/2 d' W^{-1} d + ((1-alpha) ln det a + alpha ln det b - ln det W) / (2 (alpha-1)) (Gil, Alajaji and
    Linder 2013, Table 2): positive definiteness, the determinants and the quadratic form are exact rationals."""
    if gap.size == 0:
        return 0.0
    mixed = tuple(
        tuple(alpha * y + (1 - alpha) * x for x, y in zip(r, s, strict=True)) for r, s in zip(gap.a, gap.b, strict=True)
    )
    if not is_semidefinite(mixed, definite=True):
        return math.inf
    with balls.precision(192):
        logs = [arb(as_flint(m).det()).log() for m in (gap.a, gap.b, mixed)]
        order = balls.of(alpha)
        spread = ((1 - order) * logs[0] + order * logs[1] - logs[2]) / (2 * (order - 1))
        found = balls.of(alpha * squared_shift(gap.d, mixed) / 2) + (spread if gap.a != gap.b else 0)
        return meant_up(max(0.0, balls.upper(found)))


def _stated(found: arb) -> float:
    """The upper end as a number that may be handed on; 1 where there is none."""
    top = balls.upper(found)
    return 1.0 if not top < 1 else meant_up(max(0.0, top))


# The hockey-stick divergence of two normal vectors as a contour integral, enclosed in balls.
#
#     delta(e) = (1/pi) Im int_path f(s) ds,   f(s) = M(s) e^{-e (s-1)} / (s (s-1)),
#
# over a path in the upper half plane from a real c, 1 < c < min_{lam > 1} lam/(lam-1), to infinity; M as in
# fugu.loss.search.normal. f is analytic off the real line. Two paths are used, whichever is cheaper:
#
#   up      c -> c + iT; |M(c + it)| decreases in t, so the rest is at most |M(c + iT)| e^{-e (c-1)} / (pi T);
#   across  c -> c + iT -> c + iT -+ R, away from growth: with kappa = -e - 1/2 sum ln lam - 1/2 sum g b, b = 1/(lam-1),
#           |f(x + iT)| <= e^{kappa x + K} / T^2,
#           K = e + 1/2 sum ln(lam / (|lam-1| T)) - 1/2 sum g b^2 + 1/4 sum g lam |b|^3 / T       (no g at lam = 1),
#           so the rest is at most e^{kappa x + K} / (pi |kappa| T^2) at its end x.
#
# Where the path and T, R lie is guessed in doubles; what is returned is proved whatever they are. Proofs:
# docs/proofs/normal-vectors.md#4-the-contour-integral.


_SMALL_EXPONENT = 40.0
"""The path ends where what is left out is e^-40 of the integrand's largest value."""
_EVALUATIONS = 60_000
_TINY = -690.0


def rough(spectrum: Spectrum) -> FloatSpectrum:
    """The spectrum in doubles, to find the path."""
    pairs = spectrum.scales, [(lam, float(g.mid())) for lam, g in spectrum.shifts]
    first, second = (  # lam - 1 as a double above -1
        np.array([(max(float((lam - 1).mid()), -1 + 2.0**-52), float(x)) for lam, x in each]).reshape(-1, 2)
        for each in pairs
    )
    return FloatSpectrum(first[:, 0], first[:, 1], second[:, 0], second[:, 1], float(spectrum.level))


def slope(spectrum: Spectrum, epsilon: Fraction) -> arb:
    """kappa = -e - 1/2 sum k ln lam - 1/2 sum g / (lam - 1), as a ball."""
    total = -balls.of(epsilon)
    for lam, k in spectrum.scales:
        total -= k * lam.log() / 2
    for lam, g in spectrum.shifts:
        total -= g / (lam - 1) / 2
    return total


def hockey_stick(spectrum: Spectrum, epsilon: Fraction) -> arb:
    """delta(epsilon) = sup_S P(S) - e^epsilon Q(S) as a ball; not finite where the integral was not enclosed, and not
    tried where delta is below about 1e-300."""
    bounded = spectrum.level == 0 and all(lam < 1 for lam, _ in spectrum.scales)
    if bounded and slope(spectrum, epsilon) <= 0:  # p <= e^epsilon q everywhere: sup L = kappa + e <= e
        return arb(0)
    near = rough(spectrum)
    e = float(epsilon)
    c = near.saddle(e)
    start = arb(c)
    if not start > 1 or not all(lam - (lam - 1) * start > 0 for lam, _ in (*spectrum.scales, *spectrum.shifts)):
        return arb("nan")
    top = float(np.real(near.log_integrand(np.array([c + 0j]), e))[0])
    if not top > _TINY:
        return arb("nan")
    height, across = _path(near, c, e)
    peak = arb(top)
    total = _between(spectrum, epsilon, peak, acb(start), acb(start, height), near.width(c))
    kappa = slope(spectrum, epsilon)
    if across is None:
        moment = _log_moment(spectrum, _volume(spectrum), acb(start, height), False)
        log_size = moment.real - balls.of(epsilon) * (start - 1) - peak
        rest = log_size.exp() / height
    else:
        end = start + across
        if spectrum.level != 0 or not (kappa < 0 if across > 0 else kappa > 0):
            return arb("nan")
        total += _between(spectrum, epsilon, peak, acb(start, height), acb(end, height), near.width(c))
        offset, up = balls.of(epsilon), arb(height)  # K of the text above
        for lam, k in spectrum.scales:
            offset += k * (lam / (abs(lam - 1) * up)).log() / 2
        for lam, g in spectrum.shifts:
            b = 1 / (lam - 1)
            offset += g * (lam * abs(b) ** 3 / (4 * up) - b * b / 2)
        rest = (kappa * end + offset - peak).exp() / (abs(kappa) * up**2)
    if not total.is_finite() or not rest.is_finite():
        return arb("nan")
    return (total.imag + arb(0, rest.upper())) * peak.exp() / arb.pi()


def without_near_one(spectrum: Spectrum, near: Fraction = Fraction(1, 10**5)) -> tuple[Spectrum, arb] | None:
    """The spectrum without its eigenvalues within `near` of 1, and what dropping them adds to delta at most.

    P = P1 x P2, Q = Q1 x Q2 gives HS_e(P || Q) <= HS_e(P1 || Q1) + TV(P2, Q2), and by Pinsker TV <= sqrt(KL / 2) with
    KL(P2 || Q2) = 1/2 sum (lam - 1 - ln lam) + 1/2 sum g. None if an eigenvalue is on neither side for sure, or if
    nothing would be dropped or left."""
    limit = balls.of(near)
    sizes = [abs(lam - 1) for lam, _ in (*spectrum.scales, *spectrum.shifts)]
    if not all(x < limit or x > limit for x in sizes):
        return None
    scales = tuple((lam, k) for lam, k in spectrum.scales if abs(lam - 1) > limit)
    shifts = tuple((lam, g) for lam, g in spectrum.shifts if abs(lam - 1) > limit)
    if not scales or len(scales) == len(spectrum.scales):
        return None
    twice = sum((k * (lam - 1 - lam.log()) for lam, k in spectrum.scales if abs(lam - 1) < limit), arb(0))
    twice += sum((g for lam, g in spectrum.shifts if abs(lam - 1) < limit), arb(0))
    return Spectrum(scales, shifts, spectrum.level), twice.sqrt() / 2


def _between(spectrum: Spectrum, epsilon: Fraction, peak: arb, start: acb, end: acb, width: float) -> acb:
    """int f(s) e^{-peak} ds along the segment, enclosed."""
    shift, volume = balls.of(epsilon), _volume(spectrum)

    def integrand(s: acb, analytic: bool) -> acb:
        return (_log_moment(spectrum, volume, s, analytic) - shift * (s - 1) - peak).exp() / (s * (s - 1))

    return acb.integral(
        integrand, start, end, rel_tol=arb(2) ** -46, abs_tol=arb(width) * arb(2) ** -50, eval_limit=_EVALUATIONS
    )


def _volume(spectrum: Spectrum) -> arb:
    """sum k ln lam = ln det A - ln det B."""
    return sum((k * lam.log() for lam, k in spectrum.scales), arb(0))


def _log_moment(spectrum: Spectrum, volume: arb, s: acb, analytic: bool) -> acb:
    """ln M(s) = 1/2 sum k ((1-s) ln lam - ln den) + s (s-1)/2 (level + sum g / den); den avoids the cut of ln off the
    real line and between the cuts of M, so principal logarithms are the analytic ones."""
    back = 1 - s
    total, pull = back * volume, acb(balls.of(spectrum.level))
    for lam, k in spectrum.scales:
        total -= k * (1 + back * (lam - 1)).log(analytic=analytic)  # s once, or wide balls would reach 0
    for lam, g in spectrum.shifts:
        pull += g / (1 + back * (lam - 1))
    return (total - s * back * pull) / 2


def _path(near: FloatSpectrum, c: float, epsilon: float) -> tuple[float, float | None]:
    """T, and the signed length of the way across or None, with the least number of turns and halvings guessed."""
    kappa, width = near.slope(epsilon), near.width(c)
    peak = float(np.real(near.log_integrand(np.array([c + 0j]), epsilon))[0])
    heights = width * 2.0 ** np.arange(0, 60, 0.5)
    with np.errstate(all="ignore"):
        left = (
            np.real(near.log_moment(np.asarray(c + 1j * heights, dtype=np.complex128)))
            - epsilon * (c - 1)
            - np.log(heights)
            - peak
        )
        left = left - math.log(width)
        turns = abs(kappa) * heights / 6 if near.level == 0 else np.zeros(heights.shape)
        cost = np.where(left < -_SMALL_EXPONENT, turns + np.log2(heights / width), np.inf)
    best = int(np.argmin(cost))
    found: tuple[float, float | None] = (float(heights[best]), None)
    if near.level > 0 or kappa == 0 or not math.isfinite(kappa):
        return found
    b = 1 / near.at
    with np.errstate(all="ignore"):
        offset = epsilon + np.sum(near.times * np.log((1 + near.scales) / np.abs(near.scales))) / 2
        offset = offset - near.times.sum() / 2 * np.log(heights) - np.sum(near.shifts * b * b) / 2
        offset = offset + np.sum(near.shifts * (1 + near.at) * np.abs(b) ** 3) / (4 * heights)
        lengths = (
            kappa * c + offset - math.log(abs(kappa)) - 2 * np.log(heights) - peak + _SMALL_EXPONENT - math.log(width)
        ) / abs(kappa)
        lengths = np.maximum(lengths, width)
        other = abs(kappa) * heights / 6 + abs(kappa) * lengths / 6 + np.log2(1 + lengths / heights) + 2
        other[~np.isfinite(other)] = np.inf
    least = int(np.argmin(other))
    if other[least] < cost[best]:
        found = float(heights[least]), math.copysign(float(lengths[least]), -kappa)
    return found


@dataclass(frozen=True)
class Gap:
    """N(d, a) against N(0, b), a and b positive definite with rational entries."""

    d: Row
    a: Matrix
    b: Matrix

    @property
    def size(self) -> int:
        """The number of coordinates that vary."""
        return len(self.d)

    @property
    def reversed(self) -> Gap:
        """The two laws swapped."""
        return Gap(tuple(-x for x in self.d), self.b, self.a)


@dataclass(frozen=True)
class Spectrum:
    """(lam, multiplicity) and (lam, g) for the eigenvalues lam != 1 of B^{-1} A; `level` is g at the eigenvalue 1."""

    scales: tuple[tuple[arb, int], ...]
    shifts: tuple[tuple[arb, arb], ...]
    level: Fraction


def common_gap(pair: NormalPair, extra: Matrix) -> Gap | None:
    """The pair with covariance `extra` added to both, on coordinates that determine the rest; None if singular.

    Both laws live on an affine space. If the ranges of the covariances differ, or the difference of the means is not in
    them, one of the laws gives the other's space probability 0: no epsilon has a delta below 1. All decided exactly."""
    n = pair.p.dimension
    if pair.q.dimension != n:
        raise BadLaw(f"the two laws have {n} and {pair.q.dimension} coordinates; compare laws of the same vector")
    if len(extra) != n or any(len(row) != n for row in extra):
        raise BadNoise(f"the noise covariance must have {n} rows of {n} numbers, like the laws")
    if any(extra[i][j] != extra[j][i] for i in range(n) for j in range(i)) or not is_semidefinite(extra):
        raise BadNoise("the noise covariance must be symmetric and positive semidefinite")
    a, b = (
        tuple(tuple(x + y for x, y in zip(r, s, strict=True)) for r, s in zip(cov, extra, strict=True))
        for cov in (pair.p.cov, pair.q.cov)
    )
    return supported(pair.difference, a, b)


def supported(d: Row, a: Matrix, b: Matrix) -> Gap | None:
    """The Gap on the coordinates of positive pivots of a, or None if N(d, a) and N(0, b) have different supports."""
    n = len(d)
    keep = positive_pivots(a)
    assert keep is not None
    joined = as_flint([[*a[i], *b[i], d[i]] for i in range(n)])
    if not joined.rank() == as_flint(b).rank() == len(keep):
        return None
    left, right = (tuple(tuple(m[i][j] for j in keep) for i in keep) for m in (a, b))
    return Gap(tuple(d[i] for i in keep), left, right)


def squared_shift(d: Row, v: Matrix) -> Fraction:
    """d' v^{-1} d, exactly."""
    column = as_flint([[x] for x in d])
    return _fraction((column.transpose() * as_flint(v).solve(column))[0, 0])


def spectrum(gap: Gap) -> Spectrum:
    """Eigenvalues and shifts of the gap as balls at the working precision."""
    a, b = as_flint(gap.a), as_flint(gap.b)
    column = as_flint([[x] for x in gap.d])
    inverse = b.inv()
    chi = (inverse * a).charpoly()
    above = (inverse * (a + column * column.transpose())).charpoly() - chi
    common = above.gcd(chi)
    top, bottom = (above / common, chi / common) if not above.is_zero() else (above, fmpq_poly([1]))
    level = Fraction(0)
    line = fmpq_poly([-1, 1])
    if bottom(1) == 0:
        level = -_fraction(top(1) / bottom.derivative()(1))
    while chi(1) == 0:
        chi = chi / line
    numerator, slope = (arb_poly([arb(c) for c in poly.coeffs()]) for poly in (top, bottom.derivative()))
    rest = bottom / line if bottom(1) == 0 else bottom
    shifts = tuple((lam, -numerator(lam) / slope(lam)) for lam, _ in _roots(rest))
    found = Spectrum(tuple(_roots(chi)), shifts, level)
    if not all(lam > 0 for lam, _ in found.scales) or not all(g > 0 for _, g in shifts):
        raise NotProvable("the covariances are too close to singular for the working precision")
    return found


def _roots(poly: fmpq_poly) -> list[tuple[arb, int]]:
    """The roots of a polynomial all of whose roots are real, with their multiplicities."""
    if poly.degree() < 1:
        return []
    found: Any = poly.numer().complex_roots()
    return [(r.real, int(k)) for r, k in found]


def _fraction(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))
