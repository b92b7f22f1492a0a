"""Scenario files, in TOML, with one section for each part of a question and of what goes with it:

    [data] [question] [sequence] [secrets] [beliefs] [laws] [distributions] [budget] [noise] [schema] [training]
    [property] [sign-off]

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
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, final, get_type_hints

from fugu.aliases import own_method
from fugu.errors import UnknownName, UsageError
from fugu.files import STREAM, write_text
from fugu.question import PROPERTY, SECTIONS, SIGN_OFF, Ask, Question, as_text, ask, facts
from fugu.visible import brief

# What a command, or a call, is told beside a question: books, where things go, a training, a property to look at. Like
# those of `Question`, each field is an option of the commands that take the form, and a key of files where it names a
# section.


_LEDGER, _OUTPUT, _TABLES, _MODEL, _BELIEFS = "Ledger", "Output", "Tables", "The model", "Secrets and beliefs"


@final
@dataclass(frozen=True, kw_only=True)
class Booking:
    """Which ledger is charged, under which names, and its budget."""

    data: str | None = ask("data", key="name", like="visits", title=_LEDGER)
    ledger: str | None = ask("data", like="ledger.db", title=_LEDGER, first=9)
    no_ledger: bool = ask("data", default=False, title=_LEDGER)
    request: str | None = ask("data", title=_LEDGER)
    other_people: list[str] | None = ask("data", metavar="NAME", title=_LEDGER)
    total: str | None = ask("budget", flag="--budget", title=_LEDGER)
    budget_delta: str | None = ask("budget", title=_LEDGER)


@final
@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Where a release goes, and what is done before it."""

    output: str | None = ask(
        "data", flag="--output -o", like="published.csv", title=_OUTPUT, first=10, metavar="OUT.csv"
    )
    dry_run: bool = ask("", default=False, title=_OUTPUT, first=11)
    report: str | None = ask("", title=_OUTPUT)
    signed_by: str | None = ask("", title=_OUTPUT, metavar="FILE")
    attack: bool = ask("", default=False, title=_OUTPUT)
    no_check: bool = ask("", default=False, title=_OUTPUT)
    force: bool = ask("", default=False, title=_OUTPUT, first=12)
    as_json: bool = ask("", default=False, flag="--json", title=_OUTPUT, first=13)


@final
@dataclass(frozen=True, kw_only=True)
class Training:
    """What `fugu train` is told of the model, its rows and its budget."""

    target: str = ask("training", default="", title=_MODEL, first=1)
    features: str | None = ask("training", title=_MODEL, first=2)
    model: str | None = ask("training", words=("linear", "logistic", "svc"), title=_MODEL)
    prior: str = ask(
        "training", default="", words=("independent", "markov", "groups", "group"), title=_BELIEFS, first=3
    )
    order: str | None = ask("training", title=_BELIEFS)
    by: str | None = ask("training", title=_BELIEFS)
    state: str | None = ask("training", title=_BELIEFS)
    smoothing: float = ask("training", default=0.0, title=_BELIEFS)
    start: str = ask("training", default="fitted", words=("fitted", "any", "stationary"), title=_BELIEFS)
    bounds: list[str] | None = ask("training", title=_MODEL, first=4)
    max_norm: float | None = ask("training", title=_MODEL)
    classes: str | None = ask("training", title=_MODEL)
    private: str = ask("training", default="both", words=("both", "features", "target"), title=_BELIEFS)
    public_table: bool = ask("training", default=False, title=_TABLES)
    rehearse: bool = ask("training", default=False, title=_OUTPUT, first=11)
    folds: int | None = ask("training", title=_OUTPUT)
    output: str | None = ask("training", flag="--output -o", title=_OUTPUT, first=10)


@final
@dataclass(frozen=True, kw_only=True)
class Sharing:
    """What `fugu property` is told: statistics, the property that they hide, and how noise is looked for."""

    statistics: list[str] | None = ask("property", first=2)
    hide: str = ask("property", default="", first=1)
    size: int = ask("property", default=0, first=3)
    tolerance: str = ask("property", default="0.1", first=4)
    values: str | None = ask("property")
    bounds: list[str] | None = ask("property", first=5)
    replacement: bool = ask("property", default=True, flag="--replacement/--no-replacement")
    law_error: str = ask("property", default="0")
    missing: str = ask("property", default="error")
    method: str = ask("property", default="best", reads=own_method)
    declared_exact: bool = ask("property", default=False)
    floor: float | None = ask("property")
    no_attack: bool = ask("property", default=False)
    sweep: bool = ask("property", default=False)
    draws: int = ask("property", default=100_000)


FORMS = (Booking, Delivery, Training, Sharing)


# The files, read and written.


Values = Mapping[str, Any]
SCHEMA, LAWS, DISTRIBUTIONS = "schema", "laws", "distributions"
_BY_HAND = (LAWS, DISTRIBUTIONS)
_APART = (SCHEMA, SIGN_OFF, *_BY_HAND)
"""Sections that are read elsewhere, by `Schema.load`, `SignOff.load` and `scenario_by_hand`."""
Form = TypeVar("Form")
RELEASED = frozenset(name for form in (Question, Booking, Delivery) for name in facts(form)) - {"error"}
"""What `fugu release` has an option for."""


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
            why = f"is not TOML: {str(error).splitlines()[0][:100]}; fugu init writes a file to start from"
            table = place.suffix.lower() in (".csv", ".tsv", ".parquet", ".gz", ".xlsx")
            why = "is a table, and a scenario file is expected, the plan" if table else why
            raise UsageError(f"{place.name!r} {why}") from None
        for section, values in found.items():
            if section not in (*keys(), *_APART):
                homes = [name for name, own in keys().items() if section in own and name not in _ALONE.values()]
                if homes and not isinstance(values, dict):
                    home = f"put it under [{homes[0]}]"
                    raise UsageError(f"{section!r} of {place.name!r} stands outside a section; {home}")
                raise UnknownName(f"section of {place.name!r} called", section, (*keys(), *_APART))
            if section in _BY_HAND:
                from fugu.scenario.by_hand import scenario_by_hand

                scenario_by_hand(values if section == LAWS else {section: values})  # checked now
                continue
            if not isinstance(values, dict):
                raise UsageError(f"[{section}] of {place.name!r} must be a section with keys")
            for key in values if section not in _APART else ():
                if key not in keys()[section]:
                    homes = [name for name, own in keys().items() if key in own]
                    if homes:
                        raise UsageError(f"{key!r} of {place.name!r} belongs to [{homes[0]}], not to [{section}]")
                    raise UnknownName(f"key in [{section}] of {place.name!r} called", key, tuple(keys()[section]))
        if SCHEMA in found:
            from fugu.data.schema import Schema

            Schema.load(place)  # checked now
        if SIGN_OFF in found:
            from fugu.documents.sign_off import SignOff

            SignOff.load(place)
        return ScenarioFile(place, found)

    def options(self, command: str, known: Collection[str]) -> dict[str, Any]:
        """The values by name of the option, for a command with the options `known`.

        UsageError for a key of this command's own sections that it has no option for: nothing is ignored in silence
        that changes what a release is."""
        own, taken = _ALONE.get(command), {}
        asks = {"publish", "query"} & set(self.sections.get("question", {}))  # then [property] is for fugu property
        wanted = [name for name in keys() if name not in _ALONE.values() or (name == PROPERTY and not asks)]
        for section in ("data", "budget", own) if own else wanted:
            for key, value in self.sections.get(section, {}).items():
                name = keys()[section][key][0]
                if section == "data" and key == "output" and command != "release":
                    continue
                if name in known:
                    taken[name] = self._value(section, key, value)
                elif section == own or (command == "release" and key != "error"):
                    where = f"{key!r} in [{section}] of {self.path.name!r}"
                    raise UsageError(f"{where}: fugu {command} has no --{key} here")
        if SCHEMA in self.sections and SCHEMA in known:
            taken[SCHEMA] = str(self.path)
        stated = [name for name in _BY_HAND if name in self.sections and LAWS in known]
        if len(stated) > 1:
            raise UsageError(f"{self.path.name!r} has [laws] and [distributions]: two ways to say the same; keep one")
        if stated:
            laws = self.sections[stated[0]]
            taken[LAWS] = as_text(LAWS, laws if stated == [LAWS] else {DISTRIBUTIONS: laws})
        if SIGN_OFF in self.sections and "signed_by" in known:
            taken["signed_by"] = str(self.path)
        return taken

    def _value(self, section: str, key: str, value: object) -> object:
        """A value as the text that its option takes; a truth value as it is."""
        try:
            found = value if isinstance(value, bool) else as_text(key, value)
        except UsageError as error:
            raise UsageError(f"{key!r} in [{section}] of {self.path.name!r}: {error}") from None
        if key in _PATHS and isinstance(found, str) and found != STREAM and "://" not in found:
            return os.path.join(self.path.parent, found) if self.path.parent != Path() else found
        return found


def filled(form: type[Form], values: Mapping[str, Any]) -> Form:
    """A form of what a file says, each text read as the command line reads it."""
    kinds, given = get_type_hints(form), {}
    for name in set(values) & set(kinds):
        value, kind = values[name], str(kinds[name])
        number = int if "int" in kind else float if "float" in kind else None
        try:
            given[name] = [value] if "list" in kind else value if number is None else number(value)
        except ValueError:
            raise UsageError(f"{name} must be a number, got {brief(value, 40)}") from None
    return form(**given)


def load_question(path: str | os.PathLike[str]) -> Question:
    """The question of a scenario file."""
    return filled(Question, ScenarioFile.load(path).options("release", RELEASED))


def save_question(question: Question, path: str | os.PathLike[str], total: str | None = None) -> None:
    """Write a scenario file of a question; `total`: the epsilon of all requests."""
    write_text(path, question_text(question, Path(path).parent, total))


def question_text(question: Question, folder: Path = Path(), total: str | None = None) -> str:
    """The scenario file of a question, for a `folder` that its paths are relative to."""
    from fugu.data.schema import Schema, schema_text, value_text

    chosen: dict[str, dict[str, Any]] = {}
    for name, said in facts(Question).items():
        if not question.given(name) or name in (SCHEMA, LAWS):
            continue
        if not said.section:
            raise UsageError(f"{name} has no place in a scenario file; give it where the question is asked")
        value = getattr(question, name)
        if name in _PATHS and value != STREAM and not os.path.isabs(value):
            value = os.path.relpath(value, folder)
        chosen.setdefault(said.section, {})[said.key or name] = json.loads(value) if name == "chain" else value
    if total is not None:
        chosen.setdefault("budget", {})["total"] = total
    declared = "" if question.schema is None else schema_text(Schema.load(question.schema).to_json())
    if question.laws is not None:
        stated = json.loads(question.laws)
        head, parts = ("[[laws]]", stated) if isinstance(stated, list) else ("[laws]", [stated])
        if tuple(stated) == (DISTRIBUTIONS,):
            head, parts = f"[{DISTRIBUTIONS}]", [stated[DISTRIBUTIONS]]
        lines = (["", head, *(f"{value_text({name: law})[1:-1]}" for name, law in part.items())] for part in parts)
        declared = "\n".join(line for part in lines for line in part) + f"\n\n{declared}"
    return scenario_text(_HEAD, chosen, {}, declared, examples=False)


_HEAD = "What fugu is asked, in one file, for fugu release --scenario THIS and every other command."


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
