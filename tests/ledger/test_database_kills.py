"""A ledger in a database, cut off: clients, connections and servers die at every step, also between a commit and its
answer; every request is charged and settled once."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

import pytest
from test_ledger_crashes import STEPS, Killed, World
from test_ledger_processes import together

from fugu.errors import BadLedger, BudgetExceeded, LedgerBusy
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: make test-postgres")
from fugu.ledger import connection, database  # noqa: E402

TENTH = Charge.per_entry(0.1)
EVERY = [*STEPS[:2], "charge sent", *STEPS[2:7], "settled sent", *STEPS[7:]]


def kinds(server, url):
    """What is stored, by hand."""
    rows = server.sql(url, "SELECT split_part(convert_from(content, 'UTF8'), ',', 3) FROM fugu.event ORDER BY start")
    return [kind.strip('"') for (kind,) in rows]


def cut(server):
    """Every client of the server loses its connection, whatever it is doing."""
    server.sql("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fugu'")


def once(what):
    """The first call does it; a step that is taken again finds it done."""
    calls = []
    return lambda: calls or calls.append(what())


@pytest.mark.parametrize("step", EVERY)
def test_a_connection_that_breaks_at_a_step_is_made_again(server, step):
    world = World(server.database())
    assert world.run("q", step, die=once(lambda: cut(server))) == world.draws == 1
    assert kinds(server, world.path)[2:] == ["reserved", "settled"]
    world.check()


@pytest.mark.parametrize("step", EVERY)
def test_a_server_that_is_killed_at_a_step_loses_nothing(server, step):
    """It does not come back in time: a clear refusal. Once it is back, the same request ends as it would have: charged
    once, drawn once."""
    url, drawn = server.database(), []
    ledger = Ledger(url, Pure(0.5), data="d", timeout=0.2)
    die = once(lambda: server.stop("immediate"))
    ledger._step = lambda name: die() if name == step else None

    def produce():
        drawn.append(len(drawn))
        ledger._step("produce")
        return drawn[-1]

    said = None
    try:
        ledger.spend("q", TENTH, produce)
    except BadLedger as error:
        said = str(error)
    server.start()
    assert step in EVERY[-2:] or "the same request can be repeated" in said or "with the same id" in said
    assert ledger.spend("q", TENTH, produce) == 0 and drawn == [0]
    assert Ledger(url, Pure(0.5), data="d").spend("q", TENTH, produce) == 0 and drawn == [0]
    assert kinds(server, url)[2:] == ["reserved", "settled"]
    assert ledger.spent() == Pure(0.1) and ledger.verify()


@pytest.mark.parametrize("step", ["charge sent", "settled sent"])
def test_a_server_that_is_killed_and_comes_back_is_waited_for(server, step):
    world = World(server.database())

    def die():
        server.stop("immediate")
        threading.Timer(0.3, server.start).start()

    assert world.run("q", step, die=once(die)) == world.draws == 1
    world.check()


class Wire:
    """Between clients and the server: a COMMIT is passed on and its answer never comes, or it is lost on the way."""

    def __init__(self, server, folder):
        self.server, self.folder, self.losses = server, folder, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.sockets = [self.listener]
        self.listener.bind(str(folder / ".s.PGSQL.1"))
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, url):
        return url.split("?")[0] + f"?host={quote(str(self.folder), safe='')}&port=1"

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                behind = socket.socket(socket.AF_UNIX)
                self.sockets += [client, behind]
                behind.connect(str(self.server.folder / f".s.PGSQL.{self.server.port}"))
                for source, target in ((client, behind), (behind, client)):
                    threading.Thread(target=self._pump, args=(source, target, source is client), daemon=True).start()

    def _pump(self, source, target, outward):
        with suppress(OSError):
            while part := source.recv(1 << 16):
                if outward and part == b"Q\x00\x00\x00\x0bCOMMIT\x00" and self.losses:
                    if self.losses.pop(0) == "answer":
                        source.shutdown(socket.SHUT_RDWR)  # first: the answer finds nobody
                        target.sendall(part)
                        time.sleep(0.05)
                    break
                target.sendall(part)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire(server, tmp_path_factory):
    with tempfile.TemporaryDirectory(prefix="fugu") as folder:
        found = Wire(server, Path(folder))
        yield found
        for end in found.sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@pytest.mark.parametrize("lost", ["answer", "commit"])
@pytest.mark.parametrize("which", ["charge", "settled"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_commit_of_which_no_answer_comes_counts_once(server, wire, lost, which, times):
    """The hard case: the connection is lost between COMMIT and its answer."""
    world = World(wire.url(server.database()))

    def lose():
        wire.losses += [lost] * times

    assert world.run("q", f"{which} sent", die=once(lose)) == world.draws == 1
    assert kinds(server, server.database())[2:] == ["reserved", "settled"]
    world.check()


@pytest.mark.parametrize("lost", ["answer", "commit"])
def test_a_refusal_of_which_no_answer_comes_stands_once(server, wire, lost):
    ledger = Ledger(wire.url(server.database()), Pure(0.5), data="d")
    lose = once(lambda: wire.losses.append(lost))
    ledger._step = lambda name: lose() if name == "charge sent" else None
    with pytest.raises(BudgetExceeded):
        ledger.spend("q", Charge.per_entry(1), lambda: pytest.fail("must not run"))
    assert kinds(server, server.database())[2:] == ["refused"] and not wire.losses


def test_a_commit_that_waits_for_a_standby_is_not_taken_for_stored_when_it_is_cut_off(server):
    """The server has it, the standby not yet: nothing goes out before the standby has it, too."""
    ledger, done = Ledger(server.database(), Pure(1), data="d", timeout=20), []

    def standby(name):
        server.sql("postgres", f"ALTER SYSTEM SET synchronous_standby_names = '{name}'", "SELECT pg_reload_conf()")
        time.sleep(0.2)

    def waiting():
        return "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'fugu'"

    standby("nobody")
    try:
        thread = threading.Thread(target=lambda: ledger.spend("q", TENTH, lambda: done.append(1)), daemon=True)
        thread.start()
        for _ in range(2):
            until = time.monotonic() + 10
            while not (found := server.sql("postgres", waiting())) and time.monotonic() < until:
                time.sleep(0.05)
            assert found and not done
            server.sql("postgres", f"SELECT pg_terminate_backend({found[0][0]})")
            time.sleep(0.3)
        assert not done
    finally:
        standby("")
        server.sql("postgres", "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
    thread.join(20)
    assert len(done) == 1 and ledger.spent() == Pure(0.1) and ledger.verify()


def test_a_lost_commit_that_is_taken_for_stored_is_caught(server, wire, monkeypatch):
    """Wrong on purpose: the value goes out, and its charge was never stored."""
    monkeypatch.setattr(database.Database, "holds", lambda *_: True)
    world = World(wire.url(server.database()))
    with pytest.raises(AssertionError):
        world.run("q", "charge sent", die=once(lambda: wire.losses.append("commit")))
    assert kinds(server, server.database())[2:] != ["reserved", "settled"]


def race(server, processes, runs, budget):
    """Eight hosts and nobody who coordinates them but the database."""
    url = server.database()
    Ledger(url, Pure(Fraction(budget, 10)), data="d").close()
    done = together(racer, [(url, name, runs, budget) for name in range(processes)])
    with Ledger(url, Pure(Fraction(budget, 10)), data="d") as ledger:
        assert sum(done) == min(budget, processes * runs) and ledger.spent() == Pure(Fraction(sum(done), 10))
        states = [entry.state for entry in ledger.history()]
        assert states.count("settled") == sum(done) and len(states) == processes * runs
        ledger.verify()


def racer(url, name, runs, budget, queue):
    ledger, done = Ledger(url, Pure(Fraction(budget, 10)), data="d", timeout=120), 0
    for k in range(runs):
        with suppress(BudgetExceeded):
            done += ledger.spend(f"{name} {k}", TENTH, lambda: 1)
    queue.put(done)


def test_eight_processes_are_granted_exactly_the_budget(server):
    """Whatever isolation the database is set to: with serializable transactions the second writer would fail."""
    server.database()
    server.sql("postgres", "ALTER DATABASE l0 SET default_transaction_isolation = serializable")
    connection._close_idle()
    try:
        race(server, 8, 15, 100)
    finally:
        server.sql("postgres", "ALTER DATABASE l0 RESET default_transaction_isolation")
        connection._close_idle()


def test_twelve_hundred_requests_of_eight_processes_are_granted_a_thousand(server):
    race(server, 8, 150, 1000)


def test_processes_whose_connections_are_cut_at_random_lose_nothing(server):
    """A race while the server throws everybody out, again and again."""
    url = server.database()
    Ledger(url, Pure(6), data="d").close()
    over = threading.Event()

    def disturb():
        while not over.is_set():
            cut(server)
            time.sleep(0.2)

    nuisance = threading.Thread(target=disturb)
    nuisance.start()
    try:
        done = together(racer, [(url, name, 20, 60) for name in range(4)])
    finally:
        over.set()
        nuisance.join()
    with Ledger(url, Pure(6), data="d") as ledger:
        assert sum(done) == 60 and ledger.spent() == Pure(6)
        assert [entry.state for entry in ledger.history()].count("settled") == 60
        ledger.verify()


def test_who_waits_too_long_is_told_that_another_holds_it(server):
    url = server.database()
    ledger = Ledger(url, Pure(1), data="d", timeout=0.1)
    with psycopg.connect(url) as other:
        other.execute("SELECT * FROM fugu.head FOR UPDATE")
        with pytest.raises(LedgerBusy, match="holds the ledger"):
            ledger.spend("q", TENTH, lambda: pytest.fail("must not run"))
        assert ledger.history() == []  # who reads waits for nobody
    assert ledger.spend("q", TENTH, lambda: 1) == 1


def test_a_child_that_outlives_its_parent_holds_no_lock_of_it(server):
    """The parent is killed inside a request; a child that it forked there has its sockets, and lives on."""
    url = server.database()
    Ledger(url, Pure(1), data="d").close()
    ready, stay = os.pipe(), os.pipe()
    parent = os.fork()
    if not parent:

        def produce():
            if not os.fork():
                os.write(ready[1], b"x")
                os.close(stay[1])
                os.read(stay[0], 1)
                os._exit(0)
            os.read(ready[0], 1)
            os._exit(9)

        Ledger(url, Pure(1), data="d").spend("q", TENTH, produce)
    os.waitpid(parent, 0)
    try:
        assert Ledger(url, Pure(1), data="d", timeout=5).spend("q", TENTH, lambda: 7) == 7
    finally:
        os.close(stay[1])


def test_threads_and_interrupts_leave_nothing_locked(server):
    """An exception at every statement that is sent: the next caller finds no lock, one charge, one value."""
    real, url = connection.Lease.run, server.database()
    Ledger(url, Pure(100), data="d").close()
    struck = 0
    for after in range(60):
        left = after

        def run(line, *args, **more):
            nonlocal left
            left -= 1
            if left == -1:
                raise Killed
            return real(line, *args, **more)

        ledger = Ledger(url, Pure(100), data="d", timeout=2)
        connection.Lease.run = run
        try:
            with suppress(Killed):
                ledger.spend(f"q{after}", TENTH, lambda after=after: after)
            struck += left < 0
        finally:
            connection.Lease.run = real
        assert Ledger(url, Pure(100), data="d", timeout=2).spend(f"q{after}", TENTH, lambda after=after: after) == after
        if left >= 0:
            break
    with Ledger(url, Pure(100), data="d") as ledger:
        assert 10 < struck == after and ledger.spent() == Pure(Fraction(after + 1, 10)) and ledger.verify()
