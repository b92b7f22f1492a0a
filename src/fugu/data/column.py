"""`Column`: one column of a table, held exactly, with a mask of what is missing; `Raw`: as its engine hands it over."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import ABSENT, OTHER, distinct, is_missing, number_of, tallied
from fugu.errors import BadTable, MissingExtra
from fugu.numbers.checks import is_iterable
from fugu.visible import several


@final
@dataclass(frozen=True, eq=False, repr=False)
class Raw:
    """Either an array of numbers or truth values with a mask of what is missing, or different cells and each row's
    place among them.

    >>> Raw.of("x", ["a", 1, None, "a"]).cells, Raw.of("x", ["a", 1, None, "a"]).codes.tolist()
    (['a', 1, None], [0, 1, 2, 0])
    """

    array: NDArray[Any] | None = None
    masked: NDArray[np.bool_] | None = None
    cells: list[Any] | None = None
    codes: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None
    """How many rows each one stands for, of a table that was counted; None where it is one."""

    @staticmethod
    def of(name: str, data: object) -> Raw:
        """From a list, a numpy array (a mask means missing) or a series of any engine; looks at no cell's meaning."""
        if isinstance(data, Raw):
            return data
        cells = handed_over(name, data)
        if not isinstance(cells, np.ndarray):
            return Raw(None, None, *distinct(cells))
        masked, plain = np.ma.getmaskarray(cells).copy(), np.asarray(np.ma.getdata(cells))
        if plain.dtype.kind in "biu" or (plain.dtype.kind == "f" and plain.dtype.itemsize >= 8):
            return Raw(plain, masked)
        listed = list(plain) if plain.dtype.kind in "fMm" else plain.tolist()
        if masked.any():
            listed = [None if gone else cell for cell, gone in zip(listed, masked.tolist(), strict=True)]
        return Raw(None, None, *distinct(listed))

    @staticmethod
    def joined(parts: Sequence[Raw]) -> Raw:
        """The rows of all, one after the other."""
        kinds = {None if part.array is None else part.array.dtype for part in parts}
        if len(kinds) == 1 and None not in kinds:
            array, masked = (np.concatenate([getattr(part, name) for part in parts]) for name in ("array", "masked"))
            return Raw(array, masked)
        return Raw(None, None, *distinct(cell for part in parts for cell in part.to_list()))

    def __len__(self) -> int:
        return len(self.array) if self.array is not None else len(self.codes if self.codes is not None else ())

    @cached_property
    def plain(self) -> bool:
        """Whether all cells are letters and digits of ASCII that are no number, no truth value and no usual word for a
        missing cell, whoever reads them: texts as they are, each in its one spelling."""
        cells = self.cells or []
        return {*map(type, cells)} == {str} and _PLAIN.fullmatch("\n".join(cells) + "\n") is not None

    def factors(self) -> tuple[list[Any], NDArray[np.int64]]:
        """Different cells, and the place of each row among them."""
        if self.array is None or self.masked is None:
            return self.cells or [], np.asarray(self.codes)
        values, codes = np.unique(self.array, return_inverse=True)
        found = [*values.tolist(), None]
        return found, np.where(self.masked, len(values), codes).astype(np.int64)

    def to_list(self) -> list[Any]:
        """The cells, row by row, None where masked."""
        cells, codes = self.factors()
        return [cells[code] for code in codes.tolist()]


def handed_over(name: str, data: Any, whole: bool = False) -> NDArray[Any] | Iterable[Any]:
    """A column as an array (a mask means missing), or as its cells, one by one: of a list, an array, a series of any
    engine or pyarrow's. A cell that its engine cannot hand over is no plain value; `whole`: then nothing is."""
    if isinstance(data, np.ndarray) and data.ndim != 1:
        raise BadTable(f"column {name!r} must have one dimension, got shape {data.shape}")
    if isinstance(data, np.ndarray | list | tuple):
        return data
    series = nw.from_native(data, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        if hasattr(data, "to_pylist"):
            failures = (ValueError, OverflowError, TypeError, ArithmeticError)
            return _cells(data.to_pylist, data, failures if not whole else ())
        if isinstance(data, bytes) or not is_iterable(data):
            raise BadTable(f"column {name!r} must be a list, an array or a series, got {type(data).__name__}")
        cells: Iterable[Any] = data
        return cells
    dtype = series.dtype
    if whole and dtype.is_temporal():
        raise _dates(name)
    wide = dtype in (nw.Int128, nw.UInt128)
    if dtype == nw.Boolean or dtype.is_float() or (dtype.is_integer() and not wide):
        missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
        filled = series.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else series
        return np.ma.array(np.asarray(filled.to_numpy()), mask=missing)
    try:
        return _cells(series.to_list, series, (BaseException,) if not whole else ())
    except ImportError as error:  # of the whole column, whatever its cells
        needed = (error.name or "").split(".")[0] or "another package"
        raise MissingExtra(f"column {name!r} is read with {needed}, which is not installed") from None


def _cells(listed: Callable[[], list[Any]], column: Any, failures: tuple[type[BaseException], ...]) -> Iterable[Any]:
    """All cells at once; where the engine fails, and may quote one of them, cell by cell: the others it can."""
    try:
        return listed()
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, ImportError):
        raise
    except failures:
        return _each(column)


def _each(column: Any) -> Iterable[Any]:
    """Cell by cell; one that its engine cannot hand over is no plain value."""
    for row in range(len(column)):
        try:
            cell = column[row]
            yield cell.as_py() if hasattr(cell, "as_py") else cell
        except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
            raise
        except BaseException:
            yield OTHER


_ABSENT = {*ABSENT, "nan", "?", "."}
"""Words that mean "missing" in a column of a public CSV file whose other cells are numbers; in text only "" does."""
_PLAIN = re.compile(r"(?:(?:[a-eghj-mo-su-z][a-z0-9]*|[ft][a-z0-9]{5,})\n)*", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,40}", re.ASCII)
_NUMBERS = (bool, int, float, Decimal, Fraction, np.integer, np.floating, np.bool_)
_TRUTHS = (bool, np.bool_)
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
    origin: date | None = None
    """Of dates that were read as numbers: the day that is 0."""
    counts: NDArray[np.int64] | None = None
    """How many rows each one stands for, of a table that was counted; None where it is one."""

    @staticmethod
    def of(name: str, data: object) -> Column:
        """A column from a list, a numpy array (masked or not) or a series; it must be numbers or text."""
        if isinstance(data, Column):
            return replace(data, name=name)
        if isinstance(data, Raw):
            return _from_texts(name, data)
        cells = handed_over(name, data, whole=True)
        return _from_array(name, cells) if isinstance(cells, np.ndarray) else _from_list(name, list(cells))

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Column({self.name!r}, {several(self.rows(), 'row')})"

    def rows(self, where: NDArray[np.bool_] | None = None) -> int:
        """How many rows of the table there are, or how many there are `where` this is true."""
        if self.counts is None:
            return len(self) if where is None else int(np.count_nonzero(where))
        return int(self.counts.sum() if where is None else self.counts[where].sum())

    @property
    def often(self) -> NDArray[np.int64]:
        """How many rows of the table each one stands for."""
        return np.ones(len(self), dtype=np.int64) if self.counts is None else self.counts

    def each(self) -> NDArray[Any]:
        """The values row by row, each as often as it occurs."""
        return self.values if self.counts is None else np.repeat(self.values, self.counts)

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
        if self.numeric:
            distinct, found = np.unique(self.values[~self.missing], return_inverse=True)
        else:
            distinct, found = self._texts
            if ordered:
                order = np.argsort(distinct, kind="stable")
                distinct, found = distinct[order], np.argsort(order)[found]
        codes = np.full(len(self), -1, dtype=np.int64)
        codes[~self.missing] = found
        return codes, distinct

    @cached_property
    def _texts(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The different texts as they come, and the place of each cell that is not missing: many questions ask."""
        texts = self.values[~self.missing].tolist()
        place = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        found = np.fromiter(map(place.__getitem__, texts), dtype=np.int64, count=len(texts))
        distinct = np.array([*place, None], dtype=object)[:-1]
        distinct.setflags(write=False)
        return distinct, found

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
        return _from_list(name, [texts[code] or None for code in codes.tolist()])
    read = [int(text) if _WHOLE.fullmatch(text) else x for text, x in zip(words, numbers, strict=True)]
    found, exact = _numbers(read, set(map(type, read)) or {int})
    missing = np.array([text is None for text in known], dtype=bool)
    each = np.zeros(len(texts), dtype=found.dtype)
    each[~missing] = found
    return Column(name, each[codes], missing[codes], exact)


def _from_array(name: str, array: NDArray[Any]) -> Column:
    masked = np.ma.getmaskarray(array).copy()
    plain = np.asarray(np.ma.getdata(array))
    kind = plain.dtype.kind
    if (dtype := _WHOLES.get(kind)) is not None:
        return Column(name, plain.astype(dtype), masked)
    if kind == "f":
        with np.errstate(over="ignore"):
            numbers = plain.astype(np.float64) + 0.0  # + 0.0 turns -0.0 into 0.0
        missing = masked | np.isnan(numbers)
        numbers[missing] = 0.0
        return Column(name, numbers, missing, exact=plain.dtype.itemsize <= 8)
    if kind in "Mm":
        raise _dates(name)
    if kind not in "UTO":
        raise BadTable(f"column {name!r} must hold numbers or text, got {plain.dtype}")
    items = plain.astype(object)
    items[masked] = None
    return _from_list(name, items.tolist())


_WHOLES: dict[str, type[np.generic]] = {"b": np.bool_, "i": np.int64, "u": np.uint64}


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
    if kinds and _only(kinds, str):
        text = np.full(len(items), None, dtype=object)
        text[~missing] = present
        text.setflags(write=False)
        return Column(name, text, missing)
    if _only(kinds, *_NUMBERS):
        numbers, exact = _numbers(present, kinds)
        values = np.zeros(len(items), dtype=numbers.dtype)
        values[~missing] = numbers
        return Column(name, values, missing, exact)
    if _only(kinds, *_NUMBERS, str):
        raise BadTable(f"column {name!r} mixes numbers and text; make all of it numbers, or all of it text")
    if any(hasattr(k, "isoformat") or hasattr(k, "total_seconds") for k in kinds):
        raise _dates(name)
    found = ", ".join(sorted(k.__name__ for k in kinds))
    raise BadTable(f"column {name!r} must hold numbers or text, got {found}")


def _only(kinds: Iterable[type], *classes: type) -> bool:
    return all(issubclass(kind, classes) for kind in kinds)


def _numbers(present: list[Any], kinds: set[type]) -> tuple[NDArray[Any], bool]:
    """The narrowest exact array for these numbers, else the nearest doubles and whether they still differ."""
    if kinds and _only(kinds, *_TRUTHS):
        return np.array(present, dtype=bool), True
    if kinds and _only(kinds, *_TRUTHS, int, np.integer):
        low, high = int(min(present, default=0)), int(max(present, default=0))
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


def _dates(name: str) -> BadTable:
    return BadTable(
        f"column {name!r} holds dates or times, which are not numbers; "
        "turn them into numbers (days since some day) or into text"
    )


def column_digest(column: NDArray[Any], counts: NDArray[np.int64] | None = None) -> str:
    """SHA-256 of the values in increasing order, so that a shuffled copy is the same column.

    `counts`: how many rows each value stands for; they are digested one by one, in blocks."""
    numbers = np.asarray(column, dtype="<f8") + 0.0
    values, rows = (np.sort(numbers), None) if counts is None else tallied(numbers, counts)
    canonical, digest = np.where(np.isnan(values), np.nan, values), hashlib.sha256()
    if rows is None:
        digest.update(canonical.data)
        return digest.hexdigest()
    ends = np.cumsum(rows)
    for start in range(0, int(rows.sum()), _BLOCK):
        stop = start + _BLOCK
        first, last = np.searchsorted(ends, [start, stop], "right").tolist()
        inside = slice(first, last + 1)
        often = np.minimum(ends[inside], stop) - np.maximum(ends[inside] - rows[inside], start)
        digest.update(np.repeat(canonical[inside], often).data)
    return digest.hexdigest()


_BLOCK = 1 << 17
