"""Sets of laws read back from JSON."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.errors import BadLaw, CertificateError, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets.ball import Ball
from fugu.laws.sets.band import Band
from fugu.laws.sets.box import Box
from fugu.laws.sets.hull import Hull
from fugu.laws.sets.intersection import Intersection
from fugu.laws.sets.law_set import Floats, LawSet
from fugu.laws.sets.reading import declared
from fugu.numbers.exact import read_whole


def law_set_from(found: dict[str, Any]) -> LawSet:
    """The set that `to_json` wrote, checked like one that a user gives; `CertificateError` for anything else.

    `found`: the JSON object of one set."""
    try:
        return _READERS[found["kind"]](found)
    except (KeyError, TypeError, AttributeError, OverflowError, UsageError, ValueError, RecursionError) as error:
        why = f": {error}" if isinstance(error, BadLaw) else ""
        raise CertificateError(f"a set of laws in the document cannot be read{why}") from None


def _doubles(texts: list[str], most: float = 1.0) -> Floats:
    row = np.array([float.fromhex(x) for x in texts], dtype=np.float64)
    if row.ndim != 1 or not np.all((row >= 0) & (row <= most)):
        raise BadLaw("a limit is outside its range")
    return row


def _values(found: dict[str, Any]) -> Floats:
    return declared([float.fromhex(x) for x in found["values"]])


def _limits(found: dict[str, Any]) -> tuple[Floats, Floats, Floats]:
    values, lower, upper = _values(found), _doubles(found["lower"]), _doubles(found["upper"])
    if not len(values) == len(lower) == len(upper):
        raise BadLaw("values and limits differ in number")
    return values, lower, upper


def _law(values: Floats, found: dict[str, Any]) -> Discrete:
    parts, total = [read_whole(p) for p in found["parts"]], read_whole(found["total"])
    if len(parts) != len(values) or min(parts) < 0 or sum(parts) != total or total <= 0:
        raise BadLaw("its masses are not those of a law")
    held = np.array(parts, dtype=np.int64 if total < 2**62 else object)
    return Discrete._with_error(values, Masses(held, Fraction(total)), 0.0)


def _hull(found: dict[str, Any]) -> Hull:
    values = _values(found)
    return Hull([_law(values, law) for law in found["laws"]], values)


def _ball(found: dict[str, Any]) -> Ball:
    radius = Fraction(float.fromhex(found["radius"]))
    return Ball(_law(_values(found), found["centre"]), radius, found["distance"])


def _intersection(found: dict[str, Any]) -> Intersection:
    sets = [law_set_from(part) for part in found["sets"]]
    return Intersection(sets, _law(sets[0].values, found["middle"]) if "middle" in found else None)


_READERS: dict[str, Callable[[dict[str, Any]], LawSet]] = {
    Box.kind: lambda found: Box.exactly(*_limits(found)),
    Band.kind: lambda found: Band.exactly(*_limits(found)),
    Hull.kind: _hull,
    Ball.kind: _ball,
    Intersection.kind: _intersection,
}
