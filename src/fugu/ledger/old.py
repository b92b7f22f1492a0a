"""Ledgers of version 0.1, which were SQLite files with a log beside them (`-wal`): read, checked, and moved over.

Moving over happens in the file itself, so that all its names move together: what the `-wal` holds is brought into the
file, the new log is written behind the old pages and synced, and then the first block, and with it the kind of the
file, changes in one write. Before that write the file is the old ledger, after it the new one. The heads stay what they
were.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from fugu.errors import BadLedger, LedgerBroken, LedgerBusy
from fugu.ledger import events, log
from fugu.ledger.events import State
from fugu.ledger.log import BLOCK

MAGIC = b"SQLite format 3\x00"
APPLICATION = 0x46554755
_PAGE = 4096
_TABLES = {"meta", "events", "datasets", "requests"}


def migrate(fd: int, path: Path, timeout: float) -> None:
    """Turn the open SQLite ledger into a log, or refuse and leave it as it is."""
    _check_files(path, os.fstat(fd).st_nlink)
    with _named(path), closing(sqlite3.connect(path.resolve().as_uri(), uri=True, isolation_level=None)) as db:
        db.execute(f"PRAGMA busy_timeout = {int(timeout * 1000)}")
        version = _check_kind(db, path)
        if db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] != "delete":  # brings the -wal into the file
            raise LedgerBusy(f"another process holds the ledger {path.name!r}; nothing was charged, try again")
        db.execute("BEGIN EXCLUSIVE")
        base = -(-os.fstat(fd).st_size // _PAGE) * _PAGE
        log.put(fd, base, _converted(db, version, moved=True))
        os.fsync(fd)
        log.put(fd, 0, log.header(base, log.KEYED))
        os.fsync(fd)
    with suppress(OSError):
        path.with_name(path.name + "-claims").unlink()


@contextmanager
def copy_of(fd: int, path: Path) -> Iterator[int]:
    """A log made from a copy of the open SQLite ledger and its `-wal`: nothing beside or in the file is touched."""
    _check_files(path, 1)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "ledger.db"
        with open(copy, "wb") as out:
            os.lseek(fd, 0, os.SEEK_SET)
            with open(fd, "rb", closefd=False) as file:
                shutil.copyfileobj(file, out)
        beside = path.resolve().with_name(path.resolve().name + "-wal")
        with suppress(FileNotFoundError):
            shutil.copyfile(beside, copy.with_name(copy.name + "-wal"))
        with _named(path), closing(sqlite3.connect(copy, isolation_level=None)) as db:
            content = log.header(BLOCK, log.KEYED) + _converted(db, _check_kind(db, path), moved=False)
        with open(Path(folder) / "log", "w+b") as new:
            new.write(content)
            new.flush()
            yield new.fileno()


def _check_files(path: Path, names: int) -> None:
    """What a careless copy leaves behind, as far as it can be seen: charges may lie in a file that is not here."""
    real = path.resolve()
    beside = [real.with_name(real.name + end).exists() for end in ("-wal", "-shm")]
    if beside == [False, True]:
        raise LedgerBroken(
            f"the ledger {path.name!r} was not closed, and its file {real.name + '-wal'!r} is missing: the last "
            "charges are in that file. Put it back beside the ledger"
        )
    if names > 1:
        raise BadLedger(
            f"the ledger {path.name!r} of version 0.1 has {names} names (hard links), and charges may lie beside each "
            "of them; see that no file ending in -wal is left beside any, and remove the other names first"
        )


def _check_kind(db: sqlite3.Connection, path: Path) -> int:
    """The schema of the ledger: 1 or 2; anything else is refused."""
    known = db.execute("PRAGMA application_id").fetchone()[0]
    names = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if known not in (0, APPLICATION) or (names and not names >= _TABLES):
        raise BadLedger(f"{path.name!r} is a database of another program; choose another file")
    if not names:
        raise LedgerBroken(
            f"{path.name!r} is a database without tables. If it was a ledger, all it held was in a file ending in -wal "
            "that was not copied with it: put that file beside it. If not, choose another file"
        )
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version not in (1, 2):
        raise BadLedger(f"the ledger {path.name!r} has schema {version}, which this version of fugu does not read")
    return version


def _converted(db: sqlite3.Connection, version: int, *, moved: bool) -> bytes:
    """The slots and events of a log with everything that the tables hold, after a check of all of it."""
    parts, state, previous = [], State(), events.START
    values = {(d, r): v for d, r, v in db.execute("SELECT dataset, request, value FROM requests")}
    row = db.execute("SELECT value FROM meta WHERE key = 'key'").fetchone()
    key = "" if row is None else str(row[0])
    seq = 0
    rows = db.execute("SELECT seq, at, kind, body, previous, hash FROM events ORDER BY seq")
    for seq, (number, at, kind, body, before, found) in enumerate(rows, start=1):
        text = events.stated(number, at, kind, body, before)
        event = events.parsed(text.encode(), found)
        if event is None or (event.seq, event.previous) != (seq, previous):
            raise LedgerBroken(f"event {seq} does not follow from the one before: the ledger was edited")
        attached = key if kind == "open" else ""
        if kind == "settled":
            attached = values.get((event.body.get("dataset"), event.body.get("request"))) or ""
        if (events.proof_of(event.body) or events.sha256("")) != events.sha256(attached):
            raise LedgerBroken(
                "the key or a value of the ledger is not the one that was written: the ledger was edited"
            )
        state.apply(event)
        parts.append(log.record(seq, previous, kind, body, attached, at)[0])
        previous = found
    head = db.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
    if not parts or head is None or head[0] != previous:
        raise LedgerBroken("the last event is not the head: events are missing at the end of the ledger")
    _compare(db, state, version)
    if moved:
        seq += 1
        content, previous = log.record(seq, previous, "migrate", events.written({"from": version, "to": log.KEYED}))
        parts.append(content)
    return 2 * log.slot(seq, previous) + b"".join(parts)


def _compare(db: sqlite3.Connection, state: State, version: int) -> None:
    """The tables must be what the events made; those of schema 1 have neither entries nor planned."""
    newer = version > 1
    sets = {
        (name, known.marks[0] if known.marks else None, known.budget, known.prior, *((known.entries,) if newer else ()))
        for name, known in state.sets.items()
    }
    asked = {
        (*name, a.state, a.charge, a.question, a.note, a.seq, *((a.planned,) if newer else ()))
        for name, a in state.asked.items()
    }
    entries, planned = (", entries", ", planned") if newer else ("", "")
    found = set(db.execute(f"SELECT name, fingerprint, budget, prior{entries} FROM datasets"))
    rows = set(db.execute(f"SELECT dataset, request, state, charge, question, note, seq{planned} FROM requests"))
    if sets != found or asked != rows:
        raise LedgerBroken("the tables of the ledger are not what its events made: the ledger was edited")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """SQLite's errors as fugu's."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerBusy(
                f"a process of an older version holds the ledger {path.name!r}; end it, and nothing is lost"
            ) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise BadLedger(
                f"the ledger {path.name!r} cannot be written; check the permissions of the file and its folder"
            ) from error
        raise LedgerBroken(
            f"the ledger {path.name!r} is damaged or truncated; restore it from a copy and check its head"
        ) from error
    except (json.JSONDecodeError, UnicodeError, TypeError) as error:
        raise LedgerBroken(f"the ledger {path.name!r} does not hold what it should: it was edited") from error
