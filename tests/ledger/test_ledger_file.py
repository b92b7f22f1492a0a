"""The file: edited, truncated, rolled back, read-only, full, locked, foreign, newer and older ones; nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import fugu
from fugu.dependence import MarkovChain
from fugu.errors import BadLedger, BudgetExceeded, DataKnown, LedgerBroken, LedgerBusy, UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger import Books, Charge, Ledger, books, chain, fingerprint, store
from fugu.ledger.fingerprint import key_of

TENTH = Charge.per_entry(0.1)
SCHEMA_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE events (seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
                     previous TEXT NOT NULL, hash TEXT NOT NULL UNIQUE);
CREATE TABLE datasets (name TEXT PRIMARY KEY, fingerprint TEXT UNIQUE, budget TEXT NOT NULL, prior TEXT);
CREATE TABLE requests (dataset TEXT NOT NULL REFERENCES datasets(name), request TEXT NOT NULL, state TEXT NOT NULL,
                       charge TEXT NOT NULL, question TEXT NOT NULL, value TEXT, note TEXT NOT NULL DEFAULT '',
                       seq INTEGER NOT NULL, PRIMARY KEY (dataset, request));
CREATE INDEX costs ON requests (dataset, state, charge);
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def kept(path):
    """A ledger with three settled requests, closed; its head."""
    with Ledger(path, Pure(1), data="d", fingerprint=[1, 2, 3]) as ledger:
        for k in range(3):
            ledger.spend(f"{k}", TENTH, lambda k=k: k)
        return ledger.verify()


def edit(path, *statements):
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def check(path, head=None):
    return Books(path).read(books.verify, head)


def test_an_untouched_ledger_holds_and_knows_its_head(path, kept):
    assert check(path, kept) == kept
    with Ledger(path, Pure(1), data="d", head=kept) as ledger:
        ledger.spend("new", TENTH, lambda: 1)
        assert ledger.verify(kept) != kept
    with pytest.raises(LedgerBroken, match="rolled back"):
        check(path, "0" * 64)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE requests SET charge = replace(charge, '1/10', '1/100')",
        "UPDATE requests SET state = 'refused' WHERE request = '1'",
        "UPDATE requests SET value = '7' WHERE request = '1'",
        "UPDATE requests SET question = 'x' WHERE request = '1'",
        "UPDATE requests SET planned = 1",
        "DELETE FROM requests WHERE request = '1'",
        "UPDATE datasets SET budget = replace(budget, '\"1\"', '\"9\"')",
        "UPDATE datasets SET fingerprint = NULL",
        "UPDATE datasets SET entries = 3",
        "UPDATE events SET body = replace(body, '1/10', '1/100')",
        "UPDATE events SET at = '2020' WHERE seq = 3",
        "DELETE FROM events WHERE seq = 4",
        "DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events)",
        "DELETE FROM events",
        "UPDATE meta SET value = 'x'",
        "DELETE FROM meta",
        "UPDATE meta SET value = 'x' WHERE key = 'head'",
        "UPDATE meta SET value = 'x' WHERE key = 'key'",
        "DELETE FROM meta WHERE key = 'key'",
    ],
)
def test_every_edit_is_noticed(path, kept, change):
    assert check(path) == kept
    edit(path, change)
    with pytest.raises(LedgerBroken) as found:
        check(path)
    assert found.value.exit_code == 4


def test_a_rewritten_tail_is_noticed_by_an_earlier_head_and_only_by_it(path, kept):
    """Cutting the last events off and setting the head back leaves a sound chain: that is what the head is for."""
    last = "(SELECT MAX(seq) FROM events)"
    edit(
        path,
        f"UPDATE requests SET state = 'reserved', value = NULL WHERE request = '2' AND seq < {last}",
        f"DELETE FROM events WHERE seq = {last}",
        f"UPDATE meta SET value = (SELECT hash FROM events WHERE seq = {last}) WHERE key = 'head'",
    )
    assert check(path) != kept
    with pytest.raises(LedgerBroken, match="rolled back"):
        check(path, kept)


def test_an_older_copy_put_back_is_noticed_by_its_head(path, kept):
    shutil.copy(path, path.with_name("old.db"))
    with Ledger(path, Pure(1), data="d") as ledger:
        ledger.spend("late", TENTH, lambda: 1)
        exported = ledger.export(path.with_name("out.json"))
    shutil.copy(path.with_name("old.db"), path)
    assert check(path) == kept
    with pytest.raises(LedgerBroken, match="rolled back"):
        Ledger(path, Pure(1), data="d", head=exported["head"])
    told = json.loads(path.with_name("out.json").read_text())
    assert told == exported and told["head"] == told["events"][-1]["hash"] and "value" not in json.dumps(told)


def test_a_deleted_ledger_is_noticed_by_its_head(path, kept):
    path.unlink()
    with pytest.raises(LedgerBroken, match="rolled back"):
        Ledger(path, Pure(1), data="d", head=kept)


def test_a_charge_is_not_built_on_an_edited_head(path, kept):
    edit(path, "UPDATE events SET body = '{}' WHERE seq = (SELECT MAX(seq) FROM events)")
    with pytest.raises(LedgerBroken), Ledger(path, Pure(1), data="d") as ledger:
        ledger.spend("new", TENTH, lambda: pytest.fail("must not run"))


@pytest.mark.parametrize("keep", [100, 4096, 6000, 12_000])
def test_a_truncated_file_is_noticed(path, kept, keep):
    whole = path.read_bytes()
    assert len(whole) > 12_000
    path.write_bytes(whole[:keep])
    with pytest.raises((LedgerBroken, BadLedger)):
        Ledger(path, Pure(1), data="d").verify()


def test_overwritten_pages_are_noticed(path, kept):
    whole = bytearray(path.read_bytes())
    whole[4096:] = bytes(len(whole) - 4096)
    path.write_bytes(whole)
    with pytest.raises(LedgerBroken):
        Ledger(path, Pure(1), data="d").verify()


def test_a_file_of_another_kind_is_left_alone(path):
    path.write_text("dear diary, this is no database\n")
    with pytest.raises(BadLedger, match="no ledger"):
        Ledger(path, Pure(1))
    assert path.read_text().startswith("dear diary")
    other = path.with_name("other.db")
    edit(other, "CREATE TABLE recipes (name TEXT)")
    before = other.read_bytes()
    with pytest.raises(BadLedger, match="another program"):
        Ledger(other, Pure(1))
    assert other.read_bytes() == before
    with pytest.raises(BadLedger):
        Ledger(path.parent, Pure(1))
    with pytest.raises(BadLedger, match="no ledger file"):
        check(path.with_name("none.db"))
    assert not path.with_name("none.db").exists()


def test_a_newer_schema_is_refused_and_an_older_one_migrated(path, kept):
    edit(path, f"PRAGMA user_version = {store.SCHEMA + 1}")
    with pytest.raises(BadLedger, match="newer"):
        Ledger(path, Pure(1), data="d")


def test_schema_1_is_migrated_with_everything_in_it(path, kept, monkeypatch):
    old = path.with_name("old.db")
    source, target = sqlite3.connect(path), sqlite3.connect(old)
    target.executescript(SCHEMA_1)
    for table, fields in {
        "meta": "key, value",
        "events": "seq, at, kind, body, previous, hash",
        "datasets": "name, fingerprint, budget, prior",
        "requests": "dataset, request, state, charge, question, value, note, seq",
    }.items():
        rows = source.execute(f"SELECT {fields} FROM {table}").fetchall()
        target.executemany(f"INSERT INTO {table} ({fields}) VALUES ({', '.join('?' * (fields.count(',') + 1))})", rows)
    target.execute(f"PRAGMA application_id = {store.APPLICATION}")
    target.execute("PRAGMA user_version = 1")
    target.commit()
    source.close()
    target.close()

    def broken(db):
        db.execute("ALTER TABLE datasets ADD COLUMN entries INTEGER")
        raise sqlite3.OperationalError("power cut")

    with monkeypatch.context() as patch:
        patch.setitem(store.MIGRATIONS, 1, broken)
        with pytest.raises(LedgerBroken):
            Ledger(old, Pure(1), data="d")
    with Ledger(old, Pure(1), data="d", head=kept) as ledger:
        assert ledger.spent() == Pure(0.3)
        assert ledger.spend("1", TENTH, lambda: pytest.fail("stored")) == 1
        ledger.spend("new", TENTH, lambda: 1, planned=True)
        assert [e["kind"] for e in ledger.export()["events"]].count("migrate") == 1
        ledger.verify(kept)


def test_the_data_cannot_be_tried_out_on_an_export_nor_the_file_read_by_others(path, tmp_path):
    """Who knows all rows but one could digest every candidate: a plain SHA-256 would tell which one it is."""
    secret = [0, 1, 1, 0]
    with Ledger(path, Pure(1), data="d", fingerprint=secret) as ledger, Ledger(path, Pure(1), data="e") as late:
        told = json.dumps(ledger.export())
        assert Books(path).read(books.datasets)[0].fingerprint in told and fingerprint(secret) not in told
        key = late._read(key_of)
        assert len(key) == 64 and key not in told and chain.sha256(key) in told
    assert fingerprint(secret) not in json.dumps(told)
    with pytest.raises(DataKnown):  # the same data is still known
        Ledger(path, Pure(1), data="new", fingerprint=secret)
    with Ledger(tmp_path / "second.db", Pure(1), data="d", fingerprint=secret) as second:
        ours, theirs = (Books(p).read(books.datasets)[0].fingerprint for p in (path, second.path))
        assert ours != theirs
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_made_without_a_key_still_knows_its_data(path):
    with Ledger(path, Pure(1), data="d") as ledger:
        db = ledger._open()
        with store.writing(db):
            db.execute("DELETE FROM meta WHERE key = 'key'")
    Ledger(path, Pure(1), data="d", fingerprint=[1, 2]).close()
    assert Books(path).read(books.datasets)[0].fingerprint == fingerprint([1, 2])
    with pytest.raises(DataKnown):
        Ledger(path, Pure(1), data="renamed", fingerprint=[2, 1])


def test_terms_are_fixed_and_known_data_gets_no_second_budget(path, kept):
    for terms in ({"budget": Pure(2)}, {"budget": Approx(1, 1e-9)}, {"entries": 5},
                  {"prior": MarkovChain([[0.5, 0.5], [0.1, 0.9]], 5)}, {"fingerprint": [9]}):  # fmt: skip
        with pytest.raises(UsageError, match="registered"):
            Ledger(**({"path": path, "budget": Pure(1), "data": "d"} | terms))
    with pytest.raises(DataKnown, match="'d'") as refused:
        Ledger(path, Pure(1), data="renamed", fingerprint=[3, 2, 1])
    assert refused.value.exit_code == 3
    with Ledger(path, Pure(5), data="other", fingerprint=[4]) as other:
        other.spend("1", Charge.per_entry(5), lambda: 0)
        assert other.spent() == Pure(5)
    with Ledger(path, Pure(1), data="d") as ledger:
        assert ledger.spent() == Pure(0.3)
    Ledger(path, Pure(1), data="late").close()
    Ledger(path, Pure(1), data="late", fingerprint=[7]).close()
    with pytest.raises(DataKnown, match="'late'"):
        Ledger(path, Pure(1), data="later", fingerprint=[7])
    check(path)


def test_a_locked_ledger_times_out_and_charges_nothing(path, kept):
    ledger = Ledger(path, Pure(1), data="d", timeout=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerBusy, match="nothing was charged"):
        ledger.spend("new", TENTH, lambda: pytest.fail("must not run"))
    other.execute("ROLLBACK")
    other.close()
    assert ledger.spend("new", TENTH, lambda: 4) == 4 and ledger.spent() == Pure(0.4)


def limited(path, pages):
    """A ledger whose file may not grow beyond so many pages: SQLite reports a full disk."""
    ledger = Ledger(path, Pure(1), data="d")
    ledger._open().execute(f"PRAGMA max_page_count = {pages}")
    return ledger


def test_a_full_disk_loses_nothing(path, kept):
    ledger = limited(path, 1)
    value = "x" * 50_000
    with pytest.raises(BadLedger, match="same id"):
        ledger.spend("large", TENTH, lambda: value)
    assert ledger.spent() in (Pure(0.3), Pure(0.4)) and ledger.verify(kept)
    ledger._open().execute("PRAGMA max_page_count = 100000")
    assert ledger.spend("large", TENTH, lambda: value) == value
    assert ledger.spent() == Pure(0.4) and ledger.verify(kept)


def test_a_full_disk_between_charge_and_value(path, kept):
    ledger = Ledger(path, Pure(1), data="d")
    drawn = []

    def produce():
        pages = ledger._open().execute("PRAGMA page_count").fetchone()[0]
        ledger._open().execute(f"PRAGMA max_page_count = {pages}")
        drawn.append("x" * 100_000)
        return drawn[-1]

    with pytest.raises(BadLedger, match="full"):
        ledger.spend("large", TENTH, produce)
    assert ledger.history()[-1].state == "reserved" and ledger.spent() == Pure(0.4)
    ledger._open().execute("PRAGMA max_page_count = 100000")
    assert ledger.spend("large", TENTH, produce) == drawn[0] and len(drawn) == 1


def test_a_read_only_ledger_says_so():
    """In a child that gives up its rights, because nothing is read-only for root."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        with Ledger(path, Pure(1), data="d") as ledger:
            ledger.spend("old", TENTH, lambda: 1)
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        child = os.fork()
        if not child:
            code = 1
            with suppress(BaseException):
                if os.geteuid() == 0:
                    os.seteuid(65534)
                try:
                    Ledger(path, Pure(1), data="d").spend("new", TENTH, lambda: os._exit(2))
                except BadLedger as error:
                    code = 0 if "permissions" in str(error) else 3
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        Path(folder).chmod(0o755)
        path.chmod(0o644)
        assert Ledger(path, Pure(1), data="d").spent() == Pure(0.1)


def test_sqlite_errors_have_names(path, kept, monkeypatch):
    class Refusing(sqlite3.OperationalError):
        sqlite_errorcode = 0

    expected = {
        sqlite3.SQLITE_READONLY: (BadLedger, "written"),
        sqlite3.SQLITE_CANTOPEN: (BadLedger, "written"),
        sqlite3.SQLITE_IOERR: (BadLedger, "full or failing"),
        sqlite3.SQLITE_FULL: (BadLedger, "full or failing"),
        sqlite3.SQLITE_BUSY: (LedgerBusy, "nothing was charged"),
        sqlite3.SQLITE_CORRUPT: (LedgerBroken, "damaged"),
        sqlite3.SQLITE_NOTADB: (LedgerBroken, "damaged"),
        sqlite3.SQLITE_ERROR: (LedgerBroken, "tables"),
    }
    ledger = Ledger(path, Pure(1), data="d")
    for code, (kind, words) in expected.items():
        error = Refusing()
        error.sqlite_errorcode = code | (1 << 8)

        def refuse(*_, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr("fugu.ledger.requests.enter", refuse)
            with pytest.raises(kind, match=words):
                ledger.spend("new", TENTH, lambda: pytest.fail("must not run"))
        assert ledger.spent() == Pure(0.3)


def test_commits_are_synced_and_logged(path, kept):
    with Ledger(path, Pure(1), data="d") as ledger:
        db = ledger._open()
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert issubclass(BudgetExceeded, fugu.errors.BudgetRefused)
