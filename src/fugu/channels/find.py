"""The channel of least loss for a problem, by the solver that suits it; its outputs, and a cap on any belief."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.channels.bounds import lower, value
from fugu.channels.cells import solve_sifted
from fugu.channels.problem import ChannelProblem, Prices, RoughChannel, power_below
from fugu.channels.program import INFINITE, Floats, PointLaws, Program
from fugu.channels.repair import repaired
from fugu.errors import NotProvable, UsageError
from fugu.laws.masses import Masses


def find(problem: ChannelProblem) -> RoughChannel:
    """A channel of least expected loss in doubles, with prices that bound the optimum from below.

    Nothing here is a guarantee: `repair.repaired` makes the channel exact, `bounds.value` and `bounds.lower` prove how
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
        from fugu.channels.robust import solve_robust  # scipy is imported with it

        if problem.cap is None:
            return solve_robust(problem)
        if problem.cap > problem.epsilon:
            return solve_capped(problem) or solve_robust(problem)
        free = solve_robust(replace(problem, pairs=()))  # what holds for any two beliefs holds for these
        return (
            free
            if free.prices is None
            else replace(free, prices=replace(free.prices, ratio=None, upper=None, lower=None))
        )
    laws = PointLaws.of(problem)
    if problem.monotone or laws.binding.any():
        return solve_sifted(laws)
    # no pair can bind: every point goes to its best output, which is the best under every law
    matrix = np.zeros((problem.n, problem.m))
    matrix[np.arange(problem.n), np.argmin(problem.loss, axis=1)] = 1.0
    mix = None
    if problem.weight is None:
        mix = np.zeros(len(laws.law))
        mix[np.argmax(laws.law @ problem.loss.min(axis=1))] = 1.0
    return laws.found(matrix, Prices(ratio=np.zeros((len(laws.problem.ordered()), problem.m)), mix=mix))


# Outputs for the squared error: the published values are free, so they are found together with the channel.
#
# With a = p - e^epsilon q and b = q - e^epsilon p a column k >= 0 of a channel for one pair of laws needs a.k <= 0 and
# b.k <= 0, so the extreme columns are single points that tell neither and rays: a telling point h, a_h > 0, and a
# partner x, a_x < 0, in the proportion 1 / a_h : 1 / |a_x|, or the same with b
# (docs/proofs/optimal-channels.md#1-few-atoms-behind-every-output). The best output of a ray is its conditional mean,
# where it costs A B / (A + B) (h - x)^2 for each unit, A = w_h / a_h, B = w_x / |a_x|. Outputs are added where a ray at
# its mean would pay, until none does: the channel is then the best over all real outputs. For several secrets the
# outputs are a grid of step s, which costs at most s^2 / 4 more, and the means of the columns that were found.


_ROUNDS = 60
_PAYS = 1e-11
_GRID = 33
_USED = 1e-9


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
    for _ in range(_ROUNDS):
        laws = PointLaws.of(with_outputs(problem, outputs))
        channel = solve_sifted(laws)
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


# Channels for single laws with a cap on what any belief can learn, as one linear program with rows of size 1.
#
# Laws that hardly differ leave rows p - e^epsilon q far below the tolerance of any solver, beside a delta that is as
# small: a violation of 1e-10 is then all of the budget, and its repair costs most of the channel. So each pair's rows
# are divided by the largest of their entries, which are worked out in rationals first, and so is its share of delta.


_CELLS = 2500
"""Points times outputs: beyond, the method of `robust` is faster, and takes sets of laws."""
_POWER = 30.0


def solve_capped(problem: ChannelProblem) -> RoughChannel | None:
    """The best channel of the program in doubles, with its prices; None where there is no such program, or no answer.
    The problem has a cap above 0 and single laws, without an order."""
    single = all(isinstance(law, Masses) for law in problem.laws)
    if not single or problem.monotone or problem.cap == 0 or problem.n * problem.m > _CELLS:
        return None
    rows = CappedRows(problem)
    try:
        answers = rows.answers(rows.cost)
    except NotProvable:
        return None
    made = []
    for x, y, _ in answers:
        chances = np.clip(x[rows.k], 0.0, None)
        made.append((chances / chances.sum(axis=1, keepdims=True), rows.prices(y)))
    losses = [value(problem, repaired(problem, matrix)[0]) for matrix, _ in made]
    matrix, prices = made[int(np.argmin([float(loss) for loss in losses]))][0], [prices for _, prices in made]
    least = max(prices, key=lambda known: lower(problem, known))
    return RoughChannel(matrix, least, float(min(losses) - lower(problem, least)))


class CappedRows(Program):
    """min cost.k with every promise a row. Variables: the channel k (n, m), the largest of each column, the slack of
    each pair and output, and, for the worst of the laws, the loss that none exceeds."""

    def __init__(self, problem: ChannelProblem) -> None:
        super().__init__()
        self.problem, n, m = problem, problem.n, problem.m
        laws = [[Fraction(int(x)) / law.total for x in law.parts] for law in problem.laws if isinstance(law, Masses)]
        ratio = power_below(problem.epsilon) if problem.epsilon <= _POWER else Fraction(float(np.exp(_POWER)))
        self.held: list[tuple[int, Floats, float]] = []
        """Of each ordered pair that can bind: its place, (p - e^epsilon q) / size, and the size."""
        for c, (s, t) in enumerate(problem.ordered()):
            over = [p - ratio * q for p, q in zip(laws[s], laws[t], strict=True)]
            size = max(map(abs, over))
            if sum((x for x in over if x > 0), Fraction(0)) > problem.delta:
                self.held.append((c, np.array([float(x / size) for x in over]), float(size)))
        self.k = self.variables(np.zeros(n * m)).reshape(n, m)
        top = self.variables(np.zeros(m))
        slack = self.variables(np.zeros(len(self.held) * m)).reshape(len(self.held), m)
        self.enter(self.rows(n, 1.0, 1.0)[:, None], self.k, 1.0)
        self.under, self.over = (self.rows(n * m, 0.0, INFINITE).reshape(n, m) for _ in range(2))
        self.enter(self.under, self.k, -1.0)  # k <= top
        self.enter(self.under, top, 1.0)
        self.enter(self.over, self.k, 1.0)  # e^-cap top <= k
        self.enter(self.over, top, -float(np.exp(-min(float(problem.cap or 0), _POWER))))
        self.pairs = self.rows(len(self.held) * m, 0.0, INFINITE).reshape(len(self.held), m)
        for i, (_, told, large) in enumerate(self.held):
            self.enter(self.pairs[i], self.k, -told[:, None])
            if problem.delta:
                self.enter(self.pairs[i], slack[i], 1.0)
                self.enter(self.rows(1, -INFINITE, float(problem.delta) / large), slack[i], 1.0)
        cells = problem.loss if problem.weight is None else problem.weight[:, None] * problem.loss
        self.scale = max(float(cells.max()), 1e-300)
        self.cost = np.zeros(self.columns + (problem.weight is None))
        if problem.weight is not None:
            self.cost[self.k] = cells / self.scale
        else:
            worst = self.variables(np.zeros(1))
            self.cost[worst] = 1.0
            self.means = self.rows(len(laws), 0.0, INFINITE)
            for row, law in zip(self.means, laws, strict=True):
                chances = np.array([float(x) for x in law])
                self.enter(row, self.k, -chances[:, None] * problem.loss / self.scale)
            self.enter(self.means, worst, 1.0)

    def prices(self, dual: Floats) -> Prices:
        """The duals in units of the loss."""
        problem = self.problem
        ratio = np.zeros((2 * len(problem.pairs), problem.m))
        for i, (c, _, size) in enumerate(self.held):
            ratio[c] = np.clip(dual[self.pairs[i]], 0.0, None) * self.scale / size
        cap = (dual[self.under] - dual[self.over]) * self.scale
        mix = np.clip(dual[self.means], 0.0, None) if problem.weight is None else None
        return Prices(ratio=ratio, cap=cap, mix=mix)
