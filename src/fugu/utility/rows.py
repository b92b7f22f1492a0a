"""For how many rows a rehearsal is: the declared public number of the private table, else the reference's, and said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fugu.errors import BadTable, UsageError
from fugu.numbers.checks import is_count

GROUPS = "groups and their sizes are the reference's, scaled to that: estimates"


@final
@dataclass(frozen=True)
class RowsFor:
    """`declared`: the public number of rows of the private table, None if it was not said; `reference`: the
    reference's, which then stands in for it. `own`: the table is its own reference and counts as public.

    >>> print(RowsFor(None, 303))
    for 303 rows, the reference's; give --rows (rows=) for a table with another number
    >>> RowsFor(1000, 303).number, str(RowsFor(1000, 303))
    (1000, 'for 1,000 rows, as declared')
    """

    declared: int | None
    reference: int
    own: bool = False

    def __post_init__(self) -> None:
        if self.declared is not None and not is_count(self.declared):
            raise UsageError(f"rows is the public number of rows of the private table, got {self.declared!r}")

    @property
    def number(self) -> int:
        """The number that counts."""
        return self.reference if self.declared is None else self.declared

    def require(self, rows: int) -> None:
        """Refuse an opened table that has another number of rows than declared; both numbers are public."""
        if self.declared not in (None, rows):
            raise BadTable(
                f"the table has {rows} rows, and {self.declared} were declared (--rows, rows=); the number of rows is "
                "public, and what was worked out before is for exactly that many"
            )

    def __str__(self) -> str:
        if self.own:
            return f"for {self.reference:,} rows, those of the table, which counts as public"
        if self.declared is None:
            return f"for {self.number:,} rows, the reference's; give --rows (rows=) for a table with another number"
        return f"for {self.number:,} rows, as declared"
