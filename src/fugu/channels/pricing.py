"""The linear program over the rays that are known so far, and which rays are worth adding to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.channels.program import INFINITE, TOLERANCE, Floats, Ints, add_columns, new_solver, run
from fugu.channels.rays import PointPair, Rays, at_better_end

_FINER = 2.0**12
_STRAIN = 1e-9
_DUAL, _PRIMAL = 1, 4  # strategies of the solver


@dataclass(frozen=True, eq=False)
class MasterState:
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

    def __init__(self, pair: PointPair) -> None:
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
        self.x = np.zeros(0)
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

    def forget(self, rays: NDArray[np.bool_]) -> None:
        """Take rays out that the last solution does not use; the basis stays."""
        import highspy

        kept = np.ones(self.columns, dtype=np.bool_)
        kept[self.ray_columns[rays]] = False
        basis = self.solver.getBasis()
        status, smaller = list(basis.col_status), highspy.HighsBasis()
        gone = np.flatnonzero(~kept).astype(np.int32)
        self.solver.deleteCols(gone.size, gone)
        smaller.col_status = [status[k] for k in np.flatnonzero(kept)]
        smaller.row_status = list(basis.row_status)
        smaller.valid = True
        self.solver.setBasis(smaller)
        moved = np.cumsum(kept) - 1
        self.rays, self.ray_columns = self.rays.take(~rays), moved[self.ray_columns[~rays]]
        self.box, self.x, self.columns = moved[self.box], self.x[kept], int(kept.sum())
        self.costs = [np.concatenate(self.costs)[kept]]

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

    def solve(self) -> MasterState:
        """Potentials and value with the rays known so far: the dual simplex method from nothing, the primal one from
        the last basis, which new rays leave feasible."""
        self.x, y, value = run(self.solver)
        self.solver.setOptionValue("simplex_strategy", _PRIMAL)
        unit = self.pair.scale / self.finer
        u = y[: self.pair.n] * unit
        eta = np.zeros(2)
        eta[: self.spent.size] = np.clip(-y[self.spent] * unit, 0.0, None)
        strain = self.x[self.box].reshape(-1, self.pair.n).sum(axis=0) > _STRAIN
        if self.pair.weight is not None:
            return MasterState(u, eta, self.pair.weight, None, value * unit, strain)
        mix = np.clip(-y[self.worst], 0.0, None)
        mix /= mix.sum()
        return MasterState(u, eta, mix @ self.pair.law, mix, value * unit, strain)

    def matrix(self) -> Floats:
        """The channel of the last solution."""
        units = np.zeros(self.pair.n)
        units[self.unit_points] = self.x[self.first_unit : self.first_unit + self.unit_points.size]
        constant = np.zeros(self.pair.loss.shape[1])
        constant[self.constant] = self.x[self.constant_at]
        used, amount = self.used()
        return self.pair.matrix(used, amount, units, constant)

    def used(self) -> tuple[Rays, Floats]:
        """The rays of the last solution and how much of each; rays that came after it are not in it."""
        amount = np.zeros(len(self.rays))
        solved = self.ray_columns < self.x.size
        amount[solved] = self.x[self.ray_columns[solved]]
        return self.rays.take(amount > 0), amount[amount > 0]

    def reduced(self, rays: Rays, state: MasterState) -> Floats:
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
        start = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=cost.size))))
        columns = start.astype(np.int32), row[order].astype(np.int32), value[order].astype(np.float64)
        add_columns(self.solver, cost * self.finer, columns)
        self.costs.append(cost)
        self.columns += cost.size


# Which rays are worth adding at given potentials, and the prices of the promise that the potentials stand for.
#
# For an output y the two points of a ray separate: with R(x, y) = w_x loss(x, y) - u_x, the cheapest ray of side a at y
# costs min_h R(h, y) / a_h + min_x R(x, y) / |a_x| for each unit. So all rays at all outputs are priced in O(n m), for
# any loss.


_BLOCK = 1 << 22
"""Cells looked at together."""
_ROUNDING = 1e-12


def cheapest(pair: PointPair, state: MasterState) -> Rays:
    """For every telling point, every partner and every output the ray of least reduced cost, whatever its sign."""
    of_side = _cheapest_of_side if pair.points is None else _cheapest_on_line
    found = [of_side(pair, state, side) for side in (0, 1) if pair.tellers[side].size]
    if not found:
        return Rays.none()
    parts = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return Rays.of(pair, *parts) if pair.points is None else at_better_end(pair, state.weight, *parts)


def _cheapest_of_side(pair: PointPair, state: MasterState, side: int) -> tuple[Ints, ...]:
    tell, hide, m = pair.tellers[side], pair.partners[side], pair.loss.shape[1]
    told, hidden, at_output = [], [], []
    step = max(1, _BLOCK // pair.n)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        r = state.weight[:, None] * pair.loss[:, columns] - state.u[:, None]
        up = r[tell] / pair.rate[side, tell][:, None]
        down = r[hide] / -pair.rate[side, hide][:, None]
        h, x = np.argmin(up, axis=0), np.argmin(down, axis=0)
        places = np.arange(h.size)
        told.append(_best(up + down[x, places], x, first))
        hidden.append(_best(down + up[h, places], h, first))
        at_output.append((h, x, first + places))
    h, x, y = (np.concatenate(parts) for parts in zip(*at_output, strict=True))
    (to_tell, with_tell), (to_hide, with_hide) = (_best_of(blocks) for blocks in (told, hidden))
    teller = np.concatenate([tell, tell[with_hide], tell[h]])
    partner = np.concatenate([hide[with_tell], hide, hide[x]])
    return np.full(teller.size, side), teller, partner, np.concatenate([to_tell, to_hide, y])


def _best(sums: Floats, companion: Ints, first: int) -> tuple[Floats, Ints, Ints]:
    """For each point the least sum in a block of outputs, at which output, and with which companion."""
    place = np.argmin(sums, axis=1)
    return sums[np.arange(place.size), place], first + place, companion[place]


def _best_of(blocks: list[tuple[Floats, Ints, Ints]]) -> tuple[Ints, Ints]:
    """The output and the companion of each point in the block where its sum is least; the first of equal ones."""
    value, output, companion = (np.stack(parts) for parts in zip(*blocks, strict=True))
    block, point = np.argmin(value, axis=0), np.arange(value.shape[1])
    return output[block, point], companion[block, point]


def prices(pair: PointPair, state: MasterState) -> Floats:
    """alpha and beta of every output (2, outputs) from the potentials; any prices >= 0 bound the optimum.

    The telling points need alpha >= max_h -R(h, y) / a_h, and the partners can pay alpha <= min_x R(x, y) / |a_x|. At
    feasible potentials the first is not above the second, and only one of alpha, beta is positive (both would need
    alpha >= e^epsilon beta and the reverse). Where rounding says otherwise the better of need and limit is kept.
    """
    m = pair.loss.shape[1]
    need, limit = np.zeros((2, m)), np.full((2, m), np.inf)
    step = max(1, _BLOCK // pair.n)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        r = state.weight[:, None] * pair.loss[:, columns] - state.u[:, None]
        for side in (0, 1):
            tell, hide = pair.tellers[side], pair.partners[side]
            if tell.size and hide.size:
                need[side, columns] = -np.min(r[tell] / pair.rate[side, tell][:, None], axis=0)
                limit[side, columns] = np.min(r[hide] / -pair.rate[side, hide][:, None], axis=0)
    need = np.clip(need, 0.0, state.eta[:, None] if pair.delta > 0 else np.inf)
    moved = need * np.clip(pair.rate, 0, None).sum(axis=1)[:, None]
    need[moved < moved.max(axis=0)] = 0.0
    offers = [need, np.minimum(need, np.clip(limit, 0.0, None))]
    if np.all(need - offers[1] <= _ROUNDING * need.max()):
        return np.asarray(offers[1])
    return max(offers, key=lambda price: bound(pair, state, price)[0])


def bound(pair: PointPair, state: MasterState, price: Floats) -> tuple[float, Floats]:
    """What any prices prove: no channel loses less than the sum of min_y [w_x loss + alpha_y a_x + beta_y b_x] over the
    points less what the prices ask for delta. Returns that bound and the parts of the sum."""
    m = pair.loss.shape[1]
    parts = np.full(pair.n, np.inf)
    step = max(1, _BLOCK // pair.n)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        cells = state.weight[:, None] * pair.loss[:, columns] + pair.rate.T @ price[:, columns]
        np.minimum(parts, cells.min(axis=1), out=parts)
    return float(parts.sum()) - pair.delta * float(price.max(axis=1).sum()), parts


# Pricing of rays on a line with the distance as loss: a ray goes to the end that weighs more.
#
# A ray of side a with telling point h and partner x costs |h - x| min(w_h / a_h, w_x / |a_x|) for each unit, so the
# outputs need not be looked at.


def _cheapest_on_line(pair: PointPair, state: MasterState, side: int) -> tuple[Ints, ...]:
    """For every telling point and every partner the ray of least reduced cost, whatever its sign."""
    points = pair.points
    assert points is not None
    tell, hide = pair.tellers[side], pair.partners[side]
    up, down = pair.rate[side, tell], -pair.rate[side, hide]
    dear, spare = state.weight[tell] / up, state.weight[hide] / down
    paid, earned = state.u[tell] / up, state.u[hide] / down
    best_partner = np.zeros(tell.size, dtype=np.int64)
    best_teller, least = np.zeros(hide.size, dtype=np.int64), np.full(hide.size, np.inf)
    for first in range(0, tell.size, max(1, _BLOCK // hide.size)):
        rows = slice(first, first + max(1, _BLOCK // hide.size))
        value = np.abs(points[tell[rows], None] - points[hide])
        value *= np.minimum(dear[rows, None], spare)
        value -= paid[rows, None]
        value -= earned
        best_partner[rows] = value.argmin(axis=1)
        here = value.argmin(axis=0)
        lower = value[here, np.arange(hide.size)]
        better = lower < least
        least[better], best_teller[better] = lower[better], first + here[better]
    teller, partner = np.concatenate([tell, tell[best_teller]]), np.concatenate([hide[best_partner], hide])
    return np.full(teller.size, side), teller, partner
