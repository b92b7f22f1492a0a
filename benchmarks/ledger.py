"""Charges a second, by one process and by eight, beside bare SQLite transactions that write as often; what a
request takes behind many others, and what it takes to recognise a table."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, Size
from fugu.guarantee import Pure
from fugu.ledger import Charge, Ledger, fingerprints

_REQUESTS = 400
_MOST_TIMES = 3.0
_CHARGE = Charge.per_entry(0.001)


def charges(size: Size) -> Iterator[Row]:
    """A request is two synced commits, charge and value; bare SQLite does two synced commits of one row each."""
    requests = size.of(_REQUESTS)
    for processes in (1, 8):
        each = max(requests // processes, 5)
        took = {side.__name__: _clock(side, processes, each, 1 if size.quick else 3) for side in (_ledger, _bare)}
        done, case = processes * each, f"{processes} process{'es' if processes > 1 else ''}"
        yield Row("ledger", f"{case}: requests charged, evaluated and settled", done / took["_ledger"], "/ s")
        yield Row("ledger", f"{case}: pairs of bare SQLite commits", done / took["_bare"], "/ s")
        yield Row("ledger", f"{case}: ledger beside SQLite", took["_ledger"] / took["_bare"], "x sqlite", _MOST_TIMES)
    yield from _shared(size)
    yield from _long(size)
    yield from _recognised(size)


def _recognised(size: Size) -> Iterator[Row]:
    """The marks of a table of fifteen columns: ten of numbers, four of few texts, one of names."""
    rows, draw = size.of(1_000_000), np.arange(size.of(1_000_000), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    table: dict[str, object] = {f"number {k}": (draw >> np.uint64(k + 10)).astype(np.float64) for k in range(10)}
    words = np.array(["alpha", "beta", "gamma", "delta"], dtype=object)
    table |= {f"word {k}": words[(draw >> np.uint64(40 + k)) % np.uint64(4)] for k in range(4)}
    table["name"] = [f"P{k:07d}" for k in range(rows)]
    start = time.process_time()
    fingerprints(table)
    yield Row("ledger", f"recognise a table of {rows} rows and 15 columns", time.process_time() - start, "s")


def _long(size: Size) -> Iterator[Row]:
    """A request, and an opening, behind many others beside the same behind few: checkpoints keep them from growing.

    In memory, if there is such a folder: the disk's part is measured above."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    few, many = size.of(1_000), size.of(20_000)
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path, took = Path(folder) / "l.db", {}
        with Ledger(path, Pure(10**6)) as ledger:
            for before, count in ((0, few), (few, many)):
                for k in range(before, count):
                    ledger.spend(f"{k}", _CHARGE, int)
                took[count] = _after(path, count)
        for what, unit, number in (
            ("a request", "ms", 0),
            ("the first request after opening", "ms", 1),
            ("an opening's memory", "MB", 2),
        ):
            small, large = took[few][number], took[many][number]
            yield Row("ledger", f"{what} behind {many} others", large, unit)
            yield Row("ledger", f"{what}: behind {many} others beside {few}", large / small, "x", _MOST_TIMES)
        start = time.process_time()
        Ledger(path, Pure(10**6)).verify()
        yield Row("ledger", f"verify {many} requests", time.process_time() - start, "s")


def _shared(size: Size) -> Iterator[Row]:
    """A ledger in PostgreSQL, by a local socket: wall time over requests, of one process and of eight that race."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from postgres import Cluster, missing

    if (why := missing()) is not None:
        print(f"ledger: no row for PostgreSQL: {why}")
        return
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("XDG_DATA_HOME")
        os.environ["XDG_DATA_HOME"] = folder  # where the key goes
        server = Cluster()
        try:
            for number, processes in enumerate((1, 8)):
                url, each = server.database(number), max(size.of(_REQUESTS) // processes, 5)
                Ledger(url, Pure(10**6)).close()
                took = _together(_ledger, url, processes, each) / (processes * each)
                case = f"PostgreSQL, {processes} process{'es' if processes > 1 else ''}: a request"
                yield Row("ledger", case, took * 1e3, "ms", 10.0)
        finally:
            server.close()
            os.environ.pop("XDG_DATA_HOME") if before is None else os.environ.update(XDG_DATA_HOME=before)


def _after(path: Path, name: int) -> tuple[float, float, float]:
    """CPU milliseconds of a request, of the first one after opening, and megabytes that an opening takes."""
    tracemalloc.start()
    ledger = Ledger(path, Pure(10**6))
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    ledger.close()
    start = time.process_time()
    ledger.spend(f"{name} first", _CHARGE, int)
    first = time.process_time() - start
    start = time.process_time()
    for k in range(50):
        ledger.spend(f"{name} {k}", _CHARGE, int)
    return (time.process_time() - start) / 50 * 1e3, first * 1e3, peak


def _ledger(path: Path | str, name: int, each: int, start: Barrier) -> None:
    with Ledger(path, Pure(10**6), timeout=120) as ledger:
        start.wait()
        for k in range(each):
            ledger.spend(f"{name} {k}", _CHARGE, int)


def _bare(path: Path, name: int, each: int, start: Barrier) -> None:
    db = sqlite3.connect(path, isolation_level=None, timeout=120)
    db.execute("PRAGMA synchronous = FULL")
    start.wait()
    for k in range(2 * each):
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO rows VALUES (?, ?)", (name, k))
        db.execute("COMMIT")
    db.close()


def _clock(side: Callable[[Path, int, int, Barrier], None], processes: int, each: int, laps: int) -> float:
    """The best wall-clock seconds of some laps: this is about disks."""
    best = float("inf")
    for _ in range(laps):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "l.db"
            _prepare(side, path)
            best = min(best, _together(side, path, processes, each))
    return best


def _together(side: Callable[..., None], place: Path | str, processes: int, each: int) -> float:
    """The wall-clock seconds from the common start to the end of the last process."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(processes + 1)
    workers = [context.Process(target=side, args=(place, k, each, barrier)) for k in range(processes)]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise RuntimeError("a process of the benchmark failed")
    return time.perf_counter() - start


def _prepare(side: Callable[[Path, int, int, Barrier], None], path: Path) -> None:
    if side is _ledger:
        Ledger(path, Pure(10**6)).close()
        return
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE rows (name INTEGER, k INTEGER)")
    db.close()
