"""R_a(noise, z) = sup over ||x|| <= z of D_a(noise shifted by x || noise): what a shift by at most z leaks.

| noise         | norm of x | R_a, independent noise in each of d coordinates                                    |
|---------------|-----------|------------------------------------------------------------------------------------|
| Laplace       | 1         | h(z): h is convex with h(0) = 0, hence superadditive, so a vertex is worst         |
| Laplace       | 2         | d h(z / sqrt d): h'' decreases and h'(0) >= 0, so h(sqrt u) is concave: equal split|
| Gaussian      | 2         | a z^2 / (2 scale^2)                                                                |
| Gaussian      | 1         | the same: the l1 ball lies in the l2 ball and shares its vertices                  |
| Cauchy        | d = 1     | log F(z^2 / scale^2) / (a-1)                                                       |
| Cauchy, k >= 2| 2         | d log F(z^2 / (d scale^2)) / (a-1) where log F is proved concave (whole nu)        |

In one dimension D_a does not decrease in |x| for any symmetric unimodal noise, on a lattice or not (for C > 0 both p^a
and C - min(p^(1-a), C) are symmetric and non-increasing, and so is their convolution; let C grow): the end is worst.
D_a does not decrease in a: a Cauchy order with fractional nu = k (a-1) / 2 is raised to the next whole one (d > 1).
a = inf: Laplace z / scale (l1), sqrt(d) z / scale (l2); Gaussian inf; Cauchy d k arcsinh(z / (2 d scale)) (l1) and
d k arcsinh(z / (2 sqrt(d) scale)) (l2), as arcsinh(u) and arcsinh(sqrt u) are concave.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.errors import BadNoise, NotProvable, UsageError
from fugu.guarantee import pure_as_renyi
from fugu.loss.shifts.cauchy import MOST_TERMS, legendre_bound, log_concave, moment
from fugu.loss.shifts.cost import ShiftNoise, ball_log_cost, checked_order, laplace_log, refined
from fugu.loss.shifts.custom import custom_renyi
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.custom import CustomNoise
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up

_SMOOTH = Fraction(1, 10)  # below this decay per squared step the theta ratio is within e^-97 of 1
_FAR = 2**32
_NORMS = {Laplace: 1, Gaussian: 2, GeneralizedCauchy: 2, CustomNoise: 2}


def shift_renyi(noise: ShiftNoise, distance: Real, alpha: Real, dimension: int = 1, norm: int | None = None) -> float:
    """A float at or above R_alpha(noise, distance); the norm is the noise's own unless another is proved.

    On a lattice a distance in one dimension, or in the l1 norm, is a whole number of steps.

    >>> shift_renyi(Gaussian(0.1), 0.3, 10), round(shift_renyi(Laplace(1), 1, 2, dimension=4, norm=2), 12)
    (45.0, 0.801215584694)
    """
    a = checked_order(alpha)
    if type(noise) not in _NORMS:
        raise BadNoise(f"no divergence under a shift is known for {type(noise).__name__}")
    if not isinstance(dimension, int) or isinstance(dimension, bool) or dimension < 1:
        raise UsageError(f"a dimension is a whole number >= 1, got {dimension!r}")
    if norm not in (None, 1, 2):
        raise UsageError(f"the norm of a shift is 1 or 2, or None for the noise's own, got {norm!r}")
    if not isinstance(distance, int | float | Fraction) or isinstance(distance, bool) or not distance >= 0:
        raise UsageError(f"a distance must be a number >= 0, got {distance!r}")
    nothing = not isinstance(noise, CustomNoise) and noise.scale == 0
    if nothing or distance in (0, math.inf):
        return math.inf if distance else 0.0
    z, norm = as_fraction(distance), norm or _NORMS[type(noise)]
    if isinstance(noise, CustomNoise):
        return custom_renyi(noise, z, a, dimension)
    if noise.grid is not None and (dimension == 1 or norm == 1) and (z / noise.grid).denominator != 1:
        raise BadNoise("on a lattice a shift is a whole number of steps; round the values onto the grid first")
    if isinstance(noise, Laplace):
        return _laplace(noise, z, a, dimension if norm == 2 else 1)
    if isinstance(noise, Gaussian):
        return _gaussian(noise, z, a, dimension)
    return _cauchy(noise, z, a, dimension, norm)


def _laplace(noise: Laplace, z: Fraction, a: Fraction | None, split: int) -> float:
    """split * h(z / sqrt(split)); on a lattice and split > 1 the sup over all real shifts of the same formula."""
    u = z / as_fraction(noise.scale)
    if a is None:
        return float_up(u) if split == 1 else balls.upper(refined(lambda _: balls.of(u**2 * split).sqrt()))
    order = a
    found = refined(lambda _: laplace_log(noise, order, balls.of(u**2 / split).sqrt() if split > 1 else balls.of(u)))
    with balls.precision(128):
        return balls.upper(found * split / balls.of(a - 1))


def _gaussian(noise: Gaussian, z: Fraction, a: Fraction | None, dimension: int) -> float:
    """a z^2 / (2 scale^2); on a lattice, in one dimension, less the exact deficit of `_theta_deficit`."""
    if a is None:
        return math.inf
    smooth = a * (z / as_fraction(noise.scale)) ** 2 / 2
    if noise.grid is None or dimension > 1 or noise.precision < _SMOOTH:
        return float_up(smooth)
    part = a * z / noise.grid
    off = abs(part - round(part))
    if off == 0:
        return float_up(smooth)
    order, decay = a, noise.precision
    return balls.upper(refined(lambda bits: balls.of(smooth) - _theta_deficit(decay, off, bits) / balls.of(order - 1)))


def _theta_deficit(c: Fraction, t: Fraction, bits: int) -> arb:
    """log theta(0) - log theta(t) >= 0 for theta(t) = sum over j of e^{-c (j-t)^2} and 0 <= t <= 1/2, as a ball.

    The sum over j of p(j-k)^a p(j)^(1-a) for p ~ e^{-c j^2} is e^{c a (a-1) k^2} theta(a k) / theta(0), theta of period
    1 and even (Canonne, Kamath and Steinke 2020). theta(t) e^{c t^2} = sum of e^{-c (j^2 - 2 j t)}; beyond |j| = m the
    exponent is at most -c m |j|, so the rest is at most 2 e^{-c m (m+1)} / (1 - e^{-c m}).
    """
    m = math.isqrt(math.ceil(bits / c)) + 2
    rate = balls.of(c)
    rest = (2 * (-rate * (m * (m + 1))).exp() / -(-rate * m).expm1()).upper() * arb(0.5, 0.5)

    def total(by: Fraction) -> arb:
        return sum(((balls.of(-c * (j * j - 2 * j * by))).exp() for j in range(-m, m + 1)), rest)

    return balls.of(c * t * t) + (total(Fraction(0)) / total(t)).log()


def _cauchy(noise: GeneralizedCauchy, z: Fraction, a: Fraction | None, d: int, norm: int) -> float:
    """The table above; where log F is not proved concave, the lesser of the Legendre bound and what R_inf implies.

    That alone for nu beyond `MOST_TERMS`, or fractional nu and a shift beyond 2^32 scales: D_a <= D_inf, and a pair
    that is e-pure has D_a <= `pure_as_renyi(e, a)`.
    """
    k, u = as_fraction(noise.tail), z / as_fraction(noise.scale)
    if a is None:
        return balls.upper(_cauchy_pure(k, u, d, norm))
    pure = balls.upper(_cauchy_pure(k, u, d, norm))
    implied = min(pure, pure_as_renyi(Fraction(pure), a)) if pure < math.inf else pure
    nu = k * (a - 1) / 2
    if d == 1 and (nu > MOST_TERMS or (u > _FAR and nu.denominator > 1)):
        return implied
    if d == 1:
        with balls.precision(128):
            return min(implied, balls.upper(ball_log_cost(noise, a, z) / balls.of(a - 1)))
    if norm == 1:
        raise NotProvable("for Cauchy noise no formula over the l1 ball is proved at a finite alpha; take norm=2")
    if k < 2:
        raise NotProvable("for Cauchy noise of tail exponent below 2 nothing is proved in several dimensions; take 2")
    whole = math.ceil(nu)
    w = u**2 / d
    if whole > MOST_TERMS:
        return implied

    def compute(bits: int) -> arb:
        exact = log_concave(k, whole)
        return (moment(k, Fraction(whole), w, bits) if exact else legendre_bound(k, whole, w, bits)).log()

    found = refined(compute)
    with balls.precision(128):
        return min(implied, balls.upper(found * d * balls.of(k / (2 * whole))))


def _cauchy_pure(k: Fraction, u: Fraction, d: int, norm: int) -> arb:
    """R_inf: in one dimension the largest ratio of densities is the squared top singular value of (1 u; 0 1) to k/2."""

    def compute(_: int) -> arb:
        share = balls.of(u / d) if norm == 1 or d == 1 else balls.of(u**2 / d).sqrt()
        return (share / 2).asinh() * d * balls.of(k)

    return refined(compute)
