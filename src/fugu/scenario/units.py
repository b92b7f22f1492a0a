"""One row a person, in a private table too."""

from __future__ import annotations

import numpy as np

from fugu.data import Table
from fugu.errors import RepeatedUnit


def require_one_row_each(table: Table, unit: str | None) -> None:
    """Refuse a table in which the column that names the person is missing or repeats; never says where or how often."""
    if unit is None:
        return
    codes, _ = table.exact(unit).codes(ordered=False)
    if np.any(codes < 0) or np.unique(codes).size < codes.size:
        raise RepeatedUnit(
            f"in the table to release, column {unit!r} names the unit but is missing or repeated in some rows; keep "
            "one row a unit, or one summary value (such as the mean) a unit"
        )
