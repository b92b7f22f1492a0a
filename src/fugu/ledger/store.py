"""`Books`: opening, locking and writing a ledger's file, with a name for every failure; one live caller per request."""

from __future__ import annotations

import errno
import hashlib
import os
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy, Unstorable
from fugu.ledger import events, log, old
from fugu.ledger.events import Request, State, StoredSet, sha256
from fugu.ledger.fingerprint import Tokens, decoded
from fugu.ledger.log import BLOCK, Log

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


# The lock is taken before anything is read and kept until the event is on disk, so no other process can charge between
# the look at the budget and the charge. Every look compares the chain since the last checkpoint with the file, and
# every page and line that it uses of what lies before (`checkpoint`, `index`). The file is opened anew each time and no
# lock is carried along, so a forked process starts clean; threads exclude each other by the same lock.
#
# Every look makes what is known next beside what was known, and swaps the two in one assignment: an exception at any
# line leaves what was known before, and the next look reads the same events again.


_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
_LONGEST = 1 << 23
_PIECE = 1 << 20
Result = TypeVar("Result")


class LockedView:
    """A ledger while it is locked: its state, and the texts attached to its events."""

    def __init__(self, fd: int, read: Log) -> None:
        self._fd, self.log = fd, read

    @staticmethod
    def nowhere(event: tuple[str, dict[str, Any]] | None = None) -> LockedView:
        """A ledger without a file, in which nothing stands, or this event alone."""
        state = State()
        if event is not None:
            state.apply(events.Event(2, "", *event, "", ""))
        return LockedView(-1, replace(Log.begun(0), state=state))

    @property
    def state(self) -> State:
        """Its data sets and requests."""
        return self.log.state

    @property
    def key(self) -> str | None:
        """The text of the first event: in versions before 0.4 the key; it is part of no event."""
        return None if self.state.key is None else log.at(self._fd, *self.state.key).decode()

    def request(self, data: str, request: str) -> Request | None:
        """What is known of a request; None if it was never asked."""
        return self.state.asked.get((data, request)) or log.earlier(self._fd, self.log.tables, data, request)

    def requests(self) -> dict[tuple[str, str], Request]:
        """Every request, in the order in which they came: where there is a checkpoint, by reading the whole file."""
        if self.log.first == 1:
            return self.state.asked
        return Log.begun(self.log.base).read_on(self._fd, every=True).state.asked

    def pieces(self) -> Iterator[bytes]:
        """The file as far as it was read, piece by piece: a write that was cut short is left out."""
        for start in range(0, self.log.end, _PIECE):
            yield log.at(self._fd, start, min(_PIECE, self.log.end - start))

    def event(self, line: tuple[int, str]) -> events.Event:
        """The event that stands at a place, with the hash that is known of it."""
        return log.event_at(self._fd, *line)[0]

    def attached(self, asked: Request) -> str:
        """The stored value of a settled request."""
        text = "" if asked.value is None else log.at(self._fd, *asked.value).decode("utf-8", "replace")
        if events.sha256(text) != asked.sha256:
            raise LedgerBroken("a stored release is not the one that was charged: the ledger was edited or damaged")
        return text

    def stored(self, held: StoredSet) -> Tokens:
        """The digests of a set of people or rows; `LedgerBroken` if they are not those that were entered."""
        digest, start, length = held
        text = log.at(self._fd, start, length)
        if hashlib.sha256(text).hexdigest() != digest:
            raise LedgerBroken("a stored set of people is not the one that was entered: the ledger was edited")
        return decoded(text)

    def whole(self, visit: Callable[[events.Event], None] = lambda _: None) -> Log:
        """The file read again from its start, every attached text included; `visit` sees every event."""
        return Log.begun(self.log.base).read_on(self._fd, deep=True, visit=visit)


class Writing(LockedView):
    """A ledger that may be written: at most one event, on disk when the block ends."""

    def __init__(self, fd: int, read: Log) -> None:
        super().__init__(fd, read)
        self._new: tuple[bytes, str] | None = None
        self._checkpoint = False

    def append(self, kind: str, body: dict[str, Any], attached: str | bytes = "") -> None:
        """The event that the end of the block writes."""
        if self._new is not None:
            raise RuntimeError("one event in each transaction: only so a crash leaves all of it or nothing")
        text = events.written(body)
        if len(text) > _LONGEST:
            raise Unstorable(f"a request takes more than {_LONGEST} characters; name fewer pairs of secrets in one")
        self._checkpoint = kind == events.KIND
        self._new = log.record(self.log.seq + 1, self.log.head, kind, text, attached)

    def overwrite(self, place: tuple[int, int], byte: bytes) -> None:
        """Blank an attached text, on disk when this returns; the file is then of the present format."""
        log.put(self._fd, 0, log.header(self.log.base))
        log.put(self._fd, place[0], byte * place[1])
        _sync(self._fd)

    def commit(self, step: Callable[[str], None]) -> None:
        """Write behind the last event what was appended, sync it, then say in a slot that it is there."""
        if self._new is None:
            return
        content, head = self._new
        if log.start_of(self._fd)[1] != log.FORMAT:  # before an event that older versions do not know
            log.put(self._fd, 0, log.header(self.log.base))
            _sync(self._fd)
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
        seq = self.log.seq + 1
        place = self.log.end if self._checkpoint else self.log.place
        log.put(self._fd, self.log.base + seq % 2 * BLOCK, log.slot(seq, head, place))


class Books:
    """A ledger's file, with all its data sets, and what was read of it; no budget or prior is at hand."""

    def __init__(self, path: Path, timeout: float = 10.0) -> None:
        name = str(path)  # no URI, and no name that SQLite took for memory
        if name.startswith("file:") or name == ":memory:" or "\0" in name:
            raise BadLedger("a ledger is a file, given by its path, not a URI; leave out what stands before the path")
        self.path, self._timeout = Path(path), timeout
        self._known: Log | None = None

    def close(self) -> None:
        """Forget what was read; the next call reads the file again."""
        self._known = None

    def read_only(self) -> bool:
        """Whether the file is there and may only be read: its mode, its folder's medium or its owner say so."""
        try:
            os.close(os.open(self.path, os.O_RDWR))
        except OSError as error:
            return error.errno in _CLOSED
        return False

    def read(self, work: Callable[..., Result], *args: object) -> Result:
        """What `work` makes of one state of the file (and `args`), whatever others write meanwhile; nothing is written
        or made."""

        def look(held: Held) -> Result:
            fd = self._locked(held, write=False)
            if log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                with old.copy_of(fd, self.path) as copy:
                    return work(LockedView(copy, log.opened(copy)), *args)
            if log.unfinished(fd):
                raise BadLedger(f"{self.path.name!r} was never finished: no ledger was kept in it")
            return work(LockedView(fd, self._look(fd)), *args)

        return self._holding(look)

    def write(self, work: Callable[[Writing], Result], step: Callable[[str], None] = lambda _: None) -> Result:
        """The same, alone from the first look to the last sync; an exception in `work` writes nothing."""

        def look(held: Held) -> Result:
            fd = self._locked(held, write=True)
            if self._known is None and log.unfinished(fd):
                log.finish(fd, self.path)
            elif log.at(fd, 0, len(old.MAGIC)) == old.MAGIC:
                old.migrate(fd, self.path, self._timeout)
            to = Writing(fd, self._look(fd))
            if (due := to.log.checkpoint(fd)) is not None:  # before the charge: where this fails, nothing was charged
                to.append(events.KIND, *due)
                to.commit(lambda name: step(f"checkpoint {name}"))
                to = Writing(fd, self._look(fd))
            result = work(to)
            to.commit(step)
            return result

        return self._holding(look)

    def repair(self) -> dict[int, str]:
        """Accept the events that an interrupted process of version 0.3 wrote twice, by one more event; what they were,
        by number. Nothing is rewritten, so heads that were exported stay in the chain; every charge counts, also one
        that was made twice, for two values may have gone out. Anything else that is wrong with the file is refused."""

        def look(held: Held) -> dict[int, str]:
            fd = self._locked(held, write=True)
            log.check_kind(fd, self.path)
            now = Log.begun(log.start_of(fd)[0]).read_on(fd, deep=True, doubtful=True)
            to = Writing(fd, now)
            if now.state.doubtful:
                to.append("repair", {"events": sorted(now.state.doubtful)})
                to.commit(lambda _: None)
            return now.state.doubtful

        if not self.path.is_file():
            raise BadLedger(f"no ledger file {self.path.name!r}")
        return self._holding(look)

    def _holding(self, look: Callable[[Held], Result]) -> Result:
        """What `look` returns, the system's errors by fugu's names; a failed write changed nothing and may be tried
        again."""
        try:
            return holding(look)
        except FileNotFoundError as error:
            raise BadLedger(f"no ledger file {self.path.name!r}") from error
        except OSError as error:
            if error.errno in _CLOSED:
                raise BadLedger(
                    f"the ledger {self.path.name!r} cannot be read or written; check the permissions of the file and "
                    "its folder"
                ) from error
            if error.errno in _FULL:
                raise BadLedger(
                    f"the disk refused to store the ledger {self.path.name!r} (full or failing); make room and repeat "
                    "the request with the same id: it is charged once"
                ) from error
            raise BadLedger(f"the ledger {self.path.name!r} cannot be used: {error.strerror}") from error

    def _look(self, fd: int) -> Log:
        log.check_kind(fd, self.path)
        self._known = known = log.opened(fd, self._known)
        return known

    def _locked(self, held: Held, *, write: bool) -> int:
        """The file, open and locked; opened again if it was replaced by another one meanwhile."""
        while True:
            still = False
            if write and self._known is None:
                log.make(self.path)
            fd = held.open(log.checked(self.path), write=write)
            if not held.take_whole(self._timeout, shared=not write):
                raise LedgerBusy(f"another process holds the ledger {self.path.name!r}; nothing was charged, try again")
            with suppress(FileNotFoundError):
                still = os.path.samestat(os.fstat(fd), os.stat(self.path))  # the path still leads to the open file
            if still:
                if os.fstat(fd).st_size == 0:  # a new ledger takes its name when it is whole, so this is never one
                    raise LedgerBroken(
                        f"{self.path.name!r} is empty: the ledger that was kept in it was truncated, and what was "
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
