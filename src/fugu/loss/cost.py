"""The transport cost of joint convexity, c(u) = exp((a-1) D_a(noise shifted by u || noise))."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from flint import acb, arb, ctx, fmpz, fmpz_poly
from numpy.typing import NDArray

from fugu.errors import BadBudget, BadNoise, NotProvable, UsageError
from fugu.noise.cauchy import CustomNoise, GeneralizedCauchy, peak
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Noise
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction

# The transport cost of joint convexity: c(u) = exp((a-1) h_a(|u|)), h_a(u) = D_a(noise shifted by u || noise).
#
# For every coupling pi of two laws, exp((a-1) D_a(P + N || Q + N)) <= E_pi c(X - Y): P, Q -> integral of P^a Q^(1-a) is
# jointly convex. For vectors with independent noise in each coordinate, log c is the sum over the coordinates.
#
# Laplace, u = |shift| / scale:  c = A e^{(a-1) u} + B e^{-a u}, with A + B = 1, A >= 1/2 >= B > 0.
#   Continuous: A = a / (2a-1). On a lattice of rate r, q = e^-r, s = q^(2a-1): A = (1 - s q) / ((1 + q) (1 - s)), the
#   sum
#   over j of (1-q)/(1+q) q^(a|j-k| + (1-a)|j|): two geometric tails and a geometric middle. u = r k.
#   With e2(x) = e^x - 1 - x >= 0 and m = (a-1) A - a B,
#
#       c - 1 = A e2((a-1) u) + B e2(-a u) + m u,
#
#   and m >= 0: it is 0 in the continuous case, and ((a-1) (1 - q^(2a)) - a (q - s)) / ((1+q) (1-s)) on a lattice; the
#   numerator is 2 q^a ((a-1) sinh(a r) - a sinh((a-1) r)), and sinh(x)/x increases. So c is convex in u, on both sides
#   of 0 and across it, and log c is convex (log-sum-exp) with log c = 0 at 0.
# Gaussian: log c = a (a-1) u^2 / (2 scale^2). On a lattice this is an upper bound, exact where a u / grid is whole
#   (Canonne, Kamath and Steinke 2020, Proposition 5); c is then this bound.
# Generalised Cauchy: `fugu.loss.cost`; convex in u if nu = k (a-1) / 2 >= 1/2, where c = E ||(sin t - u cos t,
#   cos t)||^(2 nu) is a mean of convex functions.


ShiftNoise = Noise | CustomNoise
_NEAR = 1e-9  # a distance this close (relatively, or in steps) to a whole number of lattice steps is that number


def finite_order(alpha: Real) -> Fraction:
    """alpha as an exact number above 1; inf has no transport cost (use `fugu.loss.shifts.shift_renyi`)."""
    order = checked_order(alpha)
    if order is None:
        raise BadBudget("the transport cost needs a finite alpha; for alpha = inf use shift_renyi")
    return order


def checked_order(alpha: Real) -> Fraction | None:
    """alpha as an exact number above 1, None for inf."""
    if not isinstance(alpha, int | float | Fraction) or isinstance(alpha, bool) or not alpha > 1:
        raise BadBudget(f"alpha must be a number above 1, got {alpha!r}")
    return None if alpha == math.inf else as_fraction(alpha)


def refined(compute: Callable[[int], arb], bits: int = 60) -> arb:
    """compute(precision) at growing precision until the ball is good to that many bits (relatively)."""
    for precision in (128, 256, 512, 1024, 2560):
        with balls.precision(precision):
            found = compute(precision)
        if found.is_zero() or found.rel_accuracy_bits() >= bits or (precision > 128 and not found.is_finite()):
            break
    return found


def laplace_weights(noise: Laplace, a: Fraction) -> tuple[arb, arb, arb]:
    """A, B and m of the module's formula, as balls at the working precision."""
    if noise.grid is None:
        return balls.of(a / (2 * a - 1)), balls.of((a - 1) / (2 * a - 1)), arb(0)
    r = balls.of(noise.rate)
    q, s = (-r).exp(), (balls.of(1 - 2 * a) * r).exp()
    below = (1 + q) * -(balls.of(1 - 2 * a) * r).expm1()
    bend = -balls.of(a - 1) * (balls.of(-2 * a) * r).expm1() - balls.of(a) * (q - s)
    return (1 - s * q) / below, (q - s) / below, bend / below


def laplace_log(noise: Laplace, a: Fraction, u: arb) -> arb:
    """log c at u = |shift| / scale >= 0, as a ball; for a large u as log A + (a-1) u + log1p(B/A e^{-(2a-1) u})."""
    big, small, _ = laplace_weights(noise, a)
    up, down = balls.of(a - 1) * u, balls.of(-a) * u
    if up > 64:
        return big.log() + up + (small / big * (down - up).exp()).log1p()
    return (big * up.expm1() + small * down.expm1()).log1p()


def ball_log_cost(noise: ShiftNoise, alpha: Real, distance: Real) -> arb:
    """log c(distance) = (alpha - 1) h_alpha(|distance|) as a ball (lattice Gaussian: of the upper bound above).

    With a grid the distance is a whole number of steps, in the unit of the values. For a custom noise the larger of
    both signs, a ball whose upper end includes the declared tail.

    >>> float(ball_log_cost(Gaussian(1), 2, 1).mid())
    1.0
    """
    a, z = finite_order(alpha), abs(as_fraction(distance))
    if isinstance(noise, CustomNoise):
        from fugu.loss.shifts import log_moment

        return arb(0) if z == 0 else log_moment(noise, a, z).max(log_moment(noise, a, -z))
    if not isinstance(noise, Noise):
        raise BadNoise(f"no cost under a shift is known for {type(noise).__name__}")
    if z == 0 or noise.scale == 0:
        return arb(0) if z == 0 else arb.pos_inf()
    if noise.grid is not None and (z / noise.grid).denominator != 1:
        raise BadNoise("on a lattice a shift is a whole number of steps; round the values onto the grid first")
    if not isinstance(noise, Laplace | Gaussian | GeneralizedCauchy):
        with balls.precision(128):
            # A distance as a whole number of steps of lattice noise
            if noise.grid is None:
                raise BadNoise(f"what a shift costs is known for {noise.name} noise on a lattice only")
            return balls.of(a - 1) * noise.shift(int(z / noise.grid), a)
    u = z / as_fraction(noise.scale)
    if isinstance(noise, Gaussian):
        with balls.precision(128):
            return balls.of(a * (a - 1) * u**2 / 2)
    if isinstance(noise, Laplace):
        return refined(lambda _: laplace_log(noise, a, balls.of(u)))
    k = as_fraction(noise.tail)
    return refined(lambda bits: moment(k, k * (a - 1) / 2, u**2, bits).log())


def log_cost(noise: ShiftNoise, alpha: Real, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """log c at each |distance|, in doubles: within 512 roundings, of Cauchy noise of whole nu 8 nu + 64, provided that
    numpy's exp, expm1, log and log1p are within 4 ulp.

    Fast for Laplace, Gaussian and, for whole nu, Cauchy noise; for other nu one ball for each different distance.

    >>> log_cost(Laplace(1), 2, np.array([0.0, 1.0, 1e-8, 1e6])).tolist()  # doctest: +ELLIPSIS
    [0.0, 0.619123629998..., 9.99999...e-17, 999999.59453489...]
    """
    a = finite_order(alpha)
    if isinstance(noise, CustomNoise):
        raise NotProvable("a custom noise has no fast cost; use ball_log_cost")
    z = np.abs(np.asarray(distances, dtype=np.float64))
    if np.isnan(z).any():
        raise UsageError("a distance is not a number")
    if noise.scale == 0:
        return np.where(z > 0, np.inf, 0.0)
    if noise.grid is not None:
        # The distances in steps of the grid; refused unless they are whole to a relative 1e-9
        steps = z * float(1 / noise.grid)
        whole = np.rint(steps)
        finite = np.isfinite(steps)
        if not np.all(np.abs(steps - whole)[finite] <= _NEAR * np.maximum(1, whole)[finite]):
            raise BadNoise("on a lattice a shift is a whole number of steps; round the values onto the grid first")
        z = whole
    unit = noise.scale if noise.grid is None else as_fraction(noise.scale) / noise.grid
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(noise, Gaussian):
            u = z / float(unit)
            return float(a * (a - 1) / 2) * u * u
        if isinstance(noise, Laplace):
            return _laplace(noise, a, z / float(unit))
        if not isinstance(noise, GeneralizedCauchy):
            raise NotProvable(f"what a shift of {noise.name} noise costs has no closed form; use ball_log_cost")
        k = as_fraction(noise.tail)
        nu = k * (a - 1) / 2
        if nu.denominator == 1:
            # log(1 + r_0 w (1 + r_1 w (...))): Horner where that stays in range, else the same in logarithms
            r, w = ratios(k, int(nu)), (z / float(unit)) ** 2
            plain, logs = np.ones_like(w), np.zeros_like(w)
            with np.errstate(divide="ignore", invalid="ignore"):
                log_w = np.log(w)
                for ratio in reversed(r[1:]):
                    plain = 1 + float(ratio) * w * plain
                    logs = np.logaddexp(0.0, math.log(ratio) + log_w + logs)
                plain = float(r[0]) * w * plain
                logs = np.logaddexp(0.0, math.log(r[0]) + log_w + logs)
            return np.where(plain < 1e300, np.log1p(plain), logs)
        found, where = np.unique(z, return_inverse=True)
        each = [float(ball_log_cost(noise, alpha, Fraction(d)).mid()) if d < math.inf else d for d in found.tolist()]
        return np.array(each, dtype=np.float64)[where].reshape(z.shape)


def _laplace(noise: Laplace, a: Fraction, u: NDArray[np.float64]) -> NDArray[np.float64]:
    """log c by the positive sum of the module's formula, or for (a-1) u > 30 from log A + (a-1) u."""
    weights = [refined(lambda _, i=i: laplace_weights(noise, a)[i]) for i in range(3)]  # type: ignore[misc]
    big, small, bend = (float(x.mid()) for x in weights)
    up, down = float(a - 1) * u, -float(a) * u
    near = np.minimum(up, 30.0)
    close = np.log1p(big * _e2(near) + small * _e2(np.where(up > 30, 0.0, down)) + bend * np.where(up > 30, 0.0, u))
    far = math.log(big) + up + np.log1p(small / big * np.exp(down - up))
    return np.where(up > 30, far, close)


def _e2(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """e^x - 1 - x, relatively accurate: Taylor for |x| < 1 (the rest is below 2^-57 of it), else the difference."""
    inner = np.where(np.abs(x) < 1, x, 0.0)
    series = np.ones_like(inner)
    for n in range(20, 2, -1):
        series = 1 + inner / n * series
    return np.where(np.abs(x) < 1, inner * inner / 2 * series, np.expm1(x) - x)


# Generalised Cauchy noise under a shift: F_k(nu, w) = exp((a-1) D_a) with nu = k (a-1) / 2 and w = (shift / scale)^2.
#
# With x = scale tan t, and w = z^2,
#
#     F = E (1 + z sin 2t + w cos^2 t)^nu,  cos^2 t ~ Beta((k-1)/2, 1/2)
#       = 3F2(-nu, nu + k/2, (k-1)/2; k/4, k/4 + 1/2; -w/4)                                  (w < 4)
#       = 1 + sum over 1 <= j <= nu of C(nu,j) ((k-1)/2)_j (nu + k/2)_j / (k/2)_{2j} w^j    (whole nu).
#
# For whole nu this is expansion and Beta moments. For real nu: near w = 0 both sides are power series in z (the odd
# powers vanish, as t and -t are alike), and the coefficient of each power is a polynomial in nu on both sides. These
# agree at all whole nu, so they are equal; both sides are analytic in 0 <= z < 2, so they agree there. All coefficients
# are positive for whole nu. For k = 2, F = P_nu(1 + w/2), the Legendre function, for every w. (The paper's Lemma D.1
# prints the argument 1 + z^2 / lambda^2 for a rate lambda, which is false.)


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
