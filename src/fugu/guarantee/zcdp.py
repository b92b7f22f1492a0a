"""`ZCDP`: one number for all Rényi orders at once, D_alpha <= rho alpha (Bun and Steinke 2016).

A `RenyiCurve` speaks of the orders that it lists. This one speaks of every order above 1, so groups of b entries cost
b^2 rho exactly, sums are sums of rho, and the order that is best for an (epsilon, delta) is looked for when it is
asked. The listed `orders` are a selection, for readers that want a curve.

Proofs: docs/proofs/fields.md#one-number-for-all-orders.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.kinds import Approx, renyi_delta_at, renyi_to_approx
from fugu.guarantee.numbers import check_alpha, check_delta, exact, outward, plain
from fugu.guarantee.order import Ordered
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real

_LISTED: tuple[Real, ...] = (1.5, 2, 4, 8, 16, 32, 64)
_AROUND = tuple(Fraction(k, 16) for k in (8, 14, 16, 18, 32))
"""Multiples of the best order of the closed form; the joint conversion takes all of them."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ZCDP(RenyiCurve):
    """D_alpha(P || Q) <= rho alpha for every order alpha > 1, in both orders of the pair.

    `rho`: a finite number >= 0. Raises `BadBudget` for others. Gaussian noise of deviation s, on the line or on a
    lattice, gives rho = d^2 / (2 s^2) for values that are at most d apart (Bun and Steinke 2016, Proposition 6;
    Canonne, Kamath and Steinke 2020, Theorem 4).

    >>> ZCDP(0.25)(3), ZCDP(0.1) <= ZCDP(0.2) <= RenyiCurve({2: 0.4})
    (0.75, True)
    >>> round(ZCDP(0.1).to_approx(1e-5).epsilon, 3)
    1.914
    """

    rho: Real

    def __init__(self, rho: Real) -> None:
        if not is_number(rho) or not 0 <= rho < math.inf:
            raise BadBudget(f"rho must be a finite number >= 0, got {rho!r}")
        super().__init__({a: plain(exact(rho) * exact(a)) for a in _LISTED})
        object.__setattr__(self, "rho", plain(exact(rho)))

    @staticmethod
    def of_pure(epsilon: Real) -> ZCDP:
        """What a pure epsilon implies: epsilon^2 / 2 (Bun and Steinke 2016, Proposition 3.3)."""
        return ZCDP(plain(exact(epsilon) ** 2 / 2))

    def __str__(self) -> str:
        return f"ZCDP(rho={self.rho!r})"

    def __repr__(self) -> str:
        return str(self)

    def __call__(self, alpha: Real) -> float:
        """rho alpha, rounded up; inf at the order inf unless rho is 0."""
        check_alpha(alpha)
        if self.rho == 0:
            return 0.0
        return math.inf if math.isinf(alpha) else outward(exact(self.rho) * exact(alpha))

    def divergence_at(self, alpha: Real) -> Real:
        """rho alpha, exactly."""
        if self.rho == 0:
            return 0
        return math.inf if math.isinf(alpha) else plain(exact(self.rho) * exact(alpha))

    def with_epsilons(self, epsilons: Mapping[Real, Real]) -> ZCDP:
        """The largest rho with rho alpha within each of these epsilons."""
        return ZCDP(plain(min(exact(e) / exact(a) for a, e in epsilons.items())))

    def implied_by(self, other: Ordered) -> bool:
        """By a rho that is no larger, or by a pure epsilon; a few listed orders say nothing of the others."""
        found = rho_of(other)
        return found is not None and found <= exact(self.rho)

    def simplest(self) -> ZCDP:
        """Itself."""
        return self

    def asks(self) -> NoReturn:
        """Refused: laws are compared at finitely many orders, and a zCDP guarantee is about all of them."""
        raise NotProvable(
            "noise for laws is proved at listed Rényi orders, and ZCDP speaks of all of them; give a RenyiCurve with "
            "the orders you need"
        )

    def _key(self) -> tuple[object, ...]:
        return ("zcdp", exact(self.rho)) if self.rho else ("pure", Fraction(0))

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon at `delta` > 0 that several orders near the best one imply jointly, rounded up."""
        check_delta(delta)
        if self.rho == 0:
            return Approx(0, delta)
        if delta == 0:
            raise NotProvable("ZCDP implies no pure epsilon; ask for a delta above 0")
        rho, log = float(exact(self.rho)), math.log(float(exact(delta)))

        def cost(x: float) -> float:
            return rho * x - (log + math.log1p(x)) / x - math.log1p(1 / x)

        return renyi_to_approx(self._near(cost), 0, delta)

    def delta_at(self, epsilon: Real) -> float:
        """The least delta at `epsilon` >= 0 that several orders near the best one imply jointly, rounded up."""
        if self.rho == 0:
            return 0.0
        rho, e = float(exact(self.rho)), float(exact(epsilon))

        def cost(x: float) -> float:
            return x * (rho * (1 + x) - e) - (1 + x) * math.log1p(1 / x) - math.log(x)

        return renyi_delta_at(self._near(cost), 0, epsilon)

    def _near(self, cost: Callable[[float], float]) -> dict[Real, Real]:
        """Divergences at orders around the one, 1 + x, of the least cost; any orders are sound."""
        low, high = math.log(1e-4), math.log(1e9)
        for _ in range(80):  # the costs have one valley in log x
            a, b = low + (high - low) * 0.382, low + (high - low) * 0.618
            low, high = (low, b) if cost(math.exp(a)) <= cost(math.exp(b)) else (a, high)
        apart = exact(float(f"{math.exp(low):.3g}"))
        return {1 + apart * k: exact(self.rho) * (1 + apart * k) for k in _AROUND}


def rho_of(guarantee: Ordered) -> Fraction | None:
    """The zCDP that a guarantee implies at all orders: its own rho, or epsilon^2 / 2; None where it implies none."""
    if isinstance(guarantee, ZCDP):
        return exact(guarantee.rho)
    if guarantee.delta or (guarantee.renyi and not _is_pure(guarantee)):
        return None
    epsilon = guarantee.divergence_at(math.inf)
    return None if math.isinf(epsilon) else exact(epsilon) ** 2 / 2


def _is_pure(guarantee: Ordered) -> bool:
    return not math.isinf(guarantee.divergence_at(math.inf))
