"""`fugu init`: a scenario file to start from, of a reference with a reason for every choice, or of a certificate."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.auditing.beside import find
from fugu.cli.asking import asks
from fugu.cli.console import print_json, progress, say
from fugu.data import Schema
from fugu.data.field import Field
from fugu.data.moments import days_text, is_moment
from fugu.data.schema import all_dates, schema_text, value_text
from fugu.data.secrets import read_protect
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.release import ReleaseDocument
from fugu.errors import BadTable, ColumnNotFound, UsageError
from fugu.files import check_apart, write_text
from fugu.numbers.exact import read_number
from fugu.queries.statistic import StatisticQuestion
from fugu.question import LAW, RECORDS, Question, defaults, facts
from fugu.releasing import options
from fugu.releasing.scenario_file import ScenarioFile, keys, scenario_text


@asks(argument="table")
def init(
    table: str | None = None, certificate: str | None = None, output: str = "scenario.toml", publish: str | None = None,
    protect: str | None = None, epsilon: str = "0.5", private: str | None = None, force: bool = False,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Write a commented scenario.toml from TABLE, a reference. Never give a private one: the file tells of it."""
    if (table is None) == (certificate is None):
        raise UsageError("give TABLE, a reference to start from, or --from CERT to write its scenario; one of the two")
    options.ending("a scenario", output, ".toml")
    options.fresh(check_apart(output, table, certificate, private), force)
    folder = Path(output).parent
    with progress():
        if certificate is not None:
            if publish is not None or protect is not None or private is not None:
                raise UsageError("--from takes all from the certificate; leave out --publish, --protect and --table")
            text = written_back(certificate)
        else:
            assert table is not None
            options.positive("epsilon", epsilon)
            named = None if private is None else _beside(private, folder)
            text = started(table, _beside(table, folder), publish, protect, epsilon, named)
    write_text(output, text)
    ScenarioFile.load(output)
    if as_json:
        print_json({"scenario": output, "from": certificate or table})
        return
    say(f"wrote {output}")
    if table is not None:
        say(
            f"it describes {Path(table).name!r} as the reference: whoever reads it learns its columns, categories and "
            "ranges. No private table was opened; read the comments, then try: "
            f"fugu compare --scenario {output}"
        )


def _beside(path: str, folder: Path) -> str:
    """A path as a file in that folder names it."""
    return path if os.path.isabs(path) or folder == Path() else os.path.relpath(path, folder)


_FEW = 12
"""Values that a column may have to be suggested as a secret."""
_LISTED = 40
"""Categories that are written into the file; more are left to the reference."""


@dataclass(frozen=True)
class Seen:
    """A column of the reference: its field, how many different values it has, whether none repeats, its range."""

    field: Field
    values: int
    repeats: bool
    low: float = math.nan
    high: float = math.nan


def started(path: str, shown: str, publish: str | None, protect: str | None, epsilon: str, private: str | None) -> str:
    """The text of a file for the reference at `path`, which it calls `shown`."""
    cells = Schema({}).open(path)
    if len(cells) == 0:
        raise BadTable("the reference has no rows, so there is nothing to start from")
    dates = [name for name in cells.columns if all_dates(cells.raw(name), frozenset(Schema({}).absent))]
    schema = Schema({name: Field.dates() for name in dates}).completed(cells)
    schema = Schema({name: schema.fields[name] for name in cells.columns})
    table = schema.read(cells)
    seen = {}
    for name, known in schema.fields.items():
        column = table.exact(name)
        codes, distinct = column.codes(ordered=False, strict=False)
        present, ends = int((codes >= 0).sum()), (math.nan, math.nan)
        if known.numeric and present:
            numbers = column.values[~column.missing]
            ends = (float(numbers.min()), float(numbers.max()))
        seen[name] = Seen(known, len(distinct), len(distinct) < present, *ends)
    if publish is not None and publish not in seen:
        raise ColumnNotFound(publish, tuple(seen))
    secret = None if protect is None else read_protect(protect, tuple(seen)).columns
    told, why = _suggested(seen, publish, protect, secret or ())
    data: dict[str, Any] = {"reference": shown, **({} if private is None else {"table": private})}
    chosen = {"data": data, **told, "budget": {"epsilon": _number(epsilon)}}
    head = (
        "What fugu is asked, in one file: fugu compare --scenario THIS, then fugu release --scenario THIS.\n"
        f"Written by fugu init from the reference {Path(path).name!r}; no private table was opened. Whoever reads this "
        "file learns the columns, categories and ranges of the reference.\n"
        "Options on the command line override it. Paths are relative to this file. Lines that begin with # do nothing."
    )
    if unit := told["question"].get("unit"):
        seen[unit] = Seen(Field("identifier"), seen[unit].values, repeats=False)
    return scenario_text(head, chosen, why, _schema_text(seen), examples=True)


def _suggested(
    seen: dict[str, Seen], publish: str | None, protect: str | None, secret: tuple[str, ...]
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """Question and secrets, and the reasons for what nobody named."""
    question: dict[str, Any] = {}
    why: dict[str, str] = {}
    numbers = [n for n, s in seen.items() if s.field.numeric and s.repeats and s.values > 1 and n not in secret]
    secrets = [
        n for n, s in seen.items()
        if not s.field.public and not s.field.dated and 2 <= s.values <= _FEW and n != publish
    ]  # fmt: skip
    names = [
        n for n, s in seen.items()
        if not s.repeats and not s.field.dated
        # text, or whole numbers: measurements that happen to differ do not name people
        and (not s.field.numeric or (s.low == math.floor(s.low) and s.high - s.low < 10 * s.values))
    ]  # fmt: skip
    more = [n for n in numbers if n not in secrets] or numbers
    if publish is not None:
        question["publish"] = publish
    elif more:
        question["publish"] = more[0]
        why["publish"] = f"Chosen because it is the first column of numbers; {_others(more)}"
    if protect is not None:
        told = protect
    else:
        found = sorted((n for n in secrets if n != question.get("publish")), key=lambda n: seen[n].values)
        told = found[0] if found else ""
        if found:
            why["protect"] = f"Chosen because it has the fewest values, {seen[told].values}; {_others(found)}"
    if names:
        question["unit"] = names[0]
        why["unit"] = "Chosen because no value of it repeats in the reference."
    return {"question": question, "secrets": {"protect": told} if told else {}}, why


def _others(names: list[str]) -> str:
    return "others would be " + ", ".join(names[1:7]) + "." if len(names) > 1 else "there is no other."


def _schema_text(seen: dict[str, Seen]) -> str:
    """[schema], column by column: what is certain as it is, what is a choice as a comment."""
    lines = ["", "[schema]", "# What the cells of each column mean; columns that are not used may be left out.", ""]
    for name, column in seen.items():
        known = column.field
        lines += [f"[schema.columns.{value_text(name)}]", f'kind = "{known.kind}"']
        if known.origin is not None:
            low, high = (days_text(known.origin, end) for end in (column.low, column.high))
            lines.append(f'origin = "{known.origin.isoformat()}"')
            ends = value_text([low, high])
            lines.append(f"# bounds = {ends}  # the reference's own; dates beyond go there")
        elif known.numeric and not math.isnan(column.low):
            lines.append(f"# bounds = [{column.low}, {column.high}]  # the reference's own; numbers beyond go there")
        elif known.values is not None and len(known.values) <= _LISTED:
            lines.append(f"values = {value_text(list(known.values))}")
        elif known.values is not None:
            lines.append(f"# {len(known.values)} categories, which are left to the reference")
        if known.numeric:
            lines.append("# missing = ...  # what a missing cell becomes; the reference's median if left out")
        lines.append("")
    return "\n".join(lines)


Said = dict[str, Any]
_DEFAULTS = {said.key or name: defaults(Question)[name] for name, said in facts(Question).items()}
_NUMBERS = ("bounds", "step", "confidence", "shift")
_CLIP, _ROUND = re.compile(r"clip\((.+), (.+)\)"), re.compile(r"round_to\((\S+?)(?: days)?\)")


def written_back(path: str) -> str:
    """The text of the scenario file that asks for the same again; UsageError where a recipe is withheld or unknown."""
    document = find(path).document
    recipe, certificate = _parts(document)
    released = isinstance(document, ReleaseDocument)
    what = recipe.get("what", "column")
    if what == RECORDS:
        recipe = _records(recipe)
    elif what not in ("column", "statistic", "sequence"):
        raise UsageError(f"a {what} is not asked by a scenario file of this kind; fugu train has options of its own")
    stated = (document if released else certificate)["budget"]
    budget = {k: _number(text) for k, text in stated.items() if k in ("epsilon", "delta", "alpha") and text != "0"}
    # of sequences: how the top ones are chosen and which noise, where that was said
    noise = {key: recipe[key] for key in ("method", "noise") if what == "sequence" and key in recipe}
    chosen: dict[str, Said] = {
        "data": {"name": document["data"]["name"]} if released else {},
        "question": _question(recipe),
        "secrets": _section(recipe, "secrets"),
        "beliefs": _section(recipe, "beliefs"),
        "budget": {"epsilon": _number(recipe["epsilon"])} if what == RECORDS else budget,
        "noise": _noise(certificate) if what == "column" else noise,
    }
    if isinstance(document, ReleaseDocument):
        beliefs = document["beliefs"]
        chosen["data"] |= {} if beliefs["name"] is None else {"reference": beliefs["name"]}
        chosen["beliefs"] |= {} if beliefs["sha256"] is None else {"public_reference": True}
        if any(map(_is_silent, (document.certificates or {}).values())):
            chosen["noise"] |= {"allow_no_noise": True}  # exact numbers went out, in some group
    chosen["question"] |= _after(certificate) if isinstance(certificate, Certificate) else {}
    schema = recipe.get("schema")
    head = (
        "The scenario of a certificate, written by fugu init --from: the same question, secrets, beliefs and budget.\n"
        "Noise and method are those that were found. The private table is not named in a certificate: name it."
    )
    return scenario_text(head, chosen, {}, "" if schema is None else schema_text(schema), examples=False)


def _parts(document: Document) -> tuple[Mapping[str, Any], Document]:
    """The recipe, and the first certificate: groups differ in their sizes only."""
    if isinstance(document, ReleaseDocument):
        bodies = document.certificates
        recipe = document["question"]["recipe"]
        if bodies is None or recipe is None:
            raise UsageError("the recipe of this release is withheld, or a function in code: it cannot be written down")
        return recipe, inner(next(iter(bodies.values())))
    recipe = document.body.get("recipe")
    if recipe is None:
        raise UsageError("this certificate was made for laws by hand, or a function in code: it has no recipe")
    return recipe, document


def _records(recipe: Mapping[str, Any]) -> Said:
    """Many questions as one list, with what is said of each column; UsageError where two say other things of one."""
    told: Said = {"query": [asked["query"] for asked in recipe["questions"]], "route": RECORDS}
    for asked in recipe["questions"]:
        for key in ("bounds", "step", "bins"):
            if asked[key] is None:
                continue
            known = told.setdefault(key, {})
            (column, *_) = StatisticQuestion.parse(asked["query"]).columns
            found = _number(asked[key])
            if known.setdefault(column, found) != found:
                raise UsageError(f"two questions read column {column!r} with other {key}, which no option can say")
    weights = recipe.get("weights")
    if weights is not None:
        told["weights"] = _number(weights)
    told |= {"cap": _number(recipe["cap"])} if "cap" in recipe else {}
    told |= {"allow_no_noise": recipe["allow_no_noise"]} if "allow_no_noise" in recipe else {}
    return {**told, **{key: recipe.get(key) for key in ("protect", "unit", "schema", "epsilon")}}


def _question(recipe: Mapping[str, Any]) -> Said:
    told = _section(recipe, "question")
    if recipe.get("what") == "statistic":
        told["route"] = LAW
    bins = told.get("bins")
    if isinstance(bins, list) and all(isinstance(x, str) and not isinstance(_number(x), str) for x in bins):
        raise UsageError("the bins are categories that look like numbers, which no option can say")
    if "asked" in recipe:  # sequences: the query as it was written
        told["query"] = recipe["asked"]
    if str(told.get("query", "")).startswith("count("):
        told.pop("bounds", None)
        told.pop("step", None)  # of a count both are 1
    return told


def _noise(certificate: Document) -> Said:
    """The noise by name: what `best` found."""
    body = certificate.body
    kind = body["noise"]["kind"]
    if kind == "channel":
        told = {"mechanism": "optimal", "loss": body["optimum"]["loss"]}
        cap = body["optimum"].get("cap")
        return told if cap is None else {**told, "cap": _number(cap)}
    if _is_silent(body):
        return {"allow_no_noise": True}
    told = {"noise": kind, "method": body["method"]}
    if body.get("lattice") and body["lattice"]["origin"] == "0":  # any other origin was found by "auto"
        told["grid"] = str(body["lattice"]["grid"])
    if body.get("remap"):
        told["remap"] = body["remap"]["loss"]
    return told


def _is_silent(body: Mapping[str, Any]) -> bool:
    stated = body.get("noise")
    return isinstance(stated, Mapping) and str(stated.get("scale")) == "0"


def _after(certificate: Certificate) -> Said:
    """Clipping and rounding, from the names in the certificate; other functions are not known by name."""
    told: Said = {}
    for step in certificate.body.get("post", []):
        if (found := _CLIP.fullmatch(step)) and not told:
            told["clip"] = [end if is_moment(end) else _number(end) for end in found.groups()]
        elif (found := _ROUND.fullmatch(step)) and "round" not in told:
            told["round"] = _number(found[1])
        else:
            raise UsageError("the certificate names post-processing that has no option; it cannot be written down")
    return told


def _section(recipe: Mapping[str, Any], section: str) -> Said:
    """What the recipe says of a section beyond what is usual."""
    said = {key: recipe.get(key) for key in keys()[section]}
    return {
        key: _number(value) if key in _NUMBERS else value for key, value in said.items()
        if value is not None and value != _DEFAULTS.get(key)
    }  # fmt: skip


def _number(text: Any) -> Any:
    """A text that is a number, as that number if a decimal says it exactly, also in a list; else what it is."""
    if isinstance(text, list):
        return [_number(item) for item in text]
    try:
        exact = read_number(text)
    except (UsageError, ValueError, TypeError):
        return text
    if exact.denominator == 1 and abs(exact) < 2**53:
        return int(exact)
    return float(exact) if read_number(repr(float(exact))) == exact else text
