"""The file: a text that only grows, one event in each line with its hash; the file alone is always whole.

    byte 0      header: what this is, and at which byte the log begins
    log         two slots of 512 bytes, written in turn: how many events there are, and the last one's hash
    log + 1024  events:  HASH LENGTH [seq, at, kind, body, previous]  and then LENGTH bytes of attached text, if any

An event is written behind the last one and synced, and then a slot is. So there is no journal beside the file that a
copy, a second name or a move could leave behind or find again too late. What a reader takes:

- every event that follows from the one before. One that was synced counts, also if the slot was never written: more may
  be counted than was granted, never less.
- as far as either slot says, at least. Where a line was edited or deleted the chain ends too early, and the ledger is
  broken. Behind that, what is no event is a write that was cut short, and nothing was granted for it.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO

from fugu.errors import BadLedger, LedgerBroken
from fugu.ledger import chain
from fugu.ledger.chain import Event
from fugu.ledger.state import State

FORMAT = 3
BLOCK = 512
MAGIC = b"fugu ledger "
_HEADER = re.compile(rb"fugu ledger (\d{1,9})\nlog at byte (\d{1,18})\n")
_LINE = re.compile(rb"([0-9a-f]{64}) (\d{1,12}) (\[.*\])\n")
_LONGEST_LINE = 1 << 24
_LARGE = 1 << 16
"""Attached texts beyond this are read when they are asked for, and by `verify`; not at every charge."""


class Log:
    """What was read of one file, held as bytes: at the next look any change of it is seen."""

    def __init__(self, base: int) -> None:
        self.base, self.end = base, base + 2 * BLOCK
        self.hashes: list[str] = []
        self.state = State()
        self._pieces: list[tuple[int, bytearray]] = []

    @property
    def head(self) -> str:
        """The hash of the last event."""
        return self.hashes[-1] if self.hashes else chain.START

    def unchanged(self, fd: int) -> bool:
        """Whether every line that was read still stands where it stood."""
        return all(at(fd, start, len(seen)) == seen for start, seen in self._pieces)

    def read_on(self, fd: int, *, deep: bool = False) -> list[Event]:
        """Take the events behind those already known; `LedgerBroken` if there are fewer than a slot says."""
        slots = [slot for k in (0, 1) if (slot := _slot(at(fd, self.base + k * BLOCK, BLOCK))) is not None]
        if not slots:
            raise LedgerBroken("the ledger does not say how many events it has: it was edited, damaged or truncated")
        vouched = max(seq for seq, _ in slots)
        taken = []
        with open(fd, "rb", closefd=False) as file:
            file.seek(self.end)
            while (event := self._next(file, deep or len(self.hashes) >= vouched)) is not None:
                self.state.apply(event)
                taken.append(event)
        if len(self.hashes) < vouched:
            raise LedgerBroken(
                f"event {len(self.hashes) + 1} of {vouched} is missing or does not follow from the one before: the "
                "ledger was edited, damaged or truncated"
            )
        if any(seq and self.hashes[seq - 1] != head for seq, head in slots):
            raise LedgerBroken("the last event is not the one the ledger ended with: the ledger was edited")
        return taken

    def _next(self, file: BinaryIO, deep: bool) -> Event | None:
        """The next event; its attached text is checked if it is short, or if nobody has vouched for the event."""
        line = file.readline(_LONGEST_LINE)
        found = _LINE.fullmatch(line)
        event = None if found is None else chain.parsed(found[3], found[1].decode(), len(self.hashes) + 1, self.head)
        if found is None or event is None:
            return None
        start, length = self.end, int(found[2])
        seen, after = bytearray(line), start + len(line)
        proof = chain.proof_of(event.body)
        if length:
            if proof is None:
                return None
            if deep or length <= _LARGE:
                text = file.read(length)
                if file.read(1) != b"\n" or hashlib.sha256(text).hexdigest() != proof:
                    return None
                seen += text + b"\n" if length <= _LARGE else b""
            else:
                file.seek(length, os.SEEK_CUR)
                if file.read(1) != b"\n":
                    return None
        elif proof is not None:
            return None
        self.end = after + (length + 1 if length else 0)
        if self._pieces and self._pieces[-1][0] + len(self._pieces[-1][1]) == start:
            self._pieces[-1][1].extend(seen)
        else:
            self._pieces.append((start, seen))
        self.hashes.append(event.hash)
        return Event(event.seq, event.at, event.kind, event.body, event.hash, (after, length) if length else None)


def opened(fd: int, known: Log | None = None) -> Log:
    """The log of an open file, read on from what is known of it; `LedgerBroken` if that is no longer in it."""
    base = base_of(fd)
    if known is not None and known.base == base and known.unchanged(fd):
        known.read_on(fd)
        return known
    found = Log(base)
    found.read_on(fd)
    if known is not None and found.hashes[: len(known.hashes)] != known.hashes:
        raise LedgerBroken(
            "the ledger no longer holds what this process read in it: it was rolled back to an older copy, or replaced"
        )
    return found


def base_of(fd: int) -> int:
    """The byte at which the log begins."""
    found = _HEADER.match(at(fd, 0, BLOCK))
    if found is not None and int(found[1]) > FORMAT:
        raise BadLedger(
            f"the ledger has format {int(found[1])}, newer than {FORMAT}; install the newer fugu that wrote it"
        )
    if found is None or int(found[1]) != FORMAT:
        raise LedgerBroken("the first lines of the ledger were edited or damaged")
    return int(found[2])


def header(base: int) -> bytes:
    """The first block of a file."""
    told = (
        f"fugu ledger {FORMAT}\nlog at byte {base}\n\n"
        "What was spent on which data, written by fugu and read by `fugu ledger show`. Every line below\n"
        "holds the hash of the one before it: an edited ledger is a broken one. Copy it whole, and keep one.\n"
    )
    return told.encode().ljust(BLOCK - 1) + b"\n"


def slot(seq: int, head: str) -> bytes:
    """A slot: how many events there are, and the last one's hash."""
    told = f"{seq} {head}"
    return f"{told} {chain.sha256(told)}".encode().ljust(BLOCK - 1) + b"\n"


def _slot(block: bytes) -> tuple[int, str] | None:
    """What a slot says, or None for one that was cut short."""
    parts = block.decode("latin-1").split()
    if len(parts) != 3 or parts[2] != chain.sha256(f"{parts[0]} {parts[1]}") or slot(int(parts[0]), parts[1]) != block:
        return None
    return int(parts[0]), parts[1]


def record(seq: int, previous: str, kind: str, body: str, attached: str = "", when: str = "") -> tuple[bytes, str]:
    """The bytes of an event and its hash."""
    text = chain.stated(seq, when or chain.now(), kind, body, previous)
    found, more = chain.sha256(text), attached.encode()
    return f"{found} {len(more)} {text}\n".encode() + (more + b"\n" if more else b""), found


def at(fd: int, start: int, length: int) -> bytes:
    """So many bytes of an open file from a place on; fewer at its end."""
    os.lseek(fd, start, os.SEEK_SET)
    parts, wanted = [], length
    while wanted and (part := os.read(fd, wanted)):
        parts.append(part)
        wanted -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def put(fd: int, start: int, content: bytes) -> None:
    """Write all of this from a place on."""
    os.lseek(fd, start, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]
