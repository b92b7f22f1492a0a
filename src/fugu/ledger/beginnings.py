"""What a path must lead to before a ledger is opened there, and how a new ledger comes to be: whole, or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from fugu.errors import BadLedger, LedgerBroken
from fugu.files import place_new
from fugu.ledger import chain, keys, log
from fugu.ledger.log import BLOCK


def checked(path: Path) -> Path:
    """The path, if what it leads to may be opened; a pipe would wait for ever."""
    if not path.parent.is_dir():
        raise BadLedger(f"the folder of the ledger {path.name!r} does not exist; create it first")
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadLedger(f"no ledger file {path.name!r}: it is a folder or a device")
    return path


def check_name(path: Path) -> None:
    """A ledger is a file: no URI, and no name that SQLite took for memory."""
    name = str(path)
    if name.startswith("file:") or name == ":memory:" or "\0" in name:
        raise BadLedger("a ledger is a file, given by its path, not a URI; leave out what stands before the path")


def check_kind(fd: int, path: Path) -> None:
    """A file of another kind is left alone."""
    if not log.at(fd, 0, BLOCK).startswith(log.MAGIC):
        raise BadLedger(f"{path.name!r} is no ledger of fugu; choose another file")


def check_content(fd: int, path: Path) -> None:
    """A new ledger takes its name when it is whole, so an empty file is never one."""
    if os.fstat(fd).st_size == 0:
        raise LedgerBroken(
            f"{path.name!r} is empty: the ledger that was kept in it was truncated, and what was spent is not known; "
            "or the file was made beforehand. Put back the newest copy; if there never was a ledger, delete the file, "
            "and fugu makes it"
        )


def make(path: Path) -> None:
    """A new ledger, if there is none: whole, for its owner alone, and never over what has the name by then."""
    if not checked(path).exists():
        place_new(path.resolve(), _first(path))


def _first(path: Path) -> bytes:
    """The content of a new ledger; its key is on disk before it."""
    told = {"schema": log.FORMAT, "commitment": chain.sha256(keys.made(path))}
    first, head = log.record(1, chain.START, "open", chain.written(told))
    return log.header(BLOCK) + 2 * log.slot(1, head) + first


def finish(fd: int, path: Path) -> None:
    """Complete what a crash of version 0.3 left of a new ledger; the header comes last, so what has one is whole."""
    content = _first(path)
    os.fchmod(fd, 0o600)
    os.ftruncate(fd, 0)
    log.put(fd, BLOCK, content[BLOCK:])
    os.fsync(fd)
    log.put(fd, 0, content[:BLOCK])
    os.fsync(fd)


def unfinished(fd: int) -> bool:
    """Whether the file is what a crash of version 0.3 left of a new one: no header, and no room for anything but the
    first event."""
    start = log.at(fd, 0, 4 * BLOCK)
    return len(start) < 4 * BLOCK and start[: BLOCK + 2] == bytes(BLOCK) + b"1 " and b"register" not in start
