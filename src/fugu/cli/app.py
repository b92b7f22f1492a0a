"""The commands, wired together; each lives in its own file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import typer

from fugu.cli.later import add_later
from fugu.errors import FuguError, UsageError

app = typer.Typer(
    name="fugu",
    help="Publish statistics of correlated data under Pufferfish privacy, with the least noise that provably suffices.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_COMMANDS = {
    "demo": ("demo:demo", "Publish a column of a synthetic clinic table, with every step shown and explained."),
    "init": (
        "starting:init",
        "Write a commented scenario.toml from TABLE, a reference. It tells of TABLE, so never give a private one.",
    ),
    "compare": (
        "comparing:compare",
        "Show every method's noise side by side. TABLE is the reference that beliefs are fitted on.",
    ),
    "plan": ("calibrating:plan", "Find the least epsilon whose mechanism has at most this expected error."),
    "calibrate": (
        "calibrating:calibrate",
        "Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on.",
    ),
    "property": (
        "property:property_",
        "Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released.",
    ),
    "influence": (
        "influence:influence",
        "Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON.",
    ),
    "check": (
        "checking:check",
        "How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish.",
    ),
    "release": (
        "releasing:release",
        "Publish a column or statistics of TABLE, or of its sequences: OUT.csv, its certificate and its page.",
    ),
    "train": (
        "train:train",
        "Train a private model of TABLE once, with its certificate; utility is measured on public rows only.",
    ),
    "field": (
        "field:field",
        "Entries that are jointly normal: what they say of each other, what RHO is worth, what keeps a budget.",
    ),
    "errata": ("errata:errata", "List the slips of the papers; with an ID, or --all, run their counterexamples."),
    "papers": (
        "papers:papers",
        "List the papers; with a number its results; with a label or a name what fugu says of it.",
    ),
    "reproduce": (
        "reproduce:reproduce",
        "List the experiments of the papers; with a NAME run one, all of a paper, or all.",
    ),
    "report": (
        "reporting:report",
        "Make the page of a release, or of a certificate of any kind, from its files alone; it works offline.",
    ),
    "verify": (
        "verifying:verify",
        "Check a release from outside: every proof again, the published file, reference, ledger; exit 4 if one fails.",
    ),
    "audit": (
        "auditing:audit",
        "Attack the release path on data drawn from the beliefs of a certificate; exit 4 if its guarantee is refuted.",
    ),
    "ledger": (
        "ledger:app",
        "Read a ledger: what was asked and spent, whether it holds, a copy for others; or mend it.",
    ),
}
_WITH_SCENARIO = {"compare", "plan", "calibrate", "property", "influence", "check", "release", "train"}
for _name, (_where, _sentence) in _COMMANDS.items():
    add_later(app, _name, _where, _sentence, scenario=_name in _WITH_SCENARIO)


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
    from fugu.cli.console import fail, fail_json

    fail(error)
    if as_json:
        fail_json(error)
    sys.exit(error.exit_code)
