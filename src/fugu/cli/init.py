"""`fugu init`: a scenario file to start from, of a reference with a reason for every choice, or of a certificate."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fugu.auditing.beside import find
from fugu.cli.asking import asks
from fugu.cli.console import print_json, progress, say
from fugu.cli.dialogue import ASKED, USUAL_EPSILON, Answers, Given, answered, odds, table_asked
from fugu.data.field import Field
from fugu.data.moments import is_moment
from fugu.data.schema import schema_text, value_text
from fugu.data.uses import Description, suggested
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.kinds import inner
from fugu.documents.release import ReleaseDocument
from fugu.errors import UsageError
from fugu.files import check_apart, write_text
from fugu.numbers.exact import read_number
from fugu.queries.statistic import StatisticQuestion
from fugu.question import LAW, RECORDS, Question, defaults, facts
from fugu.releasing import options
from fugu.releasing.complete import statistics_of
from fugu.releasing.scenario_file import ScenarioFile, keys, scenario_text


@asks(argument="table")
def init(
    table: str | None = None, certificate: str | None = None, output: str = "scenario.toml", publish: str | None = None,
    query: str | None = None, by: str | None = None, protect: str | None = None, unit: str | None = None,
    epsilon: str | None = None, private: str | None = None, force: bool = False, as_json: bool = False,
) -> None:  # fmt: skip
    """Write a commented scenario.toml from TABLE, a reference; on a terminal it asks for what is not given."""
    if publish is not None and query is not None:
        raise UsageError("a column row by row (--publish) and statistics (--query) exclude each other; give one")
    told = {"publish": query if publish is None else publish, "by": by, "protect": protect, "unit": unit,
            "epsilon": epsilon, "private": private}  # fmt: skip
    given = {name: text for name, text in told.items() if text is not None}
    people = certificate is None and not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    if (table is None) == (certificate is None) and not (people and table is None):
        raise UsageError("give TABLE, a reference to start from, or --from CERT to write its scenario; one of the two")
    options.ending("a scenario", output, ".toml")
    options.fresh(check_apart(output, table, certificate, private), force)
    folder = Path(output).parent
    if certificate is not None:
        if given:
            raise UsageError("--from takes all from the certificate; leave out the other options")
        with progress():
            text = written_back(certificate)
    else:
        table = table_asked() if table is None else table
        with progress():
            answers = Answers.about(table)
            for name, said in given.items():
                answers.read(name, said, given)
        if people and not set(given) >= set(ASKED) - {"by"}:
            given = answered(answers, given)
        check_apart(output, given.get("private") or None)
        text = started(answers, given, folder)
    write_text(output, text)
    question = ScenarioFile.load(output).sections["question"]
    if as_json:
        print_json({"scenario": output, "from": certificate or table})
        return
    say(f"wrote {output}")
    if table is not None:
        next_step = "release --dry-run" if "query" in question else "compare"
        say(
            f"it describes {Path(table).name!r} as the reference: whoever reads it learns its columns, categories and "
            "ranges. No private table was opened; read the comments, then try: "
            f"fugu {next_step} --scenario {output}"
        )


def _beside(path: str, folder: Path) -> str:
    """A path as a file in that folder names it."""
    return path if os.path.isabs(path) or folder == Path() else os.path.relpath(path, folder)


_LISTED = 40
"""Categories that are written into the file; more are left to the reference."""


def started(answers: Answers, given: Given, folder: Path) -> str:
    """The text of a file in that folder for a reference, with what is `given`, and a choice for the rest."""
    seen, why = answers.seen, dict[str, str]()
    secret = answers.secret(given["protect"]) if "protect" in given else tuple(suggested(seen)["protect"][:1])
    published = given.get("publish") or statistics_of(seen, secret)
    usual = suggested(seen, published, secret)

    def choice(name: str, reason: str) -> dict[str, str]:
        """What is given, else what is suggested, with the reason."""
        if name not in given and usual[name]:
            others = ", ".join(usual[name][1:7])
            why[name] = f"Chosen because {reason}; {f'others would be {others}' if others else 'there is no other'}."
        text = given[name] if name in given else next(iter(usual[name]), "")
        return {name: text} if text else {}

    if published in answers.cells.columns:
        question = {"publish": published}
    else:
        question = {"query": published} | ({"by": given["by"]} if given.get("by") else {})
        if "publish" not in given:
            column = value_text(next(iter(usual["publish"]), "COLUMN"))
            why["query"] = (
                f"Chosen to begin with: few numbers about many rows, with little noise. publish = {column} instead is "
                "a column row by row: each row has noise of its own, and nothing else of the table can go out after it."
            )
    values = seen[usual["protect"][0]].values if usual["protect"] else 0
    question |= choice("unit", "no value of it repeats in the reference")
    epsilon = given.get("epsilon", USUAL_EPSILON)
    private = {"table": _beside(given["private"], folder)} if given.get("private") else {}
    chosen: dict[str, Said] = {
        "data": {"reference": _beside(answers.path, folder), **private}, "question": question,
        "secrets": choice("protect", f"it has the fewest values, {values}"), "budget": {"epsilon": _number(epsilon)},
    }  # fmt: skip
    why["epsilon"] = odds(epsilon)
    head = (
        "What fugu is asked, in one file: fugu compare --scenario THIS, then fugu release --scenario THIS.\n"
        f"Written by fugu init from the reference {Path(answers.path).name!r}; no private table was opened. Whoever "
        "reads this file learns the columns, categories and ranges of the reference.\n"
        "Options on the command line override it. Paths are relative to this file. Lines that begin with # do nothing."
    )
    return scenario_text(head, chosen, why, _schema_text(seen, question.get("unit")), examples=True)


def _schema_text(seen: Description, unit: str | None) -> str:
    """[schema], column by column: what is certain as it is, what is a choice as a comment."""
    lines = ["", "[schema]", "# What the cells of each column mean; columns that are not used may be left out."]
    if (mark := seen.schema.decimal) != ".":
        lines.append(f"decimal = {value_text(mark)}  # numbers are written so, in the private table too")
    lines.append("")
    for column in seen.rows:
        known = Field("identifier") if column.column == unit else column.field
        if known is None:
            continue
        lines += [f"[schema.columns.{value_text(column.column)}]", f'kind = "{known.kind}"']
        if known.origin is not None:
            lines.append(f'origin = "{known.origin.isoformat()}"')
            ends = value_text([column.low, column.high])
            lines.append(f"# bounds = {ends}  # the reference's own; dates beyond go there")
        elif known.numeric and column.low:
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
        **({"sequence": {"chain": recipe["chain"]}} if "chain" in recipe else {}),
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
