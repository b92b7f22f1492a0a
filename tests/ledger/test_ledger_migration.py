"""Ledgers of version 0.1 (SQLite with a write-ahead log): moved over whole; what may be missing is said."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing

import pytest

from fugu.errors import BadLedger, DataKnown, LedgerBroken, LedgerBusy, UsageError
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, books, log
from fugu.ledger.fingerprint import fingerprint
from ledger_files import in_sql, make_old, records

TENTH = Charge.per_entry(0.1)
LAW = Charge("law", Pure(0.1), block="north")


@pytest.fixture
def source(tmp_path):
    with Ledger(tmp_path / "source.db", Pure(1), data="d", fingerprint=fingerprint([1, 2, 3])) as ledger:
        for k in range(3):
            ledger.spend(f"{k}", TENTH, lambda k=k: k)
        with pytest.raises(ZeroDivisionError):
            ledger.spend("failed", TENTH, lambda: 1 / 0)
        with pytest.raises(UsageError):
            ledger.spend("refused", Charge("law", Pure(0.1), block="x"), int)
    return ledger.path


@pytest.mark.parametrize("schema", [1, 2])
def test_a_closed_one_is_moved_over_with_everything_in_it(source, tmp_path, schema):
    path = tmp_path / "l.db"
    head = make_old(source, path, schema)
    with Ledger(path, Pure(1), data="d", head=head) as ledger:
        assert path.read_bytes().startswith(log.MAGIC) and ledger.spent() == Pure(0.4)
        assert ledger.spend("1", TENTH, lambda: pytest.fail("stored")) == 1
        assert ledger.spend("failed", TENTH, lambda: 7) == 7
        ledger.spend("new", TENTH, lambda: 1)
        assert ledger.spent() == Pure(0.5) and ledger.verify(head) != head
        assert [e["kind"] for e in ledger.export()["events"]].count("migrate") == 1
    assert os.listdir(tmp_path).count("l.db-wal") == 0
    with pytest.raises(DataKnown):  # version 0.1 stored another kind of mark
        Ledger(path, Pure(1), data="renamed", fingerprint=[3, 1, 2])
    with pytest.raises(sqlite3.DatabaseError, match="not a database"), closing(sqlite3.connect(path)) as db:
        db.execute("SELECT 1 FROM requests")


def test_what_a_dead_process_left_in_the_log_comes_along(source, tmp_path):
    for left in range(1, len(records(source))):
        path = tmp_path / f"{left}.db"
        db = make_old(source, tmp_path / "alive.db", open_after=left)
        with pytest.raises(LedgerBusy, match="older version"):
            Ledger(tmp_path / "alive.db", Pure(1), data="d", timeout=0.01)
        for end in ("", "-wal"):  # as a crash leaves them
            shutil.copy(tmp_path / f"alive.db{end}", f"{path}{end}")
        assert Books(path).read(books.history) == Books(source).read(books.history)
        assert path.read_bytes().startswith(b"SQLite")  # looking moves nothing
        with Ledger(path, Pure(1), data="d") as ledger:
            assert ledger.spent() == Pure(0.4)
            ledger.verify()
        assert not path.with_name(f"{left}.db-wal").exists()
        db.close()
        (tmp_path / "alive.db").unlink()


def test_a_copy_without_its_log_is_noticed_where_it_can_be(source, tmp_path):
    db = make_old(source, tmp_path / "alive.db", open_after=2)
    shutil.copy(tmp_path / "alive.db", tmp_path / "l.db")
    shutil.copy(tmp_path / "alive.db-shm", tmp_path / "l.db-shm")
    for opening in (lambda p: Ledger(p, Pure(1), data="d"), lambda p: Books(p).read(books.verify)):
        with pytest.raises(LedgerBroken, match="-wal"):
            opening(tmp_path / "l.db")
    db.close()
    empty = tmp_path / "early.db"  # nothing was ever brought into the file itself
    with closing(sqlite3.connect(empty)) as db:
        db.execute("PRAGMA journal_mode = WAL")
    for opening in (lambda p: Ledger(p, Pure(1), data="d"), lambda p: Books(p).read(books.verify)):
        with pytest.raises(LedgerBroken, match="-wal"):
            opening(empty)


def test_one_with_two_names_is_refused(source, tmp_path):
    make_old(source, tmp_path / "l.db")
    os.link(tmp_path / "l.db", tmp_path / "other.db")
    before = (tmp_path / "l.db").read_bytes()
    for name in ("l.db", "other.db"):
        with pytest.raises(BadLedger, match="2 names"):
            Ledger(tmp_path / name, Pure(1), data="d")
    assert (tmp_path / "l.db").read_bytes() == before
    (tmp_path / "other.db").unlink()
    assert Ledger(tmp_path / "l.db", Pure(1), data="d").spent() == Pure(0.4)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE requests SET charge = replace(charge, '1/10', '1/100')",
        "UPDATE requests SET state = 'refused' WHERE request = '1'",
        "UPDATE requests SET value = '7' WHERE request = '1'",
        "UPDATE requests SET planned = 1",
        "DELETE FROM requests WHERE request = '1'",
        "UPDATE datasets SET budget = replace(budget, '\"1\"', '\"9\"')",
        "UPDATE datasets SET fingerprint = NULL",
        "UPDATE datasets SET entries = 3",
        "UPDATE events SET body = replace(body, '1/10', '1/100')",
        "UPDATE events SET body = 'x' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events)",
        "DELETE FROM events",
        "UPDATE meta SET value = 'x' WHERE key = 'head'",
        "UPDATE meta SET value = 'x' WHERE key = 'key'",
        "DELETE FROM meta WHERE key = 'key'",
    ],
)
def test_an_edited_one_is_not_moved_over(source, tmp_path, change):
    path = tmp_path / "l.db"
    make_old(source, path)
    in_sql(path, change)
    with pytest.raises(LedgerBroken):
        Ledger(path, Pure(1), data="d").spend("new", TENTH, lambda: pytest.fail("must not run"))
    with pytest.raises(LedgerBroken):
        Books(path).read(books.verify)
    assert path.read_bytes().startswith(b"SQLite")


def test_a_crash_while_moving_over_leaves_the_old_one_or_the_new_one(source, tmp_path, monkeypatch):
    """Every write of the move is cut short at many places; then the file, alone, is opened again."""
    make_old(source, tmp_path / "whole.db")
    put, writes = log.put, []
    for first in range(2):
        for share in (0.0, 0.001, 0.3, 0.999, 1.0):
            path = tmp_path / f"{first} {share}.db"
            shutil.copy(tmp_path / "whole.db", path)
            writes.clear()

            def cut(fd, start, content, first=first, share=share):
                writes.append(start)
                part = content if len(writes) <= first else content[: int(share * len(content))]
                if first == len(writes) - 1 == 1:  # the one block of the header is written whole or not
                    part = content if share == 1.0 else b""
                put(fd, start, part)
                if len(writes) > first:
                    raise KeyboardInterrupt

            with monkeypatch.context() as patch:
                patch.setattr(log, "put", cut)
                with pytest.raises(KeyboardInterrupt):
                    Ledger(path, Pure(1), data="d")
            moved = tmp_path / "moved.db"
            shutil.move(path, moved)
            assert moved.read_bytes().startswith(log.MAGIC) == (first == 1 and share == 1.0)
            with Ledger(moved, Pure(1), data="d") as ledger:
                assert ledger.spent() == Pure(0.4) and ledger.spend("1", TENTH, lambda: 99) == 1
                ledger.verify()


def test_blocks_of_an_old_data_set_are_those_it_used(tmp_path):
    with Ledger(tmp_path / "source.db", Pure(1), data="d", blocks=["north", "south"]) as ledger:
        ledger.spend("q", LAW, lambda: 1)
    make_old(ledger.path, tmp_path / "l.db")
    with Ledger(tmp_path / "l.db", Pure(1), data="d") as moved:
        assert moved.spent() == Pure(0.1)
        with pytest.raises(UsageError, match="declared"):
            moved.spend("p", Charge("law", Pure(0.1), block="south"), int)
        with pytest.raises(UsageError, match="blocks"):
            Ledger(tmp_path / "l.db", Pure(1), data="d", blocks=["north", "south"])
