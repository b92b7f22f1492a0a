"""Every cell K(y|x) is a variable: one linear program for any problem with point laws, for up to a few hundred points.

min sum_x w_x sum_y K(y|x) loss(x, y),   sum_y K(y|x) = 1,   sum_x (p_s(x) - e^epsilon p_t(x)) K(y|x) <= 0.
"""

from __future__ import annotations

import numpy as np

from fugu.channels.cells.rows import GridRows
from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import Found
from fugu.channels.program import Matrix, Program


def solve_grid(laws: PointLaws, method: str = "simplex") -> Found:
    """The channel of least loss and its prices, by one linear program over all cells."""
    rows = GridRows(laws)
    x, y = (part.ravel() for part in np.indices((rows.kept.size, laws.problem.m)))
    program = Program(
        np.concatenate([rows.cost, rows.cell_cost(x, y)]),
        Matrix.of([*rows.entries, *rows.cells(x, y, rows.columns)], rows.count, rows.columns + x.size),
        rows.low,
        rows.high,
        np.concatenate([rows.floor, np.zeros(x.size)]),
        np.full(rows.columns + x.size, np.inf),
    )
    found = []
    for answer in program.answers(method):
        matrix = np.zeros((laws.problem.n, laws.problem.m))
        matrix[rows.kept] = answer.x[rows.columns :].reshape(rows.kept.size, -1)
        found.append(laws.found(matrix, rows.prices(answer.y)))
    return min(found, key=laws.shortfall)
