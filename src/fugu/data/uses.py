"""`describe`: what each column of a reference may be used for, and why not. The reasons are in uses.toml; `fugu init`
and the warnings of releases take theirs from here."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby, islice
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import number_of, number_text
from fugu.data.column import Column
from fugu.data.field import TRUTH, Field
from fugu.data.frame import FrameLike, KindName, PublishedColumn, Table, TableLike, to_frame
from fugu.data.moments import days_text
from fugu.data.private import comma
from fugu.data.schema import Schema, all_dates
from fugu.data.secrets import FEW, MAX_SECRETS, few_rows, too_many
from fugu.errors import BadTable, ColumnNotFound
from fugu.question import RECORDS
from fugu.shown import Shown
from fugu.visible import Json, columned, several, shortened, visible

USES: Final = {
    "publish": "row by row", "protect": "as a secret", "query": "in statistics", "by": "for groups",
    "unit": "to name the person", "order": "as the time of a sequence", "state": "as the state of a sequence",
}  # fmt: skip
"""What a column may be used for: the option of a release, and the same in words."""
YES, IF, NO = "yes", "if", "no"
HEAD: Final = ("column", "what it is", *USES)
FEW_VALUES: Final = 12
"""A column of so many values is a secret, a group or a state as it is."""
_STATES: Final = 40
_LOOKED: Final = 1000
"""So many rows show how numbers are written."""
_SHOWN: Final = 3
_SENTENCE: Final = (4, 40)
"""Text of so many words, or characters, on average is no name."""


def numbers_rows(values: NDArray[Any], rows: int) -> bool:
    """Whether the different numbers of so many rows number them: whole ones of which none repeats, beyond what chance
    does. n even draws among R whole numbers are all different with probability below exp(-n (n - 1) / 2R).

    >>> numbers_rows(np.arange(0, 300, 3), 100), numbers_rows(np.arange(18, 90, 8), 9), numbers_rows(np.arange(99), 100)
    (True, False, False)
    """
    whole = len(values) == rows > 1 and bool(np.all(values == np.floor(values)))
    return whole and rows * (rows - 1) > 14 * (float(values.max()) - float(values.min()) + 1)


@final
@dataclass(frozen=True)
class ColumnUses:
    """What one column is, and what it may be used for.

    `kind`: "numbers", "categories", "dates", "running" (a number for each row), "shared" (a number for so many rows
    each), "names" (of rows), "text" (free), "constant", "nothing", "times", "unread". `what`: the same in words.
    `cells`, `missing`, `values`: how many there are, how many are missing, how many are different. `uses`: {option:
    ("yes", "if" or "no", why)}, in the order of `USES`. `field`: how its cells are read; None where they are not.
    `low`, `high`: the ends of numbers and dates."""

    column: str
    kind: str
    what: str
    cells: int
    missing: int
    values: int
    uses: Mapping[str, tuple[str, str]]
    field: Field | None
    low: str = ""
    high: str = ""

    def why(self, use: str) -> str:
        """Why the column may not be used so, or what it takes; "" where it may."""
        return self.uses[use][1]

    def to_json(self) -> Json:
        """Plain data."""
        uses = {use: {"may": may, "why": why} for use, (may, why) in self.uses.items()}
        return {"column": self.column, "kind": self.kind, "what": self.what, "cells": self.cells,
                "missing": self.missing, "values": self.values, "uses": uses}  # fmt: skip


@final
@dataclass(frozen=True, repr=False)
class Description(Shown):
    """What the columns of a reference may be used for: `rows`, one `ColumnUses` each, of so many `records`; `schema`:
    what they mean. Prints as a table, with the reasons below."""

    rows: tuple[ColumnUses, ...]
    records: int
    schema: Schema

    def __getitem__(self, column: str) -> ColumnUses:
        found = {row.column: row for row in self.rows}
        if column not in found:
            raise ColumnNotFound(column, tuple(found))
        return found[column]

    def usable(self, use: str) -> tuple[str, ...]:
        """The columns that may be used so as they are, in the order of the table."""
        return tuple(row.column for row in self.rows if row.uses[use][0] == YES)

    @property
    def title(self) -> str:
        """What is above the table."""
        comma = ', numbers with a decimal comma (decimal = "," in the schema)' if self.schema.decimal == "," else ""
        return f"{several(self.records, 'row')}{comma}: what each column may be used for"

    def cells(self) -> list[tuple[str, ...]]:
        """The table that is shown, under HEAD."""
        return [(row.column, row.what, *(may for may, _ in row.uses.values())) for row in self.rows]

    def reasons(self) -> list[tuple[str, str]]:
        """Why not, or what it takes: (use, columns and reason), columns with the same reason together; use "" for what
        holds for every one."""
        told: dict[tuple[str, str], list[str]] = {}
        for use in ("", *USES):
            for row in self.rows:
                alike = len(set(row.uses.values())) == 1
                if alike == (not use) and (why := row.why(use or "publish")):
                    told.setdefault((use, why), []).append(row.column)
        return [(use, f"{', '.join(columns)}: {why}") for (use, why), columns in told.items()]

    def to_json(self) -> Json:
        """Plain data."""
        return {RECORDS: self.records, "columns": [row.to_json() for row in self.rows]}

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """The table as a frame of this kind, None for the first of pandas, polars and pyarrow that is installed."""
        head = ("column", "what", "cells", "missing", "values", *USES)
        lines = [
            (row.column, row.what, row.cells, row.missing, row.values, *(may for may, _ in row.uses.values()))
            for row in self.rows
        ]
        return to_frame({name: [line[k] for line in lines] for k, name in enumerate(head)}, kind)

    def __str__(self) -> str:
        said = []
        for use, reasons in groupby(self.reasons(), lambda each: each[0]):
            head = f"{use}, {USES[use]}:" if use else "for nothing:"
            said += [head, *(f"  {visible(why)}" for _, why in reasons)]
        return "\n".join([self.title, *columned([HEAD, *self.cells()], left=2), *said])

    def __repr__(self) -> str:
        return f"Description({several(len(self.rows), 'column')}, {several(self.records, 'row')})"


def describe(reference: TableLike, *, schema: Schema | None = None) -> Description:
    """What each column of a reference may be used for, and why not.

    Parameters:

    - `reference`: a public table: a path, a dict of columns or a frame. Never give the private one: what is said tells
      of its cells.
    - `schema`: what is known of its columns; the rest is read off the reference.

    Returns a `Description`, which prints as a table. A use is "yes", "no", or "if": then its reason says what it takes.
    Raises `BadTable` for what is no table.

    >>> seen = describe({"id": list(range(40)), "ill": ["yes", "no"] * 20, "age": [30, 41, 55, 62] * 10})
    >>> seen["id"].what, seen["id"].why("query")
    ('running number 0 to 39', 'it numbers the rows, so its sums and counts say nothing')
    >>> seen.usable("unit"), seen.usable("publish"), seen["age"].uses["protect"]
    (('id',), ('age',), ('if', 'if it is cut, as in "age>=41" or "age:41,55"'))
    """
    if schema is None:
        cells = Schema({}).open(reference)
        return described(cells, presumed(cells))
    return described(schema.open(reference), schema)


def presumed(cells: Table) -> Schema:
    """What holds of a whole reference of which nothing is declared: a decimal comma, if its texts are numbers with one
    and none has a point.

    >>> presumed(Schema({}).open({"x": ["1,5", "2,25"], "y": ["a", "b"]})).decimal
    ','
    """
    columns = [list(islice(cells.raw(name).cells or (), _LOOKED)) for name in cells.columns]
    texts = (cell for column in columns for cell in column if isinstance(cell, str))
    pointed = any("." in text and not math.isnan(number_of(text)) for text in texts)
    return Schema({}, decimal="," if any(map(comma, columns)) and not pointed else ".")


def described(cells: Table, declared: Schema, columns: Iterable[str] | None = None) -> Description:
    """The same of some `columns` (all by default) of a table that is open already."""
    wanted = tuple(dict.fromkeys(name for name in (columns or cells.columns) if name in cells.columns))
    gone = frozenset(declared.absent)
    for name in wanted:
        if name not in declared.fields and all_dates(cells.raw(name), gone):
            declared = declared.with_field(name, Field.dates())
    unread: dict[str, str] = {}
    try:
        reading = declared.completed(cells, wanted).only(wanted)
    except BadTable:  # of one of them
        reading = declared
        for name in wanted:
            try:
                reading = reading.completed(cells, [name])
            except BadTable as error:
                unread[name] = str(error)
        reading = reading.only(name for name in wanted if name not in unread)
    rows = [
        _unread(name, len(cells), unread[name]) if name in unread
        else _seen(name, reading.fields[name], reading.column(name, cells.raw(name)), reading.decimal)
        for name in wanted
    ]  # fmt: skip
    return Description(tuple(rows), len(cells), reading)


def misfits(reference: Table, schema: Schema, asked: Mapping[str, Iterable[str | None]]) -> tuple[str, ...]:
    """What is asked of columns that are not for it: a sentence each. `asked`: {use: columns}."""
    wanted = {use: [name for name in names if name is not None] for use, names in asked.items()}
    seen = described(reference, schema, [name for names in wanted.values() for name in names])
    return tuple(
        f"{row.column!r} is of little use {USES[use]}: {row.why(use)}"
        for use, names in wanted.items()
        for row in seen.rows
        if row.column in names and row.uses[use][0] == NO
    )


_PERSON: Final = re.compile(
    r"(?<![a-z])(id|ids|uuid|guid|ssn|person|people|patient|client|customer|member|user|pupil|student|name)(?![a-z])"
    r"|(?<=[a-z])(Id|ID)$|^[a-z]{1,8}id$",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"[A-Za-z]{0,4}[-_]?\d{2,}")


def several_rows(reference: Table, unit: str | None, used: Iterable[str | None] = ()) -> tuple[str, ...]:
    """A sentence where nobody names the person, and a column of the reference that is not `used` seems to, by its name
    or by its codes, and repeats: what protects a row then does not protect its person."""
    wanted = () if unit is not None else [name for name in reference.columns if name not in {*used}]
    for name in wanted:
        raw = reference.raw(name)
        cells = list(islice(raw.cells or (), _LOOKED))
        coded = cells and all(isinstance(cell, str) and _CODE.fullmatch(cell) and number_of(cell) != number_of(cell)
                              for cell in cells)  # fmt: skip
        if not coded and not _PERSON.search(name):
            continue
        values = len(np.unique(raw.factors()[1]))
        if FEW_VALUES < values < len(raw):
            many = f"{values:,} values in {len(raw):,} rows of the reference"
            what = "one row is protected, not one person who has several"
            return (f"{name!r} seems to name the person, and repeats: {many}; {what}. Name the column: unit={name!r}",)
    return ()


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """What uses.toml says."""
    return tomllib.loads(resources.files("fugu.data").joinpath("uses.toml").read_text("utf-8"))


def _seen(name: str, known: Field, column: Column, decimal: str) -> ColumnUses:
    """What one column of a reference is, and may be used for."""
    codes, distinct = column.codes(strict=False)
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    missing, values, rows = int((codes < 0).sum()), len(distinct), int(counts.sum())
    kind = _kind(known, distinct, rows)
    facts: dict[str, Any] = {"column": name, "values": values, "missing": missing, "rows": rows, "kind": kind}
    if values:
        first, middle, last = np.searchsorted(np.cumsum(counts), [rows / 3, rows / 2, 2 * rows / 3])
        middle = max(middle, min(1, values - 1))  # cuts have values on both sides, also where most are the lowest
        first = (
            min(max(first, 1), values - 2) if values > 2 else 0
        )  # there is a value below it, and one to cut at above
        last = max(last, first + 1) if values > 2 else values - 1
        shown = {"low": 0, "first": first, "middle": middle, "last": last, "high": -1, "common": counts.argmax()}
        facts |= {key: _text(known, distinct[place]) for key, place in shown.items()}
        facts |= {"share": several(rows // values, "row"), "pairs": f"{values * (values - 1) // 2:,}"}
        facts["squared"] = f"{values**2:,}"
        listed = ", ".join(_text(known, each) for each in distinct[:_SHOWN])
        facts["listed"] = listed if values <= _SHOWN else f"{values:,} categories, such as {listed}"
        facts["kind"] = "whole numbers" if known.numeric and np.all(distinct == np.floor(distinct)) else "numbers"
        if kind == "numbers" and facts["kind"] == "whole numbers" and _named(distinct, counts):
            kind = "shared"
    said = texts()[kind]
    why = {use: said.get(use, said.get("every", "")) for use in USES}
    if known.values == TRUTH:
        why["publish"] = ""
    if kind in ("numbers", "dates", "categories"):
        _counted(why, kind, values, facts, {_text(known, v): int(n) for v, n in zip(distinct, counts, strict=True)})
    if not known.numeric and (mark := comma(distinct[:_LOOKED].tolist(), decimal)):
        why["publish"] = why["query"] = f"if it is meant as text: its {mark.advice}"
    if not why["unit"] and missing:
        why["unit"] = texts()["counts"]["unnamed"]
    what = said["what"].format(**facts) + (f", {missing:,} missing" if missing and kind != "nothing" else "")
    uses = {use: _use(text.format(**facts)) for use, text in why.items()}
    ends = [_text(known, distinct[place], exact=True) for place in (0, -1) if values and known.numeric]
    return ColumnUses(name, kind, what, len(column), missing, values, uses, known, *ends)


def _named(distinct: NDArray[Any], counts: NDArray[Any]) -> bool:
    """Whether whole numbers seem to name groups of rows, such as households: each of many has as many rows as every
    other, more than one, and hardly any is left out between the first and the last."""
    values, each = len(distinct), int(counts[0])
    spread = float(distinct[-1]) - float(distinct[0]) + 1
    return values > _STATES and each > 1 and bool(np.all(counts == each)) and spread <= 2 * values


def _unread(name: str, rows: int, why: str) -> ColumnUses:
    """A column of cells that are neither numbers nor text."""
    return ColumnUses(name, "unread", texts()["unread"]["what"], rows, 0, 0, dict.fromkeys(USES, (NO, why)), None)


def _use(text: str) -> tuple[str, str]:
    return (YES if not text else IF if text.startswith("if ") else NO), text


def _counted(why: dict[str, str], kind: str, values: int, facts: dict[str, Any], counts: Mapping[str, int]) -> None:
    """What depends on how many values there are, and how many rows each has."""
    said, share = texts()["counts"], facts["rows"] // values
    few = values <= FEW_VALUES
    if not few or share < FEW:
        why["by"] = said["small" if share < FEW else "groups"]
    if few and kind != "dates":
        rare = few_rows(counts)
        why["protect"] = "" if not rare else said["rare"] if kind == "categories" else why["protect"]
        facts["few"] = rare[0] if rare else ""
    elif kind == "categories":
        facts["limit"] = too_many(values, facts["column"])
        why["protect"] = said["pairs"] if values <= MAX_SECRETS else "{limit}"
    if kind != "dates" and facts["kind"] == "whole numbers" and few:
        why["state"] = ""
    if kind == "categories" and values > _STATES:
        why["state"] = said["states"]


def _kind(known: Field, distinct: NDArray[Any], rows: int) -> str:
    """What a column is."""
    values = len(distinct)
    if values < 2:
        return "constant" if values else "nothing"
    if known.numeric and not known.dated:
        return "running" if numbers_rows(distinct, rows) else "numbers"
    if known.kind == "time":
        return "dates" if known.dated else "times"
    if known.ordered or values <= FEW_VALUES or (2 * values <= rows and known.unordered):
        return "categories"
    words, characters = _SENTENCE
    cells = [str(cell) for cell in distinct.tolist()]
    if sum(map(len, cells)) > characters * values or sum(len(x.split()) for x in cells) > words * values:
        return "text"
    return "names" if values == rows else "categories"


def _text(known: Field, value: Any, exact: bool = False) -> str:
    """A value as it is shown."""
    if known.origin is not None:
        return days_text(known.origin, float(value))
    if known.numeric:
        return number_text(float(value)) if exact or float(value).is_integer() else f"{value:.4g}"
    return shortened(str(value), 30)


def suggested(seen: Description, publish: str | None = None, protect: Iterable[str] = ()) -> dict[str, list[str]]:
    """Columns to begin with, the first of each the best: what is a secret, a number to publish, a category to count, a
    name of the person. `publish`, `protect`: columns that are chosen already."""
    taken = {publish, *protect}
    few = [
        row for row in seen.rows
        if row.uses["protect"][0] != NO and row.kind in ("categories", "numbers") and row.values <= FEW_VALUES
    ]  # fmt: skip
    secrets = [row.column for row in sorted(few, key=lambda row: row.values) if row.column != publish]
    numbers = [row.column for row in seen.rows if row.kind == "numbers" and row.column not in taken]
    free = [name for name in numbers if name not in secrets] or numbers
    counted = [row.column for row in seen.rows if row.kind == "categories" and row.column not in taken]
    return {"protect": secrets, "publish": free, "count": counted, "unit": list(seen.usable("unit"))}
