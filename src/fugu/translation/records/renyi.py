"""Rényi divergences for each record against one record's secret: a plan that moves mass from law to law.

If D_a(K_x || K_x') <= rho for all values x, x' of a record, then for every plan pi >= 0 with row sums p

    e^((a - 1) D_a(pK || qK)) <= sum over x' of q(x')^(1 - a) (sum over x of pi(x, x') w(x, x'))^a,

with w = e^((a - 1) rho / a) for x != x' and 1 for x = x'. The best plan levels the ratio r = p / q: it takes mass away
wherever r is above some l1, and brings it wherever r is below l0 = l1 e^(-rho / a), so that the bound is
sum q clip(r, l0, l1)^a. Any l0, l1 with w sum (p - l1 q)+ <= sum (l0 q - p)+ are a proof; they are searched in doubles
and checked in balls.

Proofs: docs/proofs/records.md#renyi.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.laws.cells import Counts
from fugu.loss.cells.ratios import Ratios
from fugu.numbers import balls
from fugu.numbers.exact import meant_up

_BITS = 160
_LARGE = 300.0
_FILLED = 1 + 1e-12
"""How much more mass is brought than is taken, so that the check in balls holds; it costs as much of the bound."""


def divergence(p: Counts, q: Counts, alpha: Fraction, rho: float) -> float:
    """A bound on D_alpha(pK || qK), rounded up, never above rho; one order of the secrets.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `alpha` is a number above 1; `rho` bounds the
    divergence of the release at that order when one record is replaced.

    >>> import numpy as np
    >>> round(divergence(np.array([7, 3]), np.array([4, 6]), Fraction(2), 0.64), 8)
    0.16209675
    """
    if rho == 0:
        return 0.0
    ratios = Ratios(p, q)
    with balls.precision(_BITS):
        kept = _value(ratios, 0.0, None, alpha)
        if rho < _LARGE:
            low = ratios.level(float(alpha), rho) * _FILLED
            high = low * math.exp(rho / float(alpha))
            if balanced(ratios, low, high, alpha, rho):
                kept = min(kept, _value(ratios, low, high, alpha))
        return min(rho, kept)


def _value(ratios: Ratios, low: float, high: float | None, alpha: Fraction) -> float:
    """log (sum of q clip(r, low, high)^alpha) / (alpha - 1), from above; without `high` nothing is taken away."""
    beyond, between, below = ratios.cut(low, math.inf if high is None else high)
    if high is None and beyond != 0:
        return math.inf
    order, least = balls.of(alpha), arb(low)
    total = arb(beyond) * arb(high or 0.0) ** order + arb(below) * least**order
    for ratio, mass in between:
        total += arb(mass) * arb(ratio).max(least) ** order
    return max(0.0, meant_up(balls.upper(total.log() / (order - 1))))


def balanced(ratios: Ratios, low: float, high: float, alpha: Fraction, rho: float) -> bool:
    """Whether the plan that cuts p / q at `high` and fills it up to `low` brings all that it takes, proved.

    w sum (p - high q)+ <= sum (low q - p)+, with w = e^((alpha - 1) rho / alpha)."""
    order = balls.of(alpha)
    weight = ((order - 1) * arb(rho) / order).exp()
    taken, _ = ratios.stick(arb(high) - 1)
    _, spare = ratios.stick(arb(low) - 1)
    return bool(weight * taken <= spare + arb(low) - 1)
