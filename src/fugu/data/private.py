"""The one door to private data, `open_private`, and why cells are not what they were meant to be."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import number_of, text_of
from fugu.data.column import Column
from fugu.data.field import Field
from fugu.data.frame import Table, TableLike
from fugu.data.moments import is_moment
from fugu.data.parts import CHANGED
from fugu.data.schema import Schema
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable

# Every way into fugu that takes private records (a file, a frame, an array) opens them by `open_private`, through a
# schema that was fixed before. What comes out is a function of each record alone, and is defined for every record. Only
# columns that are declared public (the unit, a group, the user, the order) may be refused for what they hold, and then
# without a cell of it. tests/doors enumerates the callers: a new one needs a case in the one-row harness.

Floats = NDArray[np.float64]
_LARGEST = float(np.finfo(np.float64).max)
T = TypeVar("T")


class RecordSum(Protocol):
    """A function of records, in whole numbers, that adds up over any parts of a table: it can be sent to where they
    are, and has a value for every record there can be."""

    @property
    def columns(self) -> Sequence[str]:
        """What it looks at."""

    def __call__(self, private: Private) -> Counter[Any]:
        """Its sum over the records of a part."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class Private:
    """Columns of a private table, read through a schema; cells come out as numbers or as places of categories."""

    schema: Schema
    columns: tuple[str, ...]
    """Those that are read; nothing is, of a table that stays where it is, before it is asked for."""
    whole: Table
    """All columns of the table as they stand: for a ledger to recognise it by, and for `images`."""
    apart: int | None = None
    """How many rows a table has that stays where it is, in Spark, and is counted there."""
    persons: tuple[str, ...] | None = None
    """Who is in it, each in one row and one spelling; None where nobody looked."""
    _cells: dict[tuple[str, Field | None], tuple[NDArray[np.int64], list[Any]]] = field(default_factory=dict)

    @cached_property
    def table(self) -> Table:
        """The columns, read."""
        raw = self.whole if self.apart is None else self.whole.select(self.columns)
        return Table({name: self.schema.column(name, raw.raw(name)) for name in self.columns})

    def __len__(self) -> int:
        return self.whole.rows if self.apart is None else self.apart

    def __repr__(self) -> str:
        return f"Private({len(self.columns)} columns)"

    def named(self, persons: tuple[str, ...] | None) -> Private:
        """The same, of which it is known who is in it."""
        found = replace(self, persons=persons)
        vars(found)["table"] = self.table  # which is read already
        return found

    def tally(self, tally: RecordSum) -> Counter[Any]:
        """The sum of a tally over all records; worked out where the table is."""
        source = self.whole.source
        if self.apart is None or not isinstance(source, SparkColumns):
            return tally(self)
        read = tuple(name for name in tally.columns if name in self.columns)
        found, rows = source.tally(tuple(dict.fromkeys(tally.columns)), PartSum(self.schema, read, tally))
        if rows != self.apart:
            raise BadTable(CHANGED)
        return found

    def cells(self, name: str, known: Field | None = None) -> tuple[NDArray[np.int64], list[Any]]:
        """Each row's place among the different cells of a column, and these, the last one None, for missing ones; read
        as it is `known`, None for the schema's way."""
        if (name, known) not in self._cells:
            schema = self.schema if known is None else self.schema.with_field(name, known)
            column = self.table.exact(name) if known is None else schema.column(name, self.whole.raw(name))
            codes, values = column.codes(ordered=False, strict=False)
            self._cells[name, known] = np.where(codes < 0, len(values), codes), [*values.tolist(), None]
        return self._cells[name, known]

    def numbers(self, name: str, keep_missing: bool = False) -> Floats:
        """The numbers of a column; a missing one is what the schema says, or NaN where it was declared public."""
        found = numbers(self.schema, self.table, name)
        if keep_missing:
            found[self.table.exact(name).missing] = np.nan
        return found

    def places(self, name: str, labels: Sequence[str]) -> NDArray[np.int64]:
        """The place of each cell among these labels, -1 where it is none of them."""
        return places(self.schema, self.table, name, labels)

    def images(self, name: str, read: Callable[[Any], T]) -> list[T]:
        """Each cell as it stands through a total function of one cell, for readings that are finer than doubles."""
        cells, codes = self.whole.raw(name).factors()
        found = [read(cell) for cell in cells]
        return [found[code] for code in codes.tolist()]

    def public(self, name: str) -> Column:
        """A column that was declared public, as it is; nothing may be missing in it."""
        column = self.table.exact(name)
        if column.missing.any():
            raise BadTable(f"column {name!r} is declared public and has missing cells in the table; fill them in")
        return column


def open_private(table: TableLike, schema: Schema, columns: Iterable[str], public: Iterable[str] = ()) -> Private:
    """Open a private table (a path, a frame, a dict of columns), reading only `columns` and the `public` ones."""
    wanted = tuple(dict.fromkeys((*columns, *public)))
    whole = schema.open(table)
    require_columns(whole.columns, wanted)
    private = Private(schema, wanted, whole)
    require_columns(private.table.columns, wanted)  # which reads them, all by one look at the table
    return private


def open_counted(table: TableLike, schema: Schema, columns: Iterable[str], public: Iterable[str] = ()) -> Private:
    """The same for what only counts records: of a Spark frame no row comes here."""
    whole = schema.open(table)
    if not isinstance(whole.source, SparkColumns):
        return open_private(whole, schema, columns, public)
    wanted = tuple(dict.fromkeys((*columns, *public)))
    require_columns(whole.columns, wanted)
    fixed = whole.source.fixed()
    return Private(schema, wanted, Table(fixed.frame), fixed.rows())


@final
@dataclass(frozen=True)
class PartSum:
    """A tally of rows as they stand, opened as the whole table would be."""

    schema: Schema
    read: tuple[str, ...]
    tally: RecordSum

    def __call__(self, native: Mapping[str, object], counts: NDArray[np.int64]) -> Counter[Any]:
        return self.tally(Private(self.schema, self.read, Table(native, counts)))


def require_columns(columns: Sequence[str], wanted: Iterable[str]) -> None:
    """`BadTable` unless the private table has the wanted columns; the others are not named."""
    if absent := [name for name in wanted if name not in columns]:
        named = ", ".join(map(repr, absent))
        raise BadTable(
            f"the table to release has {len(columns)} columns, and none is named {named}. If its first line is a "
            "record and not names, say so: --no-header, or Schema(header=False), with the schema's names"
        )


def numbers(schema: Schema, table: Table, name: str) -> Floats:
    """A column of a table that was read through the schema, as numbers: the same function on both tables."""
    known, column = schema.fields[name], table.exact(name)
    if known.numeric:
        found = column.floats()
        found[column.missing] = known.replacement
        return np.clip(found, -_LARGEST, _LARGEST)  # infinite is as far as a double goes
    if not known.ordered:
        raise BadTable(
            f"column {name!r} holds categories{why_text(known.values or ())}; give an ordering of them, bins=[...] "
            "from low to high, or declare it a number in the schema"
        )
    return known.categories.places(map(str, known.filled(column).values.tolist())).astype(np.float64)


def places(schema: Schema, table: Table, name: str, labels: Sequence[str]) -> NDArray[np.int64]:
    """Each cell's place among labels (as `Field.label` writes them), -1 where it is none of them.

    The one comparison, for counts, tables, groups and states. A missing cell is what the schema declares it to be,
    else none of them: a median is for sums, no category."""
    known, column = schema.fields[name], table.exact(name)
    place = {label: i for i, label in enumerate(labels)}
    codes, values = column.codes(ordered=False, strict=False)
    found = np.array([*(place.get(label_of(value), -1) for value in values.tolist()), -1], dtype=np.int64)
    instead = -1 if known.missing is None else place.get(label_of(known.missing), -1)
    return np.where(column.missing, instead, found[codes]).astype(np.int64)


def label_of(value: object) -> str:
    """The label of a cell that was read: a text as it is, a number in its one form."""
    return value if isinstance(value, str) else text_of(value)


# Why cells are not what they were meant to be: the likely cause of text among numbers, dates or categories.
#
# What is found here is said of public tables in errors, and of a private one to its owner alone (`fugu.check`). It
# decides nothing: how a cell is read is fixed by the schema, whatever its cause is.

DECIMAL_COMMA: Final = "decimal comma"
DECIMAL_POINT: Final = "decimal point"
THOUSANDS: Final = "thousands separator"
DAY_FIRST: Final = "day-first dates"
MONTH_FIRST: Final = "month-first dates"
YEAR_FIRST: Final = "year-first dates"
IN_WORDS: Final = "dates in words"
ENCODING: Final = "encoding"
GONE: Final = "missing code"
SEPARATOR: Final = "another separator"
SPELLING: Final = "another spelling"
STRAY: Final = "stray text"
_DATE = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](?:\d{4}|\d{2})(?:[ T].{1,20})?")
_ANY_DATE = re.compile(r"(\d{4}|\d{1,2})([./-])(\d{1,2})\2(?:\d{4}|\d{1,2})(?:[ T].{1,20})?")
_MONTH = r"(?:jan|feb|f\xe9v|mar|m\xe4r|apr|avr|ma[iy]|jun|jul|juin|aug|ao\xfb|sep|o[ck]t|nov|de[cz]|d\xe9c)[^\W\d]*\.?"
_WORDED = re.compile(rf"\d{{1,2}}\.?[ -]?{_MONTH}[ -]?\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}", re.IGNORECASE)


@cache
def _facts() -> tuple[dict[str, str], dict[str, re.Pattern[str]], frozenset[str], list[frozenset[str]]]:
    """Of each cause the advice, and the form of its texts; words for a missing cell, and words of one meaning each."""
    stated = tomllib.loads(Path(__file__).with_name("causes.toml").read_text(encoding="utf-8"))
    words, meanings = frozenset(stated.pop("words")), [frozenset(some) for some in stated.pop("meanings")]
    forms = {name: re.compile(cause["form"], re.IGNORECASE) for name, cause in stated.items() if "form" in cause}
    return {name: cause["advice"] for name, cause in stated.items()}, forms, words, meanings


@final
@dataclass(frozen=True)
class Cause:
    """`name`: in two words; `cells`: how many of them look like it; `advice`: what is the case, and what to do."""

    name: str
    cells: int
    advice: str

    @staticmethod
    def of(name: str, cells: int, more: str = "") -> Cause:
        """The cause of this name; `more`: what is seen of it."""
        return Cause(name, cells, _facts()[0][name] + more)


def causes(cells: Iterable[tuple[str, int]], decimal: str = ".") -> tuple[Cause, ...]:
    """Why texts with their counts are no numbers (or dates, if that is what they are), the most frequent cause first.

    >>> [cause.name for cause in causes([("139,5", 9), ("7,25", 3), ("31.12.2024", 2), ("?", 1)])]
    ['decimal comma', 'day-first dates', 'missing code']
    """
    counts: Counter[str] = Counter()
    dates: list[tuple[int, int]] = []
    grouped = True
    for text, count in cells:
        name = _cause(text.strip(), decimal, dates)
        counts[name] += count
        grouped &= name != DECIMAL_COMMA or _facts()[1][THOUSANDS].fullmatch(text.strip()) is not None
    if grouped and DECIMAL_COMMA in counts:  # "1,234" alone: nobody measures three digits every time
        counts[THOUSANDS] += counts.pop(DECIMAL_COMMA)
    if DAY_FIRST in counts and not any(first > 12 for first, _ in dates) and any(second > 12 for _, second in dates):
        counts[MONTH_FIRST] = counts.pop(DAY_FIRST)
    return tuple(Cause.of(name, count) for name, count in counts.most_common())


def why_text(values: Iterable[object], decimal: str = ".") -> str:
    """The end of a sentence about a public column that holds text: the likely cause, "" where it is meant to be text.

    >>> why_text(["139,5", "140,1"])
    ': numbers are written with a decimal comma; declare decimal = "," in the schema, as fugu init does'
    >>> why_text(["low", "high"])
    ''
    """
    texts = [value for value in values if isinstance(value, str)]
    meant = [text for text in texts if number_of(text, decimal) == number_of(text, decimal)]
    rest = [(text, 1) for text in texts if text not in set(meant)]
    known = [cause for cause in causes(rest, decimal) if cause.name != GONE]
    if known and known[0].name != STRAY and 2 * known[0].cells > len(rest):
        return f": {known[0].advice}"
    if texts and 2 * len(meant) > len(texts):  # mostly numbers
        return f": {_facts()[0][known[0].name if known else GONE]}"
    if len(texts) > 1 and all(map(is_moment, texts)):
        return ': it holds dates; declare it in the schema (kind = "time" with an origin)'
    return ""


def comma(values: Sequence[object], decimal: str = ".") -> Cause | None:
    """Of a column whose texts are numbers with a decimal comma, most of those that are none otherwise: that cause.

    >>> comma(["139,5", "140,1", "?"]).name, comma(["a", "b"]), comma(["1,234", "5,678"])
    ('decimal comma', None, None)
    """
    if decimal == "," or "," not in "".join(map(str, values)):
        return None
    first = causes((x, 1) for x in values if isinstance(x, str) and math.isnan(number_of(x, decimal)))[:1]
    return first[0] if first and first[0].name == DECIMAL_COMMA else None


def other_dates(cells: Iterable[tuple[str, int]], declared: Iterable[str]) -> Cause | None:
    """Why texts with their counts are none of the declared dates: they are written in another way. None where they are
    written alike, or are no dates.

    >>> other_dates([("31.12.2024", 2), ("01.02.2024", 1)], ["2024-12-31", "2024-02-01"]).advice
    "dates are not written as in the reference; write '31.12.2024' as it writes '2024-12-31'"
    """
    cells, declared = tuple(cells), tuple(declared)
    usual, seen = _date_form([(text, 1) for text in declared]), _date_form(cells)
    if usual is None or seen is None or seen == usual:
        return None
    dates = [(text, count) for text, count in cells if _is_date(text)]
    model = next(text for text in declared if _is_date(text))
    advice = f"dates are not written as in the reference; write {dates[0][0]!r} as it writes {model!r}"
    return Cause(seen[0], sum(count for _, count in dates), advice)


def respelt(text: str, known: Mapping[str, str]) -> str | None:
    """The declared category that a text may mean: in other case or spacing, by a word of the same meaning, or by bytes
    that were read in another encoding. `known`: `spellings` of the categories.

    >>> known = spellings(["yes", "no"])
    >>> respelt("JA", known), respelt(" Yes", known), respelt("perhaps", known)
    ('yes', 'yes', None)
    """
    plain = _folded(text)
    if plain in known:
        return known[plain]
    for meaning in _facts()[3]:
        named = [known[word] for word in meaning if word in known] if plain in meaning else []
        if len(set(named)) == 1:
            return named[0]
    return known.get(_folded(_mended(text)))


def spellings(values: Iterable[str]) -> dict[str, str]:
    """Declared categories by their letters alone; those that are then the same are left out."""
    folded = Counter(map(_folded, values := tuple(values)))
    return {_folded(value): value for value in values if folded[_folded(value)] == 1}


def undecoded(text: str) -> bool:
    """Whether a text holds what other bytes become that do not decode, or that were decoded twice."""
    return "\ufffd" in text or _mended(text) != text


def _mended(text: str) -> str:
    """UTF-8 that was taken for Latin-1, put right."""
    if text.isascii():
        return text
    try:
        return text.encode("cp1252").decode("utf-8")
    except (UnicodeError, ValueError):
        return text


def _is_date(text: str) -> bool:
    return any(form.fullmatch(text.strip()) is not None for form in (_ANY_DATE, _WORDED))


def _date_form(cells: Sequence[tuple[str, int]]) -> tuple[str, str] | None:
    """The order of day, month and year with the mark between them, if more than half of the cells are dates."""
    if 2 * sum(count for text, count in cells if _is_date(text)) <= sum(count for _, count in cells):
        return None
    found = [date for text, _ in cells if (date := _ANY_DATE.fullmatch(text.strip()))]
    if not found:
        return IN_WORDS, ""
    ((first, mark),) = Counter(("y" if len(date[1]) == 4 else "", date[2]) for date in found).most_common(1)[0][:1]
    if first:
        return YEAR_FIRST, mark
    days = [int(date[1]) > 12 for date in found], [int(date[3]) > 12 for date in found]
    return MONTH_FIRST if any(days[1]) and not any(days[0]) else DAY_FIRST, mark


def _folded(text: str) -> str:
    return re.sub(r"[\s_\-]+", " ", text).strip(" .,;:\"'").casefold()


def _cause(text: str, decimal: str, dates: list[tuple[int, int]]) -> str:
    """The cause of one text; the first two numbers of a date are noted."""
    if "\ufffd" in text:
        return ENCODING
    _, forms, words, _ = _facts()
    if text.casefold() in words:
        return GONE
    if date := _DATE.fullmatch(text):
        dates.append((int(date[1]), int(date[2])))
        return DAY_FIRST
    if sum(map(text.count, ";\t|")) > 1:
        return SEPARATOR
    other = DECIMAL_COMMA if decimal == "," else DECIMAL_POINT
    return next((name for name, form in forms.items() if name != other and form.fullmatch(text)), STRAY)
