"""The transport bound for two normals: Ding 2024, Theorem 1 (normal beliefs, Laplace noise), and two tightenings of it.

Couple X_p = m_p + s_p Z and X_q = m_q + s_q Z: they differ by d = |S Z + D| with D = |m_p - m_q|, S = |s_p - s_q|, and
P(X_p + N in B) - e^eps P(X_q + N in B) <= E (1 - e^{eps - d/b})_+ <= P(d > eps b), in both orders. All are sound
(docs/proofs/mixtures.md#two-normals), and up to 4 times above the exact scale: they are for
comparison, and as a bracket.
"""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.errors import UnknownName
from fugu.guarantee import Approx
from fugu.laws.normal import Normal
from fugu.loss.search.continuous import least_scale
from fugu.numbers.exact import Real, as_fraction, float_up

FORMS = ("quantile", "lambert", "two-sided", "average")
_UP = 1 + 1e-12


def theorem1_scale(p: Normal, q: Normal, epsilon: Real, delta: Real, form: str = "quantile") -> float:
    """A Laplace scale that meets (epsilon, delta) by coupling; inf where this argument gives none.

    - "quantile": b = (D + S tau)/eps with Q(tau) = delta/2, which is Theorem 1;
    - "lambert":  the same with the larger tau = sqrt W(2/(pi delta^2)) of eq (23);
    - "two-sided": b = r/eps with Q((r - D)/S) + Q((r + D)/S) = delta;
    - "average":  the least b with E (1 - e^{eps - d/b})_+ <= delta, eq (35).

    >>> [round(theorem1_scale(Normal(0, 1), Normal(1, 2), 1, 0.01, form), 6) for form in FORMS]
    [3.575829, 3.614667, 3.326632, 2.50558]
    """
    if form not in FORMS:
        raise UnknownName("form of Theorem 1", form, FORMS)
    Approx(epsilon, delta)  # validates both
    eps, d = float(epsilon), float(delta)
    shift = float_up(abs(as_fraction(p.mean) - as_fraction(q.mean)))
    spread = float_up(abs(as_fraction(p.std) - as_fraction(q.std)))
    if d >= 1 or shift == spread == 0:
        return 0.0
    if form == "average" and d > 0:
        return average_scale([(1.0, shift, spread)], eps, d)
    if eps == 0:
        return math.inf
    if spread == 0:
        return shift / eps * _UP
    if form == "two-sided" and d > 0:
        return two_sided_scale([(1.0, shift, spread)], eps, d)
    return (shift + spread * tau(d, form)) / eps * _UP


def tau(delta: float, form: str = "quantile") -> float:
    """tau with P(|Z| > tau) <= delta: the normal quantile, or the root of phi(tau)/tau = delta/2, which is larger."""
    if delta <= 0:
        return math.inf
    if form == "lambert":
        goal = math.log(2 / (delta * math.sqrt(2 * math.pi)))
        t = max(1e-3, math.sqrt(max(2 * goal, 0.0)))
        for _ in range(200):
            t = max(t / 4, t - (math.log(t) + t * t / 2 - goal) / (1 / t + t))
        return t * _UP
    from scipy.special import ndtri

    return max(0.0, -float(ndtri(delta / 2))) * _UP


def two_sided_scale(terms: list[tuple[float, float, float]], epsilon: float, delta: float) -> float:
    """r/epsilon with sum_k w_k P(|S_k Z + D_k| > r) <= delta, terms (w, D, S); S = 0 is the step 1{D > r}."""
    top = max(d + s for _, d, s in terms)

    def excess(r: float) -> float:
        return sum(w * outside(r, d, s) for w, d, s in terms) * (1 + 1e-13) - delta

    if excess(0.0) <= 0 or top == 0:
        return 0.0
    return least_scale(excess, top) / epsilon * _UP if epsilon else math.inf


def average_scale(terms: list[tuple[float, float, float]], epsilon: float, delta: float) -> float:
    """The least b with sum_k w_k E (1 - e^{epsilon - d_k/b})_+ <= delta, d_k = |S_k Z + D_k| (eq (35))."""
    top = max(d + s for _, d, s in terms)

    def excess(b: float) -> float:
        return sum(w * average_loss(b, d, s, epsilon) for w, d, s in terms) + 1e-15 - delta

    moving = sum(w for w, d, s in terms if d > 0 or s > 0)
    if top == 0 or moving * (1 + 1e-12) <= delta:
        return 0.0
    return least_scale(excess, top / max(epsilon, delta))


def outside(r: float, shift: float, spread: float) -> float:
    """P(|S Z + D| > r)."""
    from scipy.special import ndtr

    if spread == 0:
        return float(shift > r)
    return float(ndtr((shift - r) / spread) + ndtr(-(shift + r) / spread))


def average_loss(b: float, shift: float, spread: float, epsilon: float) -> float:
    """E (1 - e^{epsilon - |S Z + D|/b})_+ = sum over +-D of Q(a) - e^{eps -+ D/b + S^2/2b^2} Q(a + S/b), a = (eps b -+
    D)/S."""
    from scipy.special import log_ndtr, ndtr

    if spread == 0:
        return -math.expm1(min(0.0, epsilon - shift / b))
    total, x = 0.0, spread / b
    for d in (shift, -shift):
        a = (epsilon * b - d) / spread
        exponent = epsilon - d / b + x * x / 2 + float(log_ndtr(-a - x))
        total += max(0.0, float(ndtr(-a)) - math.exp(min(exponent, 1.0)))
    return total


def exact_gap(p: tuple[Fraction, Fraction], q: tuple[Fraction, Fraction]) -> tuple[float, float]:
    """(D, S) of two components (mean, std), rounded up."""
    return float_up(abs(p[0] - q[0])), float_up(abs(p[1] - q[1]))
