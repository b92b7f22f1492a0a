"""Losses of continuous noise in closed form or by rigorous integration: two normals, mixtures."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

from flint import acb, arb

from fugu.errors import NotProvable
from fugu.numbers import balls

# Rényi divergences of continuous noise by rigorous integration in complex balls (`acb.integral`, Johansson 2018).
#
# The integrand exp(alpha ln M_P + (1-alpha) ln M_Q) is analytic near the real line; where a box is too wide to show it,
# the logarithm returns no finite ball and the integrator divides the box. Beyond the window a bound in closed form.


Row = tuple[Fraction, Fraction, Fraction]
Density = Callable[[acb], acb]
_BITS = 128
_MOST = 20_000


def two_normals(p: Row, q: Row, variance: Fraction, alpha: Fraction) -> float:
    """D_alpha(N(m, v), N(n, w)) = alpha (m-n)^2 / (2 u) + ln(w^alpha v^(1-alpha) / u) / (2 (alpha-1)) after noise of
    that variance, u = alpha w + (1-alpha) v; +inf unless u > 0 (Gil, Alajaji and Linder 2013, table 2)."""
    v, w = p[2] ** 2 + variance, q[2] ** 2 + variance
    u = alpha * w + (1 - alpha) * v
    if p[1:] == q[1:]:
        return 0.0
    if u <= 0 or v <= 0 or w <= 0:
        return math.inf
    with balls.precision(_BITS):
        a = balls.of(alpha)
        # w^a v^(1-a) / u, squared root left out: ln(sqrt(w^a v^(1-a)/u)) / (a-1)
        spread = (a * balls.of(w).log() + (1 - a) * balls.of(v).log() - balls.of(u).log()) / (2 * (a - 1))
        return max(0.0, balls.upper(balls.of(alpha * (p[1] - q[1]) ** 2 / (2 * u)) + spread))


def integrated(f: Density, g: Density, cuts: list[Fraction], beyond: arb, alpha: Fraction) -> float:
    """ln(integral of f^alpha g^(1-alpha) over the cuts + beyond) / (alpha-1), rounded up."""
    a = balls.of(alpha)

    def integrand(z: acb, analytic: bool) -> acb:
        return (a * f(z).log(analytic=analytic) + (1 - a) * g(z).log(analytic=analytic)).exp()

    total = beyond
    for low, high in pairwise(cuts):
        part = acb.integral(
            integrand, balls.of(low), balls.of(high), rel_tol=arb(2) ** -60, abs_tol=arb(2) ** -90, eval_limit=20_000
        )
        total += part.real
    if not total.is_finite() or not total.rad() < abs(total.mid()) * arb(2) ** -20:
        raise NotProvable("the integral of this divergence could not be enclosed; use lattice noise (grid=...)")
    return balls.divergence(total, alpha)


def _cuts(low: Fraction, high: Fraction, width: float) -> list[Fraction]:
    """Pieces about as wide as the narrowest component: on these the integrand is seen to be analytic at once."""
    count = math.ceil(float(high - low) / width)
    if count > _MOST:
        raise NotProvable("the components differ too much in width for this integral; use lattice noise (grid=...)")
    return [low + (high - low) * k / count for k in range(count + 1)]


def normal_mixture(law: list[Row], variance: Fraction) -> Density:
    """The density of a mixture plus N(0, variance)."""
    parts = []
    for w, m, s in law:
        v = balls.of(s * s + variance)
        parts.append((balls.of(w) / (2 * arb.pi() * v).sqrt(), balls.of(m), -1 / (2 * v)))

    def density(z: acb) -> acb:
        return sum((size * ((z - m) * (z - m) * rate).exp() for size, m, rate in parts), acb(0))

    return density


def laplace_mixture(law: list[Row], scale: Fraction) -> Density:
    """The density of a mixture of normals (all stds positive) plus Lap(scale): (A + B) / 2b with
    A = e^{s^2/2b^2 + z/b} Phi(-z/s - s/b), B = A(-z), entire functions (`fugu.loss.densities`)."""
    b, root = balls.of(scale), arb(2).sqrt()
    parts = []
    for w, m, s in law:
        t = balls.of(s / scale)
        parts.append((balls.of(w) / (4 * b), balls.of(m), balls.of(s), t, t * t / 2))

    def density(z: acb) -> acb:
        total = acb(0)
        for size, m, s, t, shift in parts:
            y = z - m
            for x in (y, -y):
                total += size * (shift + x / b).exp() * ((x / s + t) / root).erfc()
        return total

    return density


def gaussian_renyi(p: list[Row], q: list[Row], variance: Fraction, alpha: Fraction) -> float:
    """D_alpha of two mixtures of normals after N(0, variance), one order. Beyond the window P is at most n times its
    components, Q at least its widest one, and e^{falling quadratic} integrates to at most value / slope."""
    if len(p) == len(q) == 1:
        return two_normals(p[0], q[0], variance, alpha)
    with balls.precision(_BITS):
        a, beyond = float(alpha), arb(0)
        first, last = math.inf, -math.inf
        for sign in (1, -1):
            wide = max(q, key=lambda r, sign=sign: (r[2], sign * r[1]))  # type: ignore[misc]
            for w, m, s in p:
                v, u = s * s + variance, wide[2] ** 2 + variance
                if not (v > 0 and u > 0) or alpha / v <= (alpha - 1) / u:
                    return math.inf
                fall = float(alpha / v - (alpha - 1) / u) / 2
                top = float(alpha * m / v - (alpha - 1) * wide[1] / u) / (2 * fall)
                end = math.sqrt((60 - a * math.log(w) - a * math.log(wide[0]) + a * math.log(len(p))) / fall)
                ends = [x + sign * end for x in (top, float(m), float(wide[1]))]
                first, last = min(first, *ends), max(last, *ends)
        low, high = Fraction(math.floor(first * 16), 16), Fraction(math.ceil(last * 16), 16)
        for sign, edge in ((1, high), (-1, low)):
            wide = max(q, key=lambda r, sign=sign: (r[2], sign * r[1]))  # type: ignore[misc]
            for row in p:
                beyond += _tail(row, wide, sign, edge, variance, alpha)
        beyond *= ((balls.of(alpha) - 1) * arb(len(p)).log()).exp()
        cuts = _cuts(low, high, min(math.sqrt(float(s * s + variance)) for _, _, s in p + q))
        return integrated(normal_mixture(p, variance), normal_mixture(q, variance), cuts, beyond, alpha)


def _tail(p: Row, q: Row, sign: int, end: Fraction, variance: Fraction, alpha: Fraction) -> arb:
    """The integral beyond `end` of P's component^alpha Q's component^(1-alpha): at most value / slope."""
    a = balls.of(alpha)
    log, slope = arb(0), Fraction(0)
    for power, (w, m, s) in ((a, p), (1 - a, q)):
        v = s * s + variance
        log += power * (balls.of(w).log() - (2 * arb.pi() * balls.of(v)).log() / 2 - balls.of((end - m) ** 2 / (2 * v)))
    for exact, (_, m, s) in ((alpha, p), (1 - alpha, q)):
        slope += exact * sign * (end - m) / (s * s + variance)
    return log.exp() / balls.of(slope) if slope > 0 else arb("inf")


def laplace_renyi(p: list[Row], q: list[Row], scale: Fraction, alpha: Fraction) -> float:
    """D_alpha of two mixtures of normals after Lap(b), one order. Beyond an end Y on the right M_P(y) is at most
    e^{-y/b} E e^{X/b} / 2b and M_Q(y) e^{y/b} grows, so the rest is at most b bound^alpha M_Q(Y)^(1-alpha)."""
    if any(s == 0 for _, _, s in p + q):
        raise NotProvable(
            "a law with atoms against a normal law has no proof for continuous Laplace noise; give a grid"
        )
    with balls.precision(2 * _BITS):
        a, b = balls.of(alpha), balls.of(scale)
        f, g = laplace_mixture(p, scale), laplace_mixture(q, scale)
        reach = [float(s) * (float(s / scale) + math.sqrt(float(s / scale) ** 2 + 160)) for _, _, s in p + q]
        low = Fraction(math.floor(min(float(m) - r for (_, m, _), r in zip(p + q, reach, strict=True))))
        high = Fraction(math.ceil(max(float(m) + r for (_, m, _), r in zip(p + q, reach, strict=True))))
        beyond = arb(0)
        for sign, end in ((1, high), (-1, low)):
            most = sum(
                (
                    balls.of(w) * (balls.of(sign * (m - end) / scale) + balls.of(s / scale) ** 2 / 2).exp()
                    for w, m, s in p
                ),
                arb(0),
            )
            least = g(acb(balls.of(end))).real
            if not least > 0:
                raise NotProvable("the noise is too small against the beliefs' spread; use lattice noise (grid=...)")
            beyond += b * (a * (most / (2 * b)).log() + (1 - a) * least.log()).exp()
        cuts = _cuts(low, high, min(float(s) for _, _, s in p + q))
        return integrated(f, g, cuts, beyond, alpha)


UNIT = 2.0**-53


def normal_hockey_stick(nu: float, ratio: float, epsilon: float) -> float:
    """sup_S n_1(S) - e^epsilon n_2(S), with nu = (m_1 - m_2)/s_2 and ratio = s_1/s_2; at or above the truth.

    With l = ratio and v = (y - m_1)/s_1, u = (y - m_2)/s_2 = l v + nu, the set is (l^2 - 1) v^2 + 2 l nu v + nu^2 > L,
    L = 2 (ln l + epsilon): outside the roots for l > 1, between them for l < 1, where d = nu^2 + (l^2 - 1) L >= 0:
    v = (-l nu +- sqrt d)/(l^2 - 1), u = (-nu +- l sqrt d)/(l^2 - 1)
    (docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws; l = 1 is the formula of Balle and Wang 2018). A root
    off by r costs r^2, so only the rounding of Phi counts: (epsilon + x^2 + 16) units.

    >>> round(normal_hockey_stick(0.0, 0.5, 0.5), 12), normal_hockey_stick(-0.5, 0.5, 1.0)
    (0.064933189863, 0.0)
    """
    big = 2 * (math.log(ratio) + epsilon)
    if ratio == 1:
        gap = abs(nu)
        if gap == 0:
            return 0.0
        return _difference(epsilon, [(1.0, gap / 2 - epsilon / gap, -gap / 2 - epsilon / gap)])
    bend = (ratio - 1) * (ratio + 1)
    d = nu * nu + bend * big
    if d <= -16 * UNIT * (nu * nu + abs(bend * big)):
        return 0.0
    root = math.sqrt(max(0.0, d))
    sign = 1.0 if nu >= 0 else -1.0
    v_sum, u_sum = -(ratio * nu + sign * root), -(nu + sign * ratio * root)
    first = _over(v_sum, bend), _over(u_sum, bend)
    second = _over(nu * nu - big, v_sum), _over(-(nu * nu + ratio * ratio * big), u_sum)
    (v_low, u_low), (v_high, u_high) = sorted((first, second))
    if ratio > 1:
        return _difference(epsilon, [(1.0, v_low, u_low), (1.0, -v_high, -u_high)])
    if v_low + v_high > 0:  # take the smaller tails
        v_low, v_high, u_low, u_high = -v_high, -v_low, -u_high, -u_low
    return _difference(epsilon, [(1.0, v_high, u_high), (-1.0, v_low, u_low)])


def _over(a: float, b: float) -> float:
    """a / b, where a root at infinity is as good as one far out."""
    return a / b if b != 0 else math.copysign(math.inf, a) if a != 0 else 0.0


def _difference(epsilon: float, ends: list[tuple[float, float, float]]) -> float:
    """sum of sign (Phi(v) - e^epsilon Phi(u)), raised by its rounding error."""
    from scipy.special import log_ndtr, ndtr

    total = error = 0.0
    for sign, v, u in ends:
        mine = float(ndtr(v))
        theirs = math.exp(min(epsilon + float(log_ndtr(u)), 700.0))
        total += sign * (mine - theirs)
        error += (mine + theirs) * UNIT * (16 + 4 * epsilon + (2 * min(v * v, 1400.0)) + 2 * min(u * u, 1400.0))
    return min(1.0, max(0.0, total) + error)
