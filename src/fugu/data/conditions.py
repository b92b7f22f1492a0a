"""What a row must satisfy for a secret to hold: exact tests on columns, and the texts that stand for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import singledispatch
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

# What a row must satisfy for a secret to hold: exact tests on columns, never true of a missing value.


Mask = NDArray[np.bool_]


@final
@dataclass(frozen=True)
class AnyOf:
    """The value is one of these categories or numbers."""

    values: tuple[Any, ...]

    def mask(self, column: Column) -> Mask:
        """Compared as categories are everywhere: "1", 1 and 1.0 are one in a column of numbers."""
        found = np.zeros(len(column), dtype=bool)
        if column.origin is not None:
            wanted_days = [_moment(value, column.name) for value in self.values]
            return np.isin(_seconds(column), wanted_days) & ~column.missing
        if column.numeric:
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
        return found & ~column.missing

    def to_json(self) -> object:
        return {"in": list(self.values)}


@final
@dataclass(frozen=True)
class NoneOf:
    """The value is there, and is none of these categories or numbers."""

    values: tuple[Any, ...]

    def mask(self, column: Column) -> Mask:
        return ~AnyOf(self.values).mask(column) & ~column.missing

    def to_json(self) -> object:
        return {"not in": list(self.values)}


@final
@dataclass(frozen=True)
class Within:
    """low <= value < high; None is an open end."""

    low: float | None
    high: float | None

    def mask(self, column: Column) -> Mask:
        if not column.numeric:
            raise BadTable(f"the condition on column {column.name!r} is a range, but the column holds text")
        if column.origin is not None:
            raise BadTable(f"column {column.name!r} holds dates; write the ends of its range like 2020-01-31")
        values, inside = column.values, ~column.missing
        if self.low is not None:
            inside &= ~_below(values, self.low)
        if self.high is not None:
            inside &= _below(values, self.high)
        return inside

    def to_json(self) -> object:
        return {"from": self.low, "to": self.high}


@final
@dataclass(frozen=True)
class During:
    """low <= moment < high, in whole seconds since 1970-01-01; None is an open end. `words` are the ends as written."""

    low: int | None
    high: int | None
    words: tuple[str | None, str | None]

    def mask(self, column: Column) -> Mask:
        """Of dates that were read as numbers, or of text whose every cell is a date."""
        seconds, inside = _seconds(column), ~column.missing
        if self.low is not None:
            inside &= seconds >= self.low
        if self.high is not None:
            inside &= seconds < self.high
        return inside

    def to_json(self) -> object:
        return {"from": self.words[0], "to": self.words[1]}


@final
@dataclass(frozen=True)
class Where:
    """A function of the column (float64, or objects for text) says for each row whether the secret holds."""

    function: Callable[[Any], object]

    def mask(self, column: Column) -> Mask:
        return called(self.function, column.array(), len(column)) & ~column.missing

    def to_json(self) -> object:
        return None


Test = AnyOf | NoneOf | Within | During | Where


def read_test(column: str, test: object) -> Test:
    """A value, a range (low, high), a set or list of values, a function, or what `to_json` wrote, as a test."""
    if callable(test):
        return Where(test)
    return _read(test, column)


@singledispatch
def _read(test: Any, column: str) -> Test:
    return _any_of(column, [test])


def _any_of(column: str, values: Iterable[Any]) -> AnyOf:
    named = tuple(_plain(v) for v in values)
    numbers = all(isinstance(v, Real) and math.isfinite(v) for v in named)
    if not named or not (numbers or is_texts(named)):
        raise UsageError(f"the condition on column {column!r} must name categories, or else finite numbers")
    return AnyOf(named)


@_read.register
def _(test: list, column: str) -> Test:  # type: ignore[type-arg]
    return _any_of(column, test)


@_read.register
def _(test: AbstractSet, column: str) -> Test:  # type: ignore[type-arg]
    return _any_of(column, sorted(test, key=str))


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


def during(column: str, low: object, high: object) -> During:
    """The range between two dates, or texts that spell them; None is an open end."""
    ends = [None if end is None else _moment(end, column) for end in (low, high)]
    if ends == [None, None] or (ends[0] is not None and ends[1] is not None and ends[0] >= ends[1]):
        raise UsageError(f"the range on column {column!r} must have low < high, and at least one of them")
    words = tuple(None if end is None else text_of(end) for end in (low, high))
    return During(ends[0], ends[1], (words[0], words[1]))


@_read.register(tuple)
def _range(ends: tuple[Any, ...], column: str) -> Within | During:
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


@_read.register(Mapping)
def _from_json(data: Mapping[str, Any], column: str) -> Test:
    if set(data) == {"in"} and isinstance(data["in"], list):
        return _any_of(column, data["in"])
    if set(data) == {"not in"} and isinstance(data["not in"], list):
        return NoneOf(_any_of(column, data["not in"]).values)
    if data and set(data) <= {"from", "to"}:
        return _range((data.get("from"), data.get("to")), column)
    raise CertificateError(f"the condition on column {column!r} is not one that fugu writes")


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
            "are none; write dates as 2020-01-31, or leave the cell empty"
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


@final
@dataclass(frozen=True)
class Spelt:
    """One column, and the tests on it by name of the secret; `value` is what an equality names."""

    column: str
    secrets: Mapping[str, Test]
    value: str | None = None

    @property
    def tests(self) -> dict[str, Mapping[str, Test]]:
        """The conditions of the secrets."""
        return {name: {self.column: test} for name, test in self.secrets.items()}


def spelt(text: str, available: tuple[str, ...]) -> Spelt | None:
    """The secrets that a text spells out; None if it is of another form, such as a list of columns.

    >>> list(spelt("sex!=Male", ("sex",)).secrets), list(spelt("born<1960-01-01", ("born",)).secrets)
    (['sex = Male', 'sex != Male'], ['born < 1960-01-01', 'born >= 1960-01-01'])
    """
    plain = text.strip()
    compared, equal = _COMPARISON.fullmatch(plain), _EQUALITY.fullmatch(plain)
    if equal and (equal["column"] in available or not compared):
        return _equality(_known(equal["column"], available), equal["value"].strip())
    if compared:
        column, end = _known(compared["column"], available), compared["number"].strip()
        if is_moment(end):
            return _dated(column, compared["sign"], end)
        return _comparison(text, column, compared["sign"], _spelt_number(end))
    if match := _CUTS.fullmatch(plain):
        column, ends = _known(match["column"], available), [cut.strip() for cut in match["cuts"].split(",")]
        return _dated_cuts(column, ends) if all(map(is_moment, ends)) else _cuts(column, list(map(_spelt_number, ends)))
    return None


def _known(name: str, available: tuple[str, ...]) -> str:
    if name not in available:
        raise ColumnNotFound(name, available)
    return name


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


def _equality(column: str, value: str) -> Spelt:
    """Whether the column is `value`, against that it is anything else: two secrets, one pair, for = and for != alike.

    Which of the other values it is stays outside the promise: they are one secret together."""
    return Spelt(column, {f"{column} = {value}": AnyOf((value,)), f"{column} != {value}": NoneOf((value,))}, value)


def _comparison(text: str, column: str, sign: str, number: float) -> Spelt:
    below, above, beyond = _SIGNS[sign]
    if beyond and abs(number) > 2**53:
        raise UsageError(f"the number in {text!r} is too large for {sign}; use < or >=")
    cut = math.nextafter(number, math.inf) if beyond else number
    tests = {f"{column} {below} {number}": Within(None, cut), f"{column} {above} {number}": Within(cut, None)}
    return Spelt(column, tests)


def _cuts(column: str, cuts: list[float]) -> Spelt:
    if any(a >= b for a, b in pairwise(cuts)):
        raise _not_increasing(column)
    tests = {f"{column} < {cuts[0]}": Within(None, cuts[0])}
    tests |= {f"{a} <= {column} < {b}": Within(a, b) for a, b in pairwise(cuts)}
    return Spelt(column, {**tests, f"{column} >= {cuts[-1]}": Within(cuts[-1], None)})


def _dated(column: str, sign: str, end: str) -> Spelt:
    """Before and not before a date. A day is its midnight; with <= and > the whole day belongs to what is before."""
    below, above, beyond = _SIGNS[sign]
    seconds = seconds_of(end)
    assert seconds is not None
    cut = seconds + (0 if not beyond else DAY if len(end) == _A_DAY else 1)
    first, second = During(None, cut, (None, end)), During(cut, None, (end, None))
    return Spelt(column, {f"{column} {below} {end}": first, f"{column} {above} {end}": second})


def _dated_cuts(column: str, ends: list[str]) -> Spelt:
    if any((seconds_of(a) or 0) >= (seconds_of(b) or 0) for a, b in pairwise(ends)):
        raise _not_increasing(column)
    tests = {f"{column} < {ends[0]}": during(column, None, ends[0])}
    tests |= {f"{a} <= {column} < {b}": during(column, a, b) for a, b in pairwise(ends)}
    return Spelt(column, {**tests, f"{column} >= {ends[-1]}": during(column, ends[-1], None)})


def _not_increasing(column: str) -> UsageError:
    return UsageError(f"the cut points of column {column!r} must be strictly increasing")
