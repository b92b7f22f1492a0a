"""Connections to PostgreSQL: taken, kept for the next caller, given back clean; and what its driver says, in words."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg.pq import TransactionStatus

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy
from fugu.ledger.keys import Address

Result = TypeVar("Result")

# Errors of the driver may quote passwords, statements and values. None of them is passed on, nor left as the context of
# what is raised in its place.


class Lost(Exception):
    """The connection broke: what was begun and not committed is gone."""


class Missing(Exception):
    """There is no ledger in the database."""


_KEEP = (
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 "
    "-c search_path=pg_catalog,pg_temp -c standard_conforming_strings=on"
)
"""How a server finds out that a host is gone (`_ALIVE`: how a host does of a server); and that every word means what
the server itself takes it for, whatever the database or the role is set to."""
_ALIVE = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
_BROKEN = ("08", "57P01", "57P02", "57P03", "57P05", "25P03")
_BUSY = ("55P03", "57014", "40")
_ABSENT = ("3F000", "42P01", "42883")
_FULL = ("53", "58", "XX")
_EDITED = ("FU001", "22", "23")


# Connections. One that was given back clean is kept for the next caller of this process; a child that was forked closes
# its copies without a word to the server, so no lock of its parent lives on in it.


_IDLE: dict[tuple[tuple[str, Any], ...], list[psycopg.Connection[Any]]] = {}
_MOST = 4
_OPEN: WeakSet[psycopg.Connection[Any]] = WeakSet()
_INHERITED: list[psycopg.Connection[Any]] = []


class Lease:
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
                wait = milliseconds(end - time.monotonic())
                self.batch(f"SET lock_timeout = {wait}; SELECT pg_advisory_lock({number})")
                return True
            except LedgerBusy:
                return False
            except Lost:
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
        found: list[Any] = self.run(statement, given).fetchall()
        return found

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
        """Commit or roll back, if anything was begun. A commit of which no answer came is `Lost`, or False where
        somebody will ask after it."""
        assert self._connection is not None
        if self._connection.info.transaction_status == TransactionStatus.IDLE:
            return True
        lost = False
        try:
            cursor = self.run(how, prepare=False)
        except Lost:
            lost = True
        if lost and doubtful:
            return False
        if lost or cursor.statusmessage != how:
            raise Lost
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


def leased(address: Address, work: Callable[[Lease], Result]) -> Result:
    """What `work` returns; its connection is given back by then, whatever is raised at whichever line."""
    lease = Lease(address)
    try:
        try:
            return work(lease)
        finally:
            lease.release()
    finally:
        lease.release()


def _named(error: psycopg.Error, name: str) -> Exception:
    """An error of the driver by fugu's names, without a word of what it says."""
    state, cut = error.sqlstate or "", isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    if state.startswith(_BROKEN) or (cut and not state):
        return Lost()
    if state.startswith(_BUSY):
        return LedgerBusy(f"another process holds the ledger {name!r}; nothing was charged, try again")
    if state in _ABSENT:
        return Missing()
    if state.startswith(_EDITED):
        return LedgerBroken(f"what is to be stored does not follow from what {name!r} holds: it was edited or damaged")
    if state == "42501":
        why = "this role may not do that. Who charges needs the rights that fugu ledger init --role gives"
    elif state == "42704":
        why = "the server has no such role"
    elif state == "42P06":
        why = "the database has a schema fugu already, which is not a ledger; name another database"
    elif state == "25006":
        why = "the server only reads, as a standby does; charge the primary"
    elif state.startswith(_FULL):
        why = "the server refused to store it (full or failing); make room and repeat the request with the same id"
    else:
        why = f"the server answered with error {state or 'of the driver'}"
    return BadLedger(f"the ledger {name!r}: {why}. Nothing more was charged")


def milliseconds(timeout: float) -> int:
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
