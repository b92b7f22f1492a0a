"""`Statistic`: what is asked of a table, such as "mean(chol)" or "count(smoker=yes)"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fugu.errors import UnknownName, UsageError

KINDS = ("count", "sum", "mean", "histogram", "crosstab")
_FORM = re.compile(r"\s*(?P<kind>[A-Za-z_]+)\s*\((?P<inside>.*)\)\s*")


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
        form = _FORM.fullmatch(text)
        if form is None:
            raise UsageError(f"a query looks like mean(chol), count(smoker=yes) or crosstab(ward, sex), got {text!r}")
        kind, inside = form["kind"].lower(), form["inside"]
        if kind not in KINDS:
            raise UnknownName("query", kind, KINDS)
        if kind == "count":
            column, equals, value = inside.partition("=")
            if not equals or not column.strip() or not value.strip():
                raise UsageError("a count needs a condition, such as count(smoker=yes); the number of rows is public")
            return Statistic(kind, (column.strip(),), value.strip())
        columns = tuple(part.strip() for part in inside.split(",") if part.strip())
        wanted = 2 if kind == "crosstab" else 1
        if len(columns) != wanted:
            raise UsageError(f"{kind} takes {wanted} column{'s' if wanted > 1 else ''}, got {len(columns)}")
        return Statistic(kind, columns)

    def __str__(self) -> str:
        inside = f"{self.columns[0]}={self.equals}" if self.equals is not None else ", ".join(self.columns)
        return f"{self.kind}({inside})"
