"""An exception between any two instructions: nothing is understated, doubled, unreadable or left locked.

A keyboard interrupt, or the soft time limit of a worker that lives on, may be raised anywhere. A trace raises it at the
k-th instruction of a charge, a look, a registration; the same object is used again, and a fresh one, while the
exception and all its frames are alive, so nothing is cleaned up by chance."""

from __future__ import annotations

import random
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from fugu.errors import BudgetRefused, LedgerBroken, LedgerBusy
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger, file, log
from fugu.ledger.events import State
from hunting import search
from ledger_files import hashed, in_memory, records, sha

ROOM = str(Path(log.__file__).parent)
BUDGET, TENTH = Pure(1), Charge.per_entry(0.1)
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),  # struck between opening and keeping it
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def key(tmp_path_factory, monkeypatch):
    """One key for all copies of a ledger."""
    monkeypatch.setenv("FUGU_LEDGER_KEY", str(tmp_path_factory.mktemp("keys") / "key"))


class Interrupted(BaseException):
    """What a signal handler raises."""


def interrupted(work, at=0):
    """Run it, and raise at the `at`-th event: every instruction of the ledger's own files, every line of what they
    call. The exception, where it struck, and the names of the functions that were passed, event by event."""
    alive, where, names = None, None, []

    def trace(frame, event, _):
        nonlocal where
        if event == "call":
            frame.f_trace_opcodes = frame.f_code.co_filename.startswith(ROOM)
        elif event == ("opcode" if frame.f_trace_opcodes else "line"):
            names.append(frame.f_code.co_name)
            if len(names) == at:
                where = (frame.f_code.co_filename, frame.f_lineno)
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        work()
    except Interrupted as error:
        alive = error  # with every frame that it went through
    finally:
        sys.settrace(None)
    return alive, where, names


class World:
    """A ledger in which `a` was settled by an object that lives on, and `b` by another behind its back."""

    def __init__(self, folder):
        self.path = folder / "l.db"
        if not (folder / "made.db").exists():
            with Ledger(folder / "made.db", BUDGET, data="d") as made:
                made.spend("a", TENTH, lambda: 1)
            if (key := folder / "made.db.key").exists():  # in a hunt, where no variable says where it is
                for copy in ("more.db", "l.db"):
                    shutil.copy(key, folder / f"{copy}.key")
            shutil.copy(folder / "made.db", folder / "more.db")
            with Ledger(folder / "more.db", BUDGET, data="d") as more:
                more.spend("b", TENTH, lambda: 2)
        shutil.copyfile(folder / "made.db", self.path)
        self.ledger = Ledger(self.path, BUDGET, data="d", timeout=1)
        shutil.copyfile(folder / "more.db", self.path)
        self.draws = 0

    def draw(self):
        self.draws += 1
        return 100 + self.draws

    def check(self):
        """By the object that was interrupted, and by a fresh one; the file is read by hand."""
        charged = [e["body"]["request"] for e in records(self.path) if e["kind"] == "reserved"]
        assert len(set(charged)) == len(charged)
        fresh = Ledger(self.path, BUDGET, data="d", timeout=1)
        for ledger in (self.ledger, fresh):
            assert ledger.spent() == Pure(Fraction(len(charged), 10)), "understated"
        value = self.ledger.spend("q", TENTH, self.draw)
        assert fresh.spend("q", TENTH, self.draw) == value == self.ledger.spend("q", TENTH, self.draw)
        stored = [e for e in records(self.path) if e["kind"] == "settled" and e["body"]["request"] == "q"]
        assert [e["attached"] for e in stored] == [str(value)]
        for ledger in (self.ledger, fresh, Ledger(self.path, BUDGET, data="d")):
            assert ledger.spend("b", TENTH, self.draw) == 2 and ledger.verify()
            assert {e.request for e in ledger.history()} >= {"a", "b", "q"}
            total = Pure(Fraction(len(ledger.history()), 10))
            assert ledger.spent() == total


OPERATIONS = {
    "a charge": lambda world: world.ledger.spend("q", TENTH, world.draw),
    "a look": lambda world: world.ledger.spent(),
    "a retry": lambda world: world.ledger.spend("b", TENTH, world.draw),
    "an opening": lambda world: Ledger(world.path, BUDGET, data="d"),
    "a registration": lambda world: Ledger(world.path, BUDGET, data="e"),
    "a check": lambda world: world.ledger.verify(),
}


def strike(folder, what, at):
    """One interrupt; whether there was an instruction to strike at."""
    world = World(folder)
    alive, where, _ = interrupted(lambda: OPERATIONS[what](world), at)
    if where is not None:
        try:
            world.check()
        except BaseException as error:
            error.add_note(f"{what}, interrupted at instruction {at}, {where}")
            raise
    del alive
    return where is not None


def places(folder, what, *functions):
    """The instructions of an operation, by number; all, or those of some functions."""
    world = World(folder)
    names = interrupted(lambda: OPERATIONS[what](world))[2]
    return [k for k, name in enumerate(names, start=1) if not functions or name in functions]


def strike_all(folder, what, function):
    for place in places(folder, what, function):
        strike(folder, what, place)


@pytest.mark.parametrize("what", OPERATIONS)
def test_an_interrupt_anywhere_leaves_the_books_right(what):
    """Sixty places of thousands; `make hunt` takes all of them."""
    with in_memory() as folder:
        for place in random.Random(what).sample(places(folder, what), 60):
            assert any(
                strike(folder, what, place) for _ in range(3)
            )  # once, on a busy machine, a charge took a shorter way
    assert every_instruction(what, 7)


@search("a ledger interrupted at any instruction", each=OPERATIONS)
def every_instruction(what, seed):
    with in_memory() as folder:
        return int(strike(folder, what, 1 + seed % len(places(folder, what))))


def test_states_that_are_changed_in_place_are_caught(monkeypatch):
    monkeypatch.setattr(State, "fork", lambda self, *_: self)
    with in_memory() as folder, pytest.raises((AssertionError, LedgerBroken)):
        strike_all(folder, "a look", "read_on")


def test_a_lock_that_is_released_in_one_place_is_caught(monkeypatch):
    def once(work):
        held = file.Held()
        try:
            return work(held)
        finally:
            held.release()

    monkeypatch.setattr("fugu.ledger.file.holding", once)
    with in_memory() as folder, pytest.raises(LedgerBusy, match="holds the ledger"):
        strike_all(folder, "a look", "release")


def test_an_event_of_an_unknown_kind_is_refused_every_time(tmp_path):
    """0.9 were granted on top of a foreign 0.9: the line was marked as read before it was refused."""
    path = tmp_path / "l.db"
    with Ledger(path, BUDGET, data="d") as first:
        first.spend("a", TENTH, lambda: 1)
    ledger = Ledger(path, BUDGET, data="d")
    content, events = path.read_bytes(), records(path)
    head = events[-1]["bytes"][:64].decode()
    text, last = hashed(len(events) + 1, events[-1]["at"], "reserved by somebody else", "{}", head)
    told = f"{len(events) + 1} {last}"
    slot = f"{told} {sha(told)}".encode().ljust(511) + b"\n"
    path.write_bytes(content[:512] + 2 * slot + content[1536:] + f"{last} 0 {text}\n".encode())
    for _ in range(3):
        with pytest.raises(LedgerBroken, match="makes no sense"):
            ledger.spend("new", Charge.per_entry(0.9), lambda: pytest.fail("must not run"))
        with pytest.raises(LedgerBroken, match="makes no sense"):
            Ledger(path, BUDGET, data="d")
    assert path.read_bytes().endswith(f"{last} 0 {text}\n".encode())


def test_real_signals_in_a_process_that_lives_on():
    """A timer strikes at random moments while one object charges, looks and asks again, with threads beside it."""
    rng = random.Random(5)

    def handler(*_):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, handler)
    told: dict[str, set[int]] = {}
    try:
        with in_memory() as folder:
            path, drawn = folder / "l.db", iter(range(10**9))
            ledger = Ledger(path, Pure(1000), data="d", timeout=5)
            stop = threading.Event()

            def beside():
                own = Ledger(path, Pure(1000), data="d", timeout=5)
                while not stop.is_set():
                    own.spend(f"t{next(drawn)}", TENTH, lambda: 0)
                    time.sleep(0.002)

            thread = threading.Thread(target=beside)
            thread.start()
            end, struck = time.monotonic() + 4, 0
            try:
                while time.monotonic() < end:
                    request = f"r{rng.randrange(60)}"
                    with suppress(BudgetRefused):
                        try:
                            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 6e-3))
                            value = ledger.spend(request, TENTH, lambda: next(drawn))
                            signal.setitimer(signal.ITIMER_REAL, 0)
                            told.setdefault(request, set()).add(value)
                            ledger.spent()
                        except Interrupted:
                            struck += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                stop.set()
                thread.join()
            assert struck > 50 and all(len(values) == 1 for values in told.values())
            with Ledger(path, Pure(1000), data="d", timeout=1) as fresh:
                fresh.verify()
                charged = [e["body"]["request"] for e in records(path) if e["kind"] == "reserved"]
                assert len(set(charged)) == len(charged) and set(told) <= set(charged)
                assert fresh.spent() == ledger.spent() == Pure(Fraction(len(charged), 10))
                assert all(fresh.spend(r, TENTH, lambda: -1) in told[r] for r in told)
    finally:
        signal.signal(signal.SIGALRM, before)
