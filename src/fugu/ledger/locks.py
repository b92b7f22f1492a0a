"""Locks on the file itself: whoever reaches it, by whichever name, meets the same lock.

A lock belongs to an open file (`F_OFD_SETLK` on Linux, `flock` on other Unix systems, a locked byte on Windows), so two
threads exclude each other as two processes do, a hard link or a file mounted into a container shares the lock of the
file, and the system drops it when its holder dies. Other programs that open and close the file drop nothing."""

from __future__ import annotations

import errno
import os
import struct
import sys
import time
from contextlib import suppress

from fugu.errors import BadLedger

WHOLE = 1 << 62
"""The byte that stands for the whole file, far behind its end."""
_GATE = WHOLE + 1
"""Passed by all on the way to it, and held by who waits to write: readers after readers would keep a writer out."""
_LAYOUT = "hhqqi4x"
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)


def take(fd: int, place: int, timeout: float, *, shared: bool = False) -> bool:
    """Lock one byte, waiting at most this long; whether it was got. `closed` gives it back."""
    end = time.monotonic() + timeout
    pause = 0.0002
    while not _taken(fd, place, shared):
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.004)
    return True


def whole(fd: int, timeout: float, *, shared: bool = False) -> bool:
    """Lock the file for one writer, or for readers together; whoever waits to write comes before later readers."""
    if sys.platform != "linux":  # pragma: no cover
        return take(fd, WHOLE, timeout, shared=shared)
    end = time.monotonic() + timeout
    if not take(fd, _GATE, timeout, shared=shared):
        return False
    try:
        return take(fd, WHOLE, end - time.monotonic(), shared=shared)
    finally:
        with suppress(OSError):
            _drop(fd, _GATE)


def _taken(fd: int, place: int, shared: bool) -> bool:
    try:
        if sys.platform == "linux":
            import fcntl

            kind = fcntl.F_RDLCK if shared else fcntl.F_WRLCK
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_LAYOUT, kind, os.SEEK_SET, place, 1, 0))
        elif sys.platform == "win32":  # pragma: no cover
            import msvcrt

            os.lseek(fd, place & 0x7FFFFFFF, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:  # pragma: no cover
            import fcntl

            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        if shared:
            return True  # a medium without locks, which nobody can write either
        raise BadLedger("the file system has no locks; keep the ledger on a local disk") from error
    return True


def _drop(fd: int, place: int) -> None:
    """Give a lock back, also where a forked child has inherited the open file."""
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack(_LAYOUT, fcntl.F_UNLCK, os.SEEK_SET, place, 1, 0))
    elif sys.platform == "win32":  # pragma: no cover
        import msvcrt

        os.lseek(fd, place & 0x7FFFFFFF, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
    else:  # pragma: no cover
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_UN)


_OPEN: set[int] = set()
"""Files that are open now: a child forked meanwhile closes its copies, or a lock could outlive its holder in it."""


def opened(path: os.PathLike[str], how: int, mode: int = 0o600) -> int:
    """Open a file to be locked; end it with `closed`."""
    fd = os.open(path, how | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0), mode)
    _OPEN.add(fd)
    return fd


def closed(fd: int, place: int) -> None:
    """Give the lock back and close the file; nothing in a child, whose copy was closed when it was forked."""
    if fd in _OPEN:
        _OPEN.discard(fd)
        with suppress(OSError):
            _drop(fd, place)
        os.close(fd)


def _close_inherited() -> None:
    for fd in _OPEN:
        with suppress(OSError):
            os.close(fd)
    _OPEN.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_inherited)
