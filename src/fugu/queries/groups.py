"""The public groups of a table: which group each record is in, its type, and that groups tell no secret."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import Categories, added
from fugu.data.column import Raw
from fugu.data.field import IDENTIFIER, Field
from fugu.data.frame import TableLike
from fugu.data.private import Private, label_of, open_counted
from fugu.data.secrets import Secrets
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, ColumnNotFound, UsageError
from fugu.priors.records import parts_of
from fugu.queries.record_proofs import Known
from fugu.queries.statistic import Charged, public_in, questions_in
from fugu.scenario.query import ITSELF, person_of, repeated, require_one_row_each
from fugu.utility.usable import RowsFor

ANY = "(any group)"
"""Stands for the groups of a column of which nothing is public before the table is opened."""
Rows = NDArray[np.int64]
"""The numbers of rows, in order."""


def expected_groups(known: Mapping[str, int], declared: Iterable[str], rows: int) -> dict[str, int]:
    """The groups to expect in a table of so many rows, and their sizes: an estimate, from public facts only.

    `known`: the groups of the reference and their numbers of rows, whose shares are taken; `declared`: those that a
    schema names. A group has at least one row; of a column that neither knows there is one group, `ANY`.

    >>> expected_groups({"a": 30, "b": 10}, ["a", "c"], 100)
    {'a': 75, 'b': 25, 'c': 1}
    """
    ends = np.rint(np.cumsum([*known.values()], dtype=np.float64) * (rows / max(sum(known.values()), 1)))
    sizes = dict(zip(known, np.diff(ends, prepend=0).astype(np.int64).tolist(), strict=True))
    more = [name for name in declared if name not in sizes]
    share = 1 if sizes or not more else rows // len(more)
    found = {name: max(size, 1) for name, size in (sizes | dict.fromkeys(more, share)).items()}
    return found or {ANY: rows}


def rows_of(codes: NDArray[np.int64], count: int) -> list[Rows]:
    """The rows with each of the codes 0 ... count - 1, by sorting them once."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


@final
@dataclass(frozen=True)
class CellTally:
    """How many records have which cells in these columns, {(cell, ...): number}, None for a missing one.

    `fields`: how each column is read; None for the schema's way."""

    fields: tuple[tuple[str, Field | None], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    def __call__(self, private: Private) -> Counter[tuple[Any, ...]]:
        counts = private.whole.counts
        first, codes = np.zeros(min(len(counts), 1), dtype=np.int64), np.zeros(len(counts), dtype=np.int64)
        columns = [private.cells(name, known) for name, known in self.fields]
        for places, cells in columns:
            _, first, codes = np.unique(codes * len(cells) + places, return_index=True, return_inverse=True)
            codes = codes.reshape(-1).astype(np.int64)
        found, sums = added(codes, counts, len(first))
        keys = (tuple(cells[places[row]] for places, cells in columns) for row in first[found].tolist())
        return Counter(dict(zip(keys, sums, strict=True)))


def same_rows(one: Private, two: Private, fields: Iterable[tuple[str, Field | None]]) -> bool:
    """Whether two tables hold the same rows, in any order, as far as these columns of them show."""
    cells = CellTally(tuple(fields))
    return len(one) == len(two) and one.tally(cells) == two.tally(cells)


# What a caller says of a table, and the one look at a private one that every price takes.


def declared_schema(schema: object) -> Schema:
    """How records are read as far as that was said; `UsageError` for what is no schema."""
    if not isinstance(schema, Schema | None):
        raise UsageError(f"schema is a fugu.Schema({{column: {{...}}}}), got {type(schema).__name__}")
    return schema or Schema({})


def require_column(**named: object) -> None:
    """Refuse what is no name of a column, nor None."""
    for what, name in named.items():
        if not isinstance(name, str | None):
            raise UsageError(f"{what} is the name of one column, got {type(name).__name__}")


def open_table(
    table: TableLike, reading: Schema, columns: Iterable[str], unit: str | None, rows: RowsFor | None,
    public: Iterable[str] = (),
) -> Private:  # fmt: skip
    """Open a private table, once. Refused: no rows, another number of `rows` than declared, a `unit` that repeats."""
    whole, wanted = reading.open(table), tuple(dict.fromkeys((*columns, *public)))
    text = unit is not None and {unit} < {*wanted} and reading.fields.get(unit, Field("identifier")).public
    apart = text and unit in whole.columns and whole.one_each(unit, reading.absent)  # by the engine: not read at all
    private = open_counted(whole, reading, (name for name in wanted if not apart or name != unit))
    if len(private) == 0:
        raise BadTable("the table has no rows")
    if rows is not None:
        rows.require(len(private))
    who = None if apart else require_persons(private, unit)
    return private if who is None else private.named(who)


def require_persons(private: Private, unit: str | None) -> tuple[str, ...] | None:
    """Refuse an open table in which the column that names the person is missing or repeats, wherever the table is. Who
    is in it, where its rows are here."""
    source = private.whole.source
    if unit is None or private.apart is None or not isinstance(source, SparkColumns):
        return require_one_row_each(private.table, unit)
    text = private.schema.fields[unit].kind == IDENTIFIER
    if not source.different(unit, PersonNames(unit, private.schema), ITSELF if text else "", private.schema.absent):
        raise repeated(unit)
    return None


@final
@dataclass(frozen=True)
class PersonNames:
    """Who is named by the cells of a column as they stand, in one spelling each; None for nobody."""

    unit: str
    schema: Schema

    def __call__(self, cells: object) -> list[str | None]:
        column = self.schema.column(self.unit, Raw.of(self.unit, cells))
        missing = column.missing.tolist()
        return [None if gone else person_of(name) for name, gone in zip(column.values.tolist(), missing, strict=True)]


# Groups are public, so a column that makes them must not tell the secret.


def require_public_groups(by: str | None, secrets: Secrets, reference: Table) -> None:
    """Refuse to group by what the secret is worked out from, or by a column that determines it in the reference.

    secrets.columns are those that the conditions looked at, functions included. A column determines the secret if no
    group of the reference with at least two rows that hold a secret holds two different ones, and there is such a
    group: a recoding of the secret, or a finer one. Groups of one row show nothing either way."""
    if by is None:
        return
    if by in secrets.columns:
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and the secret is worked out from it; group by "
            "another"
        )
    if by not in reference.columns:
        return
    groups, names = reference.exact(by).codes(ordered=False)
    used = (groups >= 0) & (secrets.covered() > 0)
    if not used.any():
        return
    kinds = np.unique(np.stack(secrets.layers, axis=1)[used], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(groups[used], reference.exact(by).often[used], len(names))
    cells = np.unique(np.stack([groups[used], kinds], axis=1), axis=0)
    different = np.bincount(cells[:, 0], minlength=len(names))
    several = rows >= 2
    if several.any() and np.all(different[several] == 1) and len(np.unique(kinds)) > 1:
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and in the reference it determines the secret: no "
            "group holds two different ones. Group by another column, or by a coarser one"
        )


@final
@dataclass(frozen=True)
class Types:
    """The record types of a private table: the columns `by`, each type's groups in that order, and its rows."""

    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    rows: tuple[int, ...]

    def known(self, groups: tuple[str, ...]) -> list[Known]:
        """What the adversaries about this type know: any part of its groups."""
        return parts_of(tuple(zip(self.by, groups, strict=True)))


# The public groups of a private table: which group each record is in, and which rows of the reference belong to it.
#
# Two readings of them. `PublicGroups` opens the columns of the private table, for what is charged; `ExpectedGroups`
# takes them from the reference and from what was published before, for rehearsals, which open nothing.


MOST = 100_000
Labels = NDArray[np.object_]


@final
@dataclass(frozen=True)
class Grouping:
    """The groups of one column: the number of private rows of each, by name (`sizes`), and the group of each row of the
    reference (`known`, "" for none of them; None if the reference lacks the column). `at`: the group of each cell of
    the column `by`, read as `field` says; None where no private row was looked at, and the sizes are estimates."""

    sizes: Mapping[str, int]
    known: Labels | None
    at: Mapping[Any, str] | None = None
    by: str | None = None
    field: Field | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in one order."""
        return tuple(self.sizes)


@dataclass(frozen=True, eq=False)
class GroupColumns(ABC):
    """The groups of columns that questions are asked by, which declares them public; each is looked at once.

    `declared`: what the user said of columns. `reference`: the public table as it stands. `secrets`: those of the
    reference, which no group may tell."""

    declared: Schema
    reference: Table
    secrets: Secrets
    _found: dict[str | None, Grouping] = field(default_factory=dict, init=False)
    _typed: dict[tuple[str, ...], Types] = field(default_factory=dict, init=False)

    def of(self, by: str | None) -> Grouping:
        """The groups of a column, of None the whole table; refused if the secret is worked out from the column, or if
        it determines the secret."""
        if by not in self._found:
            self._found[by] = self._whole() if by is None else self._read(by)
        return self._found[by]

    @abstractmethod
    def _whole(self) -> Grouping:
        """All rows as one group, without a name."""

    @abstractmethod
    def _read(self, by: str) -> Grouping:
        """The groups of a column that was not looked at yet."""

    def types(self, by: tuple[str, ...]) -> Types:
        """The types of records for these columns: all combinations of groups that occur."""
        if by not in self._typed:
            self._typed[by] = self._types(by)
        return self._typed[by]

    @abstractmethod
    def _types(self, by: tuple[str, ...]) -> Types:
        """The same, for columns that were not looked at together yet."""

    def _known(self, by: str) -> tuple[Schema, Table | None]:
        """How a column of groups is read, and the reference's, if it has one; refused where it tells the secret."""
        declared, reference = self.declared, self.reference
        known = declared.fields.get(by, Field("identifier"))  # public: no group is joined to another
        schema = declared.with_field(by, known)
        there = Table({by: schema.column(by, reference.raw(by))}) if by in reference.columns else None
        require_public_groups(by, self.secrets, reference if there is None else there)
        return schema, there


@final
@dataclass(frozen=True, eq=False)
class PublicGroups(GroupColumns):
    """Reads columns of the private table; each is read once."""

    private: Private

    def _types(self, by: tuple[str, ...]) -> Types:
        columns = [self.of(name) for name in by]
        tally = CellTally(tuple((name, column.field) for name, column in zip(by, columns, strict=True)))
        counts: Counter[tuple[int, ...]] = Counter()
        found = self.private.tally(tally) if by else {(): len(self.private)}
        for cells, n in found.items():
            named = ((column, (column.at or {})[cell]) for column, cell in zip(columns, cells, strict=True))
            counts[tuple(column.names.index(name) for column, name in named)] += n
        groups = sorted(counts)
        names = (tuple(column.names[k] for column, k in zip(columns, key, strict=True)) for key in groups)
        return Types(by, tuple(names), tuple(counts[key] for key in groups))

    def _whole(self) -> Grouping:
        return Grouping({"": len(self.private)}, None, {None: ""})

    def _read(self, by: str) -> Grouping:
        if by not in self.private.whole.columns:
            raise ColumnNotFound(by, self.private.whole.columns)
        schema, there = self._known(by)
        counts = {cell: n for (cell,), n in self.private.tally(CellTally(((by, schema.fields[by]),))).items()}
        if None in counts:
            raise BadTable(f"column {by!r} groups the rows and has missing cells in the table; fill them in")
        cells = sorted(counts)
        labels = [label_of(cell) for cell in cells]
        if len(labels) > MOST:
            raise UsageError(f"column {by!r} makes {len(labels)} groups; at most {MOST} are answered at once")
        if not all(label.strip() for label in labels):
            raise BadTable(f"column {by!r} groups the rows and has blank cells in the table; fill them in")
        known: Labels | None = None
        if there is not None:  # groups under the names that they have in the reference: "1.0" and "1" are one group
            own, values = there.exact(by).codes(strict=False)
            listed = [label_of(value) for value in values.tolist()]
            places = Categories(listed).places(labels).tolist()
            labels = [label if place < 0 else listed[place] for label, place in zip(labels, places, strict=True)]
            used = {listed[place] for place in places if place >= 0}
            known = np.array([*(name if name in used else "" for name in listed), ""], dtype=object)[own]
        sizes = dict.fromkeys(labels, 0)
        for cell, name in zip(cells, labels, strict=True):
            sizes[name] += counts[cell]
        return Grouping(sizes, known, dict(zip(cells, labels, strict=True)), by, schema.fields[by])


@final
@dataclass(frozen=True, eq=False)
class ExpectedGroups(GroupColumns):
    """What is public of the groups before a private cell is looked at: those of the reference and those declared, their
    sizes scaled to `rows`; and those that earlier answers published.

    `published`: groups that answers have named, by column. `opened`: the private table's, if it is open; it is asked
    for columns that are `booked` as public only."""

    rows: int
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    booked: frozenset[str] = frozenset()
    opened: GroupColumns | None = None

    def after(self, booked: Charged, opened: GroupColumns | None) -> ExpectedGroups:
        """What a rehearsal expects after these charges: groups that they published are known. Of an `opened` table it
        sees the columns that the charges made public, and no other."""
        published: dict[str, tuple[str, ...]] = {}
        for _, reads, _ in booked:
            published |= {q.by: tuple(q.rates) for q in questions_in(reads) if q.by is not None}
        public = frozenset(published).union(*(public_in(reads) for _, reads, _ in booked))
        return ExpectedGroups(self.declared, self.reference, self.secrets, self.rows, published, public, opened)

    def _types(self, by: tuple[str, ...]) -> Types:
        """The combinations that the reference has, scaled; a group that it lacks is in one type at least."""
        if self.opened is not None and self.booked.issuperset(by):
            return self.opened.types(by)
        columns = [self.of(column) for column in by]
        seen = [column.known for column in columns if column.known is not None]
        together = Counter(key for key in zip(*seen, strict=True) if all(key)) if seen else Counter({(): 1})
        open_ = product(*(column.names for column in columns if column.known is None))
        counts: dict[tuple[str, ...], int] = {}
        for rest in open_:
            for key, count in together.items():
                parts = (iter(key), iter(rest))
                counts[tuple(next(parts[column.known is None]) for column in columns)] = count
        first = next(iter(counts), tuple(column.names[0] for column in columns))
        for place, column in enumerate(columns):
            for name in {*column.names} - {key[place] for key in counts}:
                counts.setdefault((*first[:place], name, *first[place + 1 :]), 0)
        places = {str(k): count for k, count in enumerate(counts.values())}
        return Types(by, tuple(counts), tuple(expected_groups(places, (), self.rows).values()))

    def _whole(self) -> Grouping:
        return Grouping({"": self.rows}, None)

    def _read(self, by: str) -> Grouping:
        if self.opened is not None and by in self.booked:
            return self.opened.of(by)
        schema, there = self._known(by)
        values = schema.fields[by].values or ()
        known: Labels | None = None
        counts: dict[str, int] = {}
        if there is not None:
            column = there.exact(by)
            codes, cells = column.codes(strict=False)
            labels = [label_of(cell) for cell in cells.tolist()]
            known = np.array([*labels, ""], dtype=object)[codes]
            sizes = np.bincount(codes[codes >= 0], column.often[codes >= 0], len(labels)).astype(np.int64)
            counts = dict(zip(labels, sizes.tolist(), strict=True))
        if (names := self.published.get(by)) is not None:
            counts, values = {name: counts[name] for name in names if name in counts}, names
            known = None if known is None else np.where(np.isin(known, names), known, "")
        return Grouping(expected_groups(counts, values, self.rows), known)
