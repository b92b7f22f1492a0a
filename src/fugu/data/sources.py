"""Where columns come from: a dict, a frame that narwhals reads, or a duckdb relation (without pyarrow)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar, final

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError, NarwhalsError

from fugu.data.engine import refused
from fugu.errors import BadTable, MissingExtra

T = TypeVar("T")


class FrameLike(Protocol):
    """A frame of pandas, polars, pyarrow, duckdb, or any other engine that narwhals reads."""

    @property
    def columns(self) -> object: ...


TableLike = str | os.PathLike[str] | Mapping[str, object] | FrameLike
"""The path of a CSV or Parquet file, a dict of columns (lists, arrays, series), or a frame."""


class Source(Protocol):
    """Names, and the columns of some of them, fetched together."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]: ...


def source_of(data: object) -> Source:
    """The source that reads this object."""
    if isinstance(data, Columns | Frame | Relation):  # by type: a frame may have a column of any name
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
    return Relation(native) if type(native).__name__ == "DuckDBPyRelation" else Frame(known)


def framed(data: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """The frame that narwhals makes of it, or of the Arrow stream that it hands over; None for what is no frame.

    Refuses a frame of which two columns have one name."""
    try:
        found = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.DataFrame | nw.LazyFrame):
            return found
        if not _streams(data):
            return None
        return nw.from_arrow(data, backend=_arrow_engine(data))  # type: ignore[arg-type]
    except DuplicateError:
        raise BadTable("several columns have the same name; rename them") from None
    except NarwhalsError:
        return None


def _streams(data: object) -> bool:
    """Whether this is a table of an engine that narwhals does not know, and that hands over Arrow's columns."""
    return callable(getattr(type(data), "__arrow_c_stream__", None)) and hasattr(data, "schema")


def _arrow_engine(data: object) -> str:
    """What reads the columns of a stream: one of the two that are installed."""
    for name in ("pyarrow", "polars"):
        if find_spec(name) is not None:
            return name
    raise MissingExtra(f"a {type(data).__name__} is read with pyarrow or polars, and neither is installed")


@final
@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """A dict of lists, arrays or series; all must have one length."""

    data: Mapping[str, object]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.data)

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
class Frame:
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


@final
@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """A duckdb relation, run once for all the columns asked for: two runs may order the rows differently."""

    relation: Any
    owner: Any = None
    """Kept alive as long as the relation is: the connection of a file."""

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
        return {name: _decimals(arrays[name]) if _is_wide(types[name]) else arrays[name] for name in names}

    def _asked(self, run: Callable[[], T]) -> T:
        """What the engine gives; what it raises, of its own kind or another, may quote a cell and is not passed on."""
        try:
            return run()
        except Exception as error:
            damaged = "the Parquet file is damaged, or holds what duckdb does not read; write it again"
            raise refused(error, damaged if self.owner is not None else str(_failed("duckdb", error))) from None


_PLAIN = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE",
          "BOOLEAN", "VARCHAR", "DECIMAL")  # fmt: skip
"""Types whose every value becomes a Python one. Dates, intervals and the like are read as text: some have none."""


def _failed(what: str, error: Exception) -> BadTable:
    return BadTable(f"{what} could not give the columns ({type(error).__name__}); run it alone to see why")


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _is_wide(kind: str) -> bool:
    """Whether duckdb would turn this number into a double with more than one rounding."""
    if kind in ("HUGEINT", "UHUGEINT"):
        return True
    return kind.startswith("DECIMAL(") and int(kind[8:].split(",", maxsplit=1)[0]) > 15


def _decimals(texts: Any) -> list[Any]:
    items = np.ma.asarray(texts).tolist()
    return [None if text is None else Decimal(text) for text in items]
