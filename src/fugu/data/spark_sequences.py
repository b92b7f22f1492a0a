"""Sequences of a Spark frame, which stay there: entries, first entries and neighbours are counted."""

from __future__ import annotations

import marshal
from collections import Counter
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from fugu.data.cells import OTHER, text_of
from fugu.data.column import Column
from fugu.data.counted import CountedSequences
from fugu.data.frame import Table, TableLike
from fugu.data.layout import REFUSE, repeated_time
from fugu.data.moments import in_order, no_time
from fugu.data.private import Private
from fugu.data.schema import Schema
from fugu.data.sequences import EXACT, entries_of, missing_cells, own_entries, strange_users
from fugu.data.spark import SparkColumns, asked
from fugu.errors import BadTable, UsageError

# Every row becomes its user, its time and its entry where it is, by the functions that
# read the rows of a file, and Spark counts entries, and pairs of neighbours in order of time, within users. What comes
# here are different entries and pairs with their numbers.

_GONE, _UNTIMED, _ODD, _WIDE, _NO_NUMBER, _NO_MOMENT, _ZONED = (1 << k for k in range(7))
"""Flags of a row: no user, no time; a user who is no text or does not decode, or is beyond the doubles; a time that is
no number, no moment, or a moment with a zone."""


@final
@dataclass(frozen=True, repr=False)
class ReadRows:
    """What an executor makes of rows: their users, times and entries, and what is wrong with the former two."""

    by: str | None
    order: str
    state: str
    schema: Schema
    own: bool

    def __call__(self, columns: list[Any]) -> tuple[list[Any], ...]:
        names = tuple(name for name in (self.by, self.order, self.state) if name is not None)
        opened, known, layout = Table(dict(zip(names, columns, strict=True))), self.schema, self.schema.sequence
        private = Private(known, names, opened)
        field, time = known.fields[self.state], private.table.exact(self.order)
        if self.own:
            entries = own_entries(private, self.state, field, layout)
        else:
            entries = entries_of(field, private.table.exact(self.state), layout)
        flags = np.where(time.missing, _UNTIMED, 0)
        users: list[bytes | None] = [b""] * len(time)
        if self.by is not None:
            user, raw = private.table.exact(self.by), opened.raw(self.by)
            users = [text_of(cell).encode("utf-8", "surrogatepass") for cell in user.values.tolist()]
            odd = [text == OTHER or "\ufffd" in str(text) for text in user.values.tolist()]
            flags |= np.where(user.missing, _GONE, np.where(odd, _ODD, 0))
            if raw.array is not None and raw.array.dtype == np.float64:
                flags |= np.where(np.abs(np.where(np.asarray(raw.masked), 0, raw.array)) > EXACT, _WIDE, 0)
        read = {text: in_order(str(text), known.decimal) for text in {*time.values.tolist()}}
        numbers, moments, zoned = zip(*(read[text] for text in time.values.tolist()), strict=True)
        for found, flag in ((numbers, _NO_NUMBER), (moments, _NO_MOMENT)):
            flags |= np.array([0 if key else flag for key in found])
        flags |= np.where(zoned, _ZONED, 0)
        return users, [*numbers], [*moments], [marshal.dumps(entry, 2) for entry in entries], flags.tolist()


def sequences_there(
    table: TableLike, by: str | None, order: str | None, state: str, schema: Schema, own: bool
) -> CountedSequences[Any]:
    """The sequences of a Spark frame; `own`: of a private one, read as `open_sequences` says."""
    from pyspark.sql import Window, functions

    layout = schema.sequence
    if layout.wide or layout.end is not None or layout.step is not None or layout.repeats != REFUSE or order is None:
        raise UsageError(
            "of a Spark frame, sequences have one row for each entry and user, and a column of times that tells their "
            "order: make such rows in the frame, where it is wide, holds intervals or times to be rounded, repeats "
            "times, or has no time"
        )
    names = tuple(name for name in (by, order, state) if name is not None)
    rows = SparkColumns(table).entries(names, ReadRows(by, order, state, schema, own))
    count, said = functions.count(functions.lit(1)), rows.flags
    told = asked(rows.agg(count, functions.bit_or(said), functions.bit_and(said)).first)
    if not told[0]:
        raise BadTable("the table has no rows; sequences need at least one")
    some, every = told[1], told[2]
    for name, gone in ((by, _GONE), (order, _UNTIMED)):
        if some & gone:
            if own:
                raise BadTable(f"column {name!r} is declared public and has missing cells in the table; fill them in")
            raise missing_cells(str(name))
    if by is not None and some & _WIDE:
        Column(by, np.array([2.0 * EXACT]), np.array([False])).require_exact()  # which refuses it
    if some & _ODD:
        raise strange_users(str(by))
    if some & _NO_NUMBER and (some & _NO_MOMENT or (some ^ every) & _ZONED):
        raise no_time(order)
    time = rows.moment if some & _NO_NUMBER else rows.number
    each = rows.groupBy("user", time.alias("time")).agg(count.alias("n"))
    users = each.groupBy("user").agg(functions.sum("n").alias("n"), functions.max("n").alias("at once"))
    number, longest, most = asked(users.agg(count, functions.max("n"), functions.max("at once")).first)
    if most > 1:
        raise repeated_time(by, order)

    def entries() -> Counter[Any]:
        found = asked(rows.groupBy("entry").agg(count.alias("n")).collect)
        return Counter({marshal.loads(bytes(row["entry"])): row["n"] for row in found})

    def steps() -> Counter[Any]:
        before = functions.lag("entry").over(Window.partitionBy("user").orderBy(time))
        found = asked(rows.select("entry", before.alias("before")).groupBy("before", "entry").agg(count).collect)
        loads = [(None if a is None else marshal.loads(bytes(a)), marshal.loads(bytes(b)), a is None, n) for a, b, n in
                 found]  # fmt: skip
        return Counter({(a, b, first): n for a, b, first, n in loads})

    return CountedSequences(int(number), int(longest), int(told[0]), entries, steps)
