"""What each record adds to a published statistic: "mean(age)", "sum(hours)", "count(sex=Female)"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.data.causes import why_text
from fugu.data.conditions import AnyOf, Mask
from fugu.data.statistics import column_and_value, kind_and_inside
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UsageError
from fugu.numbers.exact import Real, as_fraction

KINDS = ("mean", "sum", "count")
_AVERAGED = {"mean": 1, "sum": 0}
"""By which power of the number of records the sum over them is divided; a count is of a condition."""
_LOOKS = "a statistic looks like mean(age), sum(hours) or count(sex=Female)"
_TRUTH = {"true": 1, "false": 0}


@final
@dataclass(frozen=True)
class RecordStatistic:
    """A data set's statistic is `factor(n)` times the sum of one number for each of its n records.

    >>> found = RecordStatistic.parse("count(marital-status=Never-married)")
    >>> found.column, found.equals, found.factor(100), RecordStatistic.parse("mean(age)").factor(100)
    ('marital-status', 'Never-married', Fraction(1, 1), Fraction(1, 100))
    """

    kind: str
    column: str
    equals: str | None = None

    @staticmethod
    def parse(text: object) -> RecordStatistic:
        """Read mean(column), sum(column) or count(column=value)."""
        kind, inside = kind_and_inside(text, KINDS, "statistic", _LOOKS)
        if kind not in _AVERAGED:
            return RecordStatistic(kind, *condition(inside, "a count", "count(sex=Female)"))
        if not inside:
            raise UsageError(f"{kind} needs a column, such as {kind}(age)")
        return RecordStatistic(kind, inside)

    def factor(self, size: int) -> Fraction:
        """1/n for a mean, 1 for a sum and a count."""
        return Fraction(1, size ** _AVERAGED.get(self.kind, 0))

    def limits(self, size: int, ends: tuple[Fraction, Fraction] | None) -> tuple[Fraction, Fraction] | None:
        """Between which numbers the statistic of n records lies whose numbers are clipped to these ends; None without.

        >>> RecordStatistic.parse("sum(age)").limits(10, (Fraction(17), Fraction(90)))
        (Fraction(170, 1), Fraction(900, 1))
        """
        if self.equals is not None:
            return (Fraction(0), Fraction(size))
        scale = self.factor(size) * size
        return None if ends is None else (scale * ends[0], scale * ends[1])

    def numbers(self, table: Table) -> NDArray[np.float64]:
        """What each row adds, before it is clipped."""
        column = present(table, self.column)
        if self.equals is not None:
            held = holding(column, self.equals)
            if not held.any():
                raise BadTable(f"no record of the reference counts in {self}; check the value's spelling")
            return held.astype(np.float64)
        if not column.numeric:
            why = why_text(column.values.tolist())
            raise BadTable(f"column {self.column!r} holds text{why}; {self.kind}({self.column}) needs numbers")
        numbers = column.floats()
        if not np.isfinite(numbers).all():
            raise BadTable(f"column {self.column!r} holds infinite numbers, and no average is made of them")
        return numbers

    def __str__(self) -> str:
        return f"{self.kind}({self.column}{'' if self.equals is None else f'={self.equals}'})"


def condition(text: str, what: str, example: str) -> tuple[str, str]:
    """A column and the value that it must have."""
    if (found := column_and_value(text)) is None:
        raise UsageError(f"{what} needs a column and a value, such as {example}, got {text!r}")
    return found


def present(table: Table, name: str) -> Column:
    """A column without missing values."""
    column = table.exact(name)
    if column.missing.any():
        raise MissingValues(
            f"column {name!r} of the reference has missing values; fill them in, or leave those rows out with "
            "missing='drop'"
        )
    return column


def holding(column: Column, value: str) -> Mask:
    """The rows in which the column has this value, written as text; never true of a missing one."""
    if not column.numeric:
        return AnyOf((value,)).mask(column)
    truth = _TRUTH.get(value.lower()) if column.values.dtype == bool else None
    try:
        number = float(value if truth is None else truth)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadTable(f"column {column.name!r} holds numbers, and {value!r} is none")
    return AnyOf((int(number) if number == int(number) else number,)).mask(column)


def read_bounds(
    bounds: Mapping[str, tuple[Real, Real]] | None, statistics: tuple[RecordStatistic, ...]
) -> dict[str, tuple[Fraction, Fraction]]:
    """Declared ends for columns that are averaged or added up; values are clipped to them as part of the query."""
    averaged = tuple(dict.fromkeys(s.column for s in statistics if s.equals is None))
    found = {}
    for column, ends in (bounds or {}).items():
        if column not in averaged:
            raise ColumnNotFound(str(column), averaged)
        try:
            low, high = (as_fraction(x) for x in ends)
        except (TypeError, ValueError):
            raise UsageError(f"the bounds of {column!r} must be two finite numbers, such as (17, 90)") from None
        if not low < high:
            raise UsageError(f"the bounds of {column!r} must be increasing, such as (17, 90)")
        found[column] = (low, high)
    return found
