"""Sums of P^alpha Q^(1-alpha) in ball arithmetic, and the divergence they stand for.

D_alpha(P, Q) = ln(sum P^alpha Q^(1-alpha)) / (alpha - 1) for alpha > 1 (van Erven and Harremoes 2014, section II); it
is +inf where P has mass and Q has none. Every function here takes enclosures and returns enclosures or upper bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from flint import acb, arb

from fugu.numbers import balls

Pair = tuple[int, int]


def working_bits(alpha: Fraction) -> int:
    """Bits such that the errors of ln, times alpha, divided by alpha - 1, stay far below a double's."""
    return 160 + 2 * math.ceil(alpha).bit_length() + math.ceil(1 / (alpha - 1)).bit_length()


class PowerSum:
    """sum_k P(k)^alpha Q(k)^(1-alpha) and its mirror image, for every pair of rows, point by point."""

    def __init__(self, pairs: Iterable[Pair], alpha: Fraction) -> None:
        self.pairs = list(pairs)
        self._less = balls.of(alpha - 1)
        self.sums = {order: arb(0) for i, j in self.pairs for order in ((i, j), (j, i))}

    def terms(self, masses: list[arb]) -> dict[Pair, arb]:
        """P^alpha Q^(1-alpha) at one point; P (P/Q)^(alpha-1), so that equal masses give their own mass."""
        logs = [m.log() if m > 0 else None for m in masses]
        found = {}
        for i, j in self.pairs:
            a, b = logs[i], logs[j]
            if a is not None and b is not None:
                tilt = self._less * (a - b)
                found[i, j], found[j, i] = (a + tilt).exp(), (b - tilt).exp()
            else:
                found[i, j], found[j, i] = self._edge(masses[i], masses[j]), self._edge(masses[j], masses[i])
        return found

    def _edge(self, p: arb, q: arb) -> arb:
        """The term where a mass is not surely positive: nothing without P, no bound without Q, else from P's end."""
        if p.is_zero():
            return arb(0)
        if not q > 0 or not p.is_finite():
            return arb("inf")
        top = p.upper().log()
        return (top + self._less * (top - q.log())).exp()

    def add(self, masses: list[arb]) -> None:
        """Add the terms of one point."""
        for order, term in self.terms(masses).items():
            self.sums[order] += term

    def raise_by(self, order: Pair, term: arb) -> None:
        """Add a bound on what lies elsewhere."""
        self.sums[order] += term


def divergence(total: arb, alpha: Fraction) -> float:
    """ln(total) / (alpha - 1), rounded up; a divergence is never below 0."""
    if not total.is_finite():
        return math.inf
    top = total.upper()
    return max(0.0, balls.upper(top.log() / balls.of(alpha - 1))) if top > 1 else 0.0


def theta(decay: arb) -> arb:
    """sum over all integers k of exp(-decay k^2): Jacobi's theta_3 at 0."""
    return acb.modular_theta(acb(0), acb(0, decay / arb.pi()))[2].real


def gaussian_tail(decay: arb, distance: arb) -> arb:
    """A bound on the sum over k >= 0 of exp(-decay (distance + k)^2), distance > 0: each term is at most
    e^{-2 decay distance} times the one before."""
    if not distance > 0:
        return arb("inf")
    return (-decay * distance * distance).exp() / (1 - (-2 * decay * distance).exp())
