"""Opening a session: everything that is fixed before the private table is looked at, and then the one look at it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import final

from fugu.data import Column, Schema, Table
from fugu.data.field import Field
from fugu.data.private import Private, label_of, open_private
from fugu.data.secrets import ProtectLike, read_protect
from fugu.data.sources import TableLike
from fugu.errors import BadBudget, BadTable, ColumnNotFound, PriorNotPublic
from fugu.guarantee import Pure, is_guarantee
from fugu.guarantee.numbers import exact
from fugu.queries.public_groups import PublicGroups
from fugu.queries.table_belief import TableBelief
from fugu.scenario.units import require_one_row_each


@final
@dataclass(frozen=True, eq=False, repr=False)
class Opened:
    """A private table read through a public schema, and what is believed about it."""

    private: Private
    belief: TableBelief


def open_table(
    table: TableLike,
    reference: TableLike,
    protect: ProtectLike,
    schema: Schema | None,
    unit: str | None,
    *,
    stands_in: bool = False,
) -> Opened:
    """Fix the reading and the secrets by the schema and the reference, then open the private table, once.

    Refused: a reference without two secrets, a reference that is the table itself, no rows, a unit that repeats.
    `stands_in`: the reference itself stands in for a table, for a comparison from which nothing is released."""
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
    today = reading.open(table)
    if unit is not None and unit not in today.columns:
        raise ColumnNotFound(unit, today.columns)
    private = open_private(today, reading, [name for name in reading.fields if name in today.columns])
    if len(private) == 0:
        raise BadTable("the table has no rows")
    require_one_row_each(private.table, unit)
    if not stands_in and _same(cells, private.whole, unit):
        raise PriorNotPublic(
            "the reference is the very table to be released: what a question costs would depend on it. Give another "
            "table, such as last year's"
        )
    groups = PublicGroups(declared, private, cells, secrets)
    return Opened(private, TableBelief(reading, known, spec, secrets, unit, groups))


def require_pure(budget: object) -> Pure:
    """The budget of a session, which is pure and finite."""
    if not isinstance(budget, Pure) or not 0 < exact(budget.epsilon) < exact(float("inf")):
        said = type(budget).__name__ if not isinstance(budget, Pure) else "one that is 0 or infinite"
        why = (
            ". With a delta or Rényi divergences the columns and the cap have to be fixed beforehand: use "
            "fugu.Ledger(prior=fugu.Records(...)), or fugu.answer for one question"
            if is_guarantee(budget) and not isinstance(budget, Pure)
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
