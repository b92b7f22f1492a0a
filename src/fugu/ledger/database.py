"""A ledger in PostgreSQL, for many hosts: the bytes of its file in rows, one row that is locked, two functions."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

from psycopg import sql

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy
from fugu.ledger import events, keys, log
from fugu.ledger.connection import Lease, Lost, Missing, leased, milliseconds
from fugu.ledger.keys import Address
from fugu.ledger.log import BLOCK, Log, Medium

if TYPE_CHECKING:
    from fugu.ledger.store import LockedView

Result = TypeVar("Result")
Head = tuple[int, int, str, int, int]
"""Where the log begins, how many events there are, the last one's hash, where it ends, where the last checkpoint is."""

# A writer locks the one row of `fugu.head` before it reads anything, and commits one event with it: nobody charges
# between a look and its charge, on whichever host. Readers see one snapshot and lock nobody out. All that is known of
# the chain, of checkpoints and of edits is the same as of a file (`log`, `events`): a database is not believed more.
#
# A connection may break between COMMIT and its answer. Then the row is locked once more, which waits for whatever is
# left of the first transaction, and the event is there or it is not: it counts once, and no caller has to guess.
#
_BEGUN = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), set_config('lock_timeout', '{wait}', true),
    set_config('idle_in_transaction_session_timeout', '300s', true);
SELECT base, seq, hash, ends, checkpoint FROM fugu.locked();
SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', count(*) = 2 FROM pg_class
    WHERE oid IN ('fugu.event'::regclass, 'fugu.head'::regclass) AND relpersistence = 'p';
{last}
"""
"""Whoever vanishes without a word while it holds the row gives it back after five minutes."""
_LAST = "SELECT start + nullif(octet_length(content), 0) FROM fugu.event ORDER BY start DESC LIMIT 1"
_SNAPSHOT = f"""
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT base, seq, hash, ends, checkpoint FROM fugu.head;
{_LAST}
"""
_BETWEEN = """
SELECT {what}(string_agg(substring(content FROM (greatest(%(start)s - start, 0) + 1)::int
    FOR greatest(least(%(stop)s - start, octet_length(content)) - greatest(%(start)s - start, 0), 0)::int),
    ''::bytea ORDER BY start)), coalesce(bool_and(start = before), true)
FROM (SELECT start, content, lag(start + octet_length(content), 1, start) OVER (ORDER BY start) AS before
    FROM fugu.event WHERE start < %(stop)s
    AND start >= coalesce((SELECT max(start) FROM fugu.event WHERE start <= %(start)s), 0)) AS row
"""
"""The bytes between two places, and whether each row begins where the one before it ends."""
_THERE = "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'fugu' AND tablename = 'head')"
_MAKING = f"""
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL synchronous_commit = on;
SET LOCAL lock_timeout = '30s';
SELECT pg_advisory_xact_lock({int.from_bytes(b"fugu led")})
"""


class Database:
    """The database at an address."""

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def name(self) -> str:
        """What messages call it: host and database."""
        return self.address.name

    def there(self) -> bool:
        """Whether the database holds a ledger."""
        return bool(self._repeated(10.0, lambda lease: lease.value(_THERE)))

    def read_only(self) -> bool:
        """Whether a ledger is there and may only be read: by this role, or at this server."""
        return bool(
            self._repeated(
                10.0,
                lambda lease: lease.value(
                    "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' OR NOT "
                    "has_function_privilege(p.oid, 'execute') FROM pg_proc p JOIN pg_namespace n ON n.oid = "
                    "p.pronamespace WHERE n.nspname = 'fugu' AND p.proname = 'append'"
                ),
            )
        )

    def read(self, look: Callable[[Medium], Result], timeout: float) -> Result:
        """What `look` makes of one snapshot."""

        def once(lease: Lease) -> Result:
            return look(StoredRows(self, lease, self._one(*lease.batch(_SNAPSHOT)), 0))

        return self._repeated(timeout, once)

    def write(self, look: Callable[[Medium], Result], timeout: float, *, make: bool) -> Result:
        """The same with the row locked; again from its start where the connection broke before anything was stored."""

        def once(lease: Lease) -> Result:
            if make and not lease.value(_THERE):
                self._made(lease, None)
            rows = StoredRows(self, lease, self._locked(lease, timeout), timeout)
            result = look(rows)
            if not rows.stored:
                lease.end("COMMIT")
            return result

        return self._repeated(timeout, once)

    def alone(self, name: str, timeout: float, work: Callable[[], Result]) -> Result:
        """Hold an advisory lock, at a number that the name decides, while `work` runs. The server drops it when its
        holder dies or is cut off; two callers may then both evaluate: one value is stored and both return it."""
        number = int.from_bytes(hashlib.sha256(b"fugu " + name.encode()).digest()[:8], signed=True)

        def inside(lease: Lease) -> Result:
            if not lease.claim(number, timeout):
                raise LedgerBusy("another caller is evaluating this request; wait, and repeat with the same id")
            return work()

        return leased(self.address, inside)

    def fill(self, view: LockedView) -> None:
        """Make it of another ledger, in one transaction that ends when its chain was read back from here."""
        if view.key is not None and events.sha256(view.key) == view.state.commitment:
            raise BadLedger(
                "this ledger has its key inside, as in versions before 0.4, and no database gets a key: open it once "
                "to charge it, which moves the key to a file of its own, then copy"
            )
        self._repeated(60.0, lambda lease: self._made(lease, view))

    def prepare(self, roles: Sequence[str]) -> None:
        """Make the ledger if there is none, and let these roles charge it: read all, and call the two functions."""

        def once(lease: Lease) -> None:
            if not lease.value(_THERE):
                self._made(lease, None)
            for role in roles:
                to = sql.Identifier(role)
                for right in ("USAGE ON SCHEMA fugu", "SELECT ON ALL TABLES IN SCHEMA fugu",
                              "EXECUTE ON ALL FUNCTIONS IN SCHEMA fugu"):  # fmt: skip
                    lease.run(sql.SQL(f"GRANT {right} TO {{}}").format(to))

        self._repeated(30.0, once)

    def holds(self, place: int, hash: str, end: float) -> bool:
        """Whether the event of this hash stands at a place, once nobody writes any more; after a commit that got no
        answer."""

        def once(lease: Lease) -> bool:
            self._locked(lease, end - time.monotonic())
            known = "SELECT substring(content FOR 64) = %b FROM fugu.event WHERE start = %s"
            found = bool(lease.value(known, (hash.encode(), place)))
            lease.end("COMMIT")  # which waits for synchronous standbys: the first one may have been cut off in its wait
            return found

        with suppress(BadLedger):
            return self._repeated(end - time.monotonic(), once, broke=True)
        raise BadLedger(
            f"the connection to the ledger {self.name!r} broke before it was said whether the last event is stored: "
            "repeat the request with the same id, and it is charged once"
        )

    def _repeated(self, timeout: float, work: Callable[[Lease], Result], *, broke: bool = False) -> Result:
        """What `work` makes of a connection; of another one if that broke, since nothing of it was stored."""
        end, missing = time.monotonic() + timeout, False

        def once(lease: Lease) -> Result:
            lease.open(end, patient=broke)
            return work(lease)

        while not missing:
            try:
                return leased(self.address, once)
            except Lost:
                broke = True
            except Missing:
                missing = True
        raise BadLedger(f"no ledger in {self.name!r}; its owner makes one: fugu ledger init")

    def _one(self, rows: list[Any], last: list[Any]) -> Head:
        if len(rows) != 1 or last != [(rows[0][3],)]:
            raise LedgerBroken(
                f"{self.name!r} does not say how many events it has: it was edited or damaged. Restore the newest copy"
            )
        head: Head = rows[0]
        return head

    def _locked(self, lease: Lease, timeout: float) -> Head:
        """The head, held by this connection; refused where a commit is not sure to last."""
        _, head, ((synced, whole, kept),), last = lease.batch(_BEGUN.format(wait=milliseconds(timeout), last=_LAST))
        if not (synced and whole and kept):
            why = "fsync is off" if not synced else "full_page_writes is off" if not whole else "a table is not logged"
            raise BadLedger(f"the server of {self.name!r} may lose what it has committed ({why}); nothing was charged")
        return self._one(head, last)

    def _made(self, lease: Lease, view: LockedView | None) -> None:
        """A new ledger, or the copy of one; whole, or none."""
        lease.batch(_MAKING)
        if lease.value(_THERE):
            same = "SELECT base, seq, hash FROM fugu.head"
            if view is not None and lease.rows(same) != [(view.log.base, view.log.seq, view.log.head)]:
                raise BadLedger(f"{self.name!r} holds a ledger already, and nothing is written over it; name another")
            lease.end("ROLLBACK")
            return
        lease.batch(files("fugu.ledger").joinpath("database.sql").read_text("utf-8"))
        rows: Iterable[tuple[int, bytes]]
        if view is None:
            content, hash = log.first(events.sha256(keys.made(self.address)))  # the key is on disk before
            start = 3 * BLOCK
            rows, head = [(start, content)], (BLOCK, 1, hash, start + len(content), 0)
        else:
            rows, head = view.lines(), (view.log.base, view.log.seq, view.log.head, view.log.end, view.log.place)
        lease.many("INSERT INTO fugu.event VALUES (%s, %b)", rows)
        lease.run("INSERT INTO fugu.head VALUES (true, %s, %s, %s, %s, %s)", head)
        if Log.begun(head[0]).read_on(StoredRows(self, lease, head, 0), deep=True).head != head[2]:
            raise LedgerBroken("the copy is not what was copied: nothing was stored")
        lease.end("COMMIT")


class StoredRows:
    """The bytes of a file, as rows hold them: a header and two slots, which say what the head row says, and the events
    behind."""

    def __init__(self, store: Database, lease: Lease, head: Head, timeout: float) -> None:
        self._store, self._lease, self._end, self.stored = store, lease, time.monotonic() + timeout, False
        base, seq, hash, _, checkpoint = head
        self._begin = base + 2 * BLOCK
        self._before = ((0, log.header(base)), (base, 2 * log.slot(seq, hash, checkpoint)))

    def at(self, start: int, length: int) -> bytes:
        """So many bytes from a place on; fewer at the end."""
        stop = start + length
        filled = bytearray(max(0, min(stop, self._begin) - start))
        for place, text in self._before:
            low, high = max(start, place), min(stop, place + len(text))
            if low < high:
                filled[low - start : high - start] = text[low - place : high - place]
        return bytes(filled) if stop <= self._begin else bytes(filled) + self._asked("", max(start, self._begin), stop)

    def same(self, pieces: Iterable[tuple[int, bytes]]) -> bool:
        """Whether these bytes still stand where each of them begins: the server sends digests alone, one for neighbours
        together."""
        joined: list[tuple[int, list[bytes]]] = []
        end = -1
        for start, seen in pieces:
            if start != end:
                joined.append((start, []))
            joined[-1][1].append(seen)
            end = start + len(seen)
        return all(
            self._asked("sha256", start, start + sum(map(len, parts))) == hashlib.sha256(b"".join(parts)).digest()
            for start, parts in joined
        )

    def append(
        self, known: Log, content: Iterable[bytes], head: str, checkpoint: bool, step: Callable[[str], None]
    ) -> None:
        """Commit the event with the row that says where the last one ends. `checkpoint` is read off the event."""
        del checkpoint
        step("written")
        self._lease.run("SELECT fugu.append(%s, %b)", (known.end, b"".join(content)))
        step("sent")
        if not self._lease.end("COMMIT", doubtful=True) and not self._store.holds(known.end, head, self._end):
            raise Lost
        self.stored = True
        step("synced")

    def blank(self, place: tuple[int, int], byte: bytes) -> None:
        """Write over an attached text, which the owner alone may; stored when the transaction ends."""
        start, length = place
        self._lease.run(
            "UPDATE fugu.event SET content = overlay(content PLACING %b FROM (%s - start + 1)::int FOR %s) "
            "WHERE start = (SELECT max(start) FROM fugu.event WHERE start <= %s)",
            (byte * length, start, length, start),
        )

    def _asked(self, what: str, start: int, stop: int) -> bytes:
        ((found, whole),) = self._lease.rows(_BETWEEN.format(what=what), {"start": start, "stop": stop})
        if not whole:
            raise LedgerBroken(f"the rows of {self._store.name!r} do not follow each other: it was edited or damaged")
        return found or b""
