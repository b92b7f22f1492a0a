"""The commands: a name and a sentence suffice to list them, and each is imported when it is called."""

from __future__ import annotations

import sys
import tomllib
from functools import cached_property
from importlib import import_module, resources
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
for _name, (_where, _sentence) in tomllib.loads(
    resources.files("fugu.cli").joinpath("commands.toml").read_text("utf-8")
).items():
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
