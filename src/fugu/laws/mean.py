"""The mean law: the average of all laws of a problem, the weight of errors unless one is declared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.laws.family import Family
from fugu.laws.masses import Masses

_LONGEST = 512
"""Common denominators of more bits than this are not carried: the mean is then rounded to units of 2^-60."""


def mean_law(families: Sequence[Family]) -> tuple[NDArray[np.int64], list[int]]:
    """All points of the families, sorted, and whole numbers in proportion to the average of all their laws.

    Exact unless the totals have a common multiple of more than 512 bits; then each is within 2^-60 of it. A weight is
    for errors, never for a guarantee.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> points, weight = mean_law(families([LawPair(Discrete([0, 2], [3, 1]), Discrete([0, 2], [1, 1]))]))
    >>> points.tolist(), weight
    ([0.0, 2.0], [5, 3])
    """
    points = np.unique(np.concatenate([family.points for family in families]))
    laws = [
        law.scatter(np.searchsorted(points, family.points), len(points)) for family in families for law in family.laws
    ]
    return points, averaged(laws)


def averaged(laws: Sequence[Masses]) -> list[int]:
    """Whole numbers in proportion to the average of laws on the same points."""
    whole = [law.whole() for law in laws]
    common = math.lcm(*(total for _, total in whole))
    if common.bit_length() > _LONGEST:
        mean = np.mean([law.floats() for law in laws], axis=0)
        return [round(Fraction(float(x)) * 2**60) for x in mean]
    sums = [0] * len(whole[0][0])
    for parts, total in whole:
        for k, part in enumerate(parts):
            sums[k] += part * (common // total)
    shared = math.gcd(*sums)
    return [x // shared for x in sums]
