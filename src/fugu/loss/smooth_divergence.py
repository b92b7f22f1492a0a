"""The Rényi divergence of lattice noise on laws with Gaussian components, proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.components import Components
from fugu.laws.normal import Analytic
from fugu.loss.atoms import PowerSum, theta, working_bits
from fugu.loss.lattice_gaussian import check_window, convolved
from fugu.loss.rounded import Span, _both, ball_cells
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from fugu.numbers.exact import float_up

_ORDERS = ((0, 1), (1, 0))
_MOST_BITS = 1024


def prove_renyi_analytic(pair: Analytic, noise: LatticeNoise, alpha: Fraction) -> float:
    """A bound on D_alpha of the two rounded and noised laws, both orders; translates by whole steps are bounded by the
    noise's own divergence as well (alpha k^2 g^2 / 2 s^2, or k g / b), in exact rationals."""
    if pair.same:
        return 0.0
    shift = pair.shift()
    known = math.inf
    if shift is not None and shift.denominator == 1 and noise.scale > 0:
        known = float_up(alpha * noise.precision * shift**2 if isinstance(noise, Gaussian) else noise.rate * abs(shift))
    with balls.precision(working_bits(alpha) + 32):
        try:
            if noise.scale > 0 and isinstance(noise, Laplace):
                found = _laplace(pair, noise.rate, alpha)
            else:
                found = _gaussian(pair, None if noise.scale == 0 else noise.precision, alpha)  # type: ignore[union-attr]
        except NotProvable:
            if math.isinf(known):
                raise
            found = math.inf
    return min(found, known)


def _laplace(pair: Analytic, rate: Fraction, alpha: Fraction) -> float:
    """Inside the window point by point. Beyond an end where the ratio is at most rho (`prove_pure_analytic`), at most
    rho^(alpha-1) times the mass of P there, which is at most c0 q/(1-q) L + P(K beyond)."""
    q = (-balls.of(rate)).exp()
    norm, ratio, less = (1 - q) / (1 + q), q / (1 - q), balls.of(alpha - 1)
    laws = _both(pair, rate)
    sums = PowerSum([(0, 1)], alpha)
    for masses in zip(laws[0].total, laws[1].total, strict=True):
        sums.add(list(masses))
    worst = 0.0
    for i, j in _ORDERS:
        a, b = laws[i], laws[j]
        found = norm * sums.sums[i, j]
        ends = ((a.left[-1], a.cells.right, b.total[-1]), (a.right[0], a.cells.left, b.total[0]))
        for near, beyond, bottom in ends:  # P's decayed sum, its mass beyond (plain, tilted), and Q's sum
            if not bottom > 0:
                return math.inf
            rho = (near + beyond[1]) / bottom
            found += (norm * ratio * near + beyond[0]) * (less * rho.upper().log()).exp()
        worst = max(worst, balls.divergence(found, alpha))
    return worst


def _gaussian(pair: Analytic, precision: Fraction | None, alpha: Fraction) -> float:
    """Inside a window point by point; beyond it by `tail`; +inf where alpha v_q <= (alpha-1) v_p for the widest
    component of Q and some component of P, v the variances after noise: there the sum may diverge.

    Without noise (`precision` None) the cells themselves are compared."""
    assert pair.lattice is not None
    c = None if precision is None else balls.of(precision)
    shapes = [bells(law, pair.lattice, precision) for law in (pair.p, pair.q)]
    first, last = math.inf, -math.inf
    for i, j in _ORDERS:
        ends = reach(shapes[i], shapes[j], float(alpha))
        if ends is None:
            return math.inf
        first, last = min(first, ends[0]), max(last, ends[1])
    check_window(2 * (last - first))
    window = Span(math.floor(first), math.ceil(last))
    # Bits after the point such that every noised mass of the window keeps some 128 bits of its own
    worst = 0.0
    for shape in shapes:
        for step in range(201):
            x = window.first + step / 200 * (len(window) - 1)
            worst = max(worst, min(float(b.decay) * (x - b.centre) ** 2 - b.log_weight for b in shape))
    bits = 256 + math.ceil(1.1 * worst / math.log(2))
    rows = [_noised(law, pair, window, precision, bits) for law in (pair.p, pair.q)]
    sums = PowerSum([(0, 1)], alpha)
    for masses in zip(*rows, strict=True):
        sums.add(list(masses))
    unit = arb(1) if c is None else 1 / theta(c)
    return max(
        balls.divergence((sums.sums[i, j] + tail(shapes[i], shapes[j], window, alpha, c)) * unit, alpha)
        for i, j in _ORDERS
    )


def _noised(law: Components, pair: Analytic, window: Span, precision: Fraction | None, bits: int) -> list[arb]:
    """The masses of the window's points after noise, unnormalised. Cells beyond a margin E contribute between 0 and
    P(K beyond) e^{-c distance^2}."""
    assert pair.lattice is not None
    if bits > _MOST_BITS:  # by Horner's rule, which needs no fixed point
        bits, own = 10**12, 320
    else:
        own = bits + 64
    with balls.precision(own):
        if precision is None:
            return ball_cells(law, pair.lattice, Span(window.first, window.last), None).mass
        widest = max(float(s / pair.lattice.grid) for s in law.exact_stds)
        margin = math.ceil(14 * widest / math.sqrt(1 + 2 * float(precision) * widest**2)) + 2
        span = Span(window.first - margin, window.last + margin)
        cells = ball_cells(law, pair.lattice, span, None)
    atoms = [(span.first + k, mass) for k, mass in enumerate(cells.mass)]
    found = convolved(atoms, window, precision, bits)
    c = balls.of(precision)
    for k, x in enumerate(range(window.first, window.last + 1)):
        rest = cells.left[0] * (-c * ((x - span.first + 1) ** 2)).exp()
        rest += cells.right[0] * (-c * ((span.last + 1 - x) ** 2)).exp()
        half = rest.upper() / 2
        found[k] += arb(half, half)
    return found


# How far out the terms P^alpha Q^(1-alpha) of rounded normal laws matter, and a bound on what lies beyond.
#
# In lattice steps, let K be N(m, s^2) rounded to the nearest integer, plus noise ~ exp(-c k^2), D = 1 + 2 c s^2 and
# kappa = c / D. For a point k with mu = k - m >= 1/2 the unnormalised noised mass lies between
#     D^-1/2 e^{kappa/4 - c s / sqrt D - c/4} e^{-kappa (mu + 1/2)^2}  and
#     2 D^-1/2 e^{kappa/4 + kappa c s^2 / 2} e^{-kappa (mu - 1/2)^2};
# without noise the cell's mass lies between e^{-(mu +- 1/2)^2 / 2 s^2} / (s sqrt(2 pi))
# (docs/proofs/renyi.md#5-rounded-normals-with-gaussian-noise).


_DIGITS = 64.0


@dataclass(frozen=True)
class Bell:
    """One component in lattice steps; `point` is a point mass without noise, which has no tail."""

    weight: Fraction
    mean: Fraction
    std: Fraction
    decay: float
    point: bool
    slack: float
    """ln of how far the two bounds above are apart, but for the half steps."""

    @property
    def centre(self) -> float:
        return float(self.mean)

    @property
    def log_weight(self) -> float:
        return math.log(self.weight.numerator) - math.log(self.weight.denominator)


def bells(law: Components, lattice: Lattice, precision: Fraction | None) -> list[Bell]:
    """The components of a law in lattice steps, with the decay kappa after noise."""
    found = []
    for weight, mean, std in zip(*law.exact, strict=True):
        s, slack = std / lattice.grid, 0.0
        if precision is not None:
            decay, c = float(precision / (1 + 2 * precision * s * s)), float(precision)
            slack = 1.0 + decay * c * float(s) ** 2 / 2 + math.sqrt(c * decay) * float(s) + c / 4
        else:
            decay = float(1 / (2 * s * s)) if s else math.inf
        found.append(
            Bell(weight, (mean - lattice.origin) / lattice.grid, s, decay, precision is None and s == 0, slack)
        )
    return found


def reach(p: list[Bell], q: list[Bell], alpha: float) -> tuple[float, float] | None:
    """A window outside which the terms are small; None where the sum may be infinite. Only sharpness depends on it."""
    first, last = math.inf, -math.inf
    for b in p:
        if b.point:
            first, last = min(first, b.centre - 2), max(last, b.centre + 2)
            continue
        for sign in (-1, 1):
            other = _widest(q, sign)
            fall = math.inf if other is None else alpha * b.decay - (alpha - 1) * other.decay
            if other is None or not fall > 0:
                return None
            top, height = _vertex(b, other, alpha, sign * 0.5, fall)
            true = max(0.0, _vertex(b, other, alpha, 0.0, fall)[1])
            room = _DIGITS - alpha * b.log_weight - (alpha - 1) * other.log_weight + alpha * math.log(len(p))
            room += alpha * (b.slack + other.slack) + max(0.0, height - true)
            end = math.sqrt(room / fall) + 2
            ends = [top + sign * end, b.centre + sign * end, other.centre + sign * end]
            first, last = min(first, *ends), max(last, *ends)
    for b in q:
        first, last = min(first, b.centre - 2), max(last, b.centre + 2)
    return first, last


def _vertex(p: Bell, q: Bell, alpha: float, half: float, fall: float) -> tuple[float, float]:
    """Where -alpha kappa_p (x - m_p - half)^2 + (alpha-1) kappa_q (x - m_q + half)^2 is largest, and its value."""
    a, b = alpha * p.decay, (alpha - 1) * q.decay
    m, n = p.centre + half, q.centre - half
    return (a * m - b * n) / fall, a * b * (m - n) ** 2 / fall


def _widest(bells_: list[Bell], sign: int) -> Bell | None:
    """The component of slowest decay; among equals the one farthest out on that side."""
    held = [b for b in bells_ if not b.point]
    return max(held, key=lambda b: (b.std, sign * b.mean, b.weight)) if held else None


def tail(p: list[Bell], q: list[Bell], window: Span, alpha: Fraction, c: arb | None) -> arb:
    """A bound on the sum of P^alpha Q^(1-alpha) over all points beyond the window, unnormalised.

    (sum of n terms)^alpha <= n^(alpha-1) sum of powers; Q is at least its widest component. What remains is
    e^{quadratic} with a falling quadratic, so each term is at most the first ratio times the one before."""
    a = balls.of(alpha)
    moving = [b for b in p if not b.point]
    found = arb(0)
    for b in moving:
        for sign, end in ((1, window.last + 1), (-1, -(window.first - 1))):
            other = _widest(q, sign)
            if other is None:
                return arb("inf")
            logs = []  # alpha ln(upper bound of P's component) + (1-alpha) ln(lower bound of Q's) at two points
            for place in (end, end + 1):
                inner = balls.of(place - sign * b.mean - Fraction(1, 2))
                outer = balls.of(place - sign * other.mean + Fraction(1, 2))
                high = _log_size(b, c, upper=True) - _decay(b, c) * inner * inner
                low = _log_size(other, c, upper=False) - _decay(other, c) * outer * outer
                logs.append(a * high + (1 - a) * low)
            fall = a * _decay(b, c) - (a - 1) * _decay(other, c)
            ratio = logs[1] - logs[0]
            if not (fall > 0 and ratio < 0 and end - sign * b.mean >= 1 and end - sign * other.mean >= 1):
                return arb("inf")
            found += logs[0].exp() / (1 - ratio.exp())
    return found * ((a - 1) * arb(max(1, len(moving))).log()).exp()


def _decay(b: Bell, c: arb | None) -> arb:
    s = balls.of(b.std)
    return 1 / (2 * s * s) if c is None else c / (1 + 2 * c * s * s)


def _log_size(b: Bell, c: arb | None, upper: bool) -> arb:
    """The logarithm of the factor before the exponential, weight included."""
    s, weight = balls.of(b.std), balls.of(b.weight).log()
    if c is None:
        return weight - (s * (2 * arb.pi()).sqrt()).log()
    d, kappa = 1 + 2 * c * s * s, _decay(b, c)
    size = weight - d.log() / 2 + kappa / 4
    return size + arb(2).log() + kappa * c * s * s / 2 if upper else size - c * s / d.sqrt() - c / 4
