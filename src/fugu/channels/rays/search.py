"""One pair of laws: the best channel from two-point columns, added where they pay until none does."""

from __future__ import annotations

import numpy as np

from fugu.channels.point_laws import PointLaws
from fugu.channels.problem import Found, Prices
from fugu.channels.rays.coarse import is_far, lifted, merged, spread
from fugu.channels.rays.master import Master, State
from fugu.channels.rays.pair import Floats, Pair, Rays
from fugu.channels.rays.pricing import bound, cheapest, prices
from fugu.channels.rays.start import nearest, once
from fugu.channels.rays.zero_one import is_zero_one, solve_zero_one
from fugu.errors import NotProvable
from fugu.progress import on_time, report

_SMALL = 40
"""Points that need no coarser problem."""
_COARSE_GAP = 1e-5
_WIDTH, _BASE, _GROWTH = 0.03, 0.01, 2.0
"""The box around the first potentials: 3 % of each (and of a hundredth of their mean); twice as wide where they
strain."""
_FEW = 0.04
"""Below this share of straining points the box is taken away."""
_ROUNDS = 1000


def solve_pair(laws: PointLaws, c: int) -> Found:
    """The best channel where only the pair in rows c and c + 1 of `problem.ordered()` can bind."""
    problem, pair = laws.problem, Pair.of(laws, c)
    if is_zero_one(pair):
        return solve_zero_one(laws, pair, c)
    search = Search(pair)
    state = search.run()
    matrix = np.zeros((problem.n, problem.m))
    matrix[laws.active] = search.master.matrix()
    ratio = np.zeros((len(laws.ordered), problem.m))
    ratio[c : c + 2] = prices(pair, state)
    return laws.found(matrix, Prices(ratio=ratio, mix=state.mix))


class Search:
    """Column generation for one pair, from a coarser problem where telling points stand together."""

    def __init__(self, pair: Pair, far: bool | None = None) -> None:
        self.pair, self.master = pair, Master(pair)
        self.far = is_far(pair) if far is None else far
        self.known = np.zeros(0, dtype=np.int64)

    def run(self, gap: float = 0.0) -> State:
        """Add rays until none pays, or until the value is about this close to the optimum, relatively."""
        if self.far and self.pair.n > _SMALL:
            self._start_from_coarse()
        else:
            self._start_near()
        state = self._rounds(gap)
        return state if gap else self._sharp(state)

    def _sharp(self, state: State) -> State:
        """Once more with finer tolerances, for rare points."""
        self.master.sharpen()
        try:
            return self._rounds(0.0)
        except NotProvable:  # finer than rounding: what was found stays
            return state

    def used(self) -> Rays:
        """The rays of the last solution."""
        return self.master.rays.take(self.master.x[self.master.ray_columns] > 0)

    def _rounds(self, gap: float) -> State:
        pair, master = self.pair, self.master
        for turn in range(_ROUNDS):
            on_time()
            state = master.solve()
            rays = once(pair, cheapest(pair, state))
            reduced = master.reduced(rays, state)
            short = min(0.0, float(np.min(reduced / self._mass(rays))))
            rays = rays.take(reduced < -master.unit)
            rays = rays.take(~np.isin(rays.keys(pair), self.known))
            if not state.strain.any() and (not len(rays) or -short <= gap * state.value):
                return state
            if pair.n > 200:
                report("rays", turn, turn + 1)
            self._ease(state)
            self._add(rays)
        raise NotProvable(f"no channel was found in {_ROUNDS} rounds")

    def _mass(self, rays: Rays) -> Floats:
        mass = self.pair.mass
        return np.maximum(rays.told * mass[rays.teller] + rays.hidden * mass[rays.partner], 1e-300)

    def _add(self, rays: Rays) -> None:
        self.master.add(rays)
        self.known = np.concatenate([self.known, rays.keys(self.pair)])

    def _start_near(self) -> None:
        """Neighbours, and no potential above what a telling point can cost at worst."""
        pair = self.pair
        weight = pair.law.mean(axis=0) if pair.weight is None else pair.weight
        self._add(nearest(pair, weight))
        self.centre, tells = np.zeros(pair.n), np.any(pair.rate > 0, axis=0)
        self.width = np.where(tells, weight * pair.loss.max(axis=1) + pair.scale * 1e-3, np.inf)
        self.lowest, self.highest = np.full(pair.n, -np.inf), self.width.copy()
        self.master.hold(self.lowest, self.highest)

    def _start_from_coarse(self) -> None:
        """The rays and the potentials of the problem with points merged by twos."""
        pair, coarse = self.pair, Search(merged(self.pair), far=True)
        guide = coarse.run(_COARSE_GAP)
        price = spread(prices(coarse.pair, guide), pair.loss.shape[1])
        weight = guide.mix @ pair.law if guide.mix is not None else pair.weight
        assert weight is not None
        nowhere = np.zeros(pair.n, dtype=np.bool_)
        _, u = bound(pair, State(np.zeros(pair.n), guide.eta, weight, guide.mix, 0.0, nowhere), price)
        start = State(u, guide.eta, weight, guide.mix, 0.0, nowhere)
        self._add(
            once(pair, cheapest(pair, start).plus(lifted(pair, weight, coarse.used())).plus(nearest(pair, weight, 1)))
        )
        self.width = _WIDTH * (np.abs(u) + _BASE * np.abs(u).mean())
        self.lowest, self.highest = u - self.width, u + self.width
        self.master.hold(self.lowest, self.highest)

    def _ease(self, state: State) -> None:
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
