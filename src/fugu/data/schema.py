"""`Schema`: how records of a table are read, from public information alone; its TOML."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from pathlib import Path
from typing import Any, final

import numpy as np

from fugu.data.cells import is_missing, middle, number_of, text_of
from fugu.data.column import Column, Raw
from fugu.data.field import TRUTH, Field, is_gone
from fugu.data.files import Dialect, read_table
from fugu.data.frame import Table, TableLike
from fugu.data.layout import PLAIN, Layout
from fugu.data.moments import is_moment
from fugu.errors import ColumnNotFound, UsageError
from fugu.files import write_text
from fugu.fixed import Fixed
from fugu.numbers.checks import is_path, is_texts
from fugu.shown import Shown
from fugu.visible import Json, brief, several

# The way from a private record to its contribution is a function of that record alone, fixed before the private table
# is opened, defined for every possible record. A schema is that function's first half: from cells as they stand in a
# file or a frame to numbers and categories. It comes from a reference table or from a declaration, never from private
# cells.

ABSENT = ("", "NA")
_MARKS = (".", ",")
_MOST_CATEGORIES = 10_000
_EXACT = 2.0**53


@final
@dataclass(frozen=True, repr=False)
class Schema(Shown):
    """Kind and domain of each column used; for files the separator, decimal mark, encoding, header, missing codes.

    Parameters:

    - `columns`: {name: {"kind": "number" | "category" | "ordered" | "time" | "identifier", ...}}. A number may have
      "bounds", "step", "outside" ("clip" or "missing") and "missing"; a category or an ordering has "values", and may
      have "outside" and "missing". A time with any of "origin", "bounds", "step" (days), "outside", "missing" is a
      column of dates, read as days since the origin (1970-01-01); without them it is public, and only put in order.
    - `separator`: that of CSV files; None reads it off the header line. `decimal`: "." or ",". `encoding`: of files.
    - `header`: True, False (the file has no names; the schema's are taken, in order), or the names of all columns.
    - `absent`: texts that mean "missing", besides what is missing in a frame.
    - `sequence`: how rows become entries, where the table is read as sequences.

    Raises `UsageError` and `UnknownName` for others.

    >>> schema = Schema({"chol": {"kind": "number", "bounds": (100, 600), "missing": 240},
    ...                  "ward": {"kind": "category", "values": ["a", "b"]}})
    >>> table = schema.read({"chol": ["250", "1e9", "?"], "ward": ["a", "zz", None]})
    >>> [schema.fields[name].filled(table.exact(name)).values.tolist() for name in table.columns]
    [[250.0, 600.0, 240.0], ['a', '(other)', '(other)']]
    """

    columns: Mapping[str, Mapping[str, object] | Field]
    separator: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool | Sequence[str] = True
    absent: Sequence[str] = ABSENT
    sequence: Layout = PLAIN
    fields: Mapping[str, Field] = field(init=False, compare=False, repr=False)
    dialect: Dialect = field(init=False, compare=False, repr=False)
    """How files are cut into cells."""

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not is_texts(self.columns):
            raise UsageError('a schema is a dict of columns, such as {"age": {"kind": "number", "bounds": (0, 110)}}')
        if self.decimal not in _MARKS:
            raise UsageError(f'the decimal mark of a schema is "." or ",", got {self.decimal!r}')
        if not is_texts(self.absent):
            raise UsageError("absent must be a list of texts that mean that a cell is missing")
        if not isinstance(self.sequence, Layout):
            object.__setattr__(self, "sequence", Layout.from_json(self.sequence))
        own = isinstance(self.header, bool)
        if not own and not is_texts(self.header):
            raise UsageError("header is true, false, or a list of the names of all columns")
        object.__setattr__(self, "fields", Fixed({name: Field.of(name, told) for name, told in self.columns.items()}))
        written = {name: Fixed(known.to_json()) for name, known in self.fields.items()}
        object.__setattr__(self, "columns", Fixed(written))
        object.__setattr__(self, "absent", tuple(code.strip() for code in self.absent))
        object.__setattr__(self, "header", self.header if own else tuple(self.header))  # type: ignore[arg-type]
        names = tuple(self.fields) if self.header is False else None if self.header is True else tuple(self.header)
        object.__setattr__(self, "dialect", Dialect(self.separator, self.encoding, names, self.decimal))

    def __repr__(self) -> str:
        return f"Schema({several(len(self.fields), 'column')}: {brief(list(self.fields))[1:-1]})"

    @staticmethod
    def from_table(reference: TableLike, columns: Iterable[str] | None = None) -> Schema:
        """The schema that a public table shows: numbers, truth values, times, or the categories that occur in it.

        `reference`: a path, a dict of columns or a frame; `columns`: which of them, None for all.
        A private cell that the reference gives no rule for becomes the reference's median, or "(other)"."""
        return Schema({}).completed(reference, columns)

    def completed(
        self, reference: TableLike, columns: Iterable[str] | None = None, numbers: Iterable[str] = ()
    ) -> Schema:
        """This schema with what it does not say about `columns` (all by default) taken from a public `reference`.

        Whole numbers of more digits than a double are categories, but for the columns `numbers`: they are rounded, and
        dates among them are days since 1970-01-01."""
        public = self.open(reference)
        wanted = public.columns if columns is None else tuple(dict.fromkeys(columns))
        fields, rounded = dict(self.fields), set(numbers)
        for name in wanted:
            if name not in public.columns:
                if name in fields:
                    continue
                raise ColumnNotFound(name, public.columns)
            raw = public.raw(name)
            known = fields.get(name)
            plain = known is not None and known.kind == "time" and not known.dated
            if plain and name in rounded:  # times to publish, not only to put in order
                known = Field.dates()
            if known is None or (known.values is None and known.unordered):  # categories may be left to the reference
                known = _seen(public, name, self, name in rounded)
            fields[name] = self._ruled(name, known, raw)
        return replace(self, columns=fields, header=self._names())

    def with_field(self, name: str, known: Field) -> Schema:
        """The same schema with the rule `known` for the column `name`."""
        return replace(self, columns={**self.fields, name: known}, header=self._names())

    def only(self, names: Iterable[str]) -> Schema:
        """The rules of the columns `names` alone."""
        wanted = set(names)
        chosen = {name: known for name, known in self.fields.items() if name in wanted}
        return replace(self, columns=chosen, header=self._names())

    def _names(self) -> bool | Sequence[str]:
        """The header for a schema of other columns: names that were the columns' own are written down."""
        return tuple(self.fields) if self.header is False else self.header

    def open(self, table: TableLike) -> Table:
        """The cells of `table`, a path, a dict of columns or a frame, as they stand; nothing is converted."""
        if is_path(table):
            return read_table(table, self.dialect)
        return table if isinstance(table, Table) else Table(table)

    def read(self, table: TableLike, columns: Iterable[str] | None = None) -> Table:
        """The `columns` of `table` (all by default) read through the schema, missing cells marked.

        The rest of the table is not looked at. Raises `ColumnNotFound` for a column that is not in it."""
        public = self.open(table)
        wanted = tuple(self.fields) if columns is None else tuple(dict.fromkeys(columns))
        for name in wanted:
            if name not in public.columns:
                raise ColumnNotFound(name, public.columns)
            if name not in self.fields:
                raise ColumnNotFound(name, tuple(self.fields))
        return Table({name: self.column(name, public.raw(name)) for name in wanted})

    def column(self, name: str, raw: Raw) -> Column:
        """The cells `raw` of the column `name`, read through the schema."""
        return self.fields[name].read(name, raw, self.decimal, self.absent)

    def to_json(self) -> Json:
        """The schema in JSON types, as certificates carry it."""
        header = self.header if isinstance(self.header, bool) else list(self.header)
        columns = {name: known.to_json() for name, known in self.fields.items()}
        said = {"separator": self.separator, "decimal": self.decimal, "encoding": self.encoding, "header": header}
        layout = {} if self.sequence.plain else {"sequence": self.sequence.to_json()}
        return {"columns": columns, **said, "absent": list(self.absent), **layout}

    @staticmethod
    def from_json(said: Json) -> Schema:
        """The schema that `to_json` wrote as `said`."""
        known = ("columns", "separator", "decimal", "encoding", "header", "absent", "sequence")
        if not isinstance(said, Mapping) or not set(said) <= set(known):
            raise UsageError(f"a schema has the parts {', '.join(known)}")
        return Schema(**{"columns": {}, **said})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schema:
        """The [schema] and [sequence] parts of the TOML file at `path`; `UsageError` if there is neither."""
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            raise UsageError(f"{Path(path).name!r} is not a TOML file that can be read; see the tutorials") from None
        if found.keys().isdisjoint(("schema", "sequence")):
            raise UsageError(f"{Path(path).name!r} has no [schema] part")
        schema = Schema.from_json(found.get("schema", {}))
        return replace(schema, sequence=Layout.from_json(found["sequence"])) if "sequence" in found else schema

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a TOML file to `path` that `load` reads."""
        write_text(path, schema_text(self.to_json()))

    def _ruled(self, name: str, known: Field, raw: Raw) -> Field:
        """With the reference's median for cells that no rule was given for."""
        if known.typical is not None or not (known.numeric or known.ordered):
            return known
        column = known.read(name, raw, self.decimal, self.absent)
        present, counts = column.values[~column.missing], column.counts
        if not len(present):
            return known
        often = None if counts is None else counts[~column.missing]
        if known.numeric:
            return replace(known, typical=float(middle(present, often)))
        places = known.categories.places(map(str, present.tolist()))
        return replace(known, typical=(known.values or ())[int(middle(places, often))])


def all_dates(raw: Raw, absent: frozenset[str]) -> bool:
    """Whether every cell of a public column that is not missing is a date."""
    known = [cell for cell in raw.cells or () if not is_gone(cell, absent)]
    return bool(known) and all(map(is_moment, known))


def _seen(public: Table, name: str, schema: Schema, rounded: bool) -> Field:
    """The field that a public column shows."""
    raw = public.raw(name)
    gone = frozenset(schema.absent)
    present = [cell for cell in raw.cells or () if is_missing(cell) or not is_gone(cell, gone)]
    timed = any(isinstance(cell, date | time | np.datetime64) for cell in present)
    if timed or (rounded and all_dates(raw, gone)):
        return Field.dates() if rounded else Field("time")
    comma = schema.decimal != "." and present and is_texts(present)
    if comma and not any(math.isnan(number_of(cell, schema.decimal)) for cell in present):
        return Field("number")
    column = public.exact(name)
    if column.numeric and column.values.dtype == bool:
        return Field("ordered", TRUTH)
    double = column.values.dtype == np.float64 and column.exact
    if column.numeric and (rounded or double or not np.any(np.abs(column.floats()[~column.missing]) > _EXACT)):
        return Field("number")
    found = column.codes()[1].tolist() if not column.numeric else present or column.codes()[1].tolist()
    named = tuple(sorted({text_of(v) for v in found if not is_missing(v)} - set(schema.absent)))
    if len(named) > _MOST_CATEGORIES or not named:
        return Field("identifier")
    return Field("category", named)


# A schema as TOML, which `tomllib` reads and does not write.


def schema_text(said: Mapping[str, Any]) -> str:
    """The [schema] part of a file, with one table for each column; and its [sequence] part, if there is one.

    >>> print(schema_text({"columns": {"age": {"kind": "number", "bounds": [0.0, 110.0]}}, "separator": None,
    ...                    "decimal": "."}), end="")
    [schema]
    decimal = "."
    <BLANKLINE>
    [schema.columns."age"]
    kind = "number"
    bounds = [0.0, 110.0]
    """
    lines = ["[schema]", *_lines({key: value for key, value in said.items() if key not in ("columns", "sequence")})]
    for name, known in said["columns"].items():
        lines += ["", f"[schema.columns.{_text(name)}]", *_lines(known)]
    if "sequence" in said:
        lines += ["", "[sequence]", *_lines(said["sequence"])]
    return "\n".join(lines) + "\n"


def _lines(part: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {value_text(value)}" for key, value in part.items() if value is not None]


def value_text(value: object) -> str:
    """A value in TOML: a text, a truth value, a number, a list or a table of them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(k))} = {value_text(v)}" for k, v in value.items() if v is not None) + "}"
    return _text(str(value))


def _text(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, but for the one character JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
