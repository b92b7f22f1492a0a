"""The rows of a training: columns of a table as numbers, in the order of a public column, and their declared bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.data.sequences import ranks
from fugu.errors import BadTable, MissingValues, UsageError

Floats = NDArray[np.float64]
Bounds = dict[str, tuple[float, float]]
_BOUNDS = re.compile(r"\s*(?P<name>[^:]+?)\s*:(?P<low>[^:,]+):(?P<high>[^:,]+)(?:,|$)")


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, target and, if rows belong to groups, the number of the group of each row."""

    features: Floats
    target: NDArray[Any]
    groups: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.target)

    def take(self, places: NDArray[np.int64]) -> Rows:
        """Some of the rows."""
        groups = None if self.groups is None else self.groups[places]
        return Rows(self.features[places], self.target[places], groups)

    def same(self, other: Rows) -> bool:
        """Whether both hold the same rows, in any order."""
        if self.features.shape != other.features.shape or self.target.dtype.kind != other.target.dtype.kind:
            return False
        one, two = (rows.take(np.lexsort((*rows.features.T, rows.target))) for rows in (self, other))
        return np.array_equal(one.features, two.features) and np.array_equal(one.target, two.target)


@dataclass(frozen=True)
class Wanted:
    """Which columns are used as what."""

    target: str
    features: tuple[str, ...] = ()
    order: str | None = None
    by: str | None = None
    left_out: tuple[str, ...] = ()
    """Columns that are no features since they hold no numbers."""

    def filled(self, table: Table) -> Wanted:
        """With all columns of numbers as features, if none are named."""
        if self.features:
            return self
        others = [name for name in table.columns if name not in (self.target, self.order, self.by)]
        found = tuple(name for name in others if _numeric(table, name))
        if not found:
            raise BadTable("no column of numbers is left for the features; encode categories as numbers first")
        return replace(self, features=found, left_out=tuple(name for name in others if name not in found))

    def rows(self, table: Table, where: str, numbers: bool, distinct: bool) -> Rows:
        """The rows in order; `numbers`: the target is a number, not a label; `distinct`: no two at one time."""
        names = [self.target, *self.features, *(name for name in (self.order, self.by) if name is not None)]
        chosen = table.select(names)
        columns = {name: chosen.exact(name) for name in chosen.columns}
        if len(chosen) < 2:
            raise BadTable(f"{where!r} has fewer than two rows, so there is nothing to learn")
        for column in columns.values():
            _check(column, where)
        features = np.column_stack([_finite(columns[name], where) for name in self.features])
        target = columns[self.target]
        values = _finite(target, where) if numbers else target.values if target.numeric else target.values.astype(str)
        groups = None if self.by is None else columns[self.by].codes()[0]
        rows = Rows(features, values, groups)
        return rows if self.order is None else rows.take(places(columns[self.order], where, distinct))


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """Names with commas between them, no two alike."""
    if text is None:
        return ()
    found = tuple(name.strip() for name in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise UsageError(f"{option} needs different names with commas between them, got {text!r}")
    return found


def places(column: Column, where: str, distinct: bool) -> NDArray[np.int64]:
    """The places of the rows in order of time; rows of one time stay as they are, or are refused."""
    column.require_exact()
    times = ranks(column)
    found = np.argsort(times, kind="stable")
    if distinct and np.any(np.diff(times[found]) == 0):
        raise BadTable(
            f"column {column.name!r} of {where!r} repeats a time, so the order that the prior speaks of is unknown; "
            "give finer times, or keep one row for each, or group the rows (--prior groups --by)"
        )
    return found


def two_labels(column: Column, where: str) -> bool:
    """Whether a target is to be taken as two labels, rather than as numbers."""
    kinds = len(column.codes()[1])
    if kinds < 2:
        raise BadTable(f"column {column.name!r} of {where!r} has one value only, so there is nothing to learn")
    if kinds > 2 and not column.numeric:
        raise BadTable(
            f"column {column.name!r} of {where!r} holds more than two labels; models are for two, or numbers"
        )
    return kinds == 2


def read_bounds(texts: list[str]) -> Bounds:
    """ "age:0:100,bmi:10:60" as numbers by column."""
    found: Bounds = {}
    for text in texts:
        at = 0
        while at < len(text):
            part = _BOUNDS.match(text, at)
            if part is None:
                raise UsageError(f'--bounds are columns with two numbers, such as "age:0:100,bmi:10:60", got {text!r}')
            name, low, high = part["name"], *(_bound(part[side], part["name"]) for side in ("low", "high"))
            if name in found:
                raise UsageError(f"--bounds of column {name!r} are given twice")
            if not low < high:
                raise UsageError(f"--bounds of column {name!r} need low < high")
            found[name] = (low, high)
            at = part.end()
    return found


def declared(given: Bounds, needed: tuple[str, ...], known: Mapping[str, Floats] | None, truths: set[str]) -> Bounds:
    """Bounds for every column needed: as given, 0 to 1 for truth values, or from `known` values, which are public."""
    spare = [name for name in given if name not in needed]
    if spare:
        raise UsageError(f"--bounds for {_listed(spare)}, which are not needed here; leave them out")
    found = dict(given)
    for name in needed:
        if name in truths:
            found.setdefault(name, (0.0, 1.0))
        elif name not in given and known is not None:
            low, high = float(known[name].min()), float(known[name].max())
            if low == high:
                raise BadTable(f"column {name!r} has one value in the reference; give its --bounds, or leave it out")
            found[name] = (low, high)
    short = [name for name in needed if name not in found]
    if short:
        raise UsageError(
            f'give public bounds for {_listed(short)}: --bounds "{short[0]}:LOW:HIGH" with commas between columns. '
            "fugu does not take them from the private table: the least and the largest value of a column are values of "
            "single people. --reference TABLE takes them from public or past rows, --max-norm bounds whole rows instead"
        )
    return {name: found[name] for name in needed}


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def _bound(text: str, name: str) -> float:
    with suppress(ValueError):
        found = float(text)
        if np.isfinite(found):
            return found
    raise UsageError(f"--bounds of column {name!r} must be two finite numbers")


def _numeric(table: Table, name: str) -> bool:
    """Dates and mixed columns are none either."""
    try:
        return table.is_numeric(name)
    except BadTable:
        return False


def _check(column: Column, where: str) -> None:
    if column.missing.any():
        raise MissingValues(f"column {column.name!r} of {where!r} has missing cells; fill them in or remove these rows")


def _finite(column: Column, where: str) -> Floats:
    found = column.floats()
    if not np.isfinite(found).all():
        raise BadTable(f"column {column.name!r} of {where!r} holds numbers that are not finite; correct them")
    return found
