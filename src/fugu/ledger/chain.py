"""The hash chain of events, and sorted tables that find one request among millions."""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
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
ENTRY = struct.Struct(">16sQ16sQ16s")
KEY, _SIZE, _PAGE = 16, ENTRY.size, 64 * ENTRY.size
_ROW = KEY + 32
_TIERS = (1 << 11, 1 << 14)
_FAN = 7
"""Eight tables of less than 2,048 requests become one, and eight of those; larger ones stay, so no merge is long."""
_DIRECTORIES: dict[str, bytes] = {}
"""Directories of tables that were read, by their digest: what has it is right, in whichever file it lay."""
_EDITED = "the index of a checkpoint is not the one that was written: the ledger was edited or damaged"


def key_of(data: str, request: str) -> bytes:
    """What a request is found by."""
    return hashlib.sha256(json.dumps([data, request]).encode()).digest()[:KEY]


@dataclass(frozen=True)
class IndexTable:
    """A table in the file: where it begins, how many entries it has, the SHA-256 of its directory."""

    place: int
    count: int
    root: str

    @staticmethod
    def made(own: Mapping[bytes, bytes], earlier: Iterable[IndexTable], read: Read) -> tuple[bytes, int, str]:
        """The bytes, count and root of a table of these entries and those of earlier tables; the newest holds."""
        entries: dict[bytes, bytes] = {}
        for table in earlier:
            directory = table._directory(read)
            pages = b"".join(table._page(read, directory, k) for k in range(len(directory) // _ROW))
            entries |= {pages[k : k + KEY]: pages[k : k + _SIZE] for k in range(0, len(pages), _SIZE)}
        entries |= own
        whole = b"".join(entries[key] for key in sorted(entries))
        parts = [whole[k : k + _PAGE] for k in range(0, len(whole), _PAGE)]
        directory = b"".join(page[:KEY] + hashlib.sha256(page).digest() for page in parts)
        return whole + directory, len(entries), hashlib.sha256(directory).hexdigest()

    def find(self, read: Read, key: bytes) -> bytes | None:
        """The entry of a name, or None if it has none here."""
        directory = self._directory(read)
        pages = range(len(directory) // _ROW)
        number = bisect_right(pages, key, key=lambda k: directory[k * _ROW : k * _ROW + KEY]) - 1
        if number < 0:
            return None  # before the first
        page = self._page(read, directory, number)
        place = _SIZE * bisect_left(range(len(page) // _SIZE), key, key=lambda k: page[k * _SIZE : k * _SIZE + KEY])
        return page[place : place + _SIZE] if page[place : place + KEY] == key else None

    def _directory(self, read: Read) -> bytes:
        if self.root not in _DIRECTORIES:
            size = self.count * _SIZE
            directory = read(self.place + size, -(-size // _PAGE) * _ROW)
            if hashlib.sha256(directory).hexdigest() != self.root:
                raise LedgerBroken(_EDITED)
            _DIRECTORIES[self.root] = directory
        return _DIRECTORIES[self.root]

    def _page(self, read: Read, directory: bytes, number: int) -> bytes:
        page = read(self.place + number * _PAGE, min(_PAGE, self.count * _SIZE - number * _PAGE))
        if hashlib.sha256(page).digest() != directory[number * _ROW + KEY : (number + 1) * _ROW]:
            raise LedgerBroken(_EDITED)
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
