"""What the tab key offers where a column is asked for: the names in the header of the reference, and of no other table.

A private table is not opened before something is charged, and the key of a shell charges nothing."""

from __future__ import annotations

import csv
import gzip
import re
from pathlib import Path

import typer

from fugu.files import mark_between

_LONGEST = 100_000
_SHOWN = re.compile(r"[\w.-]+")
"""Names that a shell takes for one word; others need quotes, and are not offered."""


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The columns of the reference that is named before on the line, each after what stands there up to a comma; none
    where there is no such file, or it is no text."""
    table = _reference(ctx)
    try:
        names = [] if table is None else _header(Path(table))
    except Exception:  # whatever the file is: a message would stand in the middle of what is being typed
        names = []
    begun = incomplete[: incomplete.rfind(",") + 1]
    return [begun + name for name in names if _SHOWN.fullmatch(name)]


def _reference(ctx: typer.Context) -> str | None:
    """What the command takes its beliefs from: --reference, or TABLE where that is the reference."""
    params = {str(param.name): param for param in ctx.command.params}
    name = "reference" if "reference" in params else "table"
    found = ctx.params.get(name)
    if not isinstance(found, str) and name in params and params[name].param_type_name == "argument":
        found = next(iter(ctx.args), None)  # the option without a value, which comes last, ends the parser's reading
    return found if isinstance(found, str) else None


def _header(file: Path) -> list[str]:
    """The names in the first line of a CSV file; of a file of another kind none, since that takes a second to open."""
    name = file.name.lower()
    if not file.is_file() or not name.removesuffix(".gz").endswith((".csv", ".tsv")):
        return []
    with (gzip.open if name.endswith(".gz") else open)(file, "rt", encoding="utf-8-sig", newline="") as lines:
        line = str(lines.readline(_LONGEST))
    return [cell.strip() for cell in next(csv.reader([line], delimiter=mark_between(line, name)))]
