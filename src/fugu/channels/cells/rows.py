"""The rows of the linear program over cells K(y|x), and what their dual says.

Where every two of S laws are a pair, one variable t_y says the same in 2 S rows: t_y <= p_s.k_y <= e^epsilon t_y
(exact for point laws only); other pairs have a row for each order. With delta: a_c.k_y <= z_{c,y} and
sum_y z_{c,y} <= delta. Under the worst law: one row for each law. Monotone: D(x, j) = F(j|x) - F(j|x + 1) >= 0, F the
cumulated rows of the channel.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import Prices
from fugu.channels.program import INFINITE, Triplets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_LARGEST_RATIO = 1e8
"""e^epsilon in a row of the program: a cell that hides another one e^epsilon times as heavy must stand out from the
tolerance of the solver. A smaller ratio promises more, and costs about 1e-8 of the largest loss."""
_TINY = 1e-300


class GridRows:
    """Rows, and all columns but the cells. `cells` gives the columns of cells, in units of `scale`."""

    def __init__(self, laws: PointLaws) -> None:
        self.laws, problem = laws, laws.problem
        self.kept = np.arange(problem.n) if problem.monotone else np.flatnonzero(laws.active)
        self.law, self.m = laws.law[:, self.kept], problem.m
        self.loss = problem.loss[self.kept]
        self.ratio = min(laws.ratio, _LARGEST_RATIO)
        weight = None if problem.weight is None else problem.weight[self.kept]
        self.weight = weight
        heaviest = float(self.loss.max()) if weight is None else float((weight * self.loss.max(axis=1)).max())
        self.scale = max(heaviest, _TINY)
        self.entries: list[Triplets] = []
        self.count = self.columns = 0
        self._lows: list[Floats] = []
        self._highs: list[Floats] = []
        self.sums = self._rows(self.kept.size, 1.0, 1.0)
        whole = problem.delta == 0
        complete = [group for group in laws.groups if len(group) > 2 and whole and laws.complete(group)]
        self.spans = [(group, *self._span(group)) for group in complete]
        inside = {s for group in complete for s in group}
        outside = [c for c, (s, _) in enumerate(laws.ordered) if s not in inside and laws.binding[c]]
        self.pairs = {c: self._rows(self.m, -INFINITE, 0.0) for c in outside}
        if not whole:
            self._spend(float(problem.delta))
        self.worst = self._worst() if weight is None else None
        self.rising = self._rising() if problem.monotone else None
        self.low, self.high = np.concatenate(self._lows), np.concatenate(self._highs)
        self.cost, self.floor = np.zeros(self.columns), np.zeros(self.columns)
        if self.worst is not None:
            self.cost[self.largest] = 1.0
            self.floor[self.largest] = -INFINITE  # so that the weights of the laws sum to 1 even at a loss of 0

    def _rows(self, count: int, low: float, high: float) -> Ints:
        self._lows.append(np.full(count, low))
        self._highs.append(np.full(count, high))
        self.count += count
        return np.arange(self.count - count, self.count)

    def _columns(self, count: int) -> Ints:
        self.columns += count
        return np.arange(self.columns - count, self.columns)

    def _enter(self, row: Ints, column: Ints, value: float) -> None:
        self.entries.append((row, column, np.array(value)))

    def _span(self, group: list[int]) -> tuple[Ints, Ints]:
        least = self._columns(self.m)
        below = np.array([self._rows(self.m, 0.0, INFINITE) for _ in group])
        above = np.array([self._rows(self.m, -INFINITE, 0.0) for _ in group])
        self._enter(below, least, -1.0)
        self._enter(above, least, -self.ratio)
        return below, above

    def _spend(self, delta: float) -> None:
        for row in self.pairs.values():
            over = self._columns(self.m)
            self._enter(row, over, -1.0)
            self._enter(self._rows(1, -INFINITE, delta), over, 1.0)

    def _worst(self) -> Ints:
        self.largest = self._columns(1)
        row = self._rows(len(self.law), -INFINITE, 0.0)
        self._enter(row, self.largest, -1.0)
        return row

    def _rising(self) -> Ints:
        n, m = self.kept.size, self.m
        fall = self._columns((n - 1) * (m - 1)).reshape(n - 1, m - 1)
        row = self._rows((n - 1) * m, 0.0, 0.0).reshape(n - 1, m)
        self._enter(row[:, :-1], fall, 1.0)
        self._enter(row[:, 1:], fall, -1.0)
        return row

    def cells(self, x: Ints, y: Ints, first: int) -> list[Triplets]:
        """The entries of the cells (x, y), as columns from `first` on; x counts the points that are kept."""
        column = first + np.arange(x.size)
        found: list[Triplets] = [(self.sums[x], column, np.array(1.0))]
        for group, below, above in self.spans:
            for i, s in enumerate(group):
                found += [(below[i][y], column, self.law[s][x]), (above[i][y], column, self.law[s][x])]
        for c, row in self.pairs.items():
            s, t = self.laws.ordered[c]
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
        y, ordered = self.scale * dual, self.laws.ordered
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
