"""One record's contribution to a sum, as a whole number of steps: clipped to declared bounds, then rounded."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.data import Table
from fugu.errors import BadTable, MissingValues, UsageError
from fugu.exact import Real, as_fraction
from fugu.queries.statistic import Statistic

_MOST_STEPS = 10_000


@dataclass(frozen=True)
class Coding:
    """value = low + step * code, code in 0 .. top; the same function on the reference and on the private table.

    >>> Coding("age", Fraction(0), Fraction(5), 20).codes(np.array([-3.0, 12.0, 400.0]))
    array([ 0,  2, 20])
    """

    column: str
    low: Fraction
    step: Fraction
    top: int
    equals: str | None = None

    def codes(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip, then round to the nearest step; NaN is refused before."""
        clipped = np.clip(numbers, float(self.low), float(self.low + self.step * self.top))
        steps: NDArray[np.int64] = np.floor((clipped - float(self.low)) / float(self.step) + 0.5).astype(np.int64)
        return np.asarray(np.minimum(steps, self.top), dtype=np.int64)

    def read(self, table: Table) -> NDArray[np.int64]:
        """The codes of a table's rows; says that something is missing, never where or how often."""
        column = table.exact(self.column)
        if column.missing.any():
            raise MissingValues(
                f"column {self.column!r} has missing values; fill them in, or drop those rows from both tables"
            )
        if self.equals is not None:
            same = np.fromiter((_text(v) == self.equals for v in column.array().tolist()), np.int64, len(column))
            return np.asarray(same, dtype=np.int64)
        if not column.numeric:
            raise BadTable(f"column {self.column!r} holds text; a sum or mean needs numbers")
        return self.codes(column.floats())

    def value(self, total: float, rows: int) -> float:
        """The sum of `rows` values whose codes add up to `total`."""
        return float(self.low) * rows + float(self.step) * total


def coding(statistic: Statistic, bounds: tuple[Real, Real] | None, step: Real | None) -> Coding:
    """How one record counts. Bounds are declared by the user, never read off private data."""
    column = statistic.columns[0]
    if statistic.kind == "count":
        return Coding(column, Fraction(0), Fraction(1), 1, statistic.equals)
    if bounds is None:
        raise UsageError(
            f"{statistic.kind}({column}) needs declared bounds, for instance bounds=(0, 400): values are clipped "
            "to them as "
            "part of the query"
        )
    try:
        low, high = as_fraction(bounds[0]), as_fraction(bounds[1])
    except (TypeError, ValueError, IndexError):
        raise UsageError(f"bounds must be two finite numbers, got {bounds!r}") from None
    if not low < high:
        raise UsageError(f"bounds must be increasing, got {float(low):g} and {float(high):g}")
    width = as_fraction(step) if step is not None else (high - low) / 100
    if width <= 0 or (high - low) / width > _MOST_STEPS:
        raise UsageError(f"the rounding step must be positive and give at most {_MOST_STEPS} steps between the bounds")
    return Coding(column, low, width, int((high - low) / width))


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
