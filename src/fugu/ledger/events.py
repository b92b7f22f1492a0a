"""Events of a ledger in a hash chain, the one state that they add up to, and checkpoints, so that nobody reads all."""

from __future__ import annotations

import hashlib
import json
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from typing import Any

from fugu.errors import LedgerBroken
from fugu.question import RECORDS

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


# What the events of a ledger add up to: its data sets, its requests, and what counts against each budget.
#
# A state is never changed once it has been read: `fork` makes the next one beside it, events go into that, and whoever
# holds the ledger swaps one for the other in one assignment. So an exception at any line leaves the old state, whole,
# and the same events are read again. What a table here maps to is replaced, never altered in place.


RESERVED, SETTLED, FAILED, REFUSED = "reserved", "settled", "failed", "refused"
CHARGED = (RESERVED, SETTLED, FAILED)
"""States in which the charge counts: a failed or crashed evaluation may have shown something of the data."""
CHACHA = 5
"""The first format with these digests: which one a ledger was begun in says its first event."""
StoredSet = tuple[str, int, int]
"""A stored set: its SHA-256, and where in the file it lies."""


@dataclass(frozen=True)
class Registered:
    """A data set as it was entered. `marks`: what it is recognised by, under the key of the file. `blocks` and `early`:
    data sets of version 0.1 declared no blocks (None) and had one mark of another kind."""

    budget: str
    prior: str | None
    entries: int | None
    marks: tuple[str, ...]
    blocks: tuple[str, ...] | None
    early: bool
    believed: str | None = None
    """The prior in words; versions before 0.4 wrote none."""
    cap: str | None = None
    """The most epsilon against anybody, an exact number; None for no cap, as in versions before 0.4."""
    people: tuple[StoredSet, ...] = ()
    rows: tuple[StoredSet, ...] = ()
    """Who is in it, and its rows: digests under the key (`fingerprint`), by their SHA-256 and where they lie."""
    apart: tuple[str, ...] = ()
    """Data sets of other people, as the user stated."""
    records: bool = False
    """Whether its prior is about independent records: charges of others then count for each record."""
    worth: str | None = None
    """What its own charges promise together, translated with its prior."""
    words: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = ()
    """For each of `apart`: what both had when it was said last. The word covers nothing that came later."""

    @property
    def content(self) -> tuple[str, ...]:
        """All that it is recognised by, as digests: its marks, its people and its rows."""
        return (*self.marks, *(digest for digest, *_ in (*self.people, *self.rows)))


@dataclass(frozen=True)
class Request:
    """A request: where it stands, what it costs, and where its value lies."""

    state: str
    charge: str
    question: str
    planned: int
    note: str
    seq: int
    at: str
    sha256: str | None = None
    value: tuple[int, int] | None = None
    skipped: tuple[str, ...] = ()
    """Secrets of probability 0 under the prior."""
    worth: str | None = None
    """What all charges up to this one promise together, translated with the prior; None without one."""
    entered: Line = (0, "")
    ended: Line | None = None
    """Where the events that entered and ended it stand, with their hashes."""

    @staticmethod
    def of(event: Event) -> Request:
        """A request as it was entered: reserved or refused."""
        body = event.body
        told = (str(body["charge"]), str(body["question"]), int(body.get("planned", 0)), str(body.get("note", "")))
        skipped = tuple(map(str, body.get("skipped", ())))
        worth = None if body.get("worth") is None else str(body["worth"])
        line = (event.place, event.hash)
        return Request(event.kind, *told, event.seq, event.at, skipped=skipped, worth=worth, entered=line)

    def after(self, event: Event) -> Request:
        """The same request once it is settled or has failed."""
        line = (event.place, event.hash)
        if event.kind == SETTLED:
            digest = str(event.body["sha256"])
            return replace(self, state=SETTLED, note="", sha256=digest, value=event.attached, ended=line)
        return replace(self, state=FAILED, note=str(event.body["note"]), ended=line)


@dataclass
class State:
    """All data sets and requests of a file. What a checkpoint carries on is in `to_json` and `from_json`: all but the
    requests, which are found by its tables; `asked` then holds those that came since."""

    sets: dict[str, Registered] = field(default_factory=dict)
    asked: dict[tuple[str, str], Request] = field(default_factory=dict)
    sums: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    """For each data set and charge: how many of it, the first one's number, whether all were planned."""
    key: tuple[int, int] | None = None
    """Where the first event's text lies, which was the key in versions before 0.4."""
    commitment: str | None = None
    """The SHA-256 of the key; None for a file that was made without one."""
    plain: bool = False
    """Whether it was made without a key: the marks of those days are plain digests."""
    chacha: bool = False
    """Whether people and rows are digested as since format 5 (`gathering`)."""
    doubtful: dict[int, str] = field(default_factory=dict)
    """Events that repeat what stands already, by number, until a `repair` accepts them: a process of version 0.3 that
    was interrupted while it read wrote such. Each counts as much as it may have meant: a charge once more."""

    def fork(self) -> State:
        """The same state, to be carried on: every table is a copy."""
        tables: dict[str, Any] = {f.name: dict(t) for f in fields(self) if isinstance(t := getattr(self, f.name), dict)}
        return replace(self, **tables)

    def to_json(self) -> dict[str, Any]:
        """What a checkpoint holds; what is empty is left out, so a state says the same in every version."""
        tables = {
            "sets": {  # the fields that are not what they are anyway
                name: {f.name: value for f in fields(known) if (value := getattr(known, f.name)) != f.default}
                for name, known in self.sets.items()
            },
            "sums": [[*name, *counted] for name, counted in self.sums.items()],
            "key": self.key,
            "commitment": self.commitment,
            "plain": self.plain,
            "chacha": self.chacha,
            "doubtful": {str(seq): kind for seq, kind in self.doubtful.items()},
        }
        return {name: table for name, table in tables.items() if table}

    @staticmethod
    def from_json(body: dict[str, Any]) -> State:
        """What `to_json` wrote."""
        return State(
            sets={name: Registered(**_tuples(known)) for name, known in body.get("sets", {}).items()},
            sums={(data, text): (int(n), int(k), int(p)) for data, text, n, k, p in body.get("sums", ())},
            key=_tuples(body.get("key")),
            commitment=body.get("commitment"),
            plain=bool(body.get("plain")),
            chacha=bool(body.get("chacha")),
            doubtful={int(seq): str(kind) for seq, kind in body.get("doubtful", {}).items()},
        )

    def charges(self, data: str) -> list[tuple[str, tuple[int, int, int]]]:
        """The charges of a data set, in the order of their first."""
        return [(text, counted) for (name, text), counted in self.sums.items() if name == data]

    def binds(self, data: str) -> bool:
        """Whether a data set was charged, or others were said to hold other people than it: else it may be replaced."""
        return bool(self.charges(data)) or any(data in known.apart for known in self.sets.values())

    def words(self, one: str, other: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """What the words that two data sets hold other people cover: content of the one, and of the other."""
        own = self.sets[one].words if one in self.sets else ()
        told = [(mine, theirs) for name, mine, theirs in own if name == other]
        return told + [(mine, theirs) for name, theirs, mine in self.sets[other].words if name == one]

    def apply(self, event: Event, earlier: Callable[[str, str], Request | None] = lambda *_: None) -> None:
        """Take one more event in; events that could not have come from fugu are an error. `earlier` finds a request
        from before the last checkpoint."""
        try:
            if (event.kind == "open") != (event.seq == 1):
                raise KeyError(event.kind)
            self._take(event, event.body, earlier)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise LedgerBroken(f"event {event.seq} makes no sense where it stands: the ledger was edited") from error

    def _take(self, event: Event, body: dict[str, Any], earlier: Callable[[str, str], Request | None]) -> None:
        """What each kind of event does; one that is not here is refused, every time the file is looked at."""
        match event.kind:
            case "open":
                self.key = event.attached
                known = body.get("commitment", body.get("key"))
                self.commitment, self.plain = None if known is None else str(known), known is None
                self.chacha = int(body.get("schema", 0)) >= CHACHA
            case "register":
                self._register(event, body)
            case "identify":
                old = self.sets[body["dataset"]]
                more = body["marks"] if "marks" in body else [body["fingerprint"]]
                self.sets[body["dataset"]] = self._more(replace(old, marks=(*old.marks, *more)), event, body)
            case "key":
                if self.commitment is not None:
                    raise ValueError(event.kind)
                self.commitment = str(body["commitment"])
            case "repair":
                for seq in body["events"]:
                    del self.doubtful[seq]
            case "reserved" | "settled" | "failed" | "refused":
                name = (body["dataset"], body["request"])
                self._request(event, name, self.asked.get(name) or earlier(*name))
            case "migrate" | "checkpoint":
                pass  # of no consequence for what was spent
            case _:
                raise KeyError(event.kind)

    def _register(self, event: Event, body: dict[str, Any]) -> None:
        early = "marks" not in body
        marks = body["marks"] if not early else [m for m in (body["fingerprint"],) if m is not None]
        blocks = None if "blocks" not in body else tuple(body["blocks"])
        terms = (body["budget"], body["prior"], body.get("entries"))
        if body["dataset"] in self.sets and body["dataset"] not in body.get("instead", ()):
            self.doubtful[event.seq] = event.kind  # the first terms stay
            return
        entered = Registered(*terms, tuple(marks), blocks, early)
        self.sets[body["dataset"]] = self._more(entered, event, body)

    def _more(self, known: Registered, event: Event, body: dict[str, Any]) -> Registered:
        """With what versions since 0.4 write of a data set: cap, prior in words, people, rows, statements; and without
        those in whose place it stands."""
        told: dict[str, Any] = {key: str(body[key]) for key in ("believed", "cap") if body.get(key) is not None}
        if body.get("prior") is not None:
            told |= {"prior": str(body["prior"]), RECORDS: bool(body.get(RECORDS, False))}
        for kind in ("people", "rows"):
            if kind in body:
                place = event.attached or self.place(body[kind])
                if place is None:
                    raise KeyError(body[kind])
                told[kind] = (*getattr(known, kind), (str(body[kind]), *place))
        said = tuple(map(str, body.get("apart", ())))
        told["apart"] = tuple(dict.fromkeys((*known.apart, *said)))
        for gone in body.get("instead", ()):
            if self.binds(gone):
                raise ValueError(gone)
            del self.sets[gone]
        now = replace(known, **told)
        covered = ((other, now.content, self.sets[other].content) for other in said if other in self.sets)
        return replace(now, words=(*(word for word in known.words if word[0] not in said), *covered))

    def place(self, digest: str) -> tuple[int, int] | None:
        """Where a set of people or rows lies; None if it is not stored yet."""
        held = (h for known in self.sets.values() for h in (*known.people, *known.rows))
        return next(((start, length) for stored, start, length in held if stored == digest), None)

    def _request(self, event: Event, name: tuple[str, str], before: Request | None) -> None:
        if name[0] not in self.sets:
            raise KeyError(name[0])
        if event.kind in (SETTLED, FAILED):
            if before is None or before.state == REFUSED:
                raise ValueError(event.kind)
            if before.state == SETTLED:
                self.doubtful[event.seq] = event.kind  # the first value stays
            else:
                self.asked[name] = before.after(event)
            return
        entered = Request.of(event)
        if event.kind == RESERVED:
            if entered.worth is not None:
                self.sets[name[0]] = replace(self.sets[name[0]], worth=entered.worth)
            count, first, planned = self.sums.get((name[0], entered.charge), (0, event.seq, 1))
            self.sums[name[0], entered.charge] = (count + 1, first, min(planned, entered.planned))
        if before is not None and before.state in CHARGED:
            self.doubtful[event.seq] = event.kind  # a second charge of one request: both count
            return
        self.asked.pop(name, None)  # a refused request that is asked again goes to the end of the history
        self.asked[name] = entered


def _tuples(found: Any) -> Any:
    """JSON's lists as tuples."""
    if isinstance(found, dict):
        return {name: _tuples(value) for name, value in found.items()}
    return tuple(map(_tuples, found)) if isinstance(found, list) else found


# Checkpoints: events that hold all that the events before them add up to, so that nobody has to read those again.
#
#     body      {"state": [length, SHA-256], "table": [count, root], "tables": [[place, count, root], ...], "merged": m,
#                "sha256": SHA-256 of all that is attached}
#     attached  the state as JSON, and a table of the requests since the checkpoint before (`index`)
#
# It is an event of the chain like any other: whoever edits it, or what is attached, breaks its hash or a digest in it,
# and the next look refuses. Whoever has read all events since the one before (a process that was open, or a full check)
# works the same checkpoint out again and compares: one that does not follow from the events is refused, too. What is
# attached and read by nobody else is checked by `verify`.


KIND = "checkpoint"
EVERY = 512
"""A checkpoint is due after so many events, or after so many bytes of them; and not before they outweigh its state."""
MOST = 1 << 22


def due(events: int, size: int, weight: int) -> bool:
    """Whether a checkpoint is due: so many events and bytes were read behind the last, whose state takes `weight`."""
    return (events >= EVERY or size >= MOST) and size >= weight


def made(state: State, since: int, tables: Sequence[IndexTable], read: Read) -> tuple[dict[str, Any], bytes]:
    """Body and attachment of the checkpoint of a state; `since`: where the one before stands."""
    own = _entries(state, since)
    number = merged((table.count for table in tables), len(own))
    text = json.dumps(state.to_json(), ensure_ascii=True, separators=(",", ":")).encode()
    content, count, root = IndexTable.made(own, tables[len(tables) - number :], read)
    attached = text + content
    body = {
        "state": [len(text), hashlib.sha256(text).hexdigest()],
        "table": [count, root],
        "tables": [list(astuple(table)) for table in tables[: len(tables) - number]],
        "merged": number,
        "sha256": hashlib.sha256(attached).hexdigest(),
    }
    return body, attached


def taken(event: Event, read: Read) -> tuple[State, tuple[IndexTable, ...]]:
    """What a checkpoint says: the state, and where its tables lie."""
    try:
        assert event.attached is not None
        (length, digest), (count, root) = event.body["state"], event.body["table"]
        text = read(event.attached[0], int(length))
        if hashlib.sha256(text).hexdigest() != digest:
            raise ValueError(digest)
        own = IndexTable(event.attached[0] + int(length), int(count), str(root))
        earlier = (IndexTable(int(p), int(n), str(r)) for p, n, r in event.body["tables"])
        return State.from_json(json.loads(text)), (*earlier, own)
    except (AssertionError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise LedgerBroken(
            f"the checkpoint at event {event.seq} is not the one that was written: the ledger was edited or damaged"
        ) from error


def compare(event: Event, state: State, since: int, tables: Sequence[IndexTable], read: Read) -> tuple[IndexTable, ...]:
    """The tables after a checkpoint that was reached by its events; `LedgerBroken` if it does not follow from them."""
    stated, after = taken(event, read)
    number = event.body.get("merged")
    if isinstance(number, int) and 0 <= number <= len(tables):
        earlier = len(tables) - number
        _, count, root = IndexTable.made(_entries(state, since), tables[earlier:], read)
        same = (count, root) == (after[-1].count, after[-1].root) and after[:-1] == tuple(tables[:earlier])
        if same and stated.to_json() == state.to_json():
            return after
    raise LedgerBroken(f"the checkpoint at event {event.seq} does not follow from the events before it")


def _entries(state: State, since: int) -> dict[bytes, bytes]:
    """The entries of the requests that changed behind a place."""
    entries = {}
    for name, asked in state.asked.items():
        lines = (asked.entered, asked.ended or (0, "00" * KEY))
        if max(place for place, _ in lines) > since:
            parts = [part for place, hash in lines for part in (place, bytes.fromhex(hash)[:KEY])]
            entries[key_of(*name)] = ENTRY.pack(key_of(*name), *parts)
    return entries
