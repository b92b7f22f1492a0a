"""A ledger in PostgreSQL, for many hosts: the bytes of its file in rows, one row that is locked, two functions."""

from __future__ import annotations

import atexit
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy
from fugu.ledger import events, keys, log
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
# Errors of the driver may quote passwords, statements and values. None of them is passed on, nor left as the context of
# what is raised in its place.


class _Lost(Exception):
    """The connection broke: what was begun and not committed is gone."""


class _Missing(Exception):
    """There is no ledger in the database."""


_BEGUN = """
BEGIN;
SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true), set_config('lock_timeout', '{wait}', true),
    set_config('idle_in_transaction_session_timeout', '300s', true);
SELECT base, seq, hash, ends, checkpoint FROM fugu.locked();
SELECT current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on', count(*) = 2 FROM pg_class
    WHERE oid IN ('fugu.event'::regclass, 'fugu.head'::regclass) AND relpersistence = 'p'
"""
"""Whoever vanishes without a word while it holds the row gives it back after five minutes."""
_SNAPSHOT = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT base, seq, hash, ends, checkpoint FROM fugu.head
"""
_BETWEEN = """
SELECT {what}(string_agg(substring(content FROM (greatest(%(start)s - start, 0) + 1)::int
    FOR (least(%(stop)s - start, octet_length(content)) - greatest(%(start)s - start, 0))::int),
    ''::bytea ORDER BY start))
FROM fugu.event WHERE start < %(stop)s AND start + octet_length(content) > %(start)s
    AND start >= coalesce((SELECT max(start) FROM fugu.event WHERE start <= %(start)s), 0)
"""
_THERE = "SELECT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'fugu' AND tablename = 'head')"
_KEEP = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
"""How a server finds out that a host is gone; `_ALIVE`: how a host does of a server."""
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_BROKEN = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
_BUSY = ("55P03", "57014", "40")
_ABSENT = ("3F000", "42P01", "42883")
_FULL = ("53", "58", "XX")
_EDITED = ("FU001", "22", "23")
_LOCK = int.from_bytes(b"fugu led")


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
        return bool(self._repeated(10.0, lambda line: line.value(_THERE)))

    def read_only(self) -> bool:
        """Whether a ledger is there and may only be read: by this role, or at this server."""
        return bool(
            self._repeated(
                10.0,
                lambda line: line.value(
                    "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' OR NOT "
                    "has_function_privilege(p.oid, 'execute') FROM pg_proc p JOIN pg_namespace n ON n.oid = "
                    "p.pronamespace WHERE n.nspname = 'fugu' AND p.proname = 'append'"
                ),
            )
        )

    def read(self, look: Callable[[Medium], Result], timeout: float) -> Result:
        """What `look` makes of one snapshot."""

        def once(line: Line) -> Result:
            (head,) = line.batch(_SNAPSHOT)
            return look(Rows(self, line, self._one(head), 0))

        return self._repeated(timeout, once)

    def write(self, look: Callable[[Medium], Result], timeout: float, *, make: bool) -> Result:
        """The same with the row locked; again from its start where the connection broke before anything was stored."""

        def once(line: Line) -> Result:
            if make and not line.value(_THERE):
                self._made(line, None)
            rows = Rows(self, line, self._locked(line, timeout), timeout)
            result = look(rows)
            if not rows.stored:
                line.end("COMMIT")
            return result

        return self._repeated(timeout, once)

    def alone(self, name: str, timeout: float, work: Callable[[], Result]) -> Result:
        """Hold an advisory lock, at a number that the name decides, while `work` runs. The server drops it when its
        holder dies or is cut off; two callers may then both evaluate: one value is stored and both return it."""
        number = int.from_bytes(hashlib.sha256(b"fugu " + name.encode()).digest()[:8], signed=True)

        def inside(line: Line) -> Result:
            if not line.claim(number, timeout):
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
        self._repeated(60.0, lambda line: self._made(line, view))

    def prepare(self, roles: Sequence[str]) -> None:
        """Make the ledger if there is none, and let these roles charge it: read all, and call the two functions."""

        def once(line: Line) -> None:
            if not line.value(_THERE):
                self._made(line, None)
            for role in roles:
                to = sql.Identifier(role)
                for right in ("USAGE ON SCHEMA fugu", "SELECT ON ALL TABLES IN SCHEMA fugu",
                              "EXECUTE ON ALL FUNCTIONS IN SCHEMA fugu"):  # fmt: skip
                    line.run(sql.SQL(f"GRANT {right} TO {{}}").format(to))

        self._repeated(30.0, once)

    def holds(self, place: int, hash: str, end: float) -> bool:
        """Whether the event of this hash stands at a place, once nobody writes any more; after a commit that got no
        answer."""

        def once(line: Line) -> bool:
            self._locked(line, end - time.monotonic())
            known = "SELECT substring(content FOR 64) = %b FROM fugu.event WHERE start = %s"
            return bool(line.value(known, (hash.encode(), place)))

        with suppress(BadLedger):
            return self._repeated(end - time.monotonic(), once, broke=True)
        raise BadLedger(
            f"the connection to the ledger {self.name!r} broke before it was said whether the last event is stored: "
            "repeat the request with the same id, and it is charged once"
        )

    def _repeated(self, timeout: float, work: Callable[[Line], Result], *, broke: bool = False) -> Result:
        """What `work` makes of a connection; of another one if that broke, since nothing of it was stored."""
        end, missing = time.monotonic() + timeout, False

        def once(line: Line) -> Result:
            line.open(end, patient=broke)
            return work(line)

        while not missing:
            try:
                return leased(self.address, once)
            except _Lost:
                broke = True
            except _Missing:
                missing = True
        raise BadLedger(f"no ledger in {self.name!r}; its owner makes one: fugu ledger init")

    def _one(self, rows: list[Any]) -> Head:
        if len(rows) != 1:
            raise LedgerBroken(
                f"{self.name!r} does not say how many events it has: it was edited or damaged. Restore the newest copy"
            )
        head: Head = rows[0]
        return head

    def _locked(self, line: Line, timeout: float) -> Head:
        """The head, held by this connection; refused where a commit is not sure to last."""
        _, head, ((synced, whole, kept),) = line.batch(_BEGUN.format(wait=_milliseconds(timeout)))
        if not (synced and whole and kept):
            why = "fsync is off" if not synced else "full_page_writes is off" if not whole else "a table is not logged"
            raise BadLedger(f"the server of {self.name!r} may lose what it has committed ({why}); nothing was charged")
        return self._one(head)

    def _made(self, line: Line, view: LockedView | None) -> None:
        """A new ledger, or the copy of one; whole, or none."""
        line.batch(f"BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_advisory_xact_lock({_LOCK})")
        if line.value(_THERE):
            same = "SELECT base, seq, hash FROM fugu.head"
            if view is not None and line.rows(same) != [(view.log.base, view.log.seq, view.log.head)]:
                raise BadLedger(f"{self.name!r} holds a ledger already, and nothing is written over it; name another")
            line.end("ROLLBACK")
            return
        line.batch(files("fugu.ledger").joinpath("database.sql").read_text("utf-8"))
        rows: Iterable[tuple[int, bytes]]
        if view is None:
            content, hash = log.first(events.sha256(keys.made(self.address)))  # the key is on disk before
            start = 3 * BLOCK
            rows, head = [(start, content)], (BLOCK, 1, hash, start + len(content), 0)
        else:
            rows, head = view.lines(), (view.log.base, view.log.seq, view.log.head, view.log.end, view.log.place)
        line.many("INSERT INTO fugu.event VALUES (%s, %b)", rows)
        line.run("INSERT INTO fugu.head VALUES (true, %s, %s, %s, %s, %s)", head)
        if Log.begun(head[0]).read_on(Rows(self, line, head, 0), deep=True).head != head[2]:
            raise LedgerBroken("the copy is not what was copied: nothing was stored")
        line.end("COMMIT")


class Rows:
    """The bytes of a file, as rows hold them: a header and two slots, which say what the head row says, and the events
    behind."""

    def __init__(self, store: Database, line: Line, head: Head, timeout: float) -> None:
        self._store, self._line, self._end, self.stored = store, line, time.monotonic() + timeout, False
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

    def append(self, known: Log, content: bytes, head: str, checkpoint: bool, step: Callable[[str], None]) -> None:
        """Commit the event with the row that says where the last one ends. `checkpoint` is read off the event."""
        del checkpoint
        step("written")
        self._line.run("SELECT fugu.append(%s, %b)", (known.end, content))
        step("sent")
        if not self._line.end("COMMIT", doubtful=True) and not self._store.holds(known.end, head, self._end):
            raise _Lost
        self.stored = True
        step("synced")

    def blank(self, place: tuple[int, int], byte: bytes) -> None:
        """Write over an attached text, which the owner alone may; stored when the transaction ends."""
        start, length = place
        self._line.run(
            "UPDATE fugu.event SET content = overlay(content PLACING %b FROM (%s - start + 1)::int FOR %s) "
            "WHERE start = (SELECT max(start) FROM fugu.event WHERE start <= %s)",
            (byte * length, start, length, start),
        )

    def _asked(self, what: str, start: int, stop: int) -> bytes:
        return self._line.value(_BETWEEN.format(what=what), {"start": start, "stop": stop}) or b""


# Connections. One that was given back clean is kept for the next caller of this process; a child that was forked closes
# its copies without a word to the server, so no lock of its parent lives on in it.


_IDLE: dict[tuple[tuple[str, Any], ...], list[psycopg.Connection[Any]]] = {}
_MOST = 4
_OPEN: WeakSet[psycopg.Connection[Any]] = WeakSet()
_INHERITED: list[psycopg.Connection[Any]] = []


class Line:
    """A connection, from `open` to `release`; and what the driver says, by fugu's names."""

    def __init__(self, address: Address) -> None:
        self._address, self._name, self._pid = address, address.name, os.getpid()
        self._connection: psycopg.Connection[Any] | None = None
        self._claimed = False

    def open(self, end: float, *, patient: bool = False) -> None:
        """Take one that is idle, or connect. A server that starts, or to which a connection has just broken
        (`patient`), is waited for until the `end`."""
        idle = _IDLE.setdefault(tuple(sorted(self._address.login().items())), [])
        with suppress(IndexError):
            if not patient:
                self._connection = idle.pop()
        if patient:
            while idle:  # they broke with the other one
                idle.pop().close()
        why = "the connection breaks again and again"
        while self._connection is None:
            late = patient and time.monotonic() > end
            if not late:
                why, patient = self._connect(patient)
            if self._connection is None:
                if late or not patient:
                    raise BadLedger(
                        f"the ledger {self._name!r} cannot be reached: {why}. Nothing more was charged; the same "
                        "request can be repeated"
                    )
                time.sleep(0.05)

    def _connect(self, patient: bool) -> tuple[str, bool]:
        """Connect; or why not, and whether it may go by: also what else is wrong with the server, if `patient`."""
        login = self._address.login()
        options = {"options": f"{login.get('options', '')} {_KEEP}".strip()}
        try:
            self._connection = psycopg.connect(**{"connect_timeout": 10, **_ALIVE, **login, **options}, autocommit=True)
            _OPEN.add(self._connection)
        except psycopg.Error as error:
            said = str(error).lower()
        else:
            return "", False
        if "certificate" in said or "ssl" in said:
            return (
                "no TLS with a certificate that can be checked. The server needs one for this name of its host, and "
                "sslrootcert names that of who signed it"
            ), False
        if any(word in said for word in ("password", "authentication", "pg_hba", "role")):
            return "the server refused the login", False
        if "does not exist" in said and "database" in said:
            return "the server has no such database", False
        if "too many" in said or "remaining connection slots" in said:
            return "the server has no connection left", False
        starts = any(word in said for word in ("starting up", "shutting down", "recovery"))
        return "the server is starting or stopping" if starts else "no server answers", starts or patient

    def claim(self, number: int, timeout: float) -> bool:
        """Take an advisory lock, until `release`; whether it was got in time."""
        end, broke = time.monotonic() + timeout, False
        while True:
            self.open(end, patient=broke)
            self._claimed = True  # before it is: what was never taken can be given back, too
            try:
                wait = _milliseconds(end - time.monotonic())
                self.batch(f"SET lock_timeout = {wait}; SELECT pg_advisory_lock({number})")
                return True
            except LedgerBusy:
                return False
            except _Lost:
                broke = True
            self.release()

    def run(self, statement: Any, given: Any = None, *, prepare: bool | None = None) -> psycopg.Cursor[Any]:
        """The answer to a statement."""
        assert self._connection is not None
        try:
            return self._connection.execute(statement, given, prepare=prepare, binary=prepare is None)
        except psycopg.Error as error:
            failure = _named(error, self._name)
        raise failure

    def rows(self, statement: str, given: Any = None) -> list[Any]:
        """All rows of an answer."""
        return self.run(statement, given).fetchall()

    def value(self, statement: str, given: Any = None) -> Any:
        """The first value of an answer; None for no row."""
        row = self.run(statement, given).fetchone()
        return None if row is None else row[0]

    def batch(self, statements: str) -> list[list[Any]]:
        """Several statements in one message; the rows of each that has rows."""
        cursor, found = self.run(statements, prepare=False), []
        while True:
            if cursor.description is not None:
                found.append(cursor.fetchall())
            if not cursor.nextset():
                return found

    def many(self, statement: str, rows: Iterable[tuple[int, bytes]]) -> None:
        """The same statement for many rows."""
        assert self._connection is not None
        failure: Exception | None = None
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(statement, rows)
        except psycopg.Error as error:
            failure = _named(error, self._name)
        if failure is not None:
            raise failure

    def end(self, how: str, *, doubtful: bool = False) -> bool:
        """Commit or roll back, if anything was begun. A commit of which no answer came is `_Lost`, or False where
        somebody will ask after it."""
        assert self._connection is not None
        if self._connection.info.transaction_status == TransactionStatus.IDLE:
            return True
        lost = False
        try:
            cursor = self.run(how, prepare=False)
        except _Lost:
            lost = True
        if lost and doubtful:
            return False
        if lost or cursor.statusmessage != how:
            raise _Lost
        return True

    def release(self) -> None:
        """Give the connection back, or close it where it is not known to be clean; may be called again, also after a
        call that was cut short."""
        connection = self._connection
        if connection is not None and self._pid == os.getpid():
            clean = False
            with suppress(psycopg.Error):
                if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
                    connection.execute("ROLLBACK", prepare=False)
                if self._claimed:
                    connection.execute("SELECT pg_advisory_unlock_all()", prepare=False)
                clean = connection.info.transaction_status == TransactionStatus.IDLE
            idle = _IDLE.setdefault(tuple(sorted(self._address.login().items())), [])
            self._connection, self._claimed = None, False
            if clean and len(idle) < _MOST:
                idle.append(connection)
            else:
                connection.close()


def leased(address: Address, work: Callable[[Line], Result]) -> Result:
    """What `work` returns; its connection is given back by then, whatever is raised at whichever line."""
    line = Line(address)
    try:
        try:
            return work(line)
        finally:
            line.release()
    finally:
        line.release()


def _named(error: psycopg.Error, name: str) -> Exception:
    """An error of the driver by fugu's names, without a word of what it says."""
    state, cut = error.sqlstate or "", isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if state.startswith(_BROKEN) or (cut and not state):
        return _Lost()
    if state.startswith(_BUSY):
        return LedgerBusy(f"another process holds the ledger {name!r}; nothing was charged, try again")
    if state in _ABSENT:
        return _Missing()
    if state.startswith(_EDITED):
        return LedgerBroken(f"what is to be stored does not follow from what {name!r} holds: it was edited or damaged")
    if state == "42501":
        why = "this role may not do that. Who charges needs the rights that fugu ledger init --role gives"
    elif state == "42P06":
        why = "the database has a schema fugu already, which is no ledger; name another database"
    elif state == "25006":
        why = "the server only reads, as a standby does; charge the primary"
    elif state.startswith(_FULL):
        why = "the server refused to store it (full or failing); make room and repeat the request with the same id"
    else:
        why = f"the server answered with error {state or 'of the driver'}"
    return BadLedger(f"the ledger {name!r}: {why}. Nothing more was charged")


def _milliseconds(timeout: float) -> int:
    return max(1, int(1000 * min(timeout, 1e6)))


def _close_inherited() -> None:
    for connection in list(_OPEN):
        with suppress(OSError, psycopg.Error):
            os.close(connection.fileno())  # the child's copy; the server hears nothing
        _INHERITED.append(connection)  # and is told nothing later
    _IDLE.clear()


def _close_idle() -> None:
    for idle in _IDLE.values():
        while idle:
            idle.pop().close()


os.register_at_fork(after_in_child=_close_inherited)
atexit.register(_close_idle)
