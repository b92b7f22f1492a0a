"""`Table`: the columns of any frame, by name; frames that go out are of the kind that came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal, final, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Column, Raw
from fugu.data.sources import Columns, ColumnSource, FrameLike, Relation, quoted, source_of
from fugu.errors import BadTable, ColumnNotFound, MissingExtra, UsageError
from fugu.numbers.checks import is_path
from fugu.visible import several


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

    __slots__ = ("_columns", "_native", "_source", "columns")

    def __init__(self, data: object) -> None:
        self._source: ColumnSource = data._source if isinstance(data, Table) else source_of(data)
        self._native: Mapping[str, object] | None = data._native if isinstance(data, Table) else None
        self._columns: dict[str, Column] = {}
        self.columns: tuple[str, ...] = self._source.names
        if not self.columns:
            raise BadTable("the table has no columns")
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

    def select(self, names: Iterable[str]) -> Table:
        """The same rows with these columns only, fetched together."""
        wanted = tuple(dict.fromkeys(names))
        for name in wanted:
            self._require(name)
        native = self._native if self._native is not None else self._source.fetch(wanted)
        return Table({name: native[name] for name in wanted})

    def cells(self) -> Mapping[str, Raw]:
        """All columns as they stand, whatever is in them."""
        return {name: self.raw(name) for name in self.columns}

    def exact(self, name: str) -> Column:
        """The column as it is, with its mask of missing values."""
        self._require(name)
        if name not in self._columns:
            column = Column.of(name, self._fetched()[name])
            if self._columns and len(column) != len(self):
                raise BadTable(f"column {name!r} has {several(len(column), 'row')} where the others have {len(self)}")
            self._columns[name] = column
        return self._columns[name]

    def raw(self, name: str) -> Raw:
        """The cells as they stand; for a schema, which says what they mean."""
        self._require(name)
        native = self._fetched()[name]
        if not isinstance(native, Column):
            return Raw.of(name, native)
        return Raw.of(name, np.ma.array(native.values, mask=native.missing))

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
