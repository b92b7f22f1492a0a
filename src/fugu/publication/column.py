"""A column of a table of any size on its way out, batch by batch: `OpenedColumn` looks at all rows before anything is
charged, and draws them into a file or a folder of parts once it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import BinaryIO, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Raw
from fugu.data.files import csv_lines, read_table, shown_columns
from fugu.data.frame import Table
from fugu.data.parts import CHANGED, Parts, TablePart
from fugu.data.private import Private, open_private, require_columns
from fugu.data.schema import Schema
from fugu.errors import BadTable, MissingExtra, UsageError
from fugu.ledger.fingerprint import Gathered, Marks, earlier_marks, name_bits
from fugu.ledger.gathering import People
from fugu.mechanism import Mechanism
from fugu.mechanism.drawing import BLOCK, ColumnDraw, Distinct, arrow_array
from fugu.noise.bits import OS
from fugu.progress import report
from fugu.publication.drafts import Content, Draft
from fugu.scenario.query import ColumnQuery, person_of, require_one_row_each
from fugu.visible import visible

LOOKED = 2**18
"""So many rows are shown to the owner of how they are read, from batches all over the table; of fewer all are."""
CSV, PARQUET = ".csv", ".parquet"


@final
@dataclass(frozen=True)
class OpenedColumn:
    """A private table, opened for one mechanism, and all that is looked at before its column is drawn.

    `parts`: its files; `rows`: how many rows each has; `sample`: rows for the owner's eyes; `marks`: what a ledger
    recognises the table by, None where there is none."""

    mechanism: Mechanism
    parts: Parts
    rows: tuple[int, ...]
    sample: Private
    marks: Marks | None
    digest: None = None
    """Files are committed to by their bytes."""

    def __len__(self) -> int:
        return sum(self.rows)

    @staticmethod
    def of(mechanism: Mechanism, path: str, marked: bool) -> OpenedColumn:
        """Open the table at this path and look at all of it. Refused for what is public: a column that is not there, a
        unit that is missing or repeats, the very reference as the table. `marked`: a ledger is to recognise it."""
        context = mechanism.context
        stored, stated, unit = context.query, context.schema, context.person
        if stored is None or stated is None:
            raise UsageError(
                "this mechanism was made for bare laws; apply your own query and call mechanism.release(values)"
            )
        schema, query = Schema.from_json(stated), ColumnQuery.from_json(stored)
        parts = Parts.of(path, schema.dialect)
        public = [] if unit is None else [unit]
        require_columns(parts.columns, (query.publish, *public))
        people = None if unit is None else People(partial(_names, parts, schema, unit))
        gathered, sample = Gathered() if marked else None, _Sample()
        twin: list[NDArray[np.float64]] | None = None if context.public_prior else []
        rows: list[int] = []
        for part in parts.parts:
            seen = 0
            for size, table in part.batches(schema.dialect):
                looked, seen = sample.next(), seen + size
                if marked or looked or people is not None or twin is not None:
                    whole = table if marked or looked else table.select((query.publish, *public))
                    private = open_private(whole, schema, [query.publish], public)
                    if looked:
                        sample.add({name: whole.raw(name) for name in parts.columns}, size)
                    if gathered is not None:
                        gathered.add({name: whole.raw(name) for name in parts.columns})
                    if people is not None:
                        people.bits.add(name_bits(names_of(private, str(unit)), whole.raw(str(unit))))
                    if twin is not None:
                        twin.append(query.of_private(private))
                        if sum(map(len, twin)) > (context.reference_rows or 0):  # more rows than the reference has
                            twin = None
                sample.passed()
                report("rows looked at", sum(rows) + seen, parts.about(sum(rows) + seen, sample.place))
            rows.append(seen)
        if people is not None:
            require_once(people, str(unit))
        if twin is not None and sum(rows) == context.reference_rows:
            mechanism.require_other(np.concatenate([np.zeros(0), *twin]))
        marks = None if gathered is None else gathered.marks(people, partial(_earlier, parts))
        shown = sample.private(parts.columns, schema, [query.publish], public)
        return OpenedColumn(mechanism, parts, tuple(rows), shown, marks)

    def content(self, target: Path, folder: bool, *, allow_no_noise: bool) -> Content:
        """What is published, drawn as it is written, once: all rows in their order, in one file or in a part for each
        part. `BadTable` where the table is not what was looked at; then nothing is left of what was drawn."""
        draw = self.mechanism.column_draw(allow_no_noise=allow_no_noise)
        blocks, names = _Blocks(draw, self.parts, len(self)), self.names(target, folder)

        def write(name: str, rows: int, out: BinaryIO) -> None:
            (write_parquet if name.endswith(PARQUET) else _write_csv)(draw, blocks.take(rows), out)
            if name == names[-1]:
                blocks.require_end()
                self.parts.require_same()

        rows = self.published_rows(target, folder)
        return Content([(name, partial(write, name, size)) for name, size in rows.items()], folder)

    def names(self, target: Path, folder: bool) -> tuple[str, ...]:
        """What the published files are called: as the parts that were read, in their own form."""
        return _published_names(self.parts.parts) if folder else (target.name,)

    def published_rows(self, target: Path, folder: bool) -> dict[str, int]:
        """How many rows each of them has."""
        return dict(zip(self.names(target, folder), self._cut(folder), strict=True))

    def rows_of(self, draft: Draft) -> dict[str, int]:
        """The same for files that were drawn."""
        return self.published_rows(draft.target, draft.file.is_dir())

    def _cut(self, folder: bool) -> tuple[int, ...]:
        return self.rows if folder else (len(self),)


def _published_names(parts: Sequence[TablePart]) -> tuple[str, ...]:
    """What parts are called where they are published: as they are, and text files as plain CSV; by their whole names
    where two differ in the ending alone, such as a.csv and a.csv.gz."""
    end = PARQUET if parts[0].rows is not None else CSV  # all parts are of one kind
    short = tuple(part.name.removesuffix(part.form) + end for part in parts)
    return short if len({*short}) == len(short) else tuple(part.name + end for part in parts)


def _earlier(parts: Parts) -> Mapping[str, str]:
    """The digests by which ledgers of version 0.1 know a table; it knew no folders."""
    return {} if parts.folder else earlier_marks(read_table(parts.parts[0].path, parts.dialect).cells())


def _names(parts: Parts, schema: Schema, unit: str) -> Iterator[str]:
    """Who is in a table, read again."""
    for part in parts.parts:
        for _, table in part.batches(schema.dialect):
            yield from names_of(open_private(table.select([unit]), schema, (), [unit]), unit)


class _Blocks:
    """The rows of a column as they are drawn, to be written part by part."""

    def __init__(self, draw: ColumnDraw, parts: Parts, rows: int) -> None:
        numbers = (
            draw.numbers(table.select([draw.name])) for part in parts.parts for _, table in part.batches(parts.dialect)
        )
        self._drawn, self._rest, self._rows, self._done = draw.drawing.blocks(numbers, OS), _NOTHING, rows, 0

    def take(self, rows: int) -> Iterator[Distinct]:
        """So many further rows."""
        while rows:
            if not len(self._rest.codes):
                self._rest = next(self._drawn, _NOTHING)
            values, codes = self._rest
            if not len(codes):
                raise BadTable(CHANGED)
            yield Distinct(values, codes[:rows])
            taken = min(rows, len(codes))
            self._rest, rows, self._done = Distinct(values, codes[rows:]), rows - taken, self._done + taken
            report("rows drawn", self._done, self._rows)

    def require_end(self) -> None:
        """`BadTable` if there are more rows than there were."""
        if len(self._rest.codes) or len(next(self._drawn, _NOTHING).codes):
            raise BadTable(CHANGED)


_NOTHING = Distinct(np.zeros(0), np.zeros(0, dtype=np.int64))


class _Sample:
    """Rows of batches that lie all over a table: all of a small one."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, dict[str, Raw]]] = []
        self._stride, self.place = 1, 0

    def next(self) -> bool:
        """Whether the batch that comes is one of them."""
        return self.place % self._stride == 0

    def add(self, columns: dict[str, Raw], size: int) -> None:
        """Its rows, in all columns."""
        self._kept.append((size, columns))

    def passed(self) -> None:
        """The batch is behind."""
        self.place += 1
        while len(self._kept) > 1 and sum(size for size, _ in self._kept) > LOOKED:
            self._kept, self._stride = self._kept[::2], 2 * self._stride

    def private(self, columns: Sequence[str], schema: Schema, names: Sequence[str], public: Sequence[str]) -> Private:
        """As a table that was opened."""
        kept = [own for _, own in self._kept] or [dict.fromkeys(columns, Raw(None, None, [], _NOTHING.codes))]
        whole = Table({name: Raw.joined([own[name] for own in kept]) for name in columns})
        return open_private(whole, schema, names, public)


def names_of(private: Private, unit: str) -> list[str]:
    """Who is in some rows, in one spelling each; refused where somebody is missing."""
    column = private.table.exact(unit)
    if column.missing.any():
        require_one_row_each(private.table, unit)  # which refuses it
    names: list[str] = column.values.tolist()
    return names if private.whole.raw(unit).plain else list(map(person_of, names))


def require_once(people: People, unit: str) -> None:
    """Refuse a table in which somebody comes again."""
    if people.twice():
        require_one_row_each(Table({unit: ["twice", "twice"]}), unit)  # which refuses it


# How a published file is written, from blocks of different values and where each stands.


def require_form(path: str, folder: bool) -> None:
    """Refuse a name that does not say how a column is written, or that nothing here can write."""
    if not folder and Path(path).suffix not in (CSV, PARQUET):
        raise UsageError(
            "a column is written as CSV or Parquet, or as a folder of parts; give a name that ends in .csv, .parquet "
            f"or /, not {path!r}"
        )
    if path.endswith(PARQUET) and find_spec("pyarrow") is None:
        raise MissingExtra(
            "a column is written as Parquet by pyarrow, which is not installed: pip install 'fugu-privacy[parquet]'; "
            "or give a name that ends in .csv"
        )


def _write_csv(draw: ColumnDraw, blocks: Iterator[Distinct], out: BinaryIO) -> None:
    """As `csv_text` writes the column: each different value is put into words once."""
    out.write(csv_lines({visible(draw.name): []})[0].encode())
    for values, codes in blocks:
        lines = np.array(csv_lines(shown_columns({draw.name: values}))[1:], dtype=object)
        out.write("".join(lines[codes].tolist()).encode())


def write_parquet(draw: ColumnDraw, blocks: Iterator[Distinct], out: BinaryIO) -> None:
    """Doubles, or texts; null where a cell is missing."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(visible(draw.name), pa.string() if draw.texts else pa.float64())])
    with parquet.ParquetWriter(pa.PythonFile(out, mode="w"), schema) as writer:
        named = ((shown_columns({draw.name: values})[visible(draw.name)], codes) for values, codes in blocks)
        shown = (Distinct(np.asarray(values), codes) for values, codes in named)
        while some := list(islice(shown, _GROUP)):
            writer.write_table(pa.table([pa.chunked_array(map(arrow_array, some))], schema=schema))


_GROUP = 2**19 // BLOCK
"""Blocks in a row group of a Parquet file."""
