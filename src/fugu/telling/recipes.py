"""Whether a certificate is for the question that a recipe states, as far as it says for which."""

from __future__ import annotations

from fractions import Fraction

from fugu.data.layout import Layout
from fugu.data.statistics import kind_and_inside
from fugu.documents.disclosure import UNPROTECTED
from fugu.documents.document import canonical_json
from fugu.numbers.exact import read_number, read_whole
from fugu.queries.record_checks import answers_recipe
from fugu.visible import Json


def answers(recipe: Json, group: str, body: Json) -> bool:
    """Whether a certificate is for the question of a recipe, as far as it says for which."""
    about, what = body.get("statistic") or {}, recipe["what"]
    if what == "statistic":
        same = (about["query"], about["group"], about["by"]) == (recipe["query"], group, recipe["by"])
        named = recipe["unit"] is None or recipe["unit"] in body["reading"]["columns"]
        return same and named and recipe["groups"][group] == about["rows"] and _clips(recipe, about)
    if what == "column":
        return canonical_json({"what": "column", **(body["recipe"] or {})}) == canonical_json(recipe)
    if what == "records":
        return answers_recipe(recipe, body)
    if what == "property":
        return _of_whole(recipe, body["property"], body["method"])
    part = {"sequence": "query", "training": "model"}[what]
    of = {"sequence": ("by", "order", "state"), "training": ("target",)}[what]
    columns = {recipe[name] for name in of if recipe[name] is not None} | set(recipe.get("features", ()))
    same = bool(recipe[part] == body[part]) and columns <= set(body["reading"]["columns"])
    return same and (what != "sequence" or _laid_out(recipe["schema"], body["reading"]))


def _laid_out(schema: Json | None, reading: Json) -> bool:
    """Whether rows became entries as the recipe says."""
    said = Layout.from_json((schema or {}).get("sequence", {}))
    return said.agrees(Layout.from_json(reading.get("sequence", {})))


def _clips(recipe: Json, about: Json) -> bool:
    """Whether the bounds and the step of a recipe are those by which the certificate says that values are summed."""
    if recipe["step"] is None:
        return "step" not in about
    low, step, steps = (read_number(about[part]) for part in ("low", "step", "steps"))
    return [low, low + step * steps, step] == [read_number(part) for part in (*recipe["bounds"], recipe["step"])]


def _of_whole(recipe: Json, stated: Json, method: str) -> bool:
    """Whether a certificate about a property is for these statistics, this size and these bounds."""
    n = read_whole(recipe["size"])
    ends: list[list[Fraction]] = []
    for text in recipe["statistics"]:
        kind, inside = kind_and_inside(text, ("mean", "sum", "count"), "statistic", "")
        pair = [read_number(x) for x in recipe["bounds"][inside]] if kind != "count" else [Fraction(0), Fraction(n)]
        ends.append([n * x for x in pair] if kind == "sum" else pair)
    limits = [None if pair is None else [read_number(x) for x in pair] for pair in stated["limits"]]
    named = recipe["shares"]
    counted = named is None or len(named) == len(stated["shares"])
    return bool(
        (recipe["hide"].replace(" ", ""), n) == (stated["name"].replace(" ", ""), read_whole(stated["size"]))
        and list(recipe["statistics"]) == list(stated["statistics"])
        and read_number(recipe["tolerance"]) == read_number(stated["tolerance"])
        and limits == ends
        and counted
        and recipe["method"] in ("best", method)
    )


def left_out(body: Json) -> str | None:
    """The skipped secrets that a certificate names, in one text; None if its kind names none."""
    if "pufferfish" in body:
        return ", ".join(body["pufferfish"]["skipped"])
    if body["kind"] == "records":
        return ", ".join(body["skipped"])
    if body.get("statistic") is None:
        return None
    lines = [line.removeprefix(UNPROTECTED) for line in body["assumptions"] if line.startswith(UNPROTECTED)]
    return "".join(lines)
