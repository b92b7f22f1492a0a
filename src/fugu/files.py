"""The one way in which fugu writes a file: whole or not at all, in place of a regular file or under a new name. And
standard input, which is read like a file.

A private table, a ledger, a device or what a link leads to is never written over; nobody else can read or prepare
what is not finished. A test looks for any other way of writing in the source.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from fugu.errors import BadTable, UsageError

PathLike = str | os.PathLike[str]
_LEDGERS = (b"fugu ledger ", b"SQLite format 3\x00")
"""How ledgers begin: today's, and those of version 0.1."""
_BESIDE = ("-wal", "-shm", "-journal", "-claims")
"""Files that belong to the ledger whose name they continue."""
_KINDS = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
_MASK = threading.Lock()
_OPEN_FILES = "/proc/self/fd"
"""By which an open file without a name gets one, on Linux."""


STREAM = "-"
"""In place of the path of a table: standard input; of the output of a release: standard output."""
_read: tuple[object, bytes] | None = None
"""The standard input that was read, and what was in it."""


def opened(path: PathLike) -> io.BufferedReader | io.BytesIO:
    """A file in bytes. Standard input is read to its end once and kept in memory alone: whoever opens it again gets the
    same bytes, and nothing of them is left when the process ends, however it does."""
    global _read
    if os.fspath(path) != STREAM:
        return open(path, "rb")
    source = sys.stdin
    if _read is None or _read[0] is not source:
        if source is None or not hasattr(source, "buffer") or source.isatty():
            raise BadTable("- is a table from standard input, and nothing is piped into it: cat table.csv | fugu ...")
        try:
            _read = source, source.buffer.read()
        except OSError:
            raise BadTable("standard input could not be read to its end; save it as a file, and give that") from None
    return io.BytesIO(_read[1])


def parts_of(path: PathLike) -> tuple[Path, ...]:
    """The files of a table in the order of their names: those of a folder, but for names that begin with . or _, which
    engines use for what is no part; else the file itself."""
    place = Path(path)
    if os.fspath(path) == STREAM or not place.is_dir():
        return (place,)
    return tuple(sorted(file for file in place.iterdir() if not file.name.startswith((".", "_"))))


def file_name(path: PathLike) -> str:
    """The name of a file that is read, without its folder; that of standard input."""
    return "stdin" if os.fspath(path) == STREAM else Path(path).name


def plain_name(name: str) -> bool:
    """Whether a document can name a file so: in text that sha256sum prints as it is, and that is no path anywhere."""
    return not set(name) & {"\\", "\r", "\n"} and name.encode(errors="replace").decode() == name


def mark_between(line: str, name: str) -> str:
    """What separates the names in the first line of a text file: tabs in .tsv, else the most frequent of four marks.

    >>> mark_between('a;"b,c,d";e', "t.csv"), mark_between("a,b", "t.tsv.gz")
    (';', '\\t')
    """
    unquoted = re.sub('"[^"]*"', "", line)
    return "\t" if name.lower().endswith((".tsv", ".tsv.gz")) else max(",;\t|", key=unquoted.count)


def write_text(path: PathLike, text: str) -> None:
    """Write a text in UTF-8; UsageError, with nothing written, where that is not allowed or fails."""
    with writing(path) as out:
        out.write(text)


def write_bytes(path: PathLike, raw: bytes) -> None:
    """The same for bytes."""
    with writing(path) as out:
        out.buffer.write(raw)


@contextmanager
def writing(path: PathLike, *, private: bool = False, named: Callable[[], PathLike] | None = None) -> Iterator[TextIO]:
    """A file to be written that takes its name once it is complete and on disk; an error leaves what was there. `named`
    says the name where what is written decides it, in the folder of `path`.

    It is made without a name, so a process that is killed leaves nothing behind; where the system has no such files,
    under a random name in the same folder, exclusively, for its owner alone (0600), and never through a link. When it
    is complete it gets the mode of the umask, but no permission that the file it replaces had not; `private` keeps it
    at 0600 until `give_name`."""
    target, draft = check_target(path), f".fugu-{secrets.token_hex(8)}.tmp"
    with _named(target), _folder(target) as folder, _created(draft, folder) as out:
        yield out
        out.flush()
        target = target if named is None else Path(named())
        os.fchmod(out.fileno(), 0o600 if private else _mode(target.name, folder))
        os.fsync(out.fileno())
        check_target(target)  # again: writing may have taken long
        try:
            _link(out.fileno(), draft, target.name, folder)
        except OSError:  # something has the name, or the file system has no second names
            with suppress(FileExistsError):
                _link(out.fileno(), draft, draft, folder)
            os.rename(draft, target.name, src_dir_fd=folder, dst_dir_fd=folder)


def write_new(path: PathLike, text: str) -> None:
    """Write a private file (0600) whole, under a name that nothing has; what has the name meanwhile stays as it is."""
    with _named(Path(path)):
        place_new(path, text.encode())


def place_new(path: PathLike, raw: bytes) -> None:
    """The same for bytes, with the system's own errors."""
    target, name = Path(path), f".fugu-{secrets.token_hex(8)}.tmp"
    with _folder(target) as folder, _created(name, folder) as out:
        out.buffer.write(raw)
        out.flush()
        os.fsync(out.fileno())
        with suppress(FileExistsError):
            _link(out.fileno(), name, target.name, folder)


@contextmanager
def staged(folder: PathLike) -> Iterator[Path]:
    """A new folder for its owner alone, which is on disk with all that is in it when the block ends; an error removes
    it. A process that is killed leaves it: nobody else can read what is in there."""
    place = check_target(folder)
    with _named(place), _folder(place) as parent:
        os.mkdir(place, 0o700)
        try:
            yield place
            with _folder(place / "inside"):
                pass
        except BaseException:
            discard(place)
            raise
        os.fsync(parent)


def rename(path: PathLike, name: str) -> Path:
    """Give a file or a folder of fugu's own another name in the same folder, at once; where it then is."""
    target = Path(path).with_name(name)
    with _named(target):
        os.rename(path, target)
    return target


def discard(path: PathLike) -> None:
    """Remove a file or a folder of files of fugu's own, if it is there; a link, and not what it leads to."""
    place = Path(path)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def give_name(file: PathLike, path: PathLike) -> None:
    """Let a complete private file or folder beside its target take its name, and the mode that `writing` would give."""
    target = check_target(path)
    with _named(target), _folder(target) as folder:
        source = os.open(Path(file).name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            whole = stat.S_ISDIR(os.fstat(source).st_mode)
            os.fchmod(source, _mode(target.name, folder, 0o777 if whole else 0o666))
        finally:
            os.close(source)
        os.rename(Path(file).name, target.name, src_dir_fd=folder, dst_dir_fd=folder)


def require_place(path: PathLike) -> None:
    """Refuse an address where a file or a folder is to be written."""
    if "://" in os.fspath(path):
        raise UsageError(f"{os.fspath(path)!r} is an address, and fugu writes files: name one, and send it on")


def check_target(path: PathLike) -> Path:
    """The path, if a file may be written there: a regular file that is no ledger, or a new name in a folder."""
    target = Path(path)
    require_place(path)
    if str(target) == STREAM:
        raise UsageError("- is standard output, where only fugu release -o - writes: name a file")
    try:
        here = target.parent.is_dir()
        found = target.lstat()
    except (FileNotFoundError, NotADirectoryError):
        found = None
    except (OSError, ValueError) as error:  # a name that no file can have
        raise _refused(target, error) from None
    if not here:
        raise UsageError(f"the folder of {target.name!r} does not exist; create it first")
    if found is not None and not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "a device or a socket")
        raise UsageError(f"{target.name!r} is {kind}, not a regular file; choose another name")
    if (found is not None and _is_ledger(target)) or _beside_ledger(target):
        raise UsageError(f"{target.name!r} is a ledger, or belongs to one, and is not overwritten; choose another name")
    return target


def check_apart(path: PathLike, *read: PathLike | None) -> Path:
    """The same, for a command that reads files: its output is none of them, by whatever name: by a link, or by letters
    that the file system does not tell apart."""
    file = Path(path)
    for other in (Path(name) for name in read if name is not None):
        if other.is_dir() and other.resolve() in file.resolve().parents:
            raise UsageError(f"the output would lie in the folder {other.name!r}, which is read; choose another place")
        if file.resolve() == other.resolve() or (file.exists() and other.exists() and file.samefile(other)):
            raise UsageError(f"the output would overwrite {other.name!r}, which is read; choose another name")
    return check_target(path)


def check_folder(path: PathLike, *read: PathLike | None) -> Path:
    """The path, if a folder may be written there, none that holds or lies in what a command reads."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder.name!r} is a file, and a folder of parts is to be written; choose another name")
    own = folder.resolve()
    for other in (Path(name) for name in read if name is not None and os.fspath(name) != STREAM):
        if own == other.resolve() or own in other.resolve().parents:
            raise UsageError(f"the folder {folder.name!r} holds {other.name!r}, which is read; choose another name")
    return folder if folder.is_dir() and not folder.is_symlink() else check_target(path)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """The system's errors as fugu's."""
    try:
        yield
    except UnicodeEncodeError:
        raise UsageError(f"{target.name!r} would hold half of a surrogate pair, which is not text; rename it") from None
    except OSError as error:
        raise _refused(target, error) from None


@contextmanager
def _folder(target: Path) -> Iterator[int]:
    """The folder of a file, open, and on disk when the block ends without an error."""
    folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield folder
        with suppress(OSError):  # some file systems cannot; the file is whole either way
            os.fsync(folder)
    finally:
        os.close(folder)


@contextmanager
def _created(name: str, folder: int) -> Iterator[TextIO]:
    """A new file without a name; one of this name where the system or the folder has no files without, which is gone
    when the block ends."""
    how, file = os.O_WRONLY | os.O_CLOEXEC, -1
    try:
        with suppress(AttributeError, OSError):
            file = os.open(".", how | os.O_TMPFILE, 0o600, dir_fd=folder) if os.path.isdir(_OPEN_FILES) else -1
        if file < 0:
            file = os.open(name, how | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        with os.fdopen(file, "w", encoding="utf-8", newline="") as out:
            yield out
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)


def _link(file: int, name: str, target: str, folder: int) -> None:
    """Give the open file, which may have a name already, another one; FileExistsError if something has it."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
        source, through = name, False
    except FileNotFoundError:
        source, through = f"{_OPEN_FILES}/{file}", True
    os.link(source, target, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=through)


def _mode(name: str, folder: int, most: int = 0o666) -> int:
    """What `open` would have given a new file; less if the file in its place had less."""
    with _MASK:
        mask = os.umask(0o077)  # the only way to read it is to set it: never to something laxer
        os.umask(mask)
    try:
        return most & ~mask & os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return most & ~mask


def _is_ledger(path: Path) -> bool:
    """Whether the file begins as ledgers do; one that cannot be read is not taken for harmless."""
    try:
        with open(path, "rb") as file:
            return file.read(max(map(len, _LEDGERS))).startswith(_LEDGERS)
    except OSError as error:
        raise _refused(path, error) from None


def _beside_ledger(path: Path) -> bool:
    owners = [path.name.removesuffix(suffix) for suffix in _BESIDE if path.name.endswith(suffix)]
    return any(name and path.with_name(name).is_file() and _is_ledger(path.with_name(name)) for name in owners)


def _refused(path: Path, error: Exception) -> UsageError:
    return UsageError(f"cannot write {str(path)!r}: {getattr(error, 'strerror', None) or error}; check the folder")
