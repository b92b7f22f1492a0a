"""What a user or a document declares of one column, checked before any cell is seen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.data.cells import OTHER, number_of, number_text, text_of
from fugu.data.moments import DAY, EPOCH, days_between, read_day, seconds_of
from fugu.errors import UnknownName, UsageError
from fugu.numbers.checks import is_iterable, is_real
from fugu.numbers.exact import as_fraction

Said = dict[str, Any]
KINDS = ("number", "category", "ordered", "time", "identifier")
_KEYS = {
    "number": ("bounds", "step", "outside", "missing", "typical"),
    "category": ("values", "outside", "missing"),
    "ordered": ("values", "outside", "missing", "typical"),
    "time": ("origin", "bounds", "step", "outside", "missing", "typical"),
    "identifier": (),
}
_OUTSIDE = ("clip", "missing")
NEAREST = "nearest"
_OUT, _MISSING, _UNRULED = "outside its values", "that is missing", "without a rule"
_PLAIN = re.compile(r"\d{1,100}(?:[./]\d{1,100})?", re.ASCII)
"""No exponent: working out "1e1000000000" takes hours."""


def declared(name: str, told: object) -> Said:
    """The parts of a `Field`, from what is said of column `name`: its kind, and what that kind knows."""
    stated = told.get("kind") if isinstance(told, Mapping) else told
    if not isinstance(told, Mapping) or stated not in KINDS:
        raise UnknownName(f"kind of column {name!r}", stated, KINDS)
    kind = str(stated)
    parts = ("kind", *_KEYS[kind])
    spare = [key for key in told if key not in parts]
    if spare:
        raise UnknownName(f"part of column {name!r}, of kind {kind},", spare[0], parts)
    return {"kind": kind, **_MAKERS[kind](name, **{key: told.get(key) for key in _KEYS[kind]})}


def _number(name: str, bounds: Any, step: Any, outside: Any, missing: Any, typical: Any) -> Said:
    ends = None
    if bounds is not None:
        try:
            low, high = (float(as_fraction(x)) for x in bounds)
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"the bounds of column {name!r} must be two finite numbers, such as (0, 400)") from None
        if not low < high:
            raise UsageError(f"the bounds of column {name!r} must be increasing, such as (0, 400)")
        ends = (low, high)
    if outside is not None and outside not in _OUTSIDE:
        raise UnknownName(f"choice for numbers of column {name!r} outside its bounds", outside, _OUTSIDE)
    width = None
    if step is not None:
        width = _width(name, step)
        if ends is None or not width <= as_fraction(ends[1]) - as_fraction(ends[0]):
            raise UsageError(f"the step of column {name!r} must be above 0, and at most as wide as its bounds")
    instead = (_finite(name, choice, ends) for choice in (missing, typical))
    return dict(zip(_KEYS["number"], (ends, width, outside, *instead), strict=True))


def _time(name: str, origin: Any, bounds: Any, step: Any, outside: Any, missing: Any, typical: Any) -> Said:
    """Nothing for times that are public and only put in order; else dates, as days since an origin."""
    if all(part is None for part in (origin, bounds, step, outside, missing, typical)):
        return {}
    first = EPOCH if origin is None else read_day(f"the origin of column {name!r}", origin)
    ends = None
    if bounds is not None:
        if not is_iterable(bounds) or isinstance(bounds, str) or len(bounds := list(bounds)) != 2:
            raise UsageError(f"the bounds of column {name!r} must be two days, such as [2000-01-01, 2030-12-31]")
        low, high = (days_between(first, day, f"a bound of column {name!r}") for day in bounds)
        if not low < high:
            raise UsageError(f"the bounds of column {name!r} must be increasing")
        ends = (low, high)
    if outside is not None and outside not in _OUTSIDE:
        raise UnknownName(f"choice for dates of column {name!r} outside its bounds", outside, _OUTSIDE)
    width = Fraction(1) if step is None else _width(name, step)
    if (width * DAY).denominator != 1 or (ends is not None and width > ends[1] - ends[0]):
        raise UsageError(
            f"the step of column {name!r} is in days, and must be whole seconds and at most as wide as its bounds: 7 "
            "for weeks, 1/24 for hours"
        )
    rules = [_moment(name, choice, first) for choice in (missing, typical)]
    if ends is not None and not all(rule is None or ends[0] <= rule <= ends[1] for rule in rules):
        raise UsageError(f"what a missing cell of column {name!r} becomes must lie within its bounds")
    return dict(zip(_KEYS["time"], (first, ends, width, outside, *rules), strict=True))


def _width(name: str, step: Any) -> Fraction:
    try:
        width = Fraction(step) if isinstance(step, str) and _PLAIN.fullmatch(step) else as_fraction(step)
    except (TypeError, ValueError, ZeroDivisionError):
        width = Fraction(0)
    if width <= 0:
        raise UsageError(f"the step of column {name!r} must be a number above 0")
    return width


def _moment(name: str, said: Any, origin: date) -> float | None:
    if said is None:
        return None
    if (found := seconds_of(said)) is None:
        raise UsageError(f"what a missing cell of column {name!r} becomes must be a date, such as 2020-01-31")
    return float(Fraction(found, DAY) - (origin - EPOCH).days)


def _finite(name: str, missing: Any, ends: tuple[float, float] | None) -> float | None:
    if missing is None:
        return None
    if not is_real(missing) or not math.isfinite(missing):
        raise UsageError(f"what a missing cell of column {name!r} becomes must be a finite number")
    found = float(missing)
    if ends is not None and not ends[0] <= found <= ends[1]:
        raise UsageError(f"what a missing cell of column {name!r} becomes must lie within its bounds")
    return found


def _category(name: str, values: Any, outside: Any, missing: Any) -> Said:
    if values is None and outside is None and missing is None:
        return {}
    named = _named(name, values)
    rules = (_rule(name, *told, (*named, OTHER)) for told in ((_OUT, outside), (_MISSING, missing)))
    return dict(zip(_KEYS["category"], (named, *rules), strict=True))


def _ordered(name: str, values: Any, outside: Any, missing: Any, typical: Any) -> Said:
    named = _named(name, values)
    near = outside == NEAREST
    told = ((_OUT, None if near else outside), (_MISSING, missing), (_UNRULED, typical))
    beyond, *rules = (_rule(name, *one, named) for one in told)
    if near and any(math.isnan(number_of(v)) for v in named):
        raise UsageError(f"column {name!r} has values that are no numbers, so no cell is near one; name a category")
    return dict(zip(_KEYS["ordered"], (named, NEAREST if near else beyond, *rules), strict=True))


def _rule(name: str, where: str, choice: Any, allowed: tuple[str, ...]) -> str | None:
    """The category that some cells become, if one is named."""
    if choice is None:
        return None
    if (found := canonical(choice)) not in allowed:
        raise UnknownName(f"category of column {name!r} for a cell {where}", choice, allowed)
    return found


def _named(name: str, values: Any) -> tuple[str, ...]:
    """The categories that are declared."""
    if values is None:
        raise UsageError(f"column {name!r} needs values=[...], its categories")
    if not is_iterable(values):
        raise UsageError(f"the values of column {name!r} must be a list of categories")
    named = tuple(canonical(value) for value in values)
    if not named or len(set(named)) < len(named) or any(v is None for v in named):
        raise UsageError(f"the values of column {name!r} must be different categories: texts or numbers")
    return tuple(map(str, named))


_MAKERS: dict[str, Callable[..., Said]] = {
    "number": _number,
    "category": _category,
    "ordered": _ordered,
    "time": _time,
    "identifier": lambda name: {},  # noqa: ARG005
}


def canonical(value: object) -> str | None:
    """A category as a user declares it: a text as it is, a number in its one form; None if it is neither."""
    if isinstance(value, str):
        return value.strip() or None
    number = number_of(value)
    if math.isnan(number):
        return None
    return text_of(value) if isinstance(value, bool | np.bool_ | int) else number_text(number)
