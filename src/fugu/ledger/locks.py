"""Locks on the file itself, and one live caller per request."""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Literal, TypeVar
from weakref import WeakSet

from fugu.errors import BadLedger, LedgerBusy
from fugu.ledger.chain import sha256

# Locks on the file itself: whoever reaches it, by whichever name, meets the same lock.
#
# A lock belongs to an open file (`F_OFD_SETLK` on Linux, `flock` on other Unix systems), so two threads exclude each
# other as two processes do, a hard link or a file mounted into a container shares the lock of the file, and the system
# drops it when its holder dies. Other programs that open and close the file drop nothing.
#
# An exception may be raised between any two instructions: a keyboard interrupt, a worker's time limit. `holding`
# releases twice, one `finally` around the other, so one exception cannot keep a lock, wherever it strikes.


Result = TypeVar("Result")

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


# One live caller per request: others with the same id wait, and then read the stored value.
#
# On Linux a byte far behind the end of the ledger is locked, at a place that the id decides; the system drops the lock
# when its holder dies, so a crashed request can be taken up at once. (Two ids at one place only wait for each other.)
# Where there are no such locks, two callers may both evaluate; one value is stored and both return it, the other is
# thrown away unseen.


_FROM = 1 << 61


def claimed(path: Path, name: str, timeout: float, work: Callable[[], Result]) -> Result:
    """Hold the request while `work` runs, or raise `LedgerBusy` after the timeout."""

    def alone(held: Held) -> Result:
        place = _FROM + int(sha256(name)[:14], 16)
        with suppress(OSError):  # read-only: nothing can be charged, and what is stored can be read by all
            held.open(path, write=True)
        if held.opened and not held.take(place, timeout):
            raise LedgerBusy("another caller is evaluating this request; wait, and repeat with the same id")
        return work()

    return work() if sys.platform != "linux" else holding(alone)
