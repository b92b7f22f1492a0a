"""Generalised Cauchy noise under a shift: F_k(nu, w) = exp((a-1) D_a) with nu = k (a-1) / 2 and w = (shift / scale)^2.

With x = scale tan t, and w = z^2,

    F = E (1 + z sin 2t + w cos^2 t)^nu,  cos^2 t ~ Beta((k-1)/2, 1/2)
      = 3F2(-nu, nu + k/2, (k-1)/2; k/4, k/4 + 1/2; -w/4)                                  (w < 4)
      = 1 + sum over 1 <= j <= nu of C(nu,j) ((k-1)/2)_j (nu + k/2)_j / (k/2)_{2j} w^j    (whole nu).

For whole nu this is expansion and Beta moments. For real nu: near w = 0 both sides are power series in z (the odd
powers vanish, as t and -t are alike), and the coefficient of each power is a polynomial in nu on both sides. These
agree at all whole nu, so they are equal; both sides are analytic in 0 <= z < 2, so they agree there. All coefficients
are positive for whole nu. For k = 2, F = P_nu(1 + w/2), the Legendre function, for every w. (The paper's Lemma D.1
prints the argument 1 + z^2 / lambda^2 for a rate lambda, which is false.)
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import acb, arb, ctx, fmpz, fmpz_poly

from fugu.errors import NotProvable
from fugu.noise.cauchy import peak
from fugu.numbers import balls

MOST_TERMS = 5_000
"""The largest nu that is summed or integrated."""
_WIDEST = 2**64
_MOST_ROOTS = 64  # degree up to which the roots are isolated


def ratios(k: Fraction, nu: int) -> list[Fraction]:
    """r_0 .. r_{nu-1}, all positive, with F = 1 + r_0 w (1 + r_1 w (1 + ...)).

    r_j = (nu - j) ((k-1)/2 + j) (nu + k/2 + j) / ((j + 1) (k/2 + 2j) (k/2 + 2j + 1)).

    >>> ratios(Fraction(2), 1)  # F = 1 + w/2 = P_1(1 + w/2)
    [Fraction(1, 2)]
    """
    h = k / 2
    return [
        (nu - j) * (h - Fraction(1, 2) + j) * (nu + h + j) / ((j + 1) * (h + 2 * j) * (h + 2 * j + 1))
        for j in range(nu)
    ]


@lru_cache(maxsize=4096)
def moment(k: Fraction, nu: Fraction, w: Fraction, bits: int) -> arb:
    """F_k(nu, w) as a ball, at a working precision of `bits`, for real k > 1, nu > 0, w >= 0."""
    if nu > MOST_TERMS:
        raise NotProvable(f"tail (alpha - 1) / 2 = {float(nu):g} is above {MOST_TERMS}; take a smaller alpha, or inf")
    with balls.precision(bits):
        x = balls.of(w)
        if nu.denominator == 1:
            total = arb(1)
            for r in reversed(ratios(k, int(nu))):
                total = 1 + balls.of(r) * x * total
            return total
        if w <= 1:
            top: list[Any] = [acb(balls.of(c)) for c in (-nu, nu + k / 2, (k - 1) / 2)]
            bottom: list[Any] = [acb(balls.of(c)) for c in (k / 4, k / 4 + Fraction(1, 2))]
            return acb(-x / 4).hypgeom(top, bottom).real
        if k == 2:
            legendre = acb(1 + x / 2).legendre_p(acb(balls.of(nu))).real
            if legendre.is_finite() and legendre.rel_accuracy_bits() > bits // 2:
                return legendre
        if w > _WIDEST:
            raise NotProvable("a shift of more than 2^32 scales is integrated only if tail (alpha - 1) / 2 is whole")
        return _integral(k, nu, x.sqrt())


def _integral(k: Fraction, nu: Fraction, z: arb) -> arb:
    """F = beta integral of cosh(x)^(1-k) q(x)^nu dx, q = (1 + (sinh x + z)^2) / cosh(x)^2, in balls.

    (tan t = sinh x.) Beyond |x| = X, with y = sinh X, |q - 1| <= 2 z / y + z^2 / y^2; and the integral of cosh^(1-k)
    from X is 2^(k-1) e^{-(k-1) X} / (k-1) times a number in [(1 + e^{-2X})^{-(k-1)}, 1].
    """
    power, order = balls.of(k - 1), balls.of(nu)

    def integrand(x: acb, analytic: bool) -> acb:
        flat = x.cosh().log(analytic=analytic)
        bent = (1 + (x.sinh() + z) ** 2).log(analytic=analytic)
        return (order * (bent - 2 * flat) - power * flat).exp()

    end = math.ceil(0.45 * ctx.prec + balls.upper((2 + z).log()) + balls.upper((2 + order).log()))
    goal = arb(2) ** (-9 * ctx.prec // 16)
    inside = acb.integral(integrand, -end, end, rel_tol=goal, abs_tol=goal).real
    y = arb(end).sinh()
    off = (2 * z / y + (z / y) ** 2).upper()
    bend = ((1 + arb(0, 1) * off).log() * order).exp()
    slack = (-power * (-2 * arb(end)).exp().log1p()).exp()
    rest = 2 * (power * (arb(2).log() - end)).exp() / power * slack.union(arb(1)) * bend
    return peak(k) * (inside + rest)


def legendre_bound(k: Fraction, nu: int, w: Fraction, bits: int) -> arb:
    """sqrt(pi) Gamma(k/2) / Gamma((k-1)/2) P_nu(1 + w/2) >= F_k(nu, w), for k >= 2 only.

    Drops cos^(k-2) t <= 1. For k < 2 that factor is above 1 and the inequality fails (k = 1.5, nu = 1, w = 1).
    """
    if k < 2:
        raise NotProvable("the Legendre bound needs a tail exponent of at least 2")
    with balls.precision(bits):
        return peak(k) * arb.pi() * moment(Fraction(2), Fraction(nu), w, bits)


@lru_cache(maxsize=256)
def log_concave(k: Fraction, nu: int) -> bool:
    """Whether w -> log F_k(nu, w) is proved concave on w >= 0, for whole nu.

    F has positive coefficients, so if all its roots are real it is a product of factors 1 + w / r with r > 0.
    Even k: for d = k/4 (k = 2 mod 4) or d = k/4 + 1/2 (k = 0 mod 4) the number m = (k-1)/2 - d is whole and >= 0, and
    ((k-1)/2)_j / (d)_j = (d + j)_m / (d)_m is a polynomial in j with negative roots only. As a factor of the j-th
    coefficient it keeps roots real (Laguerre). Without it, F is 2F1(-nu, nu + k/2; d'; -w/4) with d' the other of the
    two numbers, a Jacobi polynomial of parameters d' - 1 > -1 and k/2 - d' > -1: real roots. Other k: the roots are
    isolated in balls.
    """
    if nu == 1 or (k.denominator == 1 and k % 2 == 0):
        return True
    if nu > _MOST_ROOTS:
        return False
    coefficients = [Fraction(1)]
    for r in ratios(k, nu):
        coefficients.append(coefficients[-1] * r)
    common = math.lcm(*(c.denominator for c in coefficients))
    polynomial = fmpz_poly([fmpz(int(c * common)) for c in coefficients])
    roots: list[Any] = list(polynomial.complex_roots())
    return all(root.imag.is_zero() for root, _ in roots)
