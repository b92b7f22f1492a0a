"""A column that Spark draws where its rows are: each row once, in parts that nobody can read until all of them are
there and charged."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, final

from fugu._version import __version__
from fugu.data.spark import SparkColumns, asked, settled
from fugu.errors import BadTable, MissingExtra, UsageError
from fugu.mechanism.drawing import ColumnDraw

# A task of Spark may run twice: it failed and is tried again, it is slow and another one races it, its executor is
# lost. Every attempt draws anew, with the bits of the operating system of the machine where it runs; no bits are kept
# or handed on. So no attempt writes where anybody reads. It writes a file of its own, under a random name, in a hidden
# folder for its owner alone, and says to the driver what it wrote; Spark hands the driver one answer for each
# partition, and what the driver was told of is moved into the folder of parts, which has no name that is known yet.
# That is the one commit. No committer of Hadoop takes part in it: the second algorithm of its own one (v2) shows what a
# task wrote before the job is whole, and after a failure shows two draws of one row. An attempt that nobody waits for
# finds its folder gone, and makes none: Hadoop's file systems would make it anew, for everybody to read.

_GROUP = 2**18
"""Rows of a group of rows in a Parquet file."""
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
class Attempt:
    """What an executor runs for a partition: it writes what is published of it into a file of its own in `folder`."""

    draw: ColumnDraw
    folder: str
    texts: frozenset[int]
    version: str = __version__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row that tells of the file; nothing for a partition without rows."""
        import pyarrow as pa
        from pyspark import TaskContext

        if self.version != __version__:
            raise RuntimeError(f"the driver runs fugu {self.version} and this executor {__version__}: install one")
        try:
            context = TaskContext.get()
            part = 0 if context is None else context.partitionId()
            told = self.written(part, batches)
        except Exception as error:  # the driver prints what it is told: never a cell
            raise RuntimeError(f"a part of the column could not be written ({type(error).__name__})") from None
        if told is not None:
            rows = [[told.part], [told.file], [told.sha256], [told.size], [told.rows]]
            kinds = (pa.int32(), pa.string(), pa.string(), pa.int64(), pa.int64())
            columns = [pa.array(cells, type=kind) for cells, kind in zip(rows, kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=[word.split()[0] for word in _TOLD.split(", ")])

    def written(self, part: int, batches: Iterator[Any]) -> DrawnPart | None:
        """The file of this attempt, complete and on disk; None for no rows, of which there is no file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        name, rows = f"{part:06d}-{secrets.token_hex(16)}", 0
        writer, held, waiting = None, [], 0
        # made in a folder that is there: an executor that does not see it fails, and an attempt that is late makes none
        with open(os.open(Path(self.folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            out = Digested(file)
            for batch in batches:
                if not batch.num_rows:
                    continue
                private = settled(batch, self.texts)
                held.append(self.draw.arrow(pa.RecordBatch.from_arrays(private.columns, names=[self.draw.name])))
                rows, waiting = rows + batch.num_rows, waiting + batch.num_rows
                writer = writer or pq.ParquetWriter(out, held[0].schema)
                if waiting >= _GROUP:
                    writer.write_table(pa.Table.from_batches(held))
                    held, waiting = [], 0
            if writer is None:
                os.unlink(Path(self.folder, name))
                return None
            if held:
                writer.write_table(pa.Table.from_batches(held))
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        return DrawnPart(part, name, out.hash.hexdigest(), out.size, rows)


@final
class Digested:
    """A file that is written from beginning to end, with the SHA-256 of what is in it."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hash, self.size = file, hashlib.sha256(), 0

    def write(self, some: Any) -> int:
        """Further bytes."""
        raw = memoryview(some)
        self.hash.update(raw)
        self.size += raw.nbytes
        return self.file.write(raw)

    def tell(self) -> int:
        """How many there are."""
        return self.size

    def flush(self) -> None:
        """Nothing: the file is closed before anybody is told of it."""

    def close(self) -> None:
        """Nothing: whoever opened the file closes it."""


def require_frame(frame: Any) -> None:
    """Refuse a frame that draws at random: a second look at it, or a second attempt, would find other rows."""
    if not asked(lambda: frame._jdf.queryExecution().analyzed().deterministic()):
        raise UsageError(
            "this frame draws at random (rand, uuid, numbers of rows), so it has other cells every time that it runs; "
            "write it to a table, and release that"
        )


def draw_parts(frame: Any, draw: ColumnDraw, attempts: Path, parts: Path) -> tuple[DrawnPart, ...]:
    """Send every row of a Spark frame through the draw once; the files lie in `parts` then.

    `attempts`, `parts`: empty folders beside each other, for their owner alone, which every executor sees under the
    same path. What was drawn and is no part stays in `attempts`, and goes with it. `BadTable` if a task fails as often
    as Spark tries it, and for a frame without rows."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "a column of a Spark frame is drawn with pyarrow: pip install 'fugu-privacy[spark]'"
        ) from None
    if any(stat.S_IMODE(place.stat().st_mode) & 0o077 for place in (attempts, parts)):
        raise UsageError(
            f"{str(parts.parent)!r} lies on a file system that keeps no permissions, so others could read what was "
            "drawn and not released; choose a folder on one that does"
        )
    keyed = SparkColumns(frame).keyed((draw.name,))
    run = Attempt(draw, str(attempts.absolute()), keyed.texts)
    told = asked(lambda: keyed.frame.mapInArrow(run.__call__, _TOLD).collect())
    drawn = sorted((DrawnPart(**row.asDict()) for row in told), key=lambda part: part.part)
    if len({part.part for part in drawn}) < len(drawn):
        raise BadTable(
            "Spark told twice of one partition, so nothing was released; this is a fault of Spark or of fugu"
        )
    if not drawn:
        raise BadTable("the frame has no rows, so there is nothing to release")
    for part in drawn:
        file = attempts / part.file
        if file.stat().st_size != part.size:
            raise BadTable("a part is not as its executor wrote it: the executors write to another disk, or it is full")
        os.rename(file, parts / part.name)
    return tuple(drawn)
