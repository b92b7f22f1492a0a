"""Finding a good plan: a graph of near states, a flow along it, its potentials, and the edges that those ask for.

A plan between all pairs of k states has k^2 unknowns. A flow along a few edges for every state comes near it, because a
long way is many short ones; what an edge is missing for is seen in the potentials: g(x) > e^Lam(x, y) g(y) there. Each
round solves, adds those edges and takes the potentials as its new scale. The closure of the potentials bounds the price
from below, the plan from above, so it is known how far from the best a plan can be. Many states start from the
potentials of fewer, on coarser lines; large distances start from those of half the distances, twice as large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fugu.translation.records.distances import Distances, Floats, distinct
from fugu.translation.records.flows import Flow, MassPlan, plan_of, solve
from fugu.translation.records.problem import Ints, PricingProblem, Rate
from fugu.visible import Json

MOST = 40_000
"""States of the largest problem for which a plan is sought."""
_EXACT, FEW, _COARSE = 700, 4_000, 1_500
"""States up to which the simplex method is quick, interior points are precise, and no coarser problem is asked."""
_WIDE = 6
"""Distances up to which potentials of zero are a start: beyond, e^Lam is too large for a first solution."""
_OTHERWISE = (35.0, 12.0)
"""Steepest edges of further attempts, where distances are so large that the solver loses digits."""
_VIOLATED = 1e-12
_NOTHING = 1e-16
_POLISHES = 2
"""Rounds without new edges: the potentials of a solution are a better scale for the next."""


@dataclass(frozen=True, eq=False)
class PricedPlan:
    """A plan, the potentials h = log g, the bound from below that g gives, the edges of the graph, the widest Lam."""

    plan: MassPlan | None
    lower: float
    h: Floats
    edges: tuple[Ints, Ints]
    widest: float

    @property
    def high(self) -> float:
        """What the plan proves, in doubles; infinite without one."""
        return math.inf if self.plan is None else float(np.log(self.plan.value))

    def near(self, gap: float | None) -> bool:
        """Whether the two bounds are that close; if nothing is said, as close as can be asked for so many states."""
        if self.plan is None:
            return False
        size = self.h.size
        near = 1e-12 * max(1.0, self.high)
        if size > _EXACT:
            near = (1e-4 if size <= _COARSE else 1e-3 if size <= FEW else 0.02) * self.high
        return self.high - self.lower <= (near if gap is None else gap)


def proof_of(plan: MassPlan, digits: int = 15) -> Json:
    """The plan as plain data, for `checking`: weights with that many digits, each row in parts of its largest."""
    largest = np.zeros(int(plan.i.max()) + 1)
    np.maximum.at(largest, plan.i, plan.weight)
    part = plan.weight / largest[plan.i]
    order = np.lexsort((plan.j, plan.i))
    order = order[part[order] > _NOTHING]
    weights = (float(f"{w:.{digits}g}") for w in part[order].tolist())
    entries = zip(plan.i[order].tolist(), plan.j[order].tolist(), weights, strict=True)
    return {"how": "plan", "plan": [list(entry) for entry in entries]}


def lower_bound(problem: PricingProblem, h: Floats) -> float:
    """log p.g / q.g for g = e^h: no price is below it if h is Lipschitz."""
    above, below = (
        float(np.logaddexp.reduce(np.log(law[law > 0] / law.sum()) + h[law > 0])) for law in (problem.p, problem.q)
    )
    return above - below


def find(problem: PricingProblem, before: PricedPlan | None = None, gap: float | None = None) -> PricedPlan:
    """The best plan that a few rounds find.

    Parameters:
        problem: the laws and the charges.
        before: what was found for other charges on the same states.
        gap: between the bounds at which to stop; about 1e-12 for few states and 2 % for many if not said.
    """
    distances, n = Distances(problem), problem.size
    fresh = before is None or float(problem.widest) > max(_WIDE, 2 * before.widest)
    if before is None or fresh:
        best = _rounds(problem, distances, *_start(problem, distances), gap)
    else:
        best = _rounds(problem, distances, distances.closure(before.h), before.edges, gap)
        if n <= FEW and not best.near(gap):
            best = min(best, _rounds(problem, distances, *_start(problem, distances), gap), key=lambda f: f.high)
    for steepest in _OTHERWISE if n <= _EXACT else ():
        if not best.near(gap):
            best = min(best, _rounds(problem, distances, best.h, best.edges, gap, steepest), key=lambda f: f.high)
    return best


def _rounds(
    problem: PricingProblem,
    distances: Distances,
    h: Floats,
    edges: tuple[Ints, Ints],
    gap: float | None,
    steepest: float = 22.0,
) -> PricedPlan:
    """Solve, add the edges that the duals ask for, scale anew."""
    n, widest = problem.size, float(problem.widest)
    inside = None if n <= _EXACT else (1e-7 if n <= FEW else 2e-4)
    best = PricedPlan(None, lower_bound(problem, h), h, edges, widest)
    if best.lower < 0:
        best = PricedPlan(None, 0.0, np.zeros(n), edges, widest)
    again = 0
    for _ in range(12 if n <= FEW else 3):
        flow = solve(problem, distances, *edges, h, inside=inside, steepest=steepest)
        if flow is None:
            break
        plan = _best_plan(problem, distances, flow, inside)
        # the better of the Lipschitz functions just below and just above the duals, and its bound from below
        sides = (flow.h, -distances.closure(-flow.dual))
        h, low = max(((h, lower_bound(problem, h)) for h in sides), key=lambda found: found[1])
        plan = plan if best.plan is None or plan.value < best.plan.value else best.plan
        best = PricedPlan(plan, max(low, best.lower), h if low >= best.lower else best.h, edges, widest)
        if best.near(gap):
            break
        i, j, slack = distances.steepest(flow.dual)
        asked = slack < -_VIOLATED
        again = again + 1 if not asked.any() else 0
        if again > _POLISHES:
            break
        edges = distinct(np.concatenate([edges[0], i[asked]]), np.concatenate([edges[1], j[asked]]), n)
    return replace(best, edges=edges)


def _best_plan(problem: PricingProblem, distances: Distances, flow: Flow, inside: float | None) -> MassPlan:
    """The plan of a flow. Mass that its rounding leaves astray finds room at an epsilon a little above its value: how
    little is found by halving."""
    best = plan_of(problem, distances, flow, flow.value)
    low = flow.value
    steps, near = (16, 1e-13) if inside is None else (5, 1e-5)
    for _ in range(steps):
        if best.value <= low * (1 + near):
            break
        middle = (low + best.value) / 2
        plan = plan_of(problem, distances, flow, middle)
        if plan.value < best.value:
            best = plan
        if plan.value > middle * (1 + near):
            low = middle
    return best


def _start(problem: PricingProblem, distances: Distances) -> tuple[Floats, tuple[Ints, Ints]]:
    """Potentials and edges to begin with: those of coarser lines, or of smaller distances."""
    if problem.size <= _COARSE and problem.widest > _WIDE:
        half = find(replace(problem, charges=tuple(c.of(c.unit / 2) for c in problem.charges)), gap=0.01)
        return 2 * half.h, half.edges
    near = distances.neighbours(3 if problem.size <= FEW else 1)
    coarse = coarser(problem) if problem.size > _COARSE else None
    if coarse is None:
        return np.zeros(problem.size), near
    # the largest Lipschitz function on the states of the problem below the potentials of the coarser states
    p, q = np.concatenate([problem.p, coarse.p]), np.concatenate([problem.q, coarse.q])
    both = replace(problem, p=p, q=q, codes=np.concatenate([problem.codes, coarse.codes], axis=1))
    ends = np.concatenate([np.full(problem.size, np.inf), find(coarse, gap=0.01).h])
    h = Distances(both).closure(ends)[: problem.size]
    i, j, _ = distances.steepest(h)
    return h, distinct(np.concatenate([near[0], i]), np.concatenate([near[1], j]), problem.size)


def coarser(problem: PricingProblem) -> PricingProblem | None:
    """The same laws on lines of wider steps, with at most `_COARSE` states; None if that takes more than lines."""
    for width in (2, 4, 8, 16, 32, 64, 128):
        codes = problem.codes.copy()
        for row, charge in enumerate(problem.charges):
            if isinstance(charge, Rate):
                codes[row] = codes[row] // width * width + width // 2
        merged, where = np.unique(codes, axis=1, return_inverse=True)
        if merged.shape[1] <= max(_COARSE, problem.size // 3):
            p, q = np.zeros((2, merged.shape[1]), dtype=np.int64)
            np.add.at(p, where.ravel(), problem.p)
            np.add.at(q, where.ravel(), problem.q)
            return replace(problem, p=p, q=q, codes=merged)
    return None
