"""`fugu.check`: what the owner may see of the own table before it is released, and nobody else."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from fugu.checking.columns import ColumnCheck, checked_column, tally
from fugu.checking.overlap import Overlap, in_ledger, shared_people, shared_rows
from fugu.data.field import Field
from fugu.data.frame import Table
from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.data.sources import TableLike
from fugu.errors import BadTable, UsageError, did_you_mean
from fugu.shown import Shown
from fugu.visible import Json, several, visible

OWNER: Final = "for the owner's eyes; not for publication"
OUTSIDE: Final = (
    "This says more of the table than its release does: whoever changes the plan because of it steps outside the "
    "promise, which is for a plan that is fixed before the table is opened."
)
HEAD: Final = ("column", "cells", "read", "missing", "unreadable", "moved", "unknown")
"""Moved: by bounds. Unknown: categories."""
_SEPARATORS = ",;\t|"


@final
@dataclass(frozen=True, repr=False)
class Check(Shown):
    """How a private table was read, and what of it is in other tables: for its owner's eyes, not for publication.

    `records`: how many rows it has. `rows`: one `ColumnCheck` for each column, with cells read, missing, unreadable,
    moved by bounds, of unknown categories, and the likely causes. `overlaps`: with the reference and with data sets of
    the ledger. `absent`: columns that the table does not have, with the likely cause. `alarms`: what is far from what
    the reference or the schema makes likely, in sentences; empty where nothing is. Prints as a table."""

    records: int
    rows: tuple[ColumnCheck, ...]
    overlaps: tuple[Overlap, ...] = ()
    absent: tuple[str, ...] = ()

    @property
    def alarms(self) -> tuple[str, ...]:
        """What the owner should look at."""
        columns = [f"{row.column}: {said}" for row in self.rows for said in row.alarms]
        return (*self.absent, *columns, *(overlap.words for overlap in self.overlaps if overlap.beyond))

    @property
    def causes(self) -> tuple[str, ...]:
        """What is likely behind cells that were not read as they were meant, and rows that are elsewhere too."""
        columns = [f"{row.column}: {said}" for row in self.rows for said in row.causes if said not in row.alarms]
        return (*columns, *(overlap.words for overlap in self.overlaps if not overlap.beyond))

    def cells(self) -> list[tuple[str, int, int, int, int, int, int]]:
        """The table that is shown, under HEAD."""
        return [(r.column, r.cells, r.read, r.missing, r.unreadable, r.moved, r.unknown) for r in self.rows]

    def to_json(self) -> Json:
        """Plain data, marked as what it is."""
        return {
            "marking": f"{OWNER}. {OUTSIDE}",
            "records": self.records,
            "columns": [row.to_json() for row in self.rows],
            "overlaps": [overlap.to_json() for overlap in self.overlaps],
            "absent": list(self.absent),
            "alarms": list(self.alarms),
        }

    def __str__(self) -> str:
        lines = [HEAD, *self.cells()]
        widths = [max(len(visible(line[k])) for line in lines) for k in range(len(HEAD))]
        table = ["  ".join(visible(x).rjust(w) if k else visible(x).ljust(w) for k, (x, w) in
                           enumerate(zip(line, widths, strict=True))).rstrip() for line in lines]  # fmt: skip
        said = [f"look at {visible(text)}" for text in self.alarms] + [f"note: {visible(text)}" for text in self.causes]
        return "\n".join([f"{self.records:,} records ({OWNER})", *table, *said, OUTSIDE])

    def __repr__(self) -> str:
        return f"Check({several(len(self.rows), 'column')}, {len(self.alarms)} to look at)"


def check(
    table: TableLike,
    reference: TableLike | None = None,
    *,
    schema: Schema | str | os.PathLike[str] | None = None,
    scenario: str | os.PathLike[str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    unit: str | None = None,
) -> Check:
    """How the private `table` is read, column by column, and what of it is in the reference: for its owner's eyes.

    Parameters:

    - `table`: the private table: a path, a dict of columns, or a frame. Nothing is released or charged.
    - `reference`: the public table that says how cells are read, and that beliefs are fitted on.
    - `schema`: a `Schema`, or a TOML file with one, completed by the reference.
    - `scenario`: a scenario file, which names reference, schema and unit. One of the three is needed.
    - `ledger`: a ledger, to be told which data sets of it hold the same people or rows.
    - `unit`: the column that names the person.

    Returns a `Check`. Raises `BadTable` for what is no table, and `UsageError` where nothing says how to read it.

    >>> last_year = {"ill": ["yes", "no"] * 50, "chol": [200, 240, 260, 310] * 25}
    >>> today = {"ill": ["ja", "nein"] * 20, "chol": ["5,2", "6,2", "6,7", "8,1"] * 10}
    >>> seen = check(today, last_year)
    >>> [cause.partition(":")[0] for row in seen.rows for cause in row.causes]
    ['another spelling', 'decimal comma']
    """
    if scenario is not None:
        file = Path(scenario)
        reference, schema, unit = _from_file(file, reference, schema, unit)
    if reference is None and schema is None:
        raise UsageError(
            "nothing says how the table is read: give a reference (--reference), a schema (--schema) or a scenario "
            "file that names one (--scenario)"
        )
    declared = schema if isinstance(schema, Schema) else Schema({}) if schema is None else Schema.load(schema)
    if unit is not None and unit not in declared.fields:
        declared = declared.with_field(unit, Field("identifier"))
    known = None if reference is None else declared.open(reference)
    if known is not None and not len(known):
        raise BadTable("the reference has no rows")
    columns = () if known is None else known.columns
    reading = declared if known is None else declared.completed(known, dict.fromkeys((*columns, *declared.fields)))
    whole = reading.open(table)
    there = [name for name in reading.fields if name in whole.columns]
    absent = tuple(_absent(name, whole.columns) for name in reading.fields if name not in whole.columns)
    if not there:
        return Check(len(whole), (), (), absent)
    return checked(open_private(whole, reading, there), known, unit, ledger, absent)


def checked(
    private: Private,
    reference: Table | None,
    unit: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    absent: Iterable[str] = (),
    data: str | None = None,
) -> Check:
    """The same of a table that was opened already, without reading it again.

    `private`: as `open_private` opened it; `reference`: the public table as it stands; `unit`, `ledger`: as in `check`;
    `absent`: what is to be said of columns that it does not have; `data`: its own name in the ledger."""
    schema, rows = private.schema, []
    for name in private.table.columns:
        mine = tally(schema.fields[name], private.whole.raw(name), private.table.exact(name), schema)
        theirs = None
        if reference is not None and name in reference.columns:
            raw = reference.raw(name)
            theirs = tally(schema.fields[name], raw, schema.column(name, raw), schema)
        rows.append(checked_column(name, schema, mine, theirs))
    overlaps: list[Overlap | None] = []
    if reference is not None:
        overlaps += [shared_people(private.whole, reference, unit), shared_rows(private.whole, reference, unit)]
    if ledger is not None:
        overlaps += in_ledger(private.whole, ledger, unit, data)
    return Check(len(private), tuple(rows), tuple(x for x in overlaps if x is not None), tuple(absent))


def _from_file(file: Path, reference: Any, schema: Any, unit: str | None) -> tuple[Any, Any, str | None]:
    """What a scenario file says and the call does not: its reference, its [schema] and its unit."""
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
        data, question = said.get("data", {}), said.get("question", {})
        named, person = data.get("reference"), question.get("unit")
    except (OSError, ValueError, AttributeError, RecursionError):
        raise UsageError(f"{file.name!r} is no scenario file that can be read; fugu init writes one") from None
    if schema is None and not said.keys().isdisjoint(("schema", "sequence")):
        schema = Schema.load(file)
    return (file.parent / named if reference is None and named is not None else reference), schema, unit or person


def _absent(name: str, columns: tuple[str, ...]) -> str:
    """Why a column may not be there."""
    joined = [mark for mark in _SEPARATORS if len(columns) == 1 and mark in columns[0]]
    if joined:
        return f"{name}: not in the table; another separator: its first line has {joined[0]!r} between names"
    return f"{name}: not in the table{did_you_mean(name, columns)}"
