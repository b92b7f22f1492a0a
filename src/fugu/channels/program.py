"""Linear programs in doubles, by HiGHS: what it answers is a proposal that `repair` and `bounds` make exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.errors import NotProvable

if TYPE_CHECKING:
    import highspy

INFINITE = float("inf")
TOLERANCE = 1e-10
"""The least that HiGHS takes; absolute, so costs are scaled by whoever asks."""
_SMALL_ENTRY = 1e-12
_FINER, _LARGER = 2.0**16, 2.0**12
"""By how much the costs, and the variables, of the second run of a program are larger."""

Triplets = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Rows, columns and values of the entries of a matrix."""


@dataclass(frozen=True, eq=False)
class Matrix:
    """A sparse matrix by columns: `index` and `value` of column j stand at start[j] .. start[j + 1]."""

    rows: int
    start: NDArray[np.int32]
    index: NDArray[np.int32]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, entries: Iterable[Triplets], rows: int, columns: int) -> Matrix:
        """The matrix with these entries, each place at most once; zeros are left out."""
        parts = [tuple(np.ravel(part) for part in np.broadcast_arrays(*entry)) for entry in entries]
        row, column, value = (np.concatenate([part[k] for part in parts]) for k in range(3))
        row, column, value = (part[value != 0] for part in (row, column, value))
        order = np.lexsort((row, column))
        start = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=columns))))
        return cls(rows, start.astype(np.int32), row[order].astype(np.int32), value[order].astype(np.float64))

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return self.start.size - 1


@dataclass(frozen=True, eq=False)
class Answer:
    """A solution: the variables `x`, the dual `y` of the rows (reduced costs are cost - A'y), and the value."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    value: float


@dataclass(frozen=True, eq=False)
class Program:
    """min cost.x with low <= A x <= high and floor <= x <= ceiling."""

    cost: NDArray[np.float64]
    matrix: Matrix
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    floor: NDArray[np.float64]
    ceiling: NDArray[np.float64]

    def answers(self, method: str = "simplex") -> list[Answer]:
        """Solutions in doubles, by the simplex method or by interior points with crossover ("ipm").

        The tolerance of the solver is absolute, and rare points have small costs and small cells: more runs go on from
        the basis of the first with costs 2^16, then also with variables 2^12 times as large. With huge entries
        (e^epsilon) none of them is always the best, so the caller chooses. Where the first run fails it is tried once
        more without simplifying the program first.
        """
        solver = new_solver(method)
        self.load(solver)
        try:
            found = [run(solver)]
        except NotProvable:
            solver.clearSolver()
            solver.setOptionValue("presolve", "off")
            found = [run(solver)]
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("simplex_iteration_limit", 1000 + self.matrix.columns // 10)
        for larger in (1.0, _LARGER):
            try:
                found.append(self._polished(solver, larger))
            except NotProvable:  # what is left over is rounding: the earlier answers stay
                break
        return found

    def load(self, solver: highspy.Highs) -> None:
        import highspy

        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = self.matrix.columns, self.matrix.rows
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = self.cost, self.floor, self.ceiling
        lp.row_lower_, lp.row_upper_ = self.low, self.high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = self.matrix.start, self.matrix.index
        lp.a_matrix_.value_ = self.matrix.value
        if solver.passModel(lp) == highspy.HighsStatus.kError:
            raise NotProvable("the linear program has entries that the solver cannot take")

    def _polished(self, solver: highspy.Highs, larger: float) -> Answer:
        columns = np.arange(self.matrix.columns, dtype=np.int32)
        solver.changeColsCost(columns.size, columns, _FINER * self.cost)
        solver.changeColsBounds(columns.size, columns, larger * self.floor, larger * self.ceiling)
        limit_rows(solver, larger * self.low, larger * self.high)
        finer = run(solver)
        x = finer.x / larger
        return Answer(x, finer.y / _FINER, float(self.cost @ x))


def new_solver(method: str = "simplex") -> highspy.Highs:
    """A silent solver at the least tolerances; the same calls give the same answers."""
    import highspy

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.silent()
    for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(name, TOLERANCE)
    solver.setOptionValue("small_matrix_value", _SMALL_ENTRY)
    solver.setOptionValue("solver", method)
    solver.setOptionValue("random_seed", 1)
    return solver


def limit_rows(solver: highspy.Highs, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Give all rows new limits; the basis stays."""
    rows = np.arange(low.size, dtype=np.int32)
    solver.changeRowsBounds(rows.size, rows, low, high)  # type: ignore[attr-defined]


def run(solver: highspy.Highs) -> Answer:
    """Solve what is loaded, from the basis that it has; NotProvable if there is no optimum to be had."""
    import highspy

    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise NotProvable(f"the linear program was not solved: {solver.modelStatusToString(status)}")
    solution = solver.getSolution()
    return Answer(
        np.array(solution.col_value), np.array(solution.row_dual), float(solver.getInfo().objective_function_value)
    )
