"""`Release`: what went out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fugu.data.kinds import Column, Kind, KindName
from fugu.data.sources import FrameLike
from fugu.documents.certificate import Certificate
from fugu.drawing.figure import Figure
from fugu.drawing.plots import laws
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import UsageError
from fugu.fixed import fixed
from fugu.guarantee.promises import UNCHARGED
from fugu.visible import brief, several

_SHOWN = 5
"""Rows that a notebook shows."""
Published = NDArray[np.float64 | np.str_]
Values = TypeVar("Values")
"""Numbers, or names of categories."""


@dataclass(frozen=True, eq=False)
class Simulated(Generic[Values]):
    """What `simulate` drew, from a generator that can be repeated: for experiments, and no release.

    `values`: the column, or the answer about sequences; `scalar`: whether a single value was given; `interval`: as of a
    release; `labels`: what the parts of an answer about sequences are called. It has no certificate, is no array and no
    column, and nothing that publishes, writes or charges takes it."""

    values: Values
    scalar: bool = False
    interval: tuple[float, float] | None = None
    labels: tuple[object, ...] | None = None

    @property
    def value(self) -> Values | float | str:
        """The number or name, the vector, or the column; the whole answer about sequences."""
        return np.asarray(self.values)[0] if self.scalar else self.values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError("simulated values are for experiments and never published; read .values to compute with them")

    def __repr__(self) -> str:
        return "Simulated(never to be published; see .values)"


@dataclass(frozen=True, eq=False)
class Release(Shown):
    """What went out: the published numbers, the certificate that covers them, and an interval for the error.

    `values`: the column, one number or vector per row, read-only; names, where categories without an order were
    published. `scalar`: whether a single value was released.
    `certificate`: the `Certificate` to publish beside them. `interval`: (-h, h), which holds the error of each value
    with 95 %; for vectors, that of all coordinates together. `value` is the number, the vector, or the column.
    `came`: of which kind the table was. `note`: what else is to be said, such as that no ledger was charged.
    """

    values: Published
    scalar: bool
    certificate: Certificate
    interval: tuple[float, float]
    came: Kind = field(default=Kind(), repr=False)
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", fixed(np.asarray(self.values)))

    @property
    def value(self) -> float | str | Published:
        """The number or name, the vector, or the column."""
        if not self.scalar:
            return self.values
        if self.values.dtype.kind == "U":
            return str(self.values[0])
        return float(self.values[0]) if self.values.ndim == 1 else self.values[0]

    def to_frame(self, kind: KindName | None = None, *, index: bool = False) -> FrameLike | dict[str, Column]:
        """The published values as a frame of the kind that was released; vectors have a column per coordinate.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was given, or, if that was a file or an array, the first of pandas, polars and pyarrow that is installed.
        `index`: True to put back the index of a pandas frame. Otherwise rows are numbered anew, since an index is often
        a patient number. Raises `MissingExtra` for a kind that is not installed, `UsageError` for others."""
        found: FrameLike | dict[str, Column] = self.came.frame(self._columns(), kind, index)
        return found

    def plot(self) -> Figure:
        """How often each published value, or range of values, occurs: a figure for notebooks.

        Of vectors the first coordinates are shown, each by itself. Raises `UsageError` for published names."""
        if self.values.dtype.kind == "U":
            raise UsageError("published names have no axis; count them, for instance with collections.Counter")
        drawn = []
        for name, column in self._columns().items():
            counts, edges = np.histogram(np.asarray(column, dtype=np.float64), bins=min(40, max(1, len(self.values))))
            drawn.append((name, ((edges[:-1] + edges[1:]) / 2).tolist(), counts.tolist()))
        half = self.interval[1]
        title = f"The {len(self.values)} published values; each is within {half:.6g} of the exact one with 95 %"
        return laws(title, next(iter(self._columns())), drawn, "rows")

    def _sheet(self) -> Sheet:
        names = self.values.dtype.kind == "U"
        error = [] if names else [("error with 95 %", f"within {self.interval[1]:.6g}")]
        facts = [("published", f"{several(len(self.values), 'row')} of {', '.join(self._columns())}"), *error,
                 ("promised", repr(self.certificate.budget))]  # fmt: skip
        columns = self._columns()
        rows = list(zip(*(np.asarray(column).tolist()[:_SHOWN] for column in columns.values()), strict=True))
        rest = [f"the first {_SHOWN} of {several(len(self.values), 'row')}"] if len(self.values) > _SHOWN else []
        notes = [*rest, *filter(None, [self.note])]
        return Sheet("Release", facts, tuple(columns), rows, notes, self.certificate.warnings)

    def _columns(self) -> dict[str, Column]:
        query = self.certificate.body.get("query")
        name = str(query["publish"]) if query else "value"
        if self.values.ndim == 1:
            return {name: self.values}
        return {f"{name} {k + 1}": self.values[:, k] for k in range(self.values.shape[1])}

    def __float__(self) -> float:
        if self.values.size != 1 or self.values.dtype.kind == "U":
            raise TypeError("a released column, vector or name is not one number")
        return float(self.values.ravel()[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.value, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __repr__(self) -> str:
        several = "vectors" if self.values.ndim > 1 else "values"
        if self.scalar:
            found = self.value
            what = f"{found:g}" if isinstance(found, float) else brief(np.asarray(found).tolist(), 80)
        else:
            what = f"{len(self.values)} {several}"
        low, high = self.interval
        error = "" if self.values.dtype.kind == "U" else f", error within {low:g} .. {high:g} with 95 %"
        return f"Release({what}{error}{', no ledger' if UNCHARGED in self.note else ''})"
