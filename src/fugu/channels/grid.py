"""Every cell K(y|x) is a variable: one linear program for any problem with point laws, for up to a few hundred points.

    min sum_x w_x sum_y K(y|x) loss(x, y),   sum_y K(y|x) = 1,   sum_x (p_s(x) - e^epsilon p_t(x)) K(y|x) <= 0.

Where every two of S laws are a pair, one variable t_y says the same in 2 S rows: t_y <= p_s.k_y <= e^epsilon t_y
(exact for point laws only). With delta: a_c.k_y <= z_{c,y}, sum_y z_{c,y} <= delta. Under the worst law: one row for
each law. Monotone: D(x, j) = F(j|x) - F(j|x + 1) >= 0, F the cumulated rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import Found, Prices
from fugu.channels.program import INFINITE, Answer, Matrix, Program, Triplets

_LARGEST_RATIO = 1e8
"""e^epsilon in a row of the program: a cell that hides another one e^epsilon times as heavy must stand out from the
tolerance of the solver. A smaller ratio promises more, and costs about 1e-8 of the largest loss."""


def solve_grid(laws: PointLaws, method: str = "simplex") -> Found:
    """The channel of least loss and its prices, by one linear program over all cells."""
    return _Grid(laws).found(method)


@dataclass
class _Rows:
    """Rows as they are gathered."""

    entries: list[Triplets] = field(default_factory=list)
    low: list[NDArray[np.float64]] = field(default_factory=list)
    high: list[NDArray[np.float64]] = field(default_factory=list)
    count: int = 0

    def add(self, count: int, low: float, high: float) -> NDArray[np.int64]:
        self.low.append(np.full(count, low))
        self.high.append(np.full(count, high))
        self.count += count
        return np.arange(self.count - count, self.count)

    def enter(self, row: NDArray[np.int64], column: NDArray[np.int64], value: NDArray[np.float64] | float) -> None:
        self.entries.append((row, column, np.asarray(value, dtype=np.float64)))


class _Grid:
    def __init__(self, laws: PointLaws) -> None:
        self.laws, problem = laws, laws.problem
        self.kept = np.arange(problem.n) if problem.monotone else np.flatnonzero(laws.active)
        self.law, self.m = laws.law[:, self.kept], problem.m
        self.ratio = min(laws.ratio, _LARGEST_RATIO)
        self.cells = np.arange(self.kept.size * self.m).reshape(self.kept.size, self.m)
        self.rows, self.columns = _Rows(), self.cells.size
        self.rows.enter(np.repeat(self.rows.add(self.kept.size, 1.0, 1.0), self.m), self.cells.ravel(), 1.0)
        whole = problem.delta == 0
        complete = [group for group in laws.groups if len(group) > 2 and whole and laws.complete(group)]
        self.spans = [(group, *self._span(group)) for group in complete]
        inside = {s for group in complete for s in group}
        self.pair_rows = {c: self._pair(*laws.ordered[c]) for c in self._separate(inside)}
        if not whole:
            self._spend(float(problem.delta))
        self.worst = self._worst() if problem.weight is None else None
        self.rising = self._rising() if problem.monotone else None

    def _separate(self, inside: set[int]) -> list[int]:
        return [c for c, (s, _) in enumerate(self.laws.ordered) if s not in inside and self.laws.binding[c]]

    def _new(self, count: int) -> NDArray[np.int64]:
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def _span(self, group: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        least = self._new(self.m)
        below, above = [], []
        for s in group:
            row = self.rows.add(self.m, 0.0, INFINITE)
            self.rows.enter(row, self.cells, self.law[s][:, None])
            self.rows.enter(row, least, -1.0)
            below.append(row)
            row = self.rows.add(self.m, -INFINITE, 0.0)
            self.rows.enter(row, self.cells, self.law[s][:, None])
            self.rows.enter(row, least, -self.ratio)
            above.append(row)
        return np.array(below), np.array(above)

    def _pair(self, s: int, t: int) -> NDArray[np.int64]:
        row = self.rows.add(self.m, -INFINITE, 0.0)
        self.rows.enter(row, self.cells, (self.law[s] - self.ratio * self.law[t])[:, None])
        return row

    def _spend(self, delta: float) -> None:
        for row in self.pair_rows.values():
            over = self._new(self.m)
            self.rows.enter(row, over, -1.0)
            self.rows.enter(np.repeat(self.rows.add(1, -INFINITE, delta), self.m), over, 1.0)

    def _worst(self) -> NDArray[np.int64]:
        self.largest, scale = self._new(1), max(float(self.laws.problem.loss.max()), 1e-300)
        row = self.rows.add(len(self.law), -INFINITE, 0.0)
        for s, law in enumerate(self.law):
            cost = law[:, None] * self.laws.problem.loss[self.kept] / scale
            self.rows.enter(np.broadcast_to(row[s], cost.shape), self.cells, cost)
        self.rows.enter(row, np.broadcast_to(self.largest, row.shape), -1.0)
        return row

    def _rising(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        n, m = self.cells.shape
        fall = self._new((n - 1) * (m - 1)).reshape(n - 1, m - 1)
        row = self.rows.add((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
        self.rows.enter(row, self.cells[:-1], -1.0)
        self.rows.enter(row, self.cells[1:], 1.0)
        self.rows.enter(row[:, :-1], fall, 1.0)
        self.rows.enter(row[:, 1:], fall, -1.0)
        return row, fall

    def found(self, method: str) -> Found:
        """Solve, and read the channel and its prices."""
        cost, scale = self._cost()
        floor = np.zeros(self.columns)
        if self.worst is not None:
            floor[self.largest] = -INFINITE  # so that the weights of the laws sum to 1 even at a loss of 0
        program = Program(
            cost,
            Matrix.of(self.rows.entries, self.rows.count, self.columns),
            np.concatenate(self.rows.low),
            np.concatenate(self.rows.high),
            floor,
            np.full(self.columns, INFINITE),
        )
        answer = program.solve(method)
        matrix = np.zeros((self.laws.problem.n, self.m))
        matrix[self.kept] = answer.x[self.cells]
        matrix = self.laws.completed(matrix)
        prices = self.laws.best(self._prices(answer, scale))
        return Found(matrix, prices, self.laws.gap(matrix, prices))

    def _cost(self) -> tuple[NDArray[np.float64], float]:
        cost = np.zeros(self.columns)
        if self.laws.problem.weight is None:
            cost[self.largest] = 1.0
            return cost, max(float(self.laws.problem.loss.max()), 1e-300)
        cells = self.laws.cost(self.laws.problem.weight)[self.kept]
        scale = max(float(cells.max()), 1e-300)
        cost[self.cells] = cells / scale
        return cost, scale

    def _prices(self, answer: Answer, scale: float) -> Prices:
        y, ordered = scale * answer.y, self.laws.ordered
        ratio = np.zeros((len(ordered), self.m))
        for c, row in self.pair_rows.items():
            ratio[c] = np.clip(-y[row], 0.0, None)
        place = {pair: c for c, pair in enumerate(ordered)}
        for group, below, above in self.spans:
            shares = pairwise(np.clip(-y[above], 0.0, None), np.clip(y[below], 0.0, None), self.laws.ratio)
            for i, s in enumerate(group):
                for j, t in enumerate(group):
                    if i != j:
                        ratio[place[s, t]] = shares[i, j]
        mix = None if self.worst is None else np.clip(-answer.y[self.worst], 0.0, None)
        rise = None
        if self.rising is not None:
            dual = y[self.rising[0]]
            rise = np.clip(dual[:, 1:] - dual[:, :-1], 0.0, None)
        return Prices(ratio=ratio, mix=None if mix is None else mix / mix.sum(), rise=rise)


def pairwise(mu: NDArray[np.float64], nu: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Prices alpha[s, t] >= 0 of the ordered pairs from those of p_s.k <= e^epsilon t (mu) and t <= p_s.k (nu), for
    each output: sum_t alpha[s, t] = mu_s and e^epsilon sum_s alpha[s, t] <= nu_t, filled from the north-west corner.

    What a law pays on both sides cancels first, so that no law is paired with itself.
    """
    both = np.minimum(mu, nu)
    give, take = mu - both, (nu - both) / ratio
    size = len(mu)
    alpha = np.zeros((size, *mu.shape))
    for s in range(size):
        for t in range(size):
            part = np.minimum(give[s], take[t])
            alpha[s, t] = part
            give[s] -= part
            take[t] -= part
    return alpha
