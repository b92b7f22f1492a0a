"""Rényi guarantees of a per-entry mechanism for b entries at once.

For laws P, R, Q and 1/p + 1/q = 1 Hölder's inequality on P^a R^-(a - 1/p) times R^(a - 1/p) Q^(1 - a) gives (Mironov
2017, Proposition 11)

    D_a(P || Q) <= (a - 1/p) / (a - 1) D_(p a)(P || R) + D_(q (a - 1/p))(R || Q).

With R the output after the first b1 of b entries have changed this bounds the divergence of b entries by those of b1
and b2 = b - b1, for every p. At p = 1 + t (a - 1)/a b2/b1 the two orders are a + t (a - 1) b2/b1 and a + a b1/(t b2); t
= 1 is the best choice for D_a = rho a (zCDP, Gaussian noise) and gives b^2 rho a exactly (Bun and Steinke 2016,
Proposition 27). A curve with a few listed orders says nothing about larger ones, so at its largest order only b = 1 is
proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.numbers import exact
from fugu.guarantee.order import pure_as_renyi

Cost = Callable[[int], float]
"""b -> an upper bound on the divergence between outputs on datasets that differ in b entries."""
_CHOICES = (Fraction(1, 2), Fraction(1), Fraction(2))
_MOST = 16


def group_cost(curve: RenyiCurve, alpha: Fraction) -> Cost:
    """The cost of b entries at one order, by the inequality above and, if the curve lists inf, by b times epsilon."""
    known: dict[tuple[int, Fraction], Fraction | None] = {}
    pure = curve(math.inf)

    def bound(b: int, a: Fraction) -> Fraction | None:
        if (b, a) not in known:
            known[b, a] = _halved(b, a) if b > 1 else _finite(curve(a))
        return known[b, a]

    def _halved(b: int, a: Fraction) -> Fraction | None:
        best: Fraction | None = None
        for b1 in {b // 2, b - b // 2}:
            b2 = b - b1
            for t in _CHOICES:
                p = 1 + t * (a - 1) / a * Fraction(b2, b1)
                second = bound(b2, a + a * Fraction(b1, b2) / t)
                first = bound(b1, p * a) if second is not None else None
                if first is None or second is None:
                    continue
                here = (a - 1 / p) / (a - 1) * first + second
                best = here if best is None or here < best else best
        return best

    def cost(b: int) -> float:
        found = math.inf
        if math.isfinite(pure):
            found = pure_as_renyi(b * exact(pure), alpha)
        if b <= _MOST and (general := bound(b, alpha)) is not None:
            found = min(found, up(general))
        return found

    return cost


def zcdp_cost(rho: Fraction, alpha: Fraction) -> Cost:
    """b^2 rho alpha: for rho-zCDP and for Gaussian noise, and for nothing else (Bun and Steinke 2016, Prop. 27)."""
    return lambda b: up(b * b * rho * alpha)


def up(x: Fraction) -> float:
    """The least float at or above x that also means a number at or above x."""
    from fugu.guarantee.numbers import outward

    return outward(x)


def _finite(x: float) -> Fraction | None:
    return exact(x) if math.isfinite(x) else None
