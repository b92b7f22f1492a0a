"""What a row must satisfy for a secret to hold: exact tests on columns, never true of a missing value, and the texts
that stand for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from numbers import Real
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import Categories, number_of, text_of
from fugu.data.column import Column
from fugu.data.moments import DAY, EPOCH, is_moment, seconds_of
from fugu.errors import BadTable, CertificateError, ColumnNotFound, UsageError
from fugu.numbers.checks import is_texts, plain

Mask = NDArray[np.bool_]


@final
@dataclass(frozen=True)
class AnyOf:
    """The value is one of these categories or numbers; `other`: it is there, and is none of them."""

    values: tuple[Any, ...]
    other: bool = False

    def mask(self, column: Column) -> Mask:
        """Compared as categories are everywhere: "1", 1 and 1.0 are one in a column of numbers."""
        found = np.zeros(len(column), dtype=bool)
        if column.origin is not None:
            found = np.isin(_seconds(column), [_moment(value, column.name) for value in self.values])
        elif column.numeric:
            column.require_exact()
            for value in self.values:
                found |= _equal(column.values, _number(value, column.name))
        else:
            codes, distinct = column.codes(ordered=False)
            wanted = Categories(distinct.tolist())
            for value in self.values:
                number = None if isinstance(value, str) else number_of(value)
                place = wanted.place(text_of(value), number)
                if place < 0 and number is not None:
                    raise BadTable(f"the condition on column {column.name!r} names numbers, but it holds text")
                found |= (codes == place) & (place >= 0)
        return (~found if self.other else found) & ~column.missing

    def to_json(self) -> object:
        return {"not in" if self.other else "in": list(self.values)}


@final
@dataclass(frozen=True)
class Within:
    """low <= value < high; None is an open end. `words`: the ends as written, where they are moments, in whole seconds
    since 1970-01-01."""

    low: float | None
    high: float | None
    words: tuple[str | None, str | None] | None = None

    def mask(self, column: Column) -> Mask:
        """Of numbers; of moments, for dates that were read as numbers, or for text whose every cell is a date."""
        if self.words is None and not column.numeric:
            raise BadTable(f"the condition on column {column.name!r} is a range, but the column holds text")
        if self.words is None and column.origin is not None:
            raise BadTable(f"column {column.name!r} holds dates; write the ends of its range like 2020-01-31")
        values, inside = column.values if self.words is None else _seconds(column), ~column.missing
        if self.low is not None:
            inside &= ~_below(values, self.low)
        if self.high is not None:
            inside &= _below(values, self.high)
        return inside

    def to_json(self) -> object:
        low, high = self.words or (self.low, self.high)
        return {"from": low, "to": high}


@final
@dataclass(frozen=True)
class Where:
    """A function of the column (float64, or objects for text) says for each row whether the secret holds."""

    function: Callable[[Any], object]

    def mask(self, column: Column) -> Mask:
        return called(self.function, column.array(), len(column)) & ~column.missing

    def to_json(self) -> object:
        return None


Test = AnyOf | Within | Where


def read_test(column: str, test: object) -> Test:
    """A value, a range (low, high), a set or list of values, a function, or what `to_json` wrote, as a test."""
    if callable(test):
        return Where(test)
    if isinstance(test, Mapping):
        if set(test) in ({"in"}, {"not in"}) and isinstance(values := next(iter(test.values())), list):
            return AnyOf(_any_of(column, values).values, other="not in" in test)
        if test and set(test) <= {"from", "to"}:
            return _range((test.get("from"), test.get("to")), column)
        raise CertificateError(f"the condition on column {column!r} is not one that fugu writes")
    if isinstance(test, tuple):
        return _range(test, column)
    if isinstance(test, AbstractSet):
        return _any_of(column, sorted(test, key=str))
    return _any_of(column, test if isinstance(test, list) else [test])


def _any_of(column: str, values: Iterable[Any]) -> AnyOf:
    named = tuple(_plain(v) for v in values)
    numbers = all(isinstance(v, Real) and math.isfinite(v) for v in named)
    if not named or not (numbers or is_texts(named)):
        raise UsageError(f"the condition on column {column!r} must name categories, or else finite numbers")
    return AnyOf(named)


def _plain(value: Any) -> Any:
    """A number as int, bool or float, so that JSON can say it."""
    number = plain(value)
    return float(number) if isinstance(number, Real) and not isinstance(number, int) else number


def called(function: Callable[[Any], object], argument: object, rows: int) -> Mask:
    """The mask that a user's function returns; what it raises is not repeated, since it may quote a cell."""
    try:
        mask = np.asarray(function(argument))
    except Exception as error:
        raise UsageError(f"the function of a secret raised {type(error).__name__}; try it by itself") from None
    if mask.dtype != bool or mask.shape != (rows,):
        raise UsageError(
            f"the function of a secret must return {rows} truth values, got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def during(column: str, low: object, high: object) -> Within:
    """The range between two dates, or texts that spell them; None is an open end."""
    ends = [None if end is None else _moment(end, column) for end in (low, high)]
    if ends == [None, None] or (ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]):
        raise UsageError(f"the range on column {column!r} must have low < high, and at least one of them")
    words = tuple(None if end is None else text_of(end) for end in (low, high))
    return Within(ends[0], ends[1], (words[0], words[1]))


def _range(ends: tuple[Any, ...], column: str) -> Within:
    if len(ends) == 2 and any(isinstance(end, str | date | np.datetime64) for end in ends):
        return during(column, *ends)
    if len(ends) != 2 or not all(e is None or (isinstance(e, Real) and not math.isnan(e)) for e in ends):
        raise UsageError(
            f"the condition on column {column!r} is a tuple, so it must be (low, high) in numbers, dates or None; "
            "for categories give a set or a list"
        )
    low = None if ends[0] is None or ends[0] == -math.inf else ends[0]
    high = None if ends[1] is None or ends[1] == math.inf else ends[1]
    if (low is None and high is None) or (low is not None and high is not None and low >= high):
        raise UsageError(f"the range on column {column!r} must have low < high, and at least one of them")
    if any(end is not None and math.isinf(end) for end in (low, high)):
        raise UsageError(f"the range on column {column!r} can hold nothing")
    return Within(_plain(low), _plain(high))


def _moment(value: object, column: str) -> int:
    """The seconds of a date that a condition names."""
    found = seconds_of(value)
    if found is None:
        raise UsageError(f"the condition on column {column!r} must name dates, such as 2020-01-31")
    return found


def _seconds(column: Column) -> NDArray[np.int64]:
    """The moments of a column of dates, 0 where missing."""
    if column.origin is not None:
        days = column.values + (column.origin - EPOCH).days
        return np.asarray(np.rint(days * DAY), dtype=np.int64)
    if column.numeric and not column.missing.all():
        raise BadTable(f"the condition on column {column.name!r} names dates, but it holds numbers")
    codes, distinct = column.codes(ordered=False)
    found = [seconds_of(cell) for cell in distinct.tolist()]
    if unread := sum(seconds is None for seconds in found):
        raise BadTable(
            f"the condition on column {column.name!r} names dates, and {unread} of its {len(found)} different values "
            "are not; write dates as 2020-01-31, or leave the cell empty"
        )
    return np.array([*found, 0], dtype=np.int64)[codes]


def _number(value: object, column: str) -> Any:
    """The number that a category of a column of numbers is; a truth value for "True" and "False"."""
    if not isinstance(value, str):
        return value
    number = {"true": 1.0, "false": 0.0}.get(value.lower(), number_of(value))
    if not math.isfinite(number):
        raise BadTable(f"the condition on column {column!r} names text, but it holds numbers")
    return number


def _equal(values: NDArray[Any], number: Any) -> Mask:
    """values == number without passing through a double where the values are whole numbers."""
    if values.dtype == bool:
        return np.asarray(values.astype(np.float64) == float(number))
    if values.dtype.kind in "iu":
        limits = np.iinfo(values.dtype)
        if number != math.floor(number) or not limits.min <= number <= limits.max:
            return np.zeros(len(values), dtype=bool)
        return np.asarray(values == values.dtype.type(int(number)))
    return np.asarray(values == float(number))


def _below(values: NDArray[Any], end: Any) -> Mask:
    """values < end, exactly: for whole numbers x < end means x < ceil(end)."""
    if values.dtype.kind not in "iu":
        return np.asarray(values.astype(np.float64) < float(end))
    whole = math.ceil(end)
    if whole > np.iinfo(values.dtype).max:
        return np.ones(len(values), dtype=bool)
    if whole <= np.iinfo(values.dtype).min:
        return np.zeros(len(values), dtype=bool)
    return np.asarray(values < values.dtype.type(whole))


# What the texts of `protect` stand for: "age<65", "sex=Male", "born<1960-01-01", "visit:2020-01-01,2021-01-01".

_SIGNS = {**dict.fromkeys(("<", ">="), ("<", ">=", False)), **dict.fromkeys(("<=", ">"), ("<=", ">", True))}
"""The two sides that a comparison tells apart, and whether the number itself lies below the cut."""
_COMPARISON = re.compile(r"(?P<column>.+?)\s*(?P<sign><=|>=|<|>)\s*(?P<number>[^<>=]+)")
_EQUALITY = re.compile(r"(?P<column>.+?)\s*(?P<sign>!=|==?)\s*(?P<value>.+)")
_CUTS = re.compile(r"(?P<column>.+?)\s*:(?P<cuts>[^:]+)")
_A_DAY = len("2020-01-31")


Tests = dict[str, Test]
"""Tests on one column by name of the secret."""


def spelt(text: str, available: tuple[str, ...]) -> tuple[str, Tests, str | None] | None:
    """The column of the secrets that a text spells out, their tests, and the value that an equality names; None if it
    is of another form, such as a list of columns.

    An equality is two secrets, one pair, for = and for != alike: the column is that value, or anything else. Which of
    the other values it is stays outside the promise: they are one secret together.

    >>> list(spelt("sex!=Male", ("sex",))[1]), list(spelt("born<1960-01-01", ("born",))[1])
    (['sex = Male', 'sex != Male'], ['born < 1960-01-01', 'born >= 1960-01-01'])
    """
    plain = text.strip()
    compared, equal = _COMPARISON.fullmatch(plain), _EQUALITY.fullmatch(plain)
    if equal and (equal["column"] in available or not compared):
        column, value = known_column(equal["column"], available), equal["value"].strip()
        named: Tests = {f"{column} = {value}": AnyOf((value,)), f"{column} != {value}": AnyOf((value,), other=True)}
        return column, named, value
    if compared:
        column, end = known_column(compared["column"], available), compared["number"].strip()
        return column, _compared(text, column, compared["sign"], end), None
    if match := _CUTS.fullmatch(plain):
        column, ends = known_column(match["column"], available), [cut.strip() for cut in match["cuts"].split(",")]
        return column, _cuts(column, ends), None
    return None


def known_column(name: object, available: tuple[str, ...]) -> str:
    """The name, if there is a column of it; ColumnNotFound if not."""
    if name not in available:
        raise ColumnNotFound(str(name), available)
    return str(name)


def _spelt_number(text: str) -> float:
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{text!r} in protect must be a finite number, or a date such as 2020-01-31")
    return number


def _compared(text: str, column: str, sign: str, end: str) -> Tests:
    """Below and not below a number, or a date: a day is its midnight, and with <= and > the whole day is below."""
    below, above, beyond = _SIGNS[sign]
    if is_moment(end):
        cut = _moment(end, text) + (0 if not beyond else DAY if len(end) == _A_DAY else 1)
        first, second = Within(None, cut, (None, end)), Within(cut, None, (end, None))
        return {f"{column} {below} {end}": first, f"{column} {above} {end}": second}
    number = _spelt_number(end)
    if beyond and abs(number) > 2**53:
        raise UsageError(f"the number in {text!r} is too large for {sign}; use < or >=")
    place = math.nextafter(number, math.inf) if beyond else number
    return {f"{column} {below} {number}": Within(None, place), f"{column} {above} {number}": Within(place, None)}


def _cuts(column: str, ends: list[str]) -> Tests:
    """Stretches between numbers, or between dates if all are such."""
    dates = all(map(is_moment, ends))
    cuts: list[Any] = ends if dates else list(map(_spelt_number, ends))
    places = [_moment(end, column) for end in ends] if dates else cuts
    if any(a >= b for a, b in pairwise(places)):
        raise UsageError(f"the cut points of column {column!r} must be strictly increasing")

    def within(low: Any, high: Any) -> Test:
        return during(column, low, high) if dates else Within(low, high)

    tests = {f"{column} < {cuts[0]}": within(None, cuts[0])}
    tests |= {f"{a} <= {column} < {b}": within(a, b) for a, b in pairwise(cuts)}
    return {**tests, f"{column} >= {cuts[-1]}": within(cuts[-1], None)}
