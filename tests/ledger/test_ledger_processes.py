"""Many threads and processes at one ledger: never more than the budget, one value for one id, one evaluation."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from fugu.errors import BudgetExceeded, LedgerBusy
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger, file, log, store
from fugu.ledger import ledger as ledger_file
from hunting import search

HUNDREDTH = Charge.per_entry(0.01)
APART = threading.Lock()


def worker(path, name, runs, queue):
    ledger, done = Ledger(path, Pure(1), data="d", timeout=120), 0
    for k in range(runs):
        try:
            ledger.spend(f"{name} {k}", HUNDREDTH, os.getpid)
            done += 1
        except BudgetExceeded:
            continue
    queue.put(done)


def same_id(path, told, queue):
    ledger = Ledger(path, Pure(1), data="d", timeout=60)

    def produce():
        with open(told, "a") as out:
            out.write("x")
        time.sleep(0.05)
        return os.getpid()

    queue.put(ledger.spend("same", HUNDREDTH, produce))


def together(target, arguments):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    children = [context.Process(target=target, args=(*given, queue)) for given in arguments]
    for child in children:
        child.start()
    found = [queue.get(timeout=240) for _ in children]
    for child in children:
        child.join()
    return found


def race(path, processes, runs):
    done = together(worker, [(path, name, runs) for name in range(processes)])
    with Ledger(path, Pure(1), data="d") as ledger:
        assert sum(done) == min(100, processes * runs)
        assert ledger.spent() == Pure(sum(done) / 100)
        states = [e.state for e in ledger.history()]
        assert states.count("settled") == sum(done) and len(states) == processes * runs
        ledger.verify()


def test_four_processes_spend_exactly_the_budget(place):
    race(place("l"), 4, 30)


@search("processes that spend one budget at a time", quick=1)
def test_up_to_eight_processes_of_up_to_a_hundred_runs_spend_exactly_the_budget(rng, tmp_path):
    race(tmp_path / "l.db", int(rng.integers(2, 9)), int(rng.integers(10, 101)))


def test_one_id_in_many_processes_is_one_value_and_one_evaluation(place, tmp_path):
    found = together(same_id, [(place("l"), tmp_path / "ran")] * 5)
    assert len(set(found)) == 1
    assert (tmp_path / "ran").read_text() == "x"


def spend_in_threads(path, threads, alone=False):
    ledger, barrier = Ledger(path, Pure(0.05), data="d"), threading.Barrier(threads)

    def run(k):
        with suppress(BudgetExceeded):
            mine = ledger if k % 2 and not alone else Ledger(path, Pure(0.05), data="d")
            barrier.wait()
            return mine.spend(f"{k}", HUNDREDTH, lambda: k)
        return None

    with ThreadPoolExecutor(threads) as pool:
        return [k for k in pool.map(run, range(threads)) if k is not None]


def test_threads_spend_exactly_the_budget(place):
    assert len(spend_in_threads(place("l"), 12)) == 5


def test_looking_and_charging_apart_overspends_and_the_test_sees_it(tmp_path, monkeypatch):
    """The wrong version that many systems use: no transaction around the look at the budget and the charge."""
    look = ledger_file.Ledger._refusal

    def slow(self, *args):
        found = look(self, *args)
        time.sleep(0.05)
        return found

    monkeypatch.setattr(ledger_file.Ledger, "_refusal", slow)
    assert len(spend_in_threads(tmp_path / "right.db", 8, alone=True)) == 5
    Ledger(tmp_path / "wrong.db", Pure(0.05), data="d").close()
    monkeypatch.setattr(file, "_taken", lambda *_: True)
    monkeypatch.setattr(store.Writing, "commit", _commit_at_the_end)
    assert len(spend_in_threads(tmp_path / "wrong.db", 8, alone=True)) > 5


def _commit_at_the_end(self, step):
    """Behind whatever others have written meanwhile: each charge is there, none was seen by the next."""
    if self._new is not None:
        with APART:
            now = log.opened(self._medium)
            whole = b"".join(self._new[0])
            _, _, text = whole.split(b" ", 2)
            _, _, kind, body, _ = json.loads(text.split(b"\n")[0])
            attached = whole.split(b"\n")[1].decode()
            new, head = log.record(now.seq + 1, now.head, kind, body, attached)
            log.put(self._medium.fd, now.end, new)
            log.put(self._medium.fd, now.base + (now.seq + 1) % 2 * log.BLOCK, log.slot(now.seq + 1, head))


def test_a_request_inside_itself_ends_with_a_clear_error(place):
    ledger = Ledger(place("l"), Pure(1), timeout=0.1)
    with pytest.raises(LedgerBusy, match="same id"):
        ledger.spend("q", HUNDREDTH, lambda: ledger.spend("q", HUNDREDTH, lambda: 1))
    assert ledger.spend("q", HUNDREDTH, lambda: ledger.spend("inner", HUNDREDTH, lambda: 2)) == 2


def test_a_ledger_survives_a_fork(place):
    ledger = Ledger(place("l"), Pure(1))
    ledger.spend("parent", HUNDREDTH, lambda: 1)
    child = os.fork()
    if not child:
        code = 1
        with suppress(BaseException):
            code = 0 if ledger.spend("child", HUNDREDTH, lambda: 2) == 2 else 1
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.spend("child", HUNDREDTH, lambda: 3) == 2 and ledger.verify()


def test_a_check_while_others_write_sees_one_state(place):
    path = place("l")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with Ledger(path, Pure(1), data="d") as ledger:
        child = context.Process(target=worker, args=(path, "w", 100, queue))
        child.start()
        heads = [ledger.verify()]
        while child.is_alive():
            heads.append(ledger.verify(heads[-1]))
            ledger.export()
        child.join()
        assert queue.get(timeout=30) == 100 and len(set(heads)) > 2
