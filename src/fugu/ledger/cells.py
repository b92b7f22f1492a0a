"""Digests of a table that do not depend on how it came: its order, its file, the types its columns were read with.

Every cell becomes 64 bits: a number by its nearest double, whether it came as 1, 1.0, "1" or "1.00"; a text by its
characters without spaces around; a missing cell is one value. A column is the multiset of its cells, a table that of
its rows, each the sum of its cells under the names of their columns; the SHA-256 of the sorted bits is the digest.
Cells that are neither numbers nor texts count as the text they print as: nothing in a table is an error here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Raw
from fugu.data.frame import Table
from fugu.data.sources import framed
from fugu.errors import BadTable
from fugu.numbers.checks import is_row

Bits = NDArray[np.uint64]
WIDE = 64
"""A column with more distinct values than this is recognised by itself: others may agree by chance."""
_MISSING = np.uint64(0x9AE16A3B2F90404F)
_SHORT = dict.fromkeys(("", "na", "n/a", "null", "none", "nat", "<na>"), "") | {"true": "true", "false": "false"}
"""A list of its own: files that are written already recognise tables by it, whatever words readers learn to skip."""
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")


def columns_of(data: Any) -> Mapping[str, Any] | None:
    """{name: column} of a mapping, a frame, or fugu's own `Table`; None for a single column."""
    if isinstance(data, Mapping):
        return {str(name): data[name] for name in data}
    if isinstance(data, Table):
        return data.cells()
    if is_row(data):
        return None
    with suppress(BadTable):  # two columns of one name, names that are no texts: as the frame itself tells them apart
        if framed(data) is not None:
            return Table(data).cells()
    if not hasattr(data, "columns"):
        return None
    return {str(name): data[name] for name in data.columns}


def rows_digest(rows: Bits | None) -> str | None:
    """The digest of all rows together, in whatever order they are."""
    if rows is None or not len(rows):
        return None
    return hashlib.sha256(b"fugu rows\n" + np.sort(rows).astype("<u8").tobytes()).hexdigest()


def table_bits(columns: Mapping[str, Any]) -> tuple[Bits | None, dict[str, str]]:
    """Each row as 64 bits; and the digest of each column with more than 64 distinct values."""
    rows: Bits | None = None
    wide: dict[str, str] = {}
    for name in sorted(columns):
        bits = cells(columns[name])
        place = np.uint64(_of_text(f"column {name}"))
        part = _mixed(bits ^ place)
        rows = part if rows is None or len(rows) != len(part) else rows + part
        ordered = np.sort(bits)
        if len(ordered) and 1 + np.count_nonzero(ordered[1:] != ordered[:-1]) > WIDE:
            wide[name] = hashlib.sha256(b"fugu column\n" + ordered.astype("<u8").tobytes()).hexdigest()
    return rows, wide


def cells(column: Any) -> Bits:
    """Each cell of a column as 64 bits."""
    if isinstance(column, Raw):
        if column.array is None:
            found, codes = column.factors()
            return _of_objects(found)[codes] if found else np.zeros(0, dtype=np.uint64)
        column = np.ma.array(column.array, mask=np.asarray(column.masked))
    values, gone = _array(column)
    if values.dtype.kind == "b":
        bits = np.where(values, np.uint64(_of_text("true")), np.uint64(_of_text("false")))
    elif values.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            bits = _of_numbers(values.astype(np.float64))
    elif values.dtype.kind in "Mm":
        distinct, codes = np.unique(values, return_inverse=True)
        bits = _of_items([str(value) for value in distinct.tolist()] if values.dtype.kind == "m" else _times(distinct))
        bits = bits[codes.ravel()]
    else:
        bits = _of_objects(values.tolist())
    if gone is not None:
        bits[gone] = _MISSING
    return bits


def _array(column: Any) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """A column of any kind as one array, and where it is masked."""
    found: Any = column
    if not isinstance(column, np.ndarray | list | tuple):
        with suppress(Exception):
            found = column.to_numpy()
    if isinstance(found, np.ma.MaskedArray):
        return np.asarray(found.data).ravel(), np.ma.getmaskarray(found).ravel().copy()
    if not isinstance(found, np.ndarray):
        items = list(found)
        found = np.empty(len(items), dtype=object)
        found[:] = items
    return found.ravel(), None


def _of_objects(items: list[Any]) -> Bits:
    """Cells of any kind; each distinct one is looked at once."""
    if {bool, np.bool_} & set(map(type, items)):  # True is not the number 1
        items = [str(bool(item)) if isinstance(item, bool | np.bool_) else item for item in items]
    place: dict[Any, int] = {}
    try:
        numbered = (place.setdefault(item, len(place)) for item in items)
        codes = np.fromiter(numbered, dtype=np.int64, count=len(items))
    except TypeError:  # cells that are lists or dicts
        return _of_items([_text(item) for item in items])
    return _of_items(list(place))[codes]


def _of_items(items: list[Any]) -> Bits:
    numbers: list[float] = [np.nan] * len(items)
    texts: dict[int, int] = {}
    for k, item in enumerate(items):
        found = _number(item)
        if found is not None:
            numbers[k] = found
        elif text := _text(item):
            texts[k] = _of_text(text)
    bits = _of_numbers(np.array(numbers, dtype=np.float64))
    bits[list(texts)] = np.fromiter(texts.values(), dtype=np.uint64, count=len(texts))
    return bits


def _number(item: Any) -> float | None:
    """The nearest double of a number, or of a text that Python reads as one; None for anything else."""
    if isinstance(item, str) and item[:1] > "9" and item[:1].lower() not in ("i", "n") and item[:1] < "\x80":
        return None  # a letter: spares the exception
    try:
        return float(item)
    except OverflowError:
        return np.inf if item > 0 else -np.inf
    except Exception:  # of whatever kind a cell is
        return None


def _text(item: Any) -> str:
    """A cell as text, "" for a missing one; a day is the same at midnight, a truth value in any case."""
    try:
        shown = item.decode("utf-8", "replace") if isinstance(item, bytes) else item
        text = (shown if isinstance(shown, str) else str(shown)).strip()
    except Exception:
        return type(item).__name__
    if len(text) <= 5 and (low := text.casefold()) in _SHORT:
        return _SHORT[low]
    if text[4:5] == "-" and _TIME.fullmatch(text):
        return _MIDNIGHT.sub("", text).replace("T", " ")
    return text


def _times(values: NDArray[Any]) -> list[str]:
    """Times as texts, without the digits of a second that are all zero."""
    texts = np.datetime_as_string(values).tolist()
    return [re.sub(r"\.0+$|(\.\d*?[1-9])0+$", r"\1", text) for text in texts]


def _of_numbers(values: NDArray[np.float64]) -> Bits:
    bits = _mixed((values + 0.0).view(np.uint64))  # + 0.0 turns -0.0 into 0.0
    bits[np.isnan(values)] = _MISSING
    return bits


def _of_text(text: str) -> int:
    found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(found, "little")


def _mixed(bits: Bits) -> Bits:
    """splitmix64 (Steele, Lea, Flood 2014): a bijection in which every bit of the result depends on every bit."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
