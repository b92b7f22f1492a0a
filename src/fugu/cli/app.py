"""The commands: a name and a sentence suffice to list them, and each is imported when it is called."""

from __future__ import annotations

import io
import os
import sys
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stderr, suppress
from copy import copy
from functools import cached_property, partial
from importlib import import_module, resources
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from fugu.errors import FuguError, MissingExtra, UsageError

AT_FIRST_SIGHT = 15
"""Options that --help shows at most; --help-all shows the rest of them."""
_ALL = "fugu.help_all"
COMPLETING = "_FUGU_COMPLETE"
"""Set by the shell that asks what the tab key may offer."""


class Helped(TyperCommand):
    """A command whose help ends with an example. Of more options than `AT_FIRST_SIGHT` it shows those with a place in
    `first`, in that order; `--help-all` shows all of them, in panels."""

    example = ""
    first: ClassVar[Mapping[str, int]] = {}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Of the line as it stands for the tab key: see `_unchecked`."""
        return _unchecked(self, ctx, args) if ctx.resilient_parsing else list(super().parse_args(ctx, args))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The options through typer; the example as it stands, so that it can be copied from the screen."""
        shown, few = copy(self), bool(self.first) and not ctx.meta.get(_ALL)
        shown.params = [
            copy(each) for each in self.params if not few or each.name in self.first or not _is_option(each)
        ]
        listed: list[Any] = [*shown.params, shown.get_help_option(ctx)]
        for param in listed:
            stated = param.metavar if _is_option(param) else None  # and no types of Python
            param.display_type_rich = partial(_stated, stated)
            if few and _is_option(param):
                param.rich_help_panel = None
        if few:
            shown.params.sort(key=lambda param: self.first.get(str(param.name), 0))
        super(Helped, shown).format_help(ctx, formatter)
        if self.example:
            formatter.write(f" Example:\n\n{indent(self.example.strip(), '   ')}\n")


def _stated(metavar: str | None, ctx: Any) -> str | None:
    del ctx
    return metavar


class Commands(TyperGroup):
    """All of them; for the tab key nothing of the line is checked."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The command that is named, and what follows it."""
        if not ctx.resilient_parsing:
            return list(super().parse_args(ctx, args))
        rest = _unchecked(self, ctx, args)
        ctx._protected_args, ctx.args = rest[:1], rest[1:]
        return rest[1:]


def _unchecked(command: Any, ctx: Any, args: list[str]) -> list[str]:
    """What is left of the line, whose options are noted as they stand: to check values takes as long as all else."""
    parser = command.make_parser(ctx)
    stated, ctx.args, _ = parser.parse_args(args=list(args))
    ctx._opt_prefixes.update(parser._opt_prefixes)
    ctx.params = {**(ctx.default_map or {}), **stated}
    return list(ctx.args)


def _is_option(param: Any) -> bool:
    return str(param.param_type_name) == "option"


def show_all(ctx: typer.Context, wanted: bool) -> None:
    """What --help-all does."""
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


class Later(TyperCommand):
    """A command in name only; whatever is asked of it beyond its sentence is asked of the real one.

    `place`: "file:name" below `fugu.cli` of a function or of a Typer, or the package that has it as an entry point.
    `elsewhere`: options that people look for here, and what does that."""

    place: ClassVar[str]
    example: ClassVar[str]
    elsewhere: ClassVar[Mapping[str, str]]

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
            group = typer.main.get_group(found)
            group.epilog = f"Example: {self.example}"
            return group
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(self.name, cls=getattr(found, "command", Helped))(found)
        command: Any = typer.main.get_command(alone)
        command.example = self.example
        return command

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """That of the real command; an option that is another command's is said to be."""
        try:
            return self.real.make_context(info_name, args, parent, **extra)
        except Exception as error:
            said = self.elsewhere.get(str(getattr(error, "option_name", ""))) or _asked_for(error, self.example)
            if said:
                raise UsageError(said) from None
            raise


_CONTINUED = "\\\n   "


def _asked_for(error: Exception, example: str) -> str:
    """What the parser of options refuses, in the words of the options."""
    param, text = getattr(error, "param", None), str(getattr(error, "message", ""))
    if type(error).__name__ == "MissingParameter" and param is not None:
        flag = param.opts[0] if _is_option(param) else str(param.metavar or param.name).upper()
        return f"{flag} is missing: {param.help or 'see --help'} Example: {example.strip().replace(_CONTINUED, '')}"
    if "unable to parse string as a number" in text:
        return f"{getattr(param, 'opts', ('it',))[0]} takes a number"
    if "unexpected extra argument" in text:
        return f"{text}; what has several parts is one word, such as --bounds 0,100 or --query 'mean(x) by y'"
    return ""


app = typer.Typer(
    name="fugu", cls=Commands,
    help="Publish statistics of correlated data under Pufferfish privacy, with the least noise that provably suffices.",
    no_args_is_help=True, pretty_exceptions_enable=False,
)  # fmt: skip
for _panel, _commands in tomllib.loads(
    resources.files("fugu.cli").joinpath("commands.toml").read_text("utf-8")
).items():
    for _name, _said in _commands.items():
        _facts = {"place": _said["at"], "example": _said["example"], "elsewhere": _said.get("elsewhere", {})}
        _listed = app.command(
            _name, cls=type(Later.__name__, (Later,), _facts), help=_said["help"], rich_help_panel=_panel
        )
        _listed(lambda: None)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from fugu import __version__

        typer.echo(f"fugu {__version__}")
        raise typer.Exit


def run() -> None:
    """Exit codes: 0 done, 2 wrong use, 3 budget refused, 4 not provable or a certificate that does not hold.

    With --json a refusal is an object on stdout, also what the parser of options refuses; the codes are the same."""
    if COMPLETING in os.environ:
        with suppress(Exception), redirect_stderr(io.StringIO()):  # nothing is said into the line that is being typed
            app(prog_name="fugu")
        sys.exit(0)
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
