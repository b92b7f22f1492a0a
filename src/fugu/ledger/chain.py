"""The hash chain of events, and sorted tables that find one request among millions."""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fugu.errors import LedgerBroken

# The hash chain: every event holds the hash of the one before it, so no event can be changed, moved or dropped unseen.
#
# hash = SHA-256 of [seq, at, kind, body, previous], the very text that stands in the file. The last hash is the head. A
# head that was exported and is no longer in the chain shows that the file was rolled back or rewritten.


START = "0" * 64


@dataclass(frozen=True)
class Event:
    """One line of the log, and where it begins; `attached` is where something lies whose SHA-256 is in the body: (first
    byte, length)."""

    seq: int
    at: str
    kind: str
    body: dict[str, Any]
    hash: str
    previous: str
    place: int = 0
    attached: tuple[int, int] | None = None


def sha256(text: str) -> str:
    """SHA-256 of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def stated(seq: int, at: str, kind: str, body: str, previous: str) -> str:
    """The text that is hashed."""
    return json.dumps([seq, at, kind, body, previous], ensure_ascii=True, separators=(",", ":"))


def written(body: dict[str, Any]) -> str:
    """A body as text: equal bodies have equal texts."""
    return json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def now() -> str:
    """The time of an event."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def parsed(text: bytes, stated: str) -> Event | None:
    """The event that a text states, if it has this hash; else None."""
    if hashlib.sha256(text).hexdigest() != stated:
        return None
    try:
        seq, at, kind, body, previous = json.loads(text)
        content = json.loads(body)
    except (ValueError, TypeError, RecursionError):
        return None
    if type(seq) is not int or not isinstance(content, dict):
        return None
    return Event(seq, str(at), str(kind), content, stated, str(previous))


def proof_of(body: dict[str, Any]) -> str | None:
    """The SHA-256 of what is attached to an event: the value of a settled request, the key of a new file."""
    found = body.get("sha256", body.get("key"))
    return found if isinstance(found, str) else None


# Finding one request among millions: sorted tables in the log, each bound by one digest in the chain.
#
# A table has an entry of 64 bytes for each request that changed since the one before: 16 bytes of the SHA-256 of its
# name, and for the event that entered it and the one that ended it where the line stands and 16 bytes of its hash. The
# entries are sorted, 64 to a page; a directory holds the first name and the SHA-256 of every page; the SHA-256 of the
# directory, the root, stands in a checkpoint, and so in the chain.
#
# So both answers are proved by what is read. A hit leads to lines whose hashes are in the page. A miss is shown by the
# one page in which the name would lie: its bytes have the digest that the directory states, and the directory the
# root's. An edited page or directory is an error, never an answer. The newest table that has a name is right.


Read = Callable[[int, int], bytes]
"""So many bytes of the file from a place on."""
Line = tuple[int, str]
"""Where an event stands, and its hash."""
_ENTRY = struct.Struct(">16sQ16sQ16s")
_KEY, _SIZE, _PAGE = 16, _ENTRY.size, 64 * _ENTRY.size
_ROW = _KEY + 32
_TIERS = (1 << 11, 1 << 14)
_FAN = 7
"""Eight tables of less than 2,048 requests become one, and eight of those; larger ones stay, so no merge is long."""


def key_of(data: str, request: str) -> bytes:
    """What a request is found by."""
    return hashlib.sha256(json.dumps([data, request]).encode()).digest()[:_KEY]


def entry_of(key: bytes, entered: Line, ended: Line | None) -> bytes:
    """The entry of a request."""
    last = (0, bytes(_KEY)) if ended is None else (ended[0], bytes.fromhex(ended[1])[:_KEY])
    return _ENTRY.pack(key, entered[0], bytes.fromhex(entered[1])[:_KEY], *last)


def lines_of(entry: bytes) -> tuple[Line, Line | None]:
    """Where the events of a request stand, each with the first 32 digits of its hash."""
    _, first, entered, last, ended = _ENTRY.unpack(entry)
    return (first, entered.hex()), (last, ended.hex()) if last else None


@dataclass(frozen=True)
class IndexTable:
    """A table in the file: where it begins, how many entries it has, the SHA-256 of its directory."""

    place: int
    count: int
    root: str

    @staticmethod
    def made(entries: Mapping[bytes, bytes]) -> tuple[bytes, str]:
        """The bytes of a table, and its root."""
        whole = b"".join(entries[key] for key in sorted(entries))
        pages = [whole[k : k + _PAGE] for k in range(0, len(whole), _PAGE)]
        directory = b"".join(page[:_KEY] + hashlib.sha256(page).digest() for page in pages)
        return whole + directory, hashlib.sha256(directory).hexdigest()

    def find(self, read: Read, known: dict[str, bytes], key: bytes) -> bytes | None:
        """The entry of a name, or None if it has none here; `known` remembers directories by their roots."""
        directory = self._directory(read, known)
        pages = range(len(directory) // _ROW)
        number = bisect_right(pages, key, key=lambda k: directory[k * _ROW : k * _ROW + _KEY]) - 1
        if number < 0:
            return None  # before the first
        page = self._page(read, directory, number)
        place = _SIZE * bisect_left(range(len(page) // _SIZE), key, key=lambda k: page[k * _SIZE : k * _SIZE + _KEY])
        return page[place : place + _SIZE] if page[place : place + _KEY] == key else None

    def entries(self, read: Read, known: dict[str, bytes]) -> dict[bytes, bytes]:
        """All entries, by name."""
        directory = self._directory(read, known)
        whole = b"".join(self._page(read, directory, k) for k in range(len(directory) // _ROW))
        return {whole[k : k + _KEY]: whole[k : k + _SIZE] for k in range(0, len(whole), _SIZE)}

    def _directory(self, read: Read, known: dict[str, bytes]) -> bytes:
        if self.root not in known:
            size = self.count * _SIZE
            directory = read(self.place + size, -(-size // _PAGE) * _ROW)
            if hashlib.sha256(directory).hexdigest() != self.root:
                raise _edited()
            known[self.root] = directory
        return known[self.root]

    def _page(self, read: Read, directory: bytes, number: int) -> bytes:
        page = read(self.place + number * _PAGE, min(_PAGE, self.count * _SIZE - number * _PAGE))
        if hashlib.sha256(page).digest() != directory[number * _ROW + _KEY : (number + 1) * _ROW]:
            raise _edited()
        return page


def merged(counts: Iterable[int], own: int) -> int:
    """How many of the last tables go into the next one, which has so many entries of its own."""
    sizes, taken = list(counts), 0
    for tier in _TIERS:
        run = 0
        while taken + run < len(sizes) and sizes[-1 - taken - run] < tier:
            run += 1
        if own < tier and run >= _FAN:
            own += sum(sizes[len(sizes) - taken - run : len(sizes) - taken])
            taken += run
    return taken


def _edited() -> LedgerBroken:
    return LedgerBroken("the index of a checkpoint is not the one that was written: the ledger was edited or damaged")
