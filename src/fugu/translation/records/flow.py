"""The program of prices on a graph: mass moves along edges and grows by e^Lam, until it finds room.

    min E  with  out(x) - sum of e^Lam(z, x) in(z, x) + E q(x) >= p(x)  at every state x

Its dual is the best g with g(x) <= e^Lam(x, y) g(y) on the edges. Potentials h near log g make the coefficient of
every edge that is used nearly 1: the variables are the flows times e^h at their start. Without that a solver that is
content with 1e-10 says anything at all where Lam is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.channels.program import INFINITE, Program, new_solver
from fugu.errors import NotProvable
from fugu.translation.records.problem import PAIRS, Distances, Floats, Ints, PricingProblem

FRESH = 64
"""States up to which a program is solved from the beginning as fast as from where another one ended."""
_SHARP = 1e-6
"""Interior points that are no nearer to the best than this part are not led to a vertex: it takes longer than they."""
_SURE = -25.0
"""Duals whose logarithm is that far below the largest are rounding."""


@dataclass(frozen=True, eq=False)
class FlowBasis:
    """Where the simplex method ended: the edges in the basis, each as one number, and the status of the rows."""

    edges: frozenset[int]
    rows: list[Any]

    @classmethod
    def of(cls, solver: Any, edges: Ints) -> FlowBasis:
        """That of a solver whose columns are these edges and the room."""
        import highspy

        found, basic = solver.getBasis(), highspy.HighsBasisStatus.kBasic
        inside = (edge for edge, status in zip(edges.tolist(), found.col_status, strict=False) if status == basic)
        return cls(frozenset(inside), list(found.row_status))

    def enter(self, solver: Any, edges: Ints) -> None:
        """Let a solver begin here; the room is in every basis, and the solver mends what does not fit."""
        import highspy

        status = highspy.HighsBasisStatus
        found = highspy.HighsBasis()
        known = [status.kBasic if edge in self.edges else status.kLower for edge in edges.tolist()]
        found.col_status = [*known, status.kBasic]
        found.row_status, found.valid, found.alien = self.rows, True, True
        solver.setBasis(found)


@dataclass(frozen=True, eq=False)
class Flow:
    """A flow in doubles: `mass` along each edge (in units of where it starts) and the value e^T.

    `dual` holds the logarithms of the solver's duals, which need be Lipschitz along the edges only; `h` is the largest
    Lipschitz function below them.
    """

    i: Ints
    j: Ints
    mass: Floats
    value: float
    dual: Floats
    h: Floats
    basis: FlowBasis | None


def solve(
    problem: PricingProblem,
    distances: Distances,
    i: Ints,
    j: Ints,
    h: Floats,
    *,
    inside: float | None = None,
    steepest: float = 22.0,
    basis: FlowBasis | None = None,
) -> Flow | None:
    """The best flow along the edges from i to j, or None if the solver has none.

    Parameters:
        h: potentials near the logarithm of the best g.
        inside: None for the simplex method; else interior points up to this relative gap; from a small one to a
            vertex, for what lies between vertices sends mass along every edge.
        steepest: edges that grow mass by more than e to this, in the scale of h, are left out, but for the least of
            each state; those are cut. Nothing should flow there, and the next potentials know better.
        basis: where the simplex method ended for other charges, or fewer edges: it ends near there again.
    """
    grown = distances.between(i, j) + h[j] - h[i]  # the exponents of their growth in the scale of the potentials
    least = np.full(h.size, np.inf)
    np.minimum.at(least, i, grown)
    kept = grown <= np.maximum(least[i], steepest)  # the edges along which mass may move
    i, j, grown = i[kept], j[kept], np.minimum(grown[kept], steepest)
    n, edges, everywhere = problem.size, np.arange(i.size), np.arange(problem.size)
    log_p, log_q = (np.log(np.maximum(law, 1e-300) / law.sum()) + h for law in (problem.p, problem.q))
    log_p, log_q = (part - np.logaddexp.reduce(log_q) for part in (log_p, log_q))
    about = min(max(float(np.logaddexp.reduce(log_p)), 0.0), 600.0)  # log E is at least this, and E is measured in it
    log_q += about
    scale = np.logaddexp(log_p, log_q)  # of the rows; a flow is measured by the smaller of its two ends
    small = np.minimum(scale[i], scale[j])
    program = Program()
    program.low, program.high = np.where(problem.p > 0, np.exp(log_p - scale), 0.0), np.full(n, INFINITE)
    program.variables(np.zeros(i.size + 1))
    program.enter(i, edges, np.exp(small - scale[i]))
    program.enter(j, edges, -np.exp(grown + small - scale[j]))
    program.enter(everywhere, np.full(n, i.size), np.where(problem.q > 0, np.exp(log_q - scale), 0.0))
    solver = new_solver("simplex" if inside is None else "ipm")
    if inside is not None:
        solver.setOptionValue("run_crossover", "on" if inside <= _SHARP else "off")
        solver.setOptionValue("ipm_optimality_tolerance", inside)
    try:
        program.load(solver, np.append(np.zeros(i.size), 1.0))
    except NotProvable:
        return None
    if basis is not None and inside is None:
        basis.enter(solver, i * n + j)
    solver.run()
    solution = solver.getSolution()
    x, y = np.array(solution.col_value), np.array(solution.row_dual)
    if x.size != i.size + 1 or y.size != n or not (np.isfinite(x).all() and np.isfinite(y).all()) or not x[-1] > 0:
        return None
    with np.errstate(divide="ignore"):
        dual = np.log(np.maximum(y, 0.0)) - scale
    known = dual > dual.max() + _SURE
    if not np.isfinite(dual.max()):
        return None
    dual = np.where(known, dual + h, np.inf)
    closed = distances.closure(dual)
    dual[~known] = closed[~known] + 1.0  # whoever looks for missing edges finds one here
    ended = FlowBasis.of(solver, i * n + j) if inside is None and n > FRESH else None
    value = float(x[-1]) * math.exp(about)
    return Flow(i, j, np.maximum(x[:-1], 0.0) * np.exp(np.minimum(small - h[i], 700.0)), value, dual, closed, ended)


# From a flow to a plan: whose mass went where, and what to do with mass that found no room.
#
# Along edges that are used g(x) = e^Lam(x, y) g(y) > g(y), so in the order of the falling dual all mass of a state is
# there before it is passed on. A state keeps what it has room for, its own first; the rest goes on as the flow does. A
# parcel is charged for the way from where it started, which is never longer than the path it took.

_LEAST = 1e-15
_Parcel = tuple[int, float, float]
"""Where it started, its mass there, and what that has grown to on its way."""


@dataclass(frozen=True, eq=False)
class MassPlan:
    """Weights on pairs: of the mass at i this much goes to j. `value` is e^epsilon, in doubles."""

    i: Ints
    j: Ints
    weight: Floats
    value: float


def plan_of(problem: PricingProblem, distances: Distances, flow: Flow, value: float) -> MassPlan:
    """The plan that a flow describes, with room for `value` = e^epsilon times q at every state as far as that goes."""
    p = problem.p / problem.p.sum()
    space: list[float] = (value * problem.q / problem.q.sum()).tolist()
    order = np.argsort(-flow.dual, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    used = (flow.mass > _LEAST) & (rank[flow.i] < rank[flow.j])
    way = np.flatnonzero(used)[np.argsort(flow.i[used], kind="stable")]
    first = np.searchsorted(flow.i[way], np.arange(problem.size + 1)).tolist()
    ends, masses = flow.j[way].tolist(), flow.mass[way].tolist()
    growth = np.exp(distances.between(flow.i[way], flow.j[way])).tolist()
    grown = _growth(distances)
    parcels: list[list[_Parcel]] = [[] for _ in range(problem.size)]
    kept: dict[tuple[int, int], float] = {}
    stuck: list[tuple[int, float]] = []
    own = p.tolist()
    for x in order.tolist():
        rest = _keep(x, own[x], parcels[x], space, kept, grown)
        parcels[x] = []
        if rest and first[x] < first[x + 1]:
            span = slice(first[x], first[x + 1])
            _pass_on(rest, ends[span], masses[span], growth[span], parcels)
        else:
            stuck += [(source, mass) for source, mass, _ in rest]
    room = np.array(space)
    for source, mass in stuck:
        _place(source, mass, room, kept, distances, problem)
    pairs = np.array([pair for pair, weight in kept.items() if weight > 0], dtype=np.int64).reshape(-1, 2)
    weights = np.array([weight for weight in kept.values() if weight > 0])
    return weighed(problem, distances, pairs[:, 0], pairs[:, 1], weights)


def _growth(distances: Distances) -> Callable[[int, int], float]:
    """e^Lam of single pairs, without the overhead of arrays."""
    codes = distances.codes.T.tolist()
    charges = list(zip(distances.units.tolist(), distances.line, strict=True))

    def grown(x: int, y: int) -> float:
        if x == y:
            return 1.0
        total = 0.0
        for (unit, line), a, b in zip(charges, codes[x], codes[y], strict=True):
            if a != b:
                total += unit * abs(a - b) if line else unit
        return math.exp(min(total, 700.0))

    return grown


def _keep(
    x: int,
    own: float,
    arrived: list[_Parcel],
    space: list[float],
    kept: dict[tuple[int, int], float],
    growth: Callable[[int, int], float],
) -> list[_Parcel]:
    """Keep what there is room for; the rest is returned."""
    rest: list[_Parcel] = []
    for source, mass, value in [(x, own, own), *arrived] if own > 0 else arrived:
        if space[x] <= 0:
            rest.append((source, mass, value))
            continue
        grown = growth(source, x)
        taken = min(mass, space[x] / grown)
        kept[source, x] = kept.get((source, x), 0.0) + taken
        space[x] -= taken * grown
        if taken < mass:
            rest.append((source, mass - taken, value * (1 - taken / mass)))
    return rest


def _pass_on(
    rest: list[_Parcel], ends: list[int], masses: list[float], growth: list[float], parcels: list[list[_Parcel]]
) -> None:
    """Share parcels out among the edges, in the proportions of the flow."""
    scale = sum(value for _, _, value in rest) / sum(masses)
    edge, left = 0, masses[0] * scale
    for source, mass, value in rest:
        rate, todo = mass / value, value
        while todo > 0:
            last = edge == len(ends) - 1
            part = todo if last else min(todo, left)
            if part > 0:
                parcels[ends[edge]].append((source, part * rate, part * growth[edge]))
            todo -= part
            left -= part
            if not last and left <= 0:
                edge += 1
                left = masses[edge] * scale


def _place(
    source: int,
    mass: float,
    space: Floats,
    kept: dict[tuple[int, int], float],
    distances: Distances,
    problem: PricingProblem,
) -> None:
    """Put mass where there is room, nearest first; where there is none at all, where it weighs least."""
    free = np.flatnonzero(space > 0)
    far = distances.between(np.full(free.size, source, dtype=np.int64), free)
    for _ in range(min(free.size, 200)):
        at = int(far.argmin())
        end, grown = int(free[at]), math.exp(min(float(far[at]), 700.0))
        taken = min(mass, float(space[end]) / grown)
        kept[source, end] = kept.get((source, end), 0.0) + taken
        space[end] -= taken * grown
        mass -= taken
        if mass <= 0:
            return
        far[at] = math.inf
    sinks = np.flatnonzero(problem.q)
    burden = distances.between(np.full(sinks.size, source, dtype=np.int64), sinks) - np.log(problem.q[sinks])
    end = int(sinks[burden.argmin()])
    kept[source, end] = kept.get((source, end), 0.0) + mass


def eased(problem: PricingProblem, distances: Distances, plan: MassPlan, room: float) -> MassPlan:
    """The plan with no more than `room` = e^epsilon times q at every state, as far as that goes: what has none goes to
    the nearest state that has."""
    p, space = problem.p / problem.p.sum(), room * problem.q / problem.q.sum()
    mass = p[plan.i] * plan.weight / np.bincount(plan.i, plan.weight, minlength=problem.size)[plan.i]
    arrived = np.bincount(plan.j, mass * np.exp(distances.between(plan.i, plan.j)), minlength=problem.size)
    mass *= np.minimum(1.0, space / np.maximum(arrived, _LEAST))[plan.j]
    rest = p - np.bincount(plan.i, mass, minlength=problem.size)
    left = np.maximum(space - arrived, 0.0)
    moved = dict(zip(zip(plan.i.tolist(), plan.j.tolist(), strict=True), mass.tolist(), strict=True))
    for x in np.flatnonzero(rest > _LEAST).tolist():
        _place(x, float(rest[x]), left, moved, distances, problem)
    i, j = np.array(list(moved), dtype=np.int64).T
    return weighed(problem, distances, i, j, np.array(list(moved.values())))


def weighed(problem: PricingProblem, distances: Distances, i: Ints, j: Ints, weight: Floats) -> MassPlan:
    """The plan with these weights, and what it proves, in doubles: nothing where it leaves out mass, or is too long."""
    total = np.bincount(i, weight, minlength=problem.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = problem.p[i] / problem.p.sum() * weight / total[i]
        arrived = np.bincount(j, share * np.exp(distances.between(i, j)), minlength=problem.size)
        value = float(np.max(arrived[problem.q > 0] * (problem.q.sum() / problem.q[problem.q > 0])))
    proves = i.size <= PAIRS * problem.size and bool((total[problem.p > 0] > 0).all()) and math.isfinite(value)
    return MassPlan(i, j, weight, value if proves else math.inf)
