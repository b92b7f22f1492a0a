"""The file: edited, truncated, rolled back, read-only, full, locked, foreign, newer and older ones; nothing is lost."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import sqlite3
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import fugu
from fugu.errors import BadLedger, BudgetExceeded, DataKnown, LedgerBroken, LedgerBusy, UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger import Books, Charge, Ledger, books, events, file, fingerprints, log
from fugu.ledger.fingerprint import fingerprint
from fugu.priors import MarkovChain
from ledger_files import drop, edit, forge, key_of, make_old, records

TENTH = Charge.per_entry(0.1)


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


def check(path, head=None):
    return Books(path).read(books.verify, head)


def test_an_untouched_ledger_holds_and_knows_its_head(path, kept):
    assert check(path, kept) == kept
    with Ledger(path, Pure(1), data="d", head=kept) as ledger:
        ledger.spend("new", TENTH, lambda: 1)
        assert ledger.verify(kept) != kept
    with pytest.raises(LedgerBroken, match="rolled back"):
        check(path, "0" * 64)


def changed(path, number, old, new):
    """Edit one event in place."""
    event = records(path)[number - 1]
    assert old in event["bytes"]
    content = path.read_bytes()
    path.write_bytes(content.replace(event["bytes"], event["bytes"].replace(old, new), 1))


def cheaper_with_new_hashes(path):
    """The last charge and all hashes behind it, but not the count at the start."""
    before = path.read_bytes()

    def change(events):
        events[6]["body"]["charge"] = events[6]["body"]["charge"].replace("1/10", "1/99")

    forge(path, change)
    path.write_bytes(before[:1536] + path.read_bytes()[1536:])


EDITS = {
    "the last charge with new hashes": cheaper_with_new_hashes,
    "a charge made cheaper": lambda p: edit(p, b"1/10", b"1/99", 99),
    "one charge made cheaper": lambda p: changed(p, 5, b"1/10", b"1/99"),
    "a charge called refused": lambda p: changed(p, 5, b"reserved", b"refused"),
    "the last charge called refused": lambda p: changed(p, 7, b"reserved", b"refused"),
    "a value": lambda p: changed(p, 6, b"\n1\n", b"\n7\n"),
    "a question": lambda p: changed(p, 5, b'question\\":\\"', b'question\\":\\"0'),
    "planned afterwards": lambda p: changed(p, 5, b'planned\\":0', b'planned\\":1'),
    "a charge deleted": lambda p: drop(p, 5),
    "a request deleted": lambda p: drop(p, 5, 6),
    "the last event deleted": lambda p: drop(p, 8),
    "the last request deleted": lambda p: drop(p, 7, 8),
    "all events deleted": lambda p: drop(p, *range(1, 9)),
    "a request doubled": lambda p: edit(p, records(p)[5]["bytes"], 2 * records(p)[5]["bytes"]),
    "two events exchanged": lambda p: edit(
        p, records(p)[3]["bytes"] + records(p)[4]["bytes"], records(p)[4]["bytes"] + records(p)[3]["bytes"]
    ),
    "a larger budget": lambda p: p.write_bytes(re.sub(rb"(budget[^0-9]*)1", rb"\g<1>9", p.read_bytes(), count=1)),
    "the marks of the data": lambda p: changed(p, 2, b'"marks\\":[', b'"marks\\":["'),
    "a number of entries": lambda p: changed(p, 2, b'entries\\":null', b'entries\\":3'),
    "a block": lambda p: changed(p, 2, b'blocks\\":[]', b'blocks\\":[1]'),
    "a time": lambda p: changed(p, 3, b"T", b"t"),
    "a length": lambda p: changed(p, 6, b" 1 [", b" 0 ["),
    "the commitment to the key": lambda p: edit(p, records(p)[0]["body"]["commitment"].encode(), b"0" * 64),
    "the key deleted": lambda p: edit(p, records(p)[0]["attached"].encode() + b"\n", b""),
    "both slots": lambda p: p.write_bytes(p.read_bytes()[:512] + b" " * 1024 + p.read_bytes()[1536:]),
    "the header": lambda p: edit(p, b"log at byte 512", b"log at byte 513"),
    "line ends": lambda p: edit(p, b"\n", b"\r\n", 99999),
    "garbage between": lambda p: edit(p, records(p)[4]["bytes"], b"x\n" + records(p)[4]["bytes"]),
}


@pytest.mark.parametrize("change", EDITS)
def test_every_edit_is_noticed_at_the_next_charge(path, kept, change):
    """By a process that has the ledger open, by one that opens it, and by an auditor; nothing is granted."""
    assert check(path) == kept
    alive = Ledger(path, Pure(1), data="d")
    before = path.read_bytes()
    EDITS[change](path)
    after = path.read_bytes()
    assert after != before
    with pytest.raises(LedgerBroken) as found:
        check(path)
    assert found.value.exit_code == 4
    with pytest.raises(LedgerBroken):
        alive.spend("new", TENTH, lambda: pytest.fail("must not run"))
    with pytest.raises(LedgerBroken):
        Ledger(path, Pure(1), data="d").spend("new", TENTH, lambda: pytest.fail("must not run"))
    assert path.read_bytes() == after
    path.write_bytes(before)
    assert alive.spend("new", TENTH, lambda: 5) == 5


def test_a_large_value_that_was_edited_is_noticed_when_it_is_wanted(path, kept):
    """Values of more than 64 kB are not read at every charge; one that was edited never goes out."""
    with Ledger(path, Pure(1), data="d") as ledger:
        ledger.spend("large", TENTH, lambda: "x" * 200_000)
        ledger.spend("more", TENTH, lambda: 1)
        assert sum(len(p) for _, p in ledger._file._known.pieces) < 10_000
        edit(path, b"x" * 200_000, b"y" + b"x" * 199_999)
        assert ledger.spent() == Pure(0.5)
        for again in (ledger, Ledger(path, Pure(1), data="d")):
            with pytest.raises(LedgerBroken, match="stored release"):
                again.spend("large", TENTH, lambda: pytest.fail("must not run"))
        with pytest.raises(LedgerBroken):
            ledger.verify()


def test_a_rewritten_tail_is_noticed_by_an_earlier_head_and_by_who_saw_it(path, kept):
    """Cutting the last events off and writing the count anew leaves a sound chain: that is what the head is for."""
    alive = Ledger(path, Pure(1), data="d")
    forge(path, lambda events: events[:-1])
    assert check(path) != kept
    with pytest.raises(LedgerBroken, match="rolled back"):
        check(path, kept)
    with pytest.raises(LedgerBroken, match="rolled back"):
        alive.spend("new", TENTH, lambda: pytest.fail("must not run"))


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


@pytest.mark.parametrize("keep", [1, 100, 512, 1000, 1536, 2000, 4000])
def test_a_truncated_file_is_noticed(path, kept, keep):
    whole = path.read_bytes()
    assert len(whole) > 4000
    path.write_bytes(whole[:keep])
    with pytest.raises((LedgerBroken, BadLedger)):
        Ledger(path, Pure(1), data="d").verify()


def test_overwritten_pages_are_noticed(path, kept):
    whole = path.read_bytes()
    for start in range(0, len(whole), 512):
        page = bytes(min(512, len(whole) - start))
        path.write_bytes(whole[:start] + page + whole[start + len(page) :])
        if start in (512, 1024):  # one slot of two: a crash may have cut it short, and the other one is enough
            assert check(path) == kept
            continue
        with pytest.raises((LedgerBroken, BadLedger)):
            Ledger(path, Pure(1), data="d").verify()


def test_a_file_of_another_kind_is_left_alone(path):
    path.write_text("dear diary, this is no database\n")
    with pytest.raises(BadLedger, match="not a ledger"):
        Ledger(path, Pure(1))
    assert path.read_text().startswith("dear diary")
    other = path.with_name("other.db")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    db.close()
    before = other.read_bytes()
    with pytest.raises(BadLedger, match="another program"):
        Ledger(other, Pure(1))
    assert other.read_bytes() == before
    with pytest.raises(BadLedger):
        Ledger(path.parent, Pure(1))
    with pytest.raises(BadLedger, match="no ledger file"):
        check(path.with_name("none.db"))
    assert not path.with_name("none.db").exists()


def test_a_newer_format_is_refused(path, kept):
    edit(path, f"fugu ledger {log.FORMAT}\n".encode(), f"fugu ledger {log.FORMAT + 1}\n".encode())
    with pytest.raises(BadLedger, match="newer"):
        Ledger(path, Pure(1), data="d")


@pytest.mark.parametrize("given", [{"other_people": ["nobody"]}, {"prior": ValueError()}, {"blocks": ["a", "A"]}])
def test_what_is_refused_of_a_new_ledger_leaves_no_file_and_no_key(tmp_path, given):
    with pytest.raises(UsageError):
        Ledger(tmp_path / "new.db", Pure(1), **given)
    assert not list(tmp_path.iterdir())


def test_the_data_cannot_be_tried_out_on_an_export_nor_the_file_read_by_others(path, tmp_path):
    """Who knows all rows but one could digest every candidate: a plain SHA-256 would tell which one it is."""
    secret = [0, 1, 1, 0]
    with Ledger(path, Pure(1), data="d", fingerprint=secret) as ledger, Ledger(path, Pure(1), data="e") as late:
        told = json.dumps(ledger.export())
        assert Books(path).read(books.Standing.of, "d").known.marks[0] in told and fingerprint(secret) not in told
        assert not any(digest in told for digest in fingerprints(secret).named)
        key = key_of(path)
        assert len(key) == 64 and key not in told and events.sha256(key) in told
        assert key.encode() not in path.read_bytes() and late.data in told
        ledger.spend("q", Charge.per_entry(0), lambda: 1)
    assert fingerprint(secret) not in json.dumps(told)
    with pytest.raises(DataKnown):  # the same data is still known
        Ledger(path, Pure(1), data="new", fingerprint=secret)
    with Ledger(tmp_path / "second.db", Pure(1), data="d", fingerprint=secret) as second:
        ours, theirs = (Books(p).read(books.Standing.of, "d").known.marks[0] for p in (path, second.path))
        assert ours != theirs
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_made_without_a_key_still_knows_its_data(path):
    Ledger(path, Pure(1), data="d").close()

    def without(events):
        events[0] |= {"attached": "", "body": {"schema": 2}}

    forge(path, without)
    Ledger(path, Pure(1), data="d", fingerprint=[1, 2]).close()
    assert Books(path).read(books.Standing.of, "d").known.marks[0] not in fingerprints([1, 2]).named  # it has a key now

    def plain(events):
        events[1]["body"]["marks"] = list(fingerprints([1, 2]).named)
        return events[:2]

    forge(path, plain)
    Ledger(path, Pure(1), data="d").spend("q", Charge.per_entry(0), lambda: 1)
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
    Ledger(path, Pure(1), data="late", fingerprint=[7]).spend("1", Charge.per_entry(0), lambda: 0)
    with pytest.raises(DataKnown, match="'late'"):
        Ledger(path, Pure(1), data="later", fingerprint=[7])
    check(path)


@contextmanager
def locked(path):
    held = file.Held()
    held.open(path, write=True)
    assert held.take_whole(0)
    try:
        yield
    finally:
        held.release()


def test_a_locked_ledger_times_out_and_charges_nothing(path, kept):
    ledger = Ledger(path, Pure(1), data="d", timeout=0.05)
    with locked(path), pytest.raises(LedgerBusy, match="nothing was charged"):
        ledger.spend("new", TENTH, lambda: pytest.fail("must not run"))
    assert ledger.spend("new", TENTH, lambda: 4) == 4 and ledger.spent() == Pure(0.4)


@contextmanager
def limited(size):
    """No file of this process may grow beyond so many bytes: what a full disk does, half-written lines included."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing(path, kept):
    ledger, value = Ledger(path, Pure(1), data="d"), "x" * 50_000
    for more in (0, 1, 100, 300, 2000):
        with limited(path.stat().st_size + more), pytest.raises(BadLedger, match="same id"):
            ledger.spend("large", TENTH, lambda: value)
        assert ledger.spent() in (Pure(0.3), Pure(0.4)) and ledger.verify(kept)
    assert ledger.spent() == Pure(0.4)
    assert ledger.spend("large", TENTH, lambda: value) == value
    assert ledger.spent() == Pure(0.4) and ledger.verify(kept)


def test_a_full_disk_between_charge_and_value(path, kept):
    ledger, drawn = Ledger(path, Pure(1), data="d"), []

    def produce():
        drawn.append("x" * 100_000)
        return drawn[-1]

    with limited(path.stat().st_size + 2000), pytest.raises(BadLedger, match="full"):
        ledger.spend("large", TENTH, produce)
    assert ledger.history()[-1].state == "reserved" and ledger.spent() == Pure(0.4)
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


def test_errors_of_the_system_have_names(path, kept, monkeypatch):
    expected = {
        errno.EROFS: "permissions",
        errno.EPERM: "permissions",
        errno.EIO: "full or failing",
        errno.ENOSPC: "full or failing",
        errno.EDQUOT: "full or failing",
        errno.ESTALE: "cannot be used",
    }
    ledger = Ledger(path, Pure(1), data="d")
    for code, words in expected.items():

        def refuse(*_, code=code):
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(file, "_sync", refuse)
            with pytest.raises(BadLedger, match=words):
                ledger.spend("new", TENTH, lambda: pytest.fail("must not run"))
        assert ledger.spent() == Pure(0.3)


def test_a_charge_is_synced_before_it_counts_and_every_charge_is(path, kept, monkeypatch):
    order = []
    monkeypatch.setattr(file, "_sync", lambda fd: order.append(("sync", os.fstat(fd).st_size)))
    ledger = Ledger(path, Pure(1), data="d")
    size = path.stat().st_size
    ledger.spend("new", TENTH, lambda: order.append(("ran", path.stat().st_size)))
    assert [what for what, _ in order] == ["sync", "ran", "sync"]
    assert size < order[0][1] == order[1][1] < order[2][1] == path.stat().st_size
    assert issubclass(BudgetExceeded, fugu.errors.BudgetRefused)


def test_there_is_one_file_and_it_is_for_its_owner_alone(tmp_path, monkeypatch):
    """Under whatever name; a name that SQLite takes for a URI or for memory is refused, and nothing is made."""
    monkeypatch.chdir(tmp_path)
    for name in ("l.db", "file", "a b?mode=ro", "%41.db", "x:y"):
        with Ledger(name, Pure(1), data="d") as ledger:
            ledger.spend("q", TENTH, lambda: 1)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    before = sorted(os.listdir())
    assert len(before) == 10 and all(stat.S_IMODE(Path(name).stat().st_mode) == 0o600 for name in before)
    for name in ("file:m.db", "file:m.db?mode=memory", "file:///tmp/x.db", ":memory:"):
        with pytest.raises(BadLedger, match="URI"):
            Ledger(name, Pure(1))
    for name in ("/dev/null", "/dev/zero", "."):
        with pytest.raises(BadLedger, match="device"):
            Ledger(name, Pure(1))
    assert sorted(os.listdir()) == before


def test_an_emptied_ledger_is_no_new_one(path, kept):
    """0 bytes where a ledger was, or where somebody made a file beforehand: nothing is granted, and it says why."""
    alive = Ledger(path, Pure(1), data="d")
    path.write_bytes(b"")
    for again in (lambda: Ledger(path, Pure(1), data="d"), alive.spent, lambda: check(path)):
        with pytest.raises(LedgerBroken, match=r"is empty.*truncated.*delete the file"):
            again()
    with pytest.raises(LedgerBroken, match="is empty"):
        alive.spend("new", TENTH, lambda: pytest.fail("must not run"))
    assert path.read_bytes() == b""
    path.unlink()
    Ledger(path, Pure(1), data="other").close()
    assert check(path)


def test_a_ledger_takes_its_name_when_it_is_whole(path, monkeypatch):
    """Whoever dies while it is made leaves nothing; whoever comes second takes the first one's."""
    seen, placed = [], file.place_new

    def dying(target, content):
        seen.append(sorted(p.name for p in path.parent.iterdir()))
        raise KeyboardInterrupt

    monkeypatch.setattr(file, "place_new", dying)
    with pytest.raises(KeyboardInterrupt):
        Ledger(path, Pure(1), data="d")
    assert seen == [["ledger.db.key"]] and not path.exists()

    def late(target, content):
        monkeypatch.setattr(file, "place_new", placed)
        Ledger(path, Pure(1), data="d").spend("first", TENTH, lambda: 1)
        placed(target, content)

    monkeypatch.setattr(file, "place_new", late)
    assert Ledger(path, Pure(1), data="d").spent() == Pure(0.1)


def test_a_read_only_copy_can_be_audited():
    """Mode 0444 in a folder of mode 0555, by somebody without rights: show, verify, export, spent, stored values."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path, old = Path(folder) / "ledger.db", Path(folder) / "old.db"
        with Ledger(path, Pure(1), data="d") as ledger:
            ledger.spend("old", TENTH, lambda: 17)
            head = ledger.verify()
        old_head = make_old(path, old)
        for file in (path, old):
            file.chmod(0o444)
        Path(folder).chmod(0o555)
        before = {p.name: p.read_bytes() for p in Path(folder).iterdir()}
        child = os.fork()
        if not child:
            code = 1
            with suppress(BaseException):
                if os.geteuid() == 0:
                    os.seteuid(65534)
                for file, known in ((path, head), (old, old_head)):
                    assert Books(file).read(books.verify, known) == known
                    assert [e.request for e in Books(file).read(books.history)] == ["old"]
                    assert Books(file).read(books.export)["head"] == known
                    with Ledger(file, Pure(1), data="d", head=known) as ledger:
                        assert ledger.spent() == Pure(0.1) and ledger.verify() == known
                        assert ledger.spend("old", TENTH, lambda: os._exit(2)) == 17
                code = 0
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert {p.name: p.read_bytes() for p in Path(folder).iterdir()} == before
        Path(folder).chmod(0o755)
