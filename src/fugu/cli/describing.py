"""`fugu describe`: what each column of a reference may be used for, as a table and the reasons."""

from __future__ import annotations

from itertools import groupby

from fugu.cli.asking import asks
from fugu.cli.console import escape, grid, out, print_json, progress
from fugu.data.schema import Schema
from fugu.data.uses import HEAD, USES, Description
from fugu.data.uses import describe as described


@asks()
def describe(reference: str, schema: str | None = None, as_json: bool = False) -> None:
    """What each column of TABLE, a reference, may be used for, and why not. It tells of TABLE: never a private one."""
    with progress():
        seen = described(reference, schema=None if schema is None else Schema.load(schema))
    if as_json:
        print_json(seen.to_json())
    else:
        show(seen)


def show(seen: Description) -> None:
    """The table, and the reasons below."""
    out.print(grid(seen.title, HEAD, HEAD, rows=seen.cells()))
    for use, reasons in groupby(seen.reasons(), lambda each: each[0]):
        out.print(f"[bold]{use}[/], {USES[use]}:" if use else "[bold]for nothing[/]:")
        for _, why in reasons:
            out.print(f"  {escape(why)}")
