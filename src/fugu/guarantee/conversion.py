"""From a Rényi divergence to (epsilon, delta), rounded up: the closed form, and the best one that exists.

`balle` is the closed form. `exact_epsilon` and `exact_delta` are optimal: the divergences imply nothing
smaller. They take {alpha: epsilon}, several orders jointly, and speak of the event probabilities P(S) against
Q(S) when D_alpha(P || Q) <= epsilon(alpha); with `symmetric` also D_alpha(Q || P) <= epsilon(alpha) is used.
Proofs: docs/proofs/conversions.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from fugu.guarantee.asks import check_alpha, check_delta, check_epsilon, exact, outward
from fugu.numbers.exact import Real, meant_up

if TYPE_CHECKING:
    from flint import arb


def balle(alpha: Real, epsilon: Real, delta: Real) -> float:
    """max(0, epsilon + ln((alpha-1)/alpha) - (ln delta + ln alpha) / (alpha-1)), rounded up.

    Balle et al. 2020, Theorem 21; Canonne, Kamath, Steinke 2020, Proposition 12.

    >>> round(balle(2, 0.1, 1e-5), 6)
    10.226631
    """
    from fugu.numbers import balls

    check_alpha(alpha)
    check_epsilon(epsilon)
    check_delta(delta, positive=True)
    if math.isinf(epsilon):
        return math.inf
    if math.isinf(alpha):
        return outward(exact(epsilon))
    with balls.precision(192):
        a, e, log_d = balls.of(exact(alpha)), balls.of(exact(epsilon)), balls.of(exact(delta)).log()
        found: arb = e + ((a - 1) / a).log() - (log_d + a.log()) / (a - 1)
        return meant_up(max(0.0, balls.upper(found)))


def balle_delta(alpha: Real, renyi: Real, epsilon: Real) -> float:
    """min(1, e^{(alpha-1)(renyi - epsilon)} (1 - 1/alpha)^alpha / (alpha-1)), rounded up: `balle` solved for delta."""
    from fugu.numbers import balls

    check_alpha(alpha)
    check_epsilon(renyi)
    check_epsilon(epsilon)
    if math.isinf(alpha) or math.isinf(renyi) or math.isinf(epsilon):
        return 0.0 if exact(renyi) <= exact(epsilon) and not math.isinf(renyi) else 1.0
    with balls.precision(192):
        a = balls.of(exact(alpha))
        found: arb = (a - 1) * balls.of(exact(renyi) - exact(epsilon)) + a * (1 - 1 / a).log() - (a - 1).log()
        return meant_up(min(1.0, balls.upper(found.exp())))


def exact_delta(orders: Mapping[Real, Real], epsilon: Real, symmetric: bool = False) -> float:
    """The least delta with P(S) <= e^epsilon Q(S) + delta that the divergences imply, rounded up.

    >>> round(exact_delta({2: 0.1}, 1), 9)
    0.015167864
    """
    from fugu.guarantee import optimal

    check_epsilon(epsilon)
    known = _known(orders)
    if math.isinf(epsilon) or 0 in known.values() or exact(epsilon) >= known.get(math.inf, 10**401):
        return 0.0
    if not known:
        return 1.0
    capped = min((balle_delta(a, e, epsilon) for a, e in known.items()), default=1.0)
    return min(1.0, capped, meant_up(optimal.delta(known, exact(epsilon), symmetric)))


def exact_epsilon(orders: Mapping[Real, Real], delta: Real, symmetric: bool = False) -> float:
    """The least epsilon >= 0 with P(S) <= e^epsilon Q(S) + delta that the divergences imply, rounded up.

    >>> round(exact_epsilon({2: 0.1}, 1e-5), 6), round(exact_epsilon({2: 0.1, 4: 0.2}, 1e-5), 6)
    (7.874843, 3.022635)
    """
    from fugu.guarantee import optimal

    check_delta(delta, positive=True)
    known = _known(orders)
    if 0 in known.values():  # D_alpha = 0 at one order means P = Q
        return 0.0
    if not known:
        return math.inf
    capped = min(balle(a, e, delta) for a, e in known.items())
    if not capped or exact(exact_delta(orders, 0, symmetric)) <= exact(delta):  # where the search sees no hill
        return 0.0
    return min(capped, meant_up(max(0.0, optimal.epsilon(known, exact(delta), symmetric))))


def _known(orders: Mapping[Real, Real]) -> dict[Real, Fraction]:
    """The orders that say something, checked and exact."""
    for a, e in orders.items():
        check_alpha(a)
        check_epsilon(e)
    return {a: exact(e) for a, e in orders.items() if not math.isinf(e)}
