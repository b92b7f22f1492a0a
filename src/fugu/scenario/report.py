"""`Report`: what was found while a scenario was made, in totals only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from fugu.visible import visible


@final
@dataclass(frozen=True)
class Report:
    """Totals over the reference (None if there is none), and which secrets were left out, with the reason.

    >>> print(Report(rows=10, used=9, missing=(("chol", 1),), values=7, skipped=(("sex=X", "no row"),)))
    rows      10, of which 9 are used
    missing   chol: 1
    values    7 different ones
    skipped   sex=X: no row
    """

    rows: int | None = None
    used: int | None = None
    missing: tuple[tuple[str, int], ...] = ()
    values: int | None = None
    overlapping: int = 0
    """Rows in which more than one secret holds."""
    skipped: tuple[tuple[str, str], ...] = ()
    few: tuple[str, ...] = ()
    """What is to be said of secrets with few rows in the reference."""
    rounded: float = 0.0
    """How far bins and declared values move a value of the reference on average: an error beside that of the noise."""

    def __str__(self) -> str:
        lines = []
        if self.rows is not None:
            lines.append(f"rows      {self.rows}, of which {self.used} are used")
        lines.extend(f"missing   {visible(column)}: {count}" for column, count in self.missing if count)
        if self.values is not None:
            lines.append(f"values    {self.values} different ones")
        if self.rounded:
            lines.append(f"bins      move a value by {self.rounded:.4g} on average, an error of their own")
        if self.overlapping:
            lines.append(f"overlap   several secrets hold in {self.overlapping} rows")
        lines.extend(f"few rows  {visible(said)}" for said in self.few)
        lines.extend(f"skipped   {visible(secret)}: {visible(reason)}" for secret, reason in self.skipped)
        return "\n".join(lines) if lines else "nothing to report"
