"""Linear programs by HiGHS, and the conic program for sets of laws and caps by Clarabel: what they answer proposes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.channels.exact import lower, repaired, value
from fugu.channels.problem import ChannelProblem, Prices, RoughChannel
from fugu.channels.sets import Cone, LinearForm, Promises, Vector, extreme, provable
from fugu.errors import NotProvable, OutOfReach
from fugu.progress import on_time, report

if TYPE_CHECKING:
    import highspy

# Linear programs in doubles, by HiGHS: what it answers is a proposal that `exact` makes exact.


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
    parts: list[tuple[NDArray[Any], ...]] = [(none, none, np.zeros(0))]
    for entry in entries:
        on_time()
        parts.append(tuple(np.ravel(part) for part in np.broadcast_arrays(*entry)))
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

    if (left := on_time()) < math.inf:
        solver.setOptionValue("time_limit", solver.getRunTime() + left)
    solver.run()
    on_time()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise NotProvable(f"the linear program was not solved: {solver.modelStatusToString(status)}")
    solution, value = solver.getSolution(), float(solver.getInfo().objective_function_value)
    return np.array(solution.col_value), np.array(solution.row_dual), value


# Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn.
#
#     min sum_y cost_y.k_y   subject to   sum_y k_y = 1,   G z_y >= 0 for every output y,   z_y = (k_y, ...)
#
# With delta there is a slack for each pair and output, whose sum over the outputs is at most delta: it bounds the sum
# over y of [max p.k_y - e^epsilon min q.k_y]_+, which is at least the delta of every pair of members. So it is sound.
#
# Solved by Clarabel's interior points (Goulart and Chen 2024): what comes out is a proposal like that of any solver,
# which `exact` makes exact, so a vertex is not needed.


_CELLS = 160_000
"""Points times outputs, a minute or two."""
_LEAST = 1e-9
"""Interior points leave outputs that hardly occur; those below this chance everywhere are dropped."""


def solve_robust(problem: ChannelProblem) -> RoughChannel:
    """The channel of least loss in doubles, with prices and members that bound the optimum from below: for laws and
    sets of laws in any mixture; cap, delta, worst case and order as the problem asks for.

    For epsilon 0 without delta, and for a cap of 0, the channel is the best constant one. Raises `OutOfReach` beyond
    400 points with as many outputs.
    """
    if problem.n * problem.m > _CELLS:
        raise OutOfReach(
            f"a channel for sets of laws with {problem.n} points and {problem.m} outputs is not searched for; "
            f"declare bins so that points times outputs are at most {_CELLS}",
            points=problem.n * problem.m,
            limit=_CELLS,
        )
    if (problem.epsilon == 0 and problem.delta == 0) or problem.cap == 0:
        return constant(problem)
    found = [one for laws in provable(problem.laws) for one in RobustProgram(replace(problem, laws=laws)).solutions()]
    matrices, prices = [cleaned(matrix) for matrix, _ in found], [known for _, known in found]
    if len(found) == 1:
        return RoughChannel(matrices[0], prices[0])
    matrix = min(matrices, key=lambda each: value(problem, repaired(problem, each)[0]))
    return RoughChannel(matrix, max(prices, key=lambda known: lower(problem, known)))


def cleaned(matrix: Floats) -> Floats:
    """The channel without outputs that hardly occur, whose ratios are arbitrary; rows with sum 1."""
    kept = np.clip(matrix, 0.0, None)
    kept = kept * (kept.max(axis=0) >= _LEAST)
    chances: Floats = kept / kept.sum(axis=1, keepdims=True)
    return chances


def constant(problem: ChannelProblem) -> RoughChannel:
    """The best channel that does not look at its input: right for every law, so also for epsilon 0.

    Its prices prove it the best where the cap is 0; for epsilon 0 alone there are none, since equal laws could do
    better.
    """
    matrix = np.zeros(problem.loss.shape)
    if problem.weight is None:
        same = replace(problem, pairs=(), cap=Fraction(0), monotone=False, delta=Fraction(0))
        matrix[:] = cleaned(RobustProgram(same).solutions()[0][0].mean(axis=0)[None, :])
    else:
        matrix[:, np.argmin(problem.weight @ problem.loss)] = 1.0
    if problem.cap != 0 or problem.weight is None:
        return RoughChannel(matrix, None)
    cost = problem.weight[:, None] * problem.loss
    return RoughChannel(matrix, Prices(cap=cost.mean(axis=0) - cost))


# The promises once for each output, what links the outputs, and the loss, as one conic program.


_FEW = 2500
"""Points times outputs of single laws up to which the simplex method is as fast."""
_NEAR, _GOOD, _ENOUGH = 1e-12, 1e-9, 1e-6
"""Distance from the optimum at which the solver stops, above which it tries again, and up to which the best answer
counts where none comes nearer."""
_STEPS = (0.95, 0.8, 0.99, 0.6)
"""How far a step that is too long is shortened; the way to a logarithm's corner, an output that never occurs, is
narrow, and where one does not get there another does."""

_WORK = "finding a channel for sets of laws"


class RobustProgram(Program):
    """min cost with sum_y k_y = 1 and the rows of the promises for every output; delta, the worst of the laws and order
    where they are asked for."""

    def __init__(self, problem: ChannelProblem) -> None:
        super().__init__()
        self.problem, self.promises = problem, Promises(problem)
        self.bells: list[Ints] = []
        """Triples of rows in the exponential cone."""
        cone, n, m = self.promises.cone, problem.n, problem.m
        self.cells = np.arange(m) * cone.size + self.promises.k[:, None]
        self._copies(cone, m)
        self.enter(self.rows(n, 1.0, 1.0)[:, None], self.cells, 1.0)
        if (slack := self.promises.slack) is not None:  # sum_y of the slack of each ordered pair <= delta
            there = np.arange(m) * cone.size + slack[:, None]
            self.enter(self.rows(slack.size, -INFINITE, float(problem.delta))[:, None], there, 1.0)
        cells = problem.loss if problem.weight is None else problem.weight[:, None] * problem.loss
        self.scale = max(float(cells.max()), 1e-300)
        self.worst = self._worst() if problem.weight is None else None
        self.rising: Ints | None = None
        if problem.monotone:  # F(j|x) - F(j|x + 1) = d(x, j) >= 0, as differences of neighbouring j
            fall = self.variables(np.zeros((n - 1) * (m - 1))).reshape(n - 1, m - 1)
            self.rising = row = self.rows((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
            self.enter(row, self.cells[:-1], -1.0)
            self.enter(row, self.cells[1:], 1.0)
            self.enter(row[:, :-1], fall, 1.0)
            self.enter(row[:, 1:], fall, -1.0)
        self.cost = np.zeros(self.columns)
        if self.worst is not None:
            self.cost[self.worst] = 1.0
        else:
            self.cost[self.cells] = cells / self.scale

    def _copies(self, cone: Cone, count: int) -> tuple[Ints, Ints]:
        """The rows of a cone, `count` times; the places of rows and columns."""
        rows = self.rows(count * cone.count, 0.0, INFINITE)
        floor = np.full(cone.size, -np.inf)
        for places in cone.positive:
            floor[places] = 0.0
        columns = self.variables(np.tile(floor, count))
        copy = np.arange(count)[:, None]
        r, c, v = cone.triplets()
        self.enter(rows[0] + r + copy * cone.count, columns[0] + c + copy * cone.size, v)
        for three in cone.bells:
            self.bells.append((rows[0] + three + copy[:, :, None] * cone.count).reshape(-1, 3))
            self.low[self.bells[-1]] = -INFINITE
        return rows, columns

    def _worst(self) -> int:
        """T >= max p.l for every law, l_x = sum_y loss(x, y) K(y|x), losses scaled to 1; the place of T."""
        n, cone = self.problem.n, Cone()
        means, top = cone.new(n), cone.new(1)
        extremes = [extreme(cone, law, Vector(((1.0, means),))) for law in self.problem.laws]
        held = [cone.require(LinearForm.of(top, 1.0) - one.form) for one in extremes]
        rows, columns = self._copies(cone, 1)
        link = self.rows(n, 0.0, 0.0)
        self.enter(link[:, None], self.cells, self.problem.loss / self.scale)
        self.enter(link, columns[means], -1.0)
        self.read = cone, extremes, held, means, rows
        return int(columns[top[0]])

    def _members(self, y: Floats) -> tuple[Floats, Floats]:
        """The mixture of the laws that the duals of the worst of them say, and the member of each."""
        cone, extremes, held, means, rows = self.read
        duals = np.clip(y[rows], 0.0, None)[None, :]
        mix, entries = duals[0, held], cone.triplets()
        members = [
            end.weighed(cone, entries, means, duals[:, row], duals)[0] for end, row in zip(extremes, held, strict=True)
        ]
        return mix, np.clip(np.array(members) / np.maximum(mix[:, None], 1e-300), 0.0, 1.0)

    def solutions(self) -> list[tuple[Floats, Prices]]:
        """Channels (points, outputs) of least loss, each with what its duals say, in units of the loss. Of few points
        and single laws from vertices: where epsilon is 0 and delta next to nothing, a little beside one is too far."""
        problem, promises = self.problem, self.promises
        found, answers = [], []
        if not problem.robust and not problem.monotone and problem.n * problem.m <= _FEW:
            with suppress(NotProvable):
                answers = [(x, y) for x, y, _ in self.answers(self.cost)]
        for x, y in answers or [self.interior()]:
            duals = np.clip(self.scale * y[: problem.m * promises.cone.count].reshape(problem.m, -1), 0.0, None)
            mix, mixed = (None, None) if self.worst is None else self._members(y)
            rise = None if self.rising is None else np.clip(np.diff(self.scale * y[self.rising], axis=1), 0.0, None)
            prices = Prices(
                ratio=promises.ratios(duals),
                upper=promises.members(duals, 1),
                lower=promises.members(duals, -1),
                cap=promises.caps(duals),
                mix=mix,
                mixed=mixed,
                rise=rise,
            )
            found.append((x[self.cells], prices))
        return found

    def interior(self) -> tuple[Floats, Floats]:
        """Variables and duals of the rows near the optimum; `NotProvable` if the solver does not come near one."""
        import clarabel
        from scipy.sparse import csc_array, eye_array, vstack

        start, index, value = sparse(self.entries, self.columns)
        rows = csc_array((value, index, start), shape=(self.low.size, self.columns)).tocsr()
        equal = self.low == self.high
        bells = np.concatenate([np.zeros((0, 3), dtype=np.int64), *self.bells])
        parts = [  # places, sign: sign (row - limit) is 0, not negative, or in the exponential cone
            (np.flatnonzero(equal), 1.0, self.low),
            (np.flatnonzero(~equal & (self.low > -INFINITE)), -1.0, self.low),
            (np.flatnonzero(~equal & (self.high < INFINITE)), 1.0, self.high),
            (bells.ravel(), -1.0, np.zeros(self.low.size)),
        ]
        bounded = np.flatnonzero(self.floor > -INFINITE)
        wall = eye_array(self.columns, format="csr")[bounded]
        blocks = [sign * rows[places] for places, sign, _ in parts]
        blocks.insert(3, -wall)
        right = [sign * limits[places] for places, sign, limits in parts]
        right.insert(3, -self.floor[bounded])
        sizes = [len(limits) for limits in right]
        cones = [clarabel.ZeroConeT(sizes[0]), clarabel.NonnegativeConeT(sum(sizes[1:4]))]
        cones += [clarabel.ExponentialConeT()] * len(bells)
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.direct_solve_method = False, "qdldl"  # one thread: the same answer every time
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _NEAR
        whole, nothing = vstack(blocks, format="csc"), csc_array((self.columns, self.columns))
        report(_WORK, 0, 1)
        best = None
        for step in _STEPS:
            settings.linesearch_backtrack_step = step
            settings.min_switch_step_length, settings.min_terminate_step_length = 1e-3, 1e-7
            tried = clarabel.DefaultSolver(nothing, self.cost, whole, np.concatenate(right), cones, settings).solve()
            off = max(abs(tried.obj_val - tried.obj_val_dual), tried.r_prim, tried.r_dual)
            if not np.isnan(off) and (best is None or off < best[0]):
                best = off, tried
            if best is not None and best[0] < _GOOD:
                break
        if best is None or not best[0] < _ENOUGH:
            raise NotProvable(f"the program for sets of laws was not solved: {tried.status}")
        solution = best[1]
        report(_WORK, 1, 1)
        z = np.split(np.array(solution.z), np.cumsum(sizes)[:-1])
        del z[3]
        duals = np.zeros(self.low.size)
        for (places, sign, _), part in zip(parts, z, strict=True):
            duals[places] -= sign * part
        return np.array(solution.x), duals
