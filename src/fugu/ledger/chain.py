"""The hash chain: every event holds the hash of the one before it, so no event can be changed, moved or dropped unseen.

hash = SHA-256 of [seq, at, kind, body, previous]. The last hash is the head. A head that was exported and is no longer
in the chain shows that the file was rolled back or rewritten."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from typing import Any

from fugu.errors import LedgerBroken

START = "0" * 64
_FIELDS = "seq, at, kind, body, previous, hash"


def digest(seq: int, at: str, kind: str, body: str, previous: str) -> str:
    """The hash of one event."""
    return sha256(json.dumps([seq, at, kind, body, previous], ensure_ascii=True, separators=(",", ":")))


def sha256(text: str) -> str:
    """SHA-256 of a text, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def append(db: sqlite3.Connection, kind: str, body: dict[str, Any]) -> int:
    """Add an event behind the head, inside the caller's transaction; refuses to build on a head that does not hold."""
    seq, previous = 1, START
    last = db.execute(f"SELECT {_FIELDS} FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    if last is not None:
        seq, previous = last[0] + 1, last[5]
    if (last is not None and digest(*last[:5]) != last[5]) or _head(db) != (None if last is None else previous):
        raise LedgerBroken("the last event of the ledger does not match its hash: the ledger was edited or damaged")
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    found = digest(seq, at, kind, text, previous)
    db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (seq, at, kind, text, previous, found))
    db.execute("INSERT INTO meta VALUES ('head', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (found,))
    return seq


def walk(db: sqlite3.Connection) -> tuple[list[tuple[int, str, str, dict[str, Any]]], list[str]]:
    """All events (seq, at, kind, body) and their hashes, each checked against the one before it."""
    events: list[tuple[int, str, str, dict[str, Any]]] = []
    hashes: list[str] = []
    previous = START
    for seq, at, kind, body, before, found in db.execute(f"SELECT {_FIELDS} FROM events ORDER BY seq"):
        if seq != len(events) + 1 or before != previous or digest(seq, at, kind, body, before) != found:
            raise LedgerBroken(f"event {len(events) + 1} does not follow from the one before: the ledger was edited")
        events.append((seq, at, kind, json.loads(body)))
        hashes.append(found)
        previous = found
    if not events or _head(db) != previous:
        raise LedgerBroken("the last event is not the head: events are missing at the end of the ledger")
    return events, hashes


def _head(db: sqlite3.Connection) -> str | None:
    row = db.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
    return None if row is None else str(row[0])
