"""The text of a ledger, which only grows: one event in each line with its hash; and what was read of it."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, BinaryIO, Protocol

from fugu.errors import BadLedger, LedgerBroken
from fugu.ledger import events
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
#
# Where these bytes lie is a `Medium`: a file (`file`), or rows of a database that read as one (`database`).


FORMAT = 5
FORMATS = (3, 4, 5)
"""Those that are read: since 4 the key is a file of its own, and there are checkpoints. Version 0.3 must not take
events in that it does not know, so a file that it wrote becomes one of 4 before the first such event. Since 5 people
and rows have other digests (`gathering`): those of a ledger are all of one kind, of which its first event says the
format, so one that was begun before stays as it is."""
KEYED = 4
"""The first of which the key is a file of its own."""
BLOCK = 512
BLANK = b"-"
"""What is written over a key that was moved out of the file."""
MAGIC = b"fugu ledger "
_HEADER = re.compile(rb"fugu ledger (\d{1,9})\nlog at byte (\d{1,18})\n")
_SLOT = re.compile(rb"(\d{1,18}) ([0-9a-f]{64})(?: (\d{1,18}))? [0-9a-f]{64} +\n")
_LINE = re.compile(rb"([0-9a-f]{64}) (\d{1,12}) (\[.*\])\n")
_LONGEST_LINE = 1 << 24
_AHEAD = 1 << 16
_PIECE = 1 << 20
LARGE = 1 << 16
"""Attached texts beyond this are read when they are asked for, and by `verify`; not at every charge."""

Slot = tuple[int, str, int]


class Medium(Protocol):
    """What the bytes of an open ledger lie in, while nobody else writes there."""

    def at(self, start: int, length: int) -> bytes:
        """So many bytes from a place on; fewer at the end."""

    def same(self, pieces: Iterable[tuple[int, bytes]]) -> bool:
        """Whether these bytes still stand where each of them begins."""

    def append(
        self, known: Log, content: Iterable[bytes], head: str, checkpoint: bool, step: Callable[[str], None]
    ) -> None:
        """Put one more event, of this hash, behind those that are known: on disk when this returns, or not at all."""

    def blank(self, place: tuple[int, int], byte: bytes) -> None:
        """Write a byte over all of an attached text; on disk when this returns."""


class _Stream(io.RawIOBase):
    """The bytes of a medium from a place on, one after the other."""

    def __init__(self, medium: Medium, place: int) -> None:
        self._medium, self._place = medium, place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._place = offset + (self._place if whence == os.SEEK_CUR else 0)
        return self._place

    def readinto(self, buffer: Any) -> int:
        part = self._medium.at(self._place, len(buffer))
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)


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

    def checkpoint(self, medium: Medium) -> tuple[dict[str, Any], bytes] | None:
        """Body and attachment of a checkpoint of all that was read; None while none is due."""
        if not events.due(len(self.hashes), sum(len(seen) for _, seen in self.pieces), self.weight):
            return None
        return events.made(self.state, self.place, self.tables, medium.at)

    def read_on(
        self,
        medium: Medium,
        *,
        deep: bool = False,
        every: bool = False,
        doubtful: bool = False,
        visit: Callable[[Event], None] = lambda _: None,
    ) -> Log:
        """With the events behind those already known; `LedgerBroken` if there are fewer than a slot says.

        `deep` checks every attached text; `every` keeps all requests, also those from before a checkpoint; `doubtful`
        takes events that repeat others, which a repair is to accept."""
        slots = slots_of(medium, self.base)
        vouched = max(seq for seq, _, _ in slots)
        start, end = self, self.end
        state = self.state.fork()
        hashes, pieces = list(self.hashes), list(self.pieces)
        with io.BufferedReader(_Stream(medium, end), _AHEAD) as file:
            head, seq = self.head, self.seq
            while (read := _next(file, end, seq + 1, head, deep or seq >= vouched)) is not None:
                event, seen, end = read
                head, seq = event.hash, event.seq
                state.apply(event, partial(earlier, medium, start.tables))
                visit(event)
                if event.kind == events.KIND:
                    tables = events.compare(event, state, start.place, start.tables, medium.at)
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


def earlier(medium: Medium, tables: Sequence[IndexTable], data: str, request: str) -> Request | None:
    """A request from before the last checkpoint, by its tables; None if none of them has it.

    What is found is read at its place: the line has the hash that the table states, and is about this very request."""
    key, read = key_of(data, request), medium.at
    entry = next((e for table in reversed(tables) if (e := table.find(read, key)) is not None), None)
    if entry is None:
        return None
    _, first, start, last, end = ENTRY.unpack(entry)
    entered = event_at(medium, first, start.hex())[0]
    ended = event_at(medium, last, end.hex())[0] if last else None
    for event in (entered,) if ended is None else (entered, ended):
        if (event.body.get("dataset"), event.body.get("request")) != (data, request):
            raise LedgerBroken("the index of a checkpoint leads to another request: the ledger was edited")
    return Request.of(entered) if ended is None else Request.of(entered).after(ended)


def event_at(medium: Medium, place: int, start: str = "") -> tuple[Event, bytes]:
    """The event whose line begins at a place, and the line; its hash must begin with these digits."""
    line = b""
    for size in (1 << 12, 1 << 16, _LONGEST_LINE):
        line, ended, _ = medium.at(place, size).partition(b"\n")
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
    text, found = b"", hashlib.sha256()
    if deep or length <= LARGE:
        for left in range(length, 0, -_PIECE):
            found.update(text := file.read(min(left, _PIECE)))
            if not text:
                break
        if found.hexdigest() != proof and not (seq == 1 and BLANK in text):
            return None
    else:
        file.seek(length, os.SEEK_CUR)
    if file.read(1) != b"\n":
        return None
    seen = line + text + b"\n" if length <= LARGE else line
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


def opened(medium: Medium, known: Log | None = None) -> Log:
    """The log of an open file, read on from what is known of it; `LedgerBroken` if that is no longer in it."""
    base, _ = start_of(medium)
    same = known is not None and known.base == base
    if known is not None and same and medium.same(known.pieces):
        return known.read_on(medium)  # every line that was read still stands where it stood
    if known is None:
        place = max(slots_of(medium, base))[2]
        if not place:
            return Log.begun(base).read_on(medium)
        event, line = event_at(medium, place)
        if event.kind != events.KIND:
            raise LedgerBroken("the ledger names an event as checkpoint that is not one: it was edited or damaged")
        now = Log(base, 0)._from(event, line, *events.taken(event, medium.at))
        if medium.at(now.end - 1, 1) != b"\n":
            raise LedgerBroken("the last checkpoint is cut short: the ledger was edited, damaged or truncated")
        return now.read_on(medium)
    passed = []
    now = Log.begun(base).read_on(medium, visit=lambda event: passed.append(event.hash == known.head))
    if known.seq and not any(passed):
        raise LedgerBroken(
            "the ledger no longer holds what this process read in it: it was rolled back to an older copy, or replaced"
        )
    return now


def start_of(medium: Medium) -> tuple[int, int]:
    """The byte at which the log begins, and the format of the file."""
    parts = _HEADER.match(medium.at(0, BLOCK))
    if parts is not None and int(parts[1]) > FORMAT:
        raise BadLedger(
            f"the ledger has format {int(parts[1])}, newer than {FORMAT}; install the newer fugu that wrote it"
        )
    if parts is None or int(parts[1]) not in FORMATS:
        raise LedgerBroken("the first lines of the ledger were edited or damaged")
    return int(parts[2]), int(parts[1])


def header(base: int, form: int = FORMAT) -> bytes:
    """The first block of a file."""
    told = (
        f"fugu ledger {form}\nlog at byte {base}\n\n"
        "What was spent on which data, written by fugu and read by `fugu ledger show`. Every line below\n"
        "holds the hash of the one before it: an edited ledger is a broken one. Copy it whole, and keep one.\n"
    )
    return told.encode().ljust(BLOCK - 1) + b"\n"


def slot(seq: int, head: str, place: int = 0) -> bytes:
    """A slot: how many events there are, the last one's hash, and where the last checkpoint stands, if there is one."""
    told = f"{seq} {head}" + (f" {place}" if place else "")
    return f"{told} {events.sha256(told)}".encode().ljust(BLOCK - 1) + b"\n"


def slots_of(medium: Medium, base: int) -> list[Slot]:
    """What the two slots say, as far as they were not cut short."""
    slots: list[Slot] = []
    for block in (medium.at(base, BLOCK), medium.at(base + BLOCK, BLOCK)):
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
    more = attached if isinstance(attached, bytes) else attached.encode()
    found, head = line(seq, previous, kind, body, len(more), when)
    return found + (more + b"\n" if more else b""), head


def line(seq: int, previous: str, kind: str, body: str, length: int, when: str = "") -> tuple[bytes, str]:
    """The line of an event to which so many bytes are attached, and its hash."""
    text = events.stated(seq, when or datetime.now(UTC).isoformat(timespec="milliseconds"), kind, body, previous)
    head = events.sha256(text)
    return f"{head} {length} {text}\n".encode(), head


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


def first(commitment: str) -> tuple[bytes, str]:
    """The bytes and the hash of the first event of a ledger, which holds the SHA-256 of its key."""
    return record(1, events.START, "open", events.written({"schema": FORMAT, "commitment": commitment}))
