"""Plans of least cost: all mass or all but a mass delta, with exact marginals, costs in logarithms rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError
from fugu.laws.masses import Masses
from fugu.numbers.exact import Real
from fugu.transport.coupling import Coupling, compact, one_total
from fugu.transport.flows import Tree, max_flow, optimise
from fugu.transport.matching import _delta

# By joint convexity any coupling gives a valid bound, so a plan that is not quite optimal costs noise, never the
# guarantee. The objective of a solver is never published: with atoms of mass 1e-12 and costs of e^30 it can be far
# below the truth. What counts is `plan_log_cost` of a plan whose integer marginals were checked.


_UNIT = 2.0**-53


def optimal_plan(log_cost: LogCost, p: Masses, q: Masses) -> Coupling:
    """A coupling of P and Q that makes E exp(log_cost(X, Y)) as small as the search can.

    log_cost: a matrix, or a function of two index arrays. To 2,000 x 2,000 atoms it is optimal up to the rounding
    of doubles; beyond, among the cells looked at. On the line `monotone` is optimal for convex costs, and fast.

    >>> from fractions import Fraction
    >>> p = Masses(np.array([1, 1]), Fraction(2))
    >>> plan = optimal_plan([[5.0, 0.0], [0.0, 5.0]], p, p)
    >>> plan.rows.tolist(), plan.columns.tolist(), plan.masses.tolist(), plan.total
    ([0, 1], [1, 0], [1, 1], 2)
    """
    a, b, total = one_total(p, q)
    rows, columns = np.flatnonzero(a != 0), np.flatnonzero(b != 0)
    i, j, masses = search(Costs(log_cost, rows, columns, spare=False), a[rows].tolist(), b[columns].tolist())
    return Coupling(rows[i], columns[j], compact(masses, total), total).checked(a, b, total)


def plan_log_cost(plan: Coupling, log_cost: LogCost) -> float:
    """log sum masses / total exp(log_cost), rounded up by about 1e-13; the costs are taken as they are given.

    log_cost: a matrix, a function of two index arrays, or one number for each cell of the plan. Divide by the mass
    kept to condition on it: subtract log of `kept`.

    With t = l + log m for a cell of log cost l and mass m, and T = max t, the sum is e^T sum e^(t - T). Errors of t are
    at most u (2 |log m| + |t|), those of exp(t - T) relative to it u (|t - T| + 4), of a sum by pairs 32 u of its terms
    below 2^32 of them; |t| <= |T| + |t - T|. Weighted by the terms, sum (T - t) e^(t - T) / sum e^(t - T) bounds the
    middle part. The slack is twice all that, u = 2^-53, and what underflows is added back.
    """
    if not callable(log_cost) and np.ndim(log_cost) == 1:
        logs = np.asarray(log_cost, dtype=np.float64)
        logs = at_cells(lambda rows, columns: logs, plan.rows, plan.columns)  # noqa: ARG005
    else:
        logs = at_cells(log_cost, plan.rows, plan.columns)
    if plan.masses.dtype == object:
        weights = np.array([math.log(int(m)) for m in plan.masses.tolist()], dtype=np.float64)
    else:
        weights = np.log(plan.masses.astype(np.float64))
    terms = logs + weights
    top = float(terms.max())
    if math.isinf(top):
        return top
    below = np.maximum(terms - top, -800.0)  # such terms are 0 in doubles; `lost` stands for them
    with np.errstate(under="ignore"):
        parts = np.exp(below)
        mean = float(parts.sum())
        spread = float(-(parts * below).sum()) / mean
    lost = len(parts) * 1e-300
    heaviest = math.log(plan.total)
    value = top + math.log(mean + lost) - heaviest
    size = abs(top) + 2 * spread + 4 * heaviest + math.log(mean) + abs(value) + 64
    return math.nextafter(value + 2 * _UNIT * size, math.inf)


def bottleneck_plan(costs: NDArray[np.float64], p: Masses, q: Masses) -> Coupling:
    """The coupling whose largest cost is least: a bisection over maximum flows (Strassen 1965, Theorem 11)."""
    a, b, total = one_total(p, q)
    order = np.argsort(costs, axis=None, kind="stable")
    rows, columns = np.divmod(order, len(b))
    ends = np.append(np.flatnonzero(np.diff(costs.ravel()[order])), len(order) - 1) + 1
    low, high = -1, len(ends) - 1
    best = max_flow(a, b, rows, columns, total)
    while high - low > 1:
        middle = (low + high) // 2
        flow = max_flow(a, b, rows[: ends[middle]], columns[: ends[middle]], total)
        low, high, best = (low, middle, flow) if int(flow.sum()) == total else (middle, high, best)
    held = np.flatnonzero(best)
    return Coupling(rows[held], columns[held], best[held], total).checked(a, b, total)


def partial_plan(log_cost: LogCost, p: Masses, q: Masses, delta: Real) -> Coupling:
    """A sub-coupling of mass at least 1 - delta, exactly, that makes its sum of mass exp(log_cost) small.

    A spare row and a spare column of mass delta take at no cost what is left behind, and their common cell is
    forbidden (Caffarelli and McCann 2010; Figalli 2010 for the problem). With c_a(x - y) = exp((a - 1) D_a) the
    divergence of the conditioned laws is at most 1 / (a - 1) log(sum c mass / kept): both E and E' have
    probability `kept` >= 1 - delta. Delta is read as the decimal it is written as.

    >>> from fractions import Fraction
    >>> p, q = Masses(np.array([3, 1]), Fraction(4)), Masses(np.array([3, 0, 1]), Fraction(4))
    >>> plan = partial_plan([[0.0, 1.0, 9.0], [1.0, 0.0, 8.0]], p, q, 0.25)
    >>> plan.rows.tolist(), plan.columns.tolist(), plan.kept
    ([0], [0], Fraction(3, 4))
    """
    spare = _delta(delta)
    a, b, total = one_total(p, q)
    rows, columns = np.flatnonzero(a != 0), np.flatnonzero(b != 0)
    whole = total * spare.denominator
    supply = [mass * spare.denominator for mass in a[rows].tolist()]
    demand = [mass * spare.denominator for mass in b[columns].tolist()]
    left = [total * spare.numerator] if spare else []
    i, j, masses = search(Costs(log_cost, rows, columns, spare=bool(spare)), supply + left, demand + left)
    real = (i < len(rows)) & (j < len(columns))
    plan = Coupling(rows[i[real]], columns[j[real]], compact(masses[real], whole), whole)
    scale = spare.denominator
    big = (a.astype(object) * scale, b.astype(object) * scale)
    return plan.checked(*big, whole - total * spare.numerator)


_Cells = tuple[NDArray[np.int64], NDArray[np.int64]]
_NEAREST = 12
_FULL = 4_200_000
"""Up to this many cells (2,000 x 2,000 and some) all are priced until none helps; beyond it, twice."""
_PIVOTS = 60
_LEVELS = 8


def search(costs: Costs, a: list[int], b: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """A plan between the integer masses a and b (equal sums): rows, columns and exact masses of its cells.

    Column generation (Dantzig and Wolfe 1960): optimal up to the rounding of the costs if all cells were priced,
    otherwise optimal among the cells looked at. Exact marginals in either case."""
    n, m = costs.shape
    known = _nearest(costs)
    tree, order = Tree(a, b), np.argsort(costs.logs(*known), kind="stable")
    tree.pour(zip(known[0][order].tolist(), known[1][order].tolist(), strict=True))  # from the cheapest on
    if costs.spare:
        tree.pour((i, m - 1) for i in range(n - 1))
        tree.pour((n - 1, j) for j in range(m - 1))
    tree.pour_rest()
    cells = np.array(list(tree.mass), dtype=np.int64)
    first = cells[:, 0], cells[:, 1]
    logs = np.where((first[0] == costs.n) & (first[1] == costs.m), -np.inf, costs.logs(*first))
    value, near = _value(logs, list(tree.mass.values())), costs.logs(*known)
    costs.level(value, math.log(sum(a)), near)
    known = _joined(m, known, first)
    if costs.spare:  # the cells of the spare row and column, their common cell included
        i, j = np.arange(costs.n), np.arange(costs.m + 1)
        spare = np.concatenate([i, np.full(len(j), costs.n)]), np.concatenate([np.full(len(i), costs.m), j])
        known = _joined(m, known, spare)
    tree.hang(costs.of(*first))
    rounds, most = 40 if n * m <= _FULL else 2, _PIVOTS * (n + m) + 1000
    for _ in range(_LEVELS):
        for left in range(rounds, -1, -1):  # pivot among the known cells, then add those that would help
            most -= optimise(tree, *known, costs.of(*known), most)
            if most <= 0 or left == 0:
                break
            more = _priced(costs, np.array(tree.potential), n)
            if not len(more[0]):
                break
            known = _joined(m, known, more)
        rows, columns, masses = tree.plan()
        before, value = value, _value(costs.logs(rows, columns), masses.tolist())
        if most <= 0 or not value < before - 1:
            break
        costs.level(value, math.log(sum(a)), near)  # what was lost beside dear cells shows once these are cut
        tree.cost[1:] = costs.of(*tree.arcs()).tolist()
        tree.refresh()
    return rows, columns, masses


def _value(logs: NDArray[np.float64], masses: list[int]) -> float:
    """About log of the mean cost of a plan."""
    terms = logs + np.array([math.log(mass) for mass in masses])
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum())) - math.log(sum(masses)) if math.isfinite(top) else top


def _nearest(costs: Costs) -> _Cells:
    """The cheapest few cells of every row and of every column."""
    rows, columns, depth = [], [], min(_NEAREST, costs.m)
    best = np.full((0, costs.m), np.inf)
    place = np.zeros((0, costs.m), dtype=np.int64)
    for lo, hi in costs.blocks():
        block = costs.block(lo, hi)
        near = np.argpartition(block, depth - 1, axis=1)[:, :depth]
        rows.append(np.repeat(np.arange(lo, hi), depth))
        columns.append(near.ravel())
        best = np.concatenate([best, block])
        place = np.concatenate([place, np.broadcast_to(np.arange(lo, hi)[:, None], block.shape)])
        if len(best) > _NEAREST:
            keep = np.argpartition(best, _NEAREST - 1, axis=0)[:_NEAREST]
            best, place = np.take_along_axis(best, keep, 0), np.take_along_axis(place, keep, 0)
    rows.append(place.ravel())
    columns.append(np.broadcast_to(np.arange(costs.m), place.shape).ravel())
    return _joined(costs.m, (np.concatenate(rows), np.concatenate(columns)))


def _priced(costs: Costs, potential: NDArray[np.float64], n: int) -> _Cells:
    """In every row and column the cells that the plan would gain most from, over all cells."""
    rows, columns = [], []
    u, v = potential[: costs.n], potential[n : n + costs.m]
    for lo, hi in costs.blocks():
        price = costs.cut(costs.block(lo, hi))
        gain = price - u[lo:hi, None] - v
        gain[gain > -(2.0**-45) * (price + np.abs(u[lo:hi, None]) + np.abs(v))] = 0.0
        depth = min(4, costs.m)
        near = np.argpartition(gain, depth - 1, axis=1)[:, :depth]
        for i, j in (
            (np.repeat(np.arange(hi - lo), depth), near.ravel()),
            (gain.argmin(axis=0), np.arange(costs.m)),
        ):
            found = gain[i, j] < 0
            rows.append(i[found] + lo)
            columns.append(j[found])
    return _joined(costs.m, (np.concatenate(rows), np.concatenate(columns)))


def _joined(width: int, *cells: _Cells) -> _Cells:
    """All cells once, in order."""
    key = np.unique(np.concatenate([i * (width + 1) + j for i, j in cells]))
    return key // (width + 1), key % (width + 1)


LogCost = ArrayLike | Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
_CEILING = 600.0
"""Costs are shifted so that the dearest one a useful plan can hold is e^600: the range below it is then e^-1300."""
_BLOCK = 2**21


class Costs:
    """log c(i, j) of the held atoms; with `spare`, one more row and column at cost 0, and their common cell dear."""

    def __init__(self, log_cost: LogCost, rows: NDArray[np.int64], columns: NDArray[np.int64], spare: bool) -> None:
        self.log_cost, self.rows, self.columns, self.spare = log_cost, rows, columns, spare
        self.n, self.m = len(rows), len(columns)
        self.shift, self.cap = 0.0, np.inf

    @property
    def shape(self) -> tuple[int, int]:
        """With the spare row and column."""
        return self.n + self.spare, self.m + self.spare

    def logs(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """log c of the pairs; -inf for cost 0."""
        real = (i < self.n) & (j < self.m)
        found = np.where((i == self.n) & (j == self.m), np.inf, -np.inf)
        found[real] = at_cells(self.log_cost, self.rows[i[real]], self.columns[j[real]])
        return found

    def level(self, value: float, log_total: float, logs: NDArray[np.float64]) -> None:
        """A plan of log cost `value` is known: a better one has no cell above value + log total, as masses are >= 1.

        Dearer cells are set to four times that cost for the search, so that one unit of mass there costs more than
        the whole plan; all costs are shifted. Without a finite plan the dearest finite cost stands for `value`."""
        if value == np.inf:
            value = float(logs.max(initial=-np.inf, where=np.isfinite(logs)))
        if np.isfinite(value):
            self.cap = value + log_total + 1.0
            self.shift = self.cap - _CEILING

    def of(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """The costs the search works with: doubles, shifted and cut."""
        return self.cut(self.logs(i, j))

    def cut(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Costs from their logarithms, shifted and cut."""
        cap = self.cap if np.isfinite(self.cap) else 0.0
        with np.errstate(under="ignore"):
            costs = np.exp(np.minimum(np.minimum(logs, cap) - self.shift, _CEILING + 50))  # beyond 1e18 doubles jump
        return np.where(logs > cap, costs * 4, costs)

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows whose costs fit in memory at once."""
        size = max(1, _BLOCK // self.m)
        return [(lo, min(lo + size, self.n)) for lo in range(0, self.n, size)]

    def block(self, lo: int, hi: int) -> NDArray[np.float64]:
        """log c of the real rows lo .. hi - 1 against all real columns."""
        i, j = np.repeat(self.rows[lo:hi], self.m), np.tile(self.columns, hi - lo)
        return at_cells(self.log_cost, i, j).reshape(hi - lo, self.m)


def at_cells(log_cost: LogCost, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """log c at the cells, from a matrix or from a function of two index arrays."""
    if callable(log_cost):
        found: NDArray[Any] = np.asarray(log_cost(rows, columns), dtype=np.float64)
    else:
        found = np.asarray(log_cost, dtype=np.float64)[rows, columns]
    if found.shape != rows.shape or np.isnan(found).any():
        raise UsageError("log_cost must give one number (not NaN) for each pair of atoms")
    return found
