"""One record's contribution to a statistic: a whole number of steps of a sum, or a cell of a table.

Each is the same function on the reference and on the private table, worked out from the schema and the reference."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.causes import why_text
from fugu.data.private import numbers, places
from fugu.errors import BadTable, MissingValues, UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction
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

    def codes(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Clip, then round to the nearest step."""
        clipped = np.clip(values, float(self.low), float(self.low + self.step * self.top))
        steps: NDArray[np.int64] = np.floor((clipped - float(self.low)) / float(self.step) + 0.5).astype(np.int64)
        return np.asarray(np.clip(steps, 0, self.top), dtype=np.int64)

    def read(self, schema: Schema, table: Table) -> NDArray[np.int64]:
        """The codes of a table's rows, each by itself; refuses no cell."""
        if self.equals is not None:
            return np.asarray(places(schema, table, self.column, [self.equals]) == 0, dtype=np.int64)
        return self.codes(numbers(schema, table, self.column))

    def value(self, total: float, rows: int) -> float:
        """The sum of `rows` values whose codes add up to `total`."""
        return float(self.low) * rows + float(self.step) * total


def coding(statistic: Statistic, schema: Schema, bounds: tuple[Real, Real] | None, step: Real | None) -> Coding:
    """How one record counts. Bounds are declared by the user or in the schema, never read off private data."""
    column = statistic.columns[0]
    known = schema.fields[column]
    if statistic.equals is not None:
        label = known.label(statistic.equals)
        if label is None:
            raise _no_label(column, statistic.equals, known.numeric, known.values)
        return Coding(column, Fraction(0), Fraction(1), 1, label)
    if known.ordered:
        bounds = (0, len(known.values or ()) - 1) if bounds is None else bounds
        step = 1 if step is None else step
    elif not known.numeric:
        raise BadTable(f"column {column!r} holds text{why_text(known.values or ())}; a sum or mean needs numbers")
    bounds = known.bounds if bounds is None else bounds
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
    step = known.step if step is None else step
    width = as_fraction(step) if step is not None else (high - low) / 100
    if width <= 0 or (high - low) / width > _MOST_STEPS:
        raise UsageError(f"the rounding step must be positive and give at most {_MOST_STEPS} steps between the bounds")
    return Coding(column, low, width, int((high - low) / width))


def require_known(schema: Schema, reference: Table, columns: tuple[str, ...]) -> None:
    """Missing cells of the reference need a meaning, which the schema or `missing` gives; private ones have one."""
    for name in columns:
        if reference.exact(name).missing.any() and schema.fields[name].missing is None:
            raise MissingValues(
                f"column {name!r} of the reference has missing cells; say what they count as (missing=<value>, or in "
                "the schema), or drop those rows"
            )


def _no_label(column: str, said: object, numeric: bool, values: tuple[str, ...] | None) -> UsageError:
    if numeric:
        return BadTable(f"column {column!r} holds numbers, and {said!r} is none")
    return UnknownName(f"category of column {column!r}", said, values or ())
