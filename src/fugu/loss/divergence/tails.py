"""How far out the terms P^alpha Q^(1-alpha) of rounded normal laws matter, and a bound on what lies beyond.

In lattice steps, let K be N(m, s^2) rounded to the nearest integer, plus noise ~ exp(-c k^2), D = 1 + 2 c s^2 and
kappa = c / D. For a point k with mu = k - m >= 1/2 the unnormalised noised mass lies between
    D^-1/2 e^{kappa/4 - c s / sqrt D - c/4} e^{-kappa (mu + 1/2)^2}  and
    2 D^-1/2 e^{kappa/4 + kappa c s^2 / 2} e^{-kappa (mu - 1/2)^2};
without noise the cell's mass lies between e^{-(mu +- 1/2)^2 / 2 s^2} / (s sqrt(2 pi))
(docs/proofs/renyi.md#5-rounded-normals-with-gaussian-noise)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from fugu.laws.components import Components
from fugu.loss.divergence.gaussian import Window
from fugu.noise.lattice import Lattice
from fugu.numbers import balls

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
    for weight, mean, std in zip(law.exact_weights, law.exact_means, law.exact_stds, strict=True):
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


def tail(p: list[Bell], q: list[Bell], window: Window, alpha: Fraction, c: arb | None) -> arb:
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
            logs = [_log_term(b, other, sign, end + k, a, c) for k in (0, 1)]
            fall = a * _decay(b, c) - (a - 1) * _decay(other, c)
            ratio = logs[1] - logs[0]
            if not (fall > 0 and ratio < 0 and end - sign * b.mean >= 1 and end - sign * other.mean >= 1):
                return arb("inf")
            found += logs[0].exp() / (1 - ratio.exp())
    return found * ((a - 1) * arb(max(1, len(moving))).log()).exp()


def _decay(b: Bell, c: arb | None) -> arb:
    s = balls.of(b.std)
    return 1 / (2 * s * s) if c is None else c / (1 + 2 * c * s * s)


def _log_term(b: Bell, other: Bell, sign: int, end: int, a: arb, c: arb | None) -> arb:
    """alpha ln(upper bound of P's component) + (1-alpha) ln(lower bound of Q's) at the point sign * end."""
    half = Fraction(1, 2)
    inner, outer = balls.of(end - sign * b.mean - half), balls.of(end - sign * other.mean + half)
    high = _log_size(b, c, upper=True) - _decay(b, c) * inner * inner
    low = _log_size(other, c, upper=False) - _decay(other, c) * outer * outer
    return a * high + (1 - a) * low


def _log_size(b: Bell, c: arb | None, upper: bool) -> arb:
    """The logarithm of the factor before the exponential, weight included."""
    s, weight = balls.of(b.std), balls.of(b.weight).log()
    if c is None:
        return weight - (s * (2 * arb.pi()).sqrt()).log()
    d, kappa = 1 + 2 * c * s * s, _decay(b, c)
    size = weight - d.log() / 2 + kappa / 4
    return size + arb(2).log() + kappa * c * s * s / 2 if upper else size - c * s / d.sqrt() - c / 4
