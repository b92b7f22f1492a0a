"""Channels of least loss for sets of laws, and for any laws with a cap on what any belief can learn.

    min sum_y cost_y.k_y   subject to   sum_y k_y = 1,   G z_y >= 0 for every output y,   z_y = (k_y, ...)

With delta there is a slack for each pair and output, whose sum over the outputs is at most delta: it bounds the sum
over y of [max p.k_y - e^epsilon min q.k_y]_+, which is at least the delta of every pair of members. So it is sound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from fugu.channels.bounds import lower
from fugu.channels.cone import Cone, LinearForm, Vector
from fugu.channels.interior import Interior
from fugu.channels.problem import ChannelProblem, Prices, RoughChannel, largest_mean
from fugu.channels.program import INFINITE, Floats, Ints, Program, new_solver, pull
from fugu.channels.sets import Extreme, Planes, Promises, extreme, provable, round_ball
from fugu.errors import NotProvable, OutOfReach
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Hull

_CELLS = 160_000
"""Points times outputs, a minute or two."""
_HOPE = 0.25
"""What finer planes around a Kullback-Leibler ball may be expected to gain."""
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
    tries = [solved(replace(problem, laws=laws)) for laws in provable(problem.laws)]
    least = min(each.value for each in tries)
    tries = [finer(each) if each.round and each.value * (1 - _HOPE) < least else each for each in tries]
    best = min(tries, key=lambda each: each.value)
    prices = best.prices()
    if best.round:
        prices = max(prices, from_within(best), key=lambda known: lower(problem, known))
    matrix = cleaned(best.matrix)
    return RoughChannel(matrix, prices, _gap(problem, matrix, prices))


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
        matrix[:] = cleaned(solved(same).matrix.mean(axis=0)[None, :])
    else:
        matrix[:, np.argmin(problem.weight @ problem.loss)] = 1.0
    if problem.cap != 0 or problem.weight is None:
        return RoughChannel(matrix, None, np.inf)
    cost = problem.weight[:, None] * problem.loss
    prices = Prices(cap=cost.mean(axis=0) - cost)
    return RoughChannel(matrix, prices, _gap(problem, matrix, prices))


def _gap(problem: ChannelProblem, matrix: Floats, prices: Prices) -> float:
    """The loss of the channel less the bound of the prices, in doubles."""
    laws = [law.floats() if isinstance(law, Masses) else None for law in problem.laws]
    weight = problem.weight
    if weight is None and prices.mix is not None and prices.mixed is not None:
        members = [mixed if law is None else law for law, mixed in zip(laws, prices.mixed, strict=True)]
        weight = (prices.mix / prices.mix.sum()) @ np.array(members)
    if weight is None:
        return np.inf
    terms = weight[:, None] * problem.loss
    spent, ratio = 0.0, float(np.exp(min(float(problem.epsilon), 600.0)))
    if prices.ratio is not None and prices.upper is not None and prices.lower is not None:
        spent = float(problem.delta) * float(prices.ratio.max(axis=1).sum())
        for alpha, (s, t) in zip(prices.ratio, problem.ordered(), strict=True):
            p, q = prices.upper[s].T, prices.lower[t].T
            terms = terms + alpha * (p - ratio * q)
    if prices.cap is not None:
        terms = terms + prices.cap
    if prices.rise is not None:
        terms = terms + pull(prices.rise)
    return expected(problem, matrix) - (float(terms.min(axis=1).sum()) - spent)


# The promises once for each output, what links the outputs, and the loss, as one linear program for HiGHS.


class WholeProgram(Program):
    """min cost with sum_y k_y = 1 and G z_y >= 0; delta, the worst of the laws and order where they are asked for.

    Interior points without crossover: the answer is a proposal, made exact by `repair`, so a vertex is not needed."""

    def __init__(self, promises: Promises) -> None:
        super().__init__()
        self.promises, self.problem = promises, promises.problem
        cone, n, m = promises.cone, self.problem.n, self.problem.m
        self.cells = np.arange(m) * cone.size + promises.k[:, None]
        self._copies(cone, m, [promises.planes[s][:m] for s in promises.plane_laws])
        self.enter(self.rows(n, 1.0, 1.0)[:, None], self.cells, 1.0)
        if (slack := promises.slack) is not None:  # sum_y of the slack of each ordered pair <= delta
            there = np.arange(m) * cone.size + slack[:, None]
            self.enter(self.rows(slack.size, -INFINITE, float(self.problem.delta))[:, None], there, 1.0)
        self.worst = self._worst() if self.problem.weight is None else None
        self.rising: Ints | None = None
        if self.problem.monotone:  # F(j|x) - F(j|x + 1) = d(x, j) >= 0, as differences of neighbouring j
            fall = self.variables(np.zeros((n - 1) * (m - 1))).reshape(n - 1, m - 1)
            self.rising = row = self.rows((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
            self.enter(row, self.cells[:-1], -1.0)
            self.enter(row, self.cells[1:], 1.0)
            self.enter(row[:, :-1], fall, 1.0)
            self.enter(row[:, 1:], fall, -1.0)

    def _copies(self, cone: Cone, count: int, planes: list[Floats]) -> tuple[Ints, Ints]:
        """The rows G z >= 0 of a cone, `count` times, with the planes of each copy; the places of rows and columns."""
        rows = self.rows(count * cone.count, 0.0, INFINITE)
        floor = np.full(cone.size, -np.inf)
        for places in cone.positive:
            floor[places] = 0.0
        columns = self.variables(np.tile(floor, count))
        copy = np.arange(count)[:, None]
        r, c, v = cone.triplets()
        self.enter(rows[0] + r + copy * cone.count, columns[0] + c + copy * cone.size, v)
        copy = copy[:, :, None]
        for (there, parts), values in zip(cone.planes, planes, strict=True):
            row, column = there + copy * cone.count, parts[:, None] + copy * cone.size
            self.enter(rows[0] + row, columns[0] + column, -values)
        return rows, columns

    def _worst(self) -> int:
        """T >= max p.l for every law, l_x = sum_y loss(x, y) K(y|x), losses scaled to 1; the place of T."""
        n, cone = self.problem.n, Cone()
        means = cone.new(np.arange(n))
        top = cone.new(1)
        extremes: list[Extreme] = []
        held = []
        for law in self.problem.laws:
            known = self.promises.planes.get(len(extremes))
            count = 0 if known is None else known.shape[1]
            extremes.append(extreme(cone, law, Vector(((1.0, means),)), count))
            held.append(cone.require(LinearForm.of(top, 1.0) - extremes[-1].form))
        planes = [self.promises.planes[s][self.problem.m :] for s in sorted(self.promises.planes)]
        rows, columns = self._copies(cone, 1, planes)
        link = self.rows(n, 0.0, 0.0)
        self.enter(link[:, None], self.cells, self.problem.loss / max(float(self.problem.loss.max()), 1e-300))
        self.enter(link, columns[means], -1.0)
        self.read = cone, extremes, held, means, rows
        return int(columns[top[0]])

    def _members(self, y: Floats) -> tuple[Floats, Floats]:
        """The mixture of the laws that the duals of the worst of them say, and the member of each."""
        cone, extremes, held, means, rows = self.read
        duals = np.clip(y[rows], 0.0, None)[None, :]
        mix, entries = duals[0, held], cone.triplets()
        found = [
            end.weighed(cone, entries, means, duals[:, row], duals)[0] for end, row in zip(extremes, held, strict=True)
        ]
        return mix, np.clip(np.array(found) / np.maximum(mix[:, None], 1e-300), 0.0, 1.0)

    def solve(self) -> RobustSolution:
        """A solution by interior points, and its duals in units of the loss."""
        problem, cost = self.problem, np.zeros(self.columns)
        cells = problem.loss if problem.weight is None else problem.weight[:, None] * problem.loss
        scale = max(float(cells.max()), 1e-300)
        if self.worst is not None:
            cost[self.worst] = 1.0
        else:
            cost[self.cells] = cells / scale
        x, y = interior(self, cost)
        cone = self.promises.cone
        duals = np.clip(scale * y[: problem.m * cone.count].reshape(problem.m, cone.count), 0.0, None)
        mix, mixed = (None, None) if self.worst is None else self._members(y)
        rise = None if self.rising is None else np.clip(np.diff(scale * y[self.rising], axis=1), 0.0, None)
        return RobustSolution(self.promises, x[self.cells], duals, mix, mixed, rise)


def interior(program: Program, cost: Floats) -> tuple[Floats, Floats]:
    """Variables and duals near the optimum of a program; `NotProvable` if the solver does not come near one."""
    import highspy

    solver = new_solver("ipx")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("ipm_optimality_tolerance", 1e-9)
    program.load(solver, cost)
    solver.run()
    status, solution = solver.getModelStatus(), solver.getSolution()
    near = status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kUnknown)
    if not near or not solution.dual_valid:
        raise NotProvable(f"the linear program was not solved: {solver.modelStatusToString(status)}")
    return np.array(solution.col_value), np.array(solution.row_dual)


# One solution of a robust program, and how it is read.


_CLOSE = 1e-7
"""Distance from the optimum, relative to the largest cost, at which an answer is taken."""
_WIDE = 60
"""Rows over many points, for instance laws of a hull, up to which the narrow border of `layout` is narrow."""


@dataclass(frozen=True, eq=False)
class RobustSolution:
    """The promises, a channel (points, outputs), the duals of the cone's rows (outputs, rows), and of the links."""

    promises: Promises
    matrix: Floats
    duals: Floats
    mix: Floats | None = None
    mixed: Floats | None = None
    rise: Floats | None = None

    @cached_property
    def value(self) -> float:
        """The expected loss in doubles."""
        return expected(self.promises.problem, self.matrix)

    @property
    def round(self) -> bool:
        """Whether some law is a set that planes only approach."""
        return any(round_ball(law) is not None for law in self.promises.problem.laws)

    @property
    def vectors(self) -> Floats:
        """The columns of the channel, and the mean losses."""
        means = (self.matrix * self.promises.problem.loss).sum(axis=1)
        return np.concatenate([self.matrix.T, means[None, :]])

    def prices(self) -> Prices:
        """What the duals say."""
        return Prices(
            ratio=self.promises.ratios(self.duals),
            upper=self.promises.members(self.duals, 1),
            lower=self.promises.members(self.duals, -1),
            cap=self.promises.caps(self.duals),
            mix=self.mix,
            mixed=self.mixed,
            rise=self.rise,
        )


def solved(problem: ChannelProblem, planes: Planes | None = None) -> RobustSolution:
    """By the method that knows the shape of the program; where it does not come near, or has no place for what is
    asked, by a general solver. Sets are polyhedral, or approached by `planes` besides, as in `Promises`."""
    promises = Promises(problem, planes)
    narrow = len(promises.cone.wide) <= _WIDE
    if narrow and problem.weight is not None and not problem.monotone and not planes:
        matrix, duals, error = Interior(promises).solve()
        if error < _CLOSE:
            return RobustSolution(promises, matrix, duals)
    return WholeProgram(promises).solve()


def expected(problem: ChannelProblem, matrix: Floats) -> float:
    """The expected loss of a channel, in doubles; under the worst of the laws if the problem has no weight."""
    means = (matrix * problem.loss).sum(axis=1)
    if problem.weight is not None:
        return float(problem.weight @ means)
    return max(largest_mean(law, means) for law in problem.laws)


# Planes around Kullback-Leibler balls, where a solution needs them.
#
# f(p) = -sum c ln p is convex, so at a law z on the edge of the ball KL(c, p) <= r every p of the ball has
# f(z) + f'(z).(p - z) <= f(p) <= f(z), that is sum_x (c_x / z_x) p_x >= 1. The member that a program uses and that lies
# outside the ball is cut off by the plane at z on its way from the centre, and planes touch the ball where the channel
# does; the program over the smaller set is solved again (Kelley 1960). From within, the hull of members at which the
# channel touches gives a bound from below.


_ROUNDS, _GAIN = 8, 1e-4
"""How often planes are added, and the gain at which that ends."""
_WITHIN = 3
"""How often members are added to the hull."""
_STEPS = 50
_NEAR = 1e-6
"""How far from the edge, relative to the radius, a law may be to get a plane."""
_SAFE = 1e-10
"""Planes are moved outward by this much: the doubles behind them are good to 1e-13."""


def finer(solution: RobustSolution) -> RobustSolution:
    """The channel for balls with planes around them, round after round while it gains: where the channel touches a
    ball, and where its duals use a law outside; four for each output."""
    planes: Planes = {}
    for _ in range(_ROUNDS):
        problem, vectors = solution.promises.problem, solution.vectors
        members = [solution.promises.members(solution.duals, side) for side in (1, -1)]
        for s, law in enumerate(problem.laws):
            if (ball := round_ball(law)) is not None:
                last = np.zeros((1, problem.n)) if solution.mixed is None else solution.mixed[s : s + 1]
                ends = [cuts(ball, np.concatenate([side[s], last])) for side in members]
                touching = [_planes(ball, np.array([ball.extreme(v) for v in way])) for way in (vectors, -vectors)]
                four = np.stack([*touching, *ends], axis=1)
                planes[s] = np.concatenate([planes[s], four], axis=1) if s in planes else four
        more = solved(problem, planes)
        if more.value > (1 - _GAIN) * solution.value:
            return more if more.value < solution.value else solution
        solution = more
    return solution


def from_within(solution: RobustSolution) -> Prices:
    """Prices for the hulls of members at which the channel touches the balls: what no channel for them goes below, none
    for the balls does."""
    problem = solution.promises.problem
    members: dict[int, Floats] = {}
    for _ in range(_WITHIN):
        vectors, laws = solution.vectors, list(problem.laws)
        for s, law in enumerate(problem.laws):
            ball = round_ball(law)
            if ball is not None:
                ends = np.array([ball.extreme(sign * v) for v in vectors for sign in (1.0, -1.0)])
                members[s] = np.concatenate([members[s], ends]) if s in members else ends
                members[s] = np.unique(members[s].round(9), axis=0)
                laws[s] = Hull([Discrete(ball.values, law / law.sum()) for law in members[s]], ball.values)
        solution = solved(replace(problem, laws=tuple(laws)))
    return solution.prices()


def cuts(ball: Ball, members: Floats) -> Floats:
    """For each law a plane h.p >= 1 around the ball KL(centre, p) <= radius that cuts it off if it lies outside; one in
    each row, and a row of zeros gets a plane that says nothing."""
    centre, sums = ball.weights, members.sum(axis=1, keepdims=True)
    laws = np.where(sums > 0.5, members / np.maximum(sums, 0.5), centre)
    inside, outside = np.zeros(len(laws)), np.ones(len(laws))
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        within = _divergence(centre, centre + middle[:, None] * (laws - centre)) <= ball.radius
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    return _planes(ball, centre + inside[:, None] * (laws - centre))


def _planes(ball: Ball, edge: Floats) -> Floats:
    """The planes at laws of the edge; sum p >= 1, which says nothing, where a law is not on it or has no plane."""
    centre, seen = ball.weights, ball.weights > 0
    far = _divergence(centre, edge)
    fit = (edge[:, seen] > 0).all(axis=1) & (np.abs(far - ball.radius) <= _NEAR * ball.radius)
    rows = np.ones_like(edge)
    rows[fit] = 0.0
    rows[np.ix_(fit, seen)] = centre[seen] / edge[np.ix_(fit, seen)]
    rows[fit] *= 1 + 2 * np.maximum(far[fit] - ball.radius, 0.0)[:, None] + _SAFE
    return rows


def _divergence(centre: Floats, laws: Floats) -> Floats:
    seen = centre > 0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        parts = centre[seen] * (np.log(centre[seen]) - np.log(laws[:, seen]))
    total: Floats = np.where(np.isnan(parts), np.inf, parts).sum(axis=1)
    return total
