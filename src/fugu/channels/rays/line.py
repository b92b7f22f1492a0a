"""Pricing of rays on a line with the distance as loss: a ray goes to the end that weighs more.

A ray of side a with telling point h and partner x costs |h - x| min(w_h / a_h, w_x / |a_x|) for each unit, so the
outputs need not be looked at.
"""

from __future__ import annotations

import numpy as np

from fugu.channels.rays.master import State
from fugu.channels.rays.pair import Floats, Ints, Pair, Rays
from fugu.channels.rays.start import at_better_end

_BLOCK = 1 << 22


def cheapest_on_line(pair: Pair, state: State, points: Floats) -> Rays:
    """For every telling point and every partner the ray of least reduced cost, whatever its sign."""
    found = [_of_side(pair, state, points, side) for side in (0, 1) if pair.tellers[side].size]
    side, teller, partner = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return at_better_end(pair, state.weight, side, teller, partner)


def _of_side(pair: Pair, state: State, points: Floats, side: int) -> tuple[Ints, Ints, Ints]:
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
