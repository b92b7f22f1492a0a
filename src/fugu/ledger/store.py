"""Opening, locking and writing a ledger's file, with a name for every failure.

The lock is taken before anything is read and kept until the event is on disk, so no other process can charge between
the look at the budget and the charge. Every look compares the whole chain with the file. The file is opened anew each
time and no lock is carried along, so a forked process starts clean."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy, Unstorable
from fugu.ledger import chain, locks, log, old
from fugu.ledger.log import BLOCK, Log
from fugu.ledger.state import Asked, State

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_LONGEST = 1 << 23


class View:
    """A ledger while it is locked: its state, and the texts attached to its events."""

    def __init__(self, fd: int, read: Log) -> None:
        self._fd, self.log = fd, read

    @property
    def state(self) -> State:
        """Its data sets and requests."""
        return self.log.state

    @property
    def key(self) -> str | None:
        """The key of the file; it is part of no event, so an export does not hold it."""
        return None if self.state.key is None else log.at(self._fd, *self.state.key).decode()

    def attached(self, asked: Asked) -> str:
        """The stored value of a settled request."""
        text = "" if asked.value is None else log.at(self._fd, *asked.value).decode("utf-8", "replace")
        if chain.sha256(text) != asked.sha256:
            raise LedgerBroken("a stored release is not the one that was charged: the ledger was edited or damaged")
        return text

    def whole(self) -> tuple[Log, list[chain.Event]]:
        """The file read again from its start, every attached text included; and all its events."""
        found = Log(log.base_of(self._fd))
        return found, found.read_on(self._fd, deep=True)


class Writing(View):
    """A ledger that may be written: at most one event, on disk when the block ends."""

    def __init__(self, fd: int, read: Log) -> None:
        super().__init__(fd, read)
        self._new: tuple[bytes, str] | None = None

    def append(self, kind: str, body: dict[str, Any], attached: str = "") -> None:
        """The event that the end of the block writes."""
        if self._new is not None:
            raise RuntimeError("one event in each transaction: only so a crash leaves all of it or nothing")
        text = chain.written(body)
        if len(text) > _LONGEST:
            raise Unstorable(f"a request takes more than {_LONGEST} characters; name fewer pairs of secrets in one")
        self._new = log.record(len(self.log.hashes) + 1, self.log.head, kind, text, attached)

    def commit(self, step: Callable[[str], None]) -> None:
        """Write behind the last event what was appended, sync it, then say in a slot that it is there."""
        if self._new is None:
            return
        content, head = self._new
        step("written")
        try:
            os.ftruncate(self._fd, self.log.end)  # what a crash left there was never granted
            log.put(self._fd, self.log.end, content)
            _sync(self._fd)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self._fd, self.log.end)
            raise
        step("synced")
        seq = len(self.log.hashes) + 1
        log.put(self._fd, self.log.base + seq % 2 * BLOCK, log.slot(seq, head))


class File:
    """A ledger's file; its threads look at it one at a time."""

    def __init__(self, path: Path, timeout: float) -> None:
        _check_name(path)
        self.path, self._timeout = path, timeout
        self._known: Log | None = None
        self._lock, self._pid = threading.RLock(), os.getpid()

    def close(self) -> None:
        """Forget what was read; the next call reads the file again."""
        with self._mine():
            self._known = None

    def read_only(self) -> bool:
        """Whether the file is there and may only be read: its mode, its folder's medium or its owner say so."""
        try:
            os.close(os.open(self.path, os.O_RDWR))
        except OSError as error:
            return error.errno in _CLOSED
        return False

    @contextmanager
    def reading(self) -> Iterator[View]:
        """One state of the file, whatever other processes write meanwhile; nothing is written, nor created."""
        with self._mine(), named_errors(self.path), self._locked(os.O_RDONLY) as fd:
            if log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                with old.copy_of(fd, self.path) as copy:
                    yield View(copy, log.opened(copy))
                return
            if os.fstat(fd).st_size == 0 or _unfinished(fd):
                raise BadLedger(f"{self.path.name!r} is empty: no ledger was kept in it")
            _check_kind(fd, self.path)
            self._known = log.opened(fd, self._known)
            yield View(fd, self._known)

    @contextmanager
    def writing(self, step: Callable[[str], None] = lambda _: None) -> Iterator[Writing]:
        """Alone from the first look to the last sync; an exception in the block writes nothing."""
        create = os.O_CREAT if self._known is None else 0
        with self._mine(), named_errors(self.path), self._locked(os.O_RDWR | create) as fd:
            if self._known is None and (os.fstat(fd).st_size == 0 or _unfinished(fd)):
                _begin(fd, self.path)
            elif log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                old.migrate(fd, self.path, self._timeout)
            _check_kind(fd, self.path)
            self._known = log.opened(fd, self._known)
            found = Writing(fd, self._known)
            yield found
            found.commit(step)

    @contextmanager
    def _mine(self) -> Iterator[None]:
        """The lock among threads; in a forked child a new one, for a thread of the parent may hold the old."""
        if self._pid != os.getpid():
            self._lock, self._pid = threading.RLock(), os.getpid()
        with self._lock:
            yield

    @contextmanager
    def _locked(self, how: int) -> Iterator[int]:
        """The file, open and locked; opened again if it was replaced by another one meanwhile."""
        while True:
            fd = _open(self.path, how)
            try:
                if not locks.whole(fd, self._timeout, shared=how == os.O_RDONLY):
                    raise LedgerBusy(
                        f"another process holds the ledger {self.path.name!r}; nothing was charged, try again"
                    )
                if _still(fd, self.path):
                    yield fd
                    return
            finally:
                locks.closed(fd, locks.WHOLE)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """The system's errors as fugu's; a failed write changed nothing and may be tried again."""
    try:
        yield
    except FileNotFoundError as error:
        raise BadLedger(f"no ledger file {path.name!r}") from error
    except OSError as error:
        if error.errno in _CLOSED:
            raise BadLedger(
                f"the ledger {path.name!r} cannot be read or written; check the permissions of the file and its folder"
            ) from error
        if error.errno in _FULL:
            raise BadLedger(
                f"the disk refused to store the ledger {path.name!r} (full or failing); make room and repeat the "
                "request with the same id: it is charged once"
            ) from error
        raise BadLedger(f"the ledger {path.name!r} cannot be used: {error.strerror}") from error


def _open(path: Path, how: int) -> int:
    if not path.parent.is_dir():
        raise BadLedger(f"the folder of the ledger {path.name!r} does not exist; create it first")
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadLedger(f"no ledger file {path.name!r}: it is a folder or a device")
    return locks.opened(path, how)


def _still(fd: int, path: Path) -> bool:
    """Whether the path still leads to the open file."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _check_name(path: Path) -> None:
    name = str(path)
    if name.startswith("file:") or name == ":memory:" or "\0" in name:
        raise BadLedger("a ledger is a file, given by its path, not a URI; leave out what stands before the path")


def _check_kind(fd: int, path: Path) -> None:
    if not log.at(fd, 0, BLOCK).startswith(log.MAGIC):
        raise BadLedger(f"{path.name!r} is no ledger of fugu; choose another file")


def _begin(fd: int, path: Path) -> None:
    """A new ledger: the header comes last, so what has one is complete. For the owner alone, as the key lies in it."""
    key = secrets.token_hex(32)
    first, head = log.record(
        1, chain.START, "open", chain.written({"schema": log.FORMAT, "key": chain.sha256(key)}), key
    )
    if hasattr(os, "fchmod"):
        os.fchmod(fd, 0o600)
    os.ftruncate(fd, 0)
    log.put(fd, BLOCK, 2 * log.slot(1, head) + first)
    _sync(fd)
    log.put(fd, 0, log.header(BLOCK))
    _sync(fd)
    with suppress(OSError):  # the name of the file, too; some systems cannot sync a folder
        folder = os.open(path.resolve().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _unfinished(fd: int) -> bool:
    """Whether the file is what a crash left of `_begin`: no header, and no room for anything but the first event."""
    start = log.at(fd, 0, 4 * BLOCK)
    return len(start) < 4 * BLOCK and start[: BLOCK + 2] == bytes(BLOCK) + b"1 " and b"register" not in start


def _sync(fd: int) -> None:
    if sys.platform == "darwin":  # pragma: no cover
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves it in the disk's own memory there
    else:
        os.fsync(fd)
