"""`fugu.check`: what the owner may see of the own table before it is released, and nobody else: how it is read, which
rows and people it shares with others, and whether chance alone would make them."""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from fugu.checking.columns import ColumnCheck, Tally, checked_column, tally
from fugu.data.field import Field, is_gone
from fugu.data.frame import Table, TableLike
from fugu.data.private import Private, open_private
from fugu.data.schema import ABSENT, Schema
from fugu.errors import BadTable, PriorNotPublic, RepeatedUnit, UsageError, did_you_mean
from fugu.ledger.fingerprint import ROWS, Marks, cells, fingerprints
from fugu.ledger.gathering import Bits, beyond_chance, in_common
from fugu.ledger.keys import key_of, place_of
from fugu.ledger.store import Books, LockedView
from fugu.question import RECORDS
from fugu.scenario.query import in_one_spelling, persons_in
from fugu.shown import Shown
from fugu.visible import Json, columned, several, visible

OWNER: Final = "for the owner's eyes; not for publication"
OUTSIDE: Final = (
    "This says more of the table than its release does: whoever changes the plan because of it steps outside the "
    "promise, which is for a plan that is fixed before the table is opened."
)
HEAD: Final = ("column", "cells", "read", "missing", "unreadable", "moved", "unknown")
"""Moved: by bounds. Unknown: categories."""


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
    size: int | None = None
    """Of a table of which some rows were looked at: how many it has."""

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
            "marking": f"{OWNER}. {OUTSIDE}", RECORDS: self.records,
            **({} if self.size is None else {"of": self.size}),
            "columns": [row.to_json() for row in self.rows],
            "overlaps": [overlap.to_json() for overlap in self.overlaps], "absent": list(self.absent),
            "alarms": list(self.alarms),
        }  # fmt: skip

    def __str__(self) -> str:
        said = [f"look at {visible(text)}" for text in self.alarms] + [f"note: {visible(text)}" for text in self.causes]
        some = "" if self.size is None else f" of {self.size:,}"
        head = f"{self.records:,}{some} records ({OWNER})"
        return "\n".join([head, *columned([HEAD, *self.cells()]), *said, OUTSIDE])

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
    if scenario is not None:  # what the file says and the call does not
        file = Path(scenario)
        try:
            said = tomllib.loads(file.read_text(encoding="utf-8"))
            named, person = said.get("data", {}).get("reference"), said.get("question", {}).get("unit")
        except (OSError, ValueError, AttributeError, RecursionError):
            raise UsageError(f"{file.name!r} is not a scenario file that can be read; fugu init writes one") from None
        reference = file.parent / named if reference is None and named is not None else reference
        schema = file if schema is None and not said.keys().isdisjoint(("schema", "sequence")) else schema
        unit = unit or person
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
    first = whole.columns[0] if len(whole.columns) == 1 else ""
    joined = next(
        (f"; another separator: its first line has {mark!r} between names" for mark in ",;\t|" if mark in first), ""
    )
    absent = tuple(
        f"{name}: not in the table{joined or did_you_mean(name, whole.columns)}"
        for name in reading.fields
        if name not in whole.columns
    )
    if unit in whole.columns:
        try:
            persons_in(whole, reading, unit)
        except RepeatedUnit as refusal:
            absent = (*absent, f"{unit}: a release refuses this: {refusal}")
    if not there:
        return Check(len(whole), (), (), absent)
    return checked(open_private(whole, reading, there), known, unit, ledger, absent)


def checked(
    private: Private, reference: Table | None, unit: str | None = None, ledger: str | os.PathLike[str] | None = None,
    absent: Iterable[str] = (), data: str | None = None, size: int | None = None,
    known_by: Callable[[], Marks] | None = None,
) -> Check:  # fmt: skip
    """The same of a table that was opened already, without reading it again.

    `private`: as `open_private` opened it; `reference`: the public table as it stands; `unit`, `ledger`: as in `check`;
    `absent`: what is to be said of columns that it does not have; `data`: its own name in the ledger; `size`: how many
    rows the table has of which these are some; `known_by`: as in `in_ledger`."""
    schema, rows, read = private.schema, [], private.table.columns
    unread = {unit} - {*read} if unit in private.whole.columns else set()  # the engine has seen to it
    for name in (name for name in schema.fields if name in (*read, *unread)) if unread else read:
        if name == unit and schema.fields[name].public and (unread or private.persons is not None):
            mine = Tally(len(private))  # nobody is missing
        else:
            mine = tally(schema.fields[name], private.whole.raw(name), partial(private.table.exact, name), schema)
        theirs = None
        if reference is not None and name in reference.columns:
            raw = reference.raw(name)
            theirs = tally(schema.fields[name], raw, partial(schema.column, name, raw), schema)
        rows.append(checked_column(name, schema, mine, theirs))
    overlaps: list[Overlap | None] = []
    if reference is not None:
        overlaps += [shared_people(private, reference, unit), shared_rows(private.whole, reference, unit)]
    if ledger is not None:
        overlaps += in_ledger(private.whole, ledger, unit, data, known_by)
    whole = None if size in (None, len(private)) else size
    return Check(len(private), tuple(rows), tuple(x for x in overlaps if x is not None), tuple(absent), whole)


# Which rows two tables share, and whether chance alone would make them.
#
# Two independent samples of one law coincide in a row as often as rows within one of them do: put all rows together,
# and every row is in the first with the same probability q = n / (n + m), whatever its twins are. A value that c rows
# have is then in both min(a, c - a) times with a ~ Bin(c, q), and the number of shared rows is a sum of such numbers,
# nearly independent (of a fixed number of rows they are negatively associated, so the bound below still holds).
# Chernoff's bound on its tail says how likely chance alone shares as many.


CHANCE: Final = 1e-4
"""Shared rows that chance makes less often than this are said to be beyond it."""
PEOPLE: Final = 0.01
"""A share of people in both above this is said aloud."""
_ODD: Final = 0x9E3779B97F4A7C15
"""Powers of an odd number tell the columns of a row apart in the sum of its cells, which are 64 mixed bits each."""
_NARROWED: Final = 40
"""Thirds that are cut off where the best rate of a bound is looked for."""
_MANY: Final = 60
"""A value of more rows than this is in both tables in any case, and says nothing."""


_WHOLE: Final = re.compile(r"0|-?[1-9]\d{0,18}", re.ASCII)
"""A whole number of 64 bits as it is written."""


@final
@dataclass(frozen=True)
class Overlap:
    """What of the table is in another one: `shared` of `records` rows, or people.

    `other`: "the reference", or the name of a data set of the ledger. `what`: "rows" or "people". `chance`: how many
    rows chance alone would share, by the twins within the reference; None where that is not known. `beyond`: whether it
    is more than chance explains."""

    other: str
    what: str
    shared: int
    records: int
    chance: float | None
    beyond: bool

    @property
    def words(self) -> str:
        """One sentence."""
        share = f"{self.shared:,} of {self.records:,} {self.what} ({self.shared / max(self.records, 1):.1%})"
        chance = "" if self.chance is None else f"; chance alone would make it about {self.chance:.3g}"
        meaning = "they have one budget"
        if self.other == "the reference":
            meaning = (
                "the reference is said to be independent of the table, and its counts go out with the certificate; "
                "take one with other people in it"
            )
        return f"{share} are in {self.other} too{chance}{f': {meaning}' if self.beyond else ''}"

    def to_json(self) -> Json:
        """Plain data."""
        return {**asdict(self), "words": self.words}


def shared_rows(table: Table, reference: Table, unit: str | None = None) -> Overlap | None:
    """How many rows of the table are in the reference, in all columns that both have but the unit; None without any."""
    common = [name for name in table.columns if name in reference.columns and name != unit]
    if not common or not len(table) or not len(reference):
        return None
    one, two = (np.zeros(len(each), dtype=np.uint64) for each in (table, reference))
    pairs = float(len(one)) * len(two)
    """How many pairs of rows would be alike if columns knew nothing of each other."""
    for k, name in enumerate(common):
        bits = [cells(each.raw(name)) for each in (table, reference)]
        mine, theirs = _counts(*bits)
        pairs *= float(mine @ theirs) / len(one) / len(two)
        place = np.uint64(pow(_ODD, 2 * k + 1, 2**64))
        one, two = one + bits[0] * place, two + bits[1] * place
    mine, theirs = _counts(one, two)
    shared = int(np.minimum(mine, theirs).sum())
    twins = 1 - np.count_nonzero(theirs == 1) / len(two)  # so often a row of the reference has a twin there
    chance = min(max(twins * len(one), pairs), float(shared))
    expected = shared <= pairs  # by columns that know nothing of each other: in lists of all that there is
    if 0 < pairs < shared:  # Chernoff's bound for Poisson's law
        expected = shared - pairs + shared * math.log(pairs / shared) > math.log(CHANCE)
    beyond = log_tail(mine, theirs) < math.log(CHANCE) and not expected
    return Overlap("the reference", "rows", shared, len(one), chance, beyond)


def shared_people(private: Private, reference: Table, unit: str | None) -> Overlap | None:
    """How many of the people of the table are in the reference; None where one of the two does not name them."""
    if unit is None or unit not in private.whole.columns or unit not in reference.columns:
        return None
    raw, read = private.whole.raw(unit), Field("identifier").read
    theirs = read(unit, reference.raw(unit))
    two = set(theirs.values[~theirs.missing].tolist())
    if not two:
        return None
    if private.persons is not None:
        one: Collection[Any] = private.persons
        two = {*in_one_spelling([*two])}
    elif raw.array is not None and raw.array.dtype.kind == "i":  # millions of numbers: those of the few are looked up
        numbers = {int(text) for text in two if _WHOLE.fullmatch(text)}
        one, two = set(raw.array[~np.asarray(raw.masked)].tolist()), numbers
    else:
        mine = read(unit, raw)
        one = set(mine.values[~mine.missing].tolist())
    shared = len(two.intersection(one))
    return Overlap("the reference", "people", shared, len(one), None, shared > PEOPLE * max(len(one), 1))


def log_tail(mine: NDArray[np.int64], theirs: NDArray[np.int64]) -> float:
    """A bound on ln P(rows put into two tables at random are shared as often as these), for values of at most 60 rows.

    `mine`, `theirs`: how often each value is in the one and in the other. P(S >= s) <= E exp(t S) / exp(t s), any t."""
    both = mine + theirs
    some = (both > 1) & (both <= _MANY)
    seen = int(np.minimum(mine, theirs)[some].sum())
    if not seen:
        return 0.0
    share = float(mine.sum() / both.sum())
    sizes, times = np.unique(both[some], return_counts=True)
    k = np.arange(sizes[-1] + 1)
    alike = np.minimum(k, sizes[:, None] - k)
    ways = np.concatenate([[0.0], np.cumsum(np.log(k[1:]))])  # of putting k rows in order: ln k!
    rest = np.maximum(np.subtract.outer(sizes, k), 0)
    masses = ways[sizes][:, None] - ways[k] - ways[rest] + k * math.log(share) + rest * math.log1p(-share)
    masses[k > sizes[:, None]] = -math.inf

    def exponent(rate: float) -> float:
        return float(times @ np.logaddexp.reduce(rate * alike + masses, axis=1)) - rate * seen

    low, high = 0.0, 60.0
    for _ in range(_NARROWED):  # it is convex in the rate
        one, two = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, two) if exponent(one) < exponent(two) else (one, high)
    return min(0.0, exponent(low))


def _counts(one: Bits, two: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each value that occurs is in the first and in the second."""
    each = [np.unique(part, return_counts=True) for part in (one, two)]
    values = np.union1d(each[0][0], each[1][0])
    found = np.zeros((2, len(values)), dtype=np.int64)
    for row, (own, often) in zip(found, each, strict=True):
        row[np.searchsorted(values, own)] = often
    return found[0], found[1]


def in_ledger(
    table: Table, ledger: str | os.PathLike[str], unit: str | None, data: str | None = None,
    known_by: Callable[[], Marks] | None = None,
) -> list[Overlap | None]:  # fmt: skip
    """Of every data set that the ledger would take for one of the same people: how many of them are in both.

    By the column that names the person, where the ledger knows who is in the data set; else by its rows. `data`: the
    name of the table itself in the ledger, which may be new yet; `known_by`: its marks, where others ask for them."""
    kept = Books(place_of(ledger), 30.0)
    if not kept.there():
        if data is not None:
            return []
        raise UsageError(f"no ledger {kept.name!r}; check the path")
    if known_by is None:
        named = () if unit is None or unit not in table.columns else table.raw(unit).to_list()
        marks = fingerprints(table, [cell for cell in named if not is_gone(cell, frozenset(ABSENT))] or None)
    else:
        marks = known_by()

    def look(view: LockedView) -> list[Overlap | None]:
        own, rows, found = (
            marks.under(key_of(view, kept.place), not view.state.chacha),
            len(table),
            list[Overlap | None](),
        )
        for name, known in view.state.sets.items():
            other = f"data set {name!r} of the ledger"
            if name == data:
                continue
            if own.people is not None and known.people:
                if shared := in_common(own.people, [view.stored(held) for held in known.people]):
                    found.append(Overlap(other, "people", shared, len(own.people), None, True))
                continue
            bits, stored = own.rows, map(view.stored, known.rows)
            theirs = None if bits is None else next((held for held in stored if beyond_chance(bits, held)), None)
            if bits is not None and theirs is not None:
                found.append(Overlap(other, "rows", in_common(bits, [theirs]), rows, None, True))
            elif own.marks.keys() & set(known.marks):
                found.append(Overlap(other, "rows", rows, rows, None, True))
        return found

    return kept.read(look)


def require_public(reference: Table, ledger: str | os.PathLike[str], whole: bool = False) -> None:
    """PriorNotPublic if the reference is a data set that the ledger holds as private: by all of its rows together, or
    by more of them than chance shares. Tables that were taken for each other end here, before the private one is
    opened; what the ledger cannot tell, it lets pass. `whole`: by all rows alone, for entries of sequences, which are
    alike wherever users and times have the same names."""
    kept = Books(place_of(ledger), 30.0)
    if not kept.there() or not kept.read(lambda view: view.state.sets):
        return
    marks = fingerprints(reference)

    def look(view: LockedView) -> str | None:
        own = marks.under(key_of(view, kept.place), not view.state.chacha)
        together = {mark for mark, what in own.marks.items() if what == ROWS}
        for name, known in view.state.sets.items():
            stored = map(view.stored, () if whole or own.rows is None else known.rows)
            if together & set(known.marks) or any(
                beyond_chance(own.rows, held) for held in stored if own.rows is not None
            ):
                return name
        return None

    if (name := kept.read(look)) is not None:
        raise PriorNotPublic(
            f"the reference holds rows of the data set {name!r}, which this ledger keeps as private data, and counts "
            "of the reference go out with the certificate, exactly. Were table and reference taken for each other? "
            "Else give another reference, or public_reference=True if these counts are public already"
        )
