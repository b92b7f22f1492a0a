"""Forms for kernels with g(d + e) = g(d) g(e): one sum from the left and one from the right give every range.

L_k = w_k + g(x_k - x_{k-1}) L_{k-1}; then sum_{i in [s, k]} w_i g(y - x_i) = g(y - x_k) L_k - g(y - x_{s-1}) L_{s-1}
for an output y at or after x_k, and the mirror. A range that begins at the first point, or ends at the last one, takes
no difference; those around the output lose no more digits than all weight is larger than theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from fugu.loss.sets.forms import Form, Grid, Whole
from fugu.loss.sets.kernels import Kernel
from fugu.numbers import balls


@dataclass(frozen=True, eq=False)
class Sum:
    """For every output sign times the sum of a row over all points up to `at` from its side, where `there`."""

    row: int
    at: Whole
    sign: int
    left: bool
    there: NDArray[np.bool_]
    distance: Whole


def sums(grid: Grid, form: Form) -> Iterator[Sum]:
    """Every range as at most four sums: up to the output and from it on, less what lies beyond the range."""
    k, n = grid.before, len(grid.points)
    for part in form.ranges:
        here, beyond = part.start < np.minimum(part.stop, k + 1), np.maximum(part.start, k + 1) < part.stop
        for at, sign, left, there in (
            (np.minimum(part.stop - 1, k), 1, True, here),
            (part.start - 1, -1, True, here & (part.start > 0)),
            (np.maximum(part.start, k + 1), 1, False, beyond),
            (part.stop, -1, False, beyond & (part.stop < n)),
        ):
            if there.any():
                place = np.clip(at, 0, n - 1)
                yield Sum(part.row, place, sign, left, there, np.abs(grid.outputs - grid.points[place]))


def proved(grid: Grid, forms: Sequence[Form], kernel: Kernel) -> list[list[arb]]:
    """Every form at every output, in balls."""
    decay = kernel.proved()
    steps = [decay(gap) for gap in np.diff(grid.points).tolist()]
    left = [forwards([arb(fmpz(w)) for w in row], steps) for row in grid.rows]
    right = [forwards([arb(fmpz(w)) for w in row[::-1]], steps[::-1])[::-1] for row in grid.rows]
    share = balls.of(Fraction(1, grid.total))
    found = []
    for form in forms:
        total = [arb(0)] * len(grid.outputs)
        for part in sums(grid, form):
            row = (left if part.left else right)[part.row]
            read = zip(part.at.tolist(), part.there.tolist(), part.distance.tolist(), strict=True)
            for k, (at, there, distance) in enumerate(read):
                if there:
                    total[k] += part.sign * row[at] * decay(distance)
        for spot in form.spots:
            for k, (mass, distance) in enumerate(zip(spot.masses, spot.distance.tolist(), strict=True)):
                if mass:
                    total[k] += arb(fmpz(mass)) * decay(distance)
        found.append([share * value for value in total])
    return found


def forwards(row: Sequence[arb], steps: Sequence[arb]) -> list[arb]:
    """L_k = w_k + step_k L_{k-1}."""
    sums = [row[0]]
    for weight, step in zip(row[1:], steps, strict=True):
        sums.append(weight + step * sums[-1])
    return sums
