"""CSV, Parquet and Excel files, read and written at once or not at all; what a spreadsheet or a terminal would obey
in them."""

from __future__ import annotations

import atexit
import codecs
import csv
import fcntl
import gzip
import io
import os
import shutil
import stat
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TextIO, cast, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import distinct
from fugu.data.column import Raw
from fugu.data.frame import Relation, Table, mark_of, refused
from fugu.errors import BadTable, UsageError
from fugu.files import STREAM, mark_between, opened, writing
from fugu.visible import brief, visible


@final
@dataclass(frozen=True)
class Dialect:
    """How a text file is cut into cells, said before the file is opened.

    separator: None reads it off the first line, which names the columns. names: of a file without such a line.
    decimal: the mark in which numbers of a sheet are written, as those of a CSV file are."""

    separator: str | None = None
    encoding: str = "utf-8"
    names: tuple[str, ...] | None = None
    decimal: str = "."

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


_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_SHEET = (".xlsx", ".xlsm")
FORMS = (*_CSV, *_PARQUET, *_SHEET)
"""How the name of a file ends that holds a table."""
CHUNK, BLOCK = 100_000, 2**20
"""Rows of a text file, or characters of it, that are cut into cells together."""
_LONGEST = 16 * 1024**2
"""Characters of a line that was unpacked, or of a cell: a file of 300 kB can hold a cell of 300 MB."""
_PLAIN = Dialect()


def read_table(path: str | os.PathLike[str], dialect: Dialect = _PLAIN) -> Table:
    """The table in a CSV, TSV, Parquet or Excel file, a `Table`.

    `path`: the file, by its ending (.csv, .tsv, the same with .gz, .parquet, .xlsx; the latter needs openpyxl); "-" is
    a CSV table from standard input. `dialect`: how a CSV file is cut into cells, by default as its header line shows; a
    .tsv file at tabs. Raises `BadTable` for a file that is missing, empty, or not a table.

    `Table.raw` gives the cells as they stand, for a schema to read. `Table.exact`, for public tables only, takes a
    column of a CSV file as numbers if all its cells are, but for the missing ones."""
    file = Path(path)
    if form_of(path, dialect) in _PARQUET:
        return Table(parquet(file))
    return _coded(*text_rows(file, dialect))


def form_of(path: str | os.PathLike[str], dialect: Dialect = _PLAIN) -> str:
    """The ending of a file that holds a table; `BadTable` for what is missing, empty, or none."""
    streamed, file = os.fspath(path) == STREAM, Path(path)
    name = str(file)
    if not streamed:
        _require_file(path)
    form = ".csv" if streamed else next((end for end in FORMS if name.lower().endswith(end)), "")
    try:
        with opened(path) as raw:
            begins = raw.read(4)
    except OSError:
        raise BadTable(f"{name!r} cannot be read; check who may read it") from None
    if begins == b"" and (streamed or file.stat().st_size == 0):
        raise BadTable(f"{'the input' if name == '-' else repr(name)} is empty; a table needs a header line and rows")
    # of a file whose first line is a record only the ending is looked at: no record decides how it is read
    if form not in _SHEET and (not form or dialect.names is None) and (kind := _SHEETS.get(begins)):
        raise BadTable(
            f"{name!r} is {kind}; save the sheet as CSV (in the spreadsheet: save as, CSV UTF-8), and give that file"
        )
    if form in (".csv", ".tsv") and dialect.names is None and begins.startswith(b"\x1f\x8b"):
        how = "unpack it on the way: gunzip -c FILE.gz | fugu ..." if streamed else f"its name must end in {form}.gz"
        raise BadTable(f"{'standard input' if streamed else repr(name)} is packed with gzip; {how}")
    if not form:
        raise BadTable(f"{name!r} is not a table fugu reads; give a file ending in .csv, .tsv, .parquet or .xlsx")
    return form


_SHEETS = {b"PK\x03\x04": "an Excel file, or another archive", b"\xd0\xcf\x11\xe0": "an Excel file from before 2007"}
"""The first bytes of files that spreadsheets write."""


def _require_file(path: str | os.PathLike[str]) -> None:
    file = Path(path)
    name = str(file)
    if "://" in os.fspath(path):
        raise BadTable(f"{os.fspath(path)!r} is an address, and fugu reads files and no network: fetch it first")
    if not file.exists():
        raise BadTable(f"no file {name!r}; check the path")
    if file.is_dir():
        raise BadTable(
            f"{name!r} is a folder, and only a column to be published is read from a folder of parts: give the file in "
            "it, or join its parts into one, for instance with duckdb: COPY (SELECT * FROM 'folder/*.parquet') TO "
            "'table.parquet'"
        )
    if not file.is_file():
        raise BadTable(f"{name!r} is not a regular file; a CSV table from standard input is -, in place of a path")


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, object], *, private: bool = False) -> None:
    """Write columns of one length under a header; numbers in shortest exact form, missing as an empty cell.

    The file appears whole or not at all (`fugu.files`)."""
    with writing(path, private=private) as out:
        out.write(csv_text(columns))


def csv_text(columns: Mapping[str, object]) -> str:
    """What `write_csv` writes."""
    return "".join(csv_lines(columns))


def csv_lines(columns: Mapping[str, object]) -> list[str]:
    """The same line by line: the names, then a line for each row."""
    lines: list[str] = []
    table = Table(columns)
    cells = [table.exact(name) for name in table.columns]
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\n")
    writer.writerow(table.columns)
    for start in range(0, len(table), CHUNK):
        chunk = slice(start, start + CHUNK)
        printed = []
        for column in cells:
            each = zip(column.values[chunk].tolist(), column.missing[chunk].tolist(), strict=True)
            printed.append(["" if gone else cell for cell, gone in each])
        writer.writerows(zip(*printed, strict=True))
    return lines


def parquet(file: Path, **more: bool) -> Relation:
    """The table in a Parquet file; `more`: what else duckdb is to say of each row."""
    if any(mark in str(file.absolute()) for mark in "*?["):
        raise BadTable(f"{str(file)!r} has one of * ? [ in its path, which duckdb takes for a pattern; rename it")
    connection, mark = connect(), mark_of(file.absolute())
    try:
        relation = connection.from_parquet(str(file.absolute()), hive_partitioning=False, **more)
        return Relation(relation, connection, file.absolute(), mark)
    except BadTable:
        raise
    except Exception as error:  # of its own kind or another: the message may quote a cell
        raise refused(error, f"{str(file)!r} is not a Parquet file, or it is damaged; write it again") from None


@final
class Cut:
    """The cells of one column in a text without quotes, UTF-8 by now, in which each begins and ends somewhere."""

    def __init__(self, text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
        self._text, self._starts, self._sizes = text, starts, ends - starts

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    @cached_property
    def listed(self) -> list[str]:
        """Each cell as text."""
        ends = np.cumsum(self._sizes + 1)
        shift = np.repeat(self._starts - ends + self._sizes + 1, self._sizes + 1)
        own = self._text[shift + np.arange(len(shift))]
        own[ends - 1] = _END
        return own[:-1].tobytes().decode("utf-8", "surrogatepass").split("\n")

    def coded(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different cells as they come first, and the place of each row among them.

        Cells are compared as whole numbers, eight bytes each. Longer ones as the last of those that are made of eight
        bytes after the other: where these differ, so do the cells."""
        longest = int(self._sizes.max(initial=0))
        eights = np.ndarray(len(self._text) - 7, "<u8", self._text, strides=(1,))  # from each byte on
        words = np.zeros(len(self), dtype=np.uint64)
        for start in range(0, min(longest, _LONG), 8):
            kept = _FIRST[np.clip(self._sizes - start, 0, 8)]
            words = words * _ODD ^ (eights[np.minimum(self._starts + start, len(eights) - 1)] & kept)
        order = np.sort(words)
        new = np.concatenate([np.ones(min(len(order), 1), dtype=bool), order[1:] != order[:-1]])
        some = order[new]
        if len(some) == len(self):
            return self.listed, np.arange(len(self))
        if longest <= 8 and len(some) < len(self) // 8:
            found = np.searchsorted(some, words)
            first = np.empty(len(some), dtype=np.int64)
            first[found[::-1]] = np.arange(len(self))[::-1]  # what is written last stays
            texts = (self._text[start : start + size].tobytes() for start, size in
                     ((self._starts[k], self._sizes[k]) for k in np.sort(first).tolist()))  # fmt: skip
            return [text.decode("utf-8", "surrogatepass") for text in texts], np.argsort(np.argsort(first))[found]
        return distinct(self.listed)


_END, _LONG, _ODD = ord("\n"), 64, np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
Cells = Sequence[list[str] | Cut]
"""The cells of some rows, column by column."""


def coded(column: list[str] | Cut) -> tuple[list[str], NDArray[np.int64]]:
    """The different cells as they come first, and the place of each row among them."""
    return column.coded() if isinstance(column, Cut) else distinct(column)


def text_rows(file: Path, dialect: Dialect) -> tuple[tuple[str, ...], Iterator[Cells]]:
    """The names of the columns of a CSV file or a sheet, and its rows, some at a time, all cells as text.

    One parser for every file, and no byte of a cell makes it stop: bytes that do not decode become U+FFFD. A file that
    is not rectangular is refused as a whole; which line it is would say something of a person."""
    if str(file).lower().endswith(_SHEET):
        names, rows = _sheet(file, dialect)
        some = iter(lambda: list(islice(rows, CHUNK)), [])
        chunks: Iterator[Cells] = (list(map(list, zip(*part, strict=True))) for part in some)
    else:
        names, separator = _header(file, dialect)
        chunks = _chunks(file, dialect, separator, len(names))
    if len(set(names)) < len(names):
        raise BadTable(f"several columns of {str(file)!r} have the same name, or it has no header line; rename them")
    return names, _read(file, dialect, names, chunks)


def _read(file: Path, dialect: Dialect, names: tuple[str, ...], chunks: Iterator[Cells]) -> Iterator[Cells]:
    """The rows; what is wrong with the file, in words that quote nothing of it."""
    try:
        yield from chunks
    except csv.Error:  # an unbalanced quote, most often
        raise _ragged(file, names) from None
    except UnicodeError:
        raise _foreign(file, dialect) from None
    except (OSError, EOFError, zlib.error):
        raise BadTable(f"{str(file)!r} cannot be read to its end; it may be damaged, or not a gzip file") from None


def _sheet(file: Path, dialect: Dialect) -> tuple[tuple[str, ...], Iterator[list[str]]]:
    """The names and rows of a workbook's one sheet, each cell as its text: see `fugu.data.sheets`."""
    from fugu.data.sheets import sheet_rows

    rows = sheet_rows(file, dialect.decimal)
    names = dialect.names or named_columns(next(rows, ()))
    if not names:
        raise BadTable(f"{str(file)!r} has no header line; its first row must name the columns")
    if len(names) == 1:
        raise BadTable(
            f"{str(file)!r} has one column, and in a sheet a blank cell and no row are the same: save it as CSV"
        )
    width = len(names)
    full = ([*row, *[""] * width][:width] for row in rows)
    return names, (row for row in full if any(row))


def _coded(names: tuple[str, ...], chunks: Iterable[Cells]) -> Table:
    """Rows as a table: each column as its different texts and the place of each row among them."""
    places: list[defaultdict[str, int]] = [defaultdict() for _ in names]
    for place in places:
        place.default_factory = place.__len__
    codes: list[list[NDArray[np.int64]]] = [[] for _ in names]
    try:
        for chunk in chunks:
            for column, place, found in zip(chunk, places, codes, strict=True):
                cells, own = coded(column)
                found.append(np.fromiter(map(place.__getitem__, cells), np.int64, len(cells))[own])
    except MemoryError as error:
        raise refused(error, "") from None
    none = np.zeros(0, dtype=np.int64)
    raws = (Raw(cells=list(p), codes=np.concatenate([none, *c])) for p, c in zip(places, codes, strict=True))
    return Table(dict(zip(names, raws, strict=True)))


def _ragged(file: Path, names: tuple[str, ...]) -> BadTable:
    return BadTable(
        f"{str(file)!r} is not a table: every line must have {len(names)} cells, as the first one has, with quotes "
        f"closed, and none of more than {_LONGEST:,} characters"
    )


def _chunks(file: Path, dialect: Dialect, separator: str, width: int) -> Iterator[Cells]:
    """The cells of some rows at a time; a blank line is a row with one empty cell. At the end of a wider table it is
    none. Text without a quote is cut at its separators, which is what the parser makes of it; from the first quote on
    the parser reads line by line."""
    with _opened(file, dialect) as lines:
        if dialect.names is None:
            next(csv.reader(_bounded(file, lines), delimiter=separator, strict=True), None)
        blank = 0
        while text := lines.read(BLOCK):
            text += _line(lines) if _packed(file) else lines.readline()
            quoted = '"' in text
            if not quoted and not blank and (plain := _cut(text, separator, width)) is not None:
                yield plain
                continue
            read: Iterable[str] = io.StringIO(text, newline="")
            read = chain(read, _bounded(file, lines)) if quoted else read
            reader = csv.reader(read, delimiter=separator, strict=True)
            while rows := [row or [""] for row in islice(reader, CHUNK)]:
                if width > 1:
                    rows = [[""]] * blank + rows
                    full = len(rows)
                    while full and rows[full - 1] == [""]:
                        full -= 1
                    blank, rows = len(rows) - full, rows[:full]
                if any(len(row) != width for row in rows):
                    raise csv.Error("a line of another length")
                yield list(map(list, zip(*rows, strict=True))) or [[] for _ in range(width)]


def _cut(text: str, separator: str, width: int) -> Cells | None:
    """The cells of whole lines without quotes; None where they are not all alike: blank, of other lengths, or long."""
    text = text.replace("\r\n", "\n")
    text = text if text.endswith("\n") else f"{text}\n"
    if "\r" in text or len(text) > _LONGEST or not separator.isascii() or separator == "\n" or width < 1:
        return None
    if (width > 1 and (text.startswith("\n") or "\n\n" in text)) or "\0" in text:
        return None
    raw = np.frombuffer(text.encode("utf-8", "surrogatepass") + bytes(8), dtype=np.uint8)
    ends = raw == _END
    marks = np.flatnonzero(ends | (raw == ord(separator)))
    if len(marks) % width or not np.array_equal(np.flatnonzero(ends[marks]), np.arange(width - 1, len(marks), width)):
        return None
    starts = np.concatenate([np.zeros(1, dtype=np.int64), marks[:-1] + 1])
    return [Cut(raw, starts[k::width], marks[k::width]) for k in range(width)]


@contextmanager
def _opened(file: Path, dialect: Dialect) -> Iterator[TextIO]:
    """The text of a file; meanwhile a long cell is a cell, up to a limit, and Python's own comes back after."""
    encoding = "utf-8-sig" if dialect.encoding.lower().replace("_", "-") in ("utf-8", "utf8") else dialect.encoding
    most = csv.field_size_limit(_LONGEST)
    try:
        with opened(file) as raw, gzip.open(raw) if _packed(file) else raw as cells:
            yield io.TextIOWrapper(cast(BinaryIO, cells), encoding=encoding, errors="replace", newline="")
    finally:
        csv.field_size_limit(most)


def _bounded(file: Path, lines: TextIO) -> Iterable[str]:
    """The lines of a file; of one that is unpacked, csv.Error at a line beyond the limit, before it is read."""
    return iter(lambda: _line(lines), "") if _packed(file) else lines


def _line(lines: TextIO) -> str:
    """The next line, "" at the end; csv.Error if it is longer than any line of a table."""
    found = lines.readline(_LONGEST + 1)
    if len(found) > _LONGEST:
        raise csv.Error("a line beyond the limit")
    return found


def _header(file: Path, dialect: Dialect) -> tuple[tuple[str, ...], str]:
    """The column names and the separator: as declared, else from the first line alone."""
    try:
        with _opened(file, dialect) as lines:
            named = _line(lines) if dialect.names is None else ""  # of a record nothing is read off
        separator = dialect.separator or mark_between(named, file.name)
        with _opened(file, dialect) as lines:
            first = next(csv.reader(_bounded(file, lines), delimiter=separator), [])
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeError):
        raise _foreign(file, dialect) from None
    if dialect.names is not None:
        if len(first) != len(dialect.names):
            raise BadTable(
                f"{str(file)!r} has {len(first)} columns, and the schema names {len(dialect.names)}: a file without a "
                "header line needs the names of all its columns, in order"
            )
        return dialect.names, separator
    if not any(cell.strip() for cell in first):
        raise BadTable(f"{str(file)!r} has no header line; the first line must name the columns")
    if any("\ufffd" in name for name in first):
        raise _foreign(file, dialect)
    return named_columns(first), separator


def named_columns(cells: Sequence[str]) -> tuple[str, ...]:
    """The names in a header line, and names for columns without one."""
    return tuple(cell.strip() or f"column{i + 1}" for i, cell in enumerate(cells))


def _foreign(file: Path, dialect: Dialect) -> BadTable:
    return BadTable(
        f"{str(file)!r} is not a CSV file in {dialect.encoding.upper()}; save it as UTF-8, plain or gzip, or declare "
        'another one in the schema: encoding = "latin-1"'
    )


def _packed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


# Texts in a CSV file that a spreadsheet would run as formulas, or a terminal obey: fugu says so. The first are written
# as they are; of the others, what cannot be seen is spelled out in the published file, as it is on the screen.

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def formula_columns(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose name, or one of whose texts, begins as formulas do; numbers, also negative ones, are none.

    >>> formula_columns({"ward": ["=1+1", "b"], "change": [-1.5, 2.0], "shift": ["-1", "+2e3"]})
    ('ward',)
    """
    return tuple(name for name, cells in columns.items() if any(map(_runs, (name, *_texts(cells)))))


def hidden_columns(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose name, or one of whose texts, has characters that cannot be seen: of control or of direction.

    >>> hidden_columns({"ward": ["a\\x1b[31m", "b"], "n": [1.0, 2.0]})
    ('ward',)
    """
    named = ((name, {name, *_texts(cells)}) for name, cells in columns.items())
    return tuple(name for name, texts in named if any(visible(text) != text for text in texts))


def shown_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns as they are published: what cannot be seen in a name or a text is spelled out.

    >>> shown_columns({"ward": ["a\\x1b[31m", "b", None], "n": [1.0, 2.0, 3.0]})
    {'ward': ['a\\\\x1b[31m', 'b', None], 'n': [1.0, 2.0, 3.0]}
    """
    unseen = set(hidden_columns(columns))
    return {
        visible(name): [visible(cell) if isinstance(cell, str) else cell for cell in cells] if name in unseen else cells
        for name, cells in columns.items()
    }


def _texts(cells: Any) -> set[str]:
    kind = getattr(getattr(cells, "dtype", None), "kind", "O")
    return {cell for cell in cells if isinstance(cell, str)} if kind in "OUT" else set()


def _runs(text: str) -> bool:
    if not text.startswith(_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


# The embedded engine (duckdb), and where it puts what does not fit into memory: a private folder that does not stay.
#
# Left to itself it spills private rows into `./.tmp`, readable by everybody, and leaves them there when it is killed.

_PREFIX = "fugu-spill-"
_own: tuple[int, int, Path] | None = None
"""Process, open descriptor (which holds the lock) and folder."""


_engines: dict[tuple[int, Path], Any] = {}
"""The engine of each process, by its number and folder. None is let go: a fork must not end its parent's threads."""


def connect() -> Any:
    """A connection in memory that loads no extension and spills into this process's own folder only.

    A process has one engine: to begin one takes 3,000 times as long as to speak to it."""
    import duckdb

    own = os.getpid(), spill_folder()
    if own not in _engines:
        safe = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
        _engines[own] = duckdb.connect(config={**safe, "temp_directory": str(own[1] / "spill")})
    made = _engines[own].cursor()
    made.execute("SET enable_progress_bar = false")  # it would be drawn on stdout, into the JSON of a command
    return made


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
