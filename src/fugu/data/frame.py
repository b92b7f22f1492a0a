"""Where columns come from: a dict, a frame that narwhals reads, a duckdb relation, a text file and how it is cut."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, final, get_args

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError, NarwhalsError
from numpy.typing import NDArray

from fugu.data.cells import ITSELF, STRANGE, plain_words
from fugu.data.column import Column, Raw
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, ColumnNotFound, MissingExtra, UsageError
from fugu.numbers.checks import is_path
from fugu.visible import several

T = TypeVar("T")


class FrameLike(Protocol):
    """A frame of pandas, polars, pyarrow, duckdb, or any other engine that narwhals reads."""

    @property
    def columns(self) -> object: ...


TableLike = str | os.PathLike[str] | Mapping[str, object] | FrameLike
"""The path of a CSV, TSV, Parquet or Excel file, "-" for standard input, a dict of columns (lists, arrays, series), or
a frame."""


def source_of(data: object) -> ColumnSource:
    """The source that reads this object."""
    if isinstance(data, Columns | FrameColumns | Relation):  # by type: a frame may have a column of any name
        return data
    if isinstance(data, Mapping):
        return Columns(data)
    known = framed(data)
    if known is None:
        raise BadTable(
            "expected a path, a dict of columns, or a frame (pandas, polars, pyarrow, duckdb, or another that narwhals "
            f"reads), got {type(data).__name__}"
        )
    native = known.to_native()
    if known.implementation is nw.Implementation.PYSPARK:
        return SparkColumns(native)
    return Relation(native) if type(native).__name__ == "DuckDBPyRelation" else FrameColumns(known)


def framed(data: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """The frame that narwhals makes of it, or of the Arrow stream that it hands over; None for what is no frame.

    Refuses a frame of which two columns have one name."""
    try:
        found = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.DataFrame | nw.LazyFrame):
            return found
        # a table of an engine that narwhals does not know, and that hands over Arrow's columns
        if not callable(getattr(type(data), "__arrow_c_stream__", None)) or not hasattr(data, "schema"):
            return None
        engines = [name for name in ("pyarrow", "polars") if find_spec(name) is not None]
        if not engines:
            raise MissingExtra(f"a {type(data).__name__} is read with pyarrow or polars, and neither is installed")
        return nw.from_arrow(data, backend=engines[0])  # type: ignore[arg-type]
    except DuplicateError:
        raise BadTable("several columns have the same name; rename them") from None
    except NarwhalsError:
        return None


@final
@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """A dict of lists, arrays or series; all must have one length."""

    data: Mapping[str, object]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.data)

    def count(self, names: tuple[str, ...]) -> Counted | None:
        """None: cells of Python are told apart one by one."""
        del names
        return None

    def one_each(self, name: str, absent: Collection[str]) -> bool:
        """No: cells of Python are told apart one by one."""
        del name, absent
        return False

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]:
        for name in names:
            kind = type(self.data[name])
            if issubclass(kind, str | bytes) or not hasattr(kind, "__len__"):
                raise BadTable(f"column {name!r} must be a list, an array or a series, got {kind.__name__}")
        lengths = {len(self.data[name]) for name in names}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise BadTable(f"the columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
        return {name: self.data[name] for name in names}


@final
@dataclass(frozen=True, eq=False, repr=False)
class FrameColumns:
    """Any frame that narwhals reads, eager or lazy."""

    frame: nw.DataFrame[Any] | nw.LazyFrame[Any]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.frame.collect_schema().names())

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]:
        if not isinstance(self.frame, nw.LazyFrame):
            return {name: self.frame[name] for name in names}
        try:
            frame = self.frame.select(*names).collect()
        except ImportError as error:  # a query of one engine may need another to hand over its rows
            needed = (error.name or "").split(".")[0]
            if not needed:
                raise _failed("the lazy frame", error) from None
            raise MissingExtra(
                f"a frame of {self.frame.implementation.value} is read with {needed}, which is not installed: install "
                "it, or give a frame that is in memory, a dict of columns, or a file"
            ) from None
        except Exception as error:  # whatever the engine raises may quote a cell
            raise _failed("the lazy frame", error) from None
        return {name: frame[name] for name in names}

    def count(self, names: tuple[str, ...]) -> Counted | None:
        """Of engines that group cells by the value alone that they have in their own type, and only of such types."""
        types = self.frame.collect_schema()
        if not all(self._tells_apart(name) and types[name] in _COUNTED for name in names):
            return None
        often = _apart(names)
        grouped = self.frame.lazy().select(*names).group_by(*names).agg(nw.len().alias(often))
        found: Mapping[str, Any] = FrameColumns(grouped).fetch((*names, often))
        counts = found[often].to_numpy().astype(np.int64)
        kept = all(found[name].dtype == types[name] for name in names)  # old engines widen a key, or lose one
        if not kept or (isinstance(self.frame, nw.DataFrame) and counts.sum() != len(self.frame)):
            return None
        return {name: found[name] for name in names}, counts

    def _tells_apart(self, name: str) -> bool:
        """Whether the engine takes two cells of the column for equal only if they are read alike. A column of objects
        may hold True, 1 and 1.0, which pandas takes for equal."""
        engine = self.frame.implementation
        if engine is nw.Implementation.PANDAS:
            return str(self.frame.to_native().dtypes[name]) != "object"
        return engine in _COUNTING

    def one_each(self, name: str, absent: Collection[str]) -> bool:
        """Of a frame that is in memory: a query might give other rows when it runs again."""
        frame = self.frame
        if isinstance(frame, nw.LazyFrame) or not self._tells_apart(name):
            return False
        column = frame[name]
        if not (column.dtype.is_integer() or column.dtype == nw.String) or column.null_count():
            return False
        if column.dtype == nw.String:
            plain = column.str.contains(ITSELF) & ~column.str.contains(STRANGE)
            if not (plain & ~column.str.to_lowercase().is_in(plain_words(absent))).all():
                return False
        return column.n_unique() == len(column)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """A duckdb relation, run once for all the columns asked for: two runs may order the rows differently."""

    relation: Any
    owner: Any = None
    """Kept alive as long as the relation is: the connection of a file."""
    file: Path | None = None
    mark: tuple[int, ...] = ()
    """By which a file is known that is read more than once: what `mark_of` said when it was opened."""

    @property
    def names(self) -> tuple[str, ...]:
        return self._asked(lambda: tuple(self.relation.columns))

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]:
        return self._asked(lambda: self._fetched(names))

    def _fetched(self, names: tuple[str, ...]) -> Mapping[str, object]:
        types = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
        text = {name for name in names if not types[name].startswith(_PLAIN) or _is_wide(types[name])}
        parts = (f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" if n in text else quoted(n) for n in names)
        arrays: dict[str, Any] = self.relation.project(", ".join(parts)).fetchnumpy()
        for name in filter(lambda name: _is_wide(types[name]), names):
            cells = np.ma.asarray(arrays[name]).tolist()
            arrays[name] = [None if text is None else Decimal(text) for text in cells]
        return {name: arrays[name] for name in names}

    def count(self, names: tuple[str, ...]) -> Counted | None:
        """By the bytes of texts, since a column or a connection may have an order that joins "a" and "A"; and by the
        text, as which they are read, of types that have an equality of their own: a month is thirty days.

        None where most of the first rows are different: there is nothing to count."""
        return self._asked(lambda: self._counted(names))

    def one_each(self, name: str, absent: Collection[str]) -> bool:
        """Of a file: a query might give other rows when it runs again."""
        kind = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))[name]
        if self.owner is None or kind not in (*_WHOLE, "VARCHAR"):
            return False
        own = quoted(name)
        listed = ", ".join(f"'{word.replace(chr(39), 2 * chr(39))}'" for word in plain_words(absent))
        named = f"regexp_matches({own}, '{ITSELF}') AND NOT regexp_matches({own}, '{STRANGE}')"
        plain = "TRUE" if kind in _WHOLE else f"{named} AND NOT lower({own}) IN ({listed})"
        said = f"count(*), count(DISTINCT {own}), count(*) FILTER (WHERE {plain})"
        try:
            self.owner.execute(f"SET memory_limit = '{_ROOM}'")
            rows, names, plain_names = self.relation.aggregate(said).fetchall()[0]
        except Exception:  # too little room, or a damaged file: whoever reads it row by row says so
            return False
        finally:
            self.owner.execute("RESET memory_limit")
        return bool(rows == names == plain_names)

    def _counted(self, names: tuple[str, ...]) -> Counted | None:
        types = dict(zip(self.relation.columns, map(str, self.relation.types), strict=True))
        keys, back = [], []
        for k, name in enumerate(names):
            kind, own = types[name].split(" COLLATE ")[0], quoted(name)
            plain = kind != "VARCHAR" and kind.startswith(_EQUAL)
            keys.append(f"{own} AS k{k}" if plain else f"encode(CAST({own} AS VARCHAR)) AS k{k}")
            back.append(f"k{k} AS {own}" if plain else f"decode(k{k}) AS {own}")
        listed, often = ", ".join(f"k{k}" for k in range(len(names))), _apart(names)
        keyed = self.relation.project(", ".join(keys))
        different = keyed.limit(_FIRST_ROWS).distinct().aggregate("count(*)").fetchall()[0][0]
        if 2 * different > _FIRST_ROWS:
            return None
        grouped = keyed.aggregate(f"{listed}, count(*) AS n", listed)
        arrays = dict(Relation(grouped.project(", ".join((*back, f"n AS {quoted(often)}"))))._fetched((*names, often)))
        counts: Any = arrays.pop(often)
        return arrays, np.asarray(counts, dtype=np.int64)

    def _asked(self, run: Callable[[], T]) -> T:
        """What the engine gives; what it raises, of its own kind or another, may quote a cell and is not passed on."""
        try:
            found = run()
            if self.file is None or mark_of(self.file) == self.mark:
                return found
            raise BadTable
        except Exception as error:
            if self.file is not None and mark_of(self.file) != self.mark:
                raise BadTable(
                    f"{str(self.file)!r} has changed since it was opened; read a copy of it that nobody writes to"
                ) from None
            damaged = "the Parquet file is damaged, or holds what duckdb does not read; write it again"
            raise refused(error, damaged if self.owner is not None else str(_failed("duckdb", error))) from None


def mark_of(file: Path) -> tuple[int, ...]:
    """What a file is known by that nobody writes to: which it is, its size, when it was written; () if it is gone."""
    try:
        known = file.stat()
    except OSError:
        return ()
    return known.st_dev, known.st_ino, known.st_size, known.st_mtime_ns


ColumnSource = Columns | FrameColumns | Relation | SparkColumns
Counted = tuple[Mapping[str, object], NDArray[np.int64]]
"""Columns whose rows are all different, and how often each row occurs."""
"""Names, and the columns of some of them, fetched together."""
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_PLAIN = (*_WHOLE, "FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "DECIMAL")
"""Types whose every value becomes a Python one. Dates, intervals and the like are read as text: some have none."""


_FIRST_ROWS = 10_000
_ROOM = "384MB"
"""In which names are told apart, however many there are; what does not fit goes to the folder for temporary files."""
_EQUAL = (*_PLAIN, "HUGEINT", "UHUGEINT", "DATE", "TIMESTAMP")
"""Types of which two values are equal in duckdb only if they are written alike; texts are, by their bytes."""
_COUNTING = (nw.Implementation.POLARS, nw.Implementation.PYARROW)
"""Engines whose columns hold one type each."""
_COUNTED = (nw.Boolean, nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.UInt8, nw.UInt16, nw.UInt32, nw.UInt64, nw.Float32,
            nw.Float64, nw.String)  # fmt: skip
"""Types whose equal values are read alike."""


def _apart(names: tuple[str, ...]) -> str:
    """A name for the number of rows that none of these columns has, in whatever case."""
    return "n" * (1 + max(map(len, names)))


def _failed(what: str, error: Exception) -> BadTable:
    return BadTable(f"{what} could not give the columns ({type(error).__name__}); run it alone to see why")


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _is_wide(kind: str) -> bool:
    """Whether duckdb would turn this number into a double with more than one rounding."""
    long = kind.startswith("DECIMAL(") and int(kind[8:].split(",", maxsplit=1)[0]) > 15
    return long or kind in ("HUGEINT", "UHUGEINT")


def refused(error: Exception, otherwise: str) -> BadTable:
    """What an error of the engine means to a reader: too little room if it says so, else `otherwise`.

    Its own message is not passed on, because it may quote a cell."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return BadTable(
            "there is not enough memory, or room in the folder for temporary files, to read the table; free some, name "
            "a larger folder in TMPDIR, or give a table with fewer rows or columns"
        )
    if isinstance(error, duckdb.IOException) and "No space left" in str(error):
        return BadTable("no space is left in the folder for temporary files; name a larger one in TMPDIR")
    return BadTable(otherwise)


def require_decoded(column: str, texts: Iterable[object], what: str) -> None:
    """`BadTable` if a text of a public column holds U+FFFD, which stands for bytes that did not decode.

    Different bytes become the same U+FFFD: two secrets would be one, and nothing would hide which of them it is.
    `column`: its name; `texts`: its different texts; `what`: what they are, "secrets" or "states"."""
    if any("\ufffd" in text for text in texts if isinstance(text, str)):
        raise BadTable(
            f"column {column!r} holds {what} that do not decode, and different ones may look the same; save the table "
            "as UTF-8, or declare its encoding in the schema"
        )


@final
class Table:
    """A dict of columns, or a frame of pandas, polars, pyarrow, duckdb, or whatever narwhals reads.

    A query that has not run yet (duckdb relation, lazy frame) runs once, so that its rows stay side by side.

    >>> table = Table({"sex": ["F", "M"], "chol": [201, None]})
    >>> table.columns, len(table), table.is_numeric("sex")
    (('sex', 'chol'), 2, False)
    >>> table.column("chol")
    array([201.,  nan])
    """

    __slots__ = ("_columns", "_counts", "_native", "_raws", "_source", "columns")

    def __init__(self, data: object, counts: NDArray[np.int64] | None = None) -> None:
        self._source: ColumnSource = data._source if isinstance(data, Table) else source_of(data)
        self._native: Mapping[str, object] | None = data._native if isinstance(data, Table) else None
        self._counts: NDArray[np.int64] | None = data._counts if isinstance(data, Table) else counts
        self._columns: dict[str, Column] = {}
        self._raws: dict[str, Raw] = {}
        self.columns: tuple[str, ...] = self._source.names
        if not self.columns:
            raise BadTable(
                "the table has none of the columns; if its first line does not hold their names, give --no-header"
            )
        unnamed = [name for name in self.columns if not isinstance(name, str)]
        if unnamed:
            raise BadTable(f"column names must be text, found {len(unnamed)} that are not; rename the columns")
        repeated = sorted(name for name, times in Counter(self.columns).items() if times > 1)
        if repeated:
            raise BadTable(f"several columns have the same name: {', '.join(map(repr, repeated))}; rename them")

    @property
    def source(self) -> ColumnSource:
        """Where the columns come from."""
        return self._source

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many rows each one stands for."""
        return np.ones(len(self), dtype=np.int64) if self._counts is None else self._counts

    @property
    def rows(self) -> int:
        """How many rows there are, each as often as it occurs."""
        return len(self) if self._counts is None else int(self._counts.sum())

    def select(self, names: Iterable[str]) -> Table:
        """The same rows with these columns only, fetched together."""
        wanted = tuple(dict.fromkeys(names))
        for name in wanted:
            self._require(name)
        native = self._native if self._native is not None else self._source.fetch(wanted)
        return Table({name: native[name] for name in wanted}, self._counts)

    def counted(self, names: Iterable[str]) -> Table:
        """The same rows with these columns only, equal ones as one row that counts for all of them where the engine
        tells cells apart at least as finely as they are read; in no order."""
        wanted = tuple(dict.fromkeys(names))
        for name in wanted:
            self._require(name)
        found = self._source.count(wanted) if self._native is None else None
        return self.select(wanted) if found is None else Table(*found)

    def cells(self) -> Mapping[str, Raw]:
        """All columns as they stand, whatever is in them."""
        return {name: self.raw(name) for name in self.columns}

    def one_each(self, name: str, absent: Collection[str] = ()) -> bool:
        """Whether the engine proves that each row has a name of its own in this column, read as a text, and none of
        the `absent` words; False is no proof of the contrary."""
        self._require(name)
        return self._native is None and self._source.one_each(name, absent)

    def exact(self, name: str) -> Column:
        """The column as it is, with its mask of missing values."""
        self._require(name)
        if name not in self._columns:
            column = Column.of(name, self._fetched()[name])
            if self._columns and len(column) != len(self):
                raise BadTable(f"column {name!r} has {several(len(column), 'row')} where the others have {len(self)}")
            self._columns[name] = column if self._counts is None else replace(column, counts=self._counts)
        return self._columns[name]

    def raw(self, name: str) -> Raw:
        """The cells as they stand; for a schema, which says what they mean."""
        self._require(name)
        if name in self._raws:
            return self._raws[name]
        native, counts = self._fetched()[name], self._counts
        if isinstance(native, Column):
            counts = native.counts
            native = np.ma.array(native.values, mask=native.missing)
        raw = Raw.of(name, native)
        self._raws[name] = raw if counts is None else replace(raw, counts=counts)
        return self._raws[name]

    def column(self, name: str) -> NDArray[Any]:
        """Numbers and truth values as float64, NaN where missing; text as objects, None where missing."""
        return self.exact(name).array()

    def is_numeric(self, name: str) -> bool:
        """Whether the column holds numbers."""
        return self.exact(name).numeric

    def __len__(self) -> int:
        for column in self._columns.values():
            return len(column)
        for native in self._fetched().values():
            return len(native)  # type: ignore[arg-type]
        return 0

    def __repr__(self) -> str:
        return f"Table({several(len(self.columns), 'column')})"

    def _fetched(self) -> Mapping[str, object]:
        if self._native is None:
            self._native = self._source.fetch(self.columns)
        return self._native

    def _require(self, name: object) -> None:
        if name not in self.columns:
            raise ColumnNotFound(str(name), self.columns)


# Frames that go out: of the kind that came in, under names that are public, with rows that are numbered anew.
#
# An index of pandas is often a patient number. It never goes out by itself: only `index=True` puts it there, and what
# remembers it for that forgets it when it is stored or sent.

KindName = Literal["pandas", "polars", "pyarrow", "modin", "cudf", "dask", "duckdb", "dict"]
"""Kinds of frames that can be made; "dict" is a dict of columns."""
PublishedColumn = Sequence[object] | NDArray[np.generic]
_INDEXED = ("pandas", "modin", "cudf")
_FIRST = ("pandas", "polars", "pyarrow")
"""What is tried, in turn, where no frame came in."""


@final
@dataclass(frozen=True, eq=False)
class FrameKind:
    """What came in: its `name` (None: no frame), whether it was `lazy`, and the index it had.

    >>> FrameKind.of({"age": [1, 2]}).frame({"age": [0.5, 1.5]}, None)
    {'age': [0.5, 1.5]}
    """

    name: str | None = None
    lazy: bool = False
    index: Any = field(default=None, repr=False)

    @staticmethod
    def of(table: object) -> FrameKind:
        """The kind of a table that was handed over: a path is no frame."""
        if is_path(table):
            return FrameKind()
        source = table.source if isinstance(table, Table) else source_of(table)
        if isinstance(source, Columns):
            return FrameKind() if isinstance(table, Table) else FrameKind("dict")
        if isinstance(source, Relation):  # with an owner it stands for a file
            return FrameKind() if source.owner is not None else FrameKind("duckdb")
        if isinstance(source, SparkColumns):
            return FrameKind("pyspark", lazy=True)
        name = source.frame.implementation.value
        index = getattr(source.frame.to_native(), "index", None) if name in _INDEXED else None
        return FrameKind(name, isinstance(source.frame, nw.LazyFrame), index)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrameKind, (self.name, self.lazy)  # an index is not stored, sent or copied

    def frame(self, columns: Mapping[str, PublishedColumn], kind: str | None, index: bool = False) -> Any:
        """The columns as a frame of the `kind` that is named, else of this one, else of the first that is installed."""
        if not isinstance(index, bool):
            raise UsageError("index is True or False")
        if kind is not None and kind != self.name and kind not in get_args(KindName):
            raise UsageError(f"kind is one of {', '.join(get_args(KindName))}, or None for the kind that came in")
        made = self if kind is None or kind == self.name else FrameKind(kind)
        if made.name is None:
            installed = [name for name in _FIRST if find_spec(name) is not None]
            if not installed:
                raise MissingExtra(
                    "a frame needs pandas, polars or pyarrow, and none is installed; kind='dict' gives columns"
                )
            made = replace(made, name=installed[0])
        found = made._made(columns)
        if not index:
            return found
        if self.index is None or made.name not in _INDEXED:
            raise UsageError(
                "index=True puts back the index of the frame that was released: it is for frames that have one "
                "(pandas), and is not kept when a release is copied, stored, or comes from a ledger"
            )
        found.index = self.index
        return found

    def _made(self, columns: Mapping[str, PublishedColumn]) -> Any:
        # numbers as a copy of the array, names as texts: a frame never shares memory with a release
        listed: dict[str, Any] = {}
        for column, cells in columns.items():
            numbers = isinstance(cells, np.ndarray) and cells.dtype.kind in "biuf"
            listed[column] = np.array(cells) if numbers else np.asarray(cells).tolist()
        name = str(self.name)
        if name == "dict":
            return listed
        if name not in get_args(KindName):
            raise UsageError(
                f"frames of {name} live in a session of their own, which a release does not keep: give kind='pandas', "
                "'polars', 'pyarrow' or 'dict'"
            )
        if find_spec(name) is None:
            raise MissingExtra(f"a frame of {name} needs {name}, which is not installed; give another kind")
        if name == "duckdb":  # a relation of its own connection; texts as texts, which it takes for an enumeration
            import duckdb

            data = {column: np.asarray(cells) for column, cells in listed.items()}  # found by its name, below
            texts = {column for column, cells in data.items() if cells.dtype.kind in "UO"}
            parts = (f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" if n in texts else quoted(n) for n in data)
            found: Any = duckdb.sql("SELECT * FROM data")
            return found.project(", ".join(parts))
        eager: Any = nw.from_dict(listed, backend="pandas" if name == "dask" else name)  # type: ignore[arg-type]
        return eager.lazy(backend=name).to_native() if self.lazy or name == "dask" else eager.to_native()


def to_frame(
    columns: Mapping[str, PublishedColumn], kind: KindName | None = None
) -> FrameLike | dict[str, PublishedColumn]:
    """Columns that are public as a frame: of the `kind` named, else pandas, polars or pyarrow, whichever is installed.

    >>> to_frame({"scale": [1.0]}, kind="dict")
    {'scale': [1.0]}
    """
    found: FrameLike | dict[str, PublishedColumn] = FrameKind().frame(columns, kind)
    return found
