"""One cell by itself: the number or the category it stands for, whatever it is.

Both readings are total functions of the cell alone. No other cell, no type that an engine guessed for the column and no
cell whatever makes them raise: this is what keeps one person's record from deciding how another one is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

OTHER = "(other)"
"""What a cell becomes that is none of the declared categories, unless the schema names another one."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_LONGEST = 1000
"""No number of more characters is told apart from its neighbours, and none is worked out."""
_MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")
TRUTHS = {"false": 0.0, "true": 1.0}
_SCALARS = (np.number, np.bool_, np.character, Decimal, Fraction, bytes)
ABSENT = ("", "na", "n/a", "null", "none")
"""Words that mean "missing" wherever no schema says which do."""
_TIMES = (np.datetime64, np.timedelta64, date, time, timedelta)


@singledispatch
def is_missing(cell: object) -> bool:
    """None, NaN in any type, and the marks of numpy and pandas; a text is missing only if the schema says so."""
    return cell is None or type(cell).__name__ in _MISSING_TYPES


@is_missing.register
def _(cell: Decimal) -> bool:
    return cell.is_nan()


@is_missing.register
def _(cell: np.datetime64 | np.timedelta64) -> bool:
    return bool(np.isnat(cell))


@is_missing.register
def _(cell: complex | np.complexfloating) -> bool:
    return cell.imag == 0 and is_missing(cell.real)


@is_missing.register
def _(cell: float | np.floating) -> bool:
    return bool(np.isnan(cell))


@singledispatch
def number_of(cell: object, decimal: str = ".") -> float:  # noqa: ARG001 - the mark of texts
    """The double nearest to the number that a cell is or spells; NaN if it is none. Never raises.

    >>> number_of("1e3"), number_of(" 2,5 ", decimal=","), number_of(True), number_of("V27.0")
    (1000.0, 2.5, 1.0, nan)
    """
    return math.nan


@number_of.register
def _(cell: str, decimal: str = ".") -> float:
    return _spelt(str.strip(cell), decimal)


@number_of.register
def _(cell: bytes, decimal: str = ".") -> float:
    return _spelt(cell.decode("utf-8", "replace").strip(), decimal)


@number_of.register
def _(cell: bool | int | float | np.bool_ | np.integer | Fraction, decimal: str = ".") -> float:  # noqa: ARG001
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


@number_of.register
def _(cell: np.floating, decimal: str = ".") -> float:  # noqa: ARG001
    return float(str(cell)) if cell.itemsize < 8 else float(cell)  # a short float means its shortest decimal


@number_of.register
def _(cell: np.timedelta64, decimal: str = ".") -> float:  # noqa: ARG001 - numpy counts it among the integers
    return math.nan


@number_of.register
def _(cell: complex | np.complexfloating, decimal: str = ".") -> float:  # noqa: ARG001
    """One complex cell makes complex numbers of all in an array."""
    return number_of(cell.real) if cell.imag == 0 else math.nan


@number_of.register
def _(cell: Decimal, decimal: str = ".") -> float:  # noqa: ARG001
    return math.nan if cell.is_nan() else float(cell)


def meant(cell: object, decimal: str = ".") -> float:
    """`number_of`, and 1 and 0 for the words "true" and "false": one text makes an engine spell truth values out.

    >>> meant("True"), meant("false"), meant("yes")
    (1.0, 0.0, nan)
    """
    truth = TRUTHS.get(text_of(cell).lower())
    return number_of(cell, decimal) if truth is None else truth


@singledispatch
def text_of(cell: object) -> str:
    """A cell that is not missing, as the text of a category; numbers in the one form of `number_text`. Never raises.

    >>> text_of(" F "), text_of(2.0), text_of(2), text_of(0.1), text_of([1, 2])
    ('F', '2', '2', '0.1', '(other)')
    """
    number = number_of(cell)
    return OTHER if math.isnan(number) else number_text(number)


@text_of.register
def _(cell: str) -> str:
    return str.strip(cell)


@text_of.register
def _(cell: bytes) -> str:
    return cell.decode("utf-8", "replace").strip()


@text_of.register
def _(cell: bool | np.bool_) -> str:
    return str(bool(cell))


@text_of.register
def _(cell: int | np.integer) -> str:
    whole = int(cell)
    return str(whole) if whole.bit_length() <= 3 * _LONGEST else OTHER


@text_of.register
def _(cell: np.datetime64 | np.timedelta64 | timedelta) -> str:  # numpy counts the second among the integers
    return str(cell)


@text_of.register
def _(cell: date | time) -> str:
    try:
        return cell.isoformat()
    except Exception:  # a zone is an object of somebody else's
        return OTHER


@text_of.register
def _(cell: Decimal) -> str:
    if cell.is_finite() and abs(cell.adjusted()) <= _LONGEST:
        exact = format(cell, "f")
        return (exact.rstrip("0").rstrip(".") if "." in exact else exact) or "0"
    number = number_of(cell)
    return OTHER if math.isnan(number) else number_text(number)


def number_text(number: float) -> str:
    """The one text of a double as a category: 2 and 2.0 are "2", 0.1 is "0.1".

    >>> number_text(1234567.0), number_text(-0.0), number_text(1e22)
    ('1234567', '0', '1e+22')
    """
    if number == math.floor(number) and abs(number) < 1e16 if math.isfinite(number) else False:
        return str(int(number))
    return repr(number + 0.0)


def _spelt(text: str, decimal: str) -> float:
    if decimal != ".":
        if "." in text:
            return math.nan
        text = text.replace(decimal, ".")
    return float(text) if len(text) <= _LONGEST and _NUMBER.fullmatch(text) else math.nan


def distinct(cells: Iterable[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different cells, told apart by type and value, and the place of each row among them.

    What is no plain value (a list, an object with its own ideas of equality) is not compared, but stands as OTHER;
    times are told apart by their text, as one instant may be written in two ways."""
    place: dict[Any, int] = {}
    found: list[Any] = []
    codes = []
    for item in cells:
        kind = type(item)
        cell = item if kind is str or kind is int else _plain(item)
        kind = type(cell)
        key: Any = cell if kind is str else (kind, text_of(cell) if isinstance(cell, _TIMES) else cell)
        number = place.setdefault(key, len(found))
        if number == len(found):
            found.append(cell)
        codes.append(number)
    return found, np.array(codes, dtype=np.int64)


@singledispatch
def _plain(cell: Any) -> Any:
    """None if missing (NaN equals nothing, and a signalling one cannot be hashed); OTHER if not a plain value.

    A subclass of text or of numbers (an enumeration) is what it holds, whatever it says of itself."""
    return None if is_missing(cell) else OTHER


@_plain.register
def _(cell: bool) -> Any:
    return cell


@_plain.register
def _(cell: str) -> Any:
    return str.__str__(cell)


@_plain.register
def _(cell: int) -> Any:
    return int.__pos__(cell)


@_plain.register
def _(cell: float) -> Any:
    return None if is_missing(cell) else float.__pos__(cell)


@_plain.register
def _(cell: complex | np.complexfloating) -> Any:
    """What an engine makes of all numbers if one of them is complex."""
    return OTHER if cell.imag != 0 else None if np.isnan(cell.real) else float(cell.real)


def _as_it_is(cell: Any) -> Any:
    return None if is_missing(cell) else cell


for _kind in (*_SCALARS, *_TIMES):
    _plain.register(_kind, _as_it_is)


def is_time(cell: object) -> bool:
    """Whether a cell is a date or a time of day."""
    return isinstance(cell, datetime | date | time | np.datetime64)
