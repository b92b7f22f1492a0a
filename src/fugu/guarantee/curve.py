"""Rényi guarantees at many orders, `RenyiCurve` and `ZCDP`, and guarantees of every kind as exact JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn, TypeVar

from fugu.errors import BadBudget, CertificateError, NotProvable
from fugu.guarantee.asks import Ask, check_alpha, check_delta, check_epsilon, exact, outward, plain
from fugu.guarantee.composed import Composed
from fugu.guarantee.kinds import (
    Approx,
    Ordered,
    Pure,
    Renyi,
    asked_divergences,
    pure_as_renyi,
    renyi_delta_at,
    renyi_to_approx,
)
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import Json

Order = TypeVar("Order", bound=Real)
_LONGEST = 160
"""Characters of a curve that is shown as a whole."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RenyiCurve(Ordered):
    """The Rényi divergence between the two laws is bounded at every listed order: D_alpha(P || Q) <= epsilon(alpha), in
    both orders of the pair (alpha = inf is pure).

    `epsilons`: {alpha: epsilon}, at least one order alpha above 1 (or infinite), each with an epsilon >= 0; `delta`: a
    number in [0, 1). Calling the curve gives the least proved epsilon at any order. Raises `BadBudget` for others.

    With delta > 0 the divergences are those of the laws outside events of probability delta on each side, the same
    events for all orders. D_alpha grows with alpha, so a smaller epsilon at a larger order replaces a larger one.

    >>> curve = RenyiCurve({2: 0.1, 8: 0.5})
    >>> curve(2), curve(5), curve(9)
    (0.1, 0.45, inf)
    >>> RenyiCurve({2: 1, 4: 0.5})
    RenyiCurve({2: 0.5, 4: 0.5})
    """

    renyi = True
    several = True

    points: tuple[tuple[Real, Real], ...]
    delta: Real

    def __init__(self, epsilons: Mapping[Order, Real], delta: Real = 0.0) -> None:
        if not isinstance(epsilons, Mapping) or not epsilons:
            raise BadBudget("a Rényi curve needs {alpha: epsilon} with at least one order")
        for alpha, epsilon in epsilons.items():
            check_alpha(alpha)
            check_epsilon(epsilon)
        check_delta(delta)
        points: list[tuple[Real, Real]] = []
        for alpha in sorted(epsilons, key=exact, reverse=True):
            later = points[-1][1] if points else math.inf
            points.append((alpha, min(epsilons[alpha], later, key=exact)))
        if len({exact(a) for a, _ in points}) < len(points):
            raise BadBudget("a Rényi curve lists an order twice; give each order one epsilon")
        object.__setattr__(self, "points", tuple(reversed(points)))
        object.__setattr__(self, "delta", delta)

    @property
    def epsilons(self) -> dict[Real, Real]:
        """{alpha: epsilon} of the listed orders."""
        return dict(self.points)

    @property
    def orders(self) -> tuple[tuple[Real, Real], ...]:
        """(order, epsilon) of every listed order."""
        return self.points

    @property
    def epsilon(self) -> Real:
        """The least epsilon of any order, which is that of the smallest one."""
        return self.points[0][1]

    def with_epsilons(self, epsilons: Mapping[Real, Real]) -> RenyiCurve:
        """The same orders with other epsilons and no delta."""
        return RenyiCurve(epsilons)

    def divergence_at(self, alpha: Real) -> Real:
        """The epsilon that is listed, or what the others imply: the lesser."""
        listed = (e for a, e in self.points if exact(a) == exact(alpha))  # a dict would take Fraction(1.1) for 1.1
        return min(next(listed, math.inf), self(alpha), key=exact)

    def epsilon_at(self, delta: Real) -> Real:
        """At its own delta only the order infinity says something."""
        return self(math.inf) if exact(self.delta) == exact(delta) else super().epsilon_at(delta)

    def implied_by(self, other: Ordered) -> bool:
        """Every order by itself."""
        return all(other <= Renyi(a, e, self.delta) for a, e in self.points)

    def simplest(self) -> RenyiCurve:
        """Itself; a curve that lists the order infinity is refused, since it is two guarantees."""
        if any(math.isinf(a) for a, _ in self.points):
            raise NotProvable("a curve with the order inf is a pure guarantee as well; give Pure, or the finite orders")
        return self

    def asks(self) -> Ask:
        """D_alpha <= epsilon(alpha) for every order with a finite epsilon."""
        return asked_divergences(self.simplest().points, self.delta)

    def __str__(self) -> str:
        """All orders, however many."""
        return f"RenyiCurve({self.epsilons!r}{f', delta={self.delta!r}' if self.delta else ''})"

    def __repr__(self) -> str:
        """All orders, or their number and the ends where they are many."""
        if len(whole := str(self)) <= _LONGEST:
            return whole
        (low, least), (high, most) = self.points[0], self.points[-1]
        return f"RenyiCurve({len(self.points)} orders, {low!r}: {least!r} to {high!r}: {most!r}, delta={self.delta!r})"

    def __call__(self, alpha: Real) -> float:
        """The least proved epsilon at any order, rounded up; inf if the listed orders imply none.

        Let z(a) = (a - 1) D_a = ln E_Q (dP/dQ)^a. Then z(1) = 0 and z is convex: for a = u b + (1 - u) c, Hölder gives
        E_Q L^a = E_Q (L^b)^u (L^c)^(1-u) <= (E_Q L^b)^u (E_Q L^c)^(1-u). So z lies below the lower hull of (1, 0) and
        the listed (a, (a - 1) epsilon). Its slope never exceeds lim z(a)/a = D_inf, so beyond a listed order z grows at
        most by D_inf for each unit. A pure pair is also never worse than randomised response."""
        check_alpha(alpha)
        vertices, pure = self._hull()
        if math.isinf(alpha):
            return math.inf if pure is None else outward(pure)
        a = exact(alpha)
        before = max((v for v in vertices if v[0] <= a), key=lambda v: v[0])
        after = min((v for v in vertices if v[0] > a), key=lambda v: v[0], default=None)
        slope = Fraction(0) if a == before[0] else pure if after is None else _slope(before, after)
        if slope is None:
            return math.inf
        found = (before[1] + slope * (a - before[0])) / (a - 1)
        if pure is not None and self.delta == 0:
            found = min(found, Fraction(pure_as_renyi(pure, a)))
        return outward(found)

    def _hull(self) -> tuple[list[tuple[Fraction, Fraction]], Fraction | None]:
        """The corners (a, (a-1) epsilon) of the lower hull, from (1, 0) on, and the pure epsilon if one is listed."""
        pure = next((exact(e) for a, e in self.points if math.isinf(a) and not math.isinf(e)), None)
        corners = [(Fraction(1), Fraction(0))]
        for alpha, epsilon in self.points:
            if math.isinf(alpha) or math.isinf(epsilon):
                continue
            a = exact(alpha)
            new = (a, (a - 1) * exact(epsilon))
            while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-1], new):
                corners.pop()
            corners.append(new)
        while pure is not None and len(corners) > 1 and _slope(corners[-2], corners[-1]) >= pure:
            corners.pop()
        return corners, pure

    def _key(self) -> tuple[object, ...]:
        corners, pure = self._hull()
        if len(corners) == 1:
            return Approx(math.inf if pure is None else pure, self.delta)._key()
        if len(corners) == 2 and pure is None:
            a, z = corners[1]
            return Renyi(a, z / (a - 1), self.delta)._key()
        return ("curve", tuple(corners), pure, exact(self.delta))

    def to_approx(self, delta: Real) -> Approx:
        """The least epsilon at `delta` that all orders imply jointly; never above what any order alone implies.

        Raises `NotProvable` for a `delta` that is not above this one.

        The optimal conversion (docs/proofs/conversions.md); with delta > 0 at (delta - this delta) / (1 - this delta).

        >>> round(RenyiCurve({2: 0.1, 8: 0.5}).to_approx(1e-5).epsilon, 4)
        1.7097
        """
        corners, pure = self._hull()
        orders: dict[Real, Real] = {a: z / (a - 1) for a, z in corners[1:]}
        if pure is not None:
            plain = Approx(pure, self.delta).to_approx(delta)
            if not orders or exact(delta) == exact(self.delta):
                return plain
            joint = renyi_to_approx({**orders, math.inf: pure}, self.delta, delta)
            return min(plain, joint, key=lambda g: exact(g.epsilon))
        return renyi_to_approx(orders or {2: math.inf}, self.delta, delta)

    def delta_at(self, epsilon: Real) -> float:
        """The least delta at `epsilon` >= 0 that all orders imply jointly, rounded up; the optimal conversion.

        >>> round(RenyiCurve({2: 0.1}).delta_at(1), 9)
        0.015167864
        """
        return renyi_delta_at(self.epsilons, self.delta, epsilon)


def _slope(one: tuple[Fraction, Fraction], two: tuple[Fraction, Fraction]) -> Fraction:
    return (two[1] - one[1]) / (two[0] - one[0])


Guarantee = Pure | Approx | Renyi | RenyiCurve | Composed
"""Any guarantee. A budget is a guarantee."""


# `ZCDP`: one number for all Rényi orders at once, D_alpha <= rho alpha (Bun and Steinke 2016).
#
# A `RenyiCurve` speaks of the orders that it lists. This one speaks of every order above 1, so groups of b entries cost
# b^2 rho exactly, sums are sums of rho, and the order that is best for an (epsilon, delta) is looked for when it is
# asked. The listed `orders` are a selection, for readers that want a curve.
#
# Proofs: docs/proofs/fields.md#one-number-for-all-orders.


_LISTED: tuple[Real, ...] = (1.5, 2, 4, 8, 16, 32, 64)
_AROUND = tuple(Fraction(k, 16) for k in (8, 14, 16, 18, 32))
"""Multiples of the best order of the closed form; the joint conversion takes all of them."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ZCDP(RenyiCurve):
    """Zero-concentrated privacy, a Rényi divergence in proportion to its order: D_alpha(P || Q) <= rho alpha for every
    order alpha > 1, in both orders of the pair.

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

    @property
    def zcdp(self) -> Fraction:
        """Its own rho."""
        return exact(self.rho)

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
        found = other.zcdp
        return found is not None and found <= exact(self.rho)

    def to_json(self) -> Json:
        """Its kind and its rho."""
        return {"kind": "ZCDP", "delta": 0.0, "rho": float(self.rho)}

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


_FIELDS = {
    Pure: ("epsilon",),
    Approx: ("epsilon", "delta"),
    Renyi: ("alpha", "epsilon", "delta"),
    RenyiCurve: ("delta",),
    ZCDP: ("rho",),
    Composed: (),
}
_SINGLE = {kind.__name__: kind for kind in (Pure, Approx, Renyi, ZCDP)}


def budget_json(budget: Guarantee) -> dict[str, str]:
    """A guarantee with exact numbers; the orders of a Rényi curve as "alpha: epsilon, alpha: epsilon", what is composed
    as "count x pair; count x pair"."""
    fields = {name: _text(getattr(budget, name)) for name in _FIELDS[type(budget)]}
    if len(fields) == 1 and "delta" in fields:
        orders = ((("inf" if math.isinf(a) else _text(a)), _text(e)) for a, e in budget.orders)
        fields["epsilons"] = ", ".join(f"{a}: {e}" for a, e in orders)
    if isinstance(budget, Composed):
        fields["parts"] = budget.text
    return {"kind": type(budget).__name__, **fields}


def budget_from(found: dict[str, str]) -> Guarantee:
    """The guarantee that `budget_json` wrote."""
    if "epsilons" in found and found["kind"] == RenyiCurve.__name__:
        listed = [point.split(": ") for point in found["epsilons"].split(", ")]
        orders = {math.inf if a == "inf" else _number(a): _number(e) for a, e in listed}
        return RenyiCurve(orders, _number(found["delta"]))
    if found["kind"] == Composed.__name__:
        return Composed.read(found["parts"])
    numbers = {k: _number(v) for k, v in found.items() if k != "kind"}
    return _SINGLE[found["kind"]](**numbers)


def _number(text: str) -> Real:
    """A whole number or float where it means exactly this, else the Fraction; within the range of doubles."""
    exact = read_number(text)
    if abs(exact) > sys.float_info.max:
        raise CertificateError("the certificate's budget is beyond the range of doubles")
    if exact.denominator == 1:
        return int(exact)
    return float(exact) if as_fraction(float(exact)) == exact else exact


def _text(x: Real) -> str:
    if isinstance(x, float) and math.isinf(x):
        raise CertificateError("an infinite budget cannot be certified")
    return str(as_fraction(x))
