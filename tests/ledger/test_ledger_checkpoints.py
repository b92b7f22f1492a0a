"""Checkpoints: after millions of charges a ledger opens and charges as after few, and every edit that could matter is
noticed at once."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from dataclasses import fields
from fractions import Fraction

import pytest
from test_ledger_interrupts import in_memory

from fugu.errors import BadLedger, FuguError, LedgerBroken
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, books, log, store
from fugu.ledger import events as checkpoint
from fugu.ledger.events import Registered, State
from hunting import search
from ledger_files import BLOCK, base_of, records

TENTH = Charge.per_entry(0.1)


@pytest.fixture
def often(monkeypatch):
    """A checkpoint after every six events; tables are merged after a few."""
    small(monkeypatch)


def small(monkeypatch, every=6):
    monkeypatch.setattr(checkpoint, "EVERY", every)
    monkeypatch.setattr(checkpoint, "due", lambda events, _size, _weight: events >= checkpoint.EVERY)
    monkeypatch.setattr(checkpoint, "_TIERS", (8, 30))


def filled(path, many, budget=10**6):
    with Ledger(path, Pure(budget), data="d") as ledger:
        for k in range(many):
            ledger.spend(f"{k}", TENTH, lambda k=k: k)
    return path


def kinds(path):
    return [e["kind"] for e in records_with_tables(path)]


def records_with_tables(path):
    """Like `records`, but what is attached may be bytes."""
    content = path.read_bytes()
    place, found = base_of(content) + 2 * BLOCK, []
    while place < len(content):
        end = content.index(b"\n", place) + 1
        _, length, text = content[place:end].rstrip(b"\n").split(b" ", 2)
        after = end + (int(length) + 1 if int(length) else 0)
        _, at, kind, body, _ = json.loads(text)
        found.append({"kind": kind, "body": json.loads(body), "attached": content[end : after - 1], "at": at,
                      "bytes": content[place:after], "place": place})  # fmt: skip
        place = after
    return found


def forge(path, change):
    """All hashes written anew, and the slots too: what somebody who knows the format can do."""
    content, events = path.read_bytes(), records_with_tables(path)
    change(events)
    parts, previous, place, last = [], "0" * 64, base_of(content) + 2 * BLOCK, 0
    for seq, event in enumerate(events, start=1):
        body = json.dumps(event["body"], sort_keys=True, separators=(",", ":"))
        bytes_, previous = log.record(seq, previous, event["kind"], body, event["attached"], event["at"])
        last = place if event["kind"] == "checkpoint" else last
        place += len(bytes_)
        parts.append(bytes_)
    path.write_bytes(content[: base_of(content)] + 2 * log.slot(len(events), previous, last) + b"".join(parts))


def test_a_ledger_with_checkpoints_says_the_same(tmp_path, often):
    """Every request, value, sum and the order of the history; by the object that wrote it and by others."""
    path = filled(tmp_path / "l.db", 60)
    assert kinds(path).count("checkpoint") > 15
    assert max(e["body"]["merged"] for e in records_with_tables(path) if e["kind"] == "checkpoint") >= 7
    with Ledger(path, Pure(10**6), data="d") as ledger:
        assert ledger.spent() == Pure(6) and ledger.verify()
        assert [ledger.spend(f"{k}", TENTH, lambda: pytest.fail("must not run")) for k in range(60)] == [*range(60)]
        assert [e.request for e in ledger.history()] == [f"{k}" for k in range(60)]
        assert ledger.charge_of("3") == TENTH and ledger.charge_of("60") is None
        assert len(ledger._file._known.state.asked) <= 6 and ledger._file._known.first > 100
        event = Books(path).read(books.settled, "d", "3")
        assert event.hash in {e["bytes"][:64].decode() for e in records_with_tables(path)} and event.kind == "settled"


def test_a_request_that_stays_open_across_checkpoints_is_taken_up(tmp_path, often):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(10**6), data="d") as ledger, pytest.raises(ZeroDivisionError):
        ledger.spend("open", TENTH, lambda: 1 / 0)
    filled(path, 30)
    with Ledger(path, Pure(10**6), data="d") as ledger:
        assert ledger.spend("open", TENTH, lambda: 7) == 7
    filled(path, 60)
    with Ledger(path, Pure(10**6), data="d") as ledger:
        assert ledger.spend("open", TENTH, lambda: 8) == 7 and ledger.verify()
        assert ledger.spent() == Pure(Fraction(61, 10))


def test_a_file_of_version_0_3_gets_its_first_checkpoint_and_keeps_its_heads(tmp_path, monkeypatch):
    path = filled(tmp_path / "l.db", 40)
    path.write_bytes(path.read_bytes().replace(b"fugu ledger 5\n", b"fugu ledger 3\n", 1))
    with Ledger(path, Pure(10**6), data="d") as ledger:
        head = ledger.verify()
        assert path.read_bytes().startswith(b"fugu ledger 3\n") and "checkpoint" not in kinds(path)
        small(monkeypatch)
        ledger.spend("new", TENTH, lambda: 1)
        assert path.read_bytes().startswith(b"fugu ledger 4\n"), "0.3 must not count on what it does not know"
        assert kinds(path)[-3:] == ["checkpoint", "reserved", "settled"] and ledger.verify(head) != head


PARTS = ["state", "page", "directory", "line", "body"]


@pytest.mark.parametrize("part", PARTS)
def test_an_edited_checkpoint_is_noticed_at_once(tmp_path, often, part):
    """By whoever opens the ledger: the state and the line by the first look, a page by whoever needs it."""
    path = filled(tmp_path / "l.db", 60)
    last = [e for e in records_with_tables(path) if e["kind"] == "checkpoint"][-1]
    start = last["place"] + last["bytes"].index(b"\n") + 1
    length, (count, _) = last["body"]["state"][0], last["body"]["table"]
    place = {"state": start + length // 2, "page": start + length + 20, "directory": start + length + 64 * count + 3,
             "line": last["place"] + 3, "body": last["place"] + 120}[part]  # fmt: skip
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    checkpoint._DIRECTORIES.clear()  # as in a process that has not seen it yet
    with pytest.raises(LedgerBroken):
        Ledger(path, Pure(10**6), data="d").spend("never asked", TENTH, lambda: pytest.fail("must not run"))
    with pytest.raises(LedgerBroken):
        Books(path).read(books.verify)


def test_an_edit_of_old_lines_changes_no_total_and_no_value_and_the_full_check_sees_it(tmp_path, often):
    path = filled(tmp_path / "l.db", 60)
    reserved = [e for e in records_with_tables(path) if e["body"].get("request") == "3"]
    path.write_bytes(path.read_bytes().replace(reserved[0]["bytes"], reserved[0]["bytes"].replace(b"1/10", b"1/99"), 1))
    with Ledger(path, Pure(10**6), data="d") as ledger:
        assert ledger.spent() == Pure(6)
        assert ledger.spend("4", TENTH, lambda: pytest.fail("must not run")) == 4
        with pytest.raises(LedgerBroken, match="not the one that was written"):
            ledger.spend("3", TENTH, lambda: pytest.fail("must not run"))
        with pytest.raises(LedgerBroken):
            ledger.verify()


def cheaper(events):
    last = [e for e in events if e["kind"] == "checkpoint"][-1]
    length = last["body"]["state"][0]
    text = last["attached"][:length].replace(b",60,", b",10,").replace(b",59,", b",10,").replace(b",58,", b",10,")
    assert text != last["attached"][:length]
    _sealed(last, text, last["attached"][length:])


def forgotten(events):
    """A table without one request, so that it would be drawn a second time."""
    last = [e for e in events if e["kind"] == "checkpoint"][-1]
    length, (count, _) = last["body"]["state"][0], last["body"]["table"]
    pages = last["attached"][length : length + 64 * count]
    entries = {pages[k : k + 16]: pages[k : k + 64] for k in range(0, 64 * (count - 1), 64)}
    content, _, root = checkpoint.IndexTable.made(entries, (), None)
    last["body"]["table"] = [count - 1, root]
    _sealed(last, last["attached"][:length], content)


def _sealed(event, text, content):
    event["attached"] = text + content
    event["body"]["state"] = [len(text), hashlib.sha256(text).hexdigest()]
    event["body"]["sha256"] = hashlib.sha256(event["attached"]).hexdigest()


@pytest.mark.parametrize("change", [cheaper, forgotten])
def test_a_forged_checkpoint_with_new_hashes_is_seen_by_the_full_check_and_by_who_saw_the_events(
    tmp_path, often, change
):
    path = filled(tmp_path / "l.db", 60)
    alive = Ledger(path, Pure(10**6), data="d")
    head = alive.verify()
    forge(path, lambda events: None)
    assert Books(path).read(books.verify, head) == head, "the forger writes what fugu writes"
    forge(path, change)
    with pytest.raises(LedgerBroken, match="does not follow"):
        Books(path).read(books.verify)
    with pytest.raises(LedgerBroken):
        alive.spent()


def test_a_full_check_without_the_comparison_would_believe_it(tmp_path, often, monkeypatch):
    path = filled(tmp_path / "l.db", 60)
    forge(path, forgotten)
    monkeypatch.setattr(checkpoint, "compare", lambda event, *_: checkpoint.taken(event, _[3])[1])
    assert Books(path).read(books.verify)


def test_a_ledger_cut_anywhere_is_noticed_or_only_lacks_what_was_never_granted(tmp_path, often):
    path = filled(tmp_path / "l.db", 21)
    whole = path.read_bytes()
    for cut in range(0, len(whole), 97):
        path.write_bytes(whole[:cut])
        with pytest.raises((LedgerBroken, BadLedger)):
            Books(path).read(books.verify)
        with pytest.raises((LedgerBroken, BadLedger)):
            Ledger(path, Pure(10**6), data="d").spend("20", TENTH, lambda: pytest.fail("must not run"))


def damaged(seed):
    """One random damage of a ledger with checkpoints: whoever opens it is refused, or gets what is true."""
    rng = random.Random(seed)
    with in_memory() as folder, pytest.MonkeyPatch.context() as patch:
        small(patch)
        path = filled(folder / "l.db", 25)
        raw = bytearray(path.read_bytes())
        start = rng.randrange(len(raw))
        if rng.random() < 0.5:
            raw[start] ^= 1 << rng.randrange(8)
        elif rng.random() < 0.5:
            raw[start : start + rng.randrange(1, 600)] = b""
        else:
            raw[start : start + 40] = rng.randbytes(40)
        changed = bytes(raw) != path.read_bytes()
        path.write_bytes(raw)
        try:
            with Ledger(path, Pure(10**6), data="d") as ledger:
                assert ledger.spent() == Pure(Fraction(25, 10)), "another total"
                for k in rng.sample(range(25), 5):
                    assert ledger.spend(f"{k}", TENTH, lambda: -1) == k, "another value"
        except FuguError:
            pass
        try:
            Books(path).read(books.verify)
        except FuguError:
            return 1
        slot = base_of(bytes(raw)) <= start < base_of(bytes(raw)) + 2 * BLOCK or start < BLOCK
        assert slot or not changed, "the full check saw nothing"
    return 1


@search("damages of a ledger with checkpoints", quick=40)
def test_no_damage_changes_a_total_or_a_value(seed):
    return damaged(seed)


class Killed(BaseException):
    """The process dies here."""


@pytest.mark.parametrize("cut", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_death_while_a_checkpoint_is_written_loses_nothing(tmp_path, often, monkeypatch, cut):
    path = filled(tmp_path / "l.db", 2)
    put = log.put

    def dying(fd, start, content):
        if b'"checkpoint"' in content[:300]:
            put(fd, start, content[: int(cut * len(content))])
            monkeypatch.setattr(os, "ftruncate", lambda *_: None)
            raise Killed
        put(fd, start, content)

    truncate = os.ftruncate
    monkeypatch.setattr(log, "put", dying)
    with pytest.raises(Killed):
        filled(path, 9)
    monkeypatch.setattr(log, "put", put)
    monkeypatch.setattr(os, "ftruncate", truncate)
    before = len([k for k in kinds_until_cut(path) if k == "reserved"])
    with Ledger(path, Pure(10**6), data="d") as ledger:
        assert ledger.spent() == Pure(Fraction(before, 10))
    filled(path, 9)
    assert Books(path).read(books.verify) and "checkpoint" in kinds(path)


def kinds_until_cut(path):
    found = []
    Books(path).read(lambda view: view.whole(lambda event: found.append(event.kind)))
    return found


def test_tables_find_every_name_and_no_other():
    rng = random.Random(3)
    for count in (0, 1, 2, 63, 64, 65, 200, 1000):
        entries = {}
        for _ in range(count):
            key = rng.randbytes(16)
            entries[key] = checkpoint.ENTRY.pack(key, rng.randrange(1, 1 << 40), rng.randbytes(16), 0, bytes(16))
        content, stated, root = checkpoint.IndexTable.made(entries, (), None)
        assert stated == count
        read = lambda start, length, content=content: (b"#" * 100 + content)[start : start + length]  # noqa: E731
        table = checkpoint.IndexTable(100, count, root)
        assert checkpoint.IndexTable.made({}, [table], read) == (content, count, root)
        assert all(table.find(read, key) == entry for key, entry in entries.items())
        others = [rng.randbytes(16) for _ in range(100)] + [bytes(16), b"\xff" * 16]
        assert all(table.find(read, key) is None for key in others if key not in entries)


def test_few_tables_are_left_after_many_checkpoints():
    counts = []
    for _ in range(4000):
        number = checkpoint.merged(counts, 256)
        counts[len(counts) - number :] = [256 + sum(counts[len(counts) - number :])]
    assert sum(counts) == 1_024_000 and len(counts) < 80


def test_a_charge_and_an_opening_do_not_grow_with_history(tmp_path):
    """At 12,000 requests, with real checkpoints, as at 100: what is held, and what is read."""
    path = tmp_path / "l.db"
    filled(path, 1)
    long_history(path, 12_000)
    with Ledger(path, Pure(10**6), data="d") as ledger:
        ledger.spend("first", TENTH, lambda: 1)
    reads = []
    real = os.pread
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", lambda fd, n, at: reads.append(n) or real(fd, n, at))
        with Ledger(path, Pure(10**6), data="d") as ledger:
            assert ledger.spend("11999", TENTH, lambda: -1) == 0
            ledger.spend("next", TENTH, lambda: 1)
            assert ledger.spent() == Pure(Fraction(12_002, 10)) and len(ledger._file._known.state.asked) < 10
    assert sum(reads) < path.stat().st_size / 10, "the history is read again"


def long_history(path, many):
    """Many settled requests, written by hand behind what there is."""
    events = records(path)
    previous, seq = events[-1]["bytes"][:64].decode(), len(events)
    body = {"dataset": "d", "charge": TENTH.text(), "question": hashlib.sha256(TENTH.text().encode()).hexdigest(),
            "planned": 0, "note": ""}  # fmt: skip
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        for k in range(1, many):
            for kind, more, text in (
                ("reserved", body, ""),
                ("settled", {"sha256": hashlib.sha256(b"0").hexdigest()}, "0"),
            ):
                seq += 1
                told = json.dumps({"dataset": "d", "request": f"{k}", **more}, sort_keys=True, separators=(",", ":"))
                new, previous = log.record(seq, previous, kind, told, text, "2026-01-01T00:00:00.000+00:00")
                file.write(new)
        file.seek(base_of(path.read_bytes()[:2000]))
        file.write(2 * log.slot(seq, previous))


def test_the_old_tests_hold_with_a_checkpoint_after_every_few_events(tmp_path):
    """Deaths, places and processes, in a run of their own in which a checkpoint comes after every three events."""
    (tmp_path / "often.py").write_text(
        "from fugu.ledger import events as checkpoint\n"
        "checkpoint.due = lambda events, _size, _weight: events >= 3\ncheckpoint._TIERS = (8, 30)\n"
    )
    here = os.path.dirname(__file__)
    chosen = "crashes.py::test_a_death", "crashes.py::test_a_real_death", "processes.py", "spend.py"
    files = [f"{here}/test_ledger_{name.partition('::')[0]}" for name in chosen]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "often", "-p", "no:cacheprovider",
         "-k", "(death or fork or threads or spend or one_value) and not apart", *dict.fromkeys(files)],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:]
    assert store.events is checkpoint


def test_a_checkpoint_carries_every_part_of_a_state():
    """A field that is added to the state and forgotten here would be lost at the next checkpoint."""
    held = ("00" * 32, 5, 6)
    told = ("words", "5", (held,), (held, held), ("e",), True, "worth", (("e", ("m",), ("n",)),))
    known = Registered("b", "p", 3, ("m",), ("x", "y"), True, *told)
    state = State(
        sets={"d": known},
        sums={("d", "c"): (4, 2, 1)},
        key=(1, 2),
        commitment="c",
        plain=True,
        chacha=True,
        doubtful={7: "settled"},
    )
    assert {f.name for f in fields(State)} - {"asked", "earlier"} == set(state.to_json())
    assert all(getattr(known, f.name) != f.default for f in fields(Registered))
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state
    assert State.from_json({}) == State()
