"""Ledger files by hand: edited by people, forged with new hashes, and made as version 0.1 made them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

BLOCK = 512
TABLES = {
    1: """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
                     previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE TABLE datasets (name TEXT PRIMARY KEY, fingerprint TEXT UNIQUE, budget TEXT NOT NULL, prior TEXT);
CREATE TABLE requests (dataset TEXT NOT NULL REFERENCES datasets(name), request TEXT NOT NULL, state TEXT NOT NULL,
                       charge TEXT NOT NULL, question TEXT NOT NULL, value TEXT, note TEXT NOT NULL DEFAULT '',
                       seq INTEGER NOT NULL, PRIMARY KEY (dataset, request));
""",
    2: """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
                     previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE TABLE datasets (name TEXT PRIMARY KEY, fingerprint TEXT UNIQUE, budget TEXT NOT NULL, prior TEXT,
                       entries INTEGER);
CREATE TABLE requests (dataset TEXT NOT NULL REFERENCES datasets(name), request TEXT NOT NULL, state TEXT NOT NULL,
                       charge TEXT NOT NULL, question TEXT NOT NULL, value TEXT, note TEXT NOT NULL DEFAULT '',
                       seq INTEGER NOT NULL, planned INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (dataset, request));
""",
}


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def hashed(seq, at, kind, body, previous):
    """The formula of the chain, written again."""
    text = json.dumps([seq, at, kind, body, previous], separators=(",", ":"))
    return text, sha(text)


def base_of(content):
    return int(re.match(rb"fugu ledger [345]\nlog at byte (\d+)\n", content)[1])


def records(path):
    """[kind, body, attached text] of every event, read by hand; each also as its bytes."""
    content = Path(path).read_bytes()
    place, found = base_of(content) + 2 * BLOCK, []
    while place < len(content):
        end = content.index(b"\n", place) + 1
        _, length, text = content[place:end].rstrip().split(b" ", 2)
        after = end + (int(length) + 1 if int(length) else 0)
        _, at, kind, body, _ = json.loads(text)
        attached = content[end : after - 1].decode(errors="surrogateescape") if int(length) else ""
        found.append({"kind": kind, "body": json.loads(body), "attached": attached, "at": at,
                      "bytes": content[place:after], "place": place})  # fmt: skip
        place = after
    return found


def forge(path, change):
    """What someone who knows the format can do: change the events and write all hashes anew."""
    content, events = Path(path).read_bytes(), records(path)
    events = change(events) or events
    parts, previous = [], "0" * 64
    for seq, event in enumerate(events, start=1):
        body = json.dumps(event["body"], sort_keys=True, separators=(",", ":"))
        text, previous = hashed(seq, event["at"], event["kind"], body, previous)
        more = event["attached"].encode(errors="surrogateescape")
        parts.append(f"{previous} {len(more)} {text}\n".encode() + (more + b"\n" if more else b""))
    told = f"{len(events)} {previous}"
    slot = f"{told} {sha(told)}".encode().ljust(BLOCK - 1) + b"\n"
    Path(path).write_bytes(content[: base_of(content)] + 2 * slot + b"".join(parts))


def edit(path, old, new, count=1):
    """What a text editor does."""
    content = Path(path).read_bytes()
    assert old in content
    Path(path).write_bytes(content.replace(old, new, count))


def drop(path, *numbers):
    """Delete events as whole lines."""
    content = Path(path).read_bytes()
    for k, event in enumerate(records(path), start=1):
        if k in numbers:
            content = content.replace(event["bytes"], b"")
    Path(path).write_bytes(content)


def key_of(path):
    """The key of a ledger, from the file beside it."""
    return Path(f"{path}.key").read_text().split()[-1]


def with_key_inside(path):
    """Make of a new ledger one of version 0.3, which had its key inside; no file is left beside it. The key."""
    key = key_of(path)

    def put(events):
        events[0] |= {"attached": key, "body": {"schema": 3, "key": sha(key)}}

    forge(path, put)
    edit(path, b"fugu ledger 5", b"fugu ledger 3")
    Path(f"{path}.key").unlink()
    return key


def make_old(source, target, schema=2, *, open_after=0):
    """A ledger of version 0.1 with the events of a new one, in SQLite with a write-ahead log, closed.

    `open_after`: leave the last so many events in the log, and return the open connection: a process that will die."""
    events = [e for e in records(source) if e["kind"] != "migrate"]
    db = sqlite3.connect(target, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    for statement in TABLES[schema].split(";"):
        db.execute(statement)
    db.execute("PRAGMA application_id = 1179993941")
    db.execute(f"PRAGMA user_version = {schema}")
    db.execute("INSERT INTO meta VALUES ('key', ?)", (key_of(source),))
    events[0]["body"] = {"schema": schema, "key": sha(key_of(source))}
    previous, seqs = "0" * 64, {}
    for seq, event in enumerate(events, start=1):
        if seq == len(events) - open_after + 1:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA wal_autocheckpoint = 0")
        kind, told = event["kind"], dict(event["body"])
        if kind == "register":
            marks, _ = told.pop("marks"), told.pop("blocks")
            told["fingerprint"] = marks[0] if marks else None
        body = json.dumps(told, sort_keys=True, separators=(",", ":"))
        before, (_, previous) = previous, hashed(seq, event["at"], kind, body, previous)
        row = (seq, event["at"], kind, body, before, previous)
        name = (told.get("dataset"), told.get("request"))
        db.execute("BEGIN")
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (previous,))
        if kind == "register":
            fields = [name[0], told["fingerprint"], told["budget"], told["prior"], told["entries"]][: 3 + schema]
            db.execute(f"INSERT INTO datasets VALUES ({', '.join('?' * len(fields))})", fields)
        elif kind in ("reserved", "refused"):
            seqs[name] = seq
            fields = [*name, kind, told["charge"], told["question"], None, told["note"], seq, told["planned"]]
            fields = fields[: 7 + schema]
            db.execute(f"INSERT OR REPLACE INTO requests VALUES ({', '.join('?' * len(fields))})", fields)
        elif kind in ("settled", "failed"):
            change = "UPDATE requests SET state = ?, value = ?, note = ? WHERE dataset = ? AND request = ?"
            db.execute(change, (kind, event["attached"] or None, told.get("note", ""), *name))
        db.execute("COMMIT")
    if open_after:
        return db
    db.close()
    return previous


def in_sql(path, *statements):
    """Change a ledger of version 0.1."""
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


@contextmanager
def in_memory():
    """A folder in memory if there is one: exceptions lose no power, so nothing is learnt from waiting for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)
