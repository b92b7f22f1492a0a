"""Which entries of a Gaussian field to leave out around an entry: ranked in doubles, to be evaluated exactly elsewhere.

With Q the inverse of the covariance, the covariance of a set N given all others is the inverse of Q_NN, so one small
inverse ranks the set N for every entry in it. Ranking decides how good a bound is, never whether it holds: every set is
sound (docs/proofs/fields.md#theorem-1)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_SUBSETS = 10
"""Fields of up to so many entries try all sets, larger ones intervals."""
_JITTER = 1e-13

Ranked = list[dict[int, tuple[float, tuple[int, ...]]]]
"""For each entry, by the number of entries left out: about the least kappa, and what is then seen."""


def near_sets(size: int, near: int) -> Iterator[tuple[int, ...]]:
    """The candidates N of `near` entries: all sets of a small field, intervals of a large one."""
    if size <= _SUBSETS:
        yield from combinations(range(size), near)
        return
    for start in range(size - near + 1):
        yield tuple(range(start, start + near))


def ranked(covariance: NDArray[np.float64]) -> Ranked:
    """The best candidate of every size below that of the field, for every entry."""
    size = len(covariance)
    scale = np.sqrt(np.diag(covariance))
    shape = covariance / np.outer(scale, scale)
    precision = np.linalg.inv(shape + _JITTER * np.eye(size))
    found: Ranked = [{} for _ in range(size)]
    for near in range(1, size):
        for inside in near_sets(size, near):
            left = np.diag(np.linalg.inv(precision[np.ix_(inside, inside)]))
            for i, variance in zip(inside, left.tolist(), strict=True):
                kappa = (1 / max(variance, 1e-300) - 1) / scale[i] ** 2
                if near not in found[i] or kappa < found[i][near][0]:
                    found[i][near] = (max(float(kappa), 0.0), tuple(j for j in range(size) if j not in inside))
    return found
