"""What counts prove of a Rényi promise directly: no event's two rates may lie further apart than the laws do.

By data processing D_a(P || Q) is at least that of the two coins [E], and for p > q that grows with p and falls with q
(van Erven and Harremoës 2014, Theorem 9): so it may be taken at the lower bound of one rate and the upper of the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from fugu.auditing.release_attack.trial import Attempt
from fugu.guarantee import Guarantee

_DOWN = 1e-12


@dataclass(frozen=True)
class Divergence:
    """One order: what is promised, and what the attack proves it to be at least."""

    order: float
    promised: float
    attacked: float


def divergences(guarantee: Guarantee, attempts: Iterable[Attempt]) -> tuple[Divergence, ...]:
    """Every finite order of a Rényi promise that holds for all events; nothing for other promises."""
    if not guarantee.renyi or guarantee.delta > 0:
        return ()
    rates = [(a.implied.tpr_lower, a.implied.fpr_upper) for a in attempts]
    return tuple(
        Divergence(float(order), float(epsilon), max((of_coins(float(order), p, q) for p, q in rates), default=0.0))
        for order, epsilon in guarantee.orders
        if math.isfinite(order)
    )


def of_coins(order: float, p: float, q: float) -> float:
    """ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1) for p > q, a little down; 0 otherwise.

    >>> round(of_coins(2, 0.5, 0.25), 9), of_coins(2, 0.2, 0.3)
    (0.287682072, 0.0)
    """
    if not 0 < q < p <= 1:
        return 0.0
    heads = order * math.log(p) + (1 - order) * math.log(q)
    tails = -math.inf if p == 1 else order * math.log1p(-p) + (1 - order) * math.log1p(-q)
    total = (
        heads + math.log1p(math.exp(tails - heads)) if tails <= heads else tails + math.log1p(math.exp(heads - tails))
    )
    return max(0.0, total / (order - 1) * (1 - _DOWN) - _DOWN)
