"""From a flow to a plan: whose mass went where, and what to do with mass that found no room.

Along edges that are used g(x) = e^Lam(x, y) g(y) > g(y), so in the order of the falling dual all mass of a state is
there before it is passed on. A state keeps what it has room for, its own first; the rest goes on as the flow does. A
parcel is charged for the way from where it started, which is never longer than the path it took.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.translation.records.distances import Distances, Floats
from fugu.translation.records.flows import Flow
from fugu.translation.records.problem import Ints, Problem

_LEAST = 1e-15
_Parcel = tuple[int, float, float]
"""Where it started, its mass there, and what that has grown to on its way."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights on pairs: of the mass at i this much goes to j. `value` is e^epsilon, in doubles."""

    i: Ints
    j: Ints
    weight: Floats
    value: float


def plan_of(problem: Problem, distances: Distances, flow: Flow, room: float) -> Plan:
    """The plan that a flow describes, with room for `room` times q at every state as far as that goes.

    Parameters:
        problem: the laws.
        distances: Lam.
        flow: a flow and its potentials.
        room: e^epsilon to aim at.
    """
    p = problem.p / problem.p.sum()
    space: list[float] = (room * problem.q / problem.q.sum()).tolist()
    order = np.argsort(-flow.dual, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    used = (flow.mass > _LEAST) & (rank[flow.i] < rank[flow.j])
    way = np.flatnonzero(used)[np.argsort(flow.i[used], kind="stable")]
    first = np.searchsorted(flow.i[way], np.arange(problem.size + 1)).tolist()
    ends, masses = flow.j[way].tolist(), flow.mass[way].tolist()
    growth = np.exp(distances.between(flow.i[way], flow.j[way])).tolist()
    apart = _Apart(distances)
    parcels: list[list[_Parcel]] = [[] for _ in range(problem.size)]
    kept: dict[tuple[int, int], float] = {}
    stuck: list[tuple[int, float]] = []
    own = p.tolist()
    for x in order.tolist():
        rest = _keep(x, own[x], parcels[x], space, kept, apart)
        parcels[x] = []
        if rest and first[x] < first[x + 1]:
            span = slice(first[x], first[x + 1])
            _pass_on(rest, ends[span], masses[span], growth[span], parcels)
        else:
            stuck += [(source, mass) for source, mass, _ in rest]
    for source, mass in stuck:
        _place(source, mass, space, kept, distances, problem)
    return weighed(problem, distances, *_arrays(kept))


class _Apart:
    """e^Lam of single pairs, without the overhead of arrays."""

    def __init__(self, distances: Distances) -> None:
        self.codes = distances.codes.T.tolist()
        self.charges = list(zip(distances.units.tolist(), distances.line, strict=True))

    def grown(self, x: int, y: int) -> float:
        if x == y:
            return 1.0
        total = 0.0
        for (unit, line), a, b in zip(self.charges, self.codes[x], self.codes[y], strict=True):
            if a != b:
                total += unit * abs(a - b) if line else unit
        return math.exp(min(total, 700.0))


def _keep(
    x: int, own: float, arrived: list[_Parcel], space: list[float], kept: dict[tuple[int, int], float], apart: _Apart
) -> list[_Parcel]:
    """Keep what there is room for; the rest is returned."""
    rest: list[_Parcel] = []
    for source, mass, value in [(x, own, own), *arrived] if own > 0 else arrived:
        if space[x] <= 0:
            rest.append((source, mass, value))
            continue
        grown = apart.grown(source, x)
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
    space: list[float],
    kept: dict[tuple[int, int], float],
    distances: Distances,
    problem: Problem,
) -> None:
    """Put mass where there is room, nearest first; where there is none at all, where it weighs least."""
    free = np.flatnonzero(np.asarray(space) > 0)
    here = np.full(free.size, source, dtype=np.int64)
    far = distances.between(here, free)
    for at in np.argsort(far, kind="stable")[:200].tolist():
        end, grown = int(free[at]), math.exp(min(float(far[at]), 700.0))
        taken = min(mass, space[end] / grown)
        kept[source, end] = kept.get((source, end), 0.0) + taken
        space[end] -= taken * grown
        mass -= taken
        if mass <= 0:
            return
    sinks = np.flatnonzero(problem.q)
    burden = distances.between(np.full(sinks.size, source, dtype=np.int64), sinks) - np.log(problem.q[sinks])
    end = int(sinks[burden.argmin()])
    kept[source, end] = kept.get((source, end), 0.0) + mass


def _arrays(kept: dict[tuple[int, int], float]) -> tuple[Ints, Ints, Floats]:
    pairs = np.array([pair for pair, weight in kept.items() if weight > 0], dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], np.array([weight for weight in kept.values() if weight > 0])


def weighed(problem: Problem, distances: Distances, i: Ints, j: Ints, weight: Floats) -> Plan:
    """The plan with these weights, and what it proves, in doubles."""
    total = np.bincount(i, weight, minlength=problem.size)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = problem.p[i] / problem.p.sum() * weight / total[i]
        arrived = np.bincount(j, share * np.exp(distances.between(i, j)), minlength=problem.size)
        value = float(np.max(arrived[problem.q > 0] * (problem.q.sum() / problem.q[problem.q > 0])))
    missing = bool((total[problem.p > 0] <= 0).any())
    return Plan(i, j, weight, math.inf if missing or not math.isfinite(value) else value)
