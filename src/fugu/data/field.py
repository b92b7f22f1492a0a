"""`Field`: what the cells of one column mean, fixed before any private cell is seen, as a user or a document declares
it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import OTHER, Categories, is_missing, meant, number_of, number_text, text_of
from fugu.data.column import Column, Raw
from fugu.data.moments import DAY, EPOCH, days_text, placed, read_day, seconds_of, written
from fugu.errors import UnknownName, UsageError
from fugu.numbers.checks import is_iterable, is_real
from fugu.numbers.exact import as_fraction

TRUTH = ("False", "True")
"""A column of truth values: an ordering whose places are the numbers 0 and 1."""
NEAREST = "nearest"


@final
@dataclass(frozen=True)
class Field:
    """The kind of a column, its domain, what a cell outside of it becomes and what a missing cell becomes.

    | kind       | a cell is                             | outside                              | missing        |
    |------------|---------------------------------------|--------------------------------------|----------------|
    | number     | a double, within `bounds`, on `step`s | "clip" to the bounds, or "missing"   | a number       |
    | category   | one of `values`                       | one of them, or "(other)"            | the same       |
    | ordered    | one of `values`, from low to high     | one of them, or "nearest" of numbers | one of them    |
    | time       | a number, or a time in ISO 8601       | declared public, hence refused       | refused        |
    | with origin| days since it, within `bounds`        | "clip" to the bounds, or "missing"   | a day          |
    | identifier | text                                  | every text is inside                 | refused        |

    Text in a column of numbers counts as missing, and so does a number in one of dates, which are times with an origin:
    a moment is then the start of the step it lies in, as days since the origin. Where nobody said what a missing cell
    becomes, it becomes `typical` (the reference's median; the middle of the domain if there is no reference) or
    "(other)".
    """

    kind: str
    values: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None
    step: Fraction | None = None
    outside: str | None = None
    missing: float | str | None = None
    typical: float | str | None = None
    origin: date | None = None
    """Of dates: the day that is 0. Bounds and rules are days since then, and the step is not None."""
    dated: bool = field(init=False, repr=False, compare=False)
    """Whether the cells are dates, as numbers of days."""
    numeric: bool = field(init=False, repr=False, compare=False)
    """Whether the cells are numbers, or dates, which are days since an origin."""
    ordered: bool = field(init=False, repr=False, compare=False)
    """Whether the cells are categories from low to high."""
    unordered: bool = field(init=False, repr=False, compare=False)
    """Whether the cells are categories in no order."""
    public: bool = field(init=False, repr=False, compare=False)
    """Whether the cells are times or identifiers, which are taken as they are."""
    nearest: bool = field(init=False, repr=False, compare=False)
    """Whether a cell outside becomes the category of the nearest number."""
    drops_outside: bool = field(init=False, repr=False, compare=False)
    """Whether a number outside the bounds counts as missing."""

    def __post_init__(self) -> None:
        dated, numeric = self.origin is not None, self.kind == "number" or self.origin is not None
        ordered, unordered = self.kind == "ordered", self.kind == "category"
        public = not (numeric or ordered or unordered)
        vars(self).update(
            dated=dated, numeric=numeric, ordered=ordered, unordered=unordered, public=public,
            nearest=self.outside == NEAREST, drops_outside=self.outside == "missing",
        )  # fmt: skip

    @staticmethod
    def dates() -> Field:
        """Dates of which nothing is declared: whole days since 1970-01-01."""
        return Field("time", step=Fraction(1), origin=EPOCH)

    @staticmethod
    def of(name: str, told: object) -> Field:
        """Checked: what a user or a document says of column `name`."""
        return told if isinstance(told, Field) else Field(**declared(name, told))

    @cached_property
    def categories(self) -> Categories:
        """The declared categories, to compare with."""
        return Categories(self.values or ())

    def label(self, said: object) -> str | None:
        """The category that a user names, as cells that were read are labelled; None if there is none of that name.

        >>> Field("number").label("1.0"), Field("category", ("1.0", "x")).label(1), Field("number").label("x")
        ('1', '1.0', None)
        """
        if self.numeric:
            number = self.day(said) if self.dated else number_of(said)
            return None if math.isnan(number) else number_text(number)
        text = canonical(said)
        if text is None or self.values is None:
            return text
        place = self.categories.place(text)
        return self.values[place] if place >= 0 else text if text == self.outside else None

    def read(self, name: str, raw: Raw, decimal: str = ".", absent: Iterable[str] = ("",)) -> Column:
        """The column, cell by cell; what was missing is marked, and not filled in yet. Content never raises."""
        gone = frozenset(absent)
        if not self.numeric:
            cells, codes = raw.factors()
            if self.values is None and raw.plain and gone.isdisjoint(cells):
                return Column(name, np.array(cells, dtype=object)[codes], np.zeros(len(codes), bool), counts=raw.counts)
            known = self.categories if decimal == "." else Categories(self.values or (), decimal)
            texts = np.empty(len(cells) + 1, dtype=object)
            texts[:-1] = self._texts(cells, known, gone)
            values, missing = texts[codes], np.array([text is None for text in texts], dtype=bool)[codes]
            truth = self.values == TRUTH and self.ordered
            return Column(name, values == "True" if truth else values, missing, counts=raw.counts)
        if raw.array is None:
            cells, codes = raw.factors()
            image = self._day if self.dated else partial(meant, decimal=decimal)
            each = [math.nan if is_gone(cell, gone) else image(cell) for cell in cells]
            numbers = np.array(each, dtype=np.float64)[codes] + 0.0
        else:
            with np.errstate(over="ignore"):  # beyond the doubles is infinite; a warning would tell of a cell
                numbers = raw.array.astype(np.float64) + 0.0
            numbers[np.asarray(raw.masked) | self.dated] = np.nan  # a number is no date
        low, high = self.bounds or (-math.inf, math.inf)
        if not self.dated and self.drops_outside:
            with np.errstate(invalid="ignore"):
                numbers[(numbers < low) | (numbers > high)] = np.nan
        missing = np.isnan(numbers)
        numbers[missing] = 0.0
        if not self.dated:  # a date has its place already
            numbers = self._rounded(np.clip(numbers, low, high)) + 0.0
            numbers[missing] = 0.0
        return Column(name, numbers, missing, origin=self.origin, counts=raw.counts)

    def filled(self, column: Column) -> Column:
        """With every missing cell replaced by what the schema says, or by the middle of the domain, or by "(other)"."""
        if self.public or not column.missing.any():
            return column
        values = column.values.copy()
        values[column.missing] = self.replacement == "True" if values.dtype == bool else self.replacement
        return replace(column, values=values, missing=np.zeros(len(column), dtype=bool), exact=True)

    def written(self, numbers: NDArray[np.float64]) -> NDArray[np.str_]:
        """Numbers of days as dates, each the nearest step; "" for NaN."""
        assert self.origin is not None
        assert self.step is not None
        return written(self.origin, self.step, (self.bounds or (0.0,))[0], numbers)

    @property
    def replacement(self) -> float | str:
        """What a missing cell becomes."""
        if self.missing is not None:
            return self.missing
        if self.typical is not None:
            return self.typical
        low, high = self.bounds or (0.0, 0.0)
        if self.dated:
            return low + math.floor((high - low) / 2 / float(self.step or 1)) * float(self.step or 1)
        if self.numeric:
            return float(self._rounded(np.array([low / 2 + high / 2]))[0])
        return OTHER if self.unordered or not self.values else self.values[(len(self.values) - 1) // 2]

    def to_json(self) -> dict[str, Any]:
        """The field in JSON types; only what was said."""
        said: dict[str, Any] = {"kind": self.kind}
        if self.values is not None:
            said["values"] = list(self.values)
        if self.origin is not None:
            said["origin"] = self.origin.isoformat()
        if self.bounds is not None:
            said["bounds"] = list(map(self._said, self.bounds))
        if self.step is not None:
            said["step"] = str(self.step)
        rules = {"outside": self.outside, "missing": self.missing, "typical": self.typical}
        return said | {key: self._said(rule) for key, rule in rules.items() if rule is not None}

    def _said(self, rule: float | str) -> float | str:
        """A bound or a rule as documents have it: days as dates."""
        return rule if self.origin is None or isinstance(rule, str) else days_text(self.origin, rule)

    def day(self, said: object) -> float:
        """A date that a user names as days since the origin, not cut to the bounds; NaN if it is none."""
        seconds = seconds_of(said)
        if seconds is None or self.origin is None:
            return math.nan
        return float(Fraction(seconds, DAY) - (self.origin - EPOCH).days)

    def _day(self, cell: object) -> float:
        """A cell of dates as a number of days, NaN for what is none."""
        seconds = seconds_of(cell)
        if seconds is None or self.origin is None or self.step is None:
            return math.nan
        if self.bounds is not None and self.drops_outside:
            day = seconds // DAY - (self.origin - EPOCH).days
            if not self.bounds[0] <= day <= self.bounds[1]:
                return math.nan
        low, high = self.bounds or (0.0, None)
        return placed(seconds, self.origin, low, high, self.step)

    def _rounded(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each number moved to the nearest of low, low + step, low + 2 step, ..., which are exact decimals."""
        if self.step is None or self.bounds is None:
            return numbers
        low, high = (as_fraction(x) for x in self.bounds)
        steps = np.floor((numbers - float(low)) / float(self.step) + 0.5)
        places, codes = np.unique(np.clip(steps, 0, int((high - low) / self.step)), return_inverse=True)
        return np.array([float(low + int(k) * self.step) for k in places])[codes]

    def _texts(self, cells: list[Any], known: Categories, gone: frozenset[str]) -> list[str | None]:
        """Each cell as its text, None where missing; of names, which may be as many as rows, without a call each."""
        if self.values is not None:
            return [None if is_gone(cell, gone) else self._category(text_of(cell), cell, known) for cell in cells]
        kinds = set(map(type, cells)) - {type(None)}
        if kinds == {int} and max(abs(c) for c in cells if c is not None) < _WORD:
            return [None if cell is None else str(cell) for cell in cells]
        if not kinds <= {str}:
            return [None if is_gone(cell, gone) else text_of(cell) for cell in cells]
        words = (None if cell is None else cell.strip() for cell in cells)
        return [None if word in gone else word for word in words]

    def _category(self, text: str, cell: object, known: Categories) -> str:
        """The category that a cell with this text is, or becomes."""
        number = None if isinstance(cell, str | bytes) else number_of(cell)
        place = known.place(text, number)
        if place < 0 and self.nearest and not math.isnan(there := number_of(cell, known.decimal)):
            inside = min(max(there, min(known.numbers)), max(known.numbers))  # from infinity all are equally far
            place = int(np.argmin([abs(value - inside) for value in known.numbers]))
        return (self.values or ())[place] if place >= 0 else self.elsewhere

    @property
    def elsewhere(self) -> str:
        """What a cell becomes that is none of the categories."""
        if self.outside is not None and not self.nearest:
            return self.outside
        return OTHER if self.unordered else str(self.replacement)


_WORD = 2**64


def is_gone(cell: object, absent: frozenset[str]) -> bool:
    """Whether a cell is missing, as it stands or by a word that means so."""
    return str.strip(cell) in absent if isinstance(cell, str) else is_missing(cell)


# What a user or a document declares of one column, checked before any cell is seen.

Said = dict[str, Any]
IDENTIFIER = "identifier"
KINDS = ("number", "category", "ordered", "time", IDENTIFIER)
_KEYS = {
    "number": ("bounds", "step", "outside", "missing", "typical"),
    "category": ("values", "outside", "missing"),
    "ordered": ("values", "outside", "missing", "typical"),
    "time": ("origin", "bounds", "step", "outside", "missing", "typical"),
    "identifier": (),
}
_OUTSIDE = ("clip", "missing")
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
        low, high = (float((read_day(f"a bound of column {name!r}", day) - first).days) for day in bounds)
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
    dates = Field("time", origin=first)
    rules = [None if choice is None else dates.day(choice) for choice in (missing, typical)]
    if any(rule is not None and math.isnan(rule) for rule in rules):
        raise UsageError(f"what a missing cell of column {name!r} becomes must be a date, such as 2020-01-31")
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


def _finite(name: str, missing: Any, ends: tuple[float, float] | None) -> float | None:
    if missing is None:
        return None
    if not is_real(missing) or not math.isfinite(missing):
        raise UsageError(f"what a missing cell of column {name!r} becomes must be a finite number")
    found = float(missing)
    if ends is not None and not ends[0] <= found <= ends[1]:
        raise UsageError(f"what a missing cell of column {name!r} becomes must lie within its bounds")
    return found


def _listed(kind: str, name: str, values: Any, outside: Any, missing: Any, typical: Any = None) -> Said:
    """Categories, or an ordering of them; nothing for categories that are left to the reference."""
    ordered = kind == "ordered"
    if not ordered and values is None and outside is None and missing is None:
        return {}
    if values is None:
        raise UsageError(f"column {name!r} needs values=[...], its categories")
    if not is_iterable(values):
        raise UsageError(f"the values of column {name!r} must be a list of categories")
    found = tuple(canonical(value) for value in values)
    if not found or len(set(found)) < len(found) or any(v is None for v in found):
        raise UsageError(f"the values of column {name!r} must be different categories: texts or numbers")
    named = tuple(map(str, found))
    near = ordered and outside == NEAREST
    told = ((_OUT, None if near else outside), (_MISSING, missing), (_UNRULED, typical))
    beyond, *rules = (_rule(name, *one, named if ordered else (*named, OTHER)) for one in told)
    if near and any(math.isnan(number_of(v)) for v in named):
        raise UsageError(f"column {name!r} has values that are not numbers, so no cell is near one; name a category")
    return dict(zip(_KEYS["ordered"], (named, NEAREST if near else beyond, *rules), strict=True))


def _rule(name: str, where: str, choice: Any, allowed: tuple[str, ...]) -> str | None:
    """The category that some cells become, if one is named."""
    if choice is None:
        return None
    if (found := canonical(choice)) not in allowed:
        raise UnknownName(f"category of column {name!r} for a cell {where}", choice, allowed)
    return found


_MAKERS: dict[str, Callable[..., Said]] = {
    "number": _number,
    "category": partial(_listed, "category"),
    "ordered": partial(_listed, "ordered"),
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
