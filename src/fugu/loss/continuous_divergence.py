"""The Rényi divergence of continuous noise: on laws with atoms by quadrature with a proved error, on normal laws in
closed form or by rigorous integration; floats at or above the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from flint import acb, arb
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.loss.densities import log_sum
from fugu.loss.leakage import discrete_laws, require_exact
from fugu.numbers import balls
from fugu.numbers.exact import UNIT, as_fraction

# Positions are in units of the noise's scale, each the exact sum of two doubles. Quadrature errors are relative and
# proved (docs/proofs/renyi.md#6-continuous-gaussian-noise-on-atoms-unit-the-standard-deviation and the two sections
# after it); rounding errors are bounded point by point: ln of a noised density L is right to
# (8 |L| + n + 60) 2^-53 for n atoms.


Floats = NDArray[np.float64]
_CHUNK = 1 << 18
_MOST, _POINTS = 2e9, 3e7
_SMALL = 1e-13


@dataclass(frozen=True, eq=False)
class LogAtoms:
    """ln masses and positions (high + low) of one law; `tail` is that of Cauchy noise, else 0 (laplace) or -1."""

    logs: Floats
    high: Floats
    low: Floats
    tail: float

    def log_density(self, y: Floats) -> Floats:
        """ln of the noised density at each point, without the noise's normaliser."""
        found = np.empty(y.size)
        step = max(1, _CHUNK // self.high.size)
        for start in range(0, y.size, step):
            own = slice(start, start + step)
            z = (y[own, None] - self.high) - self.low
            shape = (
                -0.5 * z * z if self.tail < 0 else -np.abs(z) if self.tail == 0 else -self.tail / 2 * np.log1p(z * z)
            )
            found[own] = log_sum(self.logs + shape)
        return found


def atoms(p: Discrete, q: Discrete, scale: Fraction, tail: float) -> list[LogAtoms]:
    """Both laws in units of the scale, from the middle of their atoms."""
    held = [law.masses.parts != 0 for law in (p, q)]
    values = [[as_fraction(x) for x in law.values[keep].tolist()] for law, keep in zip((p, q), held, strict=True)]
    lowest, highest = min(v[0] for v in values), max(v[-1] for v in values)
    centre = (lowest + highest) / 2
    if (highest - lowest) / scale > Fraction(10) ** 12:
        raise NotProvable("the noise is too small against the distance of the atoms; use lattice noise (grid=...)")
    found = []
    for law, keep, v in zip((p, q), held, values, strict=True):
        at = [(x - centre) / scale for x in v]
        high = np.array([float(x) for x in at])
        low = np.array([float(x - Fraction(h)) for x, h in zip(at, high.tolist(), strict=True)])
        found.append(LogAtoms(law.masses.logs()[keep], high, low, tail))
    return found


def divergence_of_atoms(
    family: Family,
    scale: Fraction,
    tail: float,
    alpha: Fraction,
    divergence: Callable[[LogAtoms, LogAtoms, Fraction], float],
) -> float:
    """Both orders of every pair of laws with atoms."""
    require_exact(family)
    if family.same:
        return 0.0
    worst = 0.0
    for p, q in discrete_laws(family):
        rows = atoms(p, q, scale, tail)
        worst = max(worst, divergence(rows[0], rows[1], alpha), divergence(rows[1], rows[0], alpha))
    return worst


@dataclass(frozen=True, eq=False)
class Integrand:
    """ln(P^alpha Q^(1-alpha)), raised by its rounding error; `slope` bounds |d ln f / dx|, for rounded nodes.

    alpha - 1 is taken before it is rounded: float(alpha) - 1 may be too small by 2^-53 / (alpha-1) of it."""

    p: LogAtoms
    q: LogAtoms
    alpha: Fraction
    slope: float

    def __call__(self, y: Floats) -> Floats:
        a, b = self.p.log_density(y), self.q.log_density(y)
        less = float(self.alpha - 1)
        size = self.p.high.size + self.q.high.size
        error = float(self.alpha) * (8 * np.abs(a) + size + 60) + less * (8 * np.abs(b) + size + 60)
        slope = np.full(y.size, self.slope)
        if self.p.tail > 0:  # Cauchy noise: it falls as tail (2 alpha - 1) / distance outside the atoms
            hull = max(float(np.abs(r.high[[0, -1]]).max()) for r in (self.p, self.q))
            with np.errstate(divide="ignore"):
                outside = self.p.tail * (2 * float(self.alpha) - 1) / np.maximum(np.abs(y) - hull, 0.0)
            slope = np.minimum(self.slope, 1.01 * outside)
        error += 4 * np.abs(a + less * (a - b)) + 4 * slope * np.abs(y)
        return a + less * (a - b) + 1.01 * UNIT * error

    def check(self, points: float) -> None:
        if not (points <= _POINTS and points * (self.p.high.size + self.q.high.size) <= _MOST):
            raise NotProvable(
                "the Rényi divergence of this continuous noise needs too many points; use lattice noise (grid=...), or "
                "fewer atoms"
            )


def gaussian(p: LogAtoms, q: LogAtoms, alpha: Fraction) -> float:
    """Trapezoidal sums. On the strip |Im| <= c: |f(x + iy)| <= C f(x), C = e^{c^2/2} cos(c span/2)^(1-alpha), hence a
    relative error of 2C / (e^{2 pi c/h} - 1) (Trefethen and Weideman 2014, Theorem 5.1). `span` is that of Q; c times
    the larger span stays below pi, so that neither density has a zero in the strip and f is analytic."""
    a = float(alpha)
    span = float(q.high[-1] - q.high[0]) * (1 + 1e-12)
    wide = max(span, float(p.high[-1] - p.high[0]) * (1 + 1e-12))
    heights = np.linspace(0.002, 0.98, 490) * (math.pi / wide if wide > 0.3 else 10.0)
    heights = heights[heights <= 10.0]
    cos = np.maximum(np.cos(0.5 * heights * span), 1e-300)
    swell = 0.5 * heights**2 - (a - 1) * np.log(cos)
    steps = 2 * math.pi * heights / (swell + 37)
    best = int(np.argmax(steps))
    h = 2.0 ** math.floor(math.log2(float(steps[best])))
    relative = 2.1 * math.exp(float(swell[best]) - 2 * math.pi * float(heights[best]) / h) + 1e-15
    f = Integrand(p, q, alpha, 0.0)  # the points are exact
    ends = []
    for side, sign in ((-1, 1.0), (0, -1.0)):
        x, y = float(p.high[side]), float(q.high[side])
        room = 64 - a * float(p.logs[side]) - (a - 1) * float(q.logs[side])
        end = max(sign * x, sign * (x + (a - 1) * (x - y))) + math.sqrt(2 * room) + 1
        ends.append((sign, sign * math.ceil(end / h) * h, side))
    first, last = ends[1][1], ends[0][1]
    f.check((last - first) / h)
    with balls.precision(128):
        # q^(1-alpha) e^{alpha (alpha-1) u^2/2} P(N > end - centre), from the two outermost atoms
        # (docs/proofs/renyi.md#4-gaussian-noise-on-atoms-beyond-the-window)
        order, outside = balls.of(alpha), arb(0)
        for sign, end, side in ends:
            first_atom = (arb(float(p.high[side])) + arb(float(p.low[side]))) * sign
            other_atom = (arb(float(q.high[side])) + arb(float(q.low[side]))) * sign
            off = arb(0, abs(float(p.high[side])) * 2.0**-100 + abs(float(q.high[side])) * 2.0**-100)
            u = first_atom - other_atom + off
            mass = arb(float(q.logs[side])) * (1 + arb(0, 2.0**-48)) + arb(0, 2.0**-48)
            distance = sign * arb(end) - first_atom - (order - 1) * u
            grown = ((1 - order) * mass + order * (order - 1) * u * u / 2).exp()
            outside += grown * (distance / arb(2).sqrt()).erfc() / 2
        values = f(h * np.arange(round(first / h), round(last / h) + 1, dtype=np.float64))
        total = float(log_sum(values[None, :])[0]) + math.log(h) + (values.size + 10) * UNIT
        total += 4 * UNIT * abs(total) - 0.5 * math.log(2 * math.pi) + 2 * UNIT - math.log1p(-relative)
        sum_ = arb(total).exp() + outside * (1 + arb(2 * relative))
        return _rounded(balls.upper(sum_.log()), alpha)


def laplace(p: LogAtoms, q: LogAtoms, alpha: Fraction) -> float:
    """Gauss-Legendre in every gap between atoms; the tails beyond all atoms are one more unit of the end's value.

    Slope 2 alpha - 1; |f(x + iy)| <= f(x) / cos(y)^(alpha-1). The middle of a long gap is at most its length times the
    larger end, because f falls, then rises, in a gap
    (docs/proofs/renyi.md#2-in-a-gap-the-terms-fall-then-rise)."""
    a = float(alpha)
    slope = 2 * a - 1
    half = min(1.5 / slope, 1.4 / TALL)
    relative = relative_error(slope, half, math.cos(half * TALL) ** (1 - a))
    f = Integrand(p, q, alpha, slope)
    cuts = np.unique(np.concatenate((p.high, q.high)))
    ends = f(cuts[[0, -1]])
    near = 45.0
    while True:
        f.check(8.0 * float(np.minimum(np.diff(cuts), 2 * near).sum()) / half)  # before anything is allocated
        pieces, middle = [], []  # intervals that cover the gaps up to `near` from their ends, and what is left out
        for low, high in pairwise(cuts.tolist()):
            parts = [(low, high)]
            if high - low > 2 * near:
                parts = [(low, low + near), (high - near, high)]
                middle.append((low + near, high - near))
            pieces += [np.linspace(x, y, math.ceil((y - x) / (2 * half) * (1 + 1e-12)) + 1) for x, y in parts]
        left, right = (np.concatenate([np.zeros(0), *(x[own] for x in pieces)]) for own in (slice(-1), slice(1, None)))
        f.check(16.0 * left.size)
        logs = quadrature(f, left, right) if left.size else np.zeros(0)
        total = float(log_sum(np.concatenate((logs, ends))[None, :])[0])
        if not middle:
            break
        edge = f(np.array([x for low, high in middle for x in (low, high)])).reshape(-1, 2).max(axis=1)
        rest = edge + np.log([high - low for low, high in middle])
        if float(log_sum(rest[None, :])[0]) <= total + math.log(_SMALL):
            total = float(log_sum(np.concatenate((logs, ends, rest))[None, :])[0])
            break
        near *= 4
    moved = 8 * cuts.size * slope * UNIT * float(np.abs(cuts[[0, -1]]).max())  # cuts are atoms rounded to doubles
    error = relative / (1 - relative) + moved + (logs.size + 40) * UNIT + 4 * UNIT * abs(total)
    return _rounded(total - math.log(2) + error, alpha)


def _rounded(log: float, alpha: Fraction) -> float:
    """log / (alpha-1), rounded up and not below 0."""
    if log <= 0:
        return 0.0
    with balls.precision(80):
        return balls.upper(arb(log) / balls.of(alpha - 1))


# The Rényi divergence of continuous generalised Cauchy noise, density beta (1 + x^2)^(-k/2), on laws with atoms.
#
# Near the atoms |d ln zeta| <= k/2 and, for |y| < 1, (1 - y^2)(1 + x^2) <= |1 + (x + iy)^2| <= (1 + y^2)(1 + x^2) with
# an argument of at most arcsin y. At a distance d from all atoms |d ln zeta| <= k/d, and intervals may grow with d
# (docs/proofs/renyi.md#8-continuous-generalised-cauchy-noise-on-atoms-unit-the-scale).


_CAUCHY_WIDE = (6 + 1 / 6) / 2


def cauchy(p: LogAtoms, q: LogAtoms, alpha: Fraction, tail: Fraction) -> float:
    """Gauss-Legendre on short intervals near the atoms, on growing ones outside, and a closed bound beyond."""
    a, k = float(alpha), float(tail)
    slope = (2 * a - 1) * k / 2
    half = min(1.5 / slope, min(0.7, math.sin(min(1.2, 2.4 / k))) / TALL)
    y = half * TALL
    swell = (1 - y * y) ** (-k * a / 2) * ((1 + y * y) ** (k / 2) / math.cos(k / 2 * math.asin(y))) ** (a - 1)
    worst = relative_error(slope, half, swell)
    low, high = (float(g(r.high[e] for r in (p, q))) for g, e in ((min, 0), (max, -1)))
    # outside: half-lengths eta d, ellipses that stay X = d (1 - (wide-1) eta) from the atoms
    turn = math.tan(1.2 / max(k, 1.2))
    eta = min(1.5 / ((2 * a - 1) * k + 4), 0.5 * turn / (TALL + 0.5 * turn * (_CAUCHY_WIDE - 1)))
    start = max(2.2 / turn, 4.0) / (1 - (_CAUCHY_WIDE - 1) * eta) + math.sqrt(a * k)
    nearest = start * (1 - (_CAUCHY_WIDE - 1) * eta)
    lean = TALL * eta / (1 - (_CAUCHY_WIDE - 1) * eta)
    angle = k * math.atan(lean + 1 / nearest)
    grown = (1 + nearest**-2) ** (k * a / 2) * ((1 + lean * lean) ** (k / 2) / math.cos(angle)) ** (a - 1)
    worst = (
        max(worst, relative_error((2 * a - 1) * k / (1 - (_CAUCHY_WIDE - 1) * eta), eta, grown))
        if angle < 1.5
        else math.inf
    )
    far = start * max(2.0, 1e15 ** (1 / min(k - 1, 1e3))) * (high - low + 1)
    count = math.ceil(math.log(min(far, 1e140) / start) / math.log1p(2 * eta)) + 1
    pieces = math.ceil((high - low + 2 * start) / (2 * half) * (1 + 1e-12))
    f = Integrand(p, q, alpha, slope)
    f.check(16.0 * (2 * count + pieces + 1))
    grid = start * (1 + 2 * eta) ** np.arange(count + 1)
    inner = np.linspace(low - start, high + start, pieces + 1)
    edges = np.concatenate((low - grid[:0:-1], inner, high + grid[1:]))
    total = float(log_sum(quadrature(f, edges[:-1], edges[1:])[None, :])[0])
    d = arb(float(grid[-1]) * (1 - 1e-9))
    with balls.precision(128):
        t, b = balls.of(tail), balls.of(alpha)
        ratio = ((1 + (d + arb(high - low) + 1) ** 2) / (1 + d * d)).log() * t / 2 * (b - 1)
        beyond = 2 * (ratio + (1 - t) * d.log()).exp() / (t - 1)
        beta = (t / 2).gamma() / (arb.pi().sqrt() * ((t - 1) / 2).gamma())
        error = worst / (1 - worst) if worst < 0.5 else math.inf
        error += (edges.size * 16 + 40) * UNIT + 4 * UNIT * abs(total)
        return _rounded(balls.upper((beta * ((arb(total) + arb(error)).exp() + beyond)).log()), alpha)


# Gauss-Legendre sums for positive integrands with a bounded logarithmic slope, with a proved relative error.
#
# Let f > 0 on the line with |d ln f / dx| <= slope there, and |f(x + iy)| <= swell f(x) for |y| <= tall. On an interval
# of half-length h, inside the Bernstein ellipse of parameter rho, |f| <= swell e^{slope h (rho + 1/rho)/2} f(centre),
# while the integral is at least 2h e^{-slope h} f(centre). So by Trefethen (2013), Theorem 19.3, the rule with n + 1
# nodes errs relatively by at most
#     (32/15) rho^(-2n) / (1 - rho^-2) swell e^{slope h (1 + (rho + 1/rho)/2)}   if h (rho - 1/rho)/2 <= tall.


NODES = 16
_PART = 2**16
_RHO = 6.0
TALL = (_RHO - 1 / _RHO) / 2
"""Height of the ellipse in half-lengths."""
_WIDE = (_RHO + 1 / _RHO) / 2


NODE_ERROR = 2.0**-51
"""Relative error of a weight, and error of a node in half-lengths, after rounding to doubles."""


@cache
def rule() -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1], enclosed in balls and rounded to doubles."""
    with balls.precision(128):
        found = [arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
    return np.array([float(x) for x, _ in found]), np.array([float(w) for _, w in found])


def relative_error(slope: float, half: float, swell: float) -> float:
    """The bound above for half-length `half`, plus what inexact nodes (slope x half x error) and weights cost."""
    exact = 1.01 * 32 / 15 * _RHO ** (-2 * (NODES - 1)) / (1 - _RHO**-2) * swell * math.exp(slope * half * (1 + _WIDE))
    return exact + NODE_ERROR * (1 + 2 * slope * half)


def quadrature(log_f: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    """ln of the rule's value on each interval [left, right], from ln f; points are computed as centre + half x node.

    Many intervals are taken in parts, so that memory stays small."""
    found = np.empty(left.size)
    x, w = rule()
    for start in range(0, left.size, _PART):
        own = slice(start, start + _PART)
        centre, half = 0.5 * (left[own] + right[own]), 0.5 * (right[own] - left[own])
        nodes = centre[:, None] + half[:, None] * x[None, :]
        logs = log_f(nodes.ravel()).reshape(nodes.shape) + np.log(w)[None, :]
        top = logs.max(axis=1)
        found[own] = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top + np.log(half)
    return found


# Rényi divergences of continuous noise by rigorous integration in complex balls (`acb.integral`, Johansson 2018).
#
# The integrand exp(alpha ln M_P + (1-alpha) ln M_Q) is analytic near the real line; where a box is too wide to show it,
# the logarithm returns no finite ball and the integrator divides the box. Beyond the window a bound in closed form.


Row = tuple[Fraction, Fraction, Fraction]
Density = Callable[[acb], acb]
_BITS = 128
_MOST_CUTS = 20_000


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
    if count > _MOST_CUTS:
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
