"""`l1`: the largest distance between any value under one secret and any value under the other, over epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.calibration.method import Budget, Proposal, method
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.laws.masses import Masses
from fugu.numbers.exact import as_fraction, float_up

UNBOUNDED = Proposal(math.inf, "the values are unbounded: no distance covers them all")


@method("l1", "l1 (group) sensitivity: Dwork, McSherry, Nissim, Smith 2006, Proposition 1")
def l1(item: Item, budget: Budget) -> Proposal:
    """scale = max |x - x'| / epsilon over x possible under one secret and x' under the other; blind to
    probabilities."""
    if isinstance(item, Analytic):
        return UNBOUNDED
    return Proposal(over(l1_distance(item), budget))


def over(distance: float, budget: Budget) -> float:
    """distance / epsilon, rounded up; 0 for no distance at all, inf for epsilon 0."""
    if distance == 0:
        return 0.0
    return float_up(Fraction(distance) / as_fraction(budget.epsilon)) if budget.epsilon else math.inf


def l1_distance(family: Family) -> float:
    """max over pairs of the farthest two atoms of positive mass, in the unit of the points."""
    ends = [_ends(family, law) for law in family.laws]
    return max((max(ends[i][1] - ends[j][0], ends[j][1] - ends[i][0]) for (i, j), _ in family.different), default=0.0)


def _ends(family: Family, law: Masses) -> tuple[float, float]:
    held = np.flatnonzero(law.parts != 0)
    return float(family.points[held[0]]), float(family.points[held[-1]])
