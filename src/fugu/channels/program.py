"""What all solvers share: a channel problem with point laws in doubles, and linear programs by HiGHS."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.channels.problem import ChannelProblem, Prices, RoughChannel
from fugu.errors import NotProvable, UsageError
from fugu.laws.masses import Masses

if TYPE_CHECKING:
    import highspy


_LARGEST = 300.0
"""Above this epsilon e^epsilon leaves the range of doubles; less is safe, and dearer by less than e^-300."""
_BLOCK = 1 << 22
"""Cells looked at together."""
_SPOILT = 1e-6
_LEAST_SLACK = 1e-3


@dataclass(frozen=True, eq=False)
class PointLaws:
    """The laws as rows of `law` (secrets, points), e^epsilon as `ratio`, and the problem they come from."""

    problem: ChannelProblem
    law: NDArray[np.float64]
    ratio: float

    @classmethod
    def of(cls, problem: ChannelProblem) -> PointLaws:
        """Read a problem; UsageError if a law is a set, or if there is a cap."""
        laws = [law for law in problem.laws if isinstance(law, Masses)]
        if len(laws) < len(problem.laws) or problem.cap is not None:
            raise UsageError("sets of laws and caps need the robust solver: ask `fugu.channels.find.find`")
        law = np.array([one.floats() for one in laws]).reshape(len(laws), problem.n)
        return cls(problem, law, math.exp(min(float(problem.epsilon), _LARGEST)))

    @cached_property
    def excess(self) -> NDArray[np.float64]:
        """a_c = p_s - e^epsilon p_t for each ordered pair c = (s, t): (ordered pairs, points)."""
        s, t = np.array(self.problem.ordered(), dtype=np.int64).reshape(-1, 2).T
        return self.law[s] - self.ratio * self.law[t]

    @cached_property
    def binding(self) -> NDArray[np.bool_]:
        """Which ordered pairs can bind at all: some point says more than e^epsilon."""
        return np.asarray(np.any(self.excess > 0, axis=1))

    @cached_property
    def only_pair(self) -> int | None:
        """The first row in `ordered` of the only pair that can bind; None if several can."""
        first: dict[frozenset[int], int] = {}
        ordered = self.problem.ordered()
        for c, pair in enumerate(ordered):
            first.setdefault(frozenset(pair), c)
        able = {first[frozenset(ordered[c])] for c in np.flatnonzero(self.binding)}
        return able.pop() if len(able) == 1 else None

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """The points that some paired law can take; what the others are sent to costs no privacy. Under the worst law
        also those of laws without a pair, since their loss counts."""
        counted = {s for pair in self.problem.pairs for s in pair}
        laws = self.law if self.problem.weight is None else self.law[sorted(counted)]
        return np.asarray(np.any(laws > 0, axis=0))

    def loss(self, matrix: NDArray[np.float64]) -> float:
        """The expected loss of a channel, or the largest under any law."""
        rows = np.einsum("xy,xy->x", matrix, self.problem.loss)
        weight = self.problem.weight
        return float(np.max(self.law @ rows)) if weight is None else float(weight @ rows)

    def weight(self, prices: Prices) -> NDArray[np.float64]:
        """The weight of the points: given, or that of the worst mixture of the laws."""
        if self.problem.weight is not None:
            return self.problem.weight
        assert prices.mix is not None
        return np.asarray(prices.mix @ self.law / prices.mix.sum())

    def priced(self, prices: Prices, columns: slice = slice(None)) -> NDArray[np.float64]:
        """w_x loss(x, y) + sum_c alpha_{c,y} a_c(x): what the cells of some outputs cost with their promises."""
        cells = self.weight(prices)[:, None] * self.problem.loss[:, columns]
        if prices.ratio is not None and prices.ratio.size:
            cells += self.excess.T @ prices.ratio[:, columns]
        if prices.rise is not None:
            cells += pull(prices.rise)[:, columns]
        return cells

    def bound(self, prices: Prices) -> float:
        """The lower bound of the optimum that any prices give, in doubles; `bounds.lower` proves it in rationals:
        sum_x min_y [w_x loss(x, y) + sum_c alpha_{c,y} a_c(x)] - delta sum_c max_y alpha_{c,y}."""
        least, step = np.full(self.problem.n, np.inf), max(1, _BLOCK // self.problem.n)
        for first in range(0, self.problem.m, step):
            np.minimum(least, self.priced(prices, slice(first, first + step)).min(axis=1), out=least)
        paid = 0.0 if prices.ratio is None else float(self.problem.delta) * float(prices.ratio.max(axis=1).sum())
        return float(least.sum()) - paid

    def found(self, matrix: NDArray[np.float64], prices: Prices) -> RoughChannel:
        """What a solver hands back: rows that sum to 1, the prices (none at all where rounding spoilt them, which
        happens at huge e^epsilon), and how far the loss is above the bound."""
        whole = self.completed(matrix)
        loss, bound = self.loss(whole), self.bound(prices)
        if loss - bound > _SPOILT * loss:
            nothing = replace(prices, ratio=np.zeros((len(self.problem.ordered()), self.problem.m)))
            if self.bound(nothing) > bound:
                prices, bound = nothing, self.bound(nothing)
        return RoughChannel(whole, prices, max(0.0, loss - bound))

    def shortfall(self, found: RoughChannel) -> float:
        """What is wrong with an answer, in units of the loss: its gap, and what mends its promises (`repair`)."""
        over = np.clip(np.max(self.excess @ found.matrix, axis=0, initial=0.0), 0.0, None).sum()
        mended = max(0.0, float(over) - float(self.problem.delta)) / max(self.ratio - 1, _LEAST_SLACK)
        return found.gap + mended * float(self.problem.loss.max())

    def completed(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The channel on all points, in place: rows that sum to 1, and the best output for points that no law takes."""
        np.clip(matrix, 0.0, None, out=matrix)
        if not self.problem.monotone:
            idle = np.flatnonzero(~self.active)
            matrix[idle] = 0.0
            matrix[idle, np.argmin(self.problem.loss[idle], axis=1)] = 1.0
        matrix /= matrix.sum(axis=1, keepdims=True)
        return matrix


def pull(rise: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the prices of F(j|x + 1) <= F(j|x) add to each cell (x, y): sum over j >= y of rise[x - 1] - rise[x]."""
    tails = np.pad(np.cumsum(rise[:, ::-1], axis=1)[:, ::-1], ((1, 1), (0, 1)))
    return np.asarray(tails[:-1] - tails[1:])


# Linear programs in doubles, by HiGHS: what it answers is a proposal that `repair` and `bounds` make exact.


INFINITE = float("inf")
TOLERANCE = 1e-10
"""The least that HiGHS takes; absolute, so costs are scaled by whoever asks."""
_SMALL_ENTRY = 1e-12
_FINER, _LARGER = 2.0**16, 2.0**12
"""By how much the costs, and the variables, of the second run of a program are larger."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Triplets = tuple[Ints, Ints, Floats]
"""Rows, columns and values of the entries of a matrix."""


Columns = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]
"""A sparse matrix by columns: start, index and value; those of column j stand at start[j] .. start[j + 1]."""


def sparse(entries: Iterable[Triplets], columns: int) -> Columns:
    """The matrix with these entries, each place at most once; zeros are left out."""
    none = np.zeros(0, dtype=np.int64)
    parts = [tuple(np.ravel(part) for part in np.broadcast_arrays(*entry)) for entry in entries]
    parts = [(none, none, np.zeros(0)), *parts]
    row, column, value = (np.concatenate([part[k] for part in parts]) for k in range(3))
    row, column, value = (part[value != 0] for part in (row, column, value))
    order = np.lexsort((row, column))
    start = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=columns))))
    return start.astype(np.int32), row[order].astype(np.int32), value[order].astype(np.float64)


Solution = tuple[Floats, Floats, float]
"""The variables x, the dual y of the rows (reduced costs are cost - A'y), and the value."""


class Program:
    """min cost.x with low <= A x <= high and floor <= x, as it is gathered: rows with their limits, columns with what
    they are at least, and the entries between them; the cost comes when it is solved."""

    def __init__(self) -> None:
        self.entries: list[Triplets] = []
        self.low, self.high, self.floor = np.zeros(0), np.zeros(0), np.zeros(0)

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return self.floor.size

    def rows(self, count: int, low: float, high: float) -> Ints:
        """New rows, all with these limits."""
        self.low, self.high = np.append(self.low, np.full(count, low)), np.append(self.high, np.full(count, high))
        return np.arange(self.low.size - count, self.low.size)

    def variables(self, floor: Floats) -> Ints:
        """New columns, each at least so large."""
        self.floor = np.append(self.floor, floor)
        return np.arange(self.columns - floor.size, self.columns)

    def enter(self, rows: Ints, columns: Ints, values: Floats | float) -> None:
        """Entries at these places, as far as they are repeated."""
        self.entries.append((rows, columns, np.asarray(values, dtype=np.float64)))

    def answers(self, cost: Floats, method: str = "simplex") -> list[Solution]:
        """Solutions in doubles, by the simplex method or by interior points with crossover ("ipm").

        The tolerance of the solver is absolute, and rare points have small costs and small cells: more runs go on from
        the basis of the first with costs 2^16, then also with variables 2^12 times as large. With huge entries
        (e^epsilon) none of them is always the best, so the caller chooses. Where the first run fails it is tried once
        more without simplifying the program first.
        """
        solver = new_solver(method)
        self.load(solver, cost)
        try:
            found = [run(solver)]
        except NotProvable:
            solver.clearSolver()
            solver.setOptionValue("presolve", "off")
            found = [run(solver)]
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("simplex_iteration_limit", 1000 + cost.size // 10)
        for larger in (1.0, _LARGER):
            try:
                columns = np.arange(cost.size, dtype=np.int32)
                solver.changeColsCost(columns.size, columns, _FINER * cost)
                solver.changeColsBounds(columns.size, columns, larger * self.floor, np.full(columns.size, INFINITE))
                limit_rows(solver, larger * self.low, larger * self.high)
                x, y, _ = run(solver)
                found.append((x / larger, y / _FINER, float(cost @ (x / larger))))
            except NotProvable:  # what is left over is rounding: the earlier answers stay
                break
        return found

    def load(self, solver: highspy.Highs, cost: Floats) -> None:
        """Hand all of it to a solver."""
        import highspy

        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = cost.size, self.low.size
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, self.floor, np.full(cost.size, INFINITE)
        lp.row_lower_, lp.row_upper_ = self.low, self.high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = sparse(self.entries, self.columns)
        if solver.passModel(lp) == highspy.HighsStatus.kError:
            raise NotProvable("the linear program has entries that the solver cannot take")


def add_columns(solver: highspy.Highs, cost: Floats, columns: Columns) -> None:
    """Columns from 0 on with these costs and entries."""
    size, (start, index, value) = cost.size, columns
    solver.addCols(size, cost, np.zeros(size), np.full(size, INFINITE), value.size, start[:-1], index, value)


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


def run(solver: highspy.Highs) -> Solution:
    """Solve what is loaded, from the basis that it has; NotProvable if there is no optimum to be had."""
    import highspy

    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise NotProvable(f"the linear program was not solved: {solver.modelStatusToString(status)}")
    solution, value = solver.getSolution(), float(solver.getInfo().objective_function_value)
    return np.array(solution.col_value), np.array(solution.row_dual), value
