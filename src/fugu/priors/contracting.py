"""The influence curve of all chains whose steps have a bounded projective diameter.

Proofs: docs/proofs/influence.md#contracting-chains.
"""

from __future__ import annotations

import math

from flint import arb

from fugu.numbers import balls
from fugu.priors.curve import InfluenceCurve

_BITS = 96


def contracting_curve(diameter: float, length: int, max_b: int | None = None) -> InfluenceCurve:
    """min over l + r = b + 1 of Delta (tau^(l-1) + tau^(r-1)), tau = tanh(Delta / 4), rounded up.

    `diameter`: Delta, inf allowed; `length`: of the sequence; `max_b`: how far it is worth computing. Balanced windows,
    as tau^d is convex in d. Whatever the start is, and whether steps differ or not."""

    def value(b: int) -> float:
        if math.isinf(diameter):
            return math.inf
        with balls.precision(_BITS):
            tau = (arb(diameter) / 4).tanh()
            low = (b + 1) // 2
            return balls.upper(arb(diameter) * (tau ** (low - 1) + tau ** (b - low)))

    return InfluenceCurve(value, length, max_b)
