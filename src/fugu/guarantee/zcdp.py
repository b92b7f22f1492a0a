"""`Zcdp`: D_alpha(P || Q) <= rho alpha at every order alpha above 1 (Bun and Steinke 2016), as of Gaussian noise."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fugu.errors import BadBudget
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.numbers import check_alpha, check_epsilon, exact, outward
from fugu.numbers.exact import Real


class Zcdp(RenyiCurve):
    """rho-zCDP: a Rényi curve that is known at every order, and spoken of at those listed.

    `rho`: a finite number >= 0; `orders`: the orders that are listed, at least one. Calling it gives rho alpha at any
    order. Raises `BadBudget` for others.

    >>> noise = Zcdp(0.02, [2])
    >>> noise(10), noise.epsilons
    (0.2, {2: Fraction(1, 25)})
    """

    rho: Fraction

    def __init__(self, rho: Real, orders: Iterable[Real]) -> None:
        check_epsilon(rho)
        given = tuple(orders)
        for alpha in given:
            check_alpha(alpha)
        if not given or any(alpha == float("inf") for alpha in given):
            raise BadBudget("zCDP is spoken of at finite orders, at least one")
        super().__init__({alpha: exact(rho) * exact(alpha) for alpha in given})
        object.__setattr__(self, "rho", exact(rho))

    def __call__(self, alpha: Real) -> float:
        """rho alpha, rounded up; inf at the order inf."""
        check_alpha(alpha)
        return float("inf") if alpha == float("inf") else outward(self.rho * exact(alpha))

    def _key(self) -> tuple[object, ...]:
        return ("zcdp", self.rho)

    def __str__(self) -> str:
        return f"Zcdp(rho={float(self.rho)!r}, orders={[float(a) for a, _ in self.points]!r})"

    def __repr__(self) -> str:
        return str(self)


def summed_zcdp(charges: Iterable[tuple[object, int]]) -> Zcdp | None:
    """What so many releases of each promise together: rho adds (Bun and Steinke 2016, lemma 7); None if one is no zCDP.

    >>> summed_zcdp([(Zcdp(0.01, [2]), 2), (Zcdp(0.02, [2]), 1)])
    Zcdp(rho=0.04, orders=[2.0])
    """
    listed = list(charges)
    known = [(found, count) for found, count in listed if isinstance(found, Zcdp)]
    if not known or len(known) < len(listed):
        return None
    orders = {exact(alpha): alpha for found, _ in known for alpha, _ in found.points}
    return Zcdp(sum((found.rho * count for found, count in known), Fraction(0)), orders.values())
