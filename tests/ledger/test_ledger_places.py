"""One ledger under several names, moved, copied and cut short: what it says is never less than what was granted."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from contextlib import contextmanager, suppress
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from unittest import mock

import pytest

from fugu.errors import BadLedger, BudgetRefused, FuguError, LedgerBroken, LedgerBusy
from fugu.guarantee import Pure
from fugu.ledger import Books, Charge, Ledger, books, file, log, store
from hunting import search
from ledger_files import records

TENTH = Charge.per_entry(0.1)
BUDGET = Pure(0.5)
STEPS = ["reserving", "charge written", "charge synced", "reserved", "produce", "evaluated", "settled written",
         "settled synced", "settled"]  # fmt: skip


class Killed(BaseException):
    """The process dies here."""


class Places:
    """A ledger of five tenths with several names; every name that is in use leads to the same file."""

    def __init__(self, folder, rng, kind=Ledger):
        self.folder, self.rng, self.kind = Path(folder), rng, kind
        self.names, self.made, self.draws = [self._new()], 0, 0
        self.out: dict[str, set[int]] = {}
        kind(self.names[0], BUDGET, data="d").close()

    def _new(self):
        place = self.folder / f"{self.rng.randrange(10**9)}"
        place.mkdir()
        return place / "ledger.db"

    def link(self):
        new = self._new()
        os.link(self.rng.choice(self.names), new)
        self.names.append(new)

    def symlink(self):
        new = self._new()
        new.symlink_to(self.names[0])
        if self.names[0].exists():
            self.names.append(new)

    def move(self):
        """The file alone goes elsewhere, and other files that were beside it stay; and perhaps it comes back."""
        old = self.rng.choice([n for n in self.names if not n.is_symlink()])
        new = self._new()
        old.rename(new)
        if self.rng.random() < 0.5:
            new.rename(old)
            return
        self.names = [new if n == old else n for n in self.names]
        self.names = [n for n in self.names if n.exists()]

    def spend(self, kill=None, cut=None):
        """Somebody asks, by some name; dies at a step, or in the middle of a write after a share of its bytes."""
        request, path = f"r{self.rng.randrange(7)}", self.rng.choice(self.names)

        def step(name):
            if name == kill:
                raise Killed

        def produce():
            self.draws += 1
            step("produce")
            return self.draws

        put, truncate = log.put, os.ftruncate
        writes = self.rng.randrange(4)

        def dying(fd, start, content):
            nonlocal writes
            writes -= 1
            if writes < 0:
                put(fd, start, content[: int(cut * len(content))])
                os.ftruncate = lambda *_: None  # the dead do not clean up
                raise Killed
            put(fd, start, content)

        try:
            ledger = self.kind(path, BUDGET, data="d")
            ledger._step = step
            if cut is not None:
                log.put = dying
            value = ledger.spend(request, TENTH, produce)
            self.out.setdefault(request, set()).add(value)
        finally:
            log.put, os.ftruncate = put, truncate

    def check(self):
        """By every name, and in a copy of the file alone: a sound chain, and at least what was granted."""
        granted = Fraction(len(self.out), 10)
        assert granted <= Fraction(1, 2), "overspent"
        assert all(len(values) == 1 for values in self.out.values()), "one id, two values"
        alone = self._new()
        for path in (*self.names, alone):
            if path is alone:
                shutil.copyfile(self.names[0], alone)
            Books(path).read(books.verify)
            with self.kind(path, BUDGET, data="d") as ledger:
                spent = Fraction(ledger.spent().epsilon).limit_denominator(10)
                assert granted <= spent <= Fraction(1, 2), "what it says is less than what was granted"
                for request, (value,) in self.out.items():
                    assert ledger.spend(request, TENTH, lambda: 0) == value, "a release was lost"
        shutil.rmtree(alone.parent)


def schedule(folder, seed, kind=Ledger):
    """One random schedule of requests, deaths, names, moves and copies."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        world = Places(own, rng, kind)
        for _ in range(rng.randint(3, 10)):
            what = rng.random()
            if what < 0.12:
                world.link()
            elif what < 0.2:
                world.symlink()
            elif what < 0.35:
                world.move()
            else:
                with suppress(Killed, BudgetRefused):
                    world.spend(
                        kill=rng.choice([*STEPS, None, None, None]),
                        cut=rng.choice([None, None, None, 0, 0.3, 0.99, 1, rng.random()]),
                    )
            world.check()


@contextmanager
def in_memory():
    """A folder, and one key for every name of a ledger in it: the file moves alone, its key stays where it is."""
    memory = Path("/dev/shm")
    place = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
    with place as folder, mock.patch.dict(os.environ, FUGU_LEDGER_KEY=str(Path(folder) / "key")):
        yield folder


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """The same for the other tests: what becomes of a ledger without its key is in test_ledger_key.py."""
    monkeypatch.setenv("FUGU_LEDGER_KEY", str(tmp_path_factory.mktemp("keys") / "key"))


@search("one ledger under several names, moved, copied and cut short", quick=30)
def test_random_schedules_of_names_moves_copies_and_deaths(seed):
    with in_memory() as folder:
        schedule(folder, seed)


class Late(Ledger):
    """Wrong on purpose, as a write-ahead log is: charges lie beside the file until it is closed."""

    def __init__(self, path, *args, **more):
        self._own = Path(path)
        beside = self._own.with_name(self._own.name + "-wal")
        if self._own.exists() and not beside.exists():
            shutil.copyfile(self._own, beside)
        super().__init__(beside, *args, **more)
        if not self._own.exists():
            shutil.copyfile(beside, self._own)


class SlotFirst(Ledger):
    """Wrong on purpose: says that an event is there before it is."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self._file.write = self._write_slot_first

    def _write_slot_first(self, work, step=lambda _: None):
        def slot_first(to):
            result = work(to)
            if to._new is not None:
                seq = to.log.seq + 1
                log.put(to._medium.fd, to.log.base + seq % 2 * log.BLOCK, log.slot(seq, to._new[1]))
            return result

        return store.Books.write(self._file, slot_first, step)


@pytest.mark.parametrize("kind", [Late, SlotFirst])
def test_the_schedules_catch_wrong_ledgers(kind):
    caught = 0
    for seed in range(60):
        try:
            with in_memory() as folder:
                schedule(folder, seed, kind)
        except (AssertionError, FuguError):
            caught += 1
    assert caught > 5


def states_of(path, requests=3):
    """The bytes of a ledger after each commit, and what it then says."""
    found = []
    ledger = Ledger(path, BUDGET, data="d")
    commit = store.Writing.commit

    def seen(self, step):
        if self._new is not None:
            found.append(path.read_bytes())
        commit(self, step)

    store.Writing.commit = seen
    try:
        for k in range(requests):
            ledger.spend(f"{k}", TENTH, lambda k=k: f"value {k} " * 30)
    finally:
        store.Writing.commit = commit
    return [*found, path.read_bytes()]


def told(path):
    with Ledger(path, BUDGET, data="d") as ledger:
        return ledger.spent(), [(e.request, e.state) for e in ledger.history()], ledger.verify()


def test_a_write_cut_short_at_every_byte_is_the_state_before_or_after(tmp_path):
    """Every prefix of every write, also with garbage behind it, in the file alone; and a slot cut at every byte."""
    states = states_of(tmp_path / "l.db")
    assert len(states) == 7
    for k, (before, after) in enumerate(pairwise(states)):
        said = []
        for state in (before, after):
            (tmp_path / "s.db").write_bytes(state)
            said.append(told(tmp_path / "s.db"))
        new, copy = after[len(before) :], tmp_path / "alone.db"
        assert after[:512] == before[:512] and after[1536 : len(before)] == before[1536:]
        for cut in {*range(0, len(new), 3 if k < 2 else 29), len(new)}:
            for behind in (b"", bytes(40), b"\xff\n" * 9)[: 3 if k < 1 else 1]:
                copy.write_bytes(before + new[:cut] + behind)
                assert told(copy) == said[1 if cut == len(new) else 0], cut
        for cut in range(0, 1024, 37):
            copy.write_bytes(before[:512] + after[512 : 512 + cut] + before[512 + cut : 1536] + after[1536:])
            assert told(copy) == said[1]


def test_the_next_charge_follows_a_write_that_was_cut_short(tmp_path):
    states = states_of(tmp_path / "l.db")
    before, after = states[2], states[3]
    for cut in (1, 70, len(after) - len(before) - 1):
        path = tmp_path / f"{cut}.db"
        path.write_bytes(before + after[len(before) : len(before) + cut])
        with Ledger(path, BUDGET, data="d") as ledger:
            assert ledger.spend("next", TENTH, lambda: 9) == 9 and ledger.spent() == Pure(0.2)
        assert [e["kind"] for e in records(path)] == ["open", "register", "reserved", "settled", "reserved", "settled"]


def test_a_crash_while_a_ledger_is_made_is_no_ledger_yet(tmp_path):
    Ledger(tmp_path / "l.db", BUDGET, data="d").close()
    event = records(tmp_path / "l.db")[0]["bytes"]
    first = 2 * log.slot(1, event[:64].decode()) + event
    for cut in range(2, len(first) + 1, 61):
        path = tmp_path / "new.db"
        path.write_bytes(bytes(512) + first[:cut])
        with Ledger(path, BUDGET, data="d") as ledger:
            assert ledger.spend("q", TENTH, lambda: 1) == 1 and ledger.verify()
        path.unlink()


def greedy(path, name, queue):
    """A process that asks for more than the whole budget by its own name of the file."""
    ledger, done = Ledger(path, Pure(1), data="d", timeout=120), 0
    for k in range(30):
        with suppress(BudgetRefused):
            ledger.spend(f"{name} {k}", Charge.per_entry(0.05), os.getpid)
            done += 1
    queue.put(done)


def race(paths):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=greedy, args=(path, k, queue)) for k, path in enumerate(paths)]
    for child in children:
        child.start()
    done = sum(queue.get(timeout=240) for _ in children)
    for child in children:
        child.join()
    return done


def several(tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    paths = [tmp_path / "a" / "l.db", tmp_path / "b" / "hard.db", tmp_path / "c" / "soft.db"]
    Ledger(paths[0], Pure(1), data="d").close()
    os.link(paths[0], paths[1])
    paths[2].symlink_to(paths[1])
    return paths


def test_two_live_names_never_grant_more_than_the_budget(tmp_path):
    paths = several(tmp_path)
    assert race(paths) == 20
    heads = {Ledger(path, Pure(1), data="d").verify() for path in paths}
    assert len(heads) == 1 and Ledger(paths[1], Pure(1), data="d").spent() == Pure(1)
    assert sorted(os.listdir(tmp_path / "b")) == ["hard.db"]


def busy(paths):
    """Whether whoever comes by another name waits while the first one writes."""

    def others(_):
        for path in paths[1:]:
            try:
                Ledger(path, Pure(1), data="d", timeout=0.01)
            except LedgerBusy:
                continue
            return False
        return True

    return Ledger(paths[0], Pure(1), data="d")._file.write(others)


def test_the_lock_is_that_of_the_file_and_not_of_a_name(tmp_path, monkeypatch):
    paths = several(tmp_path)
    assert busy(paths)
    held = set()

    def by_name(self, *_, **__):  # wrong on purpose, as a lock file beside the ledger would be
        name = os.readlink(f"/proc/self/fd/{self._file.fileno()}")
        return name not in held and not held.add(name)

    def given_back(self):
        if self.opened:
            held.discard(os.readlink(f"/proc/self/fd/{self._file.fileno()}"))
        release(self)

    release = file.Held.release
    monkeypatch.setattr(file.Held, "take_whole", by_name)
    monkeypatch.setattr(file.Held, "release", given_back)
    assert not busy(paths)


def test_a_file_mounted_into_another_folder_shares_the_budget(tmp_path):
    """As a single file mounted into a container is; in a mount namespace of its own, where that is allowed."""
    path, other = tmp_path / "l.db", tmp_path / "inside"
    other.mkdir()
    (other / "mounted.db").touch()
    Ledger(path, Pure(1), data="d").close()
    code = f"""
        import os, subprocess, sys
        from fugu.errors import BudgetRefused
        from fugu.guarantee import Pure
        from fugu.ledger import Charge, Ledger
        done, ledger = 0, Ledger({str(other / "mounted.db")!r}, Pure(1), data="d", timeout=120)
        print("ready", flush=True)
        for k in range(30):
            try:
                ledger.spend(f"inside {{k}}", Charge.per_entry(0.05), int)
                done += 1
            except BudgetRefused:
                pass
        print(done)
    """
    script = tmp_path / "inside.py"
    script.write_text(textwrap.dedent(code))
    command = f'mount --bind "{path}" "{other / "mounted.db"}" && exec "{sys.executable}" "{script}"'
    with suppress(FileNotFoundError):
        child = subprocess.Popen(["unshare", "-m", "sh", "-c", command], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)  # fmt: skip
        with child:
            if child.stdout.readline() == "ready\n":
                context = multiprocessing.get_context("fork")
                queue = context.Queue()
                greedy(path, "outside", queue)
                total = queue.get(timeout=60) + int(child.stdout.read())
                assert total == 20 and Ledger(path, Pure(1), data="d").spent() == Pure(1)
                assert (other / "mounted.db").stat().st_size == 0
                return
    pytest.skip("mounting is not allowed here")


def test_a_ledger_in_use_notices_that_its_file_was_replaced_or_removed(tmp_path):
    path, copy = tmp_path / "l.db", tmp_path / "copy.db"
    ledger = Ledger(path, BUDGET, data="d")
    ledger.spend("a", TENTH, lambda: 1)
    shutil.copy(path, copy)
    ledger.spend("b", TENTH, lambda: 2)
    copy.rename(path)
    with pytest.raises(LedgerBroken, match="rolled back"):
        ledger.spend("c", TENTH, lambda: pytest.fail("must not run"))
    path.unlink()
    with pytest.raises(BadLedger, match="no ledger file"):
        ledger.spend("c", TENTH, lambda: pytest.fail("must not run"))
    assert not path.exists()


def test_a_charge_goes_into_the_file_that_has_the_name_when_its_turn_comes(tmp_path):
    """Somebody replaces the file while a charge waits for the lock: the old file, without a name, must not take it."""
    path, copy = tmp_path / "l.db", tmp_path / "copy.db"
    ledger, done = Ledger(path, BUDGET, data="d"), []
    looked, locked = threading.Event(), threading.Event()
    ledger._step = lambda name: name == "reserving" and (looked.set(), locked.wait(30))
    thread = threading.Thread(target=lambda: done.append(ledger.spend("q", TENTH, lambda: 7)))
    thread.start()
    assert looked.wait(30)

    def replace_it(_):
        locked.set()
        time.sleep(0.2)
        shutil.copy(path, copy)
        copy.rename(path)

    Ledger(path, BUDGET, data="d")._file.write(replace_it)
    thread.join()
    assert done == [7] and Ledger(path, BUDGET, data="d").spent() == Pure(0.1)


def test_without_the_driver_the_extra_is_named(tmp_path):
    code = (
        "import sys\nsys.modules['psycopg'] = None\nimport fugu\n"
        "try:\n    fugu.Ledger('postgresql://h/d', fugu.Pure(1))\nexcept fugu.errors.MissingExtra as e:\n    print(e)\n"
        f"fugu.Ledger({str(tmp_path / 'l.db')!r}, fugu.Pure(1)).spent()\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fugu-privacy[postgres]" in told.stdout


def test_a_file_needs_no_driver(tmp_path):
    where = str(tmp_path / "l.db")
    code = f"import sys, fugu\nfugu.Ledger({where!r}, fugu.Pure(1)).spent()\nprint('psycopg' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    assert told.stdout.strip() == "False"
