"""How often each value occurs in each group: whole numbers, counted exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Places of the values that occur, and how often each does."""


def count_pairs(groups: NDArray[np.int64], places: NDArray[np.int64], size: int) -> dict[int, Counts]:
    """For each group >= 0: which of the `size` places occur in it, and how often; O(n log n), by one sort.

    >>> count_pairs(np.array([0, 1, 0, -1]), np.array([2, 2, 2, 0]), 3)
    {0: (array([2]), array([2])), 1: (array([2]), array([1]))}
    """
    inside = groups >= 0
    keys, counts = np.unique(groups[inside] * np.int64(max(size, 1)) + places[inside], return_counts=True)
    owners = keys // max(size, 1)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    ends = np.append(starts, len(keys))[1:]
    return {
        int(owners[a]): (keys[a:b] - owners[a] * size, counts[a:b].astype(np.int64))
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    }
