"""What a dry run rests on, said at its end: public facts only, whatever TABLE holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fugu.cli.console import say
from fugu.errors import UsageError
from fugu.utility.rows import GROUPS, RowsFor
from fugu.visible import Json

UNNAMED = "a table that is not named yet"


@dataclass(frozen=True)
class DryRun:
    """For how many `rows`, which `columns` the table must have, and whether there are `groups` in it."""

    rows: RowsFor
    columns: tuple[str, ...]
    groups: bool = False
    words: str = ""
    """In place of the rows, where something else is public of the data."""

    @staticmethod
    def of(rows: RowsFor, columns: Iterable[str | None], by: str | None = None) -> DryRun:
        """`columns`: those of the question, None for one that it does not use; `by`: what groups the rows."""
        wanted = dict.fromkeys(name for name in (*columns, by) if name is not None)
        return DryRun(rows, tuple(wanted), by is not None)

    @property
    def basis(self) -> str:
        """For how many rows, and whose groups, in words."""
        if self.words:
            return self.words
        return f"{self.rows}; {GROUPS}" if self.groups and not self.rows.own else str(self.rows)

    def to_json(self) -> Json:
        """The same for --json."""
        return {
            "rows": self.rows.number, "rows_declared": self.rows.declared is not None, "basis": self.basis,
            "columns": list(self.columns), "dry_run": True,
        }  # fmt: skip

    def say(self) -> None:
        """The last lines on the screen."""
        read = "the table counts as public and was read" if self.rows.own else "no private table was read"
        say(f"dry run: nothing was released or charged, and {read}; {self.basis}")
        say(f"the table must have {', '.join(map(repr, self.columns))}")


def required(table: str | None) -> str:
    """The table of a release; UsageError where none was given."""
    if table is None:
        raise UsageError(
            "give the TABLE to release; only --dry-run, which reads public facts alone, goes without it (and not with "
            "--public-prior, which fits beliefs on TABLE)"
        )
    return table
