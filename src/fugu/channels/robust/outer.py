"""Sets of laws with flat faces around any set: what a linear program can hold."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Box, Intersection
from fugu.laws.sets.law_set import LawSet

_STEPS = 60


def outer_sets(law: LawSet) -> list[LawSet]:
    """Boxes, bands, total variation balls and hulls whose intersection holds the set; it is the set, except for
    Kullback-Leibler balls, which get a box and a ball: TV <= sqrt(radius / 2) (Pinsker)."""
    parts = list(law.sets) if isinstance(law, Intersection) else [law]
    found: list[LawSet] = []
    for part in parts:
        if isinstance(part, Ball) and part.distance == "kl":
            found.append(_box_around(part))
            found.append(Ball(part.centre(), min(1.0, math.sqrt(part.radius / 2) * (1 + 1e-12))))
        else:
            found.append(part)
    return found


def provable(laws: tuple[Masses | LawSet, ...]) -> list[tuple[Masses | LawSet, ...]]:
    """The laws with sets around them whose `top` is exact: an intersection with balls or hulls proves no more than the
    best of its parts, so each part is tried. One entry if every set is such a set already."""
    choices = [_parts(law) for law in laws]
    return [tuple(parts[min(i, len(parts) - 1)] for parts in choices) for i in range(max(map(len, choices), default=1))]


def round_ball(law: Masses | LawSet) -> Ball | None:
    """The Kullback-Leibler ball of a set that is one; None for all others."""
    return law if isinstance(law, Ball) and law.distance == "kl" else None


def _parts(law: Masses | LawSet) -> list[Masses | LawSet]:
    if not isinstance(law, Intersection) or law.exact:
        return [law]
    limits = [*law.boxes, *law.bands]
    return [*([Intersection(limits)] if limits else []), *law.others]


def _box_around(ball: Ball) -> Box:
    """Each p(x) with kl(c(x), p(x)) <= radius: joining all other values brings no two laws farther apart."""
    centre = ball.weights
    lower = np.array([_end(c, ball.radius, -1) for c in centre.tolist()])
    upper = np.array([_end(c, ball.radius, 1) for c in centre.tolist()])
    return Box(ball.values, np.clip(lower * (1 - 1e-9), 0, 1), np.clip(upper * (1 + 1e-9), 0, 1))


@cache
def _end(c: float, radius: float, side: int) -> float:
    """The p farthest from c on one side with c ln(c / p) + (1 - c) ln((1 - c) / (1 - p)) <= radius, by bisection; the
    end that is too far is kept."""
    inside, outside = c, (1.0 if side > 0 else 0.0)
    if (side > 0 and c == 1) or (side < 0 and c == 0):
        return c
    for _ in range(_STEPS):
        p = (inside + outside) / 2
        if _divergence(c, p) <= radius:
            inside = p
        else:
            outside = p
    return outside


def _divergence(c: float, p: float) -> float:
    left = c * math.log(c / p) if c > 0 else 0.0
    return left + ((1 - c) * math.log((1 - c) / (1 - p)) if c < 1 else 0.0)
