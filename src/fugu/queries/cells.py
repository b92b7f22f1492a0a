"""The cells of a histogram or a cross-tabulation: public labels, and the cell of every row, reference or private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table, private
from fugu.data.causes import why_text
from fugu.data.cells import OTHER
from fugu.data.private import label_of
from fugu.errors import BadTable, UsageError

_MOST = 10_000
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One column of a table of counts: the labels of its cells, and how a row finds its own."""

    column: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    def places(self, schema: Schema, table: Table) -> Codes:
        """The cell of every row, the last one where it is in none."""
        if self.edges is not None:
            inner = np.asarray(self.edges[1:-1], dtype=np.float64)
            return np.searchsorted(inner, private.numbers(schema, table, self.column), "right").astype(np.int64)
        codes = private.places(schema, table, self.column, self.labels[:-1])
        return np.where(codes < 0, len(self.labels) - 1, codes).astype(np.int64)


@dataclass(frozen=True)
class Layout:
    """All cells of a table of counts, also the empty ones, and each row's cell: the same function on both tables."""

    axes: tuple[Axis, ...]

    @property
    def labels(self) -> list[str]:
        """One label for each cell, the first column varying slowest."""
        return [" / ".join(parts) for parts in product(*(axis.labels for axis in self.axes))]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(len(axis.labels) for axis in self.axes)

    def places(self, schema: Schema, table: Table) -> Codes:
        """The number of each row's cell."""
        place = np.zeros(len(table), dtype=np.int64)
        for axis in self.axes:
            place = place * len(axis.labels) + axis.places(schema, table)
        return place


def layout(reference: Table, schema: Schema, columns: tuple[str, ...], bins: Sequence[float] | None) -> Layout:
    """The cells that a reference and a schema make.

    Categories are those of the schema, or the numbers of the reference, and whatever the private table holds besides
    goes to "(other)": which cells there are says nothing about the private table. Many numbers need edges."""
    found = Layout(tuple(_axis(reference, schema, column, bins if len(columns) == 1 else None) for column in columns))
    count = int(np.prod(found.shape))
    if count > _MOST:
        raise UsageError(f"there would be {count} cells; at most {_MOST} are released at once")
    return found


def _axis(reference: Table, schema: Schema, column: str, bins: Sequence[float] | None) -> Axis:
    known = schema.fields[column]
    if bins is not None:
        return _binned(schema, column, bins)
    if known.values is None:
        _, found = reference.exact(column).codes(strict=False)
        if known.numeric and len(found) > 50:
            raise UsageError(f"column {column!r} holds many different numbers; give bins (edges) for its histogram")
        labels = [label_of(value) for value in found.tolist()]
    else:
        labels = list(known.values)
    return Axis(column, (*(label for label in labels if label != OTHER), OTHER))


def _binned(schema: Schema, column: str, bins: Sequence[float]) -> Axis:
    if len(bins) < 2 or any(a >= b for a, b in pairwise(bins)):
        raise UsageError("bins must be at least two increasing edges")
    if not schema.fields[column].numeric:
        why = why_text(schema.fields[column].values or ())
        raise BadTable(f"column {column!r} holds text{why}; bins of numbers do not fit it")
    return Axis(column, tuple(f"{a:g} to {b:g}" for a, b in pairwise(bins)), tuple(float(edge) for edge in bins))
