"""What a command about sequences reads: the reference first, which is public; then the table, through its schema."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from fugu.data import Schema, Table
from fugu.data.categories import Categories
from fugu.data.cells import OTHER, text_of
from fugu.data.field import Field
from fugu.data.layout import Layout
from fugu.data.sequences import (
    Sequences,
    open_sequences,
    read_sequences,
    sequence_schema,
    sequences_digest,
    usual_state,
)
from fugu.errors import PriorNotPublic, UsageError


@dataclass(frozen=True)
class Columns:
    """The columns of sequences, how files are read, and how their rows become entries."""

    by: str | None
    """The user; None for one sequence, or for a wide table, in which each row is one."""
    order: str | None
    """The time, or the start of an interval; None for wide tables and for files whose rows are in order."""
    state: str
    """The state; of a wide table, what its columns hold, by the name that the schema has for it."""
    schema: str | None = None
    header: bool = True
    layout: Layout = Layout()
    """What the options say; the schema file may say more in its [sequence] part."""

    def told(self) -> Schema:
        """What the schema file and the options say; without them, nothing."""
        found = Schema({}) if self.schema is None else Schema.load(self.schema)
        return replace(found, sequence=self.layout.merged(found.sequence))

    def public(self, table: str) -> tuple[Schema, Sequences, tuple[str, ...]]:
        """The schema and the sequences of a reference, and the names of its columns."""
        if not self.header and self.schema is None:
            raise UsageError("--no-header takes the names of the columns from --schema FILE, or from --reference")
        told = self.told() if self.header else replace(self.told(), header=False)
        opened, names = told.open(table), (self.by, self.order, self.state)
        schema = sequence_schema(opened, *names, schema=told)
        return schema, read_sequences(opened, *names, schema=schema), opened.columns


@dataclass(frozen=True, repr=False)
class Reading:
    """The reference, the private sequences, and the public rules by which they were read."""

    schema: Schema
    reference: Sequences
    private: Sequences
    other: Hashable
    """The state that unknown ones count as, and missing ones unless the schema says otherwise."""
    rule: str
    """The same, in words."""
    whole: Table
    """The table as it stands, for a ledger to recognise it by."""

    @staticmethod
    def of(columns: Columns, table: str, reference: str | None, other: str | None) -> Reading:
        """Everything that is decided is decided by the reference, before the table is opened."""
        named = columns.schema is None and reference is not None  # by the reference's own header line
        schema, known, names = replace(columns, header=columns.header or named).public(reference or table)
        if named and not columns.header:
            schema = replace(schema, header=names)
        spare, rule = _spare(schema.fields[columns.state], columns.state, known, other)
        whole = schema.open(table)
        private = open_sequences(whole, columns.by, columns.order, columns.state, schema)
        if reference is not None and sequences_digest(known) == sequences_digest(private):
            raise PriorNotPublic(
                "the reference holds the very sequences to be released; give another reference, or --public-prior to "
                "count what is fitted on them as public"
            )
        return Reading(schema, known, private, spare, rule, whole)


def _spare(known: Field, state: str, reference: Sequences, other: str | None) -> tuple[Hashable, str]:
    """What unknown states count as: the schema's choice, --other, or the reference's most frequent one; and in words.

    It is a state of the reference: the prior has no law for any other."""
    states = list(dict.fromkeys(e for entries in reference.values() if len(entries) > 1 for e in entries))
    rules = {} if known.numeric else {"outside": known.outside, "missing": known.missing}
    for rule in rules.values():
        if rule not in (None, OTHER, "nearest", *states):
            raise UsageError(f"the schema maps cells of column {state!r} to {rule!r}, not a state of the reference")
    declared = rules.get("outside")
    spare: Hashable
    if declared not in (None, OTHER, "nearest"):
        if other not in (None, declared):
            raise UsageError(f"the schema says what an unknown state of column {state!r} becomes; leave out --other")
        spare, why = declared, "as the schema says"
    elif other is None:
        usual = OTHER if OTHER in states else usual_state(reference)
        spare, why = usual, "the most frequent state of the reference" if usual != OTHER else "by its name"
    else:
        place = Categories([text_of(name) for name in states]).place(other)
        if place < 0:
            raise UsageError(f"--other: state {other!r} is not one of the reference; there are {states[:8]}")
        spare, why = states[place], "as declared"
    gone = next((name for name in states if name == known.missing), spare)
    if declared == "nearest":
        text = next((name for name in states if name == known.replacement), spare)
        return (
            spare,
            f"unknown numbers count as the nearest state, unknown texts as {text!r}, missing states as {gone!r}",
        )
    if gone == spare:
        return spare, f"unknown and missing states count as {spare!r}, {why}"
    return spare, f"unknown states count as {spare!r}, {why}; missing ones as {gone!r}"
