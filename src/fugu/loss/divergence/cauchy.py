"""The Rényi divergence of continuous generalised Cauchy noise, density beta (1 + x^2)^(-k/2), on laws with atoms.

Near the atoms |d ln zeta| <= k/2 and, for |y| < 1, (1 - y^2)(1 + x^2) <= |1 + (x + iy)^2| <= (1 + y^2)(1 + x^2) with
an argument of at most arcsin y. At a distance d from all atoms |d ln zeta| <= k/d, and intervals may grow with d
(docs/proofs/renyi.md#8-continuous-generalised-cauchy-noise-on-atoms-unit-the-scale)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.loss.divergence.continuous import Atoms, Integrand, _rounded
from fugu.loss.divergence.quadrature import TALL, quadrature, relative_error
from fugu.loss.smooth.noised import log_sum
from fugu.numbers import balls
from fugu.numbers.exact import UNIT

_WIDE = (6 + 1 / 6) / 2


def cauchy(p: Atoms, q: Atoms, alpha: Fraction, tail: Fraction) -> float:
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
    eta = min(1.5 / ((2 * a - 1) * k + 4), 0.5 * turn / (TALL + 0.5 * turn * (_WIDE - 1)))
    start = max(2.2 / turn, 4.0) / (1 - (_WIDE - 1) * eta) + math.sqrt(a * k)
    nearest = start * (1 - (_WIDE - 1) * eta)
    lean = TALL * eta / (1 - (_WIDE - 1) * eta)
    angle = k * math.atan(lean + 1 / nearest)
    grown = (1 + nearest**-2) ** (k * a / 2) * ((1 + lean * lean) ** (k / 2) / math.cos(angle)) ** (a - 1)
    worst = (
        max(worst, relative_error((2 * a - 1) * k / (1 - (_WIDE - 1) * eta), eta, grown)) if angle < 1.5 else math.inf
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
