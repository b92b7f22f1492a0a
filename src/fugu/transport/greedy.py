"""The sub-coupling behind `closeness` on the line: all the mass that can be matched within a distance, cell by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fugu.laws.masses import Masses
from fugu.transport.coupling import Coupling, one_total


def close_coupling(points: NDArray[np.int64], p: Masses, q: Masses, distance: int) -> Coupling:
    """A sub-coupling within `distance` lattice steps of the largest mass there is (see `closeness._matched`).

    Row sums are at most p, column sums at most q; `total` is the mass that is kept, so that the cells couple their own
    normalised margins. It is the same pass from left to right as the one that decides closeness.

    >>> low, high = Masses(np.array([1, 1, 0]), 2), Masses(np.array([0, 1, 1]), 2)
    >>> kept = close_coupling(np.arange(3), low, high, 0)
    >>> kept.rows.tolist(), kept.columns.tolist(), kept.masses.tolist(), kept.total
    ([1], [1], [1], 1)
    """
    a, b, _ = one_total(p, q)
    left, right = a.tolist(), b.tolist()
    x = np.flatnonzero(a != 0).tolist()
    y = np.flatnonzero(b != 0).tolist()
    at = points.tolist()
    rows, columns, mass = [], [], []
    i = j = 0
    while i < len(x) and j < len(y):
        r, c = x[i], y[j]
        gap = at[c] - at[r]
        if gap > distance:
            i += 1
        elif gap < -distance:
            j += 1
        else:
            moved = min(left[r], right[c])
            rows.append(r)
            columns.append(c)
            mass.append(moved)
            left[r] -= moved
            right[c] -= moved
            i, j = i + (left[r] == 0), j + (right[c] == 0)
    row, column = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    total = sum(mass)
    kind: type[np.int64] | type[object] = np.int64 if total < 2**62 else object
    return Coupling(row, column, np.array(mass, dtype=kind), np.abs(points[row] - points[column]), total)
