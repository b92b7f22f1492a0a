"""One pair of laws and labels without an order: every mistake costs the same, so all partners are alike.

A unit of a telling point is moved to its partner (cost w) or kept while the partner moves to it (cost of the partner);
a unit of a partner is kept or moves. Only four sums must agree, for both sides and both roles:

    sum_h a_h moved_h = sum_x |a_x| kept_x,     sum_h a_h kept_h = sum_x |a_x| moved_x,

so the program has n + 4 rows (two more for delta) and O(n) columns, and any way to pair the units up is as good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import Found, Prices
from fugu.channels.program import INFINITE, Answer, Matrix, Program, Triplets
from fugu.channels.rays.master import State
from fugu.channels.rays.pair import Floats, Ints, Pair
from fugu.channels.rays.pricing import prices

_LARGEST_RATE = 1e8


def is_zero_one(pair: Pair) -> bool:
    """Whether every point has an output of its own without loss, all others cost it 1, and the weight is given; and
    whether e^epsilon is small enough for a row of a program."""
    if pair.weight is None or pair.loss.shape[1] < pair.n or np.abs(pair.rate).max() > _LARGEST_RATE:
        return False
    own = pair.best
    ones = pair.loss.sum(axis=1) == pair.loss.shape[1] - 1
    return bool(
        ones.all()
        and np.all((pair.loss == 0) | (pair.loss == 1))
        and not pair.loss[np.arange(pair.n), own].any()
        and np.unique(own).size == pair.n
    )


def solve_zero_one(laws: PointLaws, pair: Pair, c: int) -> Found:
    """The best channel where only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    roles = _Roles(pair)
    found = [_found(laws, pair, c, roles, answer) for answer in roles.program().answers()]
    return min(found, key=laws.shortfall)


def _found(laws: PointLaws, pair: Pair, c: int, roles: _Roles, answer: Answer) -> Found:
    matrix = laws.spread(roles.matrix(np.clip(answer.x, 0.0, None)))
    u, dual = answer.y[: pair.n] * pair.scale, answer.y[pair.n + 4 :] * pair.scale
    eta = np.zeros(2)
    eta[: dual.size] = np.clip(-dual, 0.0, None)
    assert pair.weight is not None
    state = State(u, eta, pair.weight, None, answer.value * pair.scale, np.zeros(pair.n, dtype=np.bool_))
    ratio = np.zeros((len(laws.ordered), laws.problem.m))
    ratio[c : c + 2] = prices(pair, state)
    return laws.found(matrix, Prices(ratio=ratio))


@dataclass(frozen=True, eq=False)
class _Part:
    """The units of some points in one role: they move or stay, and stand in one of the four sums."""

    points: Ints
    rate: Floats
    moved: bool
    row: int
    columns: Ints


class _Roles:
    """Columns of the program: units that need no partner, then telling points and partners that move or stay."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.alone = np.concatenate([pair.free, *(pair.tellers if pair.delta > 0 else ())])
        self.columns = self.alone.size
        self.sums = [
            (
                self._part(pair.tellers[side], side, moved, 2 * side + moved),
                self._part(pair.partners[side], side, not moved, 2 * side + moved),
            )
            for side in (0, 1)
            for moved in (True, False)
        ]

    def _part(self, points: Ints, side: int, moved: bool, row: int) -> _Part:
        columns = self.columns + np.arange(points.size)
        self.columns += points.size
        return _Part(points, self.pair.rate[side, points], moved, self.pair.n + row, columns)

    def program(self) -> Program:
        """min sum w moved, each point in roles that sum to 1, the four sums, and delta."""
        pair, extra = self.pair, 2 if self.pair.delta > 0 else 0
        assert pair.weight is not None
        cost, units = np.zeros(self.columns), np.arange(self.alone.size)
        entries: list[Triplets] = [(self.alone, units, np.ones(units.size))]
        for side in range(extra):
            spent = np.clip(pair.rate[side, self.alone], 0.0, None)
            entries.append((np.full(units.size, pair.n + 4 + side), units, spent))
        for part in (part for two in self.sums for part in two):
            entries.append((part.points, part.columns, np.ones(part.points.size)))
            entries.append((np.full(part.points.size, part.row), part.columns, part.rate))
            if part.moved:
                cost[part.columns] = pair.weight[part.points] / pair.scale
        low, high = np.zeros(pair.n + 4 + extra), np.zeros(pair.n + 4 + extra)
        low[: pair.n] = high[: pair.n] = 1.0
        low[pair.n + 4 :], high[pair.n + 4 :] = -INFINITE, pair.delta
        matrix = Matrix.of(entries, low.size, self.columns)
        return Program(cost, matrix, low, high, np.zeros(self.columns), np.full(self.columns, INFINITE))

    def matrix(self, amount: Floats) -> Floats:
        """The channel: the units of each sum are paired up in the order of the points, at the output of the one that
        stays."""
        own = self.pair.best
        found = np.zeros(self.pair.loss.shape)
        np.add.at(found, (self.alone, own[self.alone]), amount[: self.alone.size])
        for two in self.sums:
            ends = [np.cumsum(np.abs(part.rate) * amount[part.columns]) for part in two]
            if not ends[0].size or not ends[1].size:
                continue
            cuts = np.unique(np.concatenate([[0.0], *ends]))
            middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
            places = [np.minimum(np.searchsorted(end, middle), end.size - 1) for end in ends]
            stays = 1 if two[0].moved else 0
            output = own[two[stays].points[places[stays]]]
            for part, place in zip(two, places, strict=True):
                np.add.at(found, (part.points[place], output), length / np.abs(part.rate[place]))
        return found
