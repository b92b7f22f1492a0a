"""The promises once for each output and the loss as one linear program, and how its solution is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.channels.problem import ChannelProblem, Prices
from fugu.channels.program import INFINITE, Matrix, Program, Triplets, new_solver
from fugu.channels.robust.cone import Cone, Floats, LinearForm, Places, Vector
from fugu.channels.robust.interior import Interior
from fugu.channels.robust.sets import Extreme, Planes, Promises, largest, round_ball
from fugu.errors import NotProvable
from fugu.laws.masses import Masses

# The promises once for each output, what links the outputs, and the loss, as one linear program for HiGHS.
#
# Interior points without crossover: the answer is a proposal, made exact by `repair`, so a vertex is not needed.


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """A channel (points, outputs), the duals of the cone's rows (outputs, rows), and those of the links."""

    matrix: Floats
    duals: Floats
    mix: Floats | None = None
    mixed: Floats | None = None
    rise: Floats | None = None


class WholeProgram:
    """min cost with sum_y k_y = 1 and G z_y >= 0; delta, the worst of the laws and order where they are asked for.

    - `promises`: the cone and its problem.
    """

    def __init__(self, promises: Promises) -> None:
        self.promises, self.problem = promises, promises.problem
        cone, n, m = promises.cone, self.problem.n, self.problem.m
        self.cells = np.arange(m) * cone.size + promises.k[:, None]
        self.entries: list[Triplets] = []
        self.low: list[Floats] = []
        self.high: list[Floats] = []
        self.floor: list[Floats] = []
        self.rows = self.columns = 0
        self._copies(cone, m, [promises.planes[s][:m] for s in promises.plane_laws])
        self._enter(self._add_rows(n, 1.0, 1.0)[:, None], self.cells, 1.0)
        self._spend()
        self.worst = self._worst() if self.problem.weight is None else None
        self.rising = self._rising() if self.problem.monotone else None

    def _add_rows(self, count: int, low: float, high: float) -> Places:
        self.low.append(np.full(count, low))
        self.high.append(np.full(count, high))
        self.rows += count
        return np.arange(self.rows - count, self.rows)

    def _add_columns(self, floor: Floats) -> Places:
        self.floor.append(floor)
        self.columns += floor.size
        return np.arange(self.columns - floor.size, self.columns)

    def _enter(self, rows: Places, columns: Places, values: Floats | float) -> None:
        parts = np.broadcast_arrays(rows, columns, np.asarray(values, dtype=np.float64))
        self.entries.append((parts[0].ravel(), parts[1].ravel(), parts[2].ravel()))

    def _copies(self, cone: Cone, count: int, planes: list[Floats]) -> tuple[Places, Places]:
        """The rows G z >= 0 of a cone, `count` times, with the planes of each copy; the places of rows and columns."""
        rows = self._add_rows(count * cone.count, 0.0, INFINITE)
        columns = self._add_columns(np.tile(cone.floor(), count))
        copy = np.arange(count)[:, None]
        r, c, v = cone.triplets()
        self._enter(rows[0] + r + copy * cone.count, columns[0] + c + copy * cone.size, v)
        copy = copy[:, :, None]
        for (there, parts), values in zip(cone.planes, planes, strict=True):
            row, column = there + copy * cone.count, parts[:, None] + copy * cone.size
            self._enter(rows[0] + row, columns[0] + column, -values)
        return rows, columns

    def _spend(self) -> None:
        """sum_y of the slack of each ordered pair <= delta."""
        slack = self.promises.slack
        if slack is not None:
            there = np.arange(self.problem.m) * self.promises.cone.size + slack[:, None]
            self._enter(self._add_rows(slack.size, -INFINITE, float(self.problem.delta))[:, None], there, 1.0)

    def _worst(self) -> _Worst:
        """T >= max p.l for every law, l_x = sum_y loss(x, y) K(y|x), losses scaled to 1."""
        n, cone = self.problem.n, Cone()
        means = cone.new_at(np.arange(n))
        top = cone.new(1)
        extremes: list[Extreme] = []
        held = []
        for law in self.problem.laws:
            known = self.promises.planes.get(len(extremes))
            count = 0 if known is None else known.shape[1]
            extremes.append(largest(cone, law, Vector(((1.0, means),)), count))
            held.append(cone.require(LinearForm.of(top, 1.0) - extremes[-1].form))
        planes = [self.promises.planes[s][self.problem.m :] for s in sorted(self.promises.planes)]
        rows, columns = self._copies(cone, 1, planes)
        link = self._add_rows(n, 0.0, 0.0)
        self._enter(link[:, None], self.cells, self.problem.loss / max(float(self.problem.loss.max()), 1e-300))
        self._enter(link, columns[means], -1.0)
        return _Worst(cone, extremes, np.array(held), means, rows, int(columns[top[0]]))

    def _rising(self) -> Places:
        """F(j|x) - F(j|x + 1) = d(x, j) >= 0, as differences of neighbouring j."""
        n, m = self.cells.shape
        fall = self._add_columns(np.zeros((n - 1) * (m - 1))).reshape(n - 1, m - 1)
        row = self._add_rows((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
        self._enter(row, self.cells[:-1], -1.0)
        self._enter(row, self.cells[1:], 1.0)
        self._enter(row[:, :-1], fall, 1.0)
        self._enter(row[:, 1:], fall, -1.0)
        return row

    def solve(self) -> RobustSolution:
        """A solution by interior points, and its duals in units of the loss."""
        problem, cost = self.problem, np.zeros(self.columns)
        if self.worst is not None:
            scale = max(float(problem.loss.max()), 1e-300)
            cost[self.worst.top] = 1.0
        else:
            cells = problem.weight[:, None] * problem.loss if problem.weight is not None else problem.loss
            scale = max(float(cells.max()), 1e-300)
            cost[self.cells] = cells / scale
        matrix = Matrix.of(self.entries, self.rows, self.columns)
        limits = np.concatenate(self.low), np.concatenate(self.high)
        x, y = interior(Program(cost, matrix, *limits, np.concatenate(self.floor), np.full(cost.size, INFINITE)))
        cone = self.promises.cone
        duals = np.clip(scale * y[: problem.m * cone.count].reshape(problem.m, cone.count), 0.0, None)
        mix, mixed = (None, None) if self.worst is None else self.worst.read(y)
        rise = None
        if self.rising is not None:
            dual = scale * y[self.rising]
            rise = np.clip(dual[:, 1:] - dual[:, :-1], 0.0, None)
        return RobustSolution(x[self.cells], duals, mix, mixed, rise)


@dataclass(frozen=True, eq=False)
class _Worst:
    """Where the rows for the worst of the laws stand."""

    cone: Cone
    extremes: list[Extreme]
    held: Places
    means: Places
    rows: Places
    top: int

    def read(self, y: Floats) -> tuple[Floats, Floats]:
        """The mixture of the laws, and the member of each."""
        duals = np.clip(y[self.rows], 0.0, None)[None, :]
        mix = duals[0, self.held]
        entries = self.cone.triplets()
        found = [
            extreme.weighed(self.cone, entries, self.means, duals[:, row], duals)[0]
            for extreme, row in zip(self.extremes, self.held.tolist(), strict=True)
        ]
        return mix, np.clip(np.array(found) / np.maximum(mix[:, None], 1e-300), 0.0, 1.0)


def interior(program: Program) -> tuple[Floats, Floats]:
    """Variables and duals near the optimum of a program.

    - `program`: one that has an optimum; `NotProvable` if the solver does not come near it.
    """
    import highspy

    solver = new_solver("ipx")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("ipm_optimality_tolerance", 1e-9)
    program.load(solver)
    solver.run()
    status, solution = solver.getModelStatus(), solver.getSolution()
    near = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnknown)
    if not near or not solution.dual_valid:
        raise NotProvable(f"the linear program was not solved: {solver.modelStatusToString(status)}")
    return np.array(solution.col_value), np.array(solution.row_dual)


# One solution of a robust program, and how it is read.


_NEAR = 1e-7
"""Distance from the optimum, relative to the largest cost, at which an answer is taken."""
_WIDE = 60
"""Rows over many points, for instance laws of a hull, up to which the narrow border of `layout` is narrow."""


@dataclass(frozen=True, eq=False)
class Tried:
    """The promises, the answer of a solver, and its expected loss in doubles."""

    promises: Promises
    answer: RobustSolution
    value: float

    @property
    def matrix(self) -> Floats:
        """The channel, (points, outputs)."""
        return self.answer.matrix

    @property
    def round(self) -> bool:
        """Whether some law is a set that planes only approach."""
        return any(round_ball(law) is not None for law in self.promises.problem.laws)

    def prices(self) -> Prices:
        """What the duals say."""
        duals = self.answer.duals
        return Prices(
            ratio=self.promises.ratios(duals),
            upper=self.promises.members(duals, 1),
            lower=self.promises.members(duals, -1),
            cap=self.promises.caps(duals),
            mix=self.answer.mix,
            mixed=self.answer.mixed,
            rise=self.answer.rise,
        )


def solved(problem: ChannelProblem, planes: Planes | None = None) -> Tried:
    """By the method that knows the shape of the program; where it does not come near, or has no place for what is
    asked, by a general solver.

    - `problem`: with sets that are polyhedral, or approached by `planes` besides.
    - `planes`: as in `Promises`.
    """
    promises = Promises(problem, planes)
    answer = None
    narrow = len(promises.cone.wide) <= _WIDE
    if narrow and problem.weight is not None and not problem.monotone and not planes:
        matrix, duals, error = Interior(promises).solve()
        answer = RobustSolution(matrix, duals) if error < _NEAR else None
    answer = WholeProgram(promises).solve() if answer is None else answer
    return Tried(promises, answer, expected(problem, answer.matrix))


def expected(problem: ChannelProblem, matrix: Floats) -> float:
    """The expected loss of a channel, in doubles; under the worst of the laws if the problem has no weight."""
    means = (matrix * problem.loss).sum(axis=1)
    if problem.weight is not None:
        return float(problem.weight @ means)
    return max(
        float(law.floats() @ means if isinstance(law, Masses) else law.tops(means[None, :])[0]) for law in problem.laws
    )
