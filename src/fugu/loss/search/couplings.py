"""Least scales of continuous noise for normal beliefs and mixtures, by couplings; each scale returned was checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.errors import NotProvable, UnknownName
from fugu.guarantee import Approx
from fugu.laws.components import Floats
from fugu.laws.normal import Belief, Normal
from fugu.loss.densities import parts
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.transport.coupling import north_west

# Every loss is non-increasing in the scale: Lap(c) = Lap(b) + W for c > b
# (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less), and likewise for the normal
# (docs/proofs/gaussian.md#6-more-gaussian-noise-continuous-yes-on-a-lattice-no).


_TOLERANCE = 1e-11


def least_scale(excess: Callable[[float], float], guess: float) -> float:
    """The least scale b > 0 with excess(b) <= 0 for a non-increasing excess, from the safe side; relative 1e-11.

    A bracket in ln b is first doubled, then closed by Brent's method. A scale is returned only if excess(b) <= 0 was
    computed at it."""
    from scipy.optimize import brentq

    good = guess
    for _ in range(1100):
        if excess(good) <= 0:
            break
        good *= 2
    else:
        raise NotProvable("no scale within the range of doubles meets this budget")
    bad = good / 2
    while excess(bad) <= 0:
        if bad < 1e-13 * guess:
            return bad
        good, bad = bad, bad / 4

    def height(x: float) -> float:
        return min(1.0, max(-1.0, excess(math.exp(x))))  # far off it may be infinite

    found = math.exp(brentq(height, math.log(bad), math.log(good), xtol=_TOLERANCE / 4, rtol=1e-15))
    step = _TOLERANCE / 4
    while found < good and excess(found) > 0:
        found, step = found * (1 + step), 2 * step
    return min(found, good)


# Sound transport bounds for mixtures: couple the components first, the normals inside them second.
#
# Let w be a coupling of the component weights, D_ml and S_ml the distances of means and stds, t = tau(delta), Q(tau) =
# delta/2. Each rule gives (epsilon, delta) in both orders for every w
# (docs/proofs/mixtures.md#r1-and-r3, docs/proofs/mixtures.md#r2-and-r4):
# - R1: b = max over w_ml > 0 of (D + t S)/eps;
# - R2: b = the largest row or column average of (D + t S) under w, over eps; both rows and columns are needed;
# - R3: b with sum w_ml E (1 - e^{eps - d_ml/b})_+ <= delta, d_ml = |S_ml Z + D_ml|;
# - R4: R2 at the w that a linear program finds. Its answer is repaired to an exact coupling before it is used.
# (The published rule for mixtures, which averages over all components at once, does not hold and is not here.)


Plan = dict[tuple[int, int], Fraction]
_UP = 1 + 1e-12


@dataclass(frozen=True)
class CoupledScale:
    """The least scale that a rule proves, the rule's name, and what every rule gave."""

    scale: float
    rule: str
    all: tuple[tuple[str, float], ...]


def coupled_scale(p: Belief, q: Belief, epsilon: Real, delta: Real) -> CoupledScale:
    """The best of R1 to R4 over the monotone, the independent and the LP coupling of components.

    >>> from fugu.laws.normal import NormalMixture
    >>> p, q = NormalMixture([0.5, 0.5], [0, 0], [1, 1]), NormalMixture([0.5, 0.5], [0, 10], [1, 1])
    >>> found = coupled_scale(p, q, 1, 0)
    >>> round(found.scale, 6), found.rule
    (10.0, 'R1')
    """
    Approx(epsilon, delta)  # validates both
    eps, d = float(epsilon), float(delta)
    mine, theirs = sorted(parts(p).items()), sorted(parts(q).items())
    a, c = [w for _, w in mine], [w for _, w in theirs]
    gaps = [[(float_up(abs(k[0] - n[0])), float_up(abs(k[1] - n[1]))) for n, _ in theirs] for k, _ in mine]
    reach = tau(d)
    cost = np.array([[g[0] + (g[1] * reach if g[1] else 0.0) for g in row] for row in gaps])
    if d >= 1 or all(cost[k] == 0 for k in monotone(a, c)):
        return CoupledScale(0.0, "R1", (("R1", 0.0),))
    plans = [monotone(a, c), {(m, n): a[m] * c[n] for m in range(len(a)) for n in range(len(c))}]
    best = {"R1": math.inf, "R2": math.inf, "R3": math.inf, "R4": math.inf}
    solved = linear_plan(a, c, cost) if eps > 0 and np.all(np.isfinite(cost)) else None
    for plan in plans:
        if eps > 0:
            best["R1"] = min(best["R1"], max(float(cost[k]) for k in plan) / eps * _UP)
            best["R2"] = min(best["R2"], largest_average(plan, a, c, cost) / eps * _UP)
    if solved is not None:
        best["R4"] = largest_average(solved, a, c, cost) / eps * _UP
    if d > 0:
        for plan in [*plans, *([] if solved is None else [solved])]:
            terms = [(float_up(w), *gaps[m][n]) for (m, n), w in plan.items()]
            if sum(w for (m, n), w in plan.items() if any(gaps[m][n])) <= as_fraction(delta):
                best["R3"] = 0.0  # P(X_p != X_q) <= delta: nothing need be added
                break
            best["R3"] = min(best["R3"], average_scale(terms, eps, d) * _UP)
    rule = min(best, key=lambda name: best[name])
    return CoupledScale(best[rule], rule, tuple(best.items()))


def monotone(a: Sequence[Fraction], c: Sequence[Fraction]) -> Plan:
    """The north-west corner coupling of two exact lists of weights with equal sums."""
    total = math.lcm(*(x.denominator for x in (*a, *c)))
    cells = north_west(*([int(x * total) for x in weights] for weights in (a, c)))
    return {(m, n): Fraction(mass, total) for m, n, mass in zip(*(each.tolist() for each in cells), strict=True)}


def largest_average(plan: Plan, a: Sequence[Fraction], c: Sequence[Fraction], cost: Floats) -> float:
    """max over rows and columns of the average cost: sum_n w_mn cost_mn / a_m, and sum_m w_mn cost_mn / c_n."""
    rows, columns = np.zeros(len(a)), np.zeros(len(c))
    for (m, n), w in plan.items():
        rows[m] += float(w / a[m]) * cost[m, n]
        columns[n] += float(w / c[n]) * cost[m, n]
    return float(max(rows.max(), columns.max()))


def linear_plan(a: Sequence[Fraction], c: Sequence[Fraction], cost: Floats) -> Plan | None:
    """The coupling with the least largest average, as the solver gives it, repaired; None if it finds none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    size, wide = len(a) * len(c), len(c)
    cells = np.arange(size)
    row, column = cells // wide, cells % wide
    flat = cost.ravel() / max(float(cost.max()), 1e-300)
    weights = np.array([float(x) for x in [*a, *c]])
    ends = np.concatenate((row, len(a) + column))
    sums: Any = csr_matrix((np.ones(2 * size), (ends, np.tile(cells, 2))), shape=(weights.size, size + 1))
    bound: Any = csr_matrix(
        (
            np.concatenate((np.tile(flat, 2) / weights[ends], -np.ones(weights.size))),
            (
                np.concatenate((ends, np.arange(weights.size))),
                np.concatenate((np.tile(cells, 2), np.full(weights.size, size))),
            ),
        ),
        shape=(weights.size, size + 1),
    )
    aim = np.concatenate((np.zeros(size), [1.0]))
    found: Any = linprog(aim, A_ub=bound, b_ub=np.zeros(weights.size), A_eq=sums, b_eq=weights, method="highs")
    return repaired(found.x[:size].reshape(len(a), wide), a, c) if found.status == 0 else None


def repaired(plan: Floats, a: Sequence[Fraction], c: Sequence[Fraction]) -> Plan:
    """An exact coupling near a table of doubles: rows, then columns, are scaled down to fit, the rest is filled in."""
    exact = {(int(m), int(n)): Fraction(float(plan[m, n])) for m, n in np.argwhere(plan > 0)}
    for side, limits in ((0, a), (1, c)):
        totals = _totals(exact, side, len(limits))
        exact = {k: w * min(Fraction(1), limits[k[side]] / totals[k[side]]) for k, w in exact.items()}
    missing = [[x - t for x, t in zip(s, _totals(exact, i, len(s)), strict=True)] for i, s in enumerate((a, c))]
    for k, w in monotone(missing[0], missing[1]).items():
        exact[k] = exact.get(k, Fraction(0)) + w
    return exact


def _totals(plan: Plan, side: int, size: int) -> list[Fraction]:
    totals = [Fraction(0)] * size
    for k, w in plan.items():
        totals[k[side]] += w
    return totals


# The transport bound for two normals: Ding 2024, Theorem 1 (normal beliefs, Laplace noise), and two tightenings of it.
#
# Couple X_p = m_p + s_p Z and X_q = m_q + s_q Z: they differ by d = |S Z + D| with D = |m_p - m_q|, S = |s_p - s_q|,
# and P(X_p + N in B) - e^eps P(X_q + N in B) <= E (1 - e^{eps - d/b})_+ <= P(d > eps b), in both orders. All are sound
# (docs/proofs/mixtures.md#two-normals), and up to 4 times above the exact scale: they are for comparison, and as a
# bracket.


FORMS = ("quantile", "lambert", "two-sided", "average")


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
        from scipy.special import ndtr

        def excess(r: float) -> float:
            """P(|S Z + D| > r) - delta."""
            return float(ndtr((shift - r) / spread) + ndtr(-(shift + r) / spread)) * (1 + 1e-13) - d

        return 0.0 if excess(0.0) <= 0 else least_scale(excess, shift + spread) / eps * _UP
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


def average_scale(terms: list[tuple[float, float, float]], epsilon: float, delta: float) -> float:
    """The least b with sum_k w_k E (1 - e^{epsilon - d_k/b})_+ <= delta, d_k = |S_k Z + D_k| (eq (35))."""
    top = max(d + s for _, d, s in terms)

    def excess(b: float) -> float:
        return sum(w * average_loss(b, d, s, epsilon) for w, d, s in terms) + 1e-15 - delta

    moving = sum(w for w, d, s in terms if d > 0 or s > 0)
    if top == 0 or moving * (1 + 1e-12) <= delta:
        return 0.0
    return least_scale(excess, top / max(epsilon, delta))


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
