"""What a user or a document declares of one column before any cell is seen: its kind, its bins, its cuts."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import OTHER, number_of, number_text, text_of
from fugu.data.moments import DAY, EPOCH, days_between, read_day, seconds_of
from fugu.errors import BadTable, UnknownName, UsageError
from fugu.numbers.checks import is_iterable, is_real
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.visible import brief

# What a user or a document declares of one column, checked before any cell is seen.


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


# Cut points: every number has a bin, whatever it is, and the bins have names.


_MOST = 4096


def read_cuts(said: object) -> tuple[float, ...]:
    """Cut points from a list, from "0,200,400", or from "LOW:HIGH:STEP", whose outer bins reach on for ever.

    >>> read_cuts("0,200"), read_cuts("0:800:200"), read_cuts([0.5])
    ((0.0, 200.0), (200.0, 400.0, 600.0), (0.5,))
    """
    found: list[Real]
    if isinstance(said, str):
        found = _equal(said) if ":" in said else [_exact(part) for part in said.split(",")]
    elif isinstance(said, list | tuple) and all(is_real(cut) for cut in said):
        found = list(said)
    else:
        raise UsageError('bins must be cut points such as "0,200,400", or "LOW:HIGH:STEP"')
    cuts = [_double(cut) for cut in found]
    if any(not math.isfinite(cut) for cut in cuts) or any(a >= b for a, b in pairwise(cuts)):
        raise UsageError("the cut points of --bins must be finite numbers that rise")
    if len(cuts) >= _MOST:
        raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
    return tuple(cut + 0.0 for cut in cuts)


def labels(cuts: tuple[float, ...]) -> tuple[str, ...]:
    """The names of the bins (-inf, c1), [c1, c2), ..., [cm, inf), from low to high; none without cut points."""
    if not cuts:
        return ()
    texts = [number_text(cut) for cut in cuts]
    return (f"<{texts[0]}", *(f"{a}..{b}" for a, b in pairwise(texts)), f">={texts[-1]}")


def bin_of(number: float, cuts: tuple[float, ...], names: tuple[str, ...]) -> str:
    """The name of the bin of a number that is not NaN; a cut point belongs to the bin above it.

    >>> [bin_of(x, (0.0, 10.0), labels((0.0, 10.0))) for x in (-math.inf, -1.0, 0.0, 9.5, 10.0, math.inf)]
    ['<0', '<0', '0..10', '0..10', '>=10', '>=10']
    """
    return names[bisect_right(cuts, number)]


def _equal(said: str) -> list[Real]:
    parts = said.split(":")
    if len(parts) != 3:
        raise UsageError(f"bins of one width are LOW:HIGH:STEP, such as 0:4000:200, not {brief(said, 40)}")
    low, high, step = (_exact(part) for part in parts)
    if step <= 0 or high - low < 2 * step or (high - low) % step:
        raise UsageError("--bins LOW:HIGH:STEP: HIGH must lie two or more whole steps above LOW")
    if (high - low) / step > _MOST:
        raise UsageError(f"--bins: at most {_MOST} bins are states of a chain")
    return [low + i * step for i in range(1, int((high - low) / step))]


def _double(cut: Real) -> float:
    try:
        return float(cut)
    except OverflowError:
        return math.inf


def _exact(text: str) -> Fraction:
    try:
        return read_number(text.strip())
    except (UsageError, ValueError):
        raise UsageError(f"--bins: {brief(text.strip(), 40)} is not a number") from None


# Bins with short decimal edges, so that their middles are short decimals and a coarse lattice holds them.


def equal_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """Edges of `count` equal bins over [low, high]; rounding outward adds at most a fifth of a bin in all.

    >>> equal_bins(126, 564, 4)
    (126.0, 236.0, 346.0, 456.0, 566.0)
    """
    start, stop = as_fraction(low), as_fraction(high)
    span = stop - start or max(abs(start), Fraction(1))
    unit = Fraction(10) ** _exponent(span / (10 * count * count))
    first = math.floor(start / unit) * unit
    width = math.ceil((start + span - first) / count / unit) * unit
    try:
        edges = sorted({float(first + i * width) for i in range(count + 1)})
    except OverflowError:
        raise BadTable("the published values reach too far for equal bins; give bins as edges") from None
    return tuple(edges)


def day_bins(low: float, high: float, count: int) -> tuple[float, ...]:
    """The same for days: edges of whole days, `count` bins at most, the last day inside the last.

    >>> day_bins(0, 9, 3)
    (0.0, 4.0, 8.0, 12.0)
    """
    first, days = math.floor(low), math.floor(high) + 1 - math.floor(low)
    width = -(-days // count)
    return tuple(float(first + i * width) for i in range(-(-days // width) + 1))


@lru_cache(maxsize=64)
def middles(edges: tuple[float, ...]) -> NDArray[np.float64]:
    """The middle of each bin, edges read as decimals: (0.1, 0.2) gives 0.15."""
    exact = [as_fraction(edge) for edge in edges]
    found = np.array([float((a + b) / 2) for a, b in pairwise(exact)])
    found.setflags(write=False)
    return found


def _exponent(x: Fraction) -> int:
    """The greatest whole e with 10^e <= x."""
    guess = len(str(x.numerator)) - len(str(x.denominator))
    return guess if Fraction(10) ** guess <= x else guess - 1
