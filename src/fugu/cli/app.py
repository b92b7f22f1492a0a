"""The commands, wired together; each lives in its own file."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import typer

from fugu.cli import (
    auditing,
    calibrating,
    checking,
    comparing,
    demo,
    errata,
    field,
    influence,
    ledger,
    papers,
    property,
    releasing,
    reporting,
    reproduce,
    starting,
    train,
    verifying,
)  # fmt: skip
from fugu.cli.console import fail, fail_json
from fugu.cli.scenario_option import ScenarioCommand, with_scenario
from fugu.errors import FuguError, UsageError

app = typer.Typer(
    name="fugu",
    help="Publish statistics of correlated data under Pufferfish privacy, with the least noise that provably suffices.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("init")(starting.init)
_WITH_SCENARIO: dict[str, Callable[..., None]] = {
    "compare": comparing.compare,
    "plan": calibrating.plan,
    "calibrate": calibrating.calibrate,
    "property": property.property_,
    "influence": influence.influence,
    "check": checking.check,
    "release": releasing.release,
    "train": train.train,
}
for _name, _command in _WITH_SCENARIO.items():
    app.command(_name, cls=ScenarioCommand)(with_scenario(_command))
app.command("field")(field.field)
app.command("errata")(errata.errata)
app.command("papers")(papers.papers)
app.command("reproduce")(reproduce.reproduce)
app.command("report")(reporting.report)
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
    """Exit codes: 0 done, 2 wrong use, 3 budget refused, 4 not provable or a certificate that does not hold.

    With --json a refusal is an object on stdout, also what the parser of options refuses; the codes are the same."""
    as_json = "--json" in sys.argv[1:]
    try:
        code = app(standalone_mode=not as_json)
    except FuguError as error:
        _refused(error, as_json)
    except OSError as error:
        where = f" in {str(Path(error.filename).parent)!r}" if isinstance(error.filename, str) else ""
        said = f"a file{where} could not be read or written: {error.strerror}; check the folder"
        _refused(UsageError(said), as_json)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        if not hasattr(error, "format_message"):  # not from the parser of options
            raise
        _refused(UsageError(error.format_message()), as_json)
    sys.exit(code if isinstance(code, int) else 0)


def _refused(error: FuguError, as_json: bool) -> NoReturn:
    fail(error)
    if as_json:
        fail_json(error)
    sys.exit(error.exit_code)
