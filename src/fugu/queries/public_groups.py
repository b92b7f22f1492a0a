"""The public groups of a private table: which group each record is in, and which rows of the reference belong to it.

Two readings of them. `PublicGroups` opens the columns of the private table, for what is charged; `ExpectedGroups` takes
them from the reference and from what was published before, for rehearsals, which open nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.categories import Categories
from fugu.data.field import Field
from fugu.data.private import Private, label_of
from fugu.data.secrets import Secrets
from fugu.errors import BadTable, ColumnNotFound, UsageError
from fugu.queries.axes import Codes
from fugu.queries.grouped import expected_groups
from fugu.queries.grouping import require_public_groups
from fugu.queries.pricing import Types

MOST = 100_000
Labels = NDArray[np.object_]


@final
@dataclass(frozen=True)
class Grouping:
    """The groups of one column: the number of private rows of each, by name (`sizes`), and the group of each row of the
    reference (`known`, "" for none of them; None if the reference lacks the column). `rows`: each private row's place
    among them; None where no private row was looked at, and the sizes are estimates."""

    sizes: Mapping[str, int]
    known: Labels | None
    rows: Codes | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in one order."""
        return tuple(self.sizes)


class Groups(ABC):
    """The groups of columns that questions are asked by, which declares them public."""

    @abstractmethod
    def of(self, by: str) -> Grouping:
        """The groups of a column; refused if the secret is worked out from it, or if it determines the secret."""

    @abstractmethod
    def types(self, by: tuple[str, ...]) -> Types:
        """The types of records for these columns: all combinations of groups that occur."""


@final
@dataclass(frozen=True, eq=False)
class PublicGroups(Groups):
    """Reads columns of the private table; each is read once.

    `declared`: what the user said of columns. `private`: the private table. `reference`: the public one as it stands.
    `secrets`: those of the reference, which no group may tell."""

    declared: Schema
    private: Private
    reference: Table
    secrets: Secrets
    _found: dict[str, Grouping] = field(default_factory=dict)
    _types: dict[tuple[str, ...], Types] = field(default_factory=dict)

    def of(self, by: str) -> Grouping:
        if by not in self._found:
            self._found[by] = self._read(by)
        return self._found[by]

    def types(self, by: tuple[str, ...]) -> Types:
        if by not in self._types:
            columns = [(grouping.names, grouping.rows) for grouping in map(self.of, by)]
            codes = np.zeros(len(self.private), dtype=np.int64)
            for names, rows in columns:
                assert rows is not None  # the private table is open
                codes = np.unique(codes * len(names) + rows, return_inverse=True)[1].reshape(-1)
            _, first, counts = np.unique(codes, return_index=True, return_counts=True)
            groups = (tuple(names[rows[k]] for names, rows in columns if rows is not None) for k in first.tolist())
            self._types[by] = Types(by, tuple(groups), tuple(counts.tolist()))
        return self._types[by]

    def _read(self, by: str) -> Grouping:
        if by not in self.private.whole.columns:
            raise ColumnNotFound(by, self.private.whole.columns)
        schema, there = known_column(by, self.declared, self.reference, self.secrets)
        column = schema.column(by, self.private.whole.raw(by))
        if column.missing.any():
            raise BadTable(f"column {by!r} groups the rows and has missing cells in the table; fill them in")
        codes, values = column.codes(strict=False)
        labels = [label_of(value) for value in values.tolist()]
        if len(labels) > MOST:
            raise UsageError(f"column {by!r} makes {len(labels)} groups; at most {MOST} are answered at once")
        if not all(label.strip() for label in labels):
            raise BadTable(f"column {by!r} groups the rows and has blank cells in the table; fill them in")
        return _joined(codes, labels, there, by)


@final
@dataclass(frozen=True, eq=False)
class ExpectedGroups(Groups):
    """What is public of the groups before a private cell is looked at: those of the reference and those declared, their
    sizes scaled to `rows`; and those that earlier answers published.

    `declared`, `reference`, `secrets`: as above. `published`: groups that answers have named, by column. `opened`: the
    private table's, if it is open; it is asked for columns that are `booked` as public only."""

    declared: Schema
    reference: Table
    secrets: Secrets
    rows: int
    published: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    booked: frozenset[str] = frozenset()
    opened: PublicGroups | None = None
    _found: dict[str, Grouping] = field(default_factory=dict)

    def of(self, by: str) -> Grouping:
        if by not in self._found:
            self._found[by] = self._expected(by)
        return self._found[by]

    def types(self, by: tuple[str, ...]) -> Types:
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

    def _expected(self, by: str) -> Grouping:
        if self.opened is not None and by in self.booked:
            return self.opened.of(by)
        schema, there = known_column(by, self.declared, self.reference, self.secrets)
        values = schema.fields[by].values or ()
        known: Labels | None = None
        counts: dict[str, int] = {}
        if there is not None:
            codes, cells = there.exact(by).codes(strict=False)
            labels = [label_of(cell) for cell in cells.tolist()]
            known = np.array([*labels, ""], dtype=object)[codes]
            counts = dict(zip(labels, np.bincount(codes[codes >= 0], minlength=len(labels)).tolist(), strict=True))
        if (names := self.published.get(by)) is not None:
            counts, values = {name: counts[name] for name in names if name in counts}, names
            known = None if known is None else np.where(np.isin(known, names), known, "")
        return Grouping(expected_groups(counts, values, self.rows), known)


def known_column(by: str, declared: Schema, reference: Table, secrets: Secrets) -> tuple[Schema, Table | None]:
    """How a column of groups is read, and the reference's, if it has one; refused where it tells the secret."""
    known = declared.fields.get(by, Field("identifier"))  # public: no group is joined to another
    schema = declared.with_field(by, known)
    there = Table({by: schema.column(by, reference.raw(by))}) if by in reference.columns else None
    require_public_groups(by, secrets, reference if there is None else there)
    return schema, there


def _joined(codes: Codes, labels: list[str], there: Table | None, by: str) -> Grouping:
    """Groups under the names that they have in the reference: "1.0" and "1" are one group."""
    if there is None:
        return _sized(tuple(labels), codes, None)
    own, values = there.exact(by).codes(strict=False)
    known = [label_of(value) for value in values.tolist()]
    places = Categories(known).places(labels).tolist()
    named = [label if place < 0 else known[place] for label, place in zip(labels, places, strict=True)]
    names = tuple(dict.fromkeys(named))
    at = {name: i for i, name in enumerate(names)}
    used = {known[place] for place in places if place >= 0}
    each = np.array([*(name if name in used else "" for name in known), ""], dtype=object)
    return _sized(names, np.array([at[name] for name in named], dtype=np.int64)[codes], each[own])


def _sized(names: tuple[str, ...], rows: Codes, known: Labels | None) -> Grouping:
    sizes = np.bincount(rows, minlength=len(names)).tolist()
    return Grouping(dict(zip(names, sizes, strict=True)), known, rows)
