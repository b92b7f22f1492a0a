"""Closed forms that need only the total variation eta between rows of the kernels (Dobrushin's coefficient).

For every set A two rows have a <= b + eta, so L <= log (1 + (e^alpha - 1) eta). The fixed point of
alpha = eps + log (1 + (e^alpha - 1) eta) is alpha = eps + log((1 - eta) / (1 - eta e^eps)) if eta e^eps < 1, hence

    epsilon <= eps + log((1 - eta_f) / (1 - eta_f e^eps)) + log((1 - eta_b) / (1 - eta_b e^eps))

for any set of chains, of any length, with steps that differ (docs/proofs/contraction.md#closed-forms). eta_b is the
largest over the real backward kernels, of every place: it is not eta_f. For an unknown start eta_b <= tanh(Delta / 4),
Delta the projective diameter of the forward kernel (`priors.coefficients.birkhoff`). With blocks of d kernels: eps
becomes d eps, eta that of every window of d.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.guarantee.numbers import outward
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up
from fugu.translation.contraction.kernel import Array, U

_BITS = 128


def row_variation(kernel: Array, valid: NDArray[np.bool_], error: float = 0.0) -> float:
    """eta: the largest total variation between two rows of possible values, rounded up."""
    rows = kernel[valid]
    worst = 0.0
    for row in rows:
        worst = max(worst, float(np.maximum(row - rows, 0.0).sum(axis=1).max(initial=0.0)))
    return float(min(1.0, worst + 2 * error + (2 * kernel.shape[-1] + 8) * U))


def from_total_variation(alpha: float, eta: float) -> float:
    """log (1 + (e^alpha - 1) eta), rounded up: what passes a kernel whose rows differ by at most eta."""
    if alpha > 600:
        return alpha
    return min(alpha, math.log1p(math.expm1(alpha) * eta) * (1 + 16 * U) + 4e-323)


def from_coefficients(epsilon: Real, eta_forward: float, eta_backward: float, d: int = 1) -> float:
    """The closed form above, proved with balls; inf if eta e^(d eps) >= 1 on a side. With blocks F = alpha - eps.

    >>> round(from_coefficients(0.1, 0.4, 0.4), 6)
    0.245386
    """
    if d < 1 or not (0 <= eta_forward <= 1 and 0 <= eta_backward <= 1):
        raise UsageError("blocks need d >= 1, and a total variation lies between 0 and 1")
    own = as_fraction(epsilon)
    with balls.precision(_BITS):
        sides = [_side(d * own, eta) for eta in (eta_forward, eta_backward)]
        if any(s is None for s in sides):
            return math.inf
        total = balls.of(own) + sum((s + balls.of((d - 1) * own) for s in sides if s is not None), balls.of(0))
        return meant_up(balls.upper(total))


def _side(epsilon: Fraction, eta: float) -> arb | None:
    e = balls.of(epsilon).exp()
    rest = 1 - balls.of(eta) * e
    return ((1 - balls.of(eta)) / rest).log() if rest > 0 else None


def group(epsilon: Real, cells: int) -> float:
    """All cells at once: cells x epsilon, rounded up. Needs nothing but privacy on the whole product domain."""
    return outward(as_fraction(epsilon) * cells)
