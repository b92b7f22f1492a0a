"""`Column`: one column of a table, held exactly, with a mask of what is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import is_missing, number_of
from fugu.data.raw import Raw
from fugu.errors import BadTable

_ABSENT = ("", "na", "n/a", "nan", "null", "none", "?", ".")
"""Words that mean "missing" in a column of a public CSV file whose other cells are numbers; in text only "" does."""
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBERS = (bool, int, float, Decimal, Fraction, np.integer, np.floating, np.bool_)
_LARGEST_EXACT = 2.0**53


@final
@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Values as bool, int64, uint64 or float64 (numbers) or as objects (text): never wrapped.

    `exact` is False when two numbers of the source became one double (long decimals, 128-bit integers).

    >>> Column.of("age", [40, None, 2**63]).floats()
    array([4.00000000e+01,            nan, 9.22337204e+18])
    >>> Column.of("sex", ["F", None, "M"]).codes()
    (array([ 0, -1,  1]), array(['F', 'M'], dtype=object))
    """

    name: str
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    exact: bool = True

    @staticmethod
    def of(name: str, data: object) -> Column:
        """A column from a list, a numpy array (masked or not) or a series; it must be numbers or text."""
        if isinstance(data, Column):
            return Column(name, data.values, data.missing, data.exact)
        if isinstance(data, Raw):
            return _from_texts(name, data)
        if isinstance(data, np.ndarray):
            return _from_array(name, data)
        series = nw.from_native(data, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            return _from_series(name, series)
        if hasattr(data, "to_pylist"):
            return _from_list(name, data.to_pylist())
        if isinstance(data, str | bytes) or not isinstance(data, Iterable):
            raise BadTable(f"column {name!r} must be a list, an array or a series, got {type(data).__name__}")
        return _from_list(name, list(data))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {len(self)} rows)"

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers or truth values; one with nothing in it counts as numbers."""
        return self.values.dtype != object

    def floats(self) -> NDArray[np.float64]:
        """The numbers as doubles, each the nearest one, NaN where missing."""
        if not self.numeric:
            raise BadTable(f"column {self.name!r} holds text where numbers are needed")
        numbers = self.values.astype(np.float64)
        numbers[self.missing] = np.nan
        return numbers

    def array(self) -> NDArray[Any]:
        """`floats()` of a column of numbers; the text itself, None where missing, of a column of text."""
        return self.floats() if self.numeric else self.values

    def codes(self, ordered: bool = True, strict: bool = True) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Each row's place among the distinct values, -1 if missing; and these values, sorted on demand.

        `strict`: refuse numbers that doubles may have joined; not for columns read through a schema, which says that
        they are doubles."""
        if strict:
            self.require_exact()
        present = self.values[~self.missing]
        if self.numeric:
            distinct, found = np.unique(present, return_inverse=True)
        else:
            distinct, found = _text_codes(present, ordered)
        codes = np.full(len(self), -1, dtype=np.int64)
        codes[~self.missing] = found
        return codes, distinct

    def require_exact(self) -> None:
        """Refuse where telling values apart matters and doubles may have joined two of them."""
        doubles = self.values.dtype == np.float64
        if not self.exact or (doubles and bool(np.any(np.abs(self.values[~self.missing]) > _LARGEST_EXACT))):
            raise BadTable(
                f"column {self.name!r} holds numbers with more digits than a double, so two may look equal; "
                "store them as text"
            )


def _from_texts(name: str, raw: Raw) -> Column:
    """A column of a text file: numbers if all its cells are, but for words that mean "missing"; else text.

    The numbers are the narrowest of int64, uint64 and float64 that hold every cell. For public tables only: what one
    cell says decides how the others are read. Private tables are read through a schema."""
    cells, codes = raw.factors()
    texts = [str.strip(cell) for cell in cells]
    known = [None if text.lower() in _ABSENT else text for text in texts]
    words = [text for text in known if text is not None]
    numbers = [number_of(text) for text in words]
    if any(math.isnan(x) for x in numbers) or (any(texts) and not words):
        found: list[Any] = [text or None for text in texts]
        return _from_list(name, [found[code] for code in codes.tolist()])
    whole = [int(text) for text in words if _WHOLE.fullmatch(text)]
    fits = len(whole) == len(words) and (not whole or (min(whole) >= -(2**63) and max(whole) < 2**64))
    dtype = np.float64 if not fits else np.uint64 if max(whole, default=0) >= 2**63 else np.int64
    if dtype == np.uint64 and min(whole) < 0:
        dtype = np.float64
    each = np.zeros(len(texts), dtype=dtype)
    each[[text is not None for text in known]] = whole if dtype != np.float64 else numbers
    missing = np.array([text is None for text in known], dtype=bool)
    exact = dtype != np.float64 or len(set(whole)) == len({float(x) for x in whole})
    return Column(name, each[codes] + dtype(0), missing[codes], exact)


def _from_series(name: str, series: nw.Series[Any]) -> Column:
    if series.dtype.is_temporal():
        raise _dates(name)
    raw = Raw.of(name, series)
    if raw.array is None or raw.masked is None:
        return _from_list(name, series.to_list())
    return _from_array(name, np.ma.array(raw.array, mask=raw.masked))


def _from_array(name: str, array: NDArray[Any]) -> Column:
    if array.ndim != 1:
        raise BadTable(f"column {name!r} must have one dimension, got shape {array.shape}")
    masked = np.ma.getmaskarray(array).copy()
    plain = np.asarray(np.ma.getdata(array))
    kind = plain.dtype.kind
    if kind == "b":
        return Column(name, plain, masked)
    if kind in "iu":
        return Column(name, plain.astype(np.int64 if kind == "i" else np.uint64), masked)
    if kind == "f":
        with np.errstate(over="ignore"):
            numbers = plain.astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
        missing = masked | np.isnan(numbers)
        numbers[missing] = 0.0
        return Column(name, numbers, missing, exact=plain.dtype.itemsize <= 8)
    if kind in "Mm":
        raise _dates(name)
    if kind in "UTO":
        items = plain.astype(object)
        items[masked] = None
        return _from_list(name, items.tolist())
    raise BadTable(f"column {name!r} must hold numbers or text, got {plain.dtype}")


def _from_list(name: str, items: list[Any]) -> Column:
    kinds = set(map(type, items))
    if kinds == {float}:
        return _from_array(name, np.array(items, dtype=np.float64))
    if kinds <= {str, int, bool}:
        missing, present = np.zeros(len(items), dtype=bool), items
    else:
        missing = np.fromiter((is_missing(v) for v in items), dtype=bool, count=len(items))
        present = [v for v, gone in zip(items, missing.tolist(), strict=True) if not gone]
        kinds = set(map(type, present))
    if kinds and all(issubclass(k, str) for k in kinds):
        text = np.full(len(items), None, dtype=object)
        text[~missing] = present
        text.setflags(write=False)
        return Column(name, text, missing)
    if all(issubclass(k, _NUMBERS) for k in kinds):
        numbers, exact = _numbers(present, kinds)
        values = np.zeros(len(items), dtype=numbers.dtype)
        values[~missing] = numbers
        return Column(name, values, missing, exact)
    if all(issubclass(k, (*_NUMBERS, str)) for k in kinds):
        raise BadTable(f"column {name!r} mixes numbers and text; make all of it numbers, or all of it text")
    if any(hasattr(k, "isoformat") or hasattr(k, "total_seconds") for k in kinds):
        raise _dates(name)
    found = ", ".join(sorted(k.__name__ for k in kinds))
    raise BadTable(f"column {name!r} must hold numbers or text, got {found}")


def _numbers(present: list[Any], kinds: set[type]) -> tuple[NDArray[Any], bool]:
    """The narrowest exact array for these numbers, else the nearest doubles and whether they still differ."""
    if kinds and all(issubclass(k, bool | np.bool_) for k in kinds):
        return np.array(present, dtype=bool), True
    if kinds and all(issubclass(k, bool | np.bool_ | int | np.integer) for k in kinds):
        low, high = int(min(present)), int(max(present))
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                return np.array([int(v) for v in present], dtype=dtype), True
    numbers = np.fromiter((_nearest(v) for v in present), dtype=np.float64, count=len(present)) + 0.0
    return numbers, len(set(present)) == len(set(numbers.tolist()))


def _nearest(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _text_codes(present: NDArray[Any], ordered: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    place: dict[str, int] = {}
    numbered = (place.setdefault(text, len(place)) for text in present.tolist())
    found = np.fromiter(numbered, dtype=np.int64, count=len(present))
    distinct = np.empty(len(place), dtype=object)
    distinct[:] = list(place)
    if not ordered:
        return distinct, found
    order = np.argsort(distinct, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[found]


def _dates(name: str) -> BadTable:
    return BadTable(
        f"column {name!r} holds dates or times, which are not numbers; "
        "turn them into numbers (days since some day) or into text"
    )
