"""The search for a least-cost plan: nearest cells first, then all cells that a plan of these would gain from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.transport.costs import Costs
from fugu.transport.simplex import Tree, optimise

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
    tree, first = _start(costs, a, b, known)
    logs = np.where((first[0] == costs.n) & (first[1] == costs.m), -np.inf, costs.logs(*first))
    value, near = _value(logs, list(tree.mass.values())), costs.logs(*known)
    costs.level(value, math.log(sum(a)), near)
    known = _joined(m, known, first, _spare(costs))
    tree.hang(costs.of(*first))
    rounds, most = 40 if n * m <= _FULL else 2, _PIVOTS * (n + m) + 1000
    for _ in range(_LEVELS):
        known, most = _improved(costs, tree, known, rounds, most)
        rows, columns, masses = tree.plan()
        before, value = value, _value(costs.logs(rows, columns), masses.tolist())
        if most <= 0 or not value < before - 1:
            break
        costs.level(value, math.log(sum(a)), near)  # what was lost beside dear cells shows once these are cut
        tree.reprice(costs.of(*tree.arcs()))
    return rows, columns, masses


def _improved(costs: Costs, tree: Tree, known: _Cells, rounds: int, most: int) -> tuple[_Cells, int]:
    """Pivot among the known cells, then add those that would help; the cells known at the end, the pivots left."""
    for _ in range(rounds + 1):
        most -= optimise(tree, *known, costs.of(*known), most)
        if most <= 0 or rounds == 0:
            break
        rounds -= 1
        more = _priced(costs, np.array(tree.potential), costs.shape[0])
        if not len(more[0]):
            break
        known = _joined(costs.shape[1], known, more)
    return known, most


def _start(costs: Costs, a: list[int], b: list[int], known: _Cells) -> tuple[Tree, _Cells]:
    """A tree and its cells: the known ones poured from the cheapest on, then whatever is left."""
    n, m = costs.shape
    order = np.argsort(costs.logs(*known), kind="stable")
    tree = Tree(a, b)
    tree.pour(zip(known[0][order].tolist(), known[1][order].tolist(), strict=True))
    if costs.spare:
        tree.pour((i, m - 1) for i in range(n - 1))
        tree.pour((n - 1, j) for j in range(m - 1))
    tree.pour_rest()
    cells = np.array(list(tree.mass), dtype=np.int64)
    return tree, (cells[:, 0], cells[:, 1])


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


def _spare(costs: Costs) -> _Cells:
    """The cells of the spare row and column, their common cell included."""
    if not costs.spare:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    i, j = np.arange(costs.n), np.arange(costs.m + 1)
    return np.concatenate([i, np.full(len(j), costs.n)]), np.concatenate([np.full(len(i), costs.m), j])


def _priced(costs: Costs, potential: NDArray[np.float64], n: int) -> _Cells:
    """In every row and column the cells that the plan would gain most from, over all cells."""
    rows, columns = [], []
    u, v = potential[: costs.n], potential[n : n + costs.m]
    for lo, hi in costs.blocks():
        price = costs.prices(lo, hi)
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
