"""One row a person, in a private table too."""

from __future__ import annotations

import math
import unicodedata

from fugu.data import Table
from fugu.data.cells import meant, number_text, text_of
from fugu.errors import RepeatedUnit


def require_one_row_each(table: Table, unit: str | None) -> None:
    """Refuse a table in which the column that names the person is missing or repeats; never says where or how often."""
    if unit is None:
        return
    column = table.exact(unit)
    if column.missing.any() or len({_person(name) for name in column.values.tolist()}) < len(column):
        raise RepeatedUnit(
            f"in the table to release, column {unit!r} names the unit but is missing or repeated in some rows; keep "
            "one row a unit, or one summary value (such as the mean) a unit"
        )


def _person(name: object) -> str:
    """One name in one spelling: "1", "1.0" and "01" may be one person, and so may two spellings of one letter."""
    number = meant(name)
    if not math.isnan(number) and abs(number) < 1e15:
        return number_text(number)
    return unicodedata.normalize("NFC", text_of(name))
