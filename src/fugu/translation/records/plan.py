"""Finding a good plan: a graph of near states, a flow along it, its potentials, and the edges that those ask for.

A plan between all pairs of k states has k^2 unknowns. A flow along a few edges for every state comes near it, because a
long way is many short ones; what an edge is missing for is seen in the potentials: g(x) > e^Lam(x, y) g(y) there. Each
round solves, adds those edges and takes the potentials as its new scale. The closure of the potentials bounds the price
from below, the plan from above, so it is known how far from the best a plan can be. Many states start from the
potentials of fewer, on coarser lines; large distances start from those of half the distances, twice as large. Where
a problem like it was solved before, its potentials and edges are where this one begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from fugu.translation.records.flow import FlowBasis, MassPlan, eased, plan_of, solve, weighed
from fugu.translation.records.problem import PAIRS, Distances, Floats, Ints, PricingProblem, Rate, distinct
from fugu.visible import Json

MOST = 40_000
"""States of the largest problem for which a plan is sought."""
EXACT, FEW, _COARSE = 700, 4_000, 1_500
"""States up to which the simplex method is quick, interior points are precise, and no coarser problem is asked."""
_WIDE = 6
"""Distances up to which potentials of zero are a start: beyond, e^Lam is too large for a first solution."""
_OTHERWISE = (35.0, 12.0)
"""Steepest edges of further attempts, where distances are so large that the solver loses digits."""
_VIOLATED = 1e-12
_NOTHING = 1e-16
_POLISHES = 2
"""Rounds without new edges: the potentials of a solution are a better scale for the next."""
_POOR = 1e-9
"""Where the simplex method is quick, bounds that are further apart than this part are tried from the beginning."""
_PART = 0.1
"""How far apart bounds may be, as a part of how far from a target they are."""
_LOOSE = 0.3
"""Edges of many states along which g may still rise by e to this are left out of the next program."""


@dataclass(frozen=True)
class Nearness:
    """When a price is known well enough: it is at most `enough`, or its bounds are `gap` apart, or nearer to each other
    than to `target`. A gap of None is as near as can be asked for so many states: 1e-12 for few and 2 % for many."""

    enough: float | None = None
    gap: float | None = None
    target: float | None = None

    def met(self, low: float, high: float) -> bool:
        """Whether these bounds are good enough, however near they are."""
        away = 0.0 if self.target is None else max(self.target - high, low - self.target)
        return (self.enough is not None and high <= self.enough) or high - low <= _PART * away

    def most(self, low: float) -> float:
        """A bound from above that is near enough to this one from below."""
        near = 0.0 if self.target is None else (low + _PART * self.target) / (1 + _PART)
        return max(low + (self.gap or 0.0), near, self.enough or 0.0)

    def less(self, apart: float) -> Nearness:
        """The same of a price without what is apart."""
        enough, target = (None if amount is None else amount - apart for amount in (self.enough, self.target))
        return Nearness(enough, self.gap, target)


NEAR = Nearness()
_NO_EDGES = (np.zeros(0, dtype=np.int64),) * 2


@dataclass(frozen=True, eq=False)
class PricedPlan:
    """A plan, the potentials h = log g, the bound from below that g gives, the edges of the graph, what it is for,
    where the simplex method ended, and the t of `softly` where it was near enough without a program."""

    plan: MassPlan | None
    lower: float
    h: Floats
    edges: tuple[Ints, Ints]
    problem: PricingProblem
    basis: FlowBasis | None = None
    soft: float = 0.0

    @property
    def high(self) -> float:
        """What the plan proves, in doubles; infinite without one."""
        return math.inf if self.plan is None else float(np.log(self.plan.value))

    def near(self, gap: float | None = None) -> bool:
        """Whether the two bounds are that close; if nothing is said, as close as can be asked for so many states."""
        if self.plan is None:
            return False
        size = self.h.size
        near = 1e-12 * max(1.0, self.high)
        if size > EXACT:
            near = (1e-4 if size <= _COARSE else 1e-3 if size <= FEW else 0.02) * self.high
        return self.high - self.lower <= (near if gap is None else gap)

    def done(self, limits: Nearness) -> bool:
        """Whether the price is known well enough."""
        return self.near(limits.gap) or limits.met(self.lower, self.high)

    def poor(self, limits: Nearness) -> bool:
        """Whether another start is worth its time."""
        return not self.done(limits) and not (self.h.size <= EXACT and self.near(_POOR * max(1.0, self.high)))


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


def find(problem: PricingProblem, before: PricedPlan | None = None, limits: Nearness = NEAR) -> PricedPlan:
    """The best plan that a few rounds find.

    Parameters:
        problem: the laws and the charges.
        before: what was found for other charges on the same states, or potentials that are carried over from others.
        limits: when to stop.
    """
    distances, n = Distances(problem), problem.size
    if before is not None and float(problem.widest) > max(_WIDE, 2 * float(before.problem.widest)):
        before = None
    if before is not None and n > EXACT and (known := _again(problem, distances, before)).done(limits):
        return known
    if before is None or before.soft:
        best = _fresh(problem, distances, limits, before)
    else:
        best = _rounds(problem, distances, distances.closure(before.h), before.edges, limits, basis=before.basis)
        if n <= FEW and best.poor(limits):
            best = min(best, _fresh(problem, distances, limits), key=lambda f: f.high)
    for steepest in _OTHERWISE if n <= EXACT else ():
        if best.poor(limits):
            other = _rounds(problem, distances, best.h, best.edges, limits, steepest)
            best = min(best, other, key=lambda f: f.high)
    return best


def _fresh(
    problem: PricingProblem, distances: Distances, limits: Nearness, before: PricedPlan | None = None
) -> PricedPlan:
    """What is found without a program before it. `before`: how far `softly` came."""
    if not EXACT < problem.size <= FEW:
        return _rounds(problem, distances, *_start(problem, distances), limits)
    soft = softly(problem, distances, limits, before)
    if soft.done(limits):
        return soft
    return min(
        _rounds(problem, distances, distances.closure(soft.h), soft.edges, limits), soft, key=lambda found: found.high
    )


def _again(problem: PricingProblem, distances: Distances, before: PricedPlan) -> PricedPlan:
    """What a plan and potentials for other charges say of these: the plan as it stands, the potentials scaled down."""
    plan = before.plan and weighed(problem, distances, before.plan.i, before.plan.j, before.plan.weight)
    now = {c.shape: c.own for c in problem.charges}
    h = before.h * min((float(now.get(c.shape, 0) / c.own) for c in before.problem.charges), default=0.0)
    return replace(before, plan=plan, lower=max(lower_bound(problem, h), 0.0), h=h, problem=problem)


# Where a program begins: every state of p shares its mass out softly among the states of q that are nearly nearest.
#
# With sharpness 1/t state x sends to y the part w(x, y), in proportion to e^(-(Lam(x, y) + h(y)) / t). At the best h
# what arrives at y, weighed by p e^h, is in proportion to q e^h; each turn moves h(y) to where that would hold if the
# others stood still, and some way beyond. As t falls h comes near the best potentials, and w near a plan.

_SOFT, _HARD, _COOLER = 1 / 64, 0.01, 2.0
"""The first t, in parts of the widest distance; the last one, in parts of the price; by how much each t is less."""
_TURNS, _BEYOND, _LEAP = 60, 1.8, 3.0
"""Turns at each t, how far they go beyond, and by how many t one may move a potential."""
_FAINT = 20.0
"""Pairs that are so many t above the nearest get nothing, and no potential moves by more than half of it at one t."""
_SHARE = 1e-9
"""Parts of a state's mass below this are left out of a plan; so are all but half of the pairs that it may have, the
largest of each state: easing adds some."""
_EASY = 0.5
"""How far above what is near enough a plan is eased, in parts of how far that is above the bound from below."""
_DUST = 1e-5
"""Room left for mass that finds none, as a part of what is enough."""
_BESIDE = 3
"""The nearest states of each one: along these, and along every charge, a program begins. With nothing but what was sent
softly it may lose its way, where t came near a price that is far below the widest distance."""
_PROGRAM = (0.003, 6)
"""What a program gets of the pairs besides: those so near, in parts of the price, and so many for each state."""


def softly(
    problem: PricingProblem, distances: Distances, limits: Nearness, before: PricedPlan | None = None
) -> PricedPlan:
    """Potentials and a plan without a program, as near as `limits` asks or as t allows; with the edges for a program
    where that is not near enough. `before`: where this begins, at its t."""
    from scipy.sparse import csr_matrix

    x, y = np.flatnonzero(problem.p), np.flatnonzero(problem.q)
    p, log_q = problem.p[x] / problem.p.sum(), np.log(problem.q[y] / problem.q.sum())
    h, t = np.zeros(y.size), float(problem.widest) * _SOFT
    if before is not None and before.problem.charges == problem.charges:
        h, t = before.h[y], before.soft
    best = PricedPlan(None, 0.0, np.zeros(problem.size), _NO_EDGES, problem, soft=t)
    while True:
        least, (i, j, above) = distances.nearly(h, x, y, _FAINT * t)
        everywhere = np.full(problem.size, np.inf)
        everywhere[y] = h
        everywhere[x] = least
        low = float(np.logaddexp.reduce(np.log(p) + least) - np.logaddexp.reduce(log_q + h))
        if low > best.lower or best.plan is None:
            best = replace(best, lower=max(low, 0.0), h=everywhere)
        if best.done(limits):
            return replace(best, soft=t)
        if best.plan is not None and t <= _HARD * max(best.lower, _VIOLATED):
            break
        kernel = csr_matrix((np.exp(above / -t), j, np.searchsorted(i, np.arange(x.size + 1))), (x.size, y.size))
        back, moved = kernel.T.tocsr(), np.zeros(y.size)  # by -t times this
        wanted, weight = log_q + h, p * np.exp(least - least.max())
        for _ in range(_TURNS):
            reached = kernel @ np.exp(moved)
            sent = weight * reached**-t
            arrived = back @ (sent / reached) / sent.sum()
            aim = wanted - np.logaddexp.reduce(wanted - t * moved) - np.log(np.maximum(arrived, 1e-300))
            moved += _BEYOND * np.clip(aim / (1 + t) - moved, -_LEAP, _LEAP)
            np.clip(moved, -_FAINT / 2, _FAINT / 2, out=moved)
        share = kernel.data * np.exp(moved)[j] / (kernel @ np.exp(moved))[i]
        order = np.lexsort((-share, i))
        place = np.arange(i.size) - np.searchsorted(i, i)  # of each share in its row, the largest first
        kept = order[(share[order] > _SHARE) & (place < PAIRS // 2)]
        plan = weighed(problem, distances, x[i[kept]], y[j[kept]], share[kept])
        most, now = limits.most(best.lower), math.log(plan.value)
        if best.lower < most < now and now - most < _EASY * (most - best.lower):
            other = eased(problem, distances, plan, math.exp(most * (1 - _DUST)))
            plan = min(plan, other, key=lambda found: found.value)
        if best.plan is None or plan.value < best.plan.value:
            best = replace(best, plan=plan)
        h, t = h - t * moved, t / _COOLER
    most = limits.most(best.lower)
    if best.plan is not None and best.lower < most < best.high:  # a last try, which is little beside a program
        other = eased(problem, distances, best.plan, math.exp(most * (1 - _DUST)))
        best = replace(best, plan=min(best.plan, other, key=lambda found: found.value))
        if best.done(limits):
            return replace(best, soft=t)
    more, few = _PROGRAM[0] * best.lower, _PROGRAM[1]
    (i, j, _), (b, a, _) = (
        distances.nearly(start, *ends, more, few)[1] for start, ends in ((best.h[y], (x, y)), (-best.h[x], (y, x)))
    )
    near = distances.neighbours(_BESIDE)
    parts = np.concatenate([x[i], x[a], near[0]]), np.concatenate([y[j], y[b], near[1]])
    return replace(best, edges=distinct(*parts, problem.size), soft=0.0)


def _rounds(
    problem: PricingProblem,
    distances: Distances,
    h: Floats,
    edges: tuple[Ints, Ints],
    limits: Nearness,
    steepest: float = 22.0,
    basis: FlowBasis | None = None,
) -> PricedPlan:
    """Solve, add the edges that the duals ask for, scale anew."""
    n = problem.size
    inside = None if n <= EXACT else (1e-7 if n <= FEW else 2e-4)
    best = PricedPlan(None, lower_bound(problem, h), h, edges, problem)
    if best.lower < 0:
        best = PricedPlan(None, 0.0, np.zeros(n), edges, problem)
    again = 0
    for _ in range(12 if n <= FEW else 3):
        flow = solve(problem, distances, *edges, h, inside=inside, steepest=steepest, basis=basis)
        if flow is None:
            break
        plan, bottom, basis = plan_of(problem, distances, flow, flow.value), flow.value, flow.basis
        # mass that its rounding leaves astray finds room at an epsilon a little above its value: how little, by halving
        turns, close = (16, 1e-13) if inside is None else (5, 1e-5)
        for _ in range(turns):
            if plan.value <= bottom * (1 + close):
                break
            middle = (bottom + plan.value) / 2
            other = plan_of(problem, distances, flow, middle)
            plan = other if other.value < plan.value else plan
            bottom = middle if other.value > middle * (1 + close) else bottom
        # the better of the Lipschitz functions just below and just above the duals, and its bound from below
        sides = (flow.h, -distances.closure(-flow.dual))
        h, low = max(((h, lower_bound(problem, h)) for h in sides), key=lambda found: found[1])
        plan = plan if best.plan is None or plan.value < best.plan.value else best.plan
        best = PricedPlan(plan, max(low, best.lower), h if low >= best.lower else best.h, edges, problem, basis)
        if best.done(limits):
            break
        i, j, slack = distances.steepest(flow.dual)
        asked = slack < -_VIOLATED
        again = again + 1 if not asked.any() else 0
        if again > _POLISHES:
            break
        edges = distinct(np.concatenate([edges[0], i[asked]]), np.concatenate([edges[1], j[asked]]), n)
    if n > EXACT and best.near():  # the next program is smaller, and a chain through all states stays
        rises = distances.between(*edges) + best.h[edges[1]] - best.h[edges[0]]
        kept = (rises < _LOOSE) | (np.abs(edges[0] - edges[1]) == 1)
        edges = edges[0][kept], edges[1][kept]
    return replace(best, edges=edges)


def _start(problem: PricingProblem, distances: Distances) -> tuple[Floats, tuple[Ints, Ints]]:
    """Potentials and edges to begin with: those of coarser lines, or of smaller distances."""
    if problem.size <= EXACT and problem.widest > _WIDE:
        near = replace(problem, charges=tuple(c.of(c.unit / 2) for c in problem.charges))
        half = find(near, limits=Nearness(gap=0.01))
        return 2 * half.h, half.edges
    edges = distances.neighbours(_BESIDE if problem.size <= EXACT else 1)
    coarse = coarser(problem) if problem.size > EXACT else None
    if coarse is None:
        return np.zeros(problem.size), edges
    # the largest Lipschitz function on the states of the problem below the potentials of the coarser states
    p, q = np.concatenate([problem.p, coarse.p]), np.concatenate([problem.q, coarse.q])
    both = replace(problem, p=p, q=q, codes=np.concatenate([problem.codes, coarse.codes], axis=1))
    ends = np.concatenate([np.full(problem.size, np.inf), find(coarse, limits=Nearness(gap=0.01)).h])
    h = Distances(both).closure(ends)[: problem.size]
    i, j, _ = distances.steepest(h)
    return h, distinct(np.concatenate([edges[0], i]), np.concatenate([edges[1], j]), problem.size)


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
