"""`Books`: a ledger wherever it lies, read and written under one lock; what is known of it between two looks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Protocol, TypeVar

from fugu.errors import BadLedger, LedgerBroken, Unstorable
from fugu.ledger import events, log
from fugu.ledger.events import Request, State, StoredSet
from fugu.ledger.file import File, OpenFile
from fugu.ledger.gathering import STORED, Bits, decoded
from fugu.ledger.keys import Address, Place
from fugu.ledger.log import Log, Medium

# The lock is taken before anything is read and kept until the event is on disk, so no other process can charge between
# the look at the budget and the charge. Every look compares the chain since the last checkpoint with what is stored,
# and every page and line that it uses of what lies before (`checkpoint`, `index`). The ledger is opened anew each time
# and no lock is carried along, so a forked process starts clean; threads exclude each other by the same lock.
#
# Every look makes what is known next beside what was known, and swaps the two in one assignment: an exception at any
# line leaves what was known before, and the next look reads the same events again.


_LONGEST = 1 << 23
_PIECE = 1 << 20
_NOWHERE = OpenFile(-1)
Result = TypeVar("Result")


class Store(Protocol):
    """Where a ledger lies: a file, or a database."""

    @property
    def name(self) -> str:
        """What messages call it: nothing secret."""

    def there(self) -> bool:
        """Whether there is anything at its place."""

    def read_only(self) -> bool:
        """Whether it is there and may only be read."""

    def read(self, look: Callable[[Medium], Result], timeout: float) -> Result:
        """What `look` makes of one state of it, whatever others write meanwhile; nothing is written or made."""

    def write(self, look: Callable[[Medium], Result], timeout: float, *, make: bool) -> Result:
        """The same, alone, for one event at most; `make` a ledger if there is none. `look` may be called again where it
        is certain that nothing of it was stored."""

    def alone(self, name: str, timeout: float, work: Callable[[], Result]) -> Result:
        """What `work` returns, while no other caller is inside with this name; `LedgerBusy` after the timeout."""

    def fill(self, view: LockedView) -> None:
        """Make it of another ledger, as that stands in `view`; refused where there is one already."""


class LockedView:
    """A ledger while it is locked: its state, and the texts attached to its events."""

    def __init__(self, medium: Medium, read: Log) -> None:
        self._medium, self.log = medium, read

    @staticmethod
    def nowhere(event: tuple[str, dict[str, Any]] | None = None) -> LockedView:
        """A ledger that is nowhere, in which nothing stands, or this event alone."""
        state = State()
        if event is not None:
            state.apply(events.Event(2, "", *event, "", ""))
        return LockedView(_NOWHERE, replace(Log.begun(0), state=state))

    @property
    def state(self) -> State:
        """Its data sets and requests."""
        return self.log.state

    @property
    def key(self) -> str | None:
        """The text of the first event: in versions before 0.4 the key; it is part of no event."""
        return None if self.state.key is None else self._medium.at(*self.state.key).decode()

    def request(self, data: str, request: str) -> Request | None:
        """What is known of a request; None if it was never asked."""
        return self.state.asked.get((data, request)) or log.earlier(self._medium, self.log.tables, data, request)

    def requests(self) -> dict[tuple[str, str], Request]:
        """Every request, in the order in which they came: where there is a checkpoint, by reading all of it."""
        if self.log.first == 1:
            return self.state.asked
        return Log.begun(self.log.base).read_on(self._medium, every=True).state.asked

    def pieces(self) -> Iterator[bytes]:
        """All bytes as far as they were read, piece by piece: a write that was cut short is left out."""
        for start in range(0, self.log.end, _PIECE):
            yield self._medium.at(start, min(_PIECE, self.log.end - start))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every event: where it begins, and its bytes."""
        starts: list[int] = []
        self.whole(lambda event: starts.append(event.place))
        for start, end in pairwise((*starts, self.log.end)):
            yield start, self._medium.at(start, end - start)

    def event(self, line: tuple[int, str]) -> events.Event:
        """The event that stands at a place, with the hash that is known of it."""
        return log.event_at(self._medium, *line)[0]

    def attached(self, asked: Request) -> str:
        """The stored value of a settled request."""
        text = "" if asked.value is None else self._medium.at(*asked.value).decode("utf-8", "replace")
        if events.sha256(text) != asked.sha256:
            raise LedgerBroken("a stored release is not the one that was charged: the ledger was edited or damaged")
        return text

    def stored(self, held: StoredSet) -> StoredWords:
        """The digests of a set of people or rows."""
        return StoredWords(self._medium, held, not self.state.chacha)

    def whole(self, visit: Callable[[events.Event], None] = lambda _: None) -> Log:
        """The ledger read again from its start, every attached text included; `visit` sees every event."""
        return Log.begun(self.log.base).read_on(self._medium, deep=True, visit=visit)


@dataclass(frozen=True)
class StoredWords:
    """A set of digests where it lies; `LedgerBroken`, once it is read, if it is not the one that was entered."""

    medium: Medium
    held: StoredSet
    early: bool

    def __len__(self) -> int:
        return self.held[2] // 8  # in early ledgers a third more than there are

    def each(self) -> Iterator[Bits]:
        """All of them, in order."""
        digest, start, length = self.held
        found = hashlib.sha256()
        for place in range(0, length, STORED):
            text = self.medium.at(start + place, min(STORED, length - place))
            found.update(text)
            with suppress(ValueError):  # what is no set is not the one that was entered, either
                yield decoded(text, self.early)
        if found.hexdigest() != digest:
            raise LedgerBroken("a stored set of people is not the one that was entered: the ledger was edited")


class Writing(LockedView):
    """A ledger that may be written: at most one event, on disk when the block ends."""

    def __init__(self, medium: Medium, read: Log) -> None:
        super().__init__(medium, read)
        self._new: tuple[Iterable[bytes], str] | None = None
        self._checkpoint = False

    def append(self, kind: str, body: dict[str, Any], attached: str | bytes = "") -> None:
        """The event that the end of the block writes."""
        more = attached if isinstance(attached, bytes) else attached.encode()
        self.attach(kind, body, len(more), (more,))

    def attach(self, kind: str, body: dict[str, Any], length: int, attached: Iterable[bytes]) -> None:
        """The same with so many bytes attached, which are taken in as they are written."""
        if self._new is not None:
            raise RuntimeError("one event in each transaction: only so a crash leaves all of it or nothing")
        text = events.written(body)
        if len(text) > _LONGEST:
            raise Unstorable(f"a request takes more than {_LONGEST} characters; name fewer pairs of secrets in one")
        self._checkpoint = kind == events.KIND
        line, head = log.line(self.log.seq + 1, self.log.head, kind, text, length)
        self._new = chain((line,), attached, (b"\n",) if length else ()), head

    def overwrite(self, place: tuple[int, int], byte: bytes) -> None:
        """Blank an attached text, on disk when this returns."""
        self._medium.blank(place, byte)

    def commit(self, step: Callable[[str], None]) -> None:
        """Put what was appended behind the last event: on disk when this returns, or not at all."""
        if self._new is not None:
            self._medium.append(self.log, *self._new, self._checkpoint, step)


class Books:
    """A ledger with all its data sets, and what was read of it; no budget or prior is at hand."""

    def __init__(self, place: Place, timeout: float = 10.0) -> None:
        self.place, self._timeout = place, timeout
        self._known: Log | None = None
        self.store: Store
        if isinstance(place, Address):
            from fugu.ledger.database import Database  # with psycopg, which the core does without

            self.store = Database(place)
        else:
            self.store = File(place)

    @property
    def name(self) -> str:
        """What messages call the ledger: nothing secret."""
        return self.store.name

    def there(self) -> bool:
        """Whether there is a ledger, or anything else at its place."""
        return self.store.there()

    def close(self) -> None:
        """Forget what was read; the next call reads the ledger again."""
        self._known = None

    def read_only(self) -> bool:
        """Whether the ledger is there and may only be read."""
        return self.store.read_only()

    def read(self, work: Callable[..., Result], *args: object) -> Result:
        """What `work` makes of one state of the ledger (and `args`), whatever others write meanwhile; nothing is
        written or made."""
        return self.store.read(lambda medium: work(LockedView(medium, self._look(medium)), *args), self._timeout)

    def find(self, work: Callable[..., Result], *args: object) -> Result | None:
        """The same; None where there is no ledger."""
        return self.read(work, *args) if self.there() else None

    def write(self, work: Callable[[Writing], Result], step: Callable[[str], None] = lambda _: None) -> Result:
        """The same, alone from the first look to the last sync; an exception in `work` writes nothing."""

        def look(medium: Medium) -> list[Result]:
            to = Writing(medium, self._look(medium))
            if (due := to.log.checkpoint(medium)) is not None:  # first: where this fails, nothing was charged
                to.append(events.KIND, *due)
                to.commit(lambda name: step(f"checkpoint {name}"))
                return []
            result = work(to)
            to.commit(step)
            return [result]

        while not (done := self.store.write(look, self._timeout, make=self._known is None)):
            pass  # a checkpoint was written
        return done[0]

    def alone(self, name: str, work: Callable[[], Result]) -> Result:
        """One live caller for each name: others wait, or get `LedgerBusy`, and then read what was stored."""
        return self.store.alone(name, self._timeout, work)

    def repair(self) -> dict[int, str]:
        """Accept the events that an interrupted process of version 0.3 wrote twice, by one more event; what they were,
        by number. Nothing is rewritten, so heads that were exported stay in the chain; every charge counts, also one
        that was made twice, for two values may have gone out. Anything else that is wrong with it is refused."""

        def look(medium: Medium) -> dict[int, str]:
            now = Log.begun(log.start_of(medium)[0]).read_on(medium, deep=True, doubtful=True)
            to = Writing(medium, now)
            if now.state.doubtful:
                to.append("repair", {"events": sorted(now.state.doubtful)})
                to.commit(lambda _: None)
            return now.state.doubtful

        if not self.there():
            raise BadLedger(f"no ledger {self.name!r}")
        return self.store.write(look, self._timeout, make=False)

    def _look(self, medium: Medium) -> Log:
        self._known = known = log.opened(medium, self._known)
        return known
