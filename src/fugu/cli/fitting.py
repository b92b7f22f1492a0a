"""Tables on narrow terminals: what does not fit becomes a list, one line for each cell, and no number is ever cut."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text


def fitted(console: Console, table: Table) -> RenderableType:
    """The table itself where its longest words and all its numbers fit; else its rows as lists."""
    needed = Measurement.get(console, console.options.update(max_width=10_000), table).minimum
    return table if needed <= console.width else listed(console, table)


def listed(console: Console, table: Table) -> Group:
    """Every row as its first cell and, below it, the other cells with the names of their columns."""
    lines: list[RenderableType] = []
    if table.title is not None:
        lines.append(_text(console, table.title, "bold"))
    columns = [list(column.cells) for column in table.columns]
    names = [_text(console, column.header).plain for column in table.columns]
    for number, row in enumerate(table.rows):
        first, *others = (_text(console, cells[number], str(row.style or "")) for cells in columns)
        lines.append(first)
        for name, cell in zip(names[1:], others, strict=True):
            if cell.plain:
                lines.append(Text("  ").append_text(Text(f"{name}: " if name else "")).append_text(cell))
    if table.caption is not None:
        lines.append(_text(console, table.caption, "italic"))
    return Group(*lines)


def _text(console: Console, cell: RenderableType, style: str = "") -> Text:
    """A cell as text that folds and is never cut."""
    found = console.render_str(cell) if isinstance(cell, str) else cell if isinstance(cell, Text) else Text(str(cell))
    found = found.copy()
    found.overflow, found.no_wrap = "fold", False
    if style:
        found.stylize_before(style)
    return found
