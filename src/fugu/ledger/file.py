"""A ledger in a file: opened, locked by whoever reaches it, written whole or not at all; a name for each failure."""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar
from weakref import WeakSet

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy
from fugu.files import place_new, writing
from fugu.ledger import events, keys, log, old
from fugu.ledger.events import sha256
from fugu.ledger.log import BLOCK, Log, Medium

if TYPE_CHECKING:
    from fugu.ledger.store import LockedView

Result = TypeVar("Result")

# Locks on the file itself: whoever reaches it, by whichever name, meets the same lock.
#
# A lock belongs to an open file (`F_OFD_SETLK` on Linux, `flock` on other Unix systems), so two threads exclude each
# other as two processes do, a hard link or a file mounted into a container shares the lock of the file, and the system
# drops it when its holder dies. Other programs that open and close the file drop nothing.
#
# An exception may be raised between any two instructions: a keyboard interrupt, a worker's time limit. `holding`
# releases twice, one `finally` around the other, so one exception cannot keep a lock, wherever it strikes.


WHOLE = 1 << 62
"""The byte that stands for the whole file, far behind its end."""
_GATE = WHOLE + 1
"""Passed by all on the way to it, and held by who waits to write: readers after readers would keep a writer out."""
_LAYOUT = "hhqqi4x"
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


class Held:
    """A file that is open and perhaps locked, until `release`."""

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._places: list[int] = []

    def open(self, path: os.PathLike[str], *, write: bool) -> int:
        """Open the file; its number. An interrupted call leaves nothing open: the object closes what it owns."""
        self._file = FileIO(path, "rb+" if write else "rb")
        _OPEN.add(self._file)
        return self._file.fileno()

    @property
    def opened(self) -> bool:
        """Whether there is an open file."""
        return self._file is not None

    def take(self, place: int, timeout: float, *, shared: bool = False) -> bool:
        """Lock one byte, waiting at most this long; whether it was got."""
        assert self._file is not None
        self._places.append(place)  # before the lock: what was never taken can be given back, too
        end = time.monotonic() + timeout
        pause = 0.0002
        while not _taken(self._file.fileno(), place, shared):
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.004)
        return True

    def take_whole(self, timeout: float, *, shared: bool = False) -> bool:
        """Lock the file for one writer, or for readers together; whoever waits to write comes before later readers."""
        if sys.platform != "linux":  # pragma: no cover
            return self.take(WHOLE, timeout, shared=shared)
        end = time.monotonic() + timeout
        if not self.take(_GATE, timeout, shared=shared):
            return False
        got = self.take(WHOLE, end - time.monotonic(), shared=shared)
        assert self._file is not None
        with suppress(OSError):
            _lock(self._file.fileno(), _GATE, "drop")
        return got

    def release(self) -> None:
        """Give the locks back and close the file; may be called again, also after a call that was cut short. A child
        that was forked meanwhile has closed its copy, and drops nothing of its parent's."""
        file = self._file
        if file is not None and not file.closed:
            for place in self._places:
                with suppress(OSError):
                    _lock(file.fileno(), place, "drop")
            file.close()
        self._file, self._places = None, []


def holding(work: Callable[[Held], Result]) -> Result:
    """What `work` returns; whatever it has opened and locked is released by then, whatever is raised at whichever line:
    an exception in the first `release` meets the second, and one in the second finds nothing held."""
    held = Held()
    try:
        try:
            return work(held)
        finally:
            held.release()
    finally:
        held.release()


def _lock(fd: int, place: int, kind: Literal["read", "write", "drop"]) -> None:
    """Take the lock of a byte without waiting, or give it back, also where a forked child has inherited the file."""
    import fcntl

    if sys.platform == "linux":
        word = {"read": fcntl.F_RDLCK, "write": fcntl.F_WRLCK, "drop": fcntl.F_UNLCK}[kind]
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_LAYOUT, word, os.SEEK_SET, place, 1, 0))
    else:  # pragma: no cover
        ways = {"read": fcntl.LOCK_SH | fcntl.LOCK_NB, "write": fcntl.LOCK_EX | fcntl.LOCK_NB, "drop": fcntl.LOCK_UN}
        fcntl.flock(fd, ways[kind])


def _taken(fd: int, place: int, shared: bool) -> bool:
    try:
        _lock(fd, place, "read" if shared else "write")
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if shared:
            return True  # a medium without locks, which nobody can write either
        raise BadLedger("the file system has no locks; keep the ledger on a local disk") from error
    return True


_OPEN: WeakSet[FileIO] = WeakSet()
"""Files that are open now: a child forked meanwhile closes its copies, or a lock could outlive its holder in it."""


def _close_inherited() -> None:
    for file in list(_OPEN):
        with suppress(OSError):
            file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)


@dataclass(frozen=True)
class OpenFile:
    """The bytes of an open file."""

    fd: int

    def at(self, start: int, length: int) -> bytes:
        """So many bytes from a place on; fewer at the end."""
        return log.at(self.fd, start, length)

    def same(self, pieces: Iterable[tuple[int, bytes]]) -> bool:
        """Whether these bytes still stand where each of them begins."""
        return all(log.at(self.fd, start, len(seen)) == seen for start, seen in pieces)

    def append(
        self, known: Log, content: Iterable[bytes], head: str, checkpoint: bool, step: Callable[[str], None]
    ) -> None:
        """Write the event behind the last one, sync it, then say in a slot that it is there."""
        if log.start_of(self)[1] < log.KEYED:  # before an event that older versions do not know
            log.put(self.fd, 0, log.header(known.base, log.KEYED))
            _sync(self.fd)
        step("written")
        try:
            os.ftruncate(self.fd, known.end)  # what a crash left there was never granted
            end = known.end
            for piece in content:
                log.put(self.fd, end, piece)
                end += len(piece)
            _sync(self.fd)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(self.fd, known.end)
            raise
        step("synced")
        seq = known.seq + 1
        place = known.end if checkpoint else known.place
        log.put(self.fd, known.base + seq % 2 * BLOCK, log.slot(seq, head, place))

    def blank(self, place: tuple[int, int], byte: bytes) -> None:
        """Write over an attached text; the file is then of a format that has no key inside."""
        log.put(self.fd, 0, log.header(log.start_of(self)[0], log.KEYED))
        log.put(self.fd, place[0], byte * place[1])
        _sync(self.fd)


_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_FROM = 1 << 61


@dataclass(frozen=True)
class File:
    """The file at a path."""

    path: Path

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.path.name

    def there(self) -> bool:
        """Whether anything has the path."""
        return self.path.exists()

    def read_only(self) -> bool:
        """Whether the file is there and may only be read: its mode, its folder's medium or its owner say so."""
        try:
            os.close(os.open(self.path, os.O_RDWR))
        except OSError as error:
            return error.errno in _CLOSED
        return False

    def read(self, look: Callable[[Medium], Result], timeout: float) -> Result:
        """What `look` makes of one state of the file; nothing is written or made."""

        def locked(held: Held) -> Result:
            fd = self._locked(held, timeout, write=False)
            if log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                with old.copy_of(fd, self.path) as copy:
                    return look(OpenFile(copy))
            if unfinished(fd):
                raise BadLedger(f"{self.name!r} was never finished: no ledger was kept in it")
            check_kind(fd, self.path)
            return look(OpenFile(fd))

        return self._holding(locked)

    def write(self, look: Callable[[Medium], Result], timeout: float, *, make: bool) -> Result:
        """The same, alone; `make` a ledger if there is none."""

        def locked(held: Held) -> Result:
            fd = self._locked(held, timeout, write=True, new=make)
            if make and unfinished(fd):
                finish(fd, self.path)
            elif log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                old.migrate(fd, self.path, timeout)
            check_kind(fd, self.path)
            return look(OpenFile(fd))

        return self._holding(locked)

    def alone(self, name: str, timeout: float, work: Callable[[], Result]) -> Result:
        """Hold the request of this name while `work` runs, or raise `LedgerBusy` after the timeout.

        On Linux a byte far behind the end of the file is locked, at a place that the name decides; the system drops the
        lock when its holder dies, so a crashed request can be taken up at once. (Two names at one place only wait for
        each other.) Where there are no such locks, two callers may both evaluate; one value is stored and both return
        it, the other is thrown away unseen."""

        def locked(held: Held) -> Result:
            place = _FROM + int(sha256(name)[:14], 16)
            with suppress(OSError):  # read-only: nothing can be charged, and what is stored can be read by all
                held.open(self.path, write=True)
            if held.opened and not held.take(place, timeout):
                raise LedgerBusy("another caller is evaluating this request; wait, and repeat with the same id")
            return work()

        return work() if sys.platform != "linux" else holding(locked)

    def fill(self, view: LockedView) -> None:
        """Write a copy of all of a ledger; private, like it."""
        with writing(self.path, private=True) as out:
            out.buffer.writelines(view.pieces())

    def _holding(self, look: Callable[[Held], Result]) -> Result:
        """What `look` returns, the system's errors by fugu's names; a failed write changed nothing and may be tried
        again."""
        try:
            return holding(look)
        except FileNotFoundError as error:
            raise BadLedger(f"no ledger file {self.name!r}") from error
        except OSError as error:
            if error.errno in _CLOSED:
                raise BadLedger(
                    f"the ledger {self.name!r} cannot be read or written; check the permissions of the file and "
                    "its folder"
                ) from error
            if error.errno in _FULL:
                raise BadLedger(
                    f"the disk refused to store the ledger {self.name!r} (full or failing); make room and repeat "
                    "the request with the same id: it is charged once"
                ) from error
            raise BadLedger(f"the ledger {self.name!r} cannot be used: {error.strerror}") from error

    def _locked(self, held: Held, timeout: float, *, write: bool, new: bool = False) -> int:
        """The file, open and locked; opened again if it was replaced by another one meanwhile."""
        while True:
            still = False
            if new:
                make(self.path)
            fd = held.open(checked(self.path), write=write)
            if not held.take_whole(timeout, shared=not write):
                raise LedgerBusy(f"another process holds the ledger {self.name!r}; nothing was charged, try again")
            with suppress(FileNotFoundError):
                still = os.path.samestat(os.fstat(fd), os.stat(self.path))  # the path still leads to the open file
            if still:
                if os.fstat(fd).st_size == 0:  # a new ledger takes its name when it is whole, so this is never one
                    raise LedgerBroken(
                        f"{self.name!r} is empty: the ledger that was kept in it was truncated, and what was "
                        "spent is not known; or the file was made beforehand. Put back the newest copy; if there "
                        "never was a ledger, delete the file, and fugu makes it"
                    )
                return fd
            held.release()


def _sync(fd: int) -> None:
    if sys.platform == "darwin":  # pragma: no cover
        import fcntl

        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves it in the disk's own memory there
    else:
        os.fsync(fd)


# What a path must lead to before a ledger is opened there, and how a new ledger comes to be: whole, or not at all.


def checked(path: Path) -> Path:
    """The path, if what it leads to may be opened; a pipe would wait for ever."""
    if not path.parent.is_dir():
        raise BadLedger(f"the folder of the ledger {path.name!r} does not exist; create it first")
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadLedger(f"no ledger file {path.name!r}: it is a folder or a device")
    return path


def check_kind(fd: int, path: Path) -> None:
    """A file of another kind is left alone."""
    if not log.at(fd, 0, BLOCK).startswith(log.MAGIC):
        raise BadLedger(f"{path.name!r} is not a ledger of fugu; choose another file")


def make(path: Path) -> None:
    """A new ledger, if there is none: whole, for its owner alone, and never over what has the name by then."""
    if not checked(path).exists():
        place_new(path.resolve(), _first(path))


def _first(path: Path) -> bytes:
    """The content of a new ledger; its key is on disk before it."""
    content, head = log.first(events.sha256(keys.made(path)))
    return log.header(BLOCK) + 2 * log.slot(1, head) + content


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
