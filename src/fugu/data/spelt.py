"""What the texts of `protect` stand for: "age<65", "sex=Male", "born<1960-01-01", "visit:2020-01-01,2021-01-01"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from fugu.data.conditions import AnyOf, During, NoneOf, Test, Within, during
from fugu.data.moments import DAY, is_moment, seconds_of
from fugu.errors import ColumnNotFound, UsageError

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
        return _comparison(text, column, compared["sign"], _number(end))
    if match := _CUTS.fullmatch(plain):
        column, ends = _known(match["column"], available), [cut.strip() for cut in match["cuts"].split(",")]
        return _dated_cuts(column, ends) if all(map(is_moment, ends)) else _cuts(column, list(map(_number, ends)))
    return None


def _known(name: str, available: tuple[str, ...]) -> str:
    if name not in available:
        raise ColumnNotFound(name, available)
    return name


def _number(text: str) -> float:
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
