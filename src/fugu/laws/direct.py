"""A few laws convolved term by term in doubles: nothing cancels, so every mass keeps its relative accuracy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fugu.laws.certified import UNIT, Sum, placed

_MOST_PRODUCTS = 2**31
_MOST_PLACES = 2**25
Row = tuple[NDArray[np.int64], NDArray[np.float64]]


def convolve_direct(rows: Sequence[Row]) -> Sum | None:
    """The law of a sum of one draw from each (places from 0 on, probabilities within 4 units); None if it takes long.

    A convolution with a row of m places adds m products of non-negative numbers each time, in whatever order, so its
    relative error is at most (m + 1) units at every place (Higham 2002, section 3.1), and errors of all rows add up.

    >>> coin = (np.array([0, 1]), np.array([0.5, 0.5]))
    >>> convolve_direct([coin, coin]).masses.floats()
    array([0.25, 0.5 , 0.25])
    """
    ordered = sorted(rows, key=lambda row: int(row[0][-1]))
    reach, products, units = 1, 0, 0
    for at, _ in ordered:
        length = int(at[-1]) + 1
        products += reach * length
        units += min(reach, length) + 1 + 4
        reach += length - 1
    if products > _MOST_PRODUCTS or reach > _MOST_PLACES:
        return None
    found = np.ones(1)
    for at, probabilities in ordered:
        dense = np.zeros(int(at[-1]) + 1)
        dense[at] = probabilities
        found = np.convolve(found, dense)
    return placed(np.arange(len(found), dtype=np.int64), found, 1.01 * units * UNIT, 0.0)
