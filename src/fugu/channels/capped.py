"""Channels for single laws with a cap on what any belief can learn, as one linear program with rows of size 1.

Laws that hardly differ leave rows p - e^epsilon q far below the tolerance of any solver, beside a delta that is as
small: a violation of 1e-10 is then all of the budget, and its repair costs most of the channel. So each pair's rows are
divided by the largest of their entries, which are worked out in rationals first, and so is its share of delta."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.channels.bounds import lower, value
from fugu.channels.powers import power_below
from fugu.channels.problem import ChannelProblem, Found, Prices
from fugu.channels.program import INFINITE, Answer, Matrix, Program, Triplets
from fugu.channels.repair import repaired
from fugu.errors import NotProvable
from fugu.laws.masses import Masses

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
_CELLS = 2500
"""Points times outputs: beyond, the method of `robust` is faster, and takes sets of laws."""
_POWER = 30.0


def solve_capped(problem: ChannelProblem) -> Found | None:
    """The best channel of the program in doubles, with its prices; None where there is no such program, or no answer.

    - `problem`: with a cap above 0 and single laws, without an order."""
    single = all(isinstance(law, Masses) for law in problem.laws)
    if not single or problem.monotone or problem.cap == 0 or problem.n * problem.m > _CELLS:
        return None
    rows = _Rows(problem)
    try:
        answers = rows.program().answers()
    except NotProvable:
        return None
    made = [(rows.channel(answer), rows.prices(answer)) for answer in answers]
    losses = [value(problem, repaired(problem, matrix)[0]) for matrix, _ in made]
    matrix, prices = made[int(np.argmin([float(loss) for loss in losses]))][0], [prices for _, prices in made]
    least = max(prices, key=lambda known: lower(problem, known))
    return Found(matrix, least, float(min(losses) - lower(problem, least)))


class _Rows:
    """Variables: the channel k (n, m), the largest of each column, the slack of each pair and output, and, for the
    worst of the laws, the loss that none exceeds."""

    def __init__(self, problem: ChannelProblem) -> None:
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
        self.laws = np.array([[float(x) for x in law] for law in laws]).reshape(len(laws), n)
        self.k = np.arange(n * m).reshape(n, m)
        self.top = n * m + np.arange(m)
        self.slack = n * m + m + np.arange(len(self.held) * m).reshape(len(self.held), m)
        self.worst = n * m + m + self.slack.size
        self.columns = self.worst + (problem.weight is None)

    def program(self) -> Program:
        """min cost.k with every promise a row."""
        problem, n, m = self.problem, self.problem.n, self.problem.m
        entries: list[Triplets] = []
        low: list[Floats] = []
        high: list[Floats] = []

        def rows(count: int, least: float, most: float) -> Places:
            start = sum(part.size for part in low)
            low.append(np.full(count, least))
            high.append(np.full(count, most))
            return np.arange(start, start + count)

        def enter(at: Places, columns: Places, values: Floats | float) -> None:
            parts = np.broadcast_arrays(at, columns, np.asarray(values, dtype=np.float64))
            entries.append((parts[0].ravel(), parts[1].ravel(), parts[2].ravel()))

        self.sums = rows(n, 1.0, 1.0)
        enter(self.sums[:, None], self.k, 1.0)
        fall = float(np.exp(-min(float(problem.cap or 0), _POWER)))
        self.under = rows(n * m, 0.0, INFINITE).reshape(n, m)  # k <= top
        enter(self.under, self.k, -1.0)
        enter(self.under, np.broadcast_to(self.top, (n, m)), 1.0)
        self.over = rows(n * m, 0.0, INFINITE).reshape(n, m)  # e^-cap top <= k
        enter(self.over, self.k, 1.0)
        enter(self.over, np.broadcast_to(self.top, (n, m)), -fall)
        self.pairs = rows(len(self.held) * m, 0.0, INFINITE).reshape(len(self.held), m)
        for i, (_, over, size) in enumerate(self.held):
            enter(np.broadcast_to(self.pairs[i], (n, m)), self.k, -over[:, None])
            if problem.delta:
                enter(self.pairs[i], self.slack[i], 1.0)
                enter(rows(1, -INFINITE, float(problem.delta) / size), self.slack[i], 1.0)
        scale = max(float(problem.loss.max()), 1e-300)
        cost = np.zeros(self.columns)
        if problem.weight is not None:
            cells = problem.weight[:, None] * problem.loss
            scale = max(float(cells.max()), 1e-300)
            cost[self.k] = cells / scale
        else:
            cost[self.worst] = 1.0
            self.means = rows(len(self.laws), 0.0, INFINITE)
            for s, law in enumerate(self.laws):
                enter(np.broadcast_to(self.means[s], (n, m)), self.k, -law[:, None] * problem.loss / scale)
            enter(self.means, np.full(len(self.laws), self.worst), 1.0)
        self.scale = scale
        total = sum(part.size for part in low)
        matrix = Matrix.of(entries, total, self.columns)
        most = np.full(self.columns, INFINITE)
        return Program(cost, matrix, np.concatenate(low), np.concatenate(high), np.zeros(self.columns), most)

    def channel(self, answer: Answer) -> Floats:
        """Rows of chances."""
        chances = np.clip(answer.x[self.k], 0.0, None)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def prices(self, answer: Answer) -> Prices:
        """The duals in units of the loss."""
        problem = self.problem
        ratio = np.zeros((2 * len(problem.pairs), problem.m))
        for i, (c, _, size) in enumerate(self.held):
            ratio[c] = np.clip(answer.y[self.pairs[i]], 0.0, None) * self.scale / size
        cap = (answer.y[self.under] - answer.y[self.over]) * self.scale
        mix = np.clip(answer.y[self.means], 0.0, None) if problem.weight is None else None
        return Prices(ratio=ratio, cap=cap, mix=mix)
