"""Several secrets on many points: the program over cells, begun with few cells and given those that pay.

A channel of least loss uses two or three cells of a row. The cells to begin with come from the same problem with
neighbours merged by twos, whose prices also say about what every other cell costs.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.channels.cells.grid import solve_grid
from fugu.channels.cells.rows import Floats, GridRows, Ints
from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.program import INFINITE, TOLERANCE, Matrix, Program, limit_rows, new_solver, run
from fugu.errors import NotProvable
from fugu.laws.masses import Masses
from fugu.progress import on_time, report

SMALL = 64
"""Points whose cells are all taken at once."""
_COARSE_GAP = 1e-4
_FIRST, _MORE = 6, 2
"""Cells of each row and column to begin with, and those added in a round."""
_FINER = 2.0**12
"""By how much costs and cells are larger in the last rounds: the tolerances of the solver are absolute."""
_ROUNDS = 1000
_DUAL, _PRIMAL = 1, 4  # strategies of the solver
_USED = 1e-9


def solve_sifted(laws: PointLaws, gap: float = 0.0) -> Found:
    """The channel of least loss and its prices, or one about this close to it, relatively."""
    if laws.problem.n <= SMALL or laws.problem.monotone:
        return solve_grid(laws)
    search = _Sift(laws)
    search.rounds(gap)
    found = [laws.found(search.matrix(), search.prices)]
    if not gap and search.sharp():
        found.append(laws.found(search.matrix(), search.prices))
    return min(found, key=laws.shortfall)


class _Sift:
    def __init__(self, laws: PointLaws) -> None:
        self.laws, self.rows = laws, GridRows(laws)
        rows, problem = self.rows, laws.problem
        self.shape = (rows.kept.size, problem.m)
        self.cells = np.zeros(0, dtype=np.int64)
        self.turn, self.finer = 0, 1.0
        self.solver = new_solver()
        self.solver.setOptionValue("simplex_strategy", _DUAL)
        matrix = Matrix.of(rows.entries, rows.count, rows.columns) if rows.entries else _no_columns(rows.count)
        Program(rows.cost, matrix, rows.low, rows.high, rows.floor, np.full(rows.columns, INFINITE)).load(self.solver)
        start = self._from_coarse() if _has_order(problem) else [self._least(laws.priced(_no_prices(laws)), _FIRST)]
        weight = laws.law.mean(axis=0) if problem.weight is None else problem.weight
        constant = int(np.argmin(weight @ problem.loss))  # one output for all points keeps every promise
        self._add(np.unique(np.concatenate([*start, np.arange(self.shape[0]) * self.shape[1] + constant])))

    def _from_coarse(self) -> list[Ints]:
        """Cells that are cheap at the prices of the merged problem, and those that its channel uses."""
        problem, m = self.laws.problem, self.laws.problem.m
        found = solve_sifted(_merged(self.laws), _COARSE_GAP)
        assert found.prices is not None
        assert found.prices.ratio is not None
        ratio = np.array([np.interp(np.arange(m), np.arange(0, m, 2), row) for row in found.prices.ratio])
        cheap = self._least(self.laws.priced(Prices(ratio=ratio, mix=found.prices.mix)), _FIRST)
        place = np.full(problem.n, -1)
        place[self.rows.kept] = np.arange(self.rows.kept.size)
        x, y = np.nonzero(found.matrix > _USED)
        used = []
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            inside = (2 * x + i < problem.n) & (2 * y + j < m)
            row = place[2 * x[inside] + i]
            used.append((row * m + 2 * y[inside] + j)[row >= 0])
        return [cheap, *used]

    def _least(self, priced: Floats, count: int) -> Ints:
        """The cells of least cost of every row, with the rows levelled to 0, and of every column."""
        cost = priced[self.rows.kept]
        cost = cost - cost.min(axis=1, keepdims=True)
        return self._chosen(cost, count)

    def _chosen(self, cost: Floats, count: int) -> Ints:
        n, m = self.shape
        of_row = np.argpartition(cost, min(count, m) - 1, axis=1)[:, :count]
        of_column = np.argpartition(cost, min(count, n) - 1, axis=0)[:count]
        return np.unique(np.append(np.arange(n)[:, None] * m + of_row, of_column * m + np.arange(m)))

    def _add(self, cells: Ints) -> None:
        x, y = np.divmod(cells, self.shape[1])
        columns = Matrix.of(self.rows.cells(x, y, 0), self.rows.count, cells.size)
        self.solver.addCols(
            cells.size,
            self.rows.cell_cost(x, y) * self.finer,
            np.zeros(cells.size),
            np.full(cells.size, INFINITE),
            columns.value.size,
            columns.start[:-1],
            columns.index,
            columns.value,
        )
        self.cells = np.concatenate([self.cells, cells])

    def rounds(self, gap: float) -> None:
        """Solve and add the cells that pay, until none does; `x` and `prices` are then those of the last program."""
        rows, laws = self.rows, self.laws
        while self.turn < _ROUNDS:
            on_time()
            report(f"cells of {self.shape[0]:,} points", self.turn, max(self.turn + 1, 20))
            self.turn += 1
            answer = run(self.solver)
            self.solver.setOptionValue("simplex_strategy", _PRIMAL)
            self.x = answer.x / self.finer
            dual = answer.y / self.finer
            self.prices, value = rows.prices(dual), answer.value * rows.scale / self.finer**2
            reduced = laws.priced(self.prices)[rows.kept] - rows.scale * dual[rows.sums][:, None]
            more = self._chosen(reduced, _MORE)
            more = np.setdiff1d(more[reduced.ravel()[more] < -TOLERANCE * rows.scale / self.finer], self.cells)
            if not more.size or (gap and value - laws.bound(self.prices) <= gap * value):
                return
            self._add(more)
        raise NotProvable(f"no channel was found in {_ROUNDS} rounds")

    def sharp(self) -> bool:
        """Once more with finer tolerances, for rare points; False if that fails."""
        self.finer = _FINER
        x, y = np.divmod(self.cells, self.shape[1])
        cost = np.concatenate([self.rows.cost, self.rows.cell_cost(x, y)]) * self.finer
        self.solver.changeColsCost(cost.size, np.arange(cost.size, dtype=np.int32), cost)
        limit_rows(self.solver, self.rows.low * self.finer, self.rows.high * self.finer)
        try:
            self.rounds(0.0)
        except NotProvable:
            return False
        return True

    def matrix(self) -> Floats:
        """The channel of the last solution, without rows for points that no law takes."""
        problem = self.laws.problem
        found = np.zeros(self.shape)
        found.ravel()[self.cells] = self.x[self.rows.columns :]
        whole = np.zeros((problem.n, problem.m))
        whole[self.rows.kept] = found
        return whole


def _has_order(problem: ChannelProblem) -> bool:
    outputs = problem.outputs
    return problem.points is not None and outputs is not None and bool(np.all(np.diff(outputs) > 0))


def _no_prices(laws: PointLaws) -> Prices:
    mix = np.full(len(laws.law), 1 / len(laws.law)) if laws.problem.weight is None else None
    return Prices(mix=mix)


def _no_columns(rows: int) -> Matrix:
    nothing = np.zeros(0, dtype=np.int32)
    return Matrix(rows, np.zeros(1, dtype=np.int32), nothing, np.zeros(0))


def _merged(laws: PointLaws) -> PointLaws:
    """The problem with neighbouring points added up by twos and every second output: a guide, and nothing more."""
    problem = laws.problem
    assert problem.points is not None
    assert problem.outputs is not None
    groups = np.arange(0, problem.n, 2)
    weight = laws.law.mean(axis=0) if problem.weight is None else problem.weight
    weight = weight + 1e-12 / problem.n  # so that a group without weight has a middle too
    sums = np.add.reduceat(weight, groups)
    share = weight / np.repeat(sums, 2)[: problem.n]
    law = np.add.reduceat(laws.law, groups, axis=1)
    coarse = ChannelProblem(
        tuple(Masses(row, Fraction(1)) for row in law),
        problem.pairs,
        problem.epsilon,
        np.add.reduceat(share[:, None] * problem.loss[:, ::2], groups, axis=0),
        None if problem.weight is None else sums / sums.sum(),
        delta=problem.delta,
        points=np.add.reduceat(share * problem.points, groups),
        outputs=problem.outputs[::2],
    )
    return PointLaws(coarse, law, laws.ratio)
