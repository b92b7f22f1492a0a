"""The public groups of a private table: which group each record is in, and which rows of the reference belong to it."""

from __future__ import annotations

from dataclasses import dataclass, field
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
from fugu.queries.grouping import require_public_groups
from fugu.queries.pricing import Types

MOST = 100_000


@final
@dataclass(frozen=True)
class Grouping:
    """The groups of one column: their `names`, each private row's place among them (`rows`), and the group of each row
    of the reference (`known`, "" for none of them); None if the reference lacks the column."""

    names: tuple[str, ...]
    rows: Codes
    known: NDArray[np.object_] | None

    @property
    def sizes(self) -> dict[str, int]:
        """How many private rows each group has; public."""
        return dict(zip(self.names, np.bincount(self.rows, minlength=len(self.names)).tolist(), strict=True))


@final
@dataclass(frozen=True, eq=False)
class PublicGroups:
    """Reads columns that questions are asked by, which declares them public; each is read once.

    `declared`: what the user said of columns. `private`: the private table. `reference`: the public one as it stands.
    `secrets`: those of the reference, which no group may tell."""

    declared: Schema
    private: Private
    reference: Table
    secrets: Secrets
    _found: dict[str, Grouping] = field(default_factory=dict)
    _types: dict[tuple[str, ...], Types] = field(default_factory=dict)

    def of(self, by: str) -> Grouping:
        """The groups of a column; refused if the secret is worked out from it, or if it determines the secret."""
        if by not in self._found:
            self._found[by] = self._read(by)
        return self._found[by]

    def types(self, by: tuple[str, ...]) -> Types:
        """The types of records for these columns: all combinations of groups that occur in the private table."""
        if by not in self._types:
            found = [self.of(column) for column in by]
            codes = np.zeros(len(self.private), dtype=np.int64)
            for grouping in found:
                codes = np.unique(codes * len(grouping.names) + grouping.rows, return_inverse=True)[1].reshape(-1)
            _, first, counts = np.unique(codes, return_index=True, return_counts=True)
            named = (tuple(g.names[k] for g, k in zip(found, row, strict=True)) for row in _rows(found, first))
            self._types[by] = Types(by, tuple(named), tuple(counts.tolist()))
        return self._types[by]

    def _read(self, by: str) -> Grouping:
        if by not in self.private.whole.columns:
            raise ColumnNotFound(by, self.private.whole.columns)
        known = self.declared.fields.get(by, Field("identifier"))  # public: no group is joined to another
        schema = self.declared.with_field(by, known)
        there = None
        if by in self.reference.columns:
            there = Table({by: schema.column(by, self.reference.raw(by))})
        require_public_groups(by, self.secrets, self.reference if there is None else there)
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


def _rows(found: list[Grouping], rows: Codes) -> list[tuple[int, ...]]:
    """The places of the groups of some rows."""
    return [tuple(int(grouping.rows[row]) for grouping in found) for row in rows.tolist()]


def _joined(codes: Codes, labels: list[str], there: Table | None, by: str) -> Grouping:
    """Groups under the names that they have in the reference: "1.0" and "1" are one group."""
    if there is None:
        return Grouping(tuple(labels), codes, None)
    own, values = there.exact(by).codes(strict=False)
    known = [label_of(value) for value in values.tolist()]
    places = Categories(known).places(labels).tolist()
    named = [label if place < 0 else known[place] for label, place in zip(labels, places, strict=True)]
    names = tuple(dict.fromkeys(named))
    at = {name: i for i, name in enumerate(names)}
    used = {known[place] for place in places if place >= 0}
    each = np.array([*(name if name in used else "" for name in known), ""], dtype=object)
    return Grouping(names, np.array([at[name] for name in named], dtype=np.int64)[codes], each[own])
