"""`Statistic`: what is asked of a table, such as "mean(chol)" or "count(smoker=yes)"."""

from __future__ import annotations

from dataclasses import dataclass

from fugu.data.statistics import column_and_value, kind_and_inside
from fugu.errors import UsageError

_COLUMNS = {"count": 0, "sum": 1, "mean": 1, "histogram": 1, "crosstab": 2}
"""How many columns stand in the brackets; 0 for a condition."""
KINDS = tuple(_COLUMNS)
_TABLES = {"histogram", "crosstab"}
_LOOKS = "a query looks like mean(chol), count(smoker=yes) or crosstab(ward, sex)"


@dataclass(frozen=True)
class Statistic:
    """A kind and its columns; for a count, the value that a column must have.

    >>> Statistic.parse("count(smoker=yes)")
    Statistic(kind='count', columns=('smoker',), equals='yes')
    >>> Statistic.parse("crosstab(ward, sex)").columns
    ('ward', 'sex')
    """

    kind: str
    columns: tuple[str, ...]
    equals: str | None = None

    @staticmethod
    def parse(text: str) -> Statistic:
        """Read the form kind(column), count(column=value) or crosstab(column, column)."""
        kind, inside = kind_and_inside(text, KINDS, "query", _LOOKS)
        wanted = _COLUMNS[kind]
        if not wanted:
            if (found := column_and_value(inside)) is None:
                raise UsageError("a count needs a condition, such as count(smoker=yes); the number of rows is public")
            return Statistic(kind, found[:1], found[1])
        columns = tuple(part.strip() for part in inside.split(",") if part.strip())
        if len(columns) != wanted:
            raise UsageError(f"{kind} takes {wanted} column{'s' if wanted > 1 else ''}, got {len(columns)}")
        return Statistic(kind, columns)

    @property
    def tabulated(self) -> bool:
        """Whether it is one count for each of several cells."""
        return self.kind in _TABLES

    @property
    def averaged(self) -> bool:
        """Whether a sum is divided by the number of rows."""
        return self.kind == "mean"

    def __str__(self) -> str:
        inside = f"{self.columns[0]}={self.equals}" if self.equals is not None else ", ".join(self.columns)
        return f"{self.kind}({inside})"
