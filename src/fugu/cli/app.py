"""The commands: a name and a sentence suffice to list them, and each is imported when it is called."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import typer
from typer.core import TyperCommand

from fugu.errors import FuguError, MissingExtra, UsageError


class Later(TyperCommand):
    """A command in name only; whatever is asked of it beyond its sentence is asked of the real one.

    `place`: "file:name" below `fugu.cli` of a function or of a Typer, or the package that has it as an entry point."""

    place: ClassVar[str]

    @cached_property
    def real(self) -> Any:
        """The command itself, imported now."""
        module, _, name = self.place.partition(":")
        if name:
            found: Any = getattr(import_module(f"fugu.cli.{module}"), name)
        else:  # of a sister, by its entry point: those of all packages take 40 ms to read
            from importlib.metadata import entry_points

            entry = next(iter(entry_points(group="fugu.commands", name=str(self.name))), None)
            if entry is None:
                raise MissingExtra(
                    f"fugu {self.name} comes with the package {module}; install it: pip install {module}"
                )
            found = entry.load()
        if isinstance(found, typer.Typer):
            return typer.main.get_group(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, cls=getattr(found, "command", None))(found)
        return typer.main.get_command(alone)

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """That of the real command."""
        return self.real.make_context(info_name, args, parent, **extra)


app = typer.Typer(
    name="fugu",
    help="Publish statistics of correlated data under Pufferfish privacy, with the least noise that provably suffices.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip
_COMMANDS = {
    "demo": ("demo:demo", "Publish a column of a synthetic clinic table, with every step shown and explained."),
    "init": (
        "init:init",
        "Write a commented scenario.toml from TABLE, a reference. It tells of TABLE, so never give a private one.",
    ),
    "compare": (
        "commands:compare",
        "Show every method's noise side by side. TABLE is the reference that beliefs are fitted on.",
    ),
    "plan": ("commands:plan", "Find the least epsilon whose mechanism has at most this expected error."),
    "calibrate": (
        "commands:calibrate",
        "Find and prove the least noise; nothing is released. TABLE is the reference that beliefs are fitted on.",
    ),
    "property": (
        "commands:property_",
        "Hide a property of the whole: noise, record swap and attack, from a reference TABLE. Nothing is released.",
    ),
    "influence": (
        "commands:influence",
        "Fit a chain on SEQ: its influence curve, and the largest epsilon for each entry that keeps EPSILON.",
    ),
    "check": (
        "commands:check",
        "How your own TABLE is read, column by column, and what of it is elsewhere too: for your eyes, not to publish.",
    ),
    "release": (
        "commands:release",
        "Publish a column or statistics of TABLE, or of its sequences: OUT.csv, its certificate and its page.",
    ),
    "train": (
        "commands:train",
        "Train a private model of TABLE once, with its certificate; utility is measured on public rows only.",
    ),
    "field": (
        "influence:field",
        "Entries that are jointly normal: what they say of each other, what RHO is worth, what keeps a budget.",
    ),
    "errata": ("fugu-papers", "List the slips of the papers; with an ID, or --all, run their counterexamples."),
    "papers": (
        "fugu-papers",
        "List the papers; with a number its results; with a label or a name what fugu says of it.",
    ),
    "reproduce": ("fugu-papers", "List the experiments of the papers; with a NAME run one, all of a paper, or all."),
    "report": (
        "outside:report",
        "Make the page of a release, or of a certificate of any kind, from its files alone; it works offline.",
    ),
    "verify": (
        "outside:verify",
        "Check a release from outside: every proof again, the published file, reference, ledger; exit 4 if one fails.",
    ),
    "audit": (
        "outside:audit",
        "Attack the release path on data drawn from the beliefs of a certificate; exit 4 if its guarantee is refuted.",
    ),
    "ledger": (
        "ledger:app",
        "Read a ledger: what was asked and spent, whether it holds, a copy for others; or mend it.",
    ),
}
for _name, (_where, _sentence) in _COMMANDS.items():
    app.command(_name, cls=type(Later.__name__, (Later,), {"place": _where}), help=_sentence)(lambda: None)


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
