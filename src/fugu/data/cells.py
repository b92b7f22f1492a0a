"""One cell by itself: the number or the category it stands for; declared categories, and counts of values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar, final

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

# Readings are total functions of the cell alone. No other cell, no type that an engine guessed for the column and no
# cell whatever makes them raise: this is what keeps one person's record from deciding how another one is read.

OTHER = "(other)"
"""What a cell becomes that is none of the declared categories, unless the schema names another one."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_LONGEST = 1000
"""No number of more characters is told apart from its neighbours, and none is worked out."""
_MISSING_TYPES = ("NAType", "NaTType", "MaskedConstant")
TRUTHS = {"false": 0.0, "true": 1.0}
ABSENT = ("", "na", "n/a", "null", "none")
"""Words that mean "missing" wherever no schema says which do."""
_TEXTS, _TRUTHS, _COMPLEX = (str, bytes), (bool, np.bool_), (complex, np.complexfloating)
_SPANS = (np.datetime64, np.timedelta64, timedelta)
"""What is written as `str` writes it; numpy counts its spans among the integers."""
_TIMES = (*_SPANS, date, time)
_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction)
_SCALARS = (np.number, np.bool_, np.character, Decimal, Fraction, bytes, *_TIMES)


def is_missing(cell: Any) -> bool:
    """None, NaN in any type, and the marks of numpy and pandas; a text is missing only if the schema says so."""
    kind = type(cell)
    if kind is str or kind is int:  # nearly all cells there are
        return False
    if issubclass(kind, Decimal):
        return bool(cell.is_nan())
    if issubclass(kind, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    if issubclass(kind, _COMPLEX):
        return bool(cell.imag == 0 and np.isnan(cell.real))
    if issubclass(kind, float | np.floating):
        return bool(np.isnan(cell))
    return cell is None or kind.__name__ in _MISSING_TYPES


def number_of(cell: Any, decimal: str = ".") -> float:
    """The double nearest to the number that a cell is or spells; NaN if it is none. Never raises.

    `decimal`: the mark of texts. One complex cell makes complex numbers of all in an array: those are their real part.

    >>> number_of("1e3"), number_of(" 2,5 ", decimal=","), number_of(True), number_of(2 + 0j), number_of("V27.0")
    (1000.0, 2.5, 1.0, 2.0, nan)
    """
    kind, found = type(cell), math.nan
    if issubclass(kind, _TEXTS):
        text = text_of(cell)
        if decimal != ".":
            text = "" if "." in text else text.replace(decimal, ".")
        found = float(text) if len(text) <= _LONGEST and _NUMBER.fullmatch(text) else math.nan
    elif issubclass(kind, _COMPLEX):
        found = number_of(cell.real) if cell.imag == 0 else math.nan
    elif issubclass(kind, np.floating) and cell.itemsize < 8:
        found = float(str(cell))  # a short float means its shortest decimal
    elif issubclass(kind, _NUMBERS) and not issubclass(kind, np.timedelta64) and not is_missing(cell):
        try:
            found = float(cell)
        except OverflowError:
            found = math.inf if cell > 0 else -math.inf
    return found


def meant(cell: object, decimal: str = ".") -> float:
    """`number_of`, and 1 and 0 for the words "true" and "false": one text makes an engine spell truth values out.

    >>> meant("True"), meant("false"), meant("yes")
    (1.0, 0.0, nan)
    """
    truth = TRUTHS.get(text_of(cell).lower())
    return number_of(cell, decimal) if truth is None else truth


def text_of(cell: Any) -> str:
    """A cell that is not missing, as the text of a category; numbers in the one form of `number_text`. Never raises.

    >>> text_of(" F "), text_of(2.0), text_of(2), text_of(0.1), text_of([1, 2])
    ('F', '2', '2', '0.1', '(other)')
    """
    kind, found = type(cell), OTHER
    if kind is int and cell.bit_length() <= 3 * _LONGEST:
        found = str(cell)
    elif issubclass(kind, _TEXTS):
        found = str.strip(cell) if issubclass(kind, str) else cell.decode("utf-8", "replace").strip()
    elif issubclass(kind, _TRUTHS):
        found = str(bool(cell))
    elif issubclass(kind, _SPANS):
        found = str(cell)
    elif issubclass(kind, date | time):
        with suppress(Exception):  # a zone is an object of somebody else's
            found = cell.isoformat()
    elif issubclass(kind, int | np.integer):
        whole = int(cell)
        found = str(whole) if whole.bit_length() <= 3 * _LONGEST else OTHER
    elif issubclass(kind, Decimal) and cell.is_finite() and abs(cell.adjusted()) <= _LONGEST:
        exact = format(cell or Decimal(0), "f")  # zeros are one number, whatever their signs
        found = (exact.rstrip("0").rstrip(".") if "." in exact else exact) or "0"
    elif not math.isnan(number := number_of(cell)):
        found = number_text(number)
    return found


def number_text(number: float) -> str:
    """The one text of a double as a category: 2 and 2.0 are "2", 0.1 is "0.1".

    >>> number_text(1234567.0), number_text(-0.0), number_text(1e22)
    ('1234567', '0', '1e+22')
    """
    if number == math.floor(number) and abs(number) < 1e16 if math.isfinite(number) else False:
        return str(int(number))
    return repr(number + 0.0)


_APART = {str, int, type(None)}
"""Types of which Python takes no two cells for equal that differ."""


def distinct(cells: Iterable[Any]) -> tuple[list[Any], NDArray[np.int64]]:
    """The different cells, told apart by type and value, and the place of each row among them.

    What is no plain value (a list, an object with its own ideas of equality) is not compared, but stands as OTHER;
    times are told apart by their text, as one instant may be written in two ways."""
    cells = cells if isinstance(cells, list) else list(cells)
    place: dict[Any, int] = {}
    if set(map(type, cells)) <= _APART:
        place = {cell: number for number, cell in enumerate(dict.fromkeys(cells))}
        return list(place), np.fromiter(map(place.__getitem__, cells), dtype=np.int64, count=len(cells))
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


def _plain(cell: Any) -> Any:
    """None if missing (NaN equals nothing, and a signalling one cannot be hashed); OTHER if not a plain value.

    A subclass of text or of numbers (an enumeration) is what it holds, whatever it says of itself. What an engine makes
    of all numbers if one of them is complex is its real part."""
    kind = type(cell)
    if issubclass(kind, str):
        return str.__str__(cell)
    if issubclass(kind, int):
        return cell if kind is bool else int.__pos__(cell)
    if issubclass(kind, _COMPLEX):
        return OTHER if cell.imag != 0 else None if np.isnan(cell.real) else float(cell.real)
    if is_missing(cell):
        return None
    if issubclass(kind, _SCALARS):
        return cell
    return float.__pos__(cell) if issubclass(kind, float) else OTHER


_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@final
class Categories:
    """Declared categories, and the place of any text among them: the one comparison of categories there is.

    A text is a category if it is its name to the letter; else if it spells the same number ("1" and "1.0"), truth
    value ("true", "True") or time (a day is its midnight). If two categories are the same number, only the letters
    of numbers count, and a cell that is a number, whatever its column is, has the letters of its one form: which
    dtype an engine gives a column may depend on one cell of it. Where there are no categories but True and False,
    these are the numbers 1 and 0: one missing cell makes an engine turn them into those.

    >>> Categories(["1.0", "V27.0", "True"]).places(["1", "V27", "true"]).tolist()
    [0, -1, 2]
    >>> Categories(["250.0", "250.00"]).places(["250.00", "250"]).tolist()
    [1, -1]
    """

    def __init__(self, values: Sequence[str], decimal: str = ".") -> None:
        self.values, self.decimal = tuple(values), decimal
        self._place = {value: i for i, value in enumerate(self.values)}
        reading = meant if set(self.values) <= {"False", "True"} else number_of
        spelt = [(reading(value, decimal), reading(value)) for value in self.values]
        numbers = self.numbers = tuple(plain if math.isnan(own) else own for own, plain in spelt)
        """What the categories are as numbers, in the file's notation or with a point; NaN for those that are none."""
        known = [x for x in numbers if not math.isnan(x)]
        self.twins = len(set(known)) < len(known)
        """Whether two categories are the same number, so that only their letters tell them apart."""
        self._numbers = {} if self.twins else {x: i for i, x in enumerate(numbers) if not math.isnan(x)}
        times = [_time_text(value) for value in self.values]
        self._times = {text: i for i, text in enumerate(times) if text is not None and times.count(text) == 1}

    def place(self, text: str, number: float | None = None) -> int:
        """The place of one text, -1 if it is none of the categories; `number` is given if the cell was one."""
        found = self._place.get(text, -1)
        if found < 0 and (word := text.lower()) in TRUTHS:
            found = max(self._place.get(word.capitalize(), -1), self._place.get(word, -1))
        if found < 0 and self._numbers:
            found = self._numbers.get(meant(text, self.decimal) if number is None else number, -1)
        if found < 0 and self._times:
            found = self._times.get(_time_text(text) or "", -1)
        return found

    def places(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """The place of each text, -1 where it is none."""
        return np.array([self.place(text) for text in texts], dtype=np.int64)


def _time_text(text: str) -> str | None:
    """A time in one form, a day for midnight; None if the text begins with no day.

    >>> _time_text("2020-01-01T00:00:00.000"), _time_text("2020-01-01 03:00"), _time_text("V27")
    ('2020-01-01', '2020-01-01 03:00:00', None)
    """
    if _DAY.match(text) is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    whole = found.isoformat(" ")
    return whole.removesuffix(" 00:00:00") if found.tzinfo is None else whole


Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Places of the values that occur, and how often each does."""


def tallied(values: NDArray[T], rows: NDArray[np.int64] | None = None) -> tuple[NDArray[T], NDArray[np.int64]]:
    """The different values in order, and how often each occurs; `rows`: how many rows each one stands for.

    >>> tallied(np.array([7, 5, 7]), np.array([1, 10, 100]))
    (array([5, 7]), array([ 10, 101]))
    """
    if rows is None:
        found, often = np.unique(values, return_counts=True)
        return found, often.astype(np.int64)
    found, places = np.unique(values, return_inverse=True)
    often = np.zeros(len(found), dtype=np.int64)  # whole numbers: no order and no partition of the rows shows
    np.add.at(often, places.reshape(-1), rows)
    return found, often


def added(places: NDArray[np.int64], numbers: NDArray[Any], size: int) -> tuple[NDArray[np.int64], list[int]]:
    """The sum of the whole numbers at each of the places 0 .. size - 1: the places where it is not 0, and the sums.

    >>> added(np.array([3, 1, 3]), np.array([2, 5, 4]), 9)
    (array([1, 3]), [5, 6])
    """
    found = np.arange(size)
    if size > 4 * len(places) + _FEW:  # most places are empty
        found, places = np.unique(places, return_inverse=True)
    sums = np.zeros(len(found), dtype=numbers.dtype)
    np.add.at(sums, places.reshape(-1), numbers)
    there = np.flatnonzero(sums)
    return found[there], sums[there].tolist()


_FEW = 2**16


def middle(values: NDArray[T], rows: NDArray[np.int64] | None = None) -> T:
    """The lower median of at least one value; `rows`: how many rows each one stands for.

    >>> int(middle(np.array([3, 1, 2, 9]))), int(middle(np.array([3, 1]), np.array([1, 1]))), \
    int(middle(np.array([3, 1]), np.array([2, 1])))
    (2, 1, 3)
    """
    if rows is None:
        half = (len(values) - 1) // 2
        low: T = np.partition(values, half)[half]
        return low
    found, often = tallied(values, rows)
    ends = np.cumsum(often)
    chosen: T = found[np.searchsorted(ends, (ends[-1] - 1) // 2, "right")]
    return chosen


def count_pairs(
    groups: NDArray[np.int64], places: NDArray[np.int64], size: int, rows: NDArray[np.int64] | None = None
) -> dict[int, Counts]:
    """For each group >= 0: which of the `size` places occur in it, and how often; O(n log n), by one sort.

    `rows`: how many rows each entry stands for.

    >>> count_pairs(np.array([0, 1, 0, -1]), np.array([2, 2, 2, 0]), 3)
    {0: (array([2]), array([2])), 1: (array([2]), array([1]))}
    """
    inside = groups >= 0
    joint = groups[inside] * np.int64(max(size, 1)) + places[inside]
    keys, counts = tallied(joint, None if rows is None else rows[inside])
    owners = keys // max(size, 1)
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    ends = np.append(starts, len(keys))[1:]
    return {
        int(owners[a]): (keys[a:b] - owners[a] * size, counts[a:b])
        for a, b in zip(starts.tolist(), ends.tolist(), strict=True)
    }


# Names of people, compared by an engine: those that have one spelling alone, so that other texts are other people. "1",
# "01" and "1.0" may be one person, and so may "True" and "true": such names are read by Python, one by one.

STRANGE = "[^!-~]"
"""What a plain name has none of."""
ITSELF = "^(?:[A-Za-z][!-~]*|0|[1-9][0-9]{0,14})$"
"""A plain name that is spelled in one way, if it is none of the `plain_words`."""


def plain_words(absent: Collection[str]) -> list[str]:
    """Words, in small letters, that are no names of their own: for a missing cell, and of truth."""
    return ["", "true", "false", *(word.casefold() for word in absent if re.search(STRANGE, word) is None)]
