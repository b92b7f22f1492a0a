"""Which rays are worth adding at given potentials, and the prices of the promise that the potentials stand for.

For an output y the two points of a ray separate: with R(x, y) = w_x loss(x, y) - u_x, the cheapest ray of side a at y
costs min_h R(h, y) / a_h + min_x R(x, y) / |a_x| for each unit. So all rays at all outputs are priced in O(n m), for
any loss.
"""

from __future__ import annotations

import numpy as np

from fugu.channels.rays.line import cheapest_on_line
from fugu.channels.rays.master import State
from fugu.channels.rays.pair import Floats, Ints, Pair, Rays

_BLOCK = 1 << 22
"""Cells looked at together."""


def cheapest(pair: Pair, state: State) -> Rays:
    """For every telling point, every partner and every output the ray of least reduced cost, whatever its sign."""
    if pair.points is not None:
        return cheapest_on_line(pair, state, pair.points)
    found = [_cheapest_of_side(pair, state, side) for side in (0, 1) if pair.tellers[side].size]
    places = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return Rays.of(pair, *places)


def _cheapest_of_side(pair: Pair, state: State, side: int) -> tuple[Ints, Ints, Ints, Ints]:
    tell, hide, m = pair.tellers[side], pair.partners[side], pair.loss.shape[1]
    told = _Best(tell.size)
    hidden = _Best(hide.size)
    at_output = []
    step = max(1, _BLOCK // pair.n)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        r = state.weight[:, None] * pair.loss[:, columns] - state.u[:, None]
        up = r[tell] / pair.rate[side, tell][:, None]
        down = r[hide] / -pair.rate[side, hide][:, None]
        h, x = np.argmin(up, axis=0), np.argmin(down, axis=0)
        places = np.arange(h.size)
        told.offer(up + down[x, places], x, first)
        hidden.offer(down + up[h, places], h, first)
        at_output.append((h, x, first + places))
    h, x, y = (np.concatenate(parts) for parts in zip(*at_output, strict=True))
    teller = np.concatenate([tell, tell[hidden.other], tell[h]])
    partner = np.concatenate([hide[told.other], hide, hide[x]])
    output = np.concatenate([told.output, hidden.output, y])
    return np.full(teller.size, side), teller, partner, output


class _Best:
    """The best output and companion of each point, over blocks of outputs."""

    def __init__(self, size: int) -> None:
        self.value = np.full(size, np.inf)
        self.output, self.other = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)

    def offer(self, sums: Floats, companion: Ints, first: int) -> None:
        place = np.argmin(sums, axis=1)
        value = sums[np.arange(place.size), place]
        better = value < self.value
        self.value[better] = value[better]
        self.output[better] = first + place[better]
        self.other[better] = companion[place[better]]


def prices(pair: Pair, state: State) -> Floats:
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
    return max(offers, key=lambda price: bound(pair, state, price)[0])


def bound(pair: Pair, state: State, price: Floats) -> tuple[float, Floats]:
    """The lower bound of Theorem 3 at these prices, and its parts min_y [w_x loss + alpha_y a_x + beta_y b_x]."""
    m = pair.loss.shape[1]
    parts = np.full(pair.n, np.inf)
    step = max(1, _BLOCK // pair.n)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        cells = state.weight[:, None] * pair.loss[:, columns] + pair.rate.T @ price[:, columns]
        np.minimum(parts, cells.min(axis=1), out=parts)
    return float(parts.sum()) - pair.delta * float(price.max(axis=1).sum()), parts
