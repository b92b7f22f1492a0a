"""What a command is asked: the fields of forms as options, on the command line or in a scenario file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Annotated, Any, get_args, get_type_hints

import typer

from fugu.aliases import own_method, told
from fugu.cli.app import AT_FIRST_SIGHT, Helped, show_all
from fugu.cli.completing import columns
from fugu.question import SEQUENCES, Ask, Route, defaults, facts, texts
from fugu.releasing.scenario_file import ScenarioFile

_SCENARIO = "--scenario"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_OWN = 10
"""The place in the help of an option that is of one command alone."""
_COLUMNS = ("publish", "protect", "unit", "by", "order", "state", "end", "target", "features")
"""Options that name columns."""
_OF_A_REFERENCE = ("reference", "publish", "protect")
"""What is needed of a table, unless the laws are stated by hand."""
_STATED = frozenset({"laws", "chain"})
_EITHER = (("publish", "query"), ("reference", "public_prior"), ("ledger", "no_ledger"))
"""Options of which one at most is given: one on the command line overrides the other of the file."""
Command = Callable[..., None]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
"""For the commands of sisters."""


def asks(
    home: str = "", *routes: Route, need: str = "", leave: str = "", only: str = "", argument: str = "reference",
    metavar: str = "TABLE", first: str = "", command_name: str = "",
) -> Callable[[Command], Command]:  # fmt: skip
    """A command whose parameters become options, as options.toml describes them under its name; those that are forms,
    one for each field, beside --scenario.

    `home`: the file below `fugu.cli` that has the function, imported when the command is run; empty where that is the
    one that is decorated. `routes`: fields for other things are left out; `leave`: fields without an option here;
    `only`: if given, the fields of `Question` that have one; `need`: what must be given; `argument`: the one that
    stands without a name; `first`: fields that its help shows at first sight beside those that say so of themselves;
    `command_name`: if other than the function's."""

    def chosen(form: type) -> Iterator[tuple[str, Ask]]:
        for name, said in facts(form).items():
            listed = name in only.split() if only and form.__name__ == "Question" else name not in leave.split()
            if listed and (not routes or not said.routes or set(routes) & set(said.routes)):
                yield name, said

    def wrapped(command: Command) -> Command:
        hints, forms = get_type_hints(command), dict[str, tuple[type, list[str]]]()
        asked: dict[str, tuple[Ask, inspect.Parameter]] = {}

        def option(name: str, said: Ask, hint: Any, default: Any) -> None:
            place = metavar if name == argument else None
            asked[name] = said, _parameter(name, said, hint, default, place)

        own = {**texts()["every"], **texts().get(command_name or command.__name__.strip("_"), {})}
        for parameter in inspect.signature(command).parameters.values():
            hint = hints[parameter.name]
            if not is_dataclass(hint):
                said = own[parameter.name]
                stated = Ask(said) if isinstance(said, str) else Ask(**said)
                option(parameter.name, replace(stated, first=stated.first or _OWN), hint, parameter.default)
                continue
            assert isinstance(hint, type)
            fields, kinds = dict(chosen(hint)), get_type_hints(hint)
            forms[parameter.name] = hint, list(fields)
            for field, said in fields.items():
                given = inspect.Parameter.empty if field in need.split() else defaults(hint)[field]
                option(field, said, kinds[field], given)
        if forms:
            option("scenario", Ask(**own["scenario"]), str | None, None)
        places: dict[str, int] = {}
        if len(asked) > AT_FIRST_SIGHT:
            option("help_all", Ask(**own["help_all"], reads=show_all), bool, False)
            shown = {*need.split(), *first.split()}
            apart = () if routes == (SEQUENCES,) else ((SEQUENCES,),)  # of sequences alone, where others are asked too
            places = {
                name: said.first for name, (said, _) in asked.items()
                if name in shown or (said.first and said.routes not in apart)
            }  # fmt: skip
        listed = [parameter for _, parameter in asked.values()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            for name in ("scenario", "help_all"):
                given.pop(name, None)
            made = {name: form(**{field: given.pop(field) for field in own}) for name, (form, own) in forms.items()}
            body = getattr(import_module(f"fugu.cli.{home}"), command.__name__) if home else command
            body(**made, **given)

        run.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
        parser = ScenarioCommand if forms else Helped
        run.command = type(parser.__name__, (parser,), {"first": places})  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return wrapped


def _parameter(name: str, said: Ask, hint: Any, default: Any, place: str | None) -> inspect.Parameter:
    """What typer makes an option of, or the argument that its help calls `place`."""
    made: Any = typer.Argument(metavar=place, help=said.help)
    if place is None:
        form = "NUMBER" if {int, float} & {hint, *get_args(hint)} else "TEXT"
        more: dict[str, Any] = {
            "metavar": "" if hint is bool else said.metavar or form,
            "is_eager": said.reads is show_all,
        }
        if said.words or name in _COLUMNS:
            more["autocompletion"] = columns if name in _COLUMNS else lambda: list(said.words)
        if said.reads is not None:
            more["callback"] = said.reads if said.reads is show_all else _own_name(said.reads)
        text = said.help.removeprefix(f"{said.panel}: ")
        flags = said.flag.split() or [f"--{name.replace('_', '-')}"]
        made = typer.Option(*flags, help=text[0].upper() + text[1:], rich_help_panel=said.panel or None, **more)
    return inspect.Parameter(name, _KEYWORD, default=default, annotation=Annotated[hint, made])


def _own_name(reads: Callable[[str], str]) -> Callable[[str], str]:
    """fugu's name for what the papers call a noise or a method; of a method that is said on stderr."""

    def own(value: str) -> str:
        if reads is own_method and (said := told(value)) is not None:
            from fugu.cli.console import note

            note(said)
        return reads(value)

    return own


class ScenarioCommand(Helped):
    """A command that takes from a scenario file what the command line does not say."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Values of the file stand where defaults would; overriding one is said on stderr."""
        place = _value_of(args, _SCENARIO)
        by_hand = any(_value_of(args, f"--{name}") is not None for name in _STATED)
        if place is None:
            return self._parsed(ctx, args, by_hand)
        file = ScenarioFile.load(place)
        values = file.options(str(ctx.info_name), {str(param.name) for param in self.params})
        several = {str(param.name) for param in self.params if getattr(param, "multiple", False)}
        values |= {name: [values[name]] for name in several & set(values)}  # options that may be given more than once
        for pair in _EITHER:
            for one, other in (pair, pair[::-1]):
                option = f"--{other.replace('_', '-')}"
                given = any(word == option or word.startswith(f"{option}=") for word in args)
                if one in values and other not in values and given:
                    _say(option, repr(one), file.path.name)
                    del values[one]
        ctx.default_map = values
        rest = self._parsed(ctx, args, by_hand or not _STATED.isdisjoint(values))
        for param in self.params:
            source = ctx.get_parameter_source(str(param.name))
            if param.name in values and source is not None and source.name == "COMMANDLINE":
                longest = max(param.opts, key=len)
                _say(longest if longest.startswith("--") else "TABLE", "the one", file.path.name)
        return rest

    def _parsed(self, ctx: Any, args: list[str], by_hand: bool) -> list[str]:
        """By the parser of options; with laws by hand nothing of a reference is needed."""
        shown = copy(self)
        shown.params = [copy(param) for param in self.params]
        for param in shown.params if by_hand else ():
            param.required = param.required and param.name not in _OF_A_REFERENCE
        return list(super(ScenarioCommand, shown).parse_args(ctx, args))


def _value_of(args: list[str], option: str) -> str | None:
    """What stands after an option, if it is there; the parser refuses it without a value."""
    for place, word in enumerate(args):
        if word == "--":
            return None
        if word == option and place + 1 < len(args):
            return args[place + 1]
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
    return None


def _say(option: str, instead: str, file: str) -> None:
    from fugu.cli.console import note

    note(f"{option} of the command line is used, not {instead} of {file!r}")
