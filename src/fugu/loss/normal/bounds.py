"""The loss between two normal laws of a vector after normal noise, proved: exact for every pair of covariances.

`prove_normal_delta` bounds sup_S P(S) - e^epsilon Q(S) for P = N(mu_p, V_p + noise), Q = N(mu_q, V_q + noise), both
orders. Equal covariances: the Gaussian curve at m^2 = d' V^{-1} d, a rational number. Unequal covariances: the contour
integral of fugu.loss.normal.mellin; where that is not enclosed, the best that several Rényi divergences imply. Laws on
different affine spaces: 1. Nothing is averaged and nothing is taken to be close enough. Proofs:
docs/proofs/normal-vectors.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb

from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.conversion import balle_delta, exact_delta
from fugu.guarantee.numbers import check_alpha, check_epsilon
from fugu.laws.multinormal import Matrix, NormalPair, is_semidefinite
from fugu.loss.normal.mellin import hockey_stick, rough, without_near_one
from fugu.loss.normal.spectrum import Gap, as_flint, common_gap, spectrum, squared_shift
from fugu.loss.search.normal import fast_normal_delta
from fugu.loss.shifts.gaussian import ball_delta
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up

__all__ = ["fast_normal_delta", "normal_divergence", "prove_normal_delta"]
_PRECISIONS = ((640, 128), (2560, 256))
"""Bits for the eigenvalues, which may nearly coincide, and for the integral."""
_SMALL = 1e-12
_GOOD = 30
"""An enclosure with fewer good bits than this is tried again, and then compared with the Rényi bound."""


def prove_normal_delta(pair: NormalPair, extra: Matrix, epsilon: Fraction) -> float:
    """A float at or above max over both orders of sup_S P(S) - e^epsilon Q(S), with covariance `extra` added to both.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> p = MultivariateNormal([1, 0], [[2, 0.5], [0.5, 1]])
    >>> q = MultivariateNormal([0, 0.5], [[1.5, 0.2], [0.2, 1.2]])
    >>> none = ((Fraction(0),) * 2,) * 2
    >>> round(prove_normal_delta(NormalPair(p, q, "p and q"), none, Fraction(1)), 10)
    0.1727006019
    """
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise BadBudget(
            "epsilon must be finite here; at infinity only a law outside the other's support costs anything"
        )
    gap = common_gap(pair, extra)
    return 1.0 if gap is None else gap_delta(gap, as_fraction(epsilon))


def gap_delta(gap: Gap, epsilon: Fraction) -> float:
    """The same for laws already reduced to coordinates with positive definite covariances."""
    if gap.a == gap.b:
        m2 = squared_shift(gap.d, gap.a) if gap.size else Fraction(0)
        if m2 == 0:
            return 0.0
        return _stated(ball_delta(epsilon, lambda: balls.of(m2).sqrt()))
    return max(order_delta(gap, epsilon), order_delta(gap.reversed, epsilon))


def order_delta(gap: Gap, epsilon: Fraction) -> float:
    """A float at or above sup_S P(S) - e^epsilon Q(S), P = N(d, a), Q = N(0, b): this order only, a != b."""
    least = 1.0
    for bits, working in _PRECISIONS:
        try:
            with balls.precision(bits):
                found = spectrum(gap)
        except NotProvable:
            continue
        with balls.precision(working):
            value = hockey_stick(found, epsilon)
        least = min(least, _stated(value))
        if value.is_zero() or (value.is_finite() and value.rel_accuracy_bits() >= _GOOD):
            return least
        if not value.is_finite():
            with balls.precision(bits):
                peeled = without_near_one(found)
            if peeled is not None:
                with balls.precision(working):
                    least = min(least, _stated(hockey_stick(peeled[0], epsilon) + peeled[1]))
            break
    return min(least, renyi_delta(gap, epsilon))


def renyi_delta(gap: Gap, epsilon: Fraction) -> float:
    """The delta that D_alpha(P || Q) at five orders implies jointly, rounded up; 1 if none is finite. Where it is tiny,
    the least of the closed bounds M(s) e^{-epsilon (s-1)} (s-1)^(s-1) / s^s (Balle et al. 2020, Theorem 21)."""
    best = _best_order(gap, float(epsilon))
    orders: dict[Real, Real] = {}
    for stretch in (0.5, 0.8, 1.0, 1.25, 2.0):
        alpha = 1 + Fraction((best - 1) * stretch).limit_denominator(10**6)
        if alpha > 1 and math.isfinite(found := gap_divergence(gap, alpha)):
            orders[alpha] = Fraction(found)
    least = min((balle_delta(alpha, bound, epsilon) for alpha, bound in orders.items()), default=1.0)
    return min(least, exact_delta(orders, epsilon)) if least > _SMALL else least


def normal_divergence(pair: NormalPair, extra: Matrix, alpha: Real) -> float:
    """A float at or above max over both orders of D_alpha, with covariance `extra` added to both; inf where infinite.

    >>> from fugu.laws.multinormal import MultivariateNormal
    >>> v = [[2, 0.5], [0.5, 1]]
    >>> pair = NormalPair(MultivariateNormal([1, 0], v), MultivariateNormal([0, 0], v), "shift")
    >>> round(normal_divergence(pair, ((Fraction(0),) * 2,) * 2, 2), 12) == round(4 / 7, 12) * 1.0
    True
    """
    check_alpha(alpha)
    gap = common_gap(pair, extra)
    if gap is None or math.isinf(alpha):
        return 0.0 if pair.same else math.inf
    order = as_fraction(alpha)
    return max(gap_divergence(gap, order), gap_divergence(gap.reversed, order))


def gap_divergence(gap: Gap, alpha: Fraction) -> float:
    """A float at or above D_alpha(N(d, a) || N(0, b)); inf unless W = alpha b + (1 - alpha) a is positive definite.

    D_alpha = alpha/2 d' W^{-1} d + ((1-alpha) ln det a + alpha ln det b - ln det W) / (2 (alpha-1)) (Gil, Alajaji and
    Linder 2013, Table 2): positive definiteness, the determinants and the quadratic form are exact rationals."""
    if gap.size == 0:
        return 0.0
    mixed = tuple(
        tuple(alpha * y + (1 - alpha) * x for x, y in zip(r, s, strict=True)) for r, s in zip(gap.a, gap.b, strict=True)
    )
    if not is_semidefinite(mixed, definite=True):
        return math.inf
    with balls.precision(192):
        logs = [arb(as_flint(m).det()).log() for m in (gap.a, gap.b, mixed)]
        order = balls.of(alpha)
        spread = ((1 - order) * logs[0] + order * logs[1] - logs[2]) / (2 * (order - 1))
        found = balls.of(alpha * squared_shift(gap.d, mixed) / 2) + (spread if gap.a != gap.b else 0)
        return meant_up(max(0.0, balls.upper(found)))


def _best_order(gap: Gap, epsilon: float) -> float:
    """Near the s that minimises the one-order bound: the saddle point of the integrand, in doubles."""
    with balls.precision(_PRECISIONS[-1][0]):
        try:
            near = rough(spectrum(gap))
        except NotProvable:
            return 2.0
    return float(np.clip(near.saddle(epsilon), 1 + 1e-6, 1e9))


def _stated(found: arb) -> float:
    """The upper end as a number that may be handed on; 1 where there is none."""
    top = balls.upper(found)
    return 1.0 if not top < 1 else meant_up(max(0.0, top))
