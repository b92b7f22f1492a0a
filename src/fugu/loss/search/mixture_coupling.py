"""Sound transport bounds for mixtures: couple the components first, the normals inside them second.

Let w be a coupling of the component weights, D_ml and S_ml the distances of means and stds, t = tau(delta), Q(tau) =
delta/2. Each rule gives (epsilon, delta) in both orders for every w
(docs/proofs/mixtures.md#r1-and-r3, docs/proofs/mixtures.md#r2-and-r4):
- R1: b = max over w_ml > 0 of (D + t S)/eps;
- R2: b = the largest row or column average of (D + t S) under w, over eps; both rows and columns are needed;
- R3: b with sum w_ml E (1 - e^{eps - d_ml/b})_+ <= delta, d_ml = |S_ml Z + D_ml|;
- R4: R2 at the w that a linear program finds. Its answer is repaired to an exact coupling before it is used.
(The published rule for mixtures, which averages over all components at once, does not hold and is not here.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.guarantee import Approx
from fugu.laws.components import Floats
from fugu.laws.normal import Belief
from fugu.loss.search.theorem1 import average_scale, exact_gap, tau
from fugu.loss.smooth.reduced import parts
from fugu.numbers.exact import Real, as_fraction, float_up

Plan = dict[tuple[int, int], Fraction]
_UP = 1 + 1e-12


@dataclass(frozen=True)
class Coupled:
    """The least scale that a rule proves, the rule's name, and what every rule gave."""

    scale: float
    rule: str
    all: tuple[tuple[str, float], ...]


def coupled_scale(p: Belief, q: Belief, epsilon: Real, delta: Real) -> Coupled:
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
    gaps = [[exact_gap(k, n) for n, _ in theirs] for k, _ in mine]
    reach = tau(d)
    cost = np.array([[g[0] + (g[1] * reach if g[1] else 0.0) for g in row] for row in gaps])
    if d >= 1 or all(cost[k] == 0 for k in monotone(a, c)):
        return Coupled(0.0, "R1", (("R1", 0.0),))
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
    return Coupled(best[rule], rule, tuple(best.items()))


def monotone(a: Sequence[Fraction], c: Sequence[Fraction]) -> Plan:
    """The north-west corner coupling of two exact lists of weights with equal sums."""
    plan: Plan = {}
    m = n = 0
    left, right = (a[0], c[0]) if a and c else (Fraction(0), Fraction(0))
    while m < len(a) and n < len(c):
        take = min(left, right)
        if take > 0:
            plan[m, n] = take
        left, right = left - take, right - take
        if left == 0:
            m += 1
            left = a[m] if m < len(a) else left
        if right == 0:
            n += 1
            right = c[n] if n < len(c) else right
    return plan


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
