"""Laws stated by hand: {secret: law}, or a list of such tables with one for each adversary, in plain values as a
scenario file or JSON has them. One reader for all kinds, each a name, the keys that it takes and what makes the law."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fugu.data.field import Field
from fugu.data.schema import Schema
from fugu.documents.sentences import UNSEEN_BY_HAND, one_row
from fugu.errors import BadLaw, FuguError, NotProvable, UnknownName
from fugu.laws import Discrete, Law, MultivariateNormal, Normal, NormalMixture, Shifted
from fugu.laws.cells import CellLaw
from fugu.laws.discrete import sum_of
from fugu.numbers.exact import Real, is_whole, read_number
from fugu.scenario.query import ColumnQuery
from fugu.scenario.scenario import PairsOfSecrets, Scenario
from fugu.visible import brief

LAWS, DISTRIBUTIONS = "laws", "distributions"
_DEEPEST = 2
"""Vectors and tables of numbers: lists of lists."""


def _weights(counts: Any, probabilities: Any) -> Any:
    """Counts are whole numbers; probabilities are what they say, and sum to 1: [1, 2] are none."""
    if counts is not None and probabilities is not None:
        raise BadLaw("counts and probabilities are two ways to say the same; give one of them")
    if counts is not None and not all(is_whole(count, least=0) for count in _row("counts", counts)):
        raise BadLaw("counts must be whole numbers of at least 0; shares are probabilities")
    if probabilities is None:
        return counts
    row = _row("probabilities", probabilities)
    short = all(isinstance(x, float | int) for x in row) and any(isinstance(x, float) for x in row)
    return row if short else [x if isinstance(x, Fraction) else read_number(x) for x in row]


def _row(key: str, given: Any) -> list[Real]:
    if not isinstance(given, list) or any(isinstance(x, list) for x in given):
        raise BadLaw(f"{key} must be a list of numbers")
    return given


def _discrete(values: Any, probabilities: Any = None, counts: Any = None) -> Discrete:
    if not isinstance(values, list) or len({len(x) if isinstance(x, list) else 0 for x in values}) > 1:
        raise BadLaw("values must be a list of numbers, or of vectors of one length")
    return Discrete(values, _weights(counts, probabilities))


def _mixture(means: Any, stds: Any, probabilities: Any = None, counts: Any = None) -> NormalMixture:
    return NormalMixture(_weights(counts, probabilities), _row("means", means), _row("stds", stds))


def _vector(mean: Any, cov: Any) -> MultivariateNormal:
    rows = cov if isinstance(cov, list) else []
    return MultivariateNormal(_row("mean", mean), [_row("each row of cov", row) for row in rows])


def _cells(probabilities: Any = None, counts: Any = None) -> CellLaw:
    return CellLaw(_weights(counts, probabilities) or [])


def _shift(by: Any) -> Shifted:
    return Shifted(tuple(_row("by", by)) if isinstance(by, list) else by)


def _sum(of: Any) -> Discrete:
    """The law of a sum over independent users, each law with its number of `users`: 1 where nothing is said."""
    groups: dict[Any, int] = {}
    for place, told in enumerate(of if isinstance(of, list) else [of], start=1):
        stated = isinstance(told, Mapping)
        count = told.get("users", 1) if stated else 1
        own = {key: value for key, value in told.items() if key != "users"} if stated else told
        law = law_of(own, f"of, part {place}", only=("discrete",))
        if not is_whole(count, least=1):
            raise BadLaw(f"of, part {place}: users must be a whole number of at least 1")
        groups[law] = groups.get(law, 0) + int(count)
    return sum_of(groups)


Makes = Callable[..., Any]
Kinds = Mapping[str, tuple[Makes, tuple[str, ...], tuple[str, ...]]]
"""By what `kind` says: what makes the thing, the keys that it needs and those that it may have."""
_MASSES = ("probabilities", "counts")
KINDS: Kinds = {
    "discrete": (_discrete, ("values",), _MASSES),
    "normal": (Normal, ("mean", "std"), ()),
    "mixture": (_mixture, ("means", "stds"), _MASSES),
    "normal-vector": (_vector, ("mean", "cov"), ()),
    "cells": (_cells, (), _MASSES),
    "sum": (_sum, ("of",), ()),
    "shift": (_shift, ("by",), ()),
}
"""The kinds of laws."""


def made_of(told: object, where: str, kinds: Kinds, names: tuple[str, ...]) -> Any:
    """What a table of plain values states: kind = "normal", mean = 0, std = 1.

    `where`: what messages call it; `names`: the keys that hold no numbers. Of the others texts are exact numbers,
    decimals or fractions; floats mean the decimals they show. Raises `UsageError` with the key."""
    if not isinstance(told, Mapping) or "kind" not in told:
        raise BadLaw(f"{where} must be a table with a kind: {', '.join(kinds)}")
    kind = told["kind"]
    if not isinstance(kind, str) or kind not in kinds:
        raise UnknownName(f"kind in {where} called", kind if isinstance(kind, str) else brief(str(kind)), tuple(kinds))
    makes, needs, may = kinds[kind]
    given = {str(key): value for key, value in told.items() if key != "kind"}
    for key in given:
        if key not in (*needs, *may):
            raise UnknownName(f"key in {where} ({kind}) called", key, (*needs, *may))
    for key in needs:
        if key not in given:
            raise BadLaw(f"{where} is of kind {kind!r} and has no {key}; it needs {', '.join(needs)}")
    read = {key: x if key in names else plain_numbers(x, f"{where}: {key}") for key, x in given.items()}
    try:
        return makes(**read)
    except FuguError as error:
        again = NotProvable if isinstance(error, NotProvable) else BadLaw
        raise again(f"{where}: {error}") from None


def law_of(told: object, where: str, only: tuple[str, ...] = tuple(KINDS)) -> Law:
    """The law that a table of plain values states; `only`: the kinds that it may be.

    >>> law_of({"kind": "normal", "mean": 0, "std": "1/2"}, "[laws.a]")
    Normal(mean=0.0, std=0.5)
    >>> law_of({"kind": "discrete", "values": [0, 1], "probabilities": ["1/3", "2/3"]}, "[laws.b]").masses.whole()
    ([1, 2], 3)
    """
    found: Law = made_of(told, where, {kind: KINDS[kind] for kind in only}, ("of",))
    return found


def plain_numbers(value: object, where: str, depth: int = 0) -> Any:
    """Numbers as they stand, texts as the exact numbers they are, in lists of lists at most."""
    if isinstance(value, list):
        if depth == _DEEPEST:
            raise BadLaw(f"{where} is a number, a list of numbers or a list of such lists, and no deeper")
        return [plain_numbers(x, where, depth + 1) for x in value]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadLaw(f"{where} must be a number, or a list of numbers")
    try:
        exact = read_number(value)
    except FuguError as error:
        raise BadLaw(f"{where}: {error}") from None
    if abs(exact) > sys.float_info.max:
        raise BadLaw(f"{where} is beyond the range of doubles; rescale the values")
    return exact if isinstance(value, str) else value


def scenario_by_hand(
    laws: object, pairs: PairsOfSecrets = "all", publish: str | None = None, unit: str | None = None,
    schema: Schema | None = None,
) -> Scenario:  # fmt: skip
    """The scenario of laws that are stated by hand.

    `laws`: {secret: table of a law}, a list of such tables, one per adversary, or a text of JSON; {"distributions":
    {name: table of a law}} for `Scenario.from_distributions`; `pairs`: as in
    `Scenario`; `publish`, `unit` and `schema`: the columns that hold the values and name the person, and how they are
    read, where a table is released.

    >>> smokers = {"smoker": {"kind": "normal", "mean": 1, "std": 2}, "other": {"kind": "normal", "mean": 0, "std": 2}}
    >>> scenario_by_hand(smokers).law_pairs()
    (LawPair(Normal(mean=1.0, std=2.0), Normal(mean=0.0, std=2.0), 'smoker vs other'),)
    """
    if isinstance(laws, str):
        try:
            laws = json.loads(laws)
        except (ValueError, RecursionError):
            raise BadLaw("laws are not JSON: a table of secrets and laws is expected, as in a scenario file") from None
    if isinstance(laws, Mapping) and tuple(laws) == (DISTRIBUTIONS,):
        if publish is not None and schema is not None:
            raise BadLaw("distributions are of one value, computed from all records together: it is no column of rows")
        return Scenario.from_distributions(_named(laws[DISTRIBUTIONS], f"{DISTRIBUTIONS}."), pairs)  # type: ignore[arg-type]
    several = isinstance(laws, list)
    adversaries = [
        _named(each, f"{LAWS}, adversary {place}: " if several else f"{LAWS}.")
        for place, each in enumerate(laws if isinstance(laws, list) else [laws], start=1)
    ]
    if not adversaries:
        raise BadLaw(f"[[{LAWS}]] has no adversary")
    found = Scenario(adversaries if several else adversaries[0], pairs)
    listed = found.law_pairs()  # laws that cannot be held against each other are refused now
    if publish is None or schema is None or publish not in schema.fields:
        return found
    if any(pair.dimension > 1 for pair in listed):
        raise BadLaw(f"column {publish!r} holds one number in each row, and the laws are of vectors")
    if unit is not None and unit not in schema.fields:
        schema = schema.with_field(unit, Field("identifier"))
    known = schema.only([publish, *([] if unit is None else [unit])])
    said = (*found.assumptions, UNSEEN_BY_HAND, one_row(unit))
    return replace(found, query=ColumnQuery(publish), schema=known, unit=unit, assumptions=said)


def _named(laws: object, where: str) -> Mapping[str, Law]:
    if not isinstance(laws, Mapping) or not laws:
        raise BadLaw(f"[{where.rstrip('.: ')}] must be a table of secrets, each with its law")
    return {str(secret): law_of(told, f"[{where}{secret}]") for secret, told in laws.items()}
