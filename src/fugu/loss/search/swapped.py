"""Which noise the draws of record swaps allow, in doubles: the first step down that fails is where the search ends.

The order of the tests is fixed, from the largest sigma down, and all of them look at the same draws. The true
expectations fall as sigma grows, so the first sigma that is truly too small is one number, fixed before any draw; going
below it needs that one test to pass by mistake, which has probability at most beta
(docs/proofs/record-swap.md#4-which-sigma)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fugu.loss.search.shifts import fast_gaussian_delta

Floats = NDArray[np.float64]
_SLACK = 1 + 1e-6
"""Far above the rounding of the Gaussian curve in doubles, about 1e-12, and of the sums."""
_LOST = 1e-15
"""Above what the difference of two numbers of at most 1 loses in doubles."""
_CELLS = 200_000


def steps_down(
    sigma: Callable[[int], float],
    most: int,
    lengths: Floats,
    counts: NDArray[np.int64],
    longest: Floats,
    epsilon: float,
    delta: float,
    beta: float,
) -> int:
    """How many steps down from sigma(0) pass, one after the other, at most `most`.

    `lengths`: of the places, increasing; `counts`: of every place in each block, one row a block; `longest`: the length
    that no draw of a block exceeds. A step passes if the bound of every block is at most `delta`."""
    n = counts.sum(axis=1)
    shares = counts / n[:, None]
    odds = math.log(2 / beta)
    many = max(1, _CELLS // (len(lengths) + len(longest)))
    for start in range(1, most + 1, many):
        sigmas = np.array([sigma(k) for k in range(start, min(start + many, most + 1))])
        losses, tops = (fast_gaussian_delta(epsilon, x[:, None] / sigmas) for x in (lengths, longest))
        mean = shares @ losses
        variance = (np.maximum(shares @ losses**2 - mean**2, 0.0) + _LOST) * (n / (n - 1))[:, None] * _SLACK
        slack = np.sqrt(2 * variance * odds / n[:, None]) + 7 * tops * odds / (3 * (n - 1))[:, None]
        failed = np.flatnonzero(~((mean + slack) * _SLACK <= delta).all(axis=0))
        if len(failed):
            return start - 1 + int(failed[0])
    return most
