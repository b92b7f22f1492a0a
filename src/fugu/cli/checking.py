"""`fugu check`, and the same look at the table that a release opens: on the owner's screen, or in the private part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.table import Table as Rich

import fugu
from fugu.checking import Check
from fugu.checking.check import HEAD, OUTSIDE, OWNER
from fugu.cli import options
from fugu.cli.charging import Account
from fugu.cli.console import err, escape, print_json, progress
from fugu.errors import UsageError
from fugu.visible import Json

_SHOWN = 40
"""Columns that are shown; of more, those first in which something was not read as it stands."""


def check(
    table: options.TablePath,
    reference: Annotated[str | None, typer.Option(help="The public table that says how cells are read.")] = None,
    schema: options.SchemaFile = None,
    no_header: options.NoHeader = False,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="A ledger: which of its data sets hold the same people or rows.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The column that names the person.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish."""
    if reference is None and schema is None:
        raise UsageError("give --reference REF, --schema FILE or --scenario FILE: one of them says how TABLE is read")
    with progress("reading"):
        seen = fugu.check(table, reference, schema=options.schema(schema, no_header), ledger=ledger, unit=unit)
    if as_json:
        print_json(seen.to_json())
        return
    show(seen)


@dataclass(frozen=True)
class Eyes:
    """The owner's eyes during a release. `open`: False for --no-check."""

    open: bool = True

    def look(self, at: Callable[[], Check]) -> Json | None:
        """Show what is seen where stderr is a terminal; else give it back, for the private part.

        `at` works on the table that is open already, before anything is charged. Nothing that it finds, and no error
        that it makes, reaches an exit code or a file that is published: it may depend on any cell."""
        if not self.open:
            return None
        try:
            seen = at()
        except Exception as error:
            failed = f"the table could not be checked ({type(error).__name__})"
            if not err.is_terminal:
                return {"marking": f"{OWNER}. {OUTSIDE}", "failed": failed}
            err.print(f"[bold yellow]note[/]: {escape(failed)}; {escape(OWNER)}")
            return None
        if not err.is_terminal:
            return seen.to_json()
        show(seen)
        return None


OPEN = Eyes()


def books(account: Account | None) -> dict[str, Any]:
    """The ledger that the table is looked up in, and its name there."""
    return {} if account is None else {"ledger": account.ledger, "data": account.data}


def show(seen: Check) -> None:
    """The check on the owner's terminal: a table, what to look at, what is likely behind it."""
    rich = Rich(
        title=escape(f"How the {seen.records:,} records were read ({OWNER})"), title_justify="left", header_style="bold"
    )
    for k, name in enumerate(HEAD):
        rich.add_column(name, justify="right" if k else "left")
    lines = sorted(seen.cells(), key=lambda line: line[1] == line[2] and not line[5])
    for line in lines[:_SHOWN]:
        rich.add_row(escape(line[0]), *(f"{count:,}" for count in line[1:]))
    err.print(rich)
    if len(lines) > _SHOWN:
        err.print(f"and {len(lines) - _SHOWN} more columns; --json has all")
    for said in seen.alarms:
        err.print(f"[bold red]look at[/] {escape(said)}")
    for said in seen.causes:
        err.print(f"[bold yellow]note[/]: {escape(said)}")
    err.print(escape(OUTSIDE), style="dim")
