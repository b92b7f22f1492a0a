"""Plans in doubles, by HiGHS: proposals that `check` makes proofs of."""

from __future__ import annotations

import numpy as np

from fugu.channels.program import INFINITE, Matrix, Program
from fugu.errors import NotProvable
from fugu.translation.records.problem import Problem
from fugu.visible import Json

_MOST_PAIRS = 40_000


def plan(problem: Problem) -> list[Json]:
    """The proofs to try."""
    sources, sinks = np.flatnonzero(problem.p), np.flatnonzero(problem.q)
    if sources.size * sinks.size > _MOST_PAIRS:
        return []
    i, j = (part.ravel() for part in np.meshgrid(sources, sinks, indexing="ij"))
    cost = problem.units @ problem.steps(i, j)
    if cost.max() > 200:
        return []
    row = np.searchsorted(sources, i)
    column = sources.size + np.searchsorted(sinks, j)
    rows, place = sources.size + sinks.size, np.arange(i.size)
    share = problem.q[sinks] / problem.q.sum()
    entries = [
        (row, place, np.ones(i.size)),
        (column, place, np.exp(cost)),
        (sources.size + np.arange(sinks.size), np.full(sinks.size, i.size), -share),
    ]
    target = problem.p[sources] / problem.p.sum()
    program = Program(
        np.append(np.zeros(i.size), 1.0),
        Matrix.of(entries, rows, i.size + 1),
        np.concatenate([target, np.full(sinks.size, -INFINITE)]),
        np.concatenate([target, np.zeros(sinks.size)]),
        np.zeros(i.size + 1),
        np.full(i.size + 1, INFINITE),
    )
    try:
        answers = program.answers()
    except NotProvable:
        return []
    found: list[Json] = []
    for answer in answers:
        kept = np.flatnonzero(answer.x[:-1] > 0)
        triples = zip(i[kept].tolist(), j[kept].tolist(), answer.x[kept].tolist(), strict=True)
        found.append({"how": "plan", "plan": [list(t) for t in triples]})
    return found
