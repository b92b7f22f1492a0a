"""What makes two data sets the same one: digests of content, and who is in it."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import is_missing
from fugu.data.column import Column, Raw, column_digest
from fugu.data.frame import FrameLike, Table, framed
from fugu.data.spark import is_spark
from fugu.errors import BadTable, UsageError
from fugu.ledger.gathering import FEWEST, Bits, People, Words, digested, encoded, keyed_words, text_bits
from fugu.numbers.checks import is_row
from fugu.scenario.query import in_one_spelling


def fingerprint(data: Any) -> str:
    """The digest of a column, or of a table given as {name: column} or as a frame; the order of rows does not matter.

    It knows a renamed or shuffled copy. It does not know an extract, or a copy with one value changed.

    >>> fingerprint([2, 1]) == fingerprint([1.0, 2.0])
    True
    """
    if isinstance(data, str):
        if not re.fullmatch(r"[0-9a-fA-F]{64}", data):
            raise UsageError("a fingerprint is a SHA-256: 64 hexadecimal digits, or the data itself to be digested")
        return data.lower()
    columns = data if isinstance(data, Mapping) else getattr(data, "columns", None)
    if columns is None:
        return _column(data)
    listed = sorted((str(name), _column(data[name])) for name in columns)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


@dataclass(frozen=True)
class Marks:
    """What data is recognised by: digests, each with words for what it is a digest of; any one in common is enough.

    `earlier` gives what version 0.1 would have stored for this data; it is asked only where such a ledger is met.
    `persons`: who is in it, None where no column says so. `rows`: 64 bits of each row."""

    named: Mapping[str, str]
    earlier: Callable[[], Mapping[str, str]] = dict
    persons: People | None = field(default=None, compare=False, repr=False)
    rows: Words | None = field(default=None, compare=False, repr=False)
    _under: dict[tuple[str, bool], Keyed] = field(default_factory=dict, init=False, compare=False, repr=False)

    def under(self, key: str, early: bool) -> Keyed:
        """What is stored of the data: marks, people and rows under the key; rows only where there are enough to tell.
        It is worked out once. `early`: as ledgers of formats up to 4 have it."""
        if (key, early) not in self._under:
            who, what = self.persons, None if self.rows is None or len(self.rows) < FEWEST else self.rows
            if early:
                people = None if who is None else digested(key, (f"person {name}".encode() for name in {*who}))
                rows = None if what is None else digested(key, (b"row " + bits for bits in _each(what)))
            else:
                people = None if who is None else keyed_words(key, "person", (values for values, _ in who.bits))
                rows = None if what is None else keyed_words(key, "row", what.each())
            named = {keyed(key, digest): what for digest, what in self.named.items()}
            self._under[key, early] = Keyed(named, people, rows, early)
        return self._under[key, early]


def _each(rows: Words) -> Iterator[bytes]:
    for block in rows.each():
        text = block.astype("<u8").tobytes()
        yield from (text[k : k + 8] for k in range(0, len(text), 8))


@dataclass(frozen=True, eq=False)
class Keyed:
    """The same under the key of a ledger: what is stored."""

    marks: Mapping[str, str]
    people: Words | None = None
    rows: Words | None = None
    early: bool = False

    @cached_property
    def stored(self) -> dict[str, str]:
        """The digests of the sets that there are, of `people` and of `rows`."""
        found = {}
        for kind, words in (("people", self.people), ("rows", self.rows)):
            if words is not None:
                digest = hashlib.sha256()
                for piece in encoded(words, self.early)[1]:
                    digest.update(piece)
                found[kind] = digest.hexdigest()
        return found


COLUMN, ROWS = "its column", "its rows are the same"
"""How the words for the mark of a column begin, and those for the mark of all rows."""
Recognised = str | Marks | Mapping[str, object] | FrameLike | Sequence[object] | NDArray[np.generic]
"""The data itself (a dict of columns, a frame, one column), what `fingerprints` makes of it, or a SHA-256."""


def marks_of(data: Recognised | None, people: Sequence[object] | None = None) -> Marks | None:
    """The marks of data, of a SHA-256, or marks themselves; with `people`, who is in it."""
    if isinstance(data, str):
        found: Marks | None = Marks({fingerprint(data): "its fingerprint is the same"})
    elif data is None or isinstance(data, Marks):
        found = data
    else:
        found = fingerprints(data)
    return found if people is None else replace(found or Marks({}), persons=named(people))


def fingerprints(table: Any, persons: Sequence[object] | People | None = None) -> Marks:
    """The marks of a table, given as {name: column} or as a frame: one of its rows, one of each wide column.

    `persons`: the cells of the column that names the person, or who is in it. A file under another name, in another
    order of rows or columns, with columns left out or added, or read with other types is recognised. So is a table with
    some cells changed, by every wide column that has none of them."""
    who = persons if isinstance(persons, People | None) else named(persons)
    if is_spark(table):
        from fugu.ledger.frames import gathered as there  # its cells are digested where they are

        return there(table).marks(who, lambda: earlier_marks(columns_of(table)))
    columns, gathered = columns_of(table), Gathered()
    gathered.add(columns)
    return gathered.marks(who, lambda: earlier_marks(columns))


def named(persons: Sequence[object]) -> People:
    """Who is in the data, by the cells that name them; a missing name is nobody's, and refused."""
    if isinstance(persons, str | bytes) or any(is_missing(cell) for cell in persons):
        raise UsageError("the column that names the person is a list of cells, none of them missing")
    return People.of(in_one_spelling(persons))


def earlier_marks(columns: Mapping[str, Any]) -> dict[str, str]:
    """The digests of version 0.1, of each column and of all; columns that it could not digest have none."""
    found, arrays = {}, {}
    for name, column in columns.items():
        with suppress(Exception):
            arrays[name] = Column.of(name, column).array()
            found[_column(arrays[name])] = f"{COLUMN} {name!r} is the same"
    if len(arrays) == len(columns):
        found[fingerprint(arrays)] = ROWS
    return found


def keyed(key: str, digest: str) -> str:
    """The digest under the secret key of this ledger (HMAC-SHA-256): what is stored, shown and exported.

    A plain digest in an export would let whoever knows all rows but one try the values of that one."""
    return hmac.digest(key.encode(), digest.encode(), "sha256").hex()


def _column(values: Any) -> str:
    array = np.asarray(values)
    if array.dtype.kind in "biuf":
        return column_digest(array.ravel())
    return hashlib.sha256(json.dumps(sorted(map(str, array.ravel().tolist()))).encode()).hexdigest()


def prior_digest(prior: Any) -> str | None:
    """A digest of all numbers in a prior; None for no prior. A prior may also bring its own `fingerprint`."""
    if prior is None:
        return None
    own = getattr(prior, "fingerprint", None)
    stated = [type(prior).__name__, own if isinstance(own, str) else _content(prior, 0)]
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()


def _content(found: Any, depth: int) -> Any:
    """What a part of a prior is digested as, in JSON types, one way for each type."""
    if depth > 20:
        raise UsageError("the prior is nested too deeply to be digested; give it a `fingerprint` attribute")
    if isinstance(found, bool | int | str | None):
        return found
    if isinstance(found, float | Fraction):  # float64 is a float of Python too
        return found.hex() if isinstance(found, float) else str(found)
    array = np.asarray(found) if isinstance(found, np.ndarray | np.generic) else None
    if array is not None and array.dtype != object:
        return [array.dtype.str, list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]
    if isinstance(found, Mapping):
        return [[_content(k, depth + 1), _content(v, depth + 1)] for k, v in found.items()]
    if array is not None or isinstance(found, list | tuple):
        return [_content(item, depth + 1) for item in (found if array is None else array.ravel().tolist())]
    if not dataclasses.is_dataclass(found) and not type(found).__module__.startswith(("fugu.", "fugu_papers.")):
        raise UsageError(
            f"a {type(found).__name__} in the prior has no digest; give the prior a `fingerprint` attribute"
        )
    name = getattr(found, "DIGESTED", type(found).__name__)
    return [name, [[n, _content(getattr(found, n), depth + 1)] for n in _stated(found)]]


def _stated(found: Any) -> list[str]:
    """The names of what a prior was made from: not what it computed later, nor the words about it."""
    if dataclasses.is_dataclass(found):
        return [f.name for f in dataclasses.fields(found) if f.compare]
    known = [part for kind in type(found).__mro__ for part in vars(kind).items()]
    derived = {"assumptions"} | {n for n, v in known if isinstance(v, cached_property)}
    if getattr(found, "stationary", False) is True:
        derived |= {"_initial", "_initial_error"}  # follows from the kernel, up to the rounding of one machine
    return sorted(set(vars(found)) - derived)


# Digests of a table that do not depend on how it came: its order, its file, the types its columns were read with.
#
# Every cell becomes 64 bits: a number by its nearest double, whether it came as 1, 1.0, "1" or "1.00"; a text by its
# characters without spaces around; a missing cell is one value. A column is the multiset of its cells, a table that of
# its rows, each the sum of its cells under the names of their columns; the SHA-256 of the sorted bits is the digest.
# Cells that are neither numbers nor texts count as the text they print as: nothing in a table is an error here.


WIDE = 64
"""A column with more distinct values than this is recognised by itself: others may agree by chance."""
_MISSING = np.uint64(0x9AE16A3B2F90404F)
_SHORT = dict.fromkeys(("", "na", "n/a", "null", "none", "nat", "<na>"), "") | {"true": "true", "false": "false"}
"""A list of its own: files that are written already recognise tables by it, whatever words readers learn to skip."""
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?$")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")


def columns_of(data: Any) -> Mapping[str, Any]:
    """{name: column} of a mapping, a frame, or fugu's own `Table`; a single column has the name ""."""
    if isinstance(data, Mapping):
        return {str(name): data[name] for name in data}
    if isinstance(data, Table):
        return data.cells()
    if is_row(data):
        return {"": data}
    with suppress(BadTable):  # two columns of one name, names that are no texts: as the frame itself tells them apart
        if framed(data) is not None:
            return Table(data).cells()
    return {str(name): data[name] for name in data.columns} if hasattr(data, "columns") else {"": data}


def rows_digest(rows: Words) -> str | None:
    """The digest of all rows together, in whatever order they came; None where there are none."""
    return rows.digest(b"fugu rows\n")[0] if len(rows) else None


@final
class Gathered:
    """What a table is recognised by, from its rows in any number of batches: neither these nor their order show."""

    def __init__(self) -> None:
        self.rows = Words()
        """Each row as 64 bits."""
        self._columns: dict[str, Words] = {}

    def add(self, columns: Mapping[str, Any]) -> None:
        """Further rows, in all columns of the table."""
        self.add_bits({name: cells(columns[name]) for name in columns})

    def add_bits(self, columns: Mapping[str, Bits]) -> None:
        """Further rows, of which each cell is 64 bits already: whoever reads the cells need not be who gathers."""
        rows: Bits | None = None
        for name in sorted(columns):
            bits = columns[name]
            part = _mixed(bits ^ np.uint64(_of_text(f"column {name}")))
            rows = part if rows is None or len(rows) != len(part) else rows + part
            self._columns.setdefault(name, Words()).add(bits)
        if rows is not None:
            self.rows.add(rows)

    def wide(self) -> dict[str, str]:
        """The digest of each column with more than 64 distinct values."""
        told = {name: words.digest(b"fugu column\n") for name, words in self._columns.items()}
        return {name: digest for name, (digest, different) in told.items() if different > WIDE}

    def marks(self, persons: People | None, earlier: Callable[[], Mapping[str, str]]) -> Marks:
        """The marks of all rows so far; `persons`: who is in them."""
        rows = rows_digest(self.rows)
        named = {} if rows is None else {rows: ROWS}
        named |= {
            digest: f"{COLUMN} {name!r} is the same" if name else "it is the same"
            for name, digest in self.wide().items()
        }
        return Marks(named, earlier, persons, self.rows)


_SEEN: WeakKeyDictionary[Raw, Bits] = WeakKeyDictionary()
"""The bits of different cells, which several questions to one table ask for."""


def cells(column: Any) -> Bits:
    """Each cell of a column as 64 bits."""
    if isinstance(column, Raw):
        if column.array is None:
            found, codes = column.factors()
            if column not in _SEEN:
                _SEEN[column] = text_bits(found) if column.plain else _of_items(_truths(found))
            return _SEEN[column][codes] if found else np.zeros(0, dtype=np.uint64)
        column = np.ma.array(column.array, mask=np.asarray(column.masked))
    values, gone = _array(column)
    if values.dtype.kind == "b":
        bits = np.where(values, np.uint64(_of_text("true")), np.uint64(_of_text("false")))
    elif values.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            bits = _of_numbers(values.astype(np.float64))
    elif values.dtype.kind in "Mm":
        distinct, codes = np.unique(values, return_inverse=True)
        texts = list(map(str, distinct.tolist()))
        if values.dtype.kind == "M":  # without the digits of a second that are all zero
            told = np.datetime_as_string(distinct).tolist()
            texts = [re.sub(r"\.0+$|(\.\d*?[1-9])0+$", r"\1", text) for text in told]
        bits = _of_items(texts)[codes.ravel()]
    else:
        bits = _of_objects(values.tolist())
    if gone is not None:
        bits[gone] = _MISSING
    return bits


def name_bits(names: list[str], raw: Raw) -> Bits:
    """64 bits of each name of people, in one spelling; `raw`: the column as it stands, where the cells may be they."""
    return _SEEN[raw] if raw in _SEEN and raw.plain and raw.cells == names else text_bits(names)


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
    items = _truths(items)
    place: dict[Any, int] = {}
    try:
        numbered = (place.setdefault(item, len(place)) for item in items)
        codes = np.fromiter(numbered, dtype=np.int64, count=len(items))
    except TypeError:  # cells that are lists or dicts
        return _of_items([_text(item) for item in items])
    return _of_items(list(place))[codes]


def _truths(items: list[Any]) -> list[Any]:
    """The cells, with truth values as texts: True is not the number 1."""
    if {bool, np.bool_} & set(map(type, items)):
        return [str(bool(item)) if isinstance(item, bool | np.bool_) else item for item in items]
    return items


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
