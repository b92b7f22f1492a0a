"""Rényi guarantees at several orders at once, and what they imply at every other order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.asks import Ask
from fugu.guarantee.kinds import Approx, Pure, Renyi, asked_divergences, renyi_delta_at, renyi_to_approx
from fugu.guarantee.numbers import check_alpha, check_delta, check_epsilon, exact, outward
from fugu.guarantee.order import Ordered, pure_as_renyi
from fugu.numbers.exact import Real

Order = TypeVar("Order", bound=Real)
_LONGEST = 160
"""Characters of a curve that is shown as a whole."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RenyiCurve(Ordered):
    """D_alpha(P || Q) <= epsilon(alpha) for every listed order, in both orders of the pair (alpha = inf is pure).

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
        found, a = self._on_hull(exact(alpha), vertices, pure), exact(alpha)
        if pure is not None and self.delta == 0 and found is not None:
            found = min(found, Fraction(pure_as_renyi(pure, a)))
        return math.inf if found is None else outward(found)

    @staticmethod
    def _on_hull(a: Fraction, vertices: list[tuple[Fraction, Fraction]], pure: Fraction | None) -> Fraction | None:
        before = max((v for v in vertices if v[0] <= a), key=lambda v: v[0])
        after = min((v for v in vertices if v[0] > a), key=lambda v: v[0], default=None)
        if a == before[0]:
            return before[1] / (a - 1)
        if after is not None:
            slope = (after[1] - before[1]) / (after[0] - before[0])
        elif pure is not None:
            slope = pure
        else:
            return None
        return (before[1] + slope * (a - before[0])) / (a - 1)

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


Guarantee = Pure | Approx | Renyi | RenyiCurve
"""Any guarantee. A budget is a guarantee."""
