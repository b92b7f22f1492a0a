"""Bounds on the sum of f(P, Q) over all outputs and all laws of two sets: the least of two.

The envelope: f(P, Q) <= P psi at each output, and P is the noise on one law of the first set, so the sum is at most the
largest mean of psi spread by the noise, one support function. It is the truth where one law attains N, and one D,
wherever psi > 0.

The dual: sums of P and of Q are 1, so for every tau and tau' the sum is at most tau - tau' + sum over outputs of the
largest f - tau P + tau' Q for P in [D, N] of the first set and Q in [D, N] of the second, which is at one of the four
corners, f being convex. A convex problem in two numbers, of which any answer is a proof."""

from __future__ import annotations

from flint import arb

from fugu.laws.sets import LawSet
from fugu.loss.sets.measure import Measure
from fugu.loss.sets.outputs import Bounded, spreads

Point = tuple[float, float]


def envelope(law_set: LawSet, found: Bounded, order: tuple[int, int], measure: Measure) -> arb:
    """The first bound, proved."""
    i, j = order
    psi = [measure.proved_psi(n, d) for n, d in zip(found.most[i], found.least[j], strict=True)]
    return law_set.top_ball(spreads(found.where, psi))


def dual(found: Bounded, order: tuple[int, int], measure: Measure, at: Point) -> arb:
    """The second bound at tau and tau' >= 0, proved. What the noise puts beyond the outputs is not in the sum of Q."""
    (i, j), (tau, other) = order, map(arb, at)
    total = tau - other * (1 - arb(found.where.tail()))
    for k, times in enumerate(found.where.times()):
        corners = [
            (measure.proved_f(p, q) - tau * p + other * q).upper()
            for p in (found.least[i][k], found.most[i][k])
            for q in (found.least[j][k], found.most[j][k])
        ]
        if not all(x.is_finite() for x in corners):
            return arb("inf")
        total += times * max(corners)
    return total
