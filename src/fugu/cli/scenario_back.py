"""The scenario of a certificate or of a release: the recipe in it is the same document as a scenario file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fugu.auditing.outside.found import find
from fugu.cli.scenario_text import scenario_text
from fugu.data.moments import is_moment
from fugu.data.toml import schema_text
from fugu.documents.certificate import Certificate
from fugu.documents.document import Document
from fugu.documents.release import ReleaseDocument
from fugu.errors import UsageError
from fugu.numbers.exact import read_number
from fugu.queries.statistic import Question
from fugu.verifier.kinds.release import inner

Said = dict[str, Any]
_QUESTION = ("publish", "query", "weights", "route", "by", "bounds", "step", "bins", "missing", "unit", "order",
             "state", "start", "smoothing", "length", "other")  # fmt: skip
_BELIEFS = ("prior", "components", "confidence", "shift", "public_prior")
_DEFAULTS: Said = {"pairs": "all", "missing": "error", "prior": "empirical", "public_prior": False}
_NUMBERS = ("bounds", "step", "confidence", "shift")
_CLIP, _ROUND = re.compile(r"clip\((.+), (.+)\)"), re.compile(r"round_to\((\S+?)(?: days)?\)")


def written_back(path: str) -> str:
    """The text of the scenario file that asks for the same again; UsageError where a recipe is withheld or unknown."""
    document = find(path).document
    recipe, certificate = _parts(document)
    what = recipe.get("what", "column")
    if what == "records":
        recipe = _records(recipe)
    elif what not in ("column", "statistic", "sequence"):
        raise UsageError(f"a {what} is not asked by a scenario file of this kind; fugu train has options of its own")
    chosen = {
        "data": _data(document),
        "question": _question(recipe),
        "secrets": {key: recipe[key] for key in ("protect", "pairs") if _said(recipe, key)},
        "beliefs": {key: _plain(key, recipe[key]) for key in _BELIEFS if _said(recipe, key)},
        "budget": {"epsilon": _number(recipe["epsilon"])} if what == "records" else _budget(document, certificate),
        "noise": (_noise(certificate) if what == "column" else _chosen(recipe)) | _silent(document),
    }
    if isinstance(document, ReleaseDocument) and document["beliefs"]["sha256"] is not None:
        chosen["beliefs"] |= {"public_reference": True}
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
    told: Said = {"query": [asked["query"] for asked in recipe["questions"]], "route": "records"}
    for asked in recipe["questions"]:
        for key in ("bounds", "step", "bins"):
            if asked[key] is None:
                continue
            known = told.setdefault(key, {})
            (column, *_) = Question.parse(asked["query"]).columns
            found = [_number(x) for x in asked[key]] if isinstance(asked[key], list) else _number(asked[key])
            if known.setdefault(column, found) != found:
                raise UsageError(f"two questions read column {column!r} with other {key}, which no option can say")
    weights = recipe.get("weights")
    if weights is not None:
        told["weights"] = weights if isinstance(weights, str) else [_number(weight) for weight in weights]
    if "cap" in recipe:
        told["cap"] = _number(recipe["cap"])
    if "allow_no_noise" in recipe:
        told["allow_no_noise"] = recipe["allow_no_noise"]
    return {**told, **{key: recipe.get(key) for key in ("protect", "unit", "schema", "epsilon")}}


def _data(document: Document) -> Said:
    if not isinstance(document, ReleaseDocument):
        return {}
    told: Said = {"name": document["data"]["name"]}
    if document["beliefs"]["name"] is not None:
        told["reference"] = document["beliefs"]["name"]
    return told


def _question(recipe: Mapping[str, Any]) -> Said:
    told = {key: _plain(key, recipe[key]) for key in _QUESTION if _said(recipe, key)}
    if recipe.get("what") == "statistic":
        told["route"] = "law"
    bins = told.get("bins")
    if isinstance(bins, list) and all(isinstance(x, str) and not isinstance(_number(x), str) for x in bins):
        raise UsageError("the bins are categories that look like numbers, which no option can say")
    if "asked" in recipe:  # sequences: the query as it was written
        told["query"] = recipe["asked"]
    if str(told.get("query", "")).startswith("count("):
        told.pop("bounds", None)
        told.pop("step", None)  # of a count both are 1
    return told


def _budget(document: Document, certificate: Document) -> Said:
    stated = (document if isinstance(document, ReleaseDocument) else certificate)["budget"]
    return {key: _number(text) for key, text in stated.items() if key in ("epsilon", "delta", "alpha") and text != "0"}


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


def _chosen(recipe: Mapping[str, Any]) -> Said:
    """Of sequences: how the top ones are chosen and which noise, where that was said."""
    return {key: recipe[key] for key in ("method", "noise") if recipe.get("what") == "sequence" and key in recipe}


def _silent(document: Document) -> Said:
    """That exact numbers may go out, if they did: of a release, in any of its groups."""
    bodies = (document.certificates or {}).values() if isinstance(document, ReleaseDocument) else ()
    return {"allow_no_noise": True} if any(map(_is_silent, bodies)) else {}


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


def _said(recipe: Mapping[str, Any], key: str) -> bool:
    found = recipe.get(key)
    return found is not None and found != _DEFAULTS.get(key)


def _plain(key: str, value: Any) -> Any:
    """Numbers that documents write as exact texts, as numbers where a decimal is exact."""
    if key not in _NUMBERS or isinstance(value, Mapping):
        return value
    return [_number(item) for item in value] if isinstance(value, list) else _number(value)


def _number(text: Any) -> Any:
    """A text that is a number, as that number if a decimal says it exactly; else the text."""
    try:
        exact = read_number(text)
    except (UsageError, ValueError, TypeError):
        return text
    if exact.denominator == 1 and abs(exact) < 2**53:
        return int(exact)
    return float(exact) if read_number(repr(float(exact))) == exact else text
