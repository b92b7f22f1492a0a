"""What a shift of the noise leaks: its Rényi divergence, and the curve of two normal laws that differ by a shift."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import acb, arb

from fugu.errors import BadBudget, BadNoise, NotProvable, UsageError
from fugu.guarantee import pure_as_renyi
from fugu.guarantee.asks import check_epsilon
from fugu.loss.cost import (
    MOST_TERMS,
    ShiftNoise,
    ball_log_cost,
    checked_order,
    laplace_log,
    legendre_bound,
    log_concave,
    moment,
    refined,
)
from fugu.loss.search.normal import fast_gaussian_mu
from fugu.noise.cauchy import BITS, CustomNoise, GeneralizedCauchy
from fugu.noise.gaussian import Gaussian
from fugu.noise.kind import Noise
from fugu.noise.laplace import Laplace
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up, meant_up

# R_a(noise, z) = sup over ||x|| <= z of D_a(noise shifted by x || noise): what a shift by at most z leaks.
#
# | noise         | norm of x | R_a, independent noise in each of d coordinates                                    |
# |---------------|-----------|------------------------------------------------------------------------------------|
# | Laplace       | 1         | h(z): h is convex with h(0) = 0, hence superadditive, so a vertex is worst         |
# | Laplace       | 2         | d h(z / sqrt d): h'' decreases and h'(0) >= 0, so h(sqrt u) is concave: equal split|
# | Gaussian      | 2         | a z^2 / (2 scale^2)                                                                |
# | Gaussian      | 1         | the same: the l1 ball lies in the l2 ball and shares its vertices                  |
# | Cauchy        | d = 1     | log F(z^2 / scale^2) / (a-1)                                                       |
# | Cauchy, k >= 2| 2         | d log F(z^2 / (d scale^2)) / (a-1) where log F is proved concave (whole nu)        |
#
# In one dimension D_a does not decrease in |x| for any symmetric unimodal noise, on a lattice or not (for C > 0 both
# p^a and C - min(p^(1-a), C) are symmetric and non-increasing, and so is their convolution; let C grow): the end is
# worst. D_a does not decrease in a: a Cauchy order with fractional nu = k (a-1) / 2 is raised to the next whole one (d
# > 1). a = inf: Laplace z / scale (l1), sqrt(d) z / scale (l2); Gaussian inf; Cauchy d k arcsinh(z / (2 d scale)) (l1)
# and d k arcsinh(z / (2 sqrt(d) scale)) (l2), as arcsinh(u) and arcsinh(sqrt u) are concave.


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
    if not isinstance(noise, Noise | CustomNoise):
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
    z, norm = as_fraction(distance), norm or _NORMS.get(type(noise), 1)
    if isinstance(noise, CustomNoise):
        return custom_renyi(noise, z, a, dimension)
    if noise.grid is not None and (dimension == 1 or norm == 1) and (z / noise.grid).denominator != 1:
        raise BadNoise("on a lattice a shift is a whole number of steps; round the values onto the grid first")
    if isinstance(noise, Laplace):
        return _laplace(noise, z, a, dimension if norm == 2 else 1)
    if isinstance(noise, Gaussian):
        return _gaussian(noise, z, a, dimension)
    if not isinstance(noise, GeneralizedCauchy):
        if dimension > 1 or noise.grid is None:
            raise BadNoise(f"what a shift of {noise.name} noise costs is known for one number on a lattice only")
        with balls.precision(128):
            return balls.upper(noise.shift(int(z / noise.grid), a))
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

    def largest(_: int) -> arb:
        """R_inf: in one dimension the largest ratio is the squared top singular value of (1 u; 0 1) to k/2."""
        share = balls.of(u / d) if norm == 1 or d == 1 else balls.of(u**2 / d).sqrt()
        return (share / 2).asinh() * d * balls.of(k)

    pure = balls.upper(refined(largest))
    if a is None:
        return pure
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


# The curve of two normal laws that differ by a shift: delta(e, m) = sup_S N(m, 1)(S) - e^e N(0, 1)(S).
#
#     delta(e, m) = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m)          (Balle and Wang 2018, Theorem 8)
#
# in both orders, for vectors with m^2 = d' V^{-1} d. It increases in m and decreases in e. `gaussian_delta` and
# `gaussian_mu` are proved in balls and rounded to the safe side; `fugu.loss.search.normal` has doubles, to search with.
# Proofs: docs/proofs/normal-vectors.md#1-equal-covariances.


def gaussian_delta(epsilon: Real, m: Real) -> float:
    """A float at or above delta(epsilon, m).

    >>> round(gaussian_delta(1, 1), 12), gaussian_delta(1, 0)
    (0.126936737507, 0.0)
    """
    check_epsilon(epsilon)
    check_shift(m)
    if m == 0 or math.isinf(epsilon):
        return 0.0 if not (math.isinf(m) and math.isinf(epsilon)) else 1.0
    if math.isinf(m):
        return 1.0
    top = max(as_fraction(m), Fraction(m))
    return min(1.0, meant_up(balls.upper(ball_delta(as_fraction(epsilon), lambda: balls.of(top)))))


def ball_delta(epsilon: Fraction, m: Callable[[], arb]) -> arb:
    """delta(epsilon, m) as a ball good to 60 bits where that can be had; m() > 0 at the working precision."""

    def at(_: int) -> arb:
        e, shift, root = balls.of(epsilon), m(), arb(2).sqrt()
        near, far = e / shift - shift / 2, e / shift + shift / 2
        return ((near / root).erfc() - e.exp() * (far / root).erfc()) / 2

    return refined(at)


def gaussian_mu(epsilon: Real, delta: Real) -> float:
    """A float m with delta(epsilon, m) <= delta, proved; the next float is not proved to have it.

    The result may be read as the decimal it shows or as the binary number it is: both satisfy the inequality.

    >>> round(gaussian_mu(1, 1e-3), 12)
    0.388401248307
    """
    check_epsilon(epsilon)
    if not isinstance(delta, int | float | Fraction) or isinstance(delta, bool) or not 0 <= delta <= 1:
        raise BadBudget(f"delta must be a number in [0, 1], got {delta!r}")
    if delta == 1 or math.isinf(epsilon):
        return math.inf
    if delta == 0:
        return 0.0
    bound = balls.of(as_fraction(delta))
    guess = float(fast_gaussian_mu(float(epsilon), float(delta)))

    def holds(m: float) -> bool:
        top = max(as_fraction(m), Fraction(m))
        return m == 0 or bool(ball_delta(as_fraction(epsilon), lambda: balls.of(top)) <= bound)

    return last_float(holds, guess)


def last_float(holds: Callable[[float], bool], guess: float) -> float:
    """The largest float next to which `holds` turns false, for a property that holds below a threshold near `guess`."""
    low = high = guess
    step = 2.0**-44
    if holds(guess):
        while holds(high):
            low, high, step = high, high * (1 + step) + 5e-324, step * 8
    else:
        while not holds(low):
            low, high, step = max(0.0, low * (1 - min(step, 1.0))), low, step * 8
    while math.nextafter(low, math.inf) < high:
        middle = low + (high - low) / 2
        middle = middle if low < middle < high else math.nextafter(low, math.inf)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def check_shift(m: Real) -> None:
    if not isinstance(m, int | float | Fraction) or isinstance(m, bool) or not m >= 0:
        raise BadBudget(f"m, the shift in standard deviations, must be a number >= 0, got {m!r}")


_NEGLIGIBLE = Fraction(1, 2**60)
_TOLERANCE = 0.02
_MOST = 256


def log_moment(noise: CustomNoise, a: Fraction, shift: Fraction) -> arb:
    """log I(x) with I(x) = integral of p(y) (p(y) / p(y + x))^(a-1) dy = exp((a-1) D_a(N shifted by x || N)).

    As p(y) / p(y + x) <= e^{L |x|}, what |y| > r adds lies between 0 and e^{(a-1) L |x|} tail(r). r is chosen so that
    this is below 2^-60; it is added all the same.
    """
    with balls.precision(BITS):
        x, up, down = balls.of(shift), balls.of(a), balls.of(a - 1)
        factor = (down * balls.of(as_fraction(noise.slope) * abs(shift))).exp()
        radius = noise.radius(balls.of(_NEGLIGIBLE) / factor)

        def integrand(y: acb, analytic: bool) -> acb:
            here = noise.density(y, analytic).log(analytic=analytic)
            there = noise.density(y + x, analytic).log(analytic=analytic)
            return (up * here - down * there).exp()

        cuts = tuple(as_fraction(c) for c in noise.cuts)
        inside = noise.integral(integrand, -radius, radius, cuts + tuple(c - shift for c in cuts))
        return (inside + arb(0).union((factor * noise.beyond(radius)).upper())).log()


def custom_renyi(noise: CustomNoise, distance: Fraction, a: Fraction | None, dimension: int) -> float:
    """A float at or above the sup over |x| <= distance of D_a(N shifted by x || N), a = None for inf.

    a = inf: at most L distance. Symmetric unimodal p: D_a does not decrease in |x|, so the sup is at the end. (For C >
    0 both p^a and C - min(p^(1-a), C) are symmetric and non-increasing in |y|, and so is their convolution (layer
    cake); let C grow.) Else, as p(y) / p(y + x') is within e^{L |x - x'|} of p(y) / p(y + x), D_a(x') - D_a(x) is at
    most L |x - x'|; [-distance, distance] is halved until the bound is within 2 % of a value that is attained, or
    refused.
    """
    if dimension > 1:
        raise NotProvable("a custom noise is analysed in one dimension only")
    slope = as_fraction(noise.slope)
    with balls.precision(BITS):
        if a is None:
            return balls.upper(balls.of(slope * distance))
        pure = pure_as_renyi(slope * distance, a)
        if noise.unimodal:
            return min(pure, _divergence(noise, a, distance))
    return min(pure, _searched(noise, a, distance, slope))


def _divergence(noise: CustomNoise, a: Fraction, shift: Fraction) -> float:
    """D_a at one shift, rounded up, never below 0."""
    return max(0.0, balls.upper(log_moment(noise, a, shift) / balls.of(a - 1)))


def _searched(noise: CustomNoise, a: Fraction, distance: Fraction, slope: Fraction) -> float:
    """max over cells [x, x'] of (D(x) + D(x') + L (x' - x)) / 2, the cell with the largest bound halved first.

    A cell of width w is bounded by L w / 2 at least: where that asks for too many cells, it is refused at once."""
    with balls.precision(BITS):
        values = {x: (_divergence(noise, a, x) if x else 0.0) for x in (-distance, Fraction(0), distance)}
        cells = [(-distance, Fraction(0)), (Fraction(0), distance)]
        while True:
            bounds = [balls.upper((arb(values[x]) + arb(values[y]) + balls.of(slope * (y - x))) / 2) for x, y in cells]
            worst = max(bounds)
            best = max(values.values())
            if worst <= best * (1 + _TOLERANCE):
                return worst
            cells_needed = float(slope * distance) / (1 + _TOLERANCE) / best if best > 0 else math.inf
            if len(values) > _MOST or cells_needed > _MOST:
                raise NotProvable(
                    f"the slope of noise {noise.name!r} bounds its loss under shifts up to {float(distance):g} only to"
                    f" {worst:.3g}, not to 2 %; declare unimodal=True if that is so"
                )
            x, y = cells.pop(bounds.index(worst))
            middle = (x + y) / 2
            values[middle] = _divergence(noise, a, middle)
            cells += [(x, middle), (middle, y)]
