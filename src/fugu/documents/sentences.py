"""The sentences that certificates are made of, of this version and of versions before, and the words that every kind
has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fugu.documents.document import canonical_json
from fugu.errors import CertificateError
from fugu.numbers.exact import read_number
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
ONE_VALUE, ONE_ROW, ONE_RECORD = "the one published value", "one row", "one record"
ONE_DATA_SET = "one data set of records"
"""Units of privacy."""
_ERRORS = {"absolute": "absolute error", "squared": "squared error", "zero-one": "chance of an error"}


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
RECORDS = "records"
"""What many questions to one table are called: their recipe, their document, and the noise of all of them; and, in
parts of other documents, how many records there are."""
CONFIDENT = "confidence "
"""How the line begins that states a confidence."""
IN_THE_BOX = (
    "The beliefs behind this release were fitted on the private table itself and declared public. The laws drawn and "
    "printed here, and in the certificate, are exact counts of that table: how many rows have each value and each "
    "secret, without any noise. The promise below does not cover them. Publish this page and the certificate only if "
    "those counts are public already."
)


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
