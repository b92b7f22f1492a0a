"""Where columns come from: a dict, a frame that narwhals reads, a duckdb relation, a text file and how it is cut."""

from __future__ import annotations

import atexit
import codecs
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar, final

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError, NarwhalsError

from fugu.errors import BadTable, MissingExtra, UsageError
from fugu.visible import brief

T = TypeVar("T")


class FrameLike(Protocol):
    """A frame of pandas, polars, pyarrow, duckdb, or any other engine that narwhals reads."""

    @property
    def columns(self) -> object: ...


TableLike = str | os.PathLike[str] | Mapping[str, object] | FrameLike
"""The path of a CSV or Parquet file, a dict of columns (lists, arrays, series), or a frame."""


def source_of(data: object) -> ColumnSource:
    """The source that reads this object."""
    if isinstance(data, Columns | FrameColumns | Relation):  # by type: a frame may have a column of any name
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
    return Relation(native) if type(native).__name__ == "DuckDBPyRelation" else FrameColumns(known)


def framed(data: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """The frame that narwhals makes of it, or of the Arrow stream that it hands over; None for what is no frame.

    Refuses a frame of which two columns have one name."""
    try:
        found = nw.from_native(data, pass_through=True)
        if isinstance(found, nw.DataFrame | nw.LazyFrame):
            return found
        # a table of an engine that narwhals does not know, and that hands over Arrow's columns
        if not callable(getattr(type(data), "__arrow_c_stream__", None)) or not hasattr(data, "schema"):
            return None
        engines = [name for name in ("pyarrow", "polars") if find_spec(name) is not None]
        if not engines:
            raise MissingExtra(f"a {type(data).__name__} is read with pyarrow or polars, and neither is installed")
        return nw.from_arrow(data, backend=engines[0])  # type: ignore[arg-type]
    except DuplicateError:
        raise BadTable("several columns have the same name; rename them") from None
    except NarwhalsError:
        return None


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
class FrameColumns:
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
        for name in filter(lambda name: _is_wide(types[name]), names):
            cells = np.ma.asarray(arrays[name]).tolist()
            arrays[name] = [None if text is None else Decimal(text) for text in cells]
        return {name: arrays[name] for name in names}

    def _asked(self, run: Callable[[], T]) -> T:
        """What the engine gives; what it raises, of its own kind or another, may quote a cell and is not passed on."""
        try:
            return run()
        except Exception as error:
            damaged = "the Parquet file is damaged, or holds what duckdb does not read; write it again"
            raise refused(error, damaged if self.owner is not None else str(_failed("duckdb", error))) from None


ColumnSource = Columns | FrameColumns | Relation
"""Names, and the columns of some of them, fetched together."""
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
    long = kind.startswith("DECIMAL(") and int(kind[8:].split(",", maxsplit=1)[0]) > 15
    return long or kind in ("HUGEINT", "UHUGEINT")


# The embedded engine (duckdb), and where it puts what does not fit into memory: a private folder that does not stay.
#
# Left to itself it spills private rows into `./.tmp`, readable by everybody, and leaves them there when it is killed.

_PREFIX = "fugu-spill-"
_own: tuple[int, int, Path] | None = None
"""Process, open descriptor (which holds the lock) and folder."""


def connect() -> Any:
    """A connection in memory that loads no extension and spills into this process's own folder only."""
    import duckdb

    safe = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    made = duckdb.connect(config={**safe, "temp_directory": str(spill_folder() / "spill")})
    made.execute("SET enable_progress_bar = false")  # it would be drawn on stdout, into the JSON of a command
    return made


def refused(error: Exception, otherwise: str) -> BadTable:
    """What an error of the engine means to a reader: too little room if it says so, else `otherwise`.

    Its own message is not passed on, because it may quote a cell."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return BadTable(
            "there is not enough memory, or room in the folder for temporary files, to read the table; free some, name "
            "a larger folder in TMPDIR, or give a table with fewer rows or columns"
        )
    if isinstance(error, duckdb.IOException) and "No space left" in str(error):
        return BadTable("no space is left in the folder for temporary files; name a larger one in TMPDIR")
    return BadTable(otherwise)


def spill_folder() -> Path:
    """This process's folder for temporary files: 0700, under a random name, removed when the process ends.

    A process that is killed leaves its folder; the next one that needs a folder removes it. The folder itself is
    locked while its process lives, which no reuse of process numbers can fake; a fork gets a folder of its own."""
    global _own
    if _own is not None and _own[0] == os.getpid() and _own[2].is_dir():
        return _own[2]
    _sweep(Path(tempfile.gettempdir()))
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # 0700
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(
                f"no folder for temporary files can be made ({error.strerror}); name one in TMPDIR"
            ) from None
        with suppress(OSError):  # where folders cannot be locked, nobody sweeps them either
            fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.is_dir():  # not swept before it was locked
            break
        os.close(lock)
    _own = os.getpid(), lock, folder
    process = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)  # no fork
    return folder


def _sweep(parent: Path) -> None:
    """Remove what dead processes left: folders of this user, of our name and mode, that nobody holds."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                known = os.fstat(held)
                if known.st_uid == os.getuid() and stat.S_IMODE(known.st_mode) == 0o700:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: its process lives
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)


@final
@dataclass(frozen=True)
class Dialect:
    """How a text file is cut into cells, said before the file is opened.

    separator: None reads it off the first line, which names the columns. names: of a file without such a line."""

    separator: str | None = None
    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.separator is not None and (len(self.separator) != 1 or self.separator in '"\r\n'):
            raise UsageError(f"the separator of a file is one character, such as , or ;, got {brief(self.separator)}")
        try:
            if not getattr(codecs.lookup(self.encoding), "_is_text_encoding", True):
                raise LookupError
            b"".decode(self.encoding, "replace")
        except (LookupError, TypeError, ValueError):
            raise UsageError(
                f"no encoding {brief(self.encoding)}; the usual ones are utf-8, latin-1 and cp1252"
            ) from None
        if self.names is not None and (len(set(self.names)) < len(self.names) or not all(self.names)):
            raise UsageError("the names of a file without a header line must all be different, and none empty")


def require_decoded(column: str, texts: Iterable[object], what: str) -> None:
    """`BadTable` if a text of a public column holds U+FFFD, which stands for bytes that did not decode.

    Different bytes become the same U+FFFD: two secrets would be one, and nothing would hide which of them it is.
    `column`: its name; `texts`: its different texts; `what`: what they are, "secrets" or "states"."""
    if any("\ufffd" in text for text in texts if isinstance(text, str)):
        raise BadTable(
            f"column {column!r} holds {what} that do not decode, and different ones may look the same; save the table "
            "as UTF-8, or declare its encoding in the schema"
        )
