"""`Parts`: a table of any size, in one file or in a folder of them, batch by batch; and that nothing of it changed
meanwhile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from fugu.data.column import Raw
from fugu.data.files import BLOCK, Cells, Dialect, coded, form_of, parquet, text_rows
from fugu.data.frame import Relation, Table, quoted
from fugu.errors import BadTable
from fugu.files import STREAM, file_name, opened, parts_of, plain_name
from fugu.visible import several

ROWS = 2**16
"""Rows of a Parquet file that are held in memory together."""
_ROW = "file_row_number"
"""What duckdb calls the place of a row in its file."""
_PARQUET = (".parquet", ".pq")
CHANGED = (
    "the table changed while it was read, so nothing was published of it: let whoever writes it finish, and run it "
    "again"
)
PathLike = str | os.PathLike[str]


@final
@dataclass(frozen=True)
class TablePart:
    """One file: its path, the ending that says what it is, and what it was when it was opened."""

    path: str
    form: str
    state: tuple[int, ...]
    sha256: str

    @staticmethod
    def of(path: PathLike, dialect: Dialect) -> TablePart:
        """A file as it is now; `BadTable` for one that cannot be read."""
        form = form_of(path, dialect)
        try:
            return TablePart(os.fspath(path), form, *_content(path))
        except OSError:
            raise BadTable(f"{os.fspath(path)!r} cannot be read; check who may read it") from None

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return file_name(self.path)

    @cached_property
    def rows(self) -> int | None:
        """How many rows a Parquet file says that it has; None where they have to be counted."""
        if not self._columnar:
            return None
        counted: Any = Relation(self._native.aggregate("count(*) AS n"), self._relation.owner).fetch(("n",))["n"]
        return int(counted[0])

    @property
    def _columnar(self) -> bool:
        return self.form in _PARQUET

    @cached_property
    def _relation(self) -> Relation:
        found = parquet(Path(self.path), file_row_number=True)
        if list(found.names).count(_ROW) != 1:
            raise BadTable(f"{self.name!r} has a column {_ROW!r}, which is what duckdb calls the rows; rename it")
        return found

    @property
    def _native(self) -> Any:
        return self._relation.relation

    def columns(self, dialect: Dialect) -> tuple[str, ...]:
        """The names of its columns."""
        if self._columnar:
            return tuple(name for name in self._relation.names if name != _ROW)
        return text_rows(Path(self.path), dialect)[0]

    def batches(self, dialect: Dialect) -> Iterator[tuple[int, Table]]:
        """The table, some rows at a time, and how many; a column of a batch is looked at when it is asked for."""
        if self.rows is None:
            names, chunks = text_rows(Path(self.path), dialect)
            for chunk in chunks:
                yield len(chunk[0]), Table(_Texts(names, chunk))
            return
        listed = ", ".join(map(quoted, self.columns(dialect)))
        for start in range(0, self.rows, ROWS):
            size = min(ROWS, self.rows - start)
            chosen = self._native.filter(f"{_ROW} >= {start} AND {_ROW} < {start + size}").project(listed)
            yield size, Table(Relation(chosen, self._relation.owner))


@final
@dataclass(frozen=True)
class Parts:
    """The files of one table, in the order of their names, and how they are cut into cells.

    `folder`: whether they lie in a folder that was given. All have the same columns, in whatever order; which type a
    column has may differ from part to part, as it may depend on a cell: a cell is read by itself."""

    parts: tuple[TablePart, ...]
    dialect: Dialect
    folder: bool
    columns: tuple[str, ...]

    @staticmethod
    def of(path: PathLike, dialect: Dialect) -> Parts:
        """The table at this path. `BadTable` for what is no table, or has parts that do not belong together."""
        folder = os.fspath(path) != STREAM and Path(path).is_dir()
        if not folder:
            only = TablePart.of(path, dialect)
            return Parts((only,), dialect, folder, only.columns(dialect))
        try:
            files = parts_of(path)
        except OSError:
            raise BadTable(f"{os.fspath(path)!r} cannot be listed; check who may read it") from None
        if not files:
            raise BadTable(f"the folder {os.fspath(path)!r} holds no files; give the one with the parts of the table")
        if inner := next((file for file in files if file.is_dir()), None):
            raise BadTable(
                f"{inner.name!r} is a folder inside {os.fspath(path)!r}: parts lie side by side, and what the name of "
                "a folder says is no column; put it into the parts"
            )
        if strange := next((file for file in files if not plain_name(file.name)), None):
            raise BadTable(
                f"the name of the part {strange.name!r} has a backslash, an end of line or bytes that are not text, "
                "and names of parts go out: rename it"
            )
        parts = tuple(TablePart.of(file, dialect) for file in files)
        first, columns = parts[0], parts[0].columns(dialect)
        for part in parts[1:]:
            if (part.form in _PARQUET) != (first.form in _PARQUET):
                raise BadTable(f"{first.name!r} and {part.name!r} are of two kinds; write all parts in one")
            if len({*columns, *(own := part.columns(dialect))}) != len(columns) or len(own) != len(columns):
                raise BadTable(
                    f"the parts {first.name!r} and {part.name!r} have other columns: {several(len(columns), 'column')} "
                    f"and {len(own)}, of which {len({*columns} & {*own})} in both; write all parts with the same ones"
                )
        return Parts(parts, dialect, folder, columns)

    def about(self, seen: int, batches: int) -> int:
        """How many rows there are, as far as is known after so many rows in so many batches."""
        counted = [part.rows for part in self.parts]
        if None not in counted:
            return sum(rows or 0 for rows in counted)
        size = sum(part.state[0] for part in self.parts)
        return max(seen, size * seen // max(BLOCK * batches, 1))

    def require_same(self) -> None:
        """`BadTable` if a file is not what it was when it was opened, or there are others now."""
        first = Path(self.parts[0].path)
        now = parts_of(first.parent) if self.folder else (first,)
        same = [str(file) for file in now] == [part.path for part in self.parts]
        for part in self.parts if same else ():
            try:
                same = same and _content(part.path) == (part.state, part.sha256)
            except OSError:
                same = False
        if not same:
            raise BadTable(CHANGED)


class _Texts(Mapping[str, Raw]):
    """Columns of texts; one that is not asked for is not looked at."""

    def __init__(self, names: tuple[str, ...], cells: Cells) -> None:
        self._cells, self._known = dict(zip(names, cells, strict=True)), dict[str, Raw]()

    def __getitem__(self, name: str) -> Raw:
        if name not in self._known:
            cells, codes = coded(self._cells[name])
            self._known[name] = Raw(cells=cells, codes=codes)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


def _content(path: PathLike) -> tuple[tuple[int, ...], str]:
    """What a file is: its size, when it was written, which file it is; and the SHA-256 of what stands in it."""
    with opened(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        if os.fspath(path) == STREAM:  # kept in memory, and read once
            return (file.tell(),), digest
        found = os.fstat(file.fileno())
        return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev), digest
