"""The linear program over the rays that are known so far: one row for each point, two for delta, one for each law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.channels.program import INFINITE, TOLERANCE, new_solver, run
from fugu.channels.rays.pair import Floats, Ints, Pair, Rays

_FINER = 2.0**12
_STRAIN = 1e-9
_DUAL, _PRIMAL = 1, 4  # strategies of the solver


@dataclass(frozen=True, eq=False)
class State:
    """What the program answers: potentials `u` of the points, the price of delta on both sides, the weight of the
    points (given, or that of the worst mixture of laws, with `mix`), the value, and which points strain at their box.
    """

    u: Floats
    eta: Floats
    weight: Floats
    mix: Floats | None
    value: float
    strain: NDArray[np.bool_]


class Master:
    """Rays in, potentials out. All costs inside are in units of `pair.scale`."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.rays, self.finer = pair, Rays.none(), 1.0
        n, laws = pair.n, len(pair.law) if pair.weight is None else 0
        self.spent = np.arange(n, n + 2) if pair.delta > 0 else np.zeros(0, dtype=np.int64)
        self.worst = np.arange(n + self.spent.size, n + self.spent.size + laws)
        self.solver = new_solver()
        self.solver.setOptionValue("simplex_strategy", _DUAL)
        rows = n + self.spent.size + laws
        low, high = np.full(rows, -INFINITE), np.zeros(rows)
        low[:n] = high[:n] = 1.0
        high[self.spent] = pair.delta
        nothing = np.zeros(rows, dtype=np.int32)
        self.solver.addRows(rows, low, high, 0, nothing, np.zeros(0, dtype=np.int32), np.zeros(0))
        self.costs: list[Floats] = []
        self.columns = 0
        self.box = self.ray_columns = np.zeros(0, dtype=np.int64)
        self._start()

    def _start(self) -> None:
        """Free points by themselves, telling ones that pay with delta, and the best constant output."""
        pair, n = self.pair, self.pair.n
        if pair.weight is None:
            self._add(np.ones(1), [(self.worst, np.zeros(self.worst.size, dtype=np.int64), -np.ones(self.worst.size))])
            self.solver.changeColBounds(0, -INFINITE, INFINITE)  # so that the weights of the laws sum to 1
        self.unit_points = np.concatenate([pair.free, *(pair.tellers if self.spent.size else ())])
        self.first_unit = self.columns
        entries = [(self.unit_points, np.arange(self.unit_points.size), np.ones(self.unit_points.size))]
        for side in range(self.spent.size):
            place = np.flatnonzero(np.isin(self.unit_points, pair.tellers[side]))
            row = np.broadcast_to(self.spent[side], place.shape)
            entries.append((row, place, pair.rate[side, self.unit_points[place]]))
        points = self.unit_points
        self._priced(points[:, None], pair.best[points][:, None], np.ones((points.size, 1)), entries)
        weight = pair.law.mean(axis=0) if pair.weight is None else pair.weight
        self.constant = int(np.argmin(weight @ pair.loss))
        self.constant_at = self.columns
        everywhere = np.arange(n)
        ones = (everywhere, np.zeros(n, dtype=np.int64), np.ones(n))
        self._priced(everywhere[None], np.full((1, n), self.constant), np.ones((1, n)), [ones])

    def add(self, rays: Rays) -> None:
        """Let the program use these rays."""
        if not len(rays):
            return
        place = np.arange(len(rays))
        entries = [(rays.teller, place, rays.told), (rays.partner, place, rays.hidden)]
        points = np.stack([rays.teller, rays.partner], axis=1)
        self.ray_columns = np.concatenate([self.ray_columns, self.columns + place])
        self._priced(points, np.repeat(rays.output[:, None], 2, axis=1), np.stack([rays.told, rays.hidden], 1), entries)
        self.rays = self.rays.plus(rays)

    def hold(self, lowest: Floats, highest: Floats) -> None:
        """Keep the potentials between two limits, infinite ones too: stabilised columns (du Merle et al. 1999)."""
        cost = np.concatenate([highest, -lowest]) / self.pair.scale
        held = np.isfinite(cost)
        cost[~held] = 0.0
        if not self.box.size:
            self.box = self.columns + np.arange(cost.size)
            n, place = self.pair.n, np.arange(cost.size)
            self._add(cost, [(place % n, place, np.repeat([1.0, -1.0], n))])
        places = self.box.astype(np.int32)
        self.solver.changeColsCost(places.size, places, cost * self.finer)
        self.solver.changeColsBounds(places.size, places, np.zeros(places.size), np.where(held, INFINITE, 0.0))

    def release(self) -> None:
        """Let the potentials go where they want."""
        zero = np.zeros(self.box.size)
        self.solver.changeColsBounds(self.box.size, self.box.astype(np.int32), zero, zero)

    def sharpen(self) -> None:
        """Costs 2^12 times as large from now on: the tolerance of the solver is absolute."""
        self.finer = _FINER
        cost = np.concatenate(self.costs) * self.finer
        self.solver.changeColsCost(self.columns, np.arange(self.columns, dtype=np.int32), cost)

    def solve(self) -> State:
        """Potentials and value with the rays known so far: the dual simplex method from nothing, the primal one from
        the last basis, which new rays leave feasible."""
        answer = run(self.solver)
        self.solver.setOptionValue("simplex_strategy", _PRIMAL)
        self.x = answer.x
        unit = self.pair.scale / self.finer
        u = answer.y[: self.pair.n] * unit
        eta = np.zeros(2)
        eta[: self.spent.size] = np.clip(-answer.y[self.spent] * unit, 0.0, None)
        strain = self.x[self.box].reshape(-1, self.pair.n).sum(axis=0) > _STRAIN
        if self.pair.weight is not None:
            return State(u, eta, self.pair.weight, None, answer.value * unit, strain)
        mix = np.clip(-answer.y[self.worst], 0.0, None)
        mix /= mix.sum()
        return State(u, eta, mix @ self.pair.law, mix, answer.value * unit, strain)

    def matrix(self) -> Floats:
        """The channel of the last solution."""
        units = np.zeros(self.pair.n)
        units[self.unit_points] = self.x[self.first_unit : self.first_unit + self.unit_points.size]
        constant = np.zeros(self.pair.loss.shape[1])
        constant[self.constant] = self.x[self.constant_at]
        used = self.x[self.ray_columns]
        return self.pair.matrix(self.rays.take(used > 0), used[used > 0], units, constant)

    def reduced(self, rays: Rays, state: State) -> Floats:
        """Cost of each ray less what the potentials pay for it."""
        paid = rays.told * state.u[rays.teller] + rays.hidden * state.u[rays.partner]
        return rays.cost(self.pair, state.weight) - paid

    @property
    def unit(self) -> float:
        """The least reduced cost that the solver can tell from zero."""
        return TOLERANCE * self.pair.scale / self.finer

    def _priced(self, points: Ints, outputs: Ints, entries: Floats, rows: list[tuple[Ints, Ints, Floats]]) -> None:
        """Add columns that send these points to these outputs, with their loss as cost or in the rows of the laws."""
        loss = entries * self.pair.loss[points, outputs]
        if self.pair.weight is not None:
            self._add((self.pair.weight[points] * loss).sum(axis=1) / self.pair.scale, rows)
            return
        for s, row in enumerate(self.worst):
            cost = (self.pair.law[s][points] * loss).sum(axis=1) / self.pair.scale
            rows = [*rows, (np.broadcast_to(row, cost.shape), np.arange(cost.size), cost)]
        self._add(np.zeros(len(points)), rows)

    def _add(self, cost: Floats, entries: list[tuple[Ints, Ints, Floats]]) -> None:
        row, column, value = (np.concatenate([entry[k] for entry in entries]) for k in range(3))
        row, column, value = (part[value != 0] for part in (row, column, value))
        order = np.argsort(column, kind="stable")
        start = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=cost.size))))[:-1]
        self.solver.addCols(
            cost.size,
            cost * self.finer,
            np.zeros(cost.size),
            np.full(cost.size, INFINITE),
            value.size,
            start.astype(np.int32),
            row[order].astype(np.int32),
            value[order].astype(np.float64),
        )
        self.costs.append(cost)
        self.columns += cost.size
