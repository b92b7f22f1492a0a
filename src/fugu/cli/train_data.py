"""The rows of a training: columns of a table read by public rules, in the order of a public column."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Schema, Table
from fugu.data.cells import OTHER
from fugu.data.private import open_private
from fugu.data.raw import Raw
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

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that are declared public: times and groups."""
        return tuple(name for name in (self.order, self.by) if name is not None)


@dataclass(frozen=True, eq=False)
class Rules:
    """How cells are read: `schema` for features and target, `beside` for the columns of times and groups."""

    wanted: Wanted
    schema: Schema
    beside: Schema
    labels: list[Any] | None

    @property
    def told(self) -> Schema:
        """Both in one, for the certificate."""
        return replace(self.schema, columns={**self.beside.fields, **self.schema.fields})

    def rows(self, table: str | Table, where: str, distinct: bool) -> Rows:
        """The rows of a table in order, each read by itself; `distinct`: no two at one time.

        Only the columns of times and groups, which are declared public, are refused for what they hold."""
        wanted, whole = self.wanted, self.schema.open(table)
        opened = open_private(whole, self.schema, (*wanted.features, wanted.target))
        if len(opened) < 2:
            raise BadTable(f"{where!r} has fewer than two rows, so there is nothing to learn")
        features = np.column_stack([opened.numbers(name) for name in wanted.features])
        known = self.schema.fields[wanted.target]
        if self.labels is None:
            target = opened.numbers(wanted.target)
        else:
            target = np.array(self.labels)[opened.places(wanted.target, known.values or ())]
        beside = open_private(whole, self.beside, (), wanted.public) if wanted.public else opened
        groups = None if wanted.by is None else beside.public(wanted.by).codes()[0]
        rows = Rows(features, target, groups)
        if wanted.order is None:
            return rows
        return rows.take(places(beside.public(wanted.order), where, distinct, self.schema.decimal))

    def public_rows(self, table: Table, where: str, distinct: bool) -> Rows:
        """The same of rows that are public."""
        self._check_public(table, where)
        return self.rows(table, where, distinct)

    def _check_public(self, table: Table, where: str) -> None:
        """Public rows may be refused for what they hold: cells that no rule was given for, a third label."""
        wanted, schema = self.wanted, self.schema
        for name in (*wanted.features, wanted.target):
            known, label = schema.fields[name], self.labels is not None and name == wanted.target
            strict = replace(known, outside=OTHER, missing=None) if label else known
            column = strict.read(name, table.raw(name), schema.decimal, schema.absent)
            said = f"column {name!r} of {where!r}"
            if column.missing.any() and strict.missing is None:
                raise MissingValues(f"{said} has missing cells; fill them in or remove these rows")
            if label and bool(np.any(column.values == OTHER)):
                raise BadTable(f"{said} holds a label that is neither of the two; correct it, or --classes")
            if name == wanted.target and not label and len(np.unique(column.values)) < 2:
                raise BadTable(f"{said} has one value only, so there is nothing to learn")


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """Names with commas between them, no two alike."""
    if text is None:
        return ()
    found = tuple(name.strip() for name in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise UsageError(f"{option} needs different names with commas between them, got {text!r}")
    return found


def places(column: Column, where: str, distinct: bool, decimal: str = ".") -> NDArray[np.int64]:
    """The places of the rows in order of time; rows of one time stay as they are, or are refused.

    Times are numbers if all of them are, else ISO 8601: a column that is public may decide that as a whole."""
    texts = [text.replace(decimal, ".") for text in column.values.tolist()]
    found = Column.of(column.name, Raw.of(column.name, texts))
    found.require_exact()
    times = ranks(found)
    order = np.argsort(times, kind="stable")
    if distinct and np.any(np.diff(times[order]) == 0):
        raise BadTable(
            f"column {column.name!r} of {where!r} repeats a time, so the order that the prior speaks of is unknown; "
            "give finer times, or keep one row for each, or group the rows (--prior groups --by)"
        )
    return order


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


def _bound(text: str, name: str) -> float:
    with suppress(ValueError):
        found = float(text)
        if np.isfinite(found):
            return found
    raise UsageError(f"--bounds of column {name!r} must be two finite numbers")
