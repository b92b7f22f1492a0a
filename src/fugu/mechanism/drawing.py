"""`Drawing`: what the rows of a column go out as, block by block. `ColumnDraw`: the same from cells as they stand, one
Arrow batch after the other, on whatever machine: it knows no file, no ledger and no frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Raw
from fugu.data.field import Field
from fugu.data.frame import Table
from fugu.data.private import open_private
from fugu.data.schema import Schema
from fugu.documents.remap import Remap
from fugu.laws.components import nearest, nearest_place
from fugu.mechanism.post import Step
from fugu.noise.bits import OS, BitSource
from fugu.noise.kind import Noise
from fugu.noise.lattice import Lattice
from fugu.scenario.query import ColumnQuery

Floats = NDArray[np.float64]
BLOCK = 2**15
"""Rows that are drawn together, counted from the first row of a column: the batches in which it comes do not show."""
_SPAN = 8
"""A range of places so many times as wide as there are rows is counted in a table, which spares a sort."""


class Distinct(NamedTuple):
    """Different values, and the place of each row among them."""

    values: NDArray[Any]
    codes: NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """From clean numbers to what is published of them: the nearest supported value, its place, the noise, the number
    of the place where it lies then, and what follows. Each row by itself; only bits are taken in the order of rows.

    `noise`, `lattice`, `support`, `remap`, `post`: as of a `Mechanism`; `dates`: how numbers of days are written."""

    noise: Noise
    lattice: Lattice | None = None
    support: Floats | None = None
    remap: Remap | None = None
    post: tuple[Step, ...] = ()
    dates: Field | None = None

    def drawn(self, column: Floats, source: BitSource) -> Floats:
        """One noised copy of a column of numbers or of vectors; missing rows stay missing."""
        out = np.full(column.shape, np.nan)
        for start in range(0, len(column), BLOCK):
            block, part = column[start : start + BLOCK], out[start : start + BLOCK]
            known = ~(np.isnan(block) if block.ndim == 1 else np.isnan(block).any(axis=1))
            part[known] = self._left(self.noise.move(self._entered(block[known]), source))
        return out

    def processed(self, drawn: Floats) -> NDArray[Any]:
        """What goes out: after the steps that follow, categories without an order under their names, never as codes;
        missing ones as empty text."""
        published = self.noise.named(drawn)
        numbers = np.float64 if published.dtype.kind == "f" else None
        for step in self.post:
            published = np.asarray(step(published), dtype=numbers)
        return published

    def written(self, published: NDArray[Any]) -> NDArray[Any]:
        """Days as dates, the nearest to each number; numbers and names as they are."""
        return published if self.dates is None else self.dates.written(published.astype(np.float64))

    def blocks(self, numbers: Iterable[Floats], source: BitSource) -> Iterator[Distinct]:
        """What goes out of a column that comes in pieces, of whatever lengths: the same draws as of the column whole.

        The steps that follow look at one value at a time (`one_by_one`), so each different value is looked at once."""
        for block in recut(numbers, BLOCK):
            known = ~np.isnan(block)
            places = self.noise.move(self._entered(block[known]), source)
            distinct, codes = _factors(places)
            if not known.all():
                codes, found = np.full(len(block), len(distinct), dtype=np.int64), codes
                codes[known] = found
            missing = [] if known.all() else [np.nan]
            values = np.concatenate([self._left(distinct), np.array(missing, dtype=np.float64)])
            yield Distinct(self.written(self.processed(values)), codes)

    @cached_property
    def _places(self) -> Any:
        """Where each supported number goes in."""
        assert self.support is not None
        return self.noise.index(self.support, self.lattice, self.support)

    def _entered(self, clean: Floats) -> Any:
        """Where numbers go in, each moved to the nearest supported one."""
        if self.support is not None and self.support.ndim == 1:
            return self._places[nearest_place(self.support, clean)]
        near = clean if self.support is None else nearest(self.support, clean)
        return self.noise.index(near, self.lattice, self.support)

    def _left(self, places: Any) -> Floats:
        """The numbers that places go out as."""
        if self.remap is not None:
            return self.remap.apply(places)
        moved = self.noise.value(places, self.lattice, self.support)
        inside = self.noise.added or self.noise.tabled or self.support is None
        return moved if inside or self.support is None else nearest(self.support, moved)


@final
@dataclass(frozen=True, eq=False, repr=False)
class ColumnDraw:
    """One release of a column, batch by batch: each row of the table goes through it once.

    `Mechanism.column_draw` makes it, and uses up the one release of the mechanism. It can be sent to other processes,
    and asks for bits where it runs. Which rows there are, and their order, stay as they are.

    `schema`, `query`: how a cell is read, fixed before the private table is opened; `drawing`: noise and what follows.
    """

    schema: Schema
    query: ColumnQuery
    drawing: Drawing

    @property
    def name(self) -> str:
        """The column that is read, and published."""
        return self.query.publish

    @property
    def texts(self) -> bool:
        """Whether names or dates are published, and not numbers."""
        return self.drawing.dates is not None or self.drawing.noise.names is not None

    def numbers(self, table: Table | Mapping[str, Raw]) -> Floats:
        """The numbers that noise is added to: of each cell by itself, NaN where it is public that one is missing."""
        return self.query.of_private(open_private(Table(table), self.schema, [self.query.publish]))

    def arrow(self, batch: Any, source: BitSource = OS) -> Any:
        """The Arrow record batch that is published of an Arrow record batch of private rows: one column, a row for each
        row, of doubles, or of texts for names and dates; null where it is public that a cell is missing.

        `batch`: a `pyarrow.RecordBatch` with the column, whatever else is in it; `source`: where bits come from, the
        operating system unless given. Only that column is looked at. This is all that a worker of an engine runs."""
        import pyarrow as pa

        numbers = self.numbers({self.name: arrow_cells(self.name, batch.column(self.name))})
        found = [arrow_array(block) for block in self.drawing.blocks([numbers], source)]
        kind = pa.string() if self.texts else pa.float64()
        column = pa.concat_arrays([*found, pa.array([], type=kind)])
        return pa.RecordBatch.from_arrays([column], names=[self.name])


def arrow_cells(name: str, column: Any) -> Raw:
    """The cells of an Arrow column; texts by their dictionary, so that each different one is looked at once."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        coded = column.dictionary_encode()
        cells = [*coded.dictionary.to_pylist(), None]
        codes = coded.indices.fill_null(len(cells) - 1).to_numpy(zero_copy_only=False)
        return Raw(None, None, cells, codes.astype(np.int64))
    return Table(pa.table({name: column})).raw(name)


def arrow_array(block: Distinct) -> Any:
    """What is published of a block as an Arrow array: NaN, or no name, is null."""
    import pyarrow as pa

    values = block.values
    gone = np.isnan(values) if values.dtype.kind == "f" else values == ""
    return pa.array(values, mask=gone).take(pa.array(block.codes))


def recut(pieces: Iterable[Floats], size: int) -> Iterator[Floats]:
    """The same rows in pieces of one size, the last one with what is left.

    >>> [piece.tolist() for piece in recut([np.arange(3.0), np.arange(0.0), np.arange(4.0)], 2)]
    [[0.0, 1.0], [2.0, 0.0], [1.0, 2.0], [3.0]]
    """
    kept = np.zeros(0)
    for piece in pieces:
        kept = np.concatenate([kept, piece]) if len(kept) else piece
        whole = len(kept) - len(kept) % size
        for start in range(0, whole, size):
            yield kept[start : start + size]
        kept = kept[whole:]
    if len(kept):
        yield kept


def _factors(places: NDArray[Any]) -> Distinct:
    """The different places, in order, and which of them each row has."""
    if places.dtype.kind == "i" and len(places):
        low, high = int(places.min()), int(places.max())
        if high - low < _SPAN * len(places):
            seen = np.zeros(high - low + 1, dtype=bool)
            seen[places - low] = True
            return Distinct(np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[places - low])
    distinct, codes = np.unique(places, return_inverse=True)
    return Distinct(distinct, codes.astype(np.int64))
