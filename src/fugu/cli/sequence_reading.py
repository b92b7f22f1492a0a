"""What a command about sequences reads: the reference first, which is public; then the table, through its schema.

Then the questions that `--query "top3, histogram, mean(x)"` stands for, and their answers for people."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from typing import Any

from fugu.cli import options
from fugu.cli.options import split
from fugu.data import Schema, Table
from fugu.data.cells import OTHER, Categories, text_of
from fugu.data.field import Field
from fugu.data.layout import MODELLED, PLAIN, ROWS, EntryPlan, Layout
from fugu.data.private import Private
from fugu.data.sequences import (
    Sequences,
    Timed,
    missing_state,
    open_timed,
    read_timed,
    sequence_schema,
    sequences_digest,
    spacing_words,
    usual_state,
)
from fugu.errors import PriorNotPublic, UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_prior import Chain, steps_of
from fugu.queries.sequences import (
    WAYS,
    Count,
    Histogram,
    Mean,
    Numbers,
    SequenceQuery,
    Several,
    States,
    Sum,
    TopK,
    Transitions,
)
from fugu.question import Question, facts
from fugu.visible import several

STATE = "state"
"""What the schema calls the states of a wide table, where no other name is given."""


@dataclass(frozen=True)
class EntryColumns:
    """The columns of sequences, how files are read, and how their rows become entries."""

    by: str | None
    """The user; None for one sequence, or for a wide table, in which each row is one."""
    order: str | None
    """The time, or the start of an interval; None for wide tables and for files whose rows are in order."""
    state: str
    """The state; of a wide table, what its columns hold, by the name that the schema has for it."""
    schema: str | None = None
    header: bool = True
    layout: Layout = PLAIN
    """What the options say; the schema file may say more in its [sequence] part."""

    def told(self) -> Schema:
        """What the schema file and the options say; without them, nothing."""
        found = Schema({}) if self.schema is None else Schema.load(self.schema)
        return replace(found, sequence=self.layout.merged(found.sequence))

    def timed(self, table: str) -> tuple[Schema, Timed, tuple[str, ...]]:
        """The schema and the sequences of a reference with their times, and the names of its columns."""
        if not self.header and self.schema is None:
            raise UsageError("--no-header takes the names of the columns from --schema FILE, or from --reference")
        told = self.told() if self.header else replace(self.told(), header=False)
        opened, names = told.open(table), (self.by, self.order, self.state)
        schema = sequence_schema(opened, *names, schema=told)
        return schema, read_timed(opened, *names, schema=schema), opened.columns

    def read(self, schema: Schema) -> Schema:
        """Of a schema what these columns are read by."""
        public = (self.by, self.order, schema.sequence.end)
        return schema.only(name for name in (*public, self.state) if name is not None)


def layout_of(question: Question) -> Layout:
    """How rows become entries, as the options say."""
    stated = {name: getattr(question, name) for name, said in facts(Question).items() if said.section == "sequence"}
    said = {name: text for name, text in (*stated.items(), ("bins", question.bins)) if text is not None}
    return Layout(**said)


def columns_of(question: Question) -> EntryColumns:
    """The columns that a question names; `UsageError` says which are needed for this layout."""
    names = question.by, question.order, question.state or STATE
    columns = EntryColumns(*names, question.schema, not question.no_header, layout_of(question))
    wanted = columns.told().sequence
    if not wanted.wide and (question.state is None or (question.order is None and wanted.repeats != ROWS)):
        raise UsageError(
            "sequences need --state STATE and --order TIME (or --repeats rows, if the rows are in order), and --by "
            "USER for more than one; or --columns FIRST:LAST for a wide table"
        )
    return columns


@dataclass(frozen=True, repr=False)
class SequenceReading:
    """The reference, the private sequences, and the public rules by which they were read."""

    schema: Schema
    reference: Sequences
    private: Sequences
    """Those of the table; of a dry run, which opens none, the reference's in their place."""
    other: Hashable
    """The state that unknown ones count as, and missing ones unless the schema says otherwise."""
    rule: str
    """The same, in words."""
    whole: Table | None
    """The table as it stands, for a ledger to recognise it by; None where it was not opened."""
    known: Timed
    """The reference with its times."""
    plan: EntryPlan
    """The private table's public times."""
    opened: Private | None = None
    """The private table, for its owner's eyes."""

    @staticmethod
    def of(columns: EntryColumns, table: str | None, reference: str | None, other: str | None) -> SequenceReading:
        """Everything that is decided is decided by the reference, before the table is opened.

        `table`: None for a dry run, in which the reference stands in for it; `reference`: None to take the table's own
        beliefs, which then count as public."""
        named = columns.schema is None and reference is not None  # by the reference's own header line
        schema, timed, names = replace(columns, header=columns.header or named).timed(reference or str(table))
        known = timed.sequences
        if named and not columns.header:
            schema = replace(schema, header=names)
        spare, rule = _spare(schema.fields[columns.state], columns.state, known, other, schema.sequence)
        if table is None:
            return SequenceReading(schema, known, known, spare, rule, None, timed, timed.plan)
        whole = schema.open(table)
        opened = open_timed(whole, columns.by, columns.order, columns.state, schema)
        private = opened.sequences
        if reference is not None and sequences_digest(known) == sequences_digest(private):
            raise PriorNotPublic(
                "the reference holds the very sequences to be released; give another reference, or --public-prior to "
                "count what is fitted on them as public"
            )
        return SequenceReading(schema, known, private, spare, rule, whole, timed, opened.plan, opened.opened)

    @property
    def longest(self) -> int:
        """The entries of the longest sequence; where gaps are modelled, with those that are missing."""
        entries = max(map(len, self.private.values()))
        return max(entries, self.plan.span) if self.schema.sequence.gaps == MODELLED else entries

    def steps(self, length: int | None, confidence: Real | None) -> tuple[tuple[int, ...], ...] | None:
        """The patterns of missing steps, if gaps are modelled by powers; limits and longer priors take the grid."""
        if self.schema.sequence.gaps != MODELLED or length is not None or confidence is not None:
            return None
        return steps_of(self.plan, self.reference)

    def spacing(self) -> tuple[str, ...]:
        """What is said of the times of the table, which are public."""
        return () if self.schema.sequence.end is not None else spacing(self.plan)


def spacing(plan: EntryPlan) -> tuple[str, ...]:
    """A sentence about the times of entries, if these are not equally far apart."""
    said = spacing_words(plan)
    return () if said is None else (said,)


def _spare(known: Field, state: str, reference: Sequences, other: str | None, layout: Layout) -> tuple[Hashable, str]:
    """What unknown states count as: the schema's choice, --other, or the reference's most frequent one; and in words.

    It is a state of the reference: the prior has no law for any other."""
    states = list(dict.fromkeys(e for entries in reference.values() if len(entries) > 1 for e in entries))
    rules: dict[str, float | str | None] = {} if known.numeric else {"outside": known.outside, "missing": known.missing}
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
    missing = missing_state(known, layout)
    gone = next((name for name in states if name == missing), spare)
    if declared == "nearest":
        text = next((name for name in states if name == known.replacement), spare)
        return (
            spare,
            f"unknown numbers count as the nearest state, unknown texts as {text!r}, missing states as {gone!r}",
        )
    if gone == spare:
        return spare, f"unknown and missing states count as {spare!r}, {why}"
    return spare, f"unknown states count as {spare!r}, {why}; missing ones as {gone!r}"


_QUERY = re.compile(r"\s*(?P<name>[a-z]+?)\s*(?:(?P<k>\d+)|\(\s*(?P<of>.*?)\s*\))?\s*")


@dataclass(frozen=True)
class Wording:
    """How questions are worded: the texts of `--query`, `--weights`, `--method`, and what they are about.

    `state`: the column; `known`: what is known of it; `bounds` of numbers, if declared; `other`: the state that
    undeclared ones count as, None for the first; `declared`: whether that was given as an option."""

    query: str
    state: str
    known: Field
    weights: str | None = None
    method: str = "best"
    bounds: tuple[Real, Real] | None = None
    other: Any = None
    declared: bool = False

    def made(self, chain: Chain) -> SequenceQuery:
        """The question, or all of them as one; the domain is that of the chain or declared, never the data's."""
        if self.method not in WAYS:
            raise UnknownName("method for sequences", self.method, WAYS)
        texts = split(self.query)
        parts = [self._one(text, chain) for text in texts]
        if self.bounds is not None and not any(isinstance(part.domain, Numbers) for part in parts):
            raise UsageError("--bounds are for mean(COLUMN) and sum(COLUMN)")
        if self.declared and not any(isinstance(part.domain, States) for part in parts):
            raise UsageError("--other is for states; numbers are clipped to --bounds")
        if self.method != "best" and not any(isinstance(part, TopK) for part in parts):
            raise UsageError("--method: for sequences it says how the top ones are chosen; leave it out, or ask top3")
        if len(parts) == 1:
            if self.weights is not None:
                raise UsageError("--weights: shares of one budget by several questions; leave it out")
            return parts[0]
        if self.weights is None:
            return Several.of(parts, None)
        shares = [as_fraction(options.positive("--weights", part)) for part in self.weights.split(",")]
        if len(shares) != len(texts):
            raise UsageError(
                f"--weights has {several(len(shares), 'number')} for {several(len(texts), 'question')}; give one each"
            )
        return Several.of(parts, shares)

    def _one(self, text: str, chain: Chain) -> SequenceQuery:
        found = _QUERY.fullmatch(text)
        name, k, of = (found["name"], found["k"], found["of"]) if found else ("", None, None)
        if name in _AVERAGES and k is None and of:
            if of != self.state:
                raise UsageError(
                    f"the prior is about column {self.state!r} and says nothing of {of!r}; give --state {of!r}"
                )
            return _AVERAGES[name](self._numbers(chain))
        made = _OF_STATES.get((name, k is not None, bool(of)))
        if made is not None and (of is None or of):
            return made(States(chain.states, self.other), k or of, chain.length, self.method)
        raise UsageError(
            f"no query {text!r} of sequences; there are top3 (any number), histogram, count(STATE), transitions, "
            "mean(COLUMN) and sum(COLUMN)"
        )

    def _numbers(self, chain: Chain) -> Numbers:
        """The bounds declared, or the reference's; a missing number is what the schema says, or its median there."""
        if not self.known.numeric:
            raise UsageError(f"column {self.state!r} holds text; a mean or sum needs numbers")
        found: list[Any] = list(chain.states)
        low, high = map(as_fraction, self.bounds or (min(found), max(found)))
        return Numbers(low, high, min(max(as_fraction(float(self.known.replacement)), low), high))


_AVERAGES: dict[str, Callable[[Numbers], SequenceQuery]] = {"mean": Mean, "sum": Sum}
_OF_STATES: dict[tuple[str, bool, bool], Callable[[States, Any, int, str], SequenceQuery]] = {
    ("top", True, False): lambda domain, k, _, method: TopK(int(k), domain, method),
    ("count", False, True): lambda domain, of, *_: Count(domain.names[domain.code(of)], domain),
    ("histogram", False, False): lambda domain, *_: Histogram(domain),
    ("transitions", False, False): lambda domain, _, length, __: Transitions(domain, 2 if length == 2 else None),
}
"""Queries of states by name, whether a number follows it, and whether something stands in brackets."""


def unprotected(skipped: list[str]) -> str:
    """What the guarantee does not speak of, if there is anything."""
    return f"; not protected, as they are never taken under the prior: {', '.join(skipped)}" if skipped else ""


def shown(number: Real, rounding: str) -> str:
    """Six digits, rounded to the safe side: influences and losses up, budgets down."""
    if isinstance(number, float) and not math.isfinite(number):
        return "inf"
    exact = as_fraction(number)
    digits = Context(prec=6, rounding=rounding).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return f"{digits.normalize():g}"
