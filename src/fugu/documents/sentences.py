"""The sentences that certificates are made of, of this version and of versions before, and the words that every kind
has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fugu.data.moments import is_moment
from fugu.documents.document import Document, canonical_json
from fugu.errors import CertificateError
from fugu.numbers.exact import read_number, read_whole
from fugu.visible import Json

# A line of a certificate is either one of these, and follows from its parts, or it is the publisher's own words.


ONE_RELEASE = "one release of this data; Pufferfish guarantees do not add up by themselves"
NO_NOISE = "no noise is added: the guarantee rests on the beliefs alone"
GAUSSIAN_MODEL = "Gaussian model: given each secret the published vector is normal, with the mean and covariance stated"
EXACTLY_NORMAL = (
    "the laws are declared exactly normal: noise of deficient rank hides nothing of a statistic that is not"
)
TRANSLATES = "the laws are declared exact translates: noise along their differences hides nothing beside them"
ANALYSIS_ONLY = "analysis only: the noise is a real number of unlimited precision, which no computer draws"
DRAWN_INSIDE = (
    "the size of the noise comes from draws of such records, made once inside the release by the operating system's "
    "randomness; they mislead with probability at most beta, which is a part of delta"
)
EXACT_LAWS = "the published value follows, given each secret, exactly the law stated here"
INDEPENDENT_ROWS = "if a column is released: rows are independent given their own secret"
INDEPENDENT = "rows are independent given their own secret"
INDEPENDENT_RECORDS = (
    "records are independent; given its own secret, a record follows the reference's law for that secret"
)
ENOUGH = (
    INDEPENDENT_ROWS, INDEPENDENT, "users are independent of each other",
    "one value is published, computed from all records together",
    "the value is published once, computed from all records together",
)  # fmt: skip
"""How a certificate about one value says what is independent, or that one value goes out in all: one of them."""
SIZES = "groups and their numbers of rows are public"
BY_HAND = "beliefs: the law of the published value given each secret, as stated"
COORDINATES = "every coordinate gets independent noise of the same scale; put coordinates into comparable units first"
SETS = (
    "beliefs are sets of laws on declared values: the guarantee is for every law in the set of the one secret, and "
    "every law in the set of the other, chosen independently"
)
CELLS = (
    "every cell's count gets independent noise of the same scale. The laws are of the cell of one record given its "
    "secret; the other records are independent of it and its secret, and may be known; how many there are is public"
)
OF_SHAPES = {"sets": SETS, "cells": CELLS, "space": COORDINATES}
"""What is said of laws of a shape, where noise of one scale is added to each number."""
UNSEEN = "a value that no stated law has is published as one that some law has: it has no row of its own"
FITTED = "the channel is fitted to the stated laws: nothing is promised for others"
WEIGHT = {
    "mean": "the expected error is a mean under the average of the stated laws",
    "worst": "the expected error is the largest under any of the stated laws",
    "stated": "the expected error is a mean under a stated law of the values",
}
CONVEXITY = "convexity: a coin that is independent of the data keeps the weaker of the two guarantees"
APART = (
    "the reference is not the table to be released, shares no row with it and was drawn independently of it: this is "
    "the publisher's word, and nothing in the certificate shows it"
)
"""What is said of every reference: always in the publisher's own words."""
UNSEEN_BY_HAND = (
    "the laws were stated by hand, and nothing of the private table was looked at for them: this is the publisher's "
    "word, and nothing in the certificate shows it"
)
"""The same of laws by hand, for which there is no reference."""
ONE_VALUE, ONE_ROW, ONE_RECORD = "the one published value", "one row", "one record"
ONE_DATA_SET = "one data set of records"
"""Units of privacy."""
_ERRORS = {"absolute": "absolute error", "squared": "squared error", "zero-one": "chance of an error"}


RANGED = "the reference's range, rounded outward, so that none of its rows is clipped"
"""How a line of the assumptions ends that says where bounds, or edges, come from which nobody gave."""


def ranges_said(assumptions: Iterable[str]) -> tuple[str, ...]:
    """The lines that say which bounds are the reference's range."""
    return tuple(line for line in assumptions if line.endswith(RANGED))


def one_row(unit: str | None) -> str:
    """What is assumed of rows and people."""
    return "one row is one person" if unit is None else f"unit: {unit}, one row each"


def unit_of_person(column: str) -> str:
    """The unit where a column names the person."""
    return f"one person, named by column {column!r}, one row each"


def remapped(loss: str, declared: bool) -> str:
    """What a remap does to outputs."""
    whose = "a declared weight" if declared else "the mean of these beliefs"
    return (
        f"outputs are moved by the table in this certificate to the value of least {_ERRORS[loss]} under {whose}: a "
        "function of the output alone, which changes no guarantee; the stated errors are for that weight"
    )


# --- of versions before this one --------------------------------------------------------------------------------------

PAST_WARNINGS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(epsilon|a Rényi divergence of) \S+ is hardly any protection: the odds of a secret may change.{1,60}",
        r"delta \S+ is above 1/rows \(.{1,60}\): showing a row in full, drawn at random, would meet it",
        r"the exact value( of.{1,20})? is published.{0,40}: (mostly, )?no noise is added(, the pro.{10,40})?",
        r"the channel is fitted to the stated laws: beliefs a little off may lose everything.{1,80}",
        r"the beliefs, and the weights of the expected error, are from the private table itself: the channel.{1,60}",
    )
)
"""Warnings of versions 0.2 and 0.3; pages and `fugu verify` print those that are worked out now."""
TOTALS = "independent others"
"""In the beliefs of a certificate whose laws are of the total of all records."""

# --- of beliefs that were fitted on the private table itself ----------------------------------------------------------

PRIVATE_NUMBERS = (
    "the beliefs were fitted on the private table itself and count as public: this certificate, and a page made from "
    "it, hold exact numbers of that table without any noise (how many rows have each value and each secret, or what "
    "was fitted to them)"
)
WITHHELD = (
    "the beliefs were fitted on the private table itself and count as public; its exact numbers are withheld from this "
    "document and its page, but how much noise there is depends on them"
)
"""What a release document says in place of `PRIVATE_NUMBERS`: it does not hold these numbers."""
ON_THE_TERMINAL = (
    "--public-prior: the beliefs are fitted on the private table itself. Its exact counts (how many rows have each "
    "value and each secret) go into OUT.private.json, which is not for publication; the certificate holds a commitment "
    "to them, which nobody else can check. How much noise is added still depends on them. --reference TABLE avoids this"
)
UNPROTECTED = "no reference row holds these secrets, and nothing is promised of them: "
"""What the names of skipped secrets follow, in the assumptions of a statistic."""
CONFIDENT = "confidence "
"""How the line begins that states a confidence."""
IN_THE_BOX = (
    "The beliefs behind this release were fitted on the private table itself and declared public. The laws drawn and "
    "printed here, and in the certificate, are exact counts of that table: how many rows have each value and each "
    "secret, without any noise. The promise below does not cover them. Publish this page and the certificate only if "
    "those counts are public already."
)


PUBLIC_LAWS = "the laws of this table, which were declared public"
"""Against whom such a release promises anything: there is no reference."""
UNPUBLISHED = (
    "no promise is published, since the noise follows from exact numbers of this table, which are withheld here; the "
    "private part has it"
)
"""What is said in place of the second promise where the certificates are withheld."""
ANSWERS = "between protected pairs of answers"
"""The secret, where it is withheld which answers there are."""


def holds_private_numbers(assumptions: Iterable[str]) -> bool:
    """Whether a certificate with these assumptions contains exact numbers of the private table."""
    return PRIVATE_NUMBERS in tuple(assumptions)


@dataclass(frozen=True)
class Told:
    """One document in the words of all kinds.

    `budget`: what is promised, as `budget_json` writes it; `unit`: whose secret; `secrets`, `pairs`: by name; `noise`:
    what is drawn, in figures and words; `figures`: what the document states as proved; `theorem`, `proof`: what the
    method stands on, and the page that proves the noise; `reading`: how records are read; `assumptions`."""

    budget: Json
    unit: str
    secrets: tuple[str, ...]
    pairs: tuple[str, ...]
    method: str
    theorem: str
    proof: str
    noise: Json
    figures: Json
    worst_pair: str
    assumptions: tuple[str, ...]
    reading: Any = None
    about: Any = None
    """What is published: the statistic and its group, or the query."""
    rules: tuple[str, ...] = ()
    """What missing and unreadable cells count as, in sentences, which say nothing of any cell."""


def derived(parts: Mapping[str, Told], withheld: bool = False) -> Json:
    """What a release document says of its certificates: one budget and unit, the rest of all groups together.

    Where beliefs were fitted on the private table and are withheld, what else tells its numbers is left out too: which
    secrets there are, how records are read (categories, medians), edges and bounds, and exact figures, since a scale in
    17 digits tells the counts behind it."""
    first = next(iter(parts.values()))
    for part in parts.values():
        for name in ("budget", "unit", "reading"):
            if canonical_json(getattr(part, name)) != canonical_json(getattr(first, name)):
                raise CertificateError(f"the certificates of one release differ in their {name}")
    return {
        "budget": first.budget,
        "unit": first.unit,
        "secrets": [] if withheld else _united(part.secrets for part in parts.values()),
        "pairs": [] if withheld else _united(part.pairs for part in parts.values()),
        "mechanisms": [_mechanism(group, part, withheld) for group, part in parts.items()],
        "reading": None if withheld else first.reading,
        "rules": [] if withheld else _united(part.rules for part in parts.values()),
        "assumptions": [
            WITHHELD if withheld and line == PRIVATE_NUMBERS else line
            for line in _united(part.assumptions for part in parts.values())
        ],
    }


def _mechanism(group: str, part: Told, withheld: bool) -> Json:
    """What is said of one certificate; of a withheld one without exact figures: two digits of the scale, and of what is
    published only the question."""
    about: Any = part.about
    if withheld:
        about = {"query": about.get("query") or about.get("publish")} if about else None
    noise = {"kind": part.noise.get("kind"), "words": _rough_words(part.noise)} if withheld else part.noise
    return {
        "group": group, "method": part.method, "theorem": part.theorem, "proof": part.proof, "about": about,
        "noise": noise, "proved": None if withheld else part.figures,
        "worst pair": None if withheld else part.worst_pair,
    }  # fmt: skip


def _rough_words(noise: Json) -> str:
    """Two digits of the figure that says how much noise there is; a sensitivity may be a range of the table."""
    if (scale := noise.get("scale")) is not None:
        return f"{str(noise['kind']).capitalize()} noise of scale about {scale:.2g}"
    if (epsilon := noise.get("epsilon per entry")) is not None:
        return f"noise at epsilon about {float(read_number(epsilon)):.2g} for each entry"
    return "noise as the withheld certificate says"


def _united(lists: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))


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
    return f"Publish column {recipe['publish']!r}, row by row{coarse}. Secret: {protected(recipe)} of each row."


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
    return f"Publish {recipe['query']} of {rows} records{by}{clipped}. Secret: {protected(recipe)} of each record."


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
    return f"Publish {between.join(asked)} of {recipe['rows']} records. Secret: {protected(recipe)} of each record."


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


def protected(recipe: Recipe) -> str:
    """What is secret, in a few words."""
    protect = recipe["protect"]
    if isinstance(protect, str):
        return repr(protect)
    if isinstance(protect, Sequence):
        return ", ".join(map(repr, protect)) + " together"
    return "whether " + " or ".join(map(repr, protect))


def answers(certificate: Document, recipe: Json, group: str) -> bool:
    """Whether a statistic, a column or a property is what the recipe asks for."""
    body, what = certificate.body, recipe["what"]
    about = body.get("statistic") or {}
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
