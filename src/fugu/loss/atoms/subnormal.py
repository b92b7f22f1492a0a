"""Masses below 2^-1022, which doubles hold with fewer digits: a loss that is stated covers every reading of them.

A double m in (0, 2^-1022) is a multiple of 2^-1074 and stands for every number within half of that: 3e-316 as written
and as stored differ by a relative 1e-8. With p+ and p- the law whose such masses are raised and lowered by 2^-1075,
every reading of p lies between them, so for the sums S of noised masses S(p) / S(q) <= S(p+) / S(q-), and likewise
S(p)^a S(q)^(1-a) and S(p) - e S(q), which grow with p and fall with q. The largest mass takes up what is moved, a
relative 1e-300 at most, which is added to the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from fugu.laws.family import Family
from fugu.laws.items import Shape
from fugu.laws.masses import Masses

_NORMAL = 2.0**-1022
_BITS = 1075
Laws = TypeVar("Laws", bound=Shape)


def worst_reading(item: Laws, loss: Callable[[Any], float]) -> float:
    """The largest loss over the readings of an item's laws; just its loss where no mass is subnormal."""
    wide = widened(item) if isinstance(item, Family) else item
    return loss(item) if wide is item else math.nextafter(loss(wide) + 1e-300, math.inf)


def widened(family: Family) -> Family:
    """Each pair (p, q) with subnormal masses as the pairs (p+, q-) and (p-, q+), which bound both its orders; the
    others as they are.

    >>> from fugu.laws import Discrete, LawPair, families
    >>> family = families([LawPair(Discrete([0, 1], [0.5, 0.5]), Discrete([0, 1], [1.0, 5e-324]))])[0]
    >>> [law.whole()[0][1] * 2**1074 / law.whole()[1] for law in widened(family).laws[2:]]
    [1.5, 0.5]
    """
    doubtful = [i for i, law in enumerate(family.laws) if _subnormal(law).any()]
    if not doubtful:
        return family
    laws, errors = list(family.laws), list(family.errors)
    ends = {i: (i, i) for i in range(len(laws))}
    for i in doubtful:
        ends[i] = (len(laws), len(laws) + 1)
        laws += [_moved(family.laws[i], 1), _moved(family.laws[i], -1)]
        errors += [family.errors[i]] * 2
    different = {pair for pair, _ in family.different}
    pairs, labels = [], []
    for (i, j), label in zip(family.pairs, family.labels, strict=True):
        both = ((ends[i][0], ends[j][1]), (ends[i][1], ends[j][0])) if (i, j) in different else ((i, j),)
        pairs += list(dict.fromkeys(both))
        labels += [label] * len(dict.fromkeys(both))
    return replace(family, laws=tuple(laws), pairs=tuple(pairs), labels=tuple(labels), errors=tuple(errors))


def _subnormal(law: Masses) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if law.parts.dtype != np.float64:
        return np.zeros(len(law.parts), dtype=np.bool_)
    return (law.parts > 0) & (law.parts < _NORMAL)


def _moved(law: Masses, by: int) -> Masses:
    """The law with its subnormal masses moved by so many times 2^-1075, and its largest mass the other way."""
    parts = [int(Fraction(p) * 2**_BITS) for p in law.parts.tolist()]
    largest = int(np.argmax(law.parts))
    for k in np.flatnonzero(_subnormal(law)).tolist():
        parts[k] += by
        parts[largest] -= by
    return Masses(np.array(parts, dtype=object), law.total * 2**_BITS)
