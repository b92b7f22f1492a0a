"""Frames that go out: of the kind that came in, under names that are public, with rows that are numbered anew.

An index of pandas is often a patient number. It never goes out by itself: only `index=True` puts it there, and what
remembers it for that forgets it when it is stored or sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Literal, final, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from fugu.data.frame import Table
from fugu.data.sources import Columns, Frame, FrameLike, Relation, quoted, source_of
from fugu.errors import MissingExtra, UsageError
from fugu.numbers.checks import is_path

KindName = Literal["pandas", "polars", "pyarrow", "modin", "cudf", "dask", "duckdb", "dict"]
"""Kinds of frames that can be made; "dict" is a dict of columns."""
Column = Sequence[object] | NDArray[np.generic]
_INDEXED = ("pandas", "modin", "cudf")
_FIRST = ("pandas", "polars", "pyarrow")
"""What is tried, in turn, where no frame came in."""


@final
@dataclass(frozen=True, eq=False)
class Kind:
    """What came in: its `name` (None: no frame), whether it was `lazy`, and the index it had.

    >>> Kind.of({"age": [1, 2]}).frame({"age": [0.5, 1.5]}, None)
    {'age': [0.5, 1.5]}
    """

    name: str | None = None
    lazy: bool = False
    index: Any = field(default=None, repr=False)

    @staticmethod
    def of(table: object) -> Kind:
        """The kind of a table that was handed over: a path is no frame."""
        if is_path(table):
            return Kind()
        source = table.source if isinstance(table, Table) else source_of(table)
        if isinstance(source, Columns):
            return Kind() if isinstance(table, Table) else Kind("dict")
        if isinstance(source, Relation):
            return Kind() if source.owner is not None else Kind("duckdb")  # with an owner it stands for a file
        if not isinstance(source, Frame):
            return Kind()
        name = source.frame.implementation.value
        index = getattr(source.frame.to_native(), "index", None) if name in _INDEXED else None
        return Kind(name, isinstance(source.frame, nw.LazyFrame), index)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kind, (self.name, self.lazy)  # an index is not stored, sent or copied

    def frame(self, columns: Mapping[str, Column], kind: str | None, index: bool = False) -> Any:
        """The columns as a frame of the `kind` that is named, else of this one, else of the first that is installed."""
        if not isinstance(index, bool):
            raise UsageError("index is True or False")
        made = self if kind is None or kind == self.name else Kind(_checked(kind))
        if made.name is None:
            made = replace(made, name=_installed())
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

    def _made(self, columns: Mapping[str, Column]) -> Any:
        listed = {name: _plain(cells) for name, cells in columns.items()}
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
        if name == "duckdb":
            return _relation(listed)
        eager: Any = nw.from_dict(listed, backend="pandas" if name == "dask" else name)  # type: ignore[arg-type]
        return eager.lazy(backend=name).to_native() if self.lazy or name == "dask" else eager.to_native()


def to_frame(columns: Mapping[str, Column], kind: KindName | None = None) -> FrameLike | dict[str, Column]:
    """Columns that are public as a frame: of the `kind` named, else pandas, polars or pyarrow, whichever is installed.

    >>> to_frame({"scale": [1.0]}, kind="dict")
    {'scale': [1.0]}
    """
    found: FrameLike | dict[str, Column] = Kind().frame(columns, kind)
    return found


def _checked(kind: object) -> str:
    if kind not in get_args(KindName):
        raise UsageError(f"kind is one of {', '.join(get_args(KindName))}, or None for the kind that came in")
    return str(kind)


def _installed() -> str:
    for name in _FIRST:
        if find_spec(name) is not None:
            return name
    raise MissingExtra("a frame needs pandas, polars or pyarrow, and none is installed; kind='dict' gives columns")


def _plain(cells: Column) -> Any:
    """Numbers as a copy of the array, names as texts: a frame never shares memory with a release."""
    array = np.asarray(cells)
    return array.copy() if isinstance(cells, np.ndarray) and array.dtype.kind in "biuf" else list(array.tolist())


def _relation(columns: Mapping[str, Any]) -> Any:
    """A relation of duckdb's own connection; texts as texts, which duckdb would take for an enumeration."""
    import duckdb

    data = {name: np.asarray(cells) for name, cells in columns.items()}  # found by its name, in the query below
    texts = {name for name, cells in data.items() if cells.dtype.kind in "UO"}
    parts = (f"CAST({quoted(n)} AS VARCHAR) AS {quoted(n)}" if n in texts else quoted(n) for n in data)
    found: Any = duckdb.sql("SELECT * FROM data")
    return found.project(", ".join(parts))
