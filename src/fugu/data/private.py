"""The one door to private data: `open_private`.

Every way into fugu that takes private records (a file, a frame, an array) opens them here, through a schema that was
fixed before. What comes out is a function of each record alone, and is defined for every record. Only columns that are
declared public (the unit, a group, the user, the order) may be refused for what they hold, and then without a cell of
it. tests/doors enumerates the callers of this function: a new one needs a case in the one-row harness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.causes import why_text
from fugu.data.cells import text_of
from fugu.data.column import Column
from fugu.data.frame import Table
from fugu.data.schema import Schema
from fugu.data.sources import TableLike
from fugu.errors import BadTable

Floats = NDArray[np.float64]
_LARGEST = float(np.finfo(np.float64).max)
T = TypeVar("T")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Private:
    """Columns of a private table, read through a schema; cells come out as numbers or as places of categories."""

    schema: Schema
    table: Table
    whole: Table
    """All columns of the table as they stand: for a ledger to recognise it by, and for `images`."""

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Private({len(self.table.columns)} columns)"

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
    absent = [name for name in wanted if name not in whole.columns]
    if absent:
        named = ", ".join(map(repr, absent))
        raise BadTable(
            f"the table to release has {len(whole.columns)} columns, and none is named {named}. If its first line is a "
            "record and not names, say so: --no-header, or Schema(header=False), with the schema's names"
        )
    return Private(schema, Table({name: schema.column(name, whole.raw(name)) for name in wanted}), whole)


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
