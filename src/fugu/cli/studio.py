"""`fugu studio`: the page on one's own computer, and nothing else; what it needs is an extra."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from fugu.cli.asking import asks
from fugu.errors import MissingExtra, UsageError
from fugu.files import file_name

_NEEDS = ("starlette", "uvicorn", "python_multipart")


@asks(metavar="REFERENCE")
def studio(
    reference: str | None = None, table: str | None = None, out: str = ".", ledger: str | None = None,
    check: bool = False, port: int = 0, no_browser: bool = False,
) -> None:  # fmt: skip
    """Open a page on this computer that leads from a REFERENCE and a private table to one signed release.

    It listens on 127.0.0.1 alone, and ends with Ctrl-C, or after half an hour in which nobody asks for anything."""
    if missing := [name for name in _NEEDS if find_spec(name) is None]:
        listed = ", ".join(name.replace("_", "-") for name in missing)
        raise MissingExtra(f"the studio needs {listed}: pip install 'fugu-privacy[studio]'")
    if check and (reference or table or ledger):
        raise UsageError("--check opens the officer's screen alone: leave out REFERENCE, --table and --ledger")
    if not check and reference is None:
        raise UsageError("give the REFERENCE, a public table of the same columns; or --check to check a release")
    from fugu.studio.app import serve

    state: dict[str, Any] = {"checks": check, "out": str(Path(out).absolute())}
    if reference is not None:
        for name, path in (("REFERENCE", reference), ("--table", table)):
            if path is not None and not Path(path).is_file():
                raise UsageError(f"{name}: {path!r} is not a file")
        named = None if table is None else file_name(table)
        state |= {"reference": str(Path(reference).absolute()), "table": named, "ledger": ledger}
    private = None if table is None else str(Path(table).absolute())

    def said(address: str) -> None:
        typer.echo(f"the studio is at {address}", err=True)
        typer.echo("the address is good once, within a minute; Ctrl-C ends the studio", err=True)

    serve(state, private, port, not no_browser, said)
