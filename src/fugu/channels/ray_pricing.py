"""Which rays are worth adding at given potentials, and the prices of the promise that the potentials stand for.

For an output y the two points of a ray separate: with R(x, y) = w_x loss(x, y) - u_x, the cheapest ray of side a at y
costs min_h R(h, y) / a_h + min_x R(x, y) / |a_x| for each unit. So all rays at all outputs are priced in O(n m), for
any loss.
"""

from __future__ import annotations

import numpy as np

from fugu.channels.ray_line import cheapest_on_line
from fugu.channels.ray_master import State
from fugu.channels.rays import Floats, Ints, Pair, Rays

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
    """alpha and beta of every output (2, outputs) from the potentials: the most that the partners can pay.

    Any prices >= 0 bound the optimum. At feasible potentials the telling points need alpha >= max_h -R(h, y) / a_h, and
    the partners can pay alpha <= min_x R(x, y) / |a_x|; where the potentials are not quite feasible the partners decide,
    since telling points are lighter.
    """
    m = pair.loss.shape[1]
    found = np.zeros((2, m))
    step = max(1, _BLOCK // pair.n)
    up, down = np.clip(pair.rate, 0, None), np.clip(-pair.rate, 0, None)
    for first in range(0, m, step):
        columns = slice(first, min(first + step, m))
        r = state.weight[:, None] * pair.loss[:, columns] - state.u[:, None]
        need = np.zeros((2, r.shape[1]))
        for _ in range(3):
            for side in (0, 1):
                tell = pair.tellers[side]
                if tell.size:
                    left = r[tell] - down[1 - side, tell][:, None] * need[1 - side]
                    need[side] = np.clip(-np.min(left / up[side, tell][:, None], axis=0), 0.0, None)
        found[:, columns] = need
    limit = state.eta if pair.delta > 0 else np.full(2, np.inf)
    return np.minimum(found, limit[:, None])


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
