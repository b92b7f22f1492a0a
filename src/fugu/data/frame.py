"""`Table`: the columns of any frame, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Column
from fugu.data.raw import Raw
from fugu.data.sources import Source, source_of
from fugu.errors import BadTable, ColumnNotFound
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
        self._source: Source = data._source if isinstance(data, Table) else source_of(data)
        self._native: Mapping[str, object] | None = data._native if isinstance(data, Table) else None
        self._columns: dict[str, Column] = {}
        self.columns: tuple[str, ...] = self._source.names
        _check_names(self.columns)

    @property
    def source(self) -> Source:
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


def _check_names(names: tuple[object, ...]) -> None:
    if not names:
        raise BadTable("the table has no columns")
    unnamed = [name for name in names if not isinstance(name, str)]
    if unnamed:
        raise BadTable(f"column names must be text, found {len(unnamed)} that are not; rename the columns")
    repeated = sorted(str(name) for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise BadTable(f"several columns have the same name: {', '.join(map(repr, repeated))}; rename them")
