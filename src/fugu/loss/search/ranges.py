"""How far the values of two laws lie apart, in lattice steps: where a search for a scale begins."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.guarantee.asks import Ask
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.masses import Masses
from fugu.numbers.exact import float_up
from fugu.transport.coupling import monotone


def over(distance: float, epsilon: Fraction) -> float:
    """distance / epsilon, rounded up; 0 for no distance at all, inf for epsilon 0."""
    if distance == 0:
        return 0.0
    return float_up(Fraction(distance) / epsilon) if epsilon else math.inf


def l1_distance(family: Family) -> float:
    """max over pairs of the farthest two atoms of positive mass, in the unit of the points."""
    ends = [_ends(family, law) for law in family.laws]
    return max((max(ends[i][1] - ends[j][0], ends[j][1] - ends[i][0]) for (i, j), _ in family.different), default=0.0)


def _ends(family: Family, law: Masses) -> tuple[float, float]:
    held = np.flatnonzero(law.parts != 0)
    return float(family.points[held[0]]), float(family.points[held[-1]])


def farthest(family: Family) -> float:
    """The largest W_inf of any pair, in the unit of the points."""
    plans = (monotone(family.points, family.laws[i], family.laws[j]) for (i, j), _ in family.different)
    return max((plan.distances.max().item() for plan in plans), default=0)


def line_range(family: Family) -> float:
    """The largest distance of two atoms, in lattice steps."""
    return float(family.points[-1] - family.points[0])


def smooth_range(pair: Analytic) -> float:
    """About the largest distance of two values, in lattice steps."""
    assert pair.lattice is not None
    means = np.concatenate((pair.p.means, pair.q.means))
    spread = float(np.ptp(means)) + 4 * float(max(pair.p.stds.max(), pair.q.stds.max()))
    return spread / float(pair.lattice.grid)


def first_guess(distance: float, ask: Ask) -> float:
    """A first guess from above; the search doubles it where it is too small."""
    return max(1.0, 2 * distance) / max(float(ask.epsilon), 0.05)
