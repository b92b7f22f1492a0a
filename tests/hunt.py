"""`make hunt MINUTES=n [SEED=s] [ONLY=TEXT]`: every random search in turn, with fresh seeds, until the time is up.

Whichever search has had the least time goes next, on JOBS processes. A call that raises, kills its process or does not
end is a violation; its seed is kept, with the command that repeats it. `.hunt/state.json` keeps cases, seconds and
seeds over runs: totals add up, the next run tries the open violations first and forgets those that no longer fail.
SEED fixes all seeds of a run; the same SEED again goes on where that run stopped. Exit code 1 if a violation is open.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import math
import multiprocessing
import os
import secrets
import signal
import sys
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import hunting
from hunting import Search, attempt, collect, look_in, prepare

FOLDER = Path(__file__).resolve().parent.parent / ".hunt"
GRACE = 30.0  # seconds for the calls that still run when the time is up
ENOUGH = 3  # open violations; a search that has as many gets no further turn, so that one fault does not bury others
WORKER_LIFE = 600.0  # seconds; then a new process, so that caches of the library do not fill the memory of a long hunt


def seed_of(root: int, key: str, number: int) -> int:
    """The seed of one call of one search: 63 bits, far from the small ones of `make test`."""
    text = f"{root} {key} {number}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1 | 1 << 40


# ---- what is remembered ---------------------------------------------------------------------------------------------


@dataclass
class State:
    """What has been hunted in all runs: by search its cases, calls, seconds; open violations; how far a root went."""

    file: Path
    root: int = 0
    reached: dict[str, int] = field(default_factory=dict)
    searches: dict[str, dict[str, Any]] = field(default_factory=dict)
    violations: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, file: Path) -> State:
        return cls(file, **json.loads(file.read_text())) if file.exists() else cls(file)

    def save(self) -> None:
        self.file.parent.mkdir(exist_ok=True)
        kept = {name: getattr(self, name) for name in ("root", "reached", "searches", "violations")}
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(kept, indent=1))
        partial.replace(self.file)

    def begin(self, seed: int | None) -> None:
        """A fresh root of all seeds; the one that was given goes on where it stopped."""
        root = secrets.randbits(32) if seed is None else seed
        if root != self.root:
            self.root, self.reached = root, {}

    def total(self, key: str) -> dict[str, Any]:
        return self.searches.setdefault(key, {"cases": 0, "calls": 0, "seconds": 0.0})

    def open(self, key: str) -> int:
        return sum(v["key"] == key for v in self.violations)

    def next_seed(self, key: str) -> int:
        number = self.reached.get(key, 0)
        self.reached[key] = number + 1
        return seed_of(self.root, key, number)

    def settle(self, key: str, seed: int, why: str | None) -> None:
        """Keep a violation, or forget it because this seed passes now."""
        self.violations = [v for v in self.violations if (v["key"], v["seed"]) != (key, seed)]
        if why is not None:
            self.violations.append({"key": key, "seed": seed, "why": why})


# ---- worker processes -----------------------------------------------------------------------------------------------


def work(pipe: Connection, tests: Path) -> None:
    """One worker: take (key, seed), answer (cases, seconds, why it failed or None), until the pipe ends."""
    os.setsid()  # a group of its own: Ctrl-C reaches the parent only, and what hangs is killed with its children
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    look_in(tests)
    prepare()
    pipe.send("ready")
    known: dict[str, Search] = {}
    while True:
        try:
            key, seed = pipe.recv()
        except EOFError:
            return
        begin, cases, why = time.monotonic(), 0, None
        try:
            if key not in known:
                known |= collect(key)
            cases = attempt(known[key], seed)
        except Exception as error:
            why = f"{type(error).__name__}: {str(error).strip()[:600]}"
        pipe.send((cases, time.monotonic() - begin, why))


class Worker:
    """A process with a pipe, and what it is doing."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, hunting.TESTS))
        self.process.start()
        theirs.close()
        self.born = time.monotonic()
        self.job: tuple[Search, int] | None = None
        self.turn_of: Search | None = None
        self.since = self.turn_ends = 0.0

    def ready(self) -> Worker:
        """Once it has imported what it needs; the time of a hunt begins then."""
        self.pipe.recv()
        return self

    def start(self, one: Search, seed: int) -> None:
        self.job, self.since = (one, seed), time.monotonic()
        self.pipe.send((one.key, seed))

    @property
    def overdue(self) -> float:
        """Seconds until the call is too long; below 0 it is."""
        return self.since + self.job[0].limit - time.monotonic() if self.job else float("inf")

    def answer(self) -> tuple[int, float, str | None]:
        """What the call found; a process that died is a violation too."""
        try:
            return self.pipe.recv()  # type: ignore[no-any-return]
        except (EOFError, ConnectionResetError):
            self.process.join()
            return 0, time.monotonic() - self.since, f"the process ended with exit code {self.process.exitcode}"

    def end(self) -> None:
        """Kill the process and all it started."""
        self.pipe.close()
        if self.process.is_alive():
            try:
                os.killpg(self.process.pid or 0, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # not yet a group of its own
                self.process.kill()
        self.process.join()


# ---- the hunt -------------------------------------------------------------------------------------------------------


class Hunt:
    """All searches in turn until the time is up."""

    def __init__(self, searches: dict[str, Search], state: State, minutes: float, jobs: int) -> None:
        self.searches, self.state, self.jobs = searches, state, jobs
        self.length, self.ends = 60 * minutes, math.inf
        self.turn = min(20.0, max(0.5, self.length * jobs / (4 * max(1, len(searches)))))
        self.cases = dict.fromkeys(searches, 0)
        self.seconds = dict.fromkeys(searches, 0.0)
        self.unfinished: list[tuple[str, int]] = []
        self.again = [(v["key"], v["seed"]) for v in state.violations if v["key"] in searches]
        self.workers: list[Worker] = []

    def run(self) -> None:
        """Until the time is up or Ctrl-C; what was found by then is on disk."""
        try:
            self.workers = [Worker() for _ in range(self.jobs)]
            self.workers = [worker.ready() for worker in self.workers]
            self.ends = time.monotonic() + self.length
            for worker in self.workers:
                self._next(worker)
            while any(w.job for w in self.workers):
                self._step()
        except KeyboardInterrupt:
            pass
        finally:
            for worker in self.workers:
                if worker.job:
                    self.unfinished.append((worker.job[0].key, worker.job[1]))
                worker.end()
            self.state.save()

    def _step(self) -> None:
        left = self.ends + GRACE - time.monotonic()
        if left < 0:
            raise KeyboardInterrupt
        busy = [w for w in self.workers if w.job]
        ready = wait([w.pipe for w in busy], timeout=max(0.0, min(left, *(w.overdue for w in busy), 5.0)))
        for place, worker in enumerate(self.workers):
            if worker.pipe in ready:
                self._record(worker, *worker.answer())
            elif worker.overdue < 0 and worker.job:
                limit = worker.job[0].limit
                self._record(worker, 0, limit, f"no end after {limit:g} seconds")
                worker.end()
            else:
                continue
            if not worker.process.is_alive() or time.monotonic() - worker.born > WORKER_LIFE:
                worker.end()
                self.workers[place] = Worker().ready()
            self._next(self.workers[place])

    def _record(self, worker: Worker, cases: int, seconds: float, why: str | None) -> None:
        assert worker.job
        (one, seed), total = worker.job, self.state.total(worker.job[0].key)
        worker.job = None
        self.cases[one.key] += cases
        self.seconds[one.key] += seconds
        total["cases"] += cases
        total["calls"] += 1
        total["seconds"] += seconds
        self.state.settle(one.key, seed, why)
        if why is not None:
            self.state.save()

    def _next(self, worker: Worker) -> None:
        """The next call: an open violation of an earlier run, more of the same turn, or whoever had the least time."""
        now = time.monotonic()
        if now >= self.ends:
            return
        if self.again:
            key, seed = self.again.pop()
            worker.start(self.searches[key], seed)
            return
        if worker.turn_of is None or now >= worker.turn_ends or self.state.open(worker.turn_of.key) >= ENOUGH:
            self.state.save()
            left = [one for one in self.searches.values() if self.state.open(one.key) < ENOUGH]
            if not left:
                return
            worker.turn_of, worker.turn_ends = min(left, key=self._had), now + self.turn
        worker.start(worker.turn_of, self.state.next_seed(worker.turn_of.key))

    def _had(self, one: Search) -> tuple[float, float]:
        running = sum(time.monotonic() - w.since + self.turn for w in self.workers if w.job and w.job[0] is one)
        return self.seconds[one.key] + running, self.state.total(one.key)["seconds"]


# ---- what is said ---------------------------------------------------------------------------------------------------


def table_of(searches: dict[str, Search], state: State, hunt: Hunt | None) -> Table:
    """How many cases of what, in this run and in all."""
    table = Table(title=None if hunt is None else f"root of all seeds: SEED={state.root}", title_justify="left")
    table.add_column("hunted", overflow="fold")
    for name in ("cases now", "cases in all", "minutes in all", "violations"):
        table.add_column(name, justify="right")
    now = {} if hunt is None else hunt.cases
    for key, one in sorted(searches.items(), key=lambda item: (item[1].what.startswith("property: "), item[0])):
        total = state.searches.get(key, {"cases": 0, "seconds": 0.0})
        open_ = state.open(key)
        style = "red" if open_ else "yellow" if not total["cases"] else None
        row = (f"{now.get(key, 0):,}", f"{total['cases']:,}", f"{total['seconds'] / 60:.1f}", str(open_))
        table.add_row(escape(one.what), *row, style=style)
    every = [state.searches[key] for key in searches if key in state.searches]
    table.add_section()
    cases, seconds = sum(x["cases"] for x in every), sum(x["seconds"] for x in every)
    table.add_row("all", f"{sum(now.values()):,}", f"{cases:,}", f"{seconds / 60:.1f}", str(len(state.violations)))
    return table


def report(searches: dict[str, Search], state: State, hunt: Hunt | None, console: Console) -> None:
    """The table, then each open violation with the command that repeats it."""
    console.print(table_of(searches, state, hunt))
    for key, seed in hunt.unfinished if hunt else ():
        console.print(f"not finished when the hunt ended, and not counted: {key}, seed {seed}", markup=False)
    for found in state.violations:
        first = found["why"].splitlines()[0][:300]
        console.print(f"[red]VIOLATION[/red] {escape(found['key'])}: {escape(first)}", soft_wrap=True)
        console.print(f"  make hunt-again SEARCH='{found['key']}' SEED={found['seed']}", markup=False, soft_wrap=True)


def again(key: str, seed: int, console: Console) -> int:
    """One seed of one search, here, with its traceback."""
    prepare()
    known = collect(key)
    if key not in known:
        console.print(f"tests/{key} is no search; there are: {', '.join(sorted(known))}", markup=False, soft_wrap=True)
        return 2
    try:
        cases = attempt(known[key], seed)
    except Exception:
        console.print(traceback.format_exc(), markup=False, soft_wrap=True)
        console.print(f"{key}, seed {seed}: a violation", markup=False)
        return 1
    console.print(f"{key}, seed {seed}: holds ({cases} cases)", markup=False)
    return 0


def lines() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="how long, in all")
    parser.add_argument("--seed", type=int, help="the root of all seeds, or the seed of --again")
    parser.add_argument("--only", default="", metavar="TEXT", help="searches whose words or place hold this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many processes")
    parser.add_argument("--again", metavar="SEARCH", help="run one --seed of this search, and show what happens")
    parser.add_argument("--report", action="store_true", help="only print what was found so far")
    parser.add_argument("--state", type=Path, default=FOLDER / "state.json", help="where totals and seeds are kept")
    parser.add_argument("--tests", type=Path, default=hunting.TESTS, help="the folder that is walked for searches")
    return parser.parse_args()


def main() -> int:
    """Hunt, and say how many cases of what."""
    options, console = lines(), Console(width=None if sys.stdout.isatty() else 140)
    look_in(options.tests)
    if options.again:
        if options.seed is None:
            console.print("which seed? give SEED=")
            return 2
        return again(options.again, options.seed, console)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # for the workers: one process, one core
    searches = {key: one for key, one in collect().items() if options.only in one.what or options.only in key}
    if not searches:
        console.print(f"no search holds {options.only!r}", markup=False)
        return 2
    state, hunt = State.load(options.state), None
    if not options.report:
        options.state.parent.mkdir(parents=True, exist_ok=True)
        with open(options.state.with_suffix(".lock"), "w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                console.print("another hunt is running here; wait, or give it another --state")
                return 2
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            os.environ[hunting.NOTES] = str(options.state.with_name("notes.jsonl").resolve())
            state.begin(options.seed)
            hunt = Hunt(searches, state, options.minutes, options.jobs)
            hunt.run()
    report(searches, state, hunt, console)
    return int(bool(state.violations))


if __name__ == "__main__":
    sys.exit(main())
