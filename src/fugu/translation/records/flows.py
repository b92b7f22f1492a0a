"""The program of prices on a graph: mass moves along edges and grows by e^Lam, until it finds room.

    min E  with  out(x) - sum of e^Lam(z, x) in(z, x) + E q(x) >= p(x)  at every state x

Its dual is the best g with g(x) <= e^Lam(x, y) g(y) on the edges. Potentials h near log g make the coefficient of every
edge that is used nearly 1: the variables are the flows times e^h at their start. Without that a solver that is content
with 1e-10 says anything at all where Lam is large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fugu.channels.program import INFINITE, Matrix, Program, new_solver
from fugu.errors import NotProvable
from fugu.translation.records.distances import Distances, Floats
from fugu.translation.records.problem import Ints, Problem

_SURE = -25.0
"""Duals whose logarithm is that far below the largest are rounding."""


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


def solve(
    problem: Problem,
    distances: Distances,
    i: Ints,
    j: Ints,
    h: Floats,
    *,
    inside: float | None = None,
    steepest: float = 22.0,
) -> Flow | None:
    """The best flow along the edges (i, j), or None if the solver has none.

    Parameters:
        problem: the laws.
        distances: Lam.
        i: where the edges start.
        j: where they end.
        h: potentials near the logarithm of the best g.
        inside: None for the simplex method; else interior points without crossover up to this relative gap.
        steepest: edges that grow mass by more than e to this, in the scale of h, are left out, but for the least of
            each state; those are cut. Nothing should flow there, and the next potentials know better.
    """
    i, j, grown = _useful(distances, i, j, h, steepest)
    n, edges, everywhere = problem.size, np.arange(i.size), np.arange(problem.size)
    log_p, log_q = (np.log(np.maximum(law, 1e-300) / law.sum()) + h for law in (problem.p, problem.q))
    log_p, log_q = (part - np.logaddexp.reduce(log_q) for part in (log_p, log_q))
    about = min(max(float(np.logaddexp.reduce(log_p)), 0.0), 600.0)  # log E is at least this, and E is measured in it
    log_q += about
    scale = np.logaddexp(log_p, log_q)  # of the rows; a flow is measured by the smaller of its two ends
    small = np.minimum(scale[i], scale[j])
    entries = [
        (i, edges, np.exp(small - scale[i])),
        (j, edges, -np.exp(grown + small - scale[j])),
        (everywhere, np.full(n, i.size), np.where(problem.q > 0, np.exp(log_q - scale), 0.0)),
    ]
    program = Program(
        np.append(np.zeros(i.size), 1.0),
        Matrix.of(entries, n, i.size + 1),
        np.where(problem.p > 0, np.exp(log_p - scale), 0.0),
        np.full(n, INFINITE),
        np.zeros(i.size + 1),
        np.full(i.size + 1, INFINITE),
    )
    solver = new_solver("simplex" if inside is None else "ipm")
    if inside is not None:
        solver.setOptionValue("run_crossover", "off")
        solver.setOptionValue("ipm_optimality_tolerance", inside)
    try:
        program.load(solver)
    except NotProvable:
        return None
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
    return Flow(i, j, np.maximum(x[:-1], 0.0) * np.exp(small - h[i]), float(x[-1]) * math.exp(about), dual, closed)


def _useful(distances: Distances, i: Ints, j: Ints, h: Floats, steepest: float) -> tuple[Ints, Ints, Floats]:
    """The edges along which mass may move, and the exponents of their growth in the scale of the potentials."""
    grown = distances.between(i, j) + h[j] - h[i]
    least = np.full(h.size, np.inf)
    np.minimum.at(least, i, grown)
    kept = grown <= np.maximum(least[i], steepest)
    return i[kept], j[kept], np.minimum(grown[kept], steepest)
