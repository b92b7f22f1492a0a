"""`--scenario FILE`: options of a command from a file; what is on the command line overrides it, and that is said."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from fugu.cli.console import err, escape
from fugu.cli.scenario_file import ScenarioFile

_OPTION = "--scenario"
Scenario = Annotated[
    str | None,
    typer.Option(_OPTION, metavar="FILE", help="Take options from a file (fugu init writes one); others override it."),
]
_EITHER = (("publish", "query"), ("reference", "public_prior"), ("ledger", "no_ledger"))
"""Options of which one at most is given: one on the command line overrides the other of the file."""


def with_scenario(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with the option --scenario, which `ScenarioCommand` reads before the others."""
    hints = get_type_hints(command, include_extras=True)

    @functools.wraps(command)
    def run(**given: Any) -> None:
        given.pop("scenario", None)
        command(**given)

    own = [p.replace(annotation=hints[p.name]) for p in inspect.signature(command).parameters.values()]
    last = inspect.Parameter("scenario", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Scenario)
    run.__signature__ = inspect.Signature([*own, last])  # type: ignore[attr-defined]
    run.__annotations__ = {**hints, "scenario": Scenario}
    del run.__wrapped__
    return run


class ScenarioCommand(TyperCommand):
    """A command that takes from a scenario file what the command line does not say."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Values of the file stand where defaults would; overriding one is said on stderr."""
        named = _named(args)
        if named is None:
            return list(super().parse_args(ctx, args))
        file = ScenarioFile.load(named)
        shown = {_shown(param): str(param.name) for param in self.params}
        found = {shown[name]: value for name, value in file.options(str(ctx.info_name), shown).items()}
        several = {str(param.name) for param in self.params if getattr(param, "multiple", False)}
        found |= {name: [found[name]] for name in several & set(found)}  # options that may be given more than once
        for pair in _EITHER:
            for one, other in (pair, pair[::-1]):
                if one in found and other not in found and _given(args, other):
                    _say(other, one, file)
                    del found[one]
        ctx.default_map = found
        rest = list(super().parse_args(ctx, args))
        for param in self.params:
            name = str(param.name)
            source = ctx.get_parameter_source(name)
            if name in found and source is not None and source.name == "COMMANDLINE":
                _say(_shown(param), _shown(param), file)
        return rest


def _shown(param: Any) -> str:
    """The name of an option as a file has it; TABLE is `table`."""
    longest = max(param.opts, key=len)
    return str(param.name) if not longest.startswith("--") else longest[2:].replace("-", "_")


def _named(args: list[str]) -> str | None:
    """The file after --scenario, if it is there; the parser refuses it without one."""
    for place, word in enumerate(args):
        if word == "--":
            return None
        if word == _OPTION and place + 1 < len(args):
            return args[place + 1]
        if word.startswith(f"{_OPTION}="):
            return word.partition("=")[2]
    return None


def _given(args: list[str], name: str) -> bool:
    option = "--" + name.replace("_", "-")
    return any(word == option or word.startswith(f"{option}=") for word in args)


def _say(given: str, instead: str, file: ScenarioFile) -> None:
    option = "TABLE" if given == "table" else "--" + given.replace("_", "-")
    what = "the one" if given == instead else repr(instead)
    err.print(
        f"[bold yellow]note[/]: {escape(option)} of the command line is used, not {escape(what)} of "
        f"{escape(repr(file.path.name))}",
        soft_wrap=True,
    )
