"""The channel of least loss for a problem, by the solver that suits it, and its outputs; for pairs of point laws cell
by cell, begun with few cells and given those that pay."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.channels.problem import ChannelProblem, PointLaws, Prices, RoughChannel
from fugu.channels.program import (
    INFINITE,
    TOLERANCE,
    Floats,
    Ints,
    Program,
    Triplets,
    add_columns,
    limit_rows,
    new_solver,
    run,
    solve_robust,
    sparse,
)
from fugu.errors import NotProvable, UsageError
from fugu.laws.masses import Masses
from fugu.progress import on_time, report


def find(problem: ChannelProblem) -> RoughChannel:
    """A channel of least expected loss in doubles, with prices that bound the optimum from below.

    Nothing here is a guarantee: `exact.repaired` makes the channel exact, `exact.value` and `exact.lower` prove how
    far it is from the best.

    >>> from fractions import Fraction
    >>> from fugu.laws.masses import Masses
    >>> laws = tuple(Masses(np.array(counts), Fraction(100)) for counts in ([75, 25], [25, 75]))
    >>> wrong = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> found = find(ChannelProblem(laws, ((0, 1),), Fraction(1, 2), wrong, np.array([0.5, 0.5])))
    >>> found.matrix.round(3).tolist()
    [[0.745, 0.255], [0.255, 0.745]]
    """
    if problem.robust or problem.cap is not None:
        if problem.cap is None or problem.cap > problem.epsilon:
            return solve_robust(problem)
        free = solve_robust(replace(problem, pairs=()))  # what holds for any two beliefs holds for these
        none = free.prices and replace(free.prices, ratio=None, upper=None, lower=None)
        return replace(free, prices=none)
    laws = PointLaws.of(problem)
    beyond, found = laws.ratio > LARGEST_RATIO and not problem.monotone, list[RoughChannel]()
    with suppress(NotProvable) if beyond else nullcontext():
        found += [solve_sifted(laws)] if problem.monotone or laws.binding.any() else []
    if found and not beyond:
        return found[0]
    # Where no pair can bind every point goes to its best output, which is the best under every law; and where e^epsilon
    # is beyond the solver that is mended by next to nothing.
    matrix = np.zeros((problem.n, problem.m))
    matrix[np.arange(problem.n), np.argmin(problem.loss, axis=1)] = 1.0
    mix = None
    if problem.weight is None:
        mix = np.zeros(len(laws.law))
        mix[np.argmax(laws.law @ problem.loss.min(axis=1))] = 1.0
    free = laws.found(matrix, Prices(ratio=np.zeros((len(laws.problem.ordered()), problem.m)), mix=mix))
    return min([*found, free], key=laws.shortfall)


# Outputs for the squared error: the published values are free, so they are found together with the channel.
#
# With a = p - e^epsilon q and b = q - e^epsilon p a column k >= 0 of a channel for one pair of laws needs a.k <= 0 and
# b.k <= 0, so the extreme columns are single points that tell neither and rays: a telling point h, a_h > 0, and a
# partner x, a_x < 0, in the proportion 1 / a_h : 1 / |a_x|, or the same with b
# (docs/proofs/optimal-channels.md#1-few-atoms-behind-every-output). The best output of a ray is its conditional mean,
# where it costs A B / (A + B) (h - x)^2 for each unit, A = w_h / a_h, B = w_x / |a_x|. Outputs are added where a ray at
# its mean would pay, until none does: the channel is then the best over all real outputs. For several secrets the
# outputs are a grid of step s, which costs at most s^2 / 4 more, and the means of the columns that were found.


_OUTPUT_ROUNDS = 60
_PAYS = 1e-11
_GRID = 33


def squared_outputs(problem: ChannelProblem) -> Floats:
    """The values to publish for the least squared error, increasing; `problem.loss` and `problem.outputs` are ignored.

    The best over all real outputs for point laws where one pair can bind. With more pairs a grid, and the means of the
    columns of the best channel on it; with sets of laws, a cap or a monotone channel the grid alone.
    """
    points = problem.points
    if points is None:
        raise UsageError("the squared error needs points with values, not labels")
    grid = np.unique(np.concatenate([points, np.linspace(points[0], points[-1], _GRID)]))
    if problem.robust or problem.cap is not None or problem.monotone:
        return grid
    laws = PointLaws.of(problem)
    if not laws.binding.any():
        return points
    if laws.only_pair is not None:
        return np.union1d(_of_pair(problem, points, laws.only_pair), points[~laws.active])
    weight = laws.law.mean(axis=0) if problem.weight is None else problem.weight
    matrix = find(with_outputs(problem, grid)).matrix
    used = matrix.max(axis=0) > _USED
    mass = weight @ matrix[:, used]
    means = (weight * points) @ matrix[:, used] / np.maximum(mass, np.finfo(np.float64).tiny)
    return np.unique(np.concatenate([grid[used], means[mass > _USED]]))


def with_outputs(problem: ChannelProblem, outputs: Floats) -> ChannelProblem:
    """The problem with these outputs and the squared error."""
    assert problem.points is not None
    return replace(problem, loss=(problem.points[:, None] - outputs) ** 2, outputs=outputs)


def _of_pair(problem: ChannelProblem, points: Floats, c: int) -> Floats:
    outputs = points
    for _ in range(_OUTPUT_ROUNDS):
        laws = PointLaws.of(with_outputs(problem, outputs))
        try:
            channel = solve_sifted(laws)
        except NotProvable:
            if laws.ratio <= LARGEST_RATIO:
                raise
            return outputs  # e^epsilon is beyond the solver: `find` mends every point's best output
        assert channel.prices is not None
        used = outputs[channel.matrix[laws.active].max(axis=0) > _USED]
        new = _paying_means(laws, c, channel.prices)
        if not new.size:
            return np.asarray(used)
        outputs = np.unique(np.concatenate([points, used, new]))
    return outputs


def _paying_means(laws: PointLaws, c: int, prices: Prices) -> Floats:
    """The means of the rays that would pay at these prices, the best one of every telling point and of every partner;
    only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    problem, active = laws.problem, laws.active
    assert problem.points is not None
    weight, points = laws.weight(prices)[active], problem.points[active]
    u = laws.priced(prices).min(axis=1)[active]  # what a unit of each point costs
    least = -_PAYS * max(float(problem.loss.max()) * float(weight.mean()), np.finfo(np.float64).tiny)
    means = [np.zeros(0)]
    for rate in laws.excess[c : c + 2, active]:
        tell, hide = np.flatnonzero(rate > 0), np.flatnonzero(rate < 0)
        if not tell.size or not hide.size:
            continue
        up, down = rate[tell], -rate[hide]
        dear, spare = (weight[tell] / up)[:, None], weight[hide] / down
        both = np.maximum(dear + spare, np.finfo(np.float64).tiny)
        gain = dear * (spare / both) * (points[tell][:, None] - points[hide]) ** 2
        gain -= (u[tell] / up)[:, None] + u[hide] / down
        gain *= np.minimum(up[:, None], down)
        mean = (dear * points[tell][:, None] + spare * points[hide]) / both
        for best in ((np.arange(tell.size), gain.argmin(axis=1)), (gain.argmin(axis=0), np.arange(hide.size))):
            means.append(mean[best][gain[best] < least])
    return np.unique(np.concatenate(means))


# Several secrets on many points: a channel of least loss uses two or three cells of a row. The cells to begin with come
# from the same problem with neighbours merged by twos, whose prices also say about what every other cell costs.


SMALL = 64
"""Points whose cells are all taken at once."""
_COARSE_GAP = 1e-4
_FIRST, _MORE = 6, 4
"""Cells of each row and column to begin with, and those added in a round."""
_FINER = 2.0**12
"""By how much costs and cells are larger in the last rounds: the tolerances of the solver are absolute."""
_TIE = 1e-9
"""Of cells that pay alike those near the diagonal are taken: then rows differ in what they are given."""
_ROUNDS = 1000
_DUAL, _PRIMAL = 1, 4  # strategies of the solver
_USED = 1e-9


def solve_sifted(laws: PointLaws, gap: float = 0.0) -> RoughChannel:
    """The channel of least loss and its prices, or one about this close to it, relatively."""
    if laws.problem.n * laws.problem.m <= SMALL**2 or laws.problem.monotone:
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
        ends = (np.linspace(0.0, 1.0, size) for size in self.shape)
        self.apart = _TIE * rows.scale * np.abs(np.subtract.outer(*ends))
        self.turn, self.finer = 0, 1.0
        self.solver = new_solver()
        self.solver.setOptionValue("simplex_strategy", _DUAL)
        rows.load(self.solver, rows.cost)
        if problem.points is not None and problem.outputs is not None and np.all(np.diff(problem.outputs) > 0):
            start = self._from_coarse()
        else:
            mix = np.full(len(laws.law), 1 / len(laws.law)) if problem.weight is None else None
            start = [self._least(laws.priced(Prices(mix=mix)))]
        weight = laws.law.mean(axis=0) if problem.weight is None else problem.weight
        constant = int(np.argmin(weight @ problem.loss))  # one output for all points keeps every promise
        self._add(np.unique(np.concatenate([*start, np.arange(self.shape[0]) * self.shape[1] + constant])))

    def _from_coarse(self) -> list[Ints]:
        """Cells that are cheap at the prices of the merged problem, and those that its channel uses."""
        problem, m = self.laws.problem, self.laws.problem.m
        found = solve_sifted(_merged(self.laws), _COARSE_GAP)
        assert found.prices is not None
        assert found.prices.ratio is not None
        places = np.arange(m)  # the prices of every second output, laid out over all of them
        ratio = np.array([np.interp(places, places[::2], row) for row in found.prices.ratio])
        cheap = self._least(self.laws.priced(Prices(ratio=ratio, mix=found.prices.mix)))
        place = np.full(problem.n, -1)
        place[self.rows.kept] = np.arange(self.rows.kept.size)
        x, y = np.nonzero(found.matrix > _USED)
        used = []
        for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
            inside = (2 * x + i < problem.n) & (2 * y + j < m)
            row = place[2 * x[inside] + i]
            used.append((row * m + 2 * y[inside] + j)[row >= 0])
        return [cheap, *used]

    def _least(self, priced: Floats) -> Ints:
        """The cells of least cost of every row, with the rows levelled to 0, and of every column."""
        cost = priced[self.rows.kept]
        return self._chosen(cost - cost.min(axis=1, keepdims=True), _FIRST)

    def _chosen(self, cost: Floats, count: int) -> Ints:
        n, m = self.shape
        cost = cost + self.apart
        of_row = np.argpartition(cost, min(count, m) - 1, axis=1)[:, :count]
        of_column = np.argpartition(cost, min(count, n) - 1, axis=0)[:count]
        return np.unique(np.append(np.arange(n)[:, None] * m + of_row, of_column * m + np.arange(m)))

    def _add(self, cells: Ints) -> None:
        x, y = np.divmod(cells, self.shape[1])
        add_columns(self.solver, self.rows.cell_cost(x, y) * self.finer, sparse(self.rows.cells(x, y, 0), cells.size))
        self.cells = np.concatenate([self.cells, cells])

    def rounds(self, gap: float) -> None:
        """Solve and add the cells that pay, until none does; `x` and `prices` are then those of the last program."""
        rows, laws = self.rows, self.laws
        while self.turn < _ROUNDS:
            on_time()
            report(f"cells of {self.shape[0]:,} points", self.turn, max(self.turn + 1, 20))
            self.turn += 1
            x, y, least = run(self.solver)
            self.solver.setOptionValue("simplex_strategy", _PRIMAL)
            self.x, dual = x / self.finer, y / self.finer
            self.prices, value = rows.prices(dual), least * rows.scale / self.finer**2
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


# Every cell K(y|x) is a variable: one linear program for any problem with point laws, for up to a few hundred points.
#
# min sum_x w_x sum_y K(y|x) loss(x, y),   sum_y K(y|x) = 1,   sum_x (p_s(x) - e^epsilon p_t(x)) K(y|x) <= 0.


def solve_grid(laws: PointLaws, method: str = "simplex") -> RoughChannel:
    """The channel of least loss and its prices, by one linear program over all cells."""
    rows = GridRows(laws)
    x, y = (part.ravel() for part in np.indices((rows.kept.size, laws.problem.m)))
    cost = np.concatenate([rows.cost, rows.cell_cost(x, y)])
    rows.entries += rows.cells(x, y, rows.columns)
    first = rows.variables(np.zeros(x.size))[0]
    found = []
    for cells, dual, _ in rows.answers(cost, method):
        matrix = np.zeros((laws.problem.n, laws.problem.m))
        matrix[rows.kept] = cells[first:].reshape(rows.kept.size, -1)
        found.append(laws.found(matrix, rows.prices(dual)))
    return min(found, key=laws.shortfall)


# The rows of the linear program over cells K(y|x), and what their dual says.
#
# Where every two of S laws are a pair, one variable t_y says the same in 2 S rows: t_y <= p_s.k_y <= e^epsilon t_y
# (exact for point laws only); other pairs have a row for each order. With delta: a_c.k_y <= z_{c,y} and
# sum_y z_{c,y} <= delta. Under the worst law: one row for each law. Monotone: D(x, j) = F(j|x) - F(j|x + 1) >= 0, F the
# cumulated rows of the channel.


LARGEST_RATIO = 1e8
"""e^epsilon in a row of the program: a cell that hides another one e^epsilon times as heavy must stand out from the
tolerance of the solver. A smaller ratio promises more, and costs about 1e-8 of the largest loss."""
_TINY = 1e-300


class GridRows(Program):
    """Rows, and all columns but the cells. `cells` gives the columns of cells, in units of `scale`."""

    def __init__(self, laws: PointLaws) -> None:
        super().__init__()
        self.laws, problem = laws, laws.problem
        self.kept = np.arange(problem.n) if problem.monotone else np.flatnonzero(laws.active)
        self.law, self.m = laws.law[:, self.kept], problem.m
        self.loss = problem.loss[self.kept]
        self.ratio = min(laws.ratio, LARGEST_RATIO)
        self.weight = None if problem.weight is None else problem.weight[self.kept]
        cells = self.loss if self.weight is None else self.weight * self.loss.max(axis=1)
        self.scale = max(float(cells.max()), _TINY)
        self.sums = self.rows(self.kept.size, 1.0, 1.0)
        whole = problem.delta == 0
        complete = [group for group in problem.groups if len(group) > 2 and whole and problem.complete(group)]
        self.spans: list[tuple[list[int], Ints, Ints]] = []
        for group in complete:
            least = self.variables(np.zeros(self.m))
            below = np.array([self.rows(self.m, 0.0, INFINITE) for _ in group])
            above = np.array([self.rows(self.m, -INFINITE, 0.0) for _ in group])
            self.enter(below, least, -1.0)
            self.enter(above, least, -self.ratio)
            self.spans.append((group, below, above))
        inside = {s for group in complete for s in group}
        outside = [c for c, (s, _) in enumerate(laws.problem.ordered()) if s not in inside and laws.binding[c]]
        self.pairs = {c: self.rows(self.m, -INFINITE, 0.0) for c in outside}
        for row in () if whole else self.pairs.values():
            over = self.variables(np.zeros(self.m))
            self.enter(row, over, -1.0)
            self.enter(self.rows(1, -INFINITE, float(problem.delta)), over, 1.0)
        self.worst = self.rising = None
        if self.weight is None:
            largest = self.variables(np.array([-INFINITE]))  # so the weights of the laws sum to 1 even at a loss of 0
            self.worst = self.rows(len(self.law), -INFINITE, 0.0)
            self.enter(self.worst, largest, -1.0)
        if problem.monotone:
            n, m = self.kept.size, self.m
            fall = self.variables(np.zeros((n - 1) * (m - 1))).reshape(n - 1, m - 1)
            self.rising = self.rows((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
            self.enter(self.rising[:, :-1], fall, 1.0)
            self.enter(self.rising[:, 1:], fall, -1.0)
        self.cost = np.zeros(self.columns)
        if self.worst is not None:
            self.cost[largest] = 1.0

    def cells(self, x: Ints, y: Ints, first: int) -> list[Triplets]:
        """The entries of the cells (x, y), as columns from `first` on; x counts the points that are kept."""
        column = first + np.arange(x.size)
        found: list[Triplets] = [(self.sums[x], column, np.array(1.0))]
        for group, below, above in self.spans:
            for i, s in enumerate(group):
                found += [(below[i][y], column, self.law[s][x]), (above[i][y], column, self.law[s][x])]
        ordered = self.laws.problem.ordered()
        for c, row in self.pairs.items():
            s, t = ordered[c]
            found.append((row[y], column, (self.law[s] - self.ratio * self.law[t])[x]))
        if self.worst is not None:
            for s, row in enumerate(self.worst):
                found.append((np.array(row), column, self.law[s][x] * self.loss[x, y] / self.scale))
        if self.rising is not None:
            before, after = x < self.kept.size - 1, x > 0
            found.append((self.rising[x[before], y[before]], column[before], np.array(-1.0)))
            found.append((self.rising[x[after] - 1, y[after]], column[after], np.array(1.0)))
        return found

    def cell_cost(self, x: Ints, y: Ints) -> Floats:
        """The cost of the cells (x, y)."""
        return np.zeros(x.size) if self.weight is None else self.weight[x] * self.loss[x, y] / self.scale

    def prices(self, dual: Floats) -> Prices:
        """What the dual of the rows says about the promises, per ordered pair."""
        y, ordered = self.scale * dual, self.laws.problem.ordered()
        ratio = np.zeros((len(ordered), self.m))
        for c, row in self.pairs.items():
            ratio[c] = np.clip(-y[row], 0.0, None)
        place = {pair: c for c, pair in enumerate(ordered)}
        for group, below, above in self.spans:
            alpha = pairwise(np.clip(-y[above], 0.0, None), np.clip(y[below], 0.0, None), self.laws.ratio)
            for i, j in zip(*np.nonzero(~np.eye(len(group), dtype=np.bool_)), strict=True):
                ratio[place[group[i], group[j]]] = alpha[i, j]
        mix = None if self.worst is None else np.clip(-dual[self.worst], 0.0, None)
        rise = None
        if self.rising is not None:
            rise = np.clip(np.diff(y[self.rising], axis=1), 0.0, None)
        return Prices(ratio=ratio, mix=None if mix is None else mix / mix.sum(), rise=rise)


def pairwise(mu: Floats, nu: Floats, ratio: float) -> Floats:
    """Prices alpha[s, t] >= 0 of the ordered pairs from those of p_s.k <= e^epsilon t (mu) and t <= p_s.k (nu), for
    each output: sum_t alpha[s, t] = mu_s and e^epsilon sum_s alpha[s, t] <= nu_t, filled from the north-west corner.

    What a law pays on both sides cancels first, so that no law is paired with itself.
    """
    both = np.minimum(mu, nu)
    give, take = mu - both, (nu - both) / ratio
    alpha = np.zeros((len(mu), *mu.shape))
    for s in range(len(mu)):
        for t in range(len(mu)):
            alpha[s, t] = np.minimum(give[s], take[t])
            give[s] -= alpha[s, t]
            take[t] -= alpha[s, t]
    return alpha
