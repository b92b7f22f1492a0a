"""Forms for any kernel: every point of every range is added up."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from flint import arb, fmpz

from fugu.loss.sets.forms import Form, Grid
from fugu.loss.sets.kernels import Kernel
from fugu.numbers import balls


def proved(grid: Grid, forms: Sequence[Form], kernel: Kernel) -> list[list[arb]]:
    """Every form at every output, in balls."""
    g, share = kernel.proved(), balls.of(Fraction(1, grid.total))
    rows = [[(arb(fmpz(w)), x) if w else None for w, x in zip(row, grid.points.tolist(), strict=True)]
            for row in grid.rows]  # fmt: skip
    found = []
    for form in forms:
        total = []
        for k, y in enumerate(grid.outputs.tolist()):
            value = arb(0)
            for part in form.ranges:
                held = rows[part.row][int(part.start[k]) : int(part.stop[k])]
                value = sum((w * g(abs(y - x)) for w, x in filter(None, held)), value)
            for spot in form.spots:
                value += arb(fmpz(spot.masses[k])) * g(int(spot.distance[k]))
            total.append(share * value)
        found.append(total)
    return found
