"""One row a person, in a private table too."""

from __future__ import annotations

import math
import unicodedata

from fugu.data import Schema, Table
from fugu.data.cells import meant, number_text, text_of
from fugu.data.field import Field
from fugu.errors import ColumnNotFound, RepeatedUnit


def require_one_row_each(table: Table, unit: str | None) -> None:
    """Refuse a table in which the column that names the person is missing or repeats; never says where or how often."""
    if unit is None:
        return
    column = table.exact(unit)
    if column.missing.any() or len({person_of(name) for name in column.values.tolist()}) < len(column):
        raise RepeatedUnit(
            f"in the table to release, column {unit!r} names the unit but is missing or repeated in some rows; keep "
            "one row a unit, or one summary value (such as the mean) a unit"
        )


def persons_of(table: Table, unit: str | None) -> tuple[str, ...] | None:
    """Who is in a table that was read, each in one spelling; None where no column names the person."""
    if unit is None:
        return None
    require_one_row_each(table, unit)
    return tuple(map(person_of, table.exact(unit).values.tolist()))


def persons_in(whole: Table, schema: Schema, unit: str | None) -> tuple[str, ...] | None:
    """The same for a table as it stands: the unit is read as the schema says, else as text."""
    if unit is None:
        return None
    if unit not in whole.columns:
        raise ColumnNotFound(unit, whole.columns)
    known = schema if unit in schema.fields else schema.with_field(unit, Field("identifier"))
    return persons_of(Table({unit: known.column(unit, whole.raw(unit))}), unit)


def person_of(name: object) -> str:
    """One name in one spelling: "1", "1.0" and "01" may be one person, and so may two spellings of one letter."""
    number = meant(name)
    if not math.isnan(number) and abs(number) < 1e15:
        return number_text(number)
    return unicodedata.normalize("NFC", text_of(name))
