"""The key of a ledger is a file of its own: without it nothing is charged, and nowhere else is it to be found."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fugu.cli.app import app
from fugu.errors import BadLedger, DataKnown, UsageError
from fugu.files import write_text
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, books
from ledger_files import key_of, with_key_inside

TENTH = Charge.per_entry(0.1)
TABLE = {"x": list(range(100))}


@pytest.fixture
def path(tmp_path):
    with Ledger(tmp_path / "l.db", Pure(1), data="d", fingerprint=TABLE) as ledger:
        ledger.spend("q", TENTH, lambda: 7)
    return ledger.path


def refused(path, match):
    """Everything that charges is refused; showing, verifying and stored values are not."""
    with pytest.raises(BadLedger, match=match):
        Ledger(path, Pure(1), data="d", fingerprint=TABLE)
    with pytest.raises(BadLedger, match=match):
        Ledger(path, Pure(1), data="new", fingerprint=[1, 2])
    with Ledger(path, Pure(1), data="d") as ledger:
        with pytest.raises(BadLedger, match=match):
            ledger.spend("more", TENTH, lambda: pytest.fail("must not run"))
        assert ledger.spent() == Pure(0.1) and ledger.spend("q", TENTH, lambda: pytest.fail("stored")) == 7
    for command in ("show", "verify"):
        assert CliRunner().invoke(app, ["ledger", command, str(path)]).exit_code == 0


def test_the_key_is_in_its_own_file_and_nowhere_else(path, tmp_path):
    key, place = key_of(path), tmp_path / "l.db.key"
    assert stat.S_IMODE(place.stat().st_mode) == 0o600 and len(key) == 64
    assert key.encode() not in path.read_bytes() and key not in json.dumps(Books(path).read(books.export))
    assert sorted(os.listdir(tmp_path)) == ["l.db", "l.db.key"]


def test_without_its_key_a_ledger_is_read_and_charges_nothing(path):
    place = Path(f"{path}.key")
    text = place.read_text()
    place.unlink()
    refused(path, r"l\.db\.key.*FUGU_LEDGER_KEY")
    place.write_text(text.replace(key := text.split()[-1], key[::-1]))
    refused(path, "is not that of the ledger")
    for wrong in ("", "x", f"{key}\n", text + text):
        place.write_text(wrong)
        refused(path, "is not the key")
    place.write_text(text)
    with Ledger(path, Pure(1), data="d", fingerprint=TABLE) as ledger:
        assert ledger.spend("more", TENTH, lambda: 8) == 8


def test_copies_moves_and_links_need_the_key_too(path, tmp_path, monkeypatch):
    for name, make in (("copied", shutil.copy), ("hard", os.link)):
        (tmp_path / name).mkdir()
        other = tmp_path / name / "l.db"
        make(path, other)
        refused(other, "linked elsewhere")
        with monkeypatch.context() as patch:
            patch.setenv("FUGU_LEDGER_KEY", f"{path}.key")
            assert Ledger(other, Pure(1), data="d", fingerprint=TABLE).spend(f"{name} 1", TENTH, lambda: 1) == 1
        shutil.copy(f"{path}.key", f"{other}.key")
        assert Ledger(other, Pure(1), data="d", fingerprint=TABLE).spend(f"{name} 2", TENTH, lambda: 1) == 1
    soft = tmp_path / "copied" / "soft.db"
    soft.symlink_to(path)  # what the link leads to has its key beside it
    assert Ledger(soft, Pure(1), data="d", fingerprint=TABLE).spend("soft", TENTH, lambda: 1) == 1
    moved = Path(shutil.move(path, tmp_path / "moved.db"))
    refused_now = pytest.raises(BadLedger, match=r"moved\.db\.key")
    with refused_now:
        Ledger(moved, Pure(1), data="d", fingerprint=TABLE)


def test_the_variable_says_where_keys_are_made_and_several_ledgers_may_share_one(tmp_path, monkeypatch):
    monkeypatch.setenv("FUGU_LEDGER_KEY", str(tmp_path / "keys" / "own"))
    with pytest.raises(BadLedger, match="folder of the ledger's key"):
        Ledger(tmp_path / "a.db", Pure(1), data="d")
    (tmp_path / "keys").mkdir()
    for name in ("a.db", "b.db"):
        Ledger(tmp_path / name, Pure(1), data="d").spend("q", TENTH, lambda: 1)
    assert os.listdir(tmp_path / "keys") == ["own"] and not (tmp_path / "a.db.key").exists()
    monkeypatch.setenv("FUGU_LEDGER_KEY", "  ")
    Ledger(tmp_path / "c.db", Pure(1), data="d").close()
    assert (tmp_path / "c.db.key").exists()


def test_a_key_inside_moves_out_at_the_first_opening_that_writes(path, tmp_path):
    key = with_key_inside(path)
    assert key.encode() in path.read_bytes()
    head = Books(path).read(books.verify)
    with Ledger(path, Pure(1), data="d", fingerprint=TABLE, head=head) as ledger:
        assert key.encode() not in path.read_bytes() and key_of(path) == key
        assert ledger.spend("more", TENTH, lambda: 2) == 2 and ledger.verify(head) != head
    assert path.read_bytes().startswith(b"fugu ledger 4")  # versions that look for the key inside refuse it
    with pytest.raises(DataKnown):
        Ledger(path, Pure(1), data="renamed", fingerprint=TABLE)
    Path(f"{path}.key").unlink()
    refused_after = pytest.raises(BadLedger, match="missing")
    with refused_after:
        Ledger(path, Pure(1), data="d", fingerprint=TABLE)


def test_a_key_half_blanked_is_blanked(path):
    """A crash between the file and the last blanked byte; a ledger whose key is another one is left alone."""
    key = with_key_inside(path)
    content = path.read_bytes()
    for blank in range(1, 64, 9):
        path.write_bytes(content.replace(key.encode(), b"-" * blank + key[blank:].encode()))
        Path(f"{path}.key").write_text(f"fugu ledger key\n{key}\n")
        with Ledger(path, Pure(1), data="d", fingerprint=TABLE) as ledger:
            assert ledger.spent() == Pure(0.1)
    path.write_bytes(content)
    Path(f"{path}.key").write_text(f"fugu ledger key\n{key[::-1]}\n")
    with pytest.raises(BadLedger, match="another key"):
        Ledger(path, Pure(1), data="d")
    assert path.read_bytes() == content


def test_outputs_are_never_written_over_a_key(path):
    before = key_of(path)
    with pytest.raises(UsageError, match="not overwritten"):
        write_text(f"{path}.key", "x")
    assert key_of(path) == before
