"""Kill points: processes die at every step, in random schedules; nothing is overspent, uncharged, doubled or wasted."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from fractions import Fraction

import pytest

import fugu
from fugu.errors import BudgetRefused
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger
from fugu.ledger.events import CHARGED
from fugu.ledger.values import encode
from hunting import search
from ledger_files import in_memory

STEPS = ["reserving", "charge written", "charge synced", "reserved", "produce", "evaluated", "settled written",
         "settled synced", "settled"]  # fmt: skip
TENTH = Charge.per_entry(0.1)
HOW_MANY = 5


class Killed(BaseException):
    """The process dies here."""


class World:
    """A ledger of five tenths, and all that ever left a process."""

    def __init__(self, path, kind=Ledger):
        self.path, self.kind, self.draws = path, kind, 0
        self.out: dict[str, set[int]] = {}
        self.uncharged = 0
        self.watch = Ledger(path, Pure(0.5), data="d")

    def open(self):
        return self.kind(self.path, Pure(0.5), data="d")

    def run(self, request, kill=None, ledger=None, die=None):
        """One process asks once; it dies at step `kill`. What it gets is what left it."""
        ledger = ledger or self.open()

        def step(name):
            if name == kill:
                die() if die else self.throw()

        def produce():
            self.draws += 1
            states = {e.request: e.state for e in self.watch.history()}
            self.uncharged += states.get(request) not in ("reserved", "failed")
            step("produce")
            return self.draws

        ledger._step = step
        try:
            value = ledger.spend(request, TENTH, produce)
        finally:
            ledger.close()
        self.out.setdefault(request, set()).add(value)
        return value

    @staticmethod
    def throw():
        raise Killed

    def check(self):
        """The four zeros of the promise."""
        spent = Fraction(self.watch.spent().epsilon).limit_denominator(10)
        assert spent <= Fraction(1, 2), "overspent"
        charged = {e.request for e in self.watch.history() if e.state in CHARGED}
        assert not self.uncharged and set(self.out) <= charged, "a release without a charge"
        assert all(len(values) == 1 for values in self.out.values()), "one id, two values"
        for request in charged:  # a charge whose process died is still good for its request
            self.run(request)
        assert Fraction(self.watch.spent().epsilon).limit_denominator(10) == Fraction(len(charged), 10), "wasted"
        assert {e.request for e in self.watch.history() if e.state == "settled"} == charged
        assert all(len(values) == 1 for values in self.out.values()), "one id, two values"
        self.watch.verify()
        self.watch.close()


def schedule(world, seed):
    """Random ids, random deaths."""
    rng = random.Random(seed)
    for _ in range(rng.randint(3, 9)):
        with suppress(Killed, BudgetRefused):
            world.run(f"r{rng.randint(0, HOW_MANY + 2)}", rng.choice([*STEPS, None, None]))
    world.check()


@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_every_step_by_exception(place, step):
    world = World(place("l"))
    with pytest.raises(Killed):
        world.run("q", step)
    before = world.watch.spent()
    assert before == (Pure(0) if step in STEPS[:2] else Pure(0.1))
    world.check()


@pytest.mark.parametrize("step", STEPS)
def test_a_real_death_at_every_step(place, step):
    """A child process leaves by os._exit at the step: no clean-up, no rollback, locks dropped by the system."""
    world = World(place("l"))
    world.watch.close()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            world.run("q", step, die=lambda: os._exit(9))
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    states = [e.state for e in world.watch.history()]
    assert states == ([] if step in STEPS[:2] else ["settled"] if step in STEPS[-2:] else ["reserved"])
    assert world.run("q") == world.run("q")
    world.check()


@pytest.fixture
def quick():
    with in_memory() as folder:
        yield folder


def schedules(folder, seeds, kind=Ledger):
    for seed in seeds:
        schedule(World(folder / f"{seed}.db", kind), seed)
        for left in folder.glob(f"{seed}.db*"):
            left.unlink()


@search("random deaths while a ledger is charged", quick=100)
def test_random_schedules(seed):
    with in_memory() as folder:
        schedules(folder, [seed])


class Hasty(Ledger):
    """Wrong on purpose: evaluates and hands out before the charge is on disk."""

    def spend(self, request, mechanism, produce, **more):
        value = produce()
        super().spend(request, mechanism, lambda: value, **more)
        return value


class Forgetful(Ledger):
    """Wrong on purpose: does not store the value, so a retry evaluates again."""

    def _finish(self, request, state, value, note=""):
        return value


class Greedy(Ledger):
    """Wrong on purpose: a retry after a crash is charged under a new id."""

    def spend(self, request, mechanism, produce, **more):
        new = f"{request} {os.urandom(4).hex()}"
        return super().spend(new, mechanism, produce, **more)


@pytest.mark.parametrize("kind", [Hasty, Forgetful, Greedy])
def test_the_schedules_catch_wrong_ledgers(quick, kind):
    with pytest.raises(AssertionError):
        schedules(quick, range(40), kind)


def test_a_value_that_could_not_be_stored_is_stored_by_the_retry_and_not_drawn_again(place):
    """A law-based mechanism releases once: a full disk at the last step must not waste its charge."""
    pair = fugu.LawPair(fugu.Discrete([0, 1], [9, 1]), fugu.Discrete([0, 1], [1, 9]))
    mechanism = fugu.calibrate(pair, Pure(0.5))
    ledger = Ledger(place("l"), Pure(1))
    drawn = []

    def produce():
        drawn.append(mechanism.release(1))
        return drawn[-1]

    def fail(name):
        if name == "settled written":
            raise Killed

    ledger._step = fail
    with pytest.raises(Killed):
        ledger.spend("q", mechanism, produce)
    ledger._step = lambda _: None
    assert ledger.spend("q", mechanism, produce).value == drawn[0].value and len(drawn) == 1
    assert encode(drawn[0]) == encode(ledger.spend("q", mechanism, produce))


def test_kills_from_outside_at_any_moment(place, tmp_path):
    """Children ask for the same ids and are killed by SIGKILL after a random time; what they got is in a file."""
    path, told, rng = place("l"), tmp_path / "told", random.Random(7)
    for trial in range(40):
        child = os.fork()
        if not child:
            with suppress(BaseException), told.open("ab", buffering=0) as out:
                ledger = Ledger(path, Pure(0.5), data="d")
                for k in range(8):
                    with suppress(BudgetRefused):
                        value = ledger.spend(f"{(k + trial) % 8}", TENTH, os.getpid)
                        out.write(f"{(k + trial) % 8} {value}\n".encode())
            os._exit(0)
        if trial != 20:  # one is left alone
            time.sleep(rng.uniform(0.001, 0.06))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with Ledger(path, Pure(0.5), data="d") as ledger:
        ledger.verify()
        charged = [e.request for e in ledger.history() if e.state in CHARGED]
        assert 0 < len(charged) <= HOW_MANY and ledger.spent() == Pure(Fraction(len(charged), 10))
        seen = {tuple(line.split()) for line in told.read_text().splitlines()}
        stored = {(request, str(ledger.spend(request, TENTH, lambda: 0))) for request in charged}
        assert seen <= stored
