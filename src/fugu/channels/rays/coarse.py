"""Coarse to fine: the problem with neighbours merged by twos says where far rays go, and about what a point costs.

Only a guide. What is merged may differ as it likes from the problem itself: the search ends when all rays of the
problem itself are priced.
"""

from __future__ import annotations

import numpy as np

from fugu.channels.rays.pair import Floats, Pair, Rays
from fugu.channels.rays.start import at_better_end

_LOOK = 16
_KEPT = 0.2


def is_far(pair: Pair) -> bool:
    """Whether telling points stand together, so that they are hidden far away: what tells p or q in groups of 16
    neighbours is still a fifth of what tells it point by point."""
    groups = np.arange(0, pair.n, _LOOK)
    merged_rate = np.add.reduceat(pair.rate, groups, axis=1)
    kept, whole = (np.clip(rate, 0, None).sum() for rate in (merged_rate, pair.rate))
    return bool(pair.ordered and kept > _KEPT * whole)


def merged(pair: Pair) -> Pair:
    """The same problem with neighbouring points added up by twos, and every second output."""
    groups = np.arange(0, pair.n, 2)
    weight = pair.law.mean(axis=0) if pair.weight is None else pair.weight
    sums = np.add.reduceat(weight, groups)
    share = weight / np.repeat(np.where(sums > 0, sums, 1.0), 2)[: pair.n]
    share[np.repeat(sums == 0, 2)[: pair.n]] = 0.5
    rate, law = (np.add.reduceat(rows, groups, axis=1) for rows in (pair.rate, pair.law))
    own, mass = None if pair.weight is None else sums, np.add.reduceat(pair.mass, groups)
    if pair.points is not None:
        points = np.add.reduceat(share * pair.points, groups)
        return Pair(rate, np.abs(points[:, None] - points), law, own, mass, pair.delta, points, True)
    loss = np.add.reduceat(share[:, None] * pair.loss[:, ::2], groups, axis=0)
    return Pair(rate, loss, law, own, mass, pair.delta, None, True)


def spread(price: Floats, outputs: int) -> Floats:
    """Prices of every second output, laid out over all of them."""
    return np.array([np.interp(np.arange(outputs), np.arange(0, outputs, 2), row) for row in price])


def lifted(pair: Pair, weight: Floats, rays: Rays) -> Rays:
    """Rays of the merged problem as rays of the problem itself: 2 x 2 for each, as far as they are rays."""
    first, second = (part.ravel() for part in np.meshgrid([0, 1], [0, 1]))
    teller = np.ravel(2 * rays.teller[:, None] + first)
    partner = np.ravel(2 * rays.partner[:, None] + second)
    side = np.repeat(rays.side, 4)
    inside = (teller < pair.n) & (partner < pair.n)
    side, teller, partner = side[inside], teller[inside], partner[inside]
    fits = (pair.rate[side, teller] > 0) & (pair.rate[side, partner] < 0)
    return at_better_end(pair, weight, side[fits], teller[fits], partner[fits])
