"""The file: a text that only grows, one event in each line with its hash; how a new one comes to be."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from fugu.errors import BadLedger, LedgerBroken
from fugu.files import place_new
from fugu.ledger import events, keys
from fugu.ledger.events import ENTRY, Event, IndexTable, Request, State, key_of

#     byte 0      header: what this is, and at which byte the log begins
#     log         two slots of 512 bytes, written in turn: how many events there are, the last one's hash, and where the
#                 last checkpoint stands
#     log + 1024  events:  HASH LENGTH [seq, at, kind, body, previous]  and then LENGTH bytes of attached text, if any
#
# An event is written behind the last one and synced, and then a slot is. So there is no journal beside the file that a
# copy, a second name or a move could leave behind or find again too late. What a reader takes:
#
# - the last checkpoint that a slot names, or the start; and every event that follows from it. One that was synced
#   counts,
#   also if the slot was never written: more may be counted than was granted, never less.
# - as far as either slot says, at least. Where a line was edited or deleted the chain ends too early, and the ledger is
#   broken. Behind that, what is no event is a write that was cut short, and nothing was granted for it.
#
# A slot that names another checkpoint gains nothing: the chain must lead from there to the head in the slots.


FORMAT = 4
FORMATS = (3, 4)
"""Those that are read: since 4 the key is a file of its own, and there are checkpoints. Version 0.3 must not take
events in that it does not know, so a file that it wrote becomes one of 4 before the first such event."""
BLOCK = 512
BLANK = b"-"
"""What is written over a key that was moved out of the file."""
MAGIC = b"fugu ledger "
_HEADER = re.compile(rb"fugu ledger (\d{1,9})\nlog at byte (\d{1,18})\n")
_SLOT = re.compile(rb"(\d{1,18}) ([0-9a-f]{64})(?: (\d{1,18}))? [0-9a-f]{64} +\n")
_LINE = re.compile(rb"([0-9a-f]{64}) (\d{1,12}) (\[.*\])\n")
_LONGEST_LINE = 1 << 24
_LARGE = 1 << 16
"""Attached texts beyond this are read when they are asked for, and by `verify`; not at every charge."""

Slot = tuple[int, str, int]


@dataclass(frozen=True)
class Log:
    """What was read of one file. It is never changed: reading on makes the next one, and an exception leaves this.

    `first` is the number of the event with the first of the `hashes`: the last checkpoint, or the first of all.
    `pieces` are the lines as bytes, by where they stand: at the next look any change of them is seen. `tables`: where
    requests from before the checkpoint are found; `place`, `weight`: where it stands, the length of its state."""

    base: int
    end: int
    hashes: tuple[str, ...] = ()
    state: State = field(default_factory=State)
    pieces: tuple[tuple[int, bytes], ...] = ()
    first: int = 1
    before: str = events.START
    place: int = 0
    weight: int = 0
    tables: tuple[IndexTable, ...] = ()

    @staticmethod
    def begun(base: int) -> Log:
        """Nothing read yet."""
        return Log(base, base + 2 * BLOCK)

    @property
    def seq(self) -> int:
        """How many events there are."""
        return self.first + len(self.hashes) - 1

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self.hashes[-1] if self.hashes else self.before

    def checkpoint(self, fd: int) -> tuple[dict[str, Any], bytes] | None:
        """Body and attachment of a checkpoint of all that was read; None while none is due."""
        if not events.due(len(self.hashes), sum(len(seen) for _, seen in self.pieces), self.weight):
            return None
        return events.made(self.state, self.place, self.tables, partial(at, fd))

    def read_on(
        self,
        fd: int,
        *,
        deep: bool = False,
        every: bool = False,
        doubtful: bool = False,
        visit: Callable[[Event], None] = lambda _: None,
    ) -> Log:
        """With the events behind those already known; `LedgerBroken` if there are fewer than a slot says.

        `deep` checks every attached text; `every` keeps all requests, also those from before a checkpoint; `doubtful`
        takes events that repeat others, which a repair is to accept."""
        slots = slots_of(fd, self.base)
        vouched = max(seq for seq, _, _ in slots)
        start, end = self, self.end
        state = self.state.fork()
        hashes, pieces = list(self.hashes), list(self.pieces)
        with open(fd, "rb", closefd=False) as file:
            file.seek(end)
            head, seq = self.head, self.seq
            while (read := _next(file, end, seq + 1, head, deep or seq >= vouched)) is not None:
                event, seen, end = read
                head, seq = event.hash, event.seq
                state.apply(event, partial(earlier, fd, start.tables))
                visit(event)
                if event.kind == events.KIND:
                    tables = events.compare(event, state, start.place, start.tables, partial(at, fd))
                    start = start._from(event, seen, state, tables)
                    hashes, pieces = list(start.hashes), list(start.pieces)
                    if not every:
                        state.asked.clear()
                else:
                    hashes.append(head)
                    _extend(pieces, event.place, seen)
        if seq < vouched:
            raise LedgerBroken(
                f"event {seq + 1} of {vouched} is missing or does not follow from the one before: the ledger was "
                "edited, damaged or truncated"
            )
        known = {start.first - 1 + k: hash for k, hash in enumerate([start.before, *hashes])}
        if any(known.get(number, last) != last for number, last, _ in slots if number):
            raise LedgerBroken("the last event is not the one the ledger ended with: the ledger was edited")
        if state.doubtful and not doubtful:
            raise LedgerBroken(
                f"event {min(state.doubtful)} repeats what the ledger held already: a process of version 0.3 was "
                "interrupted while it read, and wrote it twice. `fugu ledger repair` counts both, and goes on"
            )
        same = end == self.end
        return self if same else replace(start, end=end, hashes=tuple(hashes), state=state, pieces=tuple(pieces))

    def _from(self, event: Event, line: bytes, state: State, tables: tuple[IndexTable, ...]) -> Log:
        """What is known at a checkpoint."""
        assert event.attached is not None  # it would have been no event
        end, weight = sum(event.attached) + 1, int(event.body["state"][0])
        seen = ((event.place, line[: event.attached[0] - event.place]),)
        return Log(self.base, end, (event.hash,), state, seen, event.seq, event.previous, event.place, weight, tables)


def earlier(fd: int, tables: Sequence[IndexTable], data: str, request: str) -> Request | None:
    """A request from before the last checkpoint, by its tables; None if none of them has it.

    What is found is read at its place: the line has the hash that the table states, and is about this very request."""
    key, read = key_of(data, request), partial(at, fd)
    entry = next((e for table in reversed(tables) if (e := table.find(read, key)) is not None), None)
    if entry is None:
        return None
    _, first, start, last, end = ENTRY.unpack(entry)
    entered = event_at(fd, first, start.hex())[0]
    ended = event_at(fd, last, end.hex())[0] if last else None
    for event in (entered,) if ended is None else (entered, ended):
        if (event.body.get("dataset"), event.body.get("request")) != (data, request):
            raise LedgerBroken("the index of a checkpoint leads to another request: the ledger was edited")
    return Request.of(entered) if ended is None else Request.of(entered).after(ended)


def event_at(fd: int, place: int, start: str = "") -> tuple[Event, bytes]:
    """The event whose line begins at a place, and the line; its hash must begin with these digits."""
    line = b""
    for size in (1 << 12, 1 << 16, _LONGEST_LINE):
        line, ended, _ = at(fd, place, size).partition(b"\n")
        if ended:
            break
    line += b"\n"
    parts = _LINE.fullmatch(line)
    event = None if parts is None else events.parsed(parts[3], parts[1].decode())
    if parts is None or event is None or not event.hash.startswith(start):
        raise LedgerBroken(
            f"the line at byte {place} is not the one that was written: the ledger was edited or damaged"
        )
    length = int(parts[2])
    return replace(event, place=place, attached=(place + len(line), length) if length else None), line


def _next(file: BinaryIO, start: int, seq: int, previous: str, deep: bool) -> tuple[Event, bytes, int] | None:
    """The next event, its bytes, and where it ends; its attached text is checked if it is short, or if nobody has
    vouched for the event, and is part of the bytes if it is short."""
    line = file.readline(_LONGEST_LINE)
    parts = _LINE.fullmatch(line)
    event = None if parts is None else events.parsed(parts[3], parts[1].decode())
    if parts is None or event is None or (event.seq, event.previous) != (seq, previous):
        return None
    event = replace(event, place=start)
    length, after = int(parts[2]), start + len(line)
    proof = events.proof_of(event.body)
    if (proof is not None) != bool(length):
        return None
    if not length:
        return event, line, after
    text = b""
    if deep or length <= _LARGE:
        text = file.read(length)
        if hashlib.sha256(text).hexdigest() != proof and not (seq == 1 and BLANK in text):
            return None
    else:
        file.seek(length, os.SEEK_CUR)
    if file.read(1) != b"\n":
        return None
    seen = line + text + b"\n" if length <= _LARGE else line
    return replace(event, attached=(after, length)), seen, after + length + 1


def _extend(pieces: list[tuple[int, bytes]], start: int, seen: bytes) -> None:
    """One more piece; neighbours are joined while the last is not the shorter one, so there are few and joining is
    rare."""
    pieces.append((start, seen))
    while len(pieces) > 1 and pieces[-2][0] + len(pieces[-2][1]) == pieces[-1][0]:
        if len(pieces[-2][1]) > len(pieces[-1][1]):
            return
        (start, first), (_, second) = pieces[-2:]
        pieces[-2:] = [(start, first + second)]


def opened(fd: int, known: Log | None = None) -> Log:
    """The log of an open file, read on from what is known of it; `LedgerBroken` if that is no longer in it."""
    base, _ = start_of(fd)
    same = known is not None and known.base == base
    if known is not None and same and all(at(fd, start, len(seen)) == seen for start, seen in known.pieces):
        return known.read_on(fd)  # every line that was read still stands where it stood
    if known is None:
        place = max(slots_of(fd, base))[2]
        if not place:
            return Log.begun(base).read_on(fd)
        event, line = event_at(fd, place)
        if event.kind != events.KIND:
            raise LedgerBroken("the ledger names an event as checkpoint that is not one: it was edited or damaged")
        now = Log(base, 0)._from(event, line, *events.taken(event, partial(at, fd)))
        if at(fd, now.end - 1, 1) != b"\n":
            raise LedgerBroken("the last checkpoint is cut short: the ledger was edited, damaged or truncated")
        return now.read_on(fd)
    passed = []
    now = Log.begun(base).read_on(fd, visit=lambda event: passed.append(event.hash == known.head))
    if known.seq and not any(passed):
        raise LedgerBroken(
            "the ledger no longer holds what this process read in it: it was rolled back to an older copy, or replaced"
        )
    return now


def start_of(fd: int) -> tuple[int, int]:
    """The byte at which the log begins, and the format of the file."""
    parts = _HEADER.match(at(fd, 0, BLOCK))
    if parts is not None and int(parts[1]) > FORMAT:
        raise BadLedger(
            f"the ledger has format {int(parts[1])}, newer than {FORMAT}; install the newer fugu that wrote it"
        )
    if parts is None or int(parts[1]) not in FORMATS:
        raise LedgerBroken("the first lines of the ledger were edited or damaged")
    return int(parts[2]), int(parts[1])


def header(base: int) -> bytes:
    """The first block of a file."""
    told = (
        f"fugu ledger {FORMAT}\nlog at byte {base}\n\n"
        "What was spent on which data, written by fugu and read by `fugu ledger show`. Every line below\n"
        "holds the hash of the one before it: an edited ledger is a broken one. Copy it whole, and keep one.\n"
    )
    return told.encode().ljust(BLOCK - 1) + b"\n"


def slot(seq: int, head: str, place: int = 0) -> bytes:
    """A slot: how many events there are, the last one's hash, and where the last checkpoint stands, if there is one."""
    told = f"{seq} {head}" + (f" {place}" if place else "")
    return f"{told} {events.sha256(told)}".encode().ljust(BLOCK - 1) + b"\n"


def slots_of(fd: int, base: int) -> list[Slot]:
    """What the two slots say, as far as they were not cut short."""
    slots: list[Slot] = []
    for block in (at(fd, base, BLOCK), at(fd, base + BLOCK, BLOCK)):
        if (parts := _SLOT.fullmatch(block)) is not None:
            said = (int(parts[1]), parts[2].decode(), int(parts[3] or 0))
            slots += [said] if slot(*said) == block else []
    if not slots:
        raise LedgerBroken("the ledger does not say how many events it has: it was edited, damaged or truncated")
    return slots


def record(
    seq: int, previous: str, kind: str, body: str, attached: str | bytes = "", when: str = ""
) -> tuple[bytes, str]:
    """The bytes of an event and its hash."""
    text = events.stated(seq, when or datetime.now(UTC).isoformat(timespec="milliseconds"), kind, body, previous)
    found, more = events.sha256(text), attached if isinstance(attached, bytes) else attached.encode()
    return f"{found} {len(more)} {text}\n".encode() + (more + b"\n" if more else b""), found


def at(fd: int, start: int, length: int) -> bytes:
    """So many bytes of an open file from a place on; fewer at its end. Whoever reads it line by line is not moved."""
    parts, wanted = [], length
    while wanted and (part := os.pread(fd, wanted, start)):
        parts.append(part)
        start, wanted = start + len(part), wanted - len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def put(fd: int, start: int, content: bytes) -> None:
    """Write all of this from a place on."""
    rest = memoryview(content)
    while rest:
        done = os.pwrite(fd, rest, start)
        start, rest = start + done, rest[done:]


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
    if not at(fd, 0, BLOCK).startswith(MAGIC):
        raise BadLedger(f"{path.name!r} is not a ledger of fugu; choose another file")


def make(path: Path) -> None:
    """A new ledger, if there is none: whole, for its owner alone, and never over what has the name by then."""
    if not checked(path).exists():
        place_new(path.resolve(), _first(path))


def _first(path: Path) -> bytes:
    """The content of a new ledger; its key is on disk before it."""
    told = {"schema": FORMAT, "commitment": events.sha256(keys.made(path))}
    first, head = record(1, events.START, "open", events.written(told))
    return header(BLOCK) + 2 * slot(1, head) + first


def finish(fd: int, path: Path) -> None:
    """Complete what a crash of version 0.3 left of a new ledger; the header comes last, so what has one is whole."""
    content = _first(path)
    os.fchmod(fd, 0o600)
    os.ftruncate(fd, 0)
    put(fd, BLOCK, content[BLOCK:])
    os.fsync(fd)
    put(fd, 0, content[:BLOCK])
    os.fsync(fd)


def unfinished(fd: int) -> bool:
    """Whether the file is what a crash of version 0.3 left of a new one: no header, and no room for anything but the
    first event."""
    start = at(fd, 0, 4 * BLOCK)
    return len(start) < 4 * BLOCK and start[: BLOCK + 2] == bytes(BLOCK) + b"1 " and b"register" not in start
