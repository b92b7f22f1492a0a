"""Rows of a table as sequences: one per user, in order of time, with gaps and entries by public rules."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, final

import numpy as np

from fugu.data.cells import OTHER, number_of, text_of
from fugu.data.column import Column, Raw
from fugu.data.counted import CountedSequences
from fugu.data.field import Field
from fugu.data.frame import Table, TableLike, require_decoded
from fugu.data.layout import (
    SECRET,
    EntryPlan,
    Layout,
    interval_plan,
    long_plan,
    secret_times,
)
from fugu.data.moments import span_words, times_of
from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.data.spark import is_spark
from fugu.errors import BadTable, ColumnNotFound, MissingValues, NotProvable, UsageError

# A reference is public: `sequence_schema` takes from it what the cells of the state column mean, and `read_sequences`
# refuses what it cannot read. Private sequences are read through that schema, by `open_sequences`, each entry by
# itself: no state of one row decides how another is read, and none is refused. The user and the time are declared
# public, and so are the ends of intervals and the places of rows in the file. How rows become entries, the schema's
# `Layout` says.

Sequences = dict[Hashable, list[Any]]


@final
@dataclass(frozen=True, repr=False)
class Timed:
    """Sequences with what is public about them: the plan by which their entries were found, and how cells were
    read."""

    sequences: Sequences
    plan: EntryPlan
    schema: Schema
    opened: Private | None = None
    """The private table that they were read from, for its owner's eyes; None of a reference."""


def sequence_schema(
    reference: TableLike, by: str | None, order: str | None, state: str, schema: Schema | None = None
) -> Schema:
    """How rows become sequences: `by` is an identifier, `order` a time, `state` as `schema` or the reference says.

    `by`: None for one sequence, or for a wide table in which each row is one. `order`: None for a wide table, or where
    the rows are in order (`Layout(repeats="rows")`). `state`: the column; of a wide table the name that the schema has
    for what its columns hold. `reference`: public; `schema`: what is known before, with its `sequence` layout.

    >>> rows = {"user": ["u", "u"], "day": [1, 2], "level": [1.0, 2.5]}
    >>> sequence_schema(rows, by="user", order="day", state="level").columns["level"]["kind"]
    'number'
    """
    told = Schema({}) if schema is None else schema
    layout = told.sequence
    named, public = told.dialect.names, [name for name in (by, order, layout.end) if name is not None]
    if len({*public, state}) <= len(public) or len(set(public)) < len(public):
        parts = "the user, the time and the state must be three"
        parts = parts if layout.end is None else "the user, the start, the end and the state must be four"
        raise UsageError(f"{parts} different columns")
    if layout.wide and order is not None:
        raise UsageError("--columns names a column for each time: leave out --order")
    for name in (*public, *(() if layout.wide else (state,))):
        if named is not None and name not in named:
            raise ColumnNotFound(name, named)
    opened = told.open(reference)
    if is_spark(reference):
        opened = opened.counted((state,))
    if layout.wide:
        layout = layout.resolved(opened.columns)
        if by in layout.columns:
            raise UsageError(f"--columns holds the column {by!r} of --by; name the columns of states alone")
        told = replace(told, sequence=layout)
    for name in public:
        told = told.with_field(name, Field("identifier" if name == by else "time"))
    if layout.wide:  # all cells of its columns, one under the other
        cells = [cell for name in layout.columns for cell in opened.raw(name).to_list()]
        opened = Table({state: Raw.of("", cells) if all(isinstance(cell, str) for cell in cells) else cells})
    found = told.completed(opened, (state,))
    known = found.fields[state]
    if known.public:
        raise BadTable(f"column {state!r} must hold states: categories or numbers, not times or identifiers")
    if layout.cuts and (known.dated or not known.numeric):
        raise UsageError(f"--bins: column {state!r} must hold numbers; declare them in the schema, or leave out --bins")
    state_between(known, layout, state)
    if known.ordered and not known.nearest:  # the order of states means nothing here
        return found.with_field(state, replace(known, kind="category", typical=None))
    return found


def read_sequences(
    table: TableLike, by: str | None, order: str | None, state: str, schema: Schema | None = None
) -> Sequences | CountedSequences[Any]:
    """The sequences in a *public* table (a file, a frame, or a dict of columns), whose rows have any order: {user:
    [state, ...]}. Those of a Spark frame stay there, and are counted: `CountedSequences`.

    Users are texts. States are texts, or numbers where the column (or the schema) is one. Times are numbers, or texts
    in ISO 8601 ("2024-11-05", "2024-11-05T08:30"): any other text sorts by its letters, not by time, and is refused. So
    are two rows of one user at one time, unless the schema's layout says which counts, and missing cells. Without
    `schema` the types are read off the table: never give a private one. For that there is `open_sequences`. `by`,
    `order`, `state`: as in `sequence_schema`.

    >>> rows = {"user": ["u", "v", "u"], "day": [10, 1, 9], "place": ["work", "home", "gym"]}
    >>> read_sequences(rows, by="user", order="day", state="place")
    {'u': ['gym', 'work'], 'v': ['home']}
    """
    if not is_spark(table):
        return read_timed(table, by, order, state, schema).sequences
    known = sequence_schema(table, by, order, state, schema)
    from fugu.data.spark_sequences import sequences_there

    found = sequences_there(table, by, order, state, known, own=False)
    if None in found.entries:
        raise missing_cells(state)
    _require_states(found.entries, state, known)
    return found


def read_timed(table: TableLike, by: str | None, order: str | None, state: str, schema: Schema | None = None) -> Timed:
    """`read_sequences`, and the times of the entries."""
    plain = Schema({}) if schema is None else schema
    public = plain.open(table)
    known = sequence_schema(public, by, order, state, schema)
    layout, read = known.sequence, spread(known, state)
    names = tuple(name for name in (by, order, layout.end) if name is not None)
    states = tuple(layout.columns) or (state,)
    found = read.read(public, (*names, *states))
    if by is not None:
        _exact(by, public.raw(by))
    for name in (*names, *states):
        if found.exact(name).missing.any() and (name in names or known.fields[state].missing is None):
            raise missing_cells(name)
    images = flat([entries_of(known.fields[state], found.exact(name), layout) for name in states])
    _require_states(set(images), state, known)
    return _timed(found, by, order, images, known, state)


def missing_cells(name: str) -> MissingValues:
    """The refusal of missing cells in a reference."""
    return MissingValues(
        f"column {name!r} has missing cells; remove these rows, or fill the cells in (a state of its own, such as "
        "'unknown', for a missing state)"
    )


def _require_states(images: Collection[Any], state: str, known: Schema) -> None:
    """Refuse states of a reference that do not decode, and those that the schema does not list."""
    require_decoded(state, images, "states")
    if OTHER in images and OTHER not in (known.fields[state].values or ()):
        raise BadTable(
            f"column {state!r} of the reference holds states that the schema does not list; list them, or say there "
            'what such a state becomes (outside = "...")'
        )


def open_sequences(
    table: TableLike, by: str | None, order: str | None, state: str, schema: Schema
) -> Sequences | CountedSequences[Any]:
    """The sequences of a private table, read through a schema that `sequence_schema` made of public information. Those
    of a Spark frame stay there, and are counted: `CountedSequences`.

    Every state has an image, whatever stands in the cell: a state or number of the schema; what the schema says of
    states outside and of missing ones; else the text of the cell, and None for a missing one or for what is not a
    number, which a query's domain maps (`States(other=...)`, `Numbers(missing=...)`). Missing users, times or ends, and
    times and intervals that the layout refuses, are refused: these columns are declared public. `by`, `order`, `state`:
    as in `sequence_schema`.

    >>> known = sequence_schema({"user": ["u", "u"], "day": [1, 2], "level": [1, 2]}, "user", "day", "level")
    >>> open_sequences({"user": ["v", "v", "v"], "day": [3, 1, 2], "level": ["1.0", "V27.0", 2]}, "user", "day",
    ...                "level", known)
    {'v': [None, 2, 1]}
    """
    if is_spark(table):
        from fugu.data.spark_sequences import sequences_there

        return sequences_there(table, by, order, state, schema, own=True)
    return open_timed(table, by, order, state, schema).sequences


def open_timed(table: TableLike, by: str | None, order: str | None, state: str, schema: Schema) -> Timed:
    """`open_sequences`, and the times of the entries, which are public."""
    layout, known = schema.sequence, schema.fields[state]
    secret = layout.end is not None
    if secret and layout.inside != SECRET:
        raise NotProvable(
            "intervals whose begin and end are public cannot be released: all entries of one are equal, and whoever "
            "knows where it begins and ends learns all of them from one, which no chain says. If adversaries do not "
            "know when states change inside a user's record, say so: --inside secret; or release one entry for each "
            "row (--order, without --end)"
        )
    names = tuple(name for name in (by, None if secret else order) if name is not None)
    states = tuple(layout.columns) or (state,)
    hidden = tuple(name for name in (order, layout.end) if secret and name is not None)
    private = open_private(table, spread(schema, state), (*states, *hidden), names)
    if by is not None:
        _exact(by, private.whole.raw(by))
    for name in names:
        private.public(name)
    found = flat([own_entries(private, name, known, layout) for name in states])
    return _timed(private.table, by, order, found, schema, state, private)


def own_entries(private: Private, name: str, known: Field, layout: Layout) -> list[Any]:
    """The states of a private column, which are a function of each cell alone: see `open_sequences`."""
    entries = entries_of(known, private.table.exact(name), layout)
    if known.numeric or known.outside is not None:
        return entries
    texts = private.images(name, text_of)
    return [text if entry == OTHER else entry for entry, text in zip(entries, texts, strict=True)]


def declared_states(schema: Schema, state: str) -> tuple[str, ...] | None:
    """All states, where the schema declares them: its values, or the names of the bins; and what is between intervals.

    >>> declared_states(Schema({"w": {"kind": "number"}}, sequence=Layout(bins="5,9")), "w")
    ('<5', '5..9', '>=9')
    """
    layout, known = schema.sequence, schema.fields.get(state)
    found = layout.labels or (known.values if known is not None else None)
    if found is None or layout.between is None or layout.between in found:
        return found
    return (*found, layout.between)


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
    return f"n{float(cell).hex()}" if abs(cell) <= EXACT else f"n{cell}"


def strange_users(by: str) -> BadTable:
    """The refusal of users that are not told apart."""
    return BadTable(f"column {by!r} holds users that are neither text nor number, or that do not decode")


def _exact(by: str, raw: Raw) -> None:
    """Refuse users that an engine turned into doubles with more digits than these have: two may have become one."""
    if raw.array is not None and raw.masked is not None:
        Column(by, raw.array, raw.masked).require_exact()


def _timed(
    table: Table, by: str | None, order: str | None, images: list[Any], schema: Schema, state: str,
    opened: Private | None = None,
) -> Timed:  # fmt: skip
    """Entries by user, in order of time: by the public columns alone. No message holds a cell.

    `opened`: the private table, whose times of intervals are as secret as its states."""
    layout = schema.sequence
    secret = opened is not None and layout.end is not None
    if not images and not secret:
        raise BadTable("the table has no rows; sequences need at least one")
    rows = len(images) // max(len(layout.columns), 1)
    if by is None:  # one user, or one for each row of a wide table
        names = [str(row + 1) for row in range(rows)] if layout.wide else ["1"]
        codes = np.arange(rows) % len(names)
    else:
        codes, found = table.exact(by).codes(ordered=False)
        names = found.tolist()
        if any(user == OTHER or "\ufffd" in user for user in names):
            raise strange_users(by)
    users = codes, names
    if layout.wide:  # cell i * columns + j is that of row i and the j-th column
        if len(names) < rows:
            raise BadTable(f"column {by!r} repeats a user, and a wide table has one row for each")
        width = len(layout.columns)
        own = {names[code]: list(range(i * width, (i + 1) * width)) for i, code in enumerate(codes.tolist())}
        plan = EntryPlan(own, None)
    elif layout.end is not None:
        if order is None:
            raise UsageError("--end is where intervals end; give --order, the column where they begin")
        if opened is None:
            begins, ends = (times_of(table.exact(name), schema.decimal) for name in (order, layout.end))
            plan = interval_plan(users, begins, ends, layout, (order, layout.end))
        else:
            first, last = (opened.images(name, text_of) for name in (order, layout.end))
            plan = interval_plan(users, *secret_times(first, last, layout, schema.decimal), layout)
    else:
        plan = long_plan(users, by, None if order is None else table.exact(order), layout, schema.decimal)
    return Timed(plan.filled(images, state_between(schema.fields[state], layout, state)), plan, schema, opened)


# What each cell of a state column becomes as an entry: a function of that cell and of the schema alone.

EXACT = 2.0**53
"""Whole numbers up to here are doubles."""


def entries_of(known: Field, column: Column, layout: Layout) -> list[Any]:
    """Each state as a text or a number, 2 and 2.0 as one, or as a bin; a missing one as what the schema declares it to
    be, or None.

    This is a function of each cell alone."""
    cells, instead = column.values.tolist(), missing_state(known, layout)
    if known.numeric:
        cells = [_number(x, layout) for x in cells]
    return [instead if gone else cell for cell, gone in zip(cells, column.missing.tolist(), strict=True)]


def missing_state(known: Field, layout: Layout) -> Any:
    """What the schema declares a missing state to be, as an entry; None if it does not."""
    return known.missing if known.missing is None or not known.numeric else _number(float(known.missing), layout)


def _number(x: float, layout: Layout) -> Any:
    if layout.cuts:
        return layout.bin(x)
    return int(x) if x.is_integer() and abs(x) <= EXACT else x


def state_between(known: Field, layout: Layout, state: str) -> Any:
    """The state where no interval is: itself, or a number among numbers."""
    if layout.between is None or not known.numeric or layout.cuts:
        return layout.between
    number = number_of(layout.between)
    if not np.isfinite(number):
        raise UsageError(f"--between: column {state!r} holds numbers, so the state between intervals must be one")
    return _number(number, layout)


def spread(schema: Schema, state: str) -> Schema:
    """With what is known of the state said of each column of a wide table."""
    if not schema.sequence.wide:
        return schema
    each = dict.fromkeys(schema.sequence.columns, schema.fields[state])
    return replace(schema, columns={**schema.fields, **each}, header=schema.dialect.names or True)


def flat(columns: list[list[Any]]) -> list[Any]:
    """Images row by row."""
    return columns[0] if len(columns) == 1 else [image for row in zip(*columns, strict=True) for image in row]


# Gaps in time: what is said of them, and where they cut a sequence; all from times, which are public.


def spacing(plan: EntryPlan) -> tuple[str, ...]:
    """How far apart the entries of a user are, in a sentence; none where all are equally far, or nothing is known.

    On a grid: the largest gap and the share of entries after one. Else the largest distance and the usual one."""
    found = [b - a for at in (plan.times or {}).values() for a, b in pairwise(at)]
    if not found or max(found) == min(found):
        return ()
    if plan.step is not None:
        after, most = sum(1 for steps in found if steps > 1), max(found) - 1
        largest = f"{most:,} missing {'step' if most == 1 else 'steps'} of {plan.step.text} ({plan.step.said(most)})"
        share = f"{100 * after / len(found):.3g} % of the entries with one before them come after a gap"
        return (f"Gaps in time: {share}; the largest is {largest}.",)
    least, middle, most = min(found), sorted(found)[(len(found) - 1) // 2], max(found)
    said = [span_words(x) if plan.timed else f"{float(x):g}" for x in (least, middle, most)]
    apart = f"between {said[0]} and {said[2]} apart, half of them at most {said[1]}"
    return (f"Gaps in time: neighbouring entries of a user are {apart}.",)


def unbroken(timed: Timed) -> Sequences:
    """The parts of sequences on a grid in which no step is missing, by user and number of the part."""
    if timed.plan.times is None:
        return timed.sequences
    found: Sequences = {}
    for user, entries in timed.sequences.items():
        at = timed.plan.times[str(user)]
        cuts = [0, *(i + 1 for i, (a, b) in enumerate(pairwise(at)) if b - a > 1), len(entries)]
        for number, (a, b) in enumerate(pairwise(cuts)):
            key: Hashable = (user, number)
            found[key] = entries[a:b]
    return found
