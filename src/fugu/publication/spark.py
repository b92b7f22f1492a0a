"""A column that Spark draws where its rows are: each row once, in parts that nobody can read until all of them are
there and charged."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast, final

import numpy as np
from numpy.typing import NDArray

from fugu._version import __version__
from fugu.data.frame import Table
from fugu.data.parts import CHANGED
from fugu.data.private import Private, open_private, require_columns
from fugu.data.schema import Schema
from fugu.data.spark import SparkColumns, asked, on_executor, partition, settled
from fugu.errors import BadTable, MissingExtra, UsageError
from fugu.files import discard, give_name, writing
from fugu.ledger.fingerprint import Marks, rows_digest
from fugu.ledger.frames import gathered
from fugu.ledger.gathering import People
from fugu.mechanism import Mechanism
from fugu.mechanism.drawing import ColumnDraw, arrow_cells
from fugu.noise.bits import OS
from fugu.publication.column import LOOKED, names_of, require_once, write_parquet
from fugu.publication.drafts import PENDING, Content, Digested, Draft
from fugu.scenario.query import ColumnQuery

# A task of Spark may run twice: it failed and is tried again, it is slow and another one races it, its executor is
# lost. Every attempt draws anew, with the bits of the operating system of the machine where it runs; no bits are kept
# or handed on. So no attempt writes where anybody reads. It writes a file of its own, under a random name, in a hidden
# folder for its owner alone, and says to the driver what it wrote; Spark hands the driver one answer for each
# partition, and what the driver was told of is moved into the folder of parts, which has no name that is known yet.
# That is the one commit. No committer of Hadoop takes part in it: the second algorithm of its own one (v2) shows what a
# task wrote before the job is whole, and after a failure shows two draws of one row. An attempt that nobody waits for
# finds its folder gone, and makes none: Hadoop's file systems would make it anew, for everybody to read.

_NOT_DRAWN = (
    "Spark could not draw the column ({}): its log says why. Nothing of it can be read, and the same release again "
    "costs nothing more. Every executor needs fugu, and the folder of the output under the same path, as the same user"
)
_TOLD = "part int, file string, sha256 string, size long, rows long"


@final
@dataclass(frozen=True)
class DrawnPart:
    """One part of what goes out, as the task that wrote it told of it."""

    part: int
    file: str
    sha256: str
    size: int
    rows: int

    @property
    def name(self) -> str:
        """Its name among the parts, which are in the order of the frame."""
        return f"part-{self.part:06d}.parquet"


@final
@dataclass(frozen=True, repr=False)
class PartWriter:
    """What an executor runs for a partition: it writes what is published of it into a file of its own in `folder`."""

    draw: ColumnDraw
    folder: str
    texts: frozenset[int]
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row that tells of the file; nothing for a partition without rows."""
        import pyarrow as pa

        with on_executor(self.version, "a part of the column could not be written"):
            told = self.written(partition(), batches)
        if told is not None:
            rows = [[told.part], [told.file], [told.sha256], [told.size], [told.rows]]
            kinds = (pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64())
            columns = [pa.array(cells, type=kind) for cells, kind in zip(rows, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=[word.split()[0] for word in _TOLD.split(", ")])

    def written(self, part: int, batches: Iterator[Any]) -> DrawnPart | None:
        """The file of this attempt, complete and on disk; None for no rows, of which there is no file."""
        draw, name, sizes = self.draw, f"{part:06d}-{secrets.token_hex(16)}", [0]

        def numbers() -> Iterator[NDArray[np.float64]]:
            for batch in batches:
                private = settled(batch, self.texts)
                sizes.append(private.num_rows)
                yield draw.numbers({draw.name: arrow_cells(draw.name, private.column(0))})

        # into a folder that is there: an executor that does not see it fails, and an attempt that is late makes none
        with writing(Path(self.folder, name), private=True) as file:
            out = Digested(file.buffer)
            write_parquet(draw, draw.drawing.blocks(numbers(), OS), cast(BinaryIO, out))
        if sum(sizes):
            return DrawnPart(part, name, out.sha256, out.tell(), sum(sizes))
        os.unlink(Path(self.folder, name))
        return None


def draw_parts(frame: Any, draw: ColumnDraw, attempts: Path, parts: Path) -> tuple[DrawnPart, ...]:
    """Send every row of a Spark frame through the draw once; the files lie in `parts` then.

    `attempts`, `parts`: empty folders beside each other, for their owner alone, which every executor sees under the
    same path. What was drawn and is no part stays in `attempts`, and goes with it. `BadTable` if a task fails as often
    as Spark tries it, and for a frame without rows."""
    if any(stat.S_IMODE(place.stat().st_mode) & 0o077 for place in (attempts, parts)):
        raise UsageError(
            f"{str(parts.parent)!r} lies on a file system that keeps no permissions, so others could read what was "
            "drawn and not released; choose a folder on one that does"
        )
    keyed = SparkColumns(frame).keyed((draw.name,))
    run = PartWriter(draw, str(attempts.absolute()), keyed.texts)
    told = asked(lambda: keyed.frame.mapInArrow(run.__call__, _TOLD).collect(), _NOT_DRAWN)
    drawn = sorted((DrawnPart(**row.asDict()) for row in told), key=lambda part: part.part)
    if len({part.part for part in drawn}) < len(drawn):
        raise BadTable(
            "Spark reported one partition twice, so nothing was released; this is a fault of Spark or of fugu"
        )
    if not drawn:
        raise BadTable("the frame has no rows, so there is nothing to release")
    for part in drawn:
        file = attempts / part.file
        if file.stat().st_size != part.size:
            raise BadTable("a part is not as its executor wrote it: the executors write to another disk, or it is full")
        os.rename(file, parts / part.file)
        give_name(parts / part.file, parts / part.name)  # as readable as any file, once the folder is
    return tuple(drawn)


@final
@dataclass(frozen=True, eq=False, repr=False)
class OpenedFrame:
    """A private frame, opened for one mechanism, and all that is looked at before its column is drawn.

    `rows`: how many it has; `sample`: some of them, for the owner's eyes; `marks`: what a ledger recognises it by;
    `digest`: of all its rows, in whatever order."""

    mechanism: Mechanism
    frame: Any
    rows: int
    sample: Private
    marks: Marks
    digest: str

    def __len__(self) -> int:
        return self.rows

    @staticmethod
    def of(mechanism: Mechanism, frame: Any) -> OpenedFrame:
        """Open the frame and look at all of it; its rows, once seen, are those that are drawn. Refused for what is
        public: a column that is not there, a unit that is missing or repeats, the very reference as the table; and a
        frame that has other cells every time it runs."""
        if find_spec("pyarrow") is None:
            raise MissingExtra("a Spark frame is released with pyarrow: pip install 'fugu-privacy[spark]'")
        context = mechanism.context
        unit, schema = context.person, Schema.from_json(cast(Any, context.schema))
        query, public = ColumnQuery.from_json(cast(Any, context.query)), () if unit is None else (unit,)
        require_columns(SparkColumns(frame).names, (query.publish, *public))
        frame = SparkColumns(frame).fixed().frame
        marks = gathered(frame)
        rows, people = len(marks.rows), None
        if unit is not None:
            people = People.of(names_of(open_private(Table(frame).select(public), schema, (), public), unit))
            require_once(people, unit)
        if not context.public_prior and rows == context.reference_rows:
            private = open_private(Table(frame).select([query.publish]), schema, [query.publish])
            mechanism.require_other(query.of_private(private))
        shown = open_private(frame.limit(LOOKED), schema, [query.publish], public)
        return OpenedFrame(mechanism, frame, rows, shown, marks.marks(people, dict), rows_digest(marks.rows) or "")

    def content(self, target: Path, folder: bool, *, allow_no_noise: bool) -> Content:
        """What is published, drawn when it is written, once. `BadTable` where the frame has other rows than before."""
        del target, folder
        return DrawnContent((), True, opened=self, draw=self.mechanism.column_draw(allow_no_noise=allow_no_noise))

    def rows_of(self, draft: Draft) -> dict[str, int]:
        """How many rows each part of a draft has."""
        import pyarrow.parquet as pq

        return {name: pq.read_metadata(place).num_rows for _, name, place in draft.parts()}


@final
@dataclass(frozen=True, kw_only=True)
class DrawnContent(Content):
    """The parts that Spark draws."""

    opened: OpenedFrame
    draw: ColumnDraw

    def fill(self, place: Path) -> list[tuple[str, str]]:
        """Draw the column into a folder: see `draw_parts`. What attempts left is gone when this ends, however it does;
        of a process that is killed, when the next one begins."""
        attempts = _beside(place)
        attempts.mkdir(mode=0o700)
        try:
            parts = draw_parts(self.opened.frame, self.draw, attempts, place)
        finally:
            late = _beside(place)
            os.rename(attempts, late)  # whoever writes there now finds no folder
            discard(late)
        if sum(part.rows for part in parts) != len(self.opened):
            raise BadTable(CHANGED)
        return [(part.name, part.sha256) for part in parts]


def _beside(place: Path) -> Path:
    """Another hidden folder of the same release, which is swept away with its drafts."""
    stem, _, digits = place.name.removesuffix(PENDING).rpartition(".")
    return place.with_name(f"{stem}.{secrets.token_hex(len(digits) // 2)}{PENDING}")
