"""Scenario files, in TOML, with one section for each part of a question and of what goes with it:

    [data] [question] [sequence] [secrets] [beliefs] [budget] [noise] [schema] [training] [property]

A key of the file is named like its option, with an underscore for a dash. One file serves every command: each takes
what it has an option for. Unknown sections and keys are refused. Paths are relative to the file."""

from __future__ import annotations

import json
import os
import re
import textwrap
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, final

from fugu.errors import UnknownName, UsageError
from fugu.question import SECTIONS, Ask, Question, facts
from fugu.releasing.forms import FORMS
from fugu.visible import brief

Values = Mapping[str, Any]
SCHEMA = "schema"


@cache
def keys() -> Mapping[str, Mapping[str, tuple[str, Ask]]]:
    """{section: {key: (field, what it states)}}, read off the forms; [schema] is that of `Schema.load`."""
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
