"""The file: SQLite in WAL mode, every commit synced to disk, and every failure with a name.

`BEGIN IMMEDIATE` takes the only write lock before anything is read, so no other process can charge between the look
at the budget and the charge. `synchronous = FULL` returns from a commit only when the log is on disk."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fugu.errors import BadLedger, FuguError, LedgerBroken, LedgerBusy
from fugu.ledger import chain

APPLICATION = 0x46554755
SCHEMA = 2
_HEADER = b"SQLite format 3\x00"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
                     previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE TABLE datasets (name TEXT PRIMARY KEY, fingerprint TEXT UNIQUE, budget TEXT NOT NULL, prior TEXT,
                       entries INTEGER);
CREATE TABLE requests (dataset TEXT NOT NULL REFERENCES datasets(name), request TEXT NOT NULL, state TEXT NOT NULL,
                       charge TEXT NOT NULL, question TEXT NOT NULL, value TEXT, note TEXT NOT NULL DEFAULT '',
                       seq INTEGER NOT NULL, planned INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (dataset, request));
CREATE INDEX costs ON requests (dataset, state, charge, seq, planned);
"""


def _one_to_two(db: sqlite3.Connection) -> None:
    """Schema 1 knew neither the number of entries of a data set nor which requests were fixed beforehand."""
    db.execute("ALTER TABLE datasets ADD COLUMN entries INTEGER")
    db.execute("ALTER TABLE requests ADD COLUMN planned INTEGER NOT NULL DEFAULT 0")
    db.execute("DROP INDEX IF EXISTS costs")
    db.execute("CREATE INDEX costs ON requests (dataset, state, charge, seq, planned)")


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _one_to_two}
"""From each older schema to the next one; all run in one transaction, with one event each."""


def connect(path: Path, timeout: float, *, create: bool = True) -> sqlite3.Connection:
    """An open ledger of the current schema; made if there is none and `create` says so, migrated if it is older."""
    if not path.parent.is_dir():
        raise BadLedger(f"the folder of the ledger {path.name!r} does not exist; create it first")
    if path.is_dir() or (not create and not path.is_file()):
        raise BadLedger(f"no ledger file {path.name!r}")
    with named_errors(path):
        if create:
            with suppress(OSError):  # SQLite names what is wrong; for the owner alone, as the key lies in it
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        if path.is_file() and not _HEADER.startswith(_start_of(path)):
            raise BadLedger(f"{path.name!r} is no ledger of fugu; choose another file")
        db = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        try:
            _prepare(db, path, timeout, create)
        except BaseException:
            db.close()
            raise
    return db


@contextmanager
def writing(db: sqlite3.Connection, step: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """One transaction that is alone from its first look to its commit; undone as a whole by any exception."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        step("written")
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


@contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """Several looks at one state of the file, whatever other processes write meanwhile."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as fugu's; a failed write changed nothing and may be tried again."""
    try:
        yield
    except sqlite3.Error as error:
        raise _named(error, path) from error
    except PermissionError as error:
        raise BadLedger(f"the ledger {path.name!r} may not be read or written; check its permissions") from error


def _named(error: sqlite3.Error, path: Path) -> FuguError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerBusy(f"another process holds the ledger {path.name!r}; nothing was charged, try again")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return BadLedger(
            f"the ledger {path.name!r} cannot be written; check the permissions of the file and its folder"
        )
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return BadLedger(
            f"the disk refused to store the ledger {path.name!r} (full or failing); make room and repeat the request "
            "with the same id: it is charged once"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LedgerBroken(
            f"the ledger {path.name!r} is damaged or truncated; restore it from a copy and check its head"
        )
    return LedgerBroken(f"the ledger {path.name!r} does not have the tables it should: {type(error).__name__}")


def _start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(_HEADER))


def _prepare(db: sqlite3.Connection, path: Path, timeout: float, create: bool) -> None:
    db.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")
    known = db.execute("PRAGMA application_id").fetchone()[0]
    if known == 0 and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
        if not create:
            raise BadLedger(f"{path.name!r} is empty: no ledger was kept in it")
    elif known not in (0, APPLICATION) or (known == 0 and not _is_ours(db)):
        raise BadLedger(f"{path.name!r} is a database of another program; choose another file")
    _use_log(db, path, timeout)
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA foreign_keys = ON")
    if _version(db, path) < SCHEMA:
        with writing(db):
            _upgrade(db, path)


def _upgrade(db: sqlite3.Connection, path: Path) -> None:
    """Inside the write lock: make the tables, or bring older ones up to date; another process may have done it."""
    found = _version(db, path)
    if found == 0:
        if _is_ours(db):
            raise LedgerBroken(f"the ledger {path.name!r} has tables but no schema version")
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        key = secrets.token_hex(32)
        db.execute("INSERT INTO meta VALUES ('key', ?)", (key,))
        chain.append(db, "open", {"schema": SCHEMA, "key": chain.sha256(key)})
    for old in range(found, SCHEMA) if found else ():
        MIGRATIONS[old](db)
        chain.append(db, "migrate", {"from": old, "to": old + 1})
    db.execute(f"PRAGMA user_version = {SCHEMA}")


def _version(db: sqlite3.Connection, path: Path) -> int:
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    if found > SCHEMA:
        raise BadLedger(
            f"the ledger {path.name!r} has schema {found}, newer than {SCHEMA}; install the newer fugu that wrote it"
        )
    return found


def _is_ours(db: sqlite3.Connection) -> bool:
    names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return {"meta", "events", "datasets", "requests"} <= names


def _use_log(db: sqlite3.Connection, path: Path, timeout: float) -> None:
    """Switch to the write-ahead log; two processes that switch at once make SQLite say busy without waiting."""
    end = time.monotonic() + timeout
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.005)
    if str(mode).lower() != "wal":
        raise BadLedger(f"the file system of {path.name!r} allows no write-ahead log; keep the ledger on a local disk")
