"""Proved losses of lattice Laplace noise on laws with Gaussian components."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from fugu.laws.analytic import Analytic
from fugu.laws.components import Components
from fugu.loss.smooth.rounded import DELTA_TILT, BallCells, Span, ball_cells, span_of
from fugu.noise.lattice import Lattice
from fugu.numbers import balls

_PRECISION = 192


@dataclass(frozen=True)
class _Sums:
    """Decayed sums of one law over the window, with enclosures of what comes from beyond the ends."""

    total: list[arb]
    left: list[arb]
    right: list[arb]
    cells: BallCells


def prove_pure_analytic(pair: Analytic, rate: Fraction) -> float:
    """An epsilon with S_i <= e^epsilon S_j at every lattice point, both orders.

    Inside the window point by point. Beyond its right end M(k) = q^{-k} S(k) grows to E q^{-K}, so
    S_i(k) / S_j(k) <= (L_i + tilted tail of i) / S_j at the last point; the left end is the mirror image
    (docs/proofs/gaussian.md#2-beyond-the-window)."""
    if pair.same:
        return 0.0
    with balls.precision(_PRECISION):
        first, second = _both(pair, rate)
        worst = arb(1)
        for a, b in ((first, second), (second, first)):
            for s, t in zip(a.total, b.total, strict=True):
                if not s <= worst * t:
                    worst = _raise(worst, s, t)
            worst = _raise(worst, a.left[-1] + a.cells.right[1], b.total[-1])
            worst = _raise(worst, a.right[0] + a.cells.left[1], b.total[0])
        return balls.upper(worst.log())


def prove_delta_analytic(pair: Analytic, rate: Fraction, epsilon: Fraction) -> float:
    """A delta with sup_S P(S) - e^epsilon Q(S) <= delta for lattice Laplace noise, both orders.

    Inside the window the sum of positive parts; beyond an end where the ratio is at most rho, at most the mass of f_i
    there times (1 - e^epsilon / rho)_+, and that mass is at most c0 q/(1-q) L_i + P(K beyond)."""
    if pair.same:
        return 0.0
    with balls.precision(_PRECISION):
        q = (-balls.of(rate)).exp()
        norm, ratio, e = (1 - q) / (1 + q), q / (1 - q), balls.of(epsilon).exp()
        first, second = _both(pair, rate, DELTA_TILT)
        deltas = []
        for a, b in ((first, second), (second, first)):
            inside = arb(0)
            for s, t in zip(a.total, b.total, strict=True):
                part = (s - e * t).upper()
                if part > 0:
                    inside += part
            found = norm * inside
            for near, tail, ball_total in (
                (a.left[-1], a.cells.right, b.total[-1]),
                (a.right[0], a.cells.left, b.total[0]),
            ):
                rho = ((near + tail[1]) / ball_total).upper() if ball_total > 0 else arb("inf")
                if not rho <= e:
                    share = 1 - e / rho if rho.is_finite() else arb(1)
                    found += (norm * ratio * near + tail[0]) * share
            deltas.append(balls.upper(found))
        return min(1.0, max(deltas))


def prove_rounding(pair: Analytic, epsilon: Fraction) -> float:
    """A delta for rounding alone, without noise: the positive parts of the cells, plus the mass beyond the window."""
    if pair.same:
        return 0.0
    assert pair.lattice is not None
    with balls.precision(_PRECISION):
        span = span_of((pair.p, pair.q), pair.lattice, 0.0)
        cells = [ball_cells(law, pair.lattice, span, None) for law in (pair.p, pair.q)]
        e = balls.of(epsilon).exp()
        deltas = []
        for a, b in (cells, cells[::-1]):
            found = a.left[0] + a.right[0]
            for s, t in zip(a.mass, b.mass, strict=True):
                part = (s - e * t).upper()
                if part > 0:
                    found += part
            deltas.append(balls.upper(found))
        return min(1.0, max(deltas))


def _both(pair: Analytic, rate: Fraction, most_tilt: float = 60.0) -> tuple[_Sums, _Sums]:
    assert pair.lattice is not None
    span = span_of((pair.p, pair.q), pair.lattice, float(pair.lattice.grid / rate), most_tilt)
    return _sums(pair.p, pair.lattice, span, rate), _sums(pair.q, pair.lattice, span, rate)


def _sums(law: Components, lattice: Lattice, span: Span, rate: Fraction) -> _Sums:
    """L and R over the window; what comes from beyond an end lies between 0 and q times the mass there."""
    cells = ball_cells(law, lattice, span, rate)
    q = (-balls.of(rate)).exp()
    left = _scan(cells.mass, q, _up_to(q * cells.left[0]))
    right = _scan(cells.mass[::-1], q, _up_to(q * cells.right[0]))[::-1]
    total = [a + b - m for a, b, m in zip(left, right, cells.mass, strict=True)]
    return _Sums(total, left, right, cells)


def _scan(mass: list[arb], q: arb, before: arb) -> list[arb]:
    """L_k = p_k + q L_{k-1}, the first one with `before` added."""
    found = []
    current = before
    for k, m in enumerate(mass):
        current = m + (current if k == 0 else q * current)
        found.append(current)
    return found


def _up_to(bound: arb) -> arb:
    """The ball [0, bound]."""
    half = bound.upper() / 2
    return half.union(arb(0)).union(bound.upper())


def _raise(worst: arb, numerator: arb, denominator: arb) -> arb:
    """max(worst, upper end of the ratio); infinite where the denominator may be zero."""
    ratio = (numerator / denominator).upper() if denominator > 0 else arb("inf")
    return ratio if not ratio <= worst else worst
