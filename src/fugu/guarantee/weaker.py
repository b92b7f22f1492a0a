"""The weaker of two guarantees: what holds if either of two mechanisms may have run."""

from __future__ import annotations

import math

from fugu.guarantee import Approx, Guarantee, Pure, Renyi, RenyiCurve
from fugu.numbers.exact import Real, as_fraction


def join(g: Guarantee, h: Guarantee) -> Guarantee | None:
    """The weaker of two guarantees: the larger epsilon at every order, and the larger delta; None if the orders differ.

    The order of Pure and Approx is infinite.

    >>> join(Pure(0.1), Approx(0.05, 1e-6)), join(Pure(1), Renyi(2, 1))
    (Approx(epsilon=Fraction(1, 10), delta=Fraction(1, 1000000)), None)
    """
    first, second = _orders(g), _orders(h)
    if first.keys() != second.keys():
        return None
    epsilons = {order: max(epsilon, second[order]) for order, epsilon in first.items()}
    delta = max(as_fraction(g.delta), as_fraction(h.delta))
    if len(epsilons) > 1:
        return RenyiCurve(epsilons, delta)
    ((order, epsilon),) = epsilons.items()
    if not math.isinf(order):
        return Renyi(order, epsilon, delta)
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def _orders(g: Guarantee) -> dict[Real, Real]:
    """{order: epsilon} of what is stated, in exact numbers."""
    return {_exact(order): _exact(epsilon) for order, epsilon in g.orders}


def _exact(number: Real) -> Real:
    return math.inf if math.isinf(number) else as_fraction(number)
