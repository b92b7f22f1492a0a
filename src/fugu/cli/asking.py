"""What a command is asked: the fields of forms as options, on the command line or in a scenario file, in TOML:

    [data] [question] [sequence] [secrets] [beliefs] [budget] [noise] [schema] [training] [property]

A key of the file is named like its option, with an underscore for a dash. One file serves every command: each takes
what it has an option for. Unknown sections and keys are refused. Paths are relative to the file."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import textwrap
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, final, get_type_hints

import typer

from fugu.aliases import own_method, told
from fugu.cli.app import AT_FIRST_SIGHT, Helped, show_all
from fugu.errors import UnknownName, UsageError
from fugu.question import SECTIONS, SEQUENCES, Ask, Question, Route, defaults, facts, texts
from fugu.visible import brief

_SCENARIO = "--scenario"
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_OWN = 10
"""The place in the help of an option that is of one command alone."""
_EITHER = (("publish", "query"), ("reference", "public_prior"), ("ledger", "no_ledger"))
"""Options of which one at most is given: one on the command line overrides the other of the file."""
Command = Callable[..., None]


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
        more: dict[str, Any] = {"metavar": "" if hint is bool else said.metavar, "is_eager": said.reads is show_all}
        if said.words:
            more["autocompletion"] = lambda: list(said.words)
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
        place = _named(args)
        if place is None:
            return list(super().parse_args(ctx, args))
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
        rest = list(super().parse_args(ctx, args))
        for param in self.params:
            source = ctx.get_parameter_source(str(param.name))
            if param.name in values and source is not None and source.name == "COMMANDLINE":
                longest = max(param.opts, key=len)
                _say(longest if longest.startswith("--") else "TABLE", "the one", file.path.name)
        return rest


def _named(args: list[str]) -> str | None:
    """The file after --scenario, if it is there; the parser refuses it without one."""
    for place, word in enumerate(args):
        if word == "--":
            return None
        if word == _SCENARIO and place + 1 < len(args):
            return args[place + 1]
        if word.startswith(f"{_SCENARIO}="):
            return word.partition("=")[2]
    return None


def _say(option: str, instead: str, file: str) -> None:
    from fugu.cli.console import note

    note(f"{option} of the command line is used, not {instead} of {file!r}")


Values = Mapping[str, Any]
SCHEMA = "schema"


@cache
def keys() -> Mapping[str, Mapping[str, tuple[str, Ask]]]:
    """{section: {key: (field, what it states)}}, read off the forms; [schema] is that of `Schema.load`."""
    from fugu.cli.commands import FORMS

    asked = [(name, said) for form in (Question, *FORMS) for name, said in facts(form).items()]
    found = {
        section: {said.key or name: (name, said) for name, said in asked if said.section == section}
        for section in SECTIONS
    }
    found["sequence"]["bins"] = found["question"]["bins"]  # cut points of states
    return found


_ALONE = {"train": "training", "property": "property"}
"""Commands with a section of their own, beside [data], [budget] and [schema]."""
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_PATHS = ("reference", "table", "ledger", "output")
_CONDITIONS = "protect"
_BY_COLUMN = ("bounds", "step", "bins")
"""Keys that may say something of each column."""


@final
@dataclass(frozen=True)
class ScenarioFile:
    """A file that was read and checked: its values, section by section."""

    path: Path
    sections: Mapping[str, Values]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ScenarioFile:
        """Read and check a file; UsageError names what is wrong with it, and UnknownName what was perhaps meant."""
        place = Path(path)
        try:
            found = tomllib.loads(place.read_text(encoding="utf-8"))
        except OSError:
            raise UsageError(f"no scenario file {place.name!r} can be read; fugu init writes one") from None
        except (ValueError, RecursionError) as error:
            why = str(error).splitlines()[0][:100]
            raise UsageError(f"{place.name!r} is not TOML: {why}; fugu init writes a file to start from") from None
        for section, values in found.items():
            if section not in (*keys(), SCHEMA):
                homes = [name for name, own in keys().items() if section in own and name not in _ALONE.values()]
                if homes and not isinstance(values, dict):
                    home = f"put it under [{homes[0]}]"
                    raise UsageError(f"{section!r} of {place.name!r} stands outside a section; {home}")
                raise UnknownName(f"section of {place.name!r} called", section, (*keys(), SCHEMA))
            if not isinstance(values, dict):
                raise UsageError(f"[{section}] of {place.name!r} must be a section with keys")
            for key in values if section != SCHEMA else ():
                if key not in keys()[section]:
                    homes = [name for name, own in keys().items() if key in own]
                    if homes:
                        raise UsageError(f"{key!r} of {place.name!r} belongs to [{homes[0]}], not to [{section}]")
                    raise UnknownName(f"key in [{section}] of {place.name!r} called", key, tuple(keys()[section]))
        if SCHEMA in found:
            from fugu.data.schema import Schema

            Schema.load(place)  # checked now
        return ScenarioFile(place, found)

    def options(self, command: str, known: Collection[str]) -> dict[str, Any]:
        """The values by name of the option, for a command with the options `known`.

        UsageError for a key of this command's own sections that it has no option for: nothing is ignored in silence
        that changes what a release is."""
        own, taken = _ALONE.get(command), {}
        for section in ("data", "budget", own) if own else (name for name in keys() if name not in _ALONE.values()):
            for key, value in self.sections.get(section, {}).items():
                name = keys()[section][key][0]
                if section == "data" and key == "output" and command != "release":
                    continue
                if name in known:
                    taken[name] = self._value(section, key, value)
                elif command == "release" and key != "error":
                    raise UsageError(f"{key!r} in [{section}] of {self.path.name!r}: fugu release has no --{key} here")
        if SCHEMA in self.sections and SCHEMA in known:
            taken[SCHEMA] = str(self.path)
        return taken

    def _value(self, section: str, key: str, value: object) -> object:
        """A value as the text that its option takes; a truth value as it is."""
        try:
            found = value if isinstance(value, bool) else as_text(key, value)
        except UsageError as error:
            raise UsageError(f"{key!r} in [{section}] of {self.path.name!r}: {error}") from None
        if key in _PATHS and isinstance(found, str) and not os.path.isabs(found):
            return os.path.join(self.path.parent, found) if self.path.parent != Path() else found
        return found


def as_text(key: str, value: object) -> str:
    """The text of an option: numbers as they are written, lists with commas, pairs with colons, a table as JSON.

    >>> as_text("bounds", [0, 400.5]), as_text("pairs", [["F", "M"], ["F", "X"]]), as_text("bounds", {"age": [0, 110]})
    ('0,400.5', 'F:M,F:X', 'age:0:110')
    """
    if isinstance(value, str | date):
        return value if isinstance(value, str) else value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    if isinstance(value, list) and value:
        if key == "query" and all(isinstance(item, str) for item in value):
            return "; ".join(value)  # each of a list stands alone
        return ",".join(":".join(map(_item, item)) if isinstance(item, list) else _item(item) for item in value)
    if isinstance(value, dict) and value and key == _CONDITIONS:  # by secret
        return json.dumps(value, default=str, ensure_ascii=False)
    if isinstance(value, dict) and value and key in _BY_COLUMN:
        parts = ((name, *(x if isinstance(x, list) else [x])) for name, x in value.items())
        return ",".join(":".join(map(_item, part)) for part in parts)
    raise UsageError("a text, a number, a truth value or a list of them is expected")


def _item(value: object) -> str:
    text = as_text("", value)
    if isinstance(value, list) or set(text) & {",", ":", "\n"}:
        raise UsageError(f"a part of a list cannot have a comma or a colon in it: {brief(text, 40)}")
    return text


def scenario_text(
    head: str, chosen: Mapping[str, Mapping[str, Any]], why: Mapping[str, str], schema: str, examples: bool
) -> str:
    """The file: `head` as a comment, what is `chosen` by section and key with the reasons `why`, then `schema`.

    `examples`: whether keys that were not chosen, and have an example, are shown as comments."""
    from fugu.data.schema import value_text

    lines = [*_comment(head), ""]
    for section, own in keys().items():
        values = chosen.get(section, {})
        shown = {key: said for key, (_, said) in own.items() if key in values or (examples and said.like is not None)}
        if not shown or (section == "sequence" and "sequence" not in chosen):
            continue
        lines.append(f"[{section}]")
        for key, said in shown.items():
            words = _OPTION.sub(lambda found: found[1].replace("-", "_"), said.help).replace("TABLE", "the table")
            lines += [*_comment(words), *_comment(why.get(key, ""))]
            lines.append(
                f"{key} = {value_text(values[key])}" if key in values else f"# {key} = {value_text(said.like)}"
            )
        lines.append("")
    return "\n".join(lines) + schema


def _comment(text: str) -> list[str]:
    """A text as lines of comment."""
    return [f"# {line}" for part in text.splitlines() for line in textwrap.wrap(part, 116)] if text else []
