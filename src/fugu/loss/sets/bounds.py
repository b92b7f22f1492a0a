"""Bounds on the sum of f(P, Q) over all outputs and all laws of two sets: the least of two, in doubles and proved.

The envelope: f(P, Q) <= P psi at each output, and P is the noise on one law of the first set, so the sum is at most the
largest mean of psi spread by the noise, one support function. It is the truth where one law attains N, and one D,
wherever psi > 0.

The dual: sums of P and of Q are 1, so for every tau and tau' the sum is at most tau - tau' + sum over outputs of the
largest f - tau P + tau' Q for P in [D, N] of the first set and Q in [D, N] of the second, which is at one of the four
corners, f being convex. A convex problem in two numbers, of which any answer is a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from flint import arb

from fugu.laws.sets import LawSet
from fugu.loss.sets.forms import Floats
from fugu.loss.sets.measure import Measure
from fugu.loss.sets.outputs import Bounded, Noised, proved_spreads, spreads
from fugu.loss.sets.plane import Point, least

DUAL = 50_000
"""Most outputs for which the dual is solved: some hundred passes over all of them."""
_STEEPEST = 1e200


def envelope(law_set: LawSet, found: Noised, order: tuple[int, int], measure: Measure) -> float:
    """The first bound, in doubles."""
    i, j = order
    v = spreads(found.where, measure.psi(found.most[i], found.least[j]))
    return float(law_set.tops(v[None, :])[0]) if np.all(np.isfinite(v)) else math.inf


def proved_envelope(law_set: LawSet, found: Bounded, order: tuple[int, int], measure: Measure) -> arb:
    """The first bound, proved."""
    i, j = order
    psi = [measure.proved_psi(n, d) for n, d in zip(found.most[i], found.least[j], strict=True)]
    return law_set.top_ball(proved_spreads(found.where, psi))


@dataclass(frozen=True, eq=False)
class _Corners:
    """f, P and Q at the four corners of every output, and how often the output counts."""

    f: Floats
    p: Floats
    q: Floats
    times: Floats

    def slope(self, tau: float, other: float) -> tuple[float, Point]:
        """The second bound at tau and tau', and a subgradient."""
        height = self.f - tau * self.p + other * self.q
        best = np.argmax(height, axis=0)[None, :]
        value, p, q = (np.take_along_axis(x, best, axis=0)[0] @ self.times for x in (height, self.p, self.q))
        return float(tau - other + value), (float(1 - p), float(q - 1))


def dual(found: Noised, order: tuple[int, int], measure: Measure) -> tuple[float, Point]:
    """The second bound, in doubles, and where it is least; infinite where it is out of reach."""
    (i, j), nowhere = order, (math.inf, (0.0, 0.0))
    p = np.stack([found.least[i], found.least[i], found.most[i], found.most[i]])
    q = np.stack([found.least[j], found.most[j], found.least[j], found.most[j]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = float(np.max(np.where(found.most[i] > 0, found.most[i] / found.least[j], 0.0)))
    try:
        widths = measure.steepest(ratio)
    except OverflowError:
        return nowhere
    f = measure.f(p, q)
    if not (np.all(np.isfinite(f)) and max(widths) < _STEEPEST) or p.shape[1] > DUAL:
        return nowhere
    corners = _Corners(f, p, q, found.where.times)
    at = least(corners.slope, widths)
    return corners.slope(*at)[0], at


def proved_dual(found: Bounded, order: tuple[int, int], measure: Measure, at: Point) -> arb:
    """The second bound at tau and tau' >= 0, proved. What the noise puts beyond the outputs is not in the sum of Q."""
    (i, j), (tau, other) = order, map(arb, at)
    total = tau - other * (1 - arb(found.where.tail()))
    for k, times in enumerate(found.where.proved_times()):
        corners = [
            (measure.proved_f(p, q) - tau * p + other * q).upper()
            for p in (found.least[i][k], found.most[i][k])
            for q in (found.least[j][k], found.most[j][k])
        ]
        if not all(x.is_finite() for x in corners):
            return arb("inf")
        total += times * max(corners)
    return total

