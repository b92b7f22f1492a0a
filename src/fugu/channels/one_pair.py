"""One pair of laws: the best channel from rays added where they pay, also for labels without an order."""

from __future__ import annotations

import numpy as np

from fugu.channels.pricing import Master, MasterState, bound, cheapest, prices
from fugu.channels.problem import Prices, RoughChannel
from fugu.channels.program import INFINITE, Floats, Ints, PointLaws, Program
from fugu.channels.rays import PointPair, Rays, is_far, lifted, merged, nearest, once, spread
from fugu.errors import NotProvable
from fugu.progress import on_time, report

_SMALL = 40
"""Points that need no coarser problem."""
_COARSE_GAP = 1e-5
_WIDTH, _BASE, _GROWTH = 0.03, 0.01, 2.0
"""The box around the first potentials: 3 % of each (and of a hundredth of their mean); twice as wide where they
strain."""
_NOTHING = 1e-6
_FEW = 0.04
"""Below this share of straining points the box is taken away."""
_MANY, _PROGRESS = 6, 1e-9
"""Rays for each point, above which the dearest half is forgotten if the value has fallen since."""
_ROUNDS = 1000


def solve_pair(laws: PointLaws, c: int) -> RoughChannel:
    """The best channel where only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    problem, pair = laws.problem, PointPair.of(laws, c)
    if is_zero_one(pair):
        return solve_zero_one(laws, pair, c)
    search = RaySearch(pair)
    state = search.run()
    matrix = laws.spread(search.master.matrix())
    ratio = np.zeros((len(laws.problem.ordered()), problem.m))
    ratio[c : c + 2] = prices(pair, state)
    return laws.found(matrix, Prices(ratio=ratio, mix=state.mix))


class RaySearch:
    """Column generation for one pair, from a coarser problem where telling points stand together."""

    def __init__(self, pair: PointPair, far: bool | None = None) -> None:
        self.pair, self.master = pair, Master(pair)
        self.far = is_far(pair) if far is None else far
        self.known = np.zeros(0, dtype=np.int64)
        self.turn, self.lowest_value = 0, np.inf

    def run(self, gap: float = 0.0) -> MasterState:
        """Add rays until none pays, or until the value is about this close to the optimum, relatively."""
        if self.far and self.pair.n > _SMALL:
            self._start_from_coarse()
        else:
            self._start_near()
        state = self._rounds(gap)
        if gap:
            return state
        self.master.release()  # once more with finer tolerances, for rare points
        self.master.sharpen()
        try:
            return self._rounds(0.0)
        except NotProvable:  # finer than rounding: what was found stays
            return state

    def _rounds(self, gap: float) -> MasterState:
        pair, master = self.pair, self.master
        while self.turn < _ROUNDS:
            on_time()
            report(f"rays between {pair.n:,} points", self.turn, max(self.turn + 1, 40))
            self.turn += 1
            state = master.solve()
            rays = once(pair, cheapest(pair, state))
            reduced = master.reduced(rays, state)
            mass = rays.told * pair.mass[rays.teller] + rays.hidden * pair.mass[rays.partner]
            short = min(0.0, float(np.min(reduced / np.maximum(mass, 1e-300), initial=0.0)))
            rays = rays.take(reduced < -master.unit)
            rays = rays.take(~np.isin(rays.keys(pair), self.known))
            if not state.strain.any() and (not len(rays) or -short <= gap * state.value):
                return state
            self._ease(state)
            if len(master.rays) > _MANY * pair.n and state.value < self.lowest_value:
                # the dearest half of the rays, except those in use; only after progress, so that it ends
                self.lowest_value, reduced = state.value * (1 - _PROGRESS), master.reduced(master.rays, state)
                idle = (reduced > max(float(np.median(reduced)), master.unit)) & (master.x[master.ray_columns] == 0)
                self.known = self.known[~np.isin(self.known, master.rays.take(idle).keys(pair))]
                master.forget(idle)
            self._add(rays)
        raise NotProvable(f"no channel was found in {_ROUNDS} rounds")

    def _add(self, rays: Rays) -> None:
        self.master.add(rays)
        self.known = np.concatenate([self.known, rays.keys(self.pair)])

    def _start_near(self) -> None:
        """Neighbours, and no potential above what a telling point can cost at worst."""
        pair = self.pair
        weight = pair.law.mean(axis=0) if pair.weight is None else pair.weight
        self._add(nearest(pair, weight))
        tells = np.any(pair.rate > 0, axis=0)
        self.width = np.where(tells, weight * pair.loss.max(axis=1) + pair.scale * 1e-3, np.inf)
        self.lowest, self.highest = np.full(pair.n, -np.inf), self.width.copy()
        self.master.hold(self.lowest, self.highest)

    def _start_from_coarse(self) -> None:
        """The rays and the potentials of the problem with points merged by twos."""
        pair, coarse = self.pair, RaySearch(merged(self.pair), far=True)
        guide = coarse.run(_COARSE_GAP)
        price = spread(prices(coarse.pair, guide), pair.loss.shape[1])
        weight = guide.mix @ pair.law if guide.mix is not None else pair.weight
        assert weight is not None
        nowhere = np.zeros(pair.n, dtype=np.bool_)
        _, u = bound(pair, MasterState(np.zeros(pair.n), guide.eta, weight, guide.mix, 0.0, nowhere), price)
        if np.abs(u).mean() < _NOTHING * pair.scale:  # merged, nothing tells: there is nothing to learn
            self._start_near()
            return
        start = MasterState(u, guide.eta, weight, guide.mix, 0.0, nowhere)
        self._add(
            once(
                pair,
                cheapest(pair, start)
                .plus(lifted(pair, weight, coarse.master.used()[0]))
                .plus(nearest(pair, weight, 1)),
            )
        )
        self.width = _WIDTH * (np.abs(u) + _BASE * np.abs(u).mean())
        self.lowest, self.highest = u - self.width, u + self.width
        self.master.hold(self.lowest, self.highest)

    def _ease(self, state: MasterState) -> None:
        """Move and widen the box where potentials strain at it; take it away when few do."""
        strain = state.strain
        if not strain.any():
            return
        if strain.sum() <= _FEW * self.pair.n:
            self.master.release()
            return
        self.width[strain] *= _GROWTH
        self.lowest = np.where(strain & np.isfinite(self.lowest), state.u - self.width, self.lowest)
        self.highest = np.where(strain, state.u + self.width, self.highest)
        self.master.hold(self.lowest, self.highest)


# One pair of laws and labels without an order: every mistake costs the same, so all partners are alike.
#
# A unit of a telling point is moved to its partner (cost w) or kept while the partner moves to it (cost of the
# partner); a unit of a partner is kept or moves. Only four sums must agree, for both sides and both roles:
#
#     sum_h a_h moved_h = sum_x |a_x| kept_x,     sum_h a_h kept_h = sum_x |a_x| moved_x,
#
# so the program has n + 4 rows (two more for delta) and O(n) columns, and any way to pair the units up is as good.


_LARGEST_RATE = 1e8


def is_zero_one(pair: PointPair) -> bool:
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


def solve_zero_one(laws: PointLaws, pair: PointPair, c: int) -> RoughChannel:
    """The best channel where only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    roles, found = _Roles(pair), []
    assert pair.weight is not None
    for x, y, value in roles.answers(roles.cost):
        u, dual = y[: pair.n] * pair.scale, y[pair.n + 4 :] * pair.scale
        eta = np.zeros(2)
        eta[: dual.size] = np.clip(-dual, 0.0, None)
        state = MasterState(u, eta, pair.weight, None, value * pair.scale, np.zeros(pair.n, dtype=np.bool_))
        ratio = np.zeros((len(laws.problem.ordered()), laws.problem.m))
        ratio[c : c + 2] = prices(pair, state)
        found.append(laws.found(laws.spread(roles.matrix(np.clip(x, 0.0, None))), Prices(ratio=ratio)))
    return min(found, key=laws.shortfall)


class _Roles(Program):
    """min sum w moved, each point in roles that sum to 1, the four sums, and delta. Columns: units that need no
    partner, then telling points and partners that move or stay."""

    def __init__(self, pair: PointPair) -> None:
        super().__init__()
        self.pair = pair
        assert pair.weight is not None
        self.alone = np.concatenate([pair.free, *(pair.tellers if pair.delta > 0 else ())])
        units, points = self.variables(np.zeros(self.alone.size)), self.rows(pair.n, 1.0, 1.0)
        self.enter(points[self.alone], units, 1.0)
        self.sums: list[list[tuple[Ints, Floats, bool, Ints]]] = []
        """For each of the four sums, of telling points and of partners: points, rates, whether they move, columns."""
        costs = [np.zeros(units.size)]
        for side in (0, 1):
            for moved in (True, False):
                row = pair.n + 2 * side + moved
                two = ((pair.tellers[side], moved), (pair.partners[side], not moved))
                self.sums.append([(x, pair.rate[side, x], moves, self.variables(np.zeros(x.size))) for x, moves in two])
                for x, rate, moves, columns in self.sums[-1]:
                    self.enter(x, columns, 1.0)
                    self.enter(np.array(row), columns, rate)
                    costs.append(pair.weight[x] / pair.scale if moves else np.zeros(x.size))
        self.rows(4, 0.0, 0.0)
        self.cost = np.concatenate(costs)
        for side in (0, 1) if pair.delta > 0 else ():
            spent = np.clip(pair.rate[side, self.alone], 0.0, None)
            self.enter(self.rows(1, -INFINITE, pair.delta), units, spent)

    def matrix(self, amount: Floats) -> Floats:
        """The channel: the units of each sum are paired up in the order of the points, at the output of the one that
        stays."""
        own = self.pair.best
        found = np.zeros(self.pair.loss.shape)
        np.add.at(found, (self.alone, own[self.alone]), amount[: self.alone.size])
        for two in self.sums:
            ends = [np.cumsum(np.abs(rate) * amount[columns]) for _, rate, _, columns in two]
            if not ends[0].size or not ends[1].size:
                continue
            cuts = np.unique(np.concatenate([[0.0], *ends]))
            middle, length = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts)
            places = [np.minimum(np.searchsorted(end, middle), end.size - 1) for end in ends]
            stays = 1 if two[0][2] else 0
            output = own[two[stays][0][places[stays]]]
            for (points, rate, _, _), place in zip(two, places, strict=True):
                np.add.at(found, (points[place], output), length / np.abs(rate[place]))
        return found
