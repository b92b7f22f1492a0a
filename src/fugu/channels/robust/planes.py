"""Planes around Kullback-Leibler balls, where a solution needs them.

f(p) = -sum c ln p is convex, so at a law z on the edge of the ball KL(c, p) <= r every p of the ball has
f(z) + f'(z).(p - z) <= f(p) <= f(z), that is sum_x (c_x / z_x) p_x >= 1. The member that a program uses and that lies
outside the ball is cut off by the plane at z on its way from the centre; the program over the smaller set is solved
again, until no member is far outside (Kelley 1960).
"""

from __future__ import annotations

import numpy as np

from fugu.channels.robust.cone import Floats
from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Intersection
from fugu.laws.sets.law_set import LawSet

_STEPS = 50
_OUTSIDE = 1e-6
"""A member whose way to the centre leaves the ball later than this part before its end is not cut off."""
_SAFE = 1e-10
"""Planes are moved outward by this much: the doubles behind them are good to 1e-13."""


def ball_of(law: Masses | LawSet) -> Ball | None:
    """The Kullback-Leibler ball of a set: itself, or the first of an intersection."""
    parts = law.sets if isinstance(law, Intersection) else (law,)
    return next((part for part in parts if isinstance(part, Ball) and part.distance == "kl"), None)


def cuts(ball: Ball, members: Floats) -> Floats:
    """Rows h with h.p >= 1 on the ball that cut off those of the members that lie outside.

    - `ball`: with KL(centre, p) <= radius.
    - `members`: laws, one in each row; rows of zeros are left out.
    """
    centre, laws = ball.weights, members[members.sum(axis=1) > 0.5]
    laws = laws / laws.sum(axis=1, keepdims=True)
    inside, outside = np.zeros(len(laws)), np.ones(len(laws))
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        within = _divergence(centre, centre + middle[:, None] * (laws - centre)) <= ball.radius
        inside, outside = np.where(within, middle, inside), np.where(within, outside, middle)
    edge = (centre + inside[:, None] * (laws - centre))[inside < 1 - _OUTSIDE]
    return _planes(centre, edge)


def touching(ball: Ball, matrix: Floats) -> Floats:
    """Rows h with h.p >= 1 on the ball that touch it at its extreme members for the columns of a channel.

    - `ball`: with KL(centre, p) <= radius.
    - `matrix`: the channel, (points, outputs).
    """
    used = matrix.T[np.ptp(matrix, axis=0) > _OUTSIDE]
    ends = [ball.extreme(sign * column) for column in used for sign in (1.0, -1.0)]
    return _planes(ball.weights, np.array(ends).reshape(-1, ball.size))


def _planes(centre: Floats, edge: Floats) -> Floats:
    """The planes that touch at laws of the edge."""
    seen = centre > 0
    edge = edge[(edge[:, seen] > 0).all(axis=1)]
    rows = np.zeros_like(edge)
    rows[:, seen] = centre[seen] / edge[:, seen] * (1 + _SAFE)
    return rows


def _divergence(centre: Floats, laws: Floats) -> Floats:
    seen = centre > 0
    with np.errstate(divide="ignore"):
        parts = centre[seen] * (np.log(centre[seen]) - np.log(laws[:, seen]))
    total: Floats = parts.sum(axis=1)
    return total
