"""Rays to begin with: each telling point with the points that hide it most cheaply or stand nearest."""

from __future__ import annotations

import numpy as np

from fugu.channels.rays.pair import Floats, Ints, Pair, Rays

NEAR = 2
"""Neighbours on each side."""


def nearest(pair: Pair, weight: Floats, count: int = NEAR) -> Rays:
    """For points in order: every telling point with the next partners on both sides, and every partner with the next
    telling points; the output is the best one of the point that weighs more."""
    found = []
    for side in (0, 1):
        tell, hide = pair.tellers[side], pair.partners[side]
        if tell.size and hide.size:
            found.append(_with_side(side, *_next(tell, hide, count)))
            x, h = _next(hide, tell, count)
            found.append(_with_side(side, h, x))
    if not found:
        return Rays.none()
    return at_better_end(pair, weight, *(np.concatenate(parts) for parts in zip(*found, strict=True)))


def at_better_end(pair: Pair, weight: Floats, side: Ints, teller: Ints, partner: Ints) -> Rays:
    """These rays at the best output of one of their two points, each once."""
    ends = [Rays.of(pair, side, teller, partner, pair.best[end]) for end in (teller, partner)]
    costs = [rays.cost(pair, weight) for rays in ends]
    output = np.where(costs[0] <= costs[1], ends[0].output, ends[1].output)
    return once(pair, Rays.of(pair, side, teller, partner, output))


def once(pair: Pair, rays: Rays) -> Rays:
    """Each ray once, in a fixed order."""
    _, first = np.unique(rays.keys(pair), return_index=True)
    return rays.take(first)


def _with_side(side: int, teller: Ints, partner: Ints) -> tuple[Ints, Ints, Ints]:
    return np.full(teller.size, side), teller, partner


def _next(of: Ints, among: Ints, count: int) -> tuple[Ints, Ints]:
    """Every point of one list with the next `count` points of another, before and after it."""
    middle = np.searchsorted(among, of)
    places = middle[:, None] + np.arange(-count, count)
    inside = (places >= 0) & (places < among.size)
    return np.broadcast_to(of[:, None], places.shape)[inside], among[places[inside]]
