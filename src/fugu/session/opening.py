"""Opening a session: everything that is fixed before the private table is looked at, and then the one look at it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

from fugu.data import Column, Schema, Table
from fugu.data.field import Field
from fugu.data.private import Private, label_of, open_private
from fugu.data.secrets import ProtectLike, Secrets, read_protect
from fugu.data.sources import TableLike
from fugu.errors import BadBudget, BadTable, ColumnNotFound, PriorNotPublic
from fugu.guarantee import Approx, Pure, is_guarantee
from fugu.guarantee.numbers import exact
from fugu.queries.public_groups import ExpectedGroups, PublicGroups
from fugu.queries.table_belief import Charged, TableBelief, public_in, questions_in
from fugu.scenario.units import require_one_row_each
from fugu.utility.rows import RowsFor


@final
@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A private table read through a public schema, and what is believed about it."""

    private: Private
    belief: TableBelief
    groups: PublicGroups


@final
@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """All that is fixed before the private table is opened: how records are read, the reference, the secrets in it.

    `declared`: what the user said of columns. `reference`: the public table as it stands. `expected`: what is believed,
    with the groups that the reference shows. `rows`: for how many rows a rehearsal is."""

    declared: Schema
    reference: Table
    secrets: Secrets
    expected: TableBelief
    rows: RowsFor

    def believed(self, booked: Charged, opened: Opened | None) -> TableBelief:
        """What a rehearsal believes after these charges: groups that they published are known, others expected.

        Of an open table it sees the columns that the charges made public, and no other."""
        published: dict[str, tuple[str, ...]] = {}
        for _, reads, _ in booked:
            published |= {q.by: tuple(q.rates) for q in questions_in(reads) if q.by is not None}
        public = frozenset(published).union(*(public_in(reads) for _, reads, _ in booked))
        private = None if opened is None else opened.groups
        more = (published, public, private)
        return self.expected.with_groups(
            ExpectedGroups(self.declared, self.reference, self.secrets, self.rows.number, *more)
        )

    def open(self, table: TableLike) -> Opened:
        """Open the private table, once. Refused: the reference itself, no rows, another number of rows than declared,
        a unit that repeats."""
        belief, unit = self.expected, self.expected.unit
        today = belief.reading.open(table)
        if unit is not None and unit not in today.columns:
            raise ColumnNotFound(unit, today.columns)
        private = open_private(today, belief.reading, [name for name in belief.reading.fields if name in today.columns])
        if len(private) == 0:
            raise BadTable("the table has no rows")
        self.rows.require(len(private))
        require_one_row_each(private.table, unit)
        if _same(self.reference, private.whole, unit):
            raise PriorNotPublic(
                "the reference is the very table to be released: what a question costs would depend on it. Give "
                "another table, such as last year's"
            )
        groups = PublicGroups(self.declared, private, self.reference, self.secrets)
        return Opened(private, belief.with_groups(groups), groups)


def public_facts(
    reference: TableLike, protect: ProtectLike, schema: Schema | None, unit: str | None, rows: int | None = None
) -> Facts:
    """Fix the reading and the secrets by the schema and the reference. Refused: a reference without two secrets."""
    declared = schema or Schema({})
    cells = declared.open(reference)
    if len(cells) == 0:
        raise BadTable("the reference has no rows")
    spec = read_protect(protect, cells.columns)
    reading = reading_of(declared, cells, unit)
    known = reading.read(cells, [name for name in reading.fields if name in cells.columns])
    secrets = spec.find(known)
    held = sum(bool(mask.any()) for mask in secrets.masks().values())
    if held < 2:
        raise BadTable(f"the reference has rows for {held} secrets; at least two are needed")
    size = RowsFor(rows, len(cells))
    groups = ExpectedGroups(declared, cells, secrets, size.number)
    return Facts(declared, cells, secrets, TableBelief(reading, known, spec, secrets, unit, groups), size)


def require_pure(budget: object, ledger: bool = False) -> Pure | Approx:
    """The budget of a session, finite, and pure; in a ledger it may have a delta, which releases beside it spend."""
    allowed = Pure | Approx if ledger else Pure
    if not isinstance(budget, allowed) or not 0 < exact(budget.epsilon) < exact(float("inf")):
        said = type(budget).__name__ if not isinstance(budget, allowed) else "one that is 0 or infinite"
        why = (
            ". A delta is for trainings beside it, so it goes with ledger=; for divergences use "
            "fugu.Ledger(prior=fugu.Records(...))"
            if is_guarantee(budget) and not isinstance(budget, allowed)
            else ""
        )
        raise BadBudget(f"a session has a budget fugu.Pure(epsilon) with a finite epsilon above 0, got {said}{why}")
    return budget


def reading_of(declared: Schema, reference: Table, unit: str | None) -> Schema:
    """How records are read: as declared, then as the reference shows; the unit as it stands."""
    if unit is not None and unit not in declared.fields:
        declared = declared.with_field(unit, Field("identifier"))
    return declared.completed(reference, tuple(dict.fromkeys((*reference.columns, *declared.fields))))


def _same(reference: Table, table: Table, unit: str | None) -> bool:
    """Whether the reference holds the rows of the table, in any order, in all columns that both have."""
    common = [name for name in table.columns if name in reference.columns and name != unit]
    if len(reference) != len(table) or not common:
        return False
    one, two = (Counter(zip(*(_labels(t, n) for n in common), strict=True)) for t in (reference, table))
    return one == two


def _labels(table: Table, name: str) -> list[str | None]:
    column: Column = Field("identifier").read(name, table.raw(name))
    return [None if gone else label_of(cell) for cell, gone in zip(column.values, column.missing, strict=True)]
