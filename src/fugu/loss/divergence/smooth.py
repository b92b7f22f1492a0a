"""The Rényi divergence of lattice noise on laws with Gaussian components, proved."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.errors import NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.components import Components
from fugu.loss.divergence.gaussian import Window, check_window, convolved
from fugu.loss.divergence.sums import PowerSum, divergence, theta, working_bits
from fugu.loss.divergence.tails import Bell, bells, reach, tail
from fugu.loss.smooth.laplace import _both, _Sums
from fugu.loss.smooth.rounded import Span, ball_cells
from fugu.noise import Gaussian, Laplace, LatticeNoise
from fugu.numbers import balls
from fugu.numbers.exact import float_up

Noise = Laplace | Gaussian
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
        for near, beyond, bottom in _edges(a, b):
            if not bottom > 0:
                return math.inf
            rho = (near + beyond[1]) / bottom
            found += (norm * ratio * near + beyond[0]) * (less * rho.upper().log()).exp()
        worst = max(worst, divergence(found, alpha))
    return worst


def _edges(a: _Sums, b: _Sums) -> tuple[tuple[arb, tuple[arb, arb], arb], ...]:
    """Both ends: P's decayed sum, P's mass beyond (plain, tilted), and Q's sum."""
    return ((a.left[-1], a.cells.right, b.total[-1]), (a.right[0], a.cells.left, b.total[0]))


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
    window = Window(math.floor(first), math.ceil(last))
    bits = _bits(shapes, window)
    rows = [_noised(law, pair, window, precision, bits) for law in (pair.p, pair.q)]
    sums = PowerSum([(0, 1)], alpha)
    for masses in zip(*rows, strict=True):
        sums.add(list(masses))
    unit = arb(1) if c is None else 1 / theta(c)
    return max(
        divergence((sums.sums[i, j] + tail(shapes[i], shapes[j], window, alpha, c)) * unit, alpha) for i, j in _ORDERS
    )


def _noised(law: Components, pair: Analytic, window: Window, precision: Fraction | None, bits: int) -> list[arb]:
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


def _bits(shapes: list[list[Bell]], window: Window) -> int:
    """Bits after the point such that every noised mass of the window keeps some 128 bits of its own."""
    worst = 0.0
    for shape in shapes:
        for step in range(201):
            x = window.first + step / 200 * (len(window) - 1)
            worst = max(worst, min(float(b.decay) * (x - b.centre) ** 2 - b.log_weight for b in shape))
    return 256 + math.ceil(1.1 * worst / math.log(2))
