"""`Sheet`: what a result is, on a few lines, for a notebook: facts, at most one table, remarks. Everything is escaped.

Objects say what they are in words and numbers (`sheet`); how that looks is decided here, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from fugu.drawing.html import Html, joined, tag
from fugu.drawing.text import clean

MOST = 30
"""Lines of a table that are shown; it says how many there are."""
_LONG = 200
_LEFT, _CELL = "text-align: left; padding: .15rem .7rem .15rem 0; vertical-align: top", "padding: .15rem .7rem .15rem 0"
_LOUD = "border-left: .25rem solid #8a2c00; padding-left: .6rem"
Cell = str | float | int | bool | None


@final
@dataclass(frozen=True)
class Sheet:
    """`title`: what it is. `facts`: (name, what is said of it). `head`, `rows`: a table. `notes`: remarks below.
    `warnings`: what must not be overlooked."""

    title: str
    facts: Sequence[tuple[str, Cell]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()

    def html(self) -> Html:
        """A block of HTML without scripts, links, or style for anything around it.

        >>> Sheet("Laws", [("secret", "<script>")]).html().count("<script>")
        0
        """
        parts = [tag("div", tag("b", clean(self.title, _LONG)))]
        parts += [tag("p", clean(text, 2 * _LONG), style=_LOUD) for text in self.warnings]
        if self.facts:
            lines = [tag("tr", tag("th", clean(name), scope="row", style=_LEFT), tag("td", shown(said), style=_LEFT))
                     for name, said in self.facts]  # fmt: skip
            parts.append(tag("table", tag("tbody", lines)))
        if self.head:
            parts.append(self._table())
        parts += [tag("p", tag("small", clean(text, 2 * _LONG))) for text in self.notes]
        return joined(tag("div", "\n".join(["", ""]), parts, class_="fugu"))

    def _table(self) -> Html:
        columns = tag("tr", [tag("th", clean(name), scope="col", style=_LEFT) for name in self.head])
        lines = [tag("tr", [tag("td", shown(cell), style=_LEFT if isinstance(cell, str) else _CELL) for cell in line])
                 for line in self.rows[:MOST]]  # fmt: skip
        more = len(self.rows) - MOST
        rest = tag("p", tag("small", f"and {more} more; to_frame() or columns() has all")) if more > 0 else None
        return joined(tag("table", tag("thead", columns), tag("tbody", lines)), rest)


def shown(cell: Cell) -> str:
    """A cell as text: numbers in six digits, truth values as words, nothing where nothing is known.

    >>> [shown(x) for x in (0.123456789, True, None, float("nan"), "a  b", 3)]
    ['0.123457', 'yes', '', '', 'a b', '3']
    """
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return clean(cell, _LONG) if isinstance(cell, str) else f"{cell:.6g}"
