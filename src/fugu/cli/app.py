"""The commands, wired together; each lives in its own file."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from fugu.cli import (
    auditing,
    calibrating,
    demo,
    errata,
    influence,
    ledger,
    property,
    releasing,
    reporting,
    train,
    verifying,
)  # fmt: skip
from fugu.cli.console import fail
from fugu.errors import FuguError, UsageError

app = typer.Typer(
    name="fugu",
    help="Publish statistics of correlated data under Pufferfish privacy, with the least noise that provably suffices.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("compare")(calibrating.compare)
app.command("plan")(calibrating.plan)
app.command("calibrate")(calibrating.calibrate)
app.command("property")(property.property_)
app.command("influence")(influence.influence)
app.command("errata")(errata.errata)
app.command("release")(releasing.release)
app.command("report")(reporting.report)
app.command("train")(train.train)
app.command("verify")(verifying.verify)
app.command("audit")(auditing.audit)
app.add_typer(ledger.app, name="ledger", no_args_is_help=True)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from fugu import __version__

        typer.echo(f"fugu {__version__}")
        raise typer.Exit


def run() -> None:
    """Exit codes: 0 done, 2 wrong use, 3 budget refused, 4 not provable or a certificate that does not hold."""
    try:
        app()
    except FuguError as error:
        fail(error)
        sys.exit(error.exit_code)
    except OSError as error:
        where = f" in {str(Path(error.filename).parent)!r}" if isinstance(error.filename, str) else ""
        fail(UsageError(f"a file{where} could not be read or written: {error.strerror}; check the folder"))
        sys.exit(UsageError.exit_code)
