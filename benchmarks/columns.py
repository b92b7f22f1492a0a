"""A column of many rows from file to file: CPU beside a duckdb COPY of the same table, and the highest memory; each
case has a process of its own."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row, Size
from benchmarks.memory import resident

_ROWS = 10**7
_TABLE = """SELECT 'p' || range AS patient, CASE WHEN hash(range) % 3 = 0 THEN 'yes' ELSE 'no' END AS smoker,
    CAST(100 + 5 * (hash(range * 7) % 60) AS INTEGER) AS chol FROM range({})"""
CASES = {"parquet": ("parquet", False, 4.0), "csv": ("csv", False, 15.0), "csv, unit and ledger": ("csv", True, 15.0)}


def columns(size: Size) -> Iterator[Row]:
    """CPU without the start of the process; memory at a tenth of the rows and at all of them."""
    for case, (form, books, limit) in CASES.items():
        for rows in (size.of(_ROWS) // 10, size.of(_ROWS)):
            command = [sys.executable, "-m", "benchmarks.columns", form, str(rows), str(books)]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            yield Row("columns", f"{case}, {rows:,} rows: release / COPY", found["ratio"], "x CPU", limit)
            yield Row("columns", f"{case}, {rows:,} rows: peak memory", found["peak"], "GiB", 0.6)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _measure(form: str, rows: int, books: bool) -> dict[str, float]:
    import duckdb

    import fugu

    example = Path(fugu.__file__).parent / "examples"
    with tempfile.TemporaryDirectory() as name:
        folder, engine = Path(name), duckdb.connect()
        table, copied = folder / f"table.{form}", folder / f"copy.{form}"
        engine.execute(f"COPY ({_TABLE.format(rows)}) TO '{table}'")
        start = _cpu()
        engine.execute(f"COPY (FROM '{table}') TO '{copied}'")
        copy = _cpu() - start
        copied.unlink()
        engine.close()
        plan = {"publish": "chol", "protect": "smoker", "epsilon": 0.5, "reference": example / "clinic_reference.csv",
                **({"unit": "patient"} if books else {})}  # fmt: skip
        fugu.release(plan, example / "clinic_today.csv", folder / "start.csv", ledger=False)  # imports and tables
        resident(reset=True)
        start = _cpu()
        fugu.release(plan, table, folder / f"out.{form}", folder / "l.db" if books else False)
        ratio = (_cpu() - start) / copy
    return {"ratio": ratio, "peak": resident() / 2**30}


if __name__ == "__main__":
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "True")))
