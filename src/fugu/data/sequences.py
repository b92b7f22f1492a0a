"""Rows of a table as sequences: one per user, in order of time.

A reference is public: `sequence_schema` takes from it what the cells of the state column mean, and `read_sequences`
refuses what it cannot read. Private sequences are read through that schema, by `open_sequences`, each entry by itself:
no state of one row decides how another is read, and none is refused. The user and the time are declared public.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import OTHER, number_of, text_of
from fugu.data.column import Column
from fugu.data.field import Field
from fugu.data.frame import Table
from fugu.data.private import open_private
from fugu.data.raw import Raw
from fugu.data.schema import Schema
from fugu.data.sources import TableLike
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UsageError

Sequences = dict[Hashable, list[Any]]
_WHOLE = re.compile(r"[+-]?\d{1,1000}", re.ASCII)
_EXACT = 2.0**53


def sequence_schema(reference: TableLike, by: str, order: str, state: str, schema: Schema | None = None) -> Schema:
    """How rows become sequences: `by` is an identifier, `order` a time, `state` as `schema` or the reference says.

    >>> rows = {"user": ["u", "u"], "day": [1, 2], "level": [1.0, 2.5]}
    >>> sequence_schema(rows, by="user", order="day", state="level").columns["level"]["kind"]
    'number'
    """
    if len({by, order, state}) < 3:
        raise UsageError("the user, the time and the state must be three different columns")
    told = Schema({}) if schema is None else schema
    named = told.dialect.names
    for name in (by, order, state):
        if named is not None and name not in named:
            raise ColumnNotFound(name, named)
    found = told.with_field(by, Field("identifier")).with_field(order, Field("time")).completed(reference, (state,))
    known = found.fields[state]
    if known.public:
        raise BadTable(f"column {state!r} must hold states: categories or numbers, not times or identifiers")
    if known.ordered and not known.nearest:  # the order of states means nothing here
        return found.with_field(state, replace(known, kind="category", typical=None))
    return found


def read_sequences(table: TableLike, by: str, order: str, state: str, schema: Schema | None = None) -> Sequences:
    """{user: [state, ...]} of a *public* table (a file, a frame, or a dict of columns), whose rows have any order.

    Users are texts. States are texts, or numbers where the column (or the schema) is one. Times are numbers, or texts
    in ISO 8601 ("2024-11-05", "2024-11-05T08:30"): any other text sorts by its letters, not by time, and is refused. So
    are two rows of one user at one time, whose order nobody knows, and missing cells. Without `schema` the types are
    read off the table: never give a private one. For that there is `open_sequences`.

    >>> rows = {"user": ["u", "v", "u"], "day": [10, 1, 9], "place": ["work", "home", "gym"]}
    >>> read_sequences(rows, by="user", order="day", state="place")
    {'u': ['gym', 'work'], 'v': ['home']}
    """
    plain = Schema({}) if schema is None else schema
    public = plain.open(table)
    known = sequence_schema(public, by, order, state, schema)
    found = known.read(public, (by, order, state))
    _exact(by, public.raw(by))
    for name in (by, order, state):
        if found.exact(name).missing.any() and (name != state or known.fields[state].missing is None):
            raise MissingValues(
                f"column {name!r} has missing cells; remove these rows, or fill the cells in (a state of its own, such "
                "as 'unknown', for a missing state)"
            )
    entries = _entries(known.fields[state], found.exact(state))
    if OTHER in entries and OTHER not in (known.fields[state].values or ()):
        raise BadTable(
            f"column {state!r} of the reference holds states that the schema does not list; list them, or say there "
            'what such a state becomes (outside = "...")'
        )
    return _split(found, by, order, entries, known.decimal)


def open_sequences(table: TableLike, by: str, order: str, state: str, schema: Schema) -> Sequences:
    """The sequences of a private table, read through a schema that `sequence_schema` made of public information.

    Every state has an image, whatever stands in the cell: a state or number of the schema; what the schema says of
    states outside and of missing ones; else the text of the cell, and None for a missing one or for what is not a
    number, which a query's domain maps (`States(other=...)`, `Numbers(missing=...)`). Missing users or times, and
    repeated times, are refused: these columns are declared public.

    >>> known = sequence_schema({"user": ["u", "u"], "day": [1, 2], "level": [1, 2]}, "user", "day", "level")
    >>> open_sequences({"user": ["v", "v", "v"], "day": [3, 1, 2], "level": ["1.0", "V27.0", 2]}, "user", "day",
    ...                "level", known)
    {'v': [None, 2, 1]}
    """
    private = open_private(table, schema, (state,), (by, order))
    _exact(by, private.whole.raw(by))
    for name in (by, order):
        private.public(name)
    known = schema.fields[state]
    entries = _entries(known, private.table.exact(state))
    if not known.numeric and known.outside is None:
        texts = private.images(state, text_of)
        entries = [text if entry == OTHER else entry for entry, text in zip(entries, texts, strict=True)]
    return _split(private.table, by, order, entries, schema.decimal)


def usual_state(reference: Mapping[Hashable, list[Any]]) -> Hashable:
    """The most frequent state of public sequences (of those with a transition, which a chain is fitted on); the least
    of several: what an unknown state counts as where nobody chose.

    >>> usual_state({"u": ["b", "a"], "v": ["b", "a"], "w": ["c"]})
    'a'
    """
    known = [entries for entries in reference.values() if len(entries) > 1] or list(reference.values())
    counts = Counter(entry for entries in known for entry in entries)
    found: Hashable = min(counts, key=lambda state: (-counts[state], state))
    return found


def sequences_digest(sequences: Mapping[Hashable, list[Any]]) -> str:
    """SHA-256 of the users with their sequences; the order of users, and of the rows they came from, does not matter.

    >>> sequences_digest({"u": [1, 2], "v": [3]}) == sequences_digest({"v": [3.0], "u": [1, 2]})
    True
    """
    told = [[_told(user), [_told(entry) for entry in entries]] for user, entries in sequences.items()]
    listed = sorted(told, key=str)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _told(cell: Any) -> str:
    if cell is None:
        return "missing"
    if not isinstance(cell, int | float):
        return f"t{text_of(cell)}"
    return f"n{float(cell).hex()}" if abs(cell) <= _EXACT else f"n{cell}"


def _exact(by: str, raw: Raw) -> None:
    """Refuse users that an engine turned into doubles with more digits than these have: two may have become one."""
    if raw.array is not None and raw.masked is not None:
        Column(by, raw.array, raw.masked).require_exact()


def _entries(known: Field, column: Column) -> list[Any]:
    """Each state as a text or a number, 2 and 2.0 as one; a missing one as what the schema declares it to be, or None.

    This is a function of each cell alone."""
    cells = column.values.tolist()
    if known.numeric:
        cells = [int(x) if x.is_integer() and abs(x) <= _EXACT else x for x in cells]
    instead: Any = known.missing
    if known.numeric and instead is not None:
        instead = int(instead) if instead.is_integer() and abs(instead) <= _EXACT else instead
    return [instead if gone else cell for cell, gone in zip(cells, column.missing.tolist(), strict=True)]


def _split(table: Table, by: str, order: str, entries: list[Any], decimal: str) -> Sequences:
    """Entries by user, in order of time: by the public columns alone. No message holds a cell."""
    if not entries:
        raise BadTable("the table has no rows; sequences need at least one")
    codes, users = table.exact(by).codes(ordered=False)
    if any(user == OTHER or "\ufffd" in user for user in users.tolist()):
        raise BadTable(f"column {by!r} holds users that are neither text nor number, or that do not decode")
    times = ranks(table.exact(order), decimal)
    place = np.lexsort((times, codes))
    same = (np.diff(codes[place]) == 0) & (np.diff(times[place]) == 0)
    if same.any():
        raise BadTable(
            f"column {order!r} repeats a time within a user of column {by!r}, so the order of the entries is unknown; "
            "keep one row for each time, or give finer times"
        )
    found: Sequences = {user: [] for user in users.tolist()}
    for row in place.tolist():
        found[users[codes[row]]].append(entries[row])
    return found


def ranks(column: Column, decimal: str = ".") -> NDArray[Any]:
    """Whole numbers in the order of the times."""
    if column.numeric:
        return np.asarray(np.unique(column.values, return_inverse=True)[1])
    texts = column.values.tolist()
    when: dict[str, Any] = {text: _number(text, decimal) for text in set(texts)}
    try:
        if any(number is None for number in when.values()):
            when = {text: datetime.fromisoformat(text) for text in when}
        rank = {time: i for i, time in enumerate(sorted(set(when.values())))}
    except (ValueError, TypeError):
        raise BadTable(
            f"column {column.name!r} must hold numbers, or times in ISO 8601 such as 2024-11-05T08:30, all with or all "
            "without a time zone; other text has no order in time"
        ) from None
    return np.array([rank[when[text]] for text in texts], dtype=np.int64)


def _number(text: str, decimal: str) -> int | float | None:
    """The finite number that a text spells, whole ones exactly; None if it is none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    number = number_of(text, decimal)
    return number if math.isfinite(number) else None
