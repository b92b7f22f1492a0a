"""The question behind a release, in words, from its recipe; whether a certificate is for that question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fugu.data.moments import is_moment
from fugu.documents.document import canonical_json
from fugu.errors import CertificateError
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

Recipe = Mapping[str, Any]
_FITTED: dict[str, object] = {"bins": None, "bounds": None, "step": None, "schema": None}
"""What a recipe may hold that was taken from the table which beliefs were fitted on."""


def without_fitted(recipe: Recipe) -> dict[str, Any]:
    """The recipe without edges, bounds and readings: for words about a table that is private."""
    return {key: _FITTED.get(key, value) for key, value in recipe.items()}


def question_words(recipe: Recipe) -> str:
    """One sentence that says what is published of what, and what is secret.

    >>> question_words({"what": "column", "publish": "chol", "protect": "smoker", "bins": None})
    "Publish column 'chol', row by row. Secret: 'smoker' of each row."
    """
    found = _WORDS.get(recipe["what"])
    if found is None:
        raise CertificateError("the question is of a form that this version of fugu does not know")
    return found(recipe)


def _column(recipe: Recipe) -> str:
    bins = recipe.get("bins")
    coarse = ""
    if bins is not None and all(isinstance(edge, int | float) for edge in bins):
        coarse = f", each number as the middle of one of {len(bins) - 1} bins from {bins[0]:g} to {bins[-1]:g}"
    elif bins is not None and all(map(is_moment, bins)):
        coarse = f", each date as the middle of one of {len(bins) - 1} bins from {bins[0]} to {bins[-1]}"
    elif bins is not None:
        coarse = ", categories as their place in the order " + ", ".join(map(repr, bins))
    return f"Publish column {recipe['publish']!r}, row by row{coarse}. Secret: {_protected(recipe)} of each row."


def _statistic(recipe: Recipe) -> str:
    by = "" if recipe["by"] is None else f" for each {recipe['by']!r} ({len(recipe['groups'])} groups)"
    clipped = ""
    if recipe["bounds"] is not None and not recipe["query"].startswith("count("):
        low, high = (float(read_number(x)) for x in recipe["bounds"])
        step = float(read_number(recipe["step"]))
        clipped = f", values clipped to {low:g} .. {high:g} and rounded to steps of {step:g}"
    elif recipe["bins"] is not None:
        clipped = f", in {len(recipe['bins']) - 1} bins from {recipe['bins'][0]:g} to {recipe['bins'][-1]:g}"
    rows = sum(recipe["groups"].values())
    return f"Publish {recipe['query']} of {rows} records{by}{clipped}. Secret: {_protected(recipe)} of each record."


def _sequence(recipe: Recipe) -> str:
    """Without a user there is one sequence, or one for each row of a wide table; without times, rows are in order."""
    wide = "columns" in ((recipe["schema"] or {}).get("sequence") or {})
    each = (
        f"one for each {recipe['by']!r}" if recipe["by"] is not None else "one for each row" if wide else "one in all"
    )
    order = f"the order of {recipe['order']!r}" if recipe["order"] is not None else "the order of the file"
    return (
        f"Publish {recipe['query']} of the sequences of {recipe['state']!r}, {each}, in {order}. "
        f"Secret: {recipe['state']!r} of each entry."
    )


def _training(recipe: Recipe) -> str:
    features = ", ".join(map(repr, recipe["features"]))
    return (
        f"Publish a {recipe['model']} that predicts {recipe['target']!r} from {features}. Secret: {recipe['secret']}."
    )


def _records(recipe: Recipe) -> str:
    asked = [str(found["query"]) for found in recipe["questions"]]
    between = "; " if recipe.get("grammar", 1) > 1 else ", "
    return f"Publish {between.join(asked)} of {recipe['rows']} records. Secret: {_protected(recipe)} of each record."


def _property(recipe: Recipe) -> str:
    asked, near = ", ".join(recipe["statistics"]), float(read_number(recipe["tolerance"]))
    ends = {name: [f"{float(read_number(x)):g}" for x in pair] for name, pair in recipe["bounds"].items()}
    clipped = "".join(f", {name!r} clipped to {low} .. {high}" for name, (low, high) in ends.items())
    which = (
        "shares that differ by" if recipe["shares"] is None else f"{len(recipe['shares'])} named shares that differ by"
    )
    return (
        f"Publish {asked} of {recipe['size']} records together{clipped}. Secret: which share of the records has "
        f"{recipe['hide']!r}; {which} at most {near:g} look alike."
    )


_FORMS: tuple[Callable[[Recipe], str], ...] = (_column, _statistic, _sequence, _training, _records, _property)
_WORDS = {form.__name__.removeprefix("_"): form for form in _FORMS}
"""Each form of a question by its name in a recipe."""


def _protected(recipe: Recipe) -> str:
    protect = recipe["protect"]
    if isinstance(protect, str):
        return repr(protect)
    if isinstance(protect, Sequence):
        return ", ".join(map(repr, protect)) + " together"
    return "whether " + " or ".join(map(repr, protect))


def answers(body: Json, recipe: Json, group: str) -> bool:
    """Whether a statistic, a column or a property is what the recipe asks for."""
    about, what = body.get("statistic") or {}, recipe["what"]
    if what == "statistic":
        same = (about["query"], about["group"], about["by"]) == (recipe["query"], group, recipe["by"])
        named = recipe["unit"] is None or recipe["unit"] in body["reading"]["columns"]
        return same and named and recipe["groups"][group] == about["rows"] and _clips(recipe, about)
    if what == "column":
        return canonical_json({"what": "column", **(body["recipe"] or {})}) == canonical_json(recipe)
    return what == "property" and _of_whole(recipe, body["property"], body["method"])


def _clips(recipe: Json, about: Json) -> bool:
    """Whether the bounds and the step of a recipe are those by which the certificate says that values are summed."""
    if recipe["step"] is None:
        return "step" not in about
    low, step, steps = (read_number(about[part]) for part in ("low", "step", "steps"))
    return [low, low + step * steps, step] == [read_number(part) for part in (*recipe["bounds"], recipe["step"])]


def _of_whole(recipe: Json, stated: Json, method: str) -> bool:
    """Whether a certificate about a property is for these statistics, this size and these bounds."""
    from fugu.data.secrets import kind_and_inside

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
