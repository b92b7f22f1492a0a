"""Beliefs of a table of many rows, beside the same GROUP BY in its engine; writes a part of docs/scaling.md."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb

import fugu
from benchmarks.measure import Row, Size, race
from benchmarks.memory import resident

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "scaling.md"
_HEAD, _NEXT = "## With the rows of a table", "## With the rows of a release"
_SIZES = (10**6, 10**7)
_MOST = 10**8
"""Rows of the largest table, of which only the memory is looked at."""
_UNITS = {"": "no unit", "patient": "unit of whole numbers", "code": "unit of texts"}
_TIMES, _GIB = 3.0, 0.6
Figures = dict[tuple[str, int], float]


def rows(size: Size) -> Iterator[Row]:
    """CPU over that of the engine alone, and the peak of a process of its own; a quick run writes no file."""
    times: Figures = {}
    peaks: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in map(size.of, _SIZES):
            file = _table(Path(folder), n)
            for unit in _UNITS:
                times[unit, n], peaks[unit, n] = _ratio(file, unit), _child(file, unit)
            file.unlink()
        file = _table(Path(folder), size.of(_MOST), named=False)
        peaks["", size.of(_MOST)] = _child(file, "")
    if not size.quick:
        text = _PAGE.read_text(encoding="utf-8")
        above, own = text.removesuffix(section(text)).rstrip(), section(text)
        after = own[own.index(_NEXT) :] if _NEXT in own else ""
        _PAGE.write_text(f"{above}\n\n{_section(times, peaks)}\n{after}".rstrip() + "\n", encoding="utf-8")
    for (unit, n), ratio in times.items():
        limit = _TIMES if n == _SIZES[-1] else None  # below, the start of a connection is the most of it
        yield Row("rows", f"beliefs, {n:,} rows, {_UNITS[unit]}", ratio, "x the same in duckdb", limit)
    for (unit, n), peak in peaks.items():
        yield Row("rows", f"beliefs, {n:,} rows, {_UNITS[unit]}, peak", peak, "GiB", _GIB)


def section(page: str) -> str:
    """The parts of the page about rows, "" where there are none."""
    return page[page.index(_HEAD) :] if _HEAD in page else ""


def _table(folder: Path, n: int, named: bool = True) -> Path:
    """A Parquet file of n patients: a whole number, a category, and two columns that name them."""
    file = folder / "patients.parquet"
    names = ", CASE hash(-i) % 3 WHEN 0 THEN 'ill' WHEN 1 THEN 'well' ELSE 'unknown' END AS state"
    if named:
        names += ", i * 2654435761 % 4294967296 AS patient, 'P' || lpad(patient::TEXT, 10, '0') AS code"
    number = "(100 + hash(i) % 150 + hash(i + 1000000007) % 150)::INT AS chol"
    duckdb.execute(f"COPY (SELECT {number}{names} FROM range(1, {n} + 1) t(i)) TO '{file}' (FORMAT parquet)")
    return file


def _beliefs(file: Path, unit: str) -> fugu.Scenario:
    return fugu.Scenario.from_table(file, publish="chol", protect="state", unit=unit or None)


def _ratio(file: Path, unit: str) -> float:
    """CPU of the beliefs over that of one GROUP BY, and of a count of different names, of the same columns."""

    def counted() -> None:
        duckdb.sql(f"SELECT chol, state, count(*) FROM '{file}' GROUP BY ALL").fetchall()
        if unit:
            duckdb.sql(f"SELECT count(*), count(DISTINCT {unit}) FROM '{file}'").fetchall()

    took = race(3, counted=counted, beliefs=lambda: _beliefs(file, unit))
    return took["beliefs"] / took["counted"]


def _child(file: Path, unit: str) -> float:
    """The peak of a fresh process, in GiB."""
    command = [sys.executable, "-m", "benchmarks.rows", str(file), unit]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(json.loads(done.stdout))


def _section(times: Figures, peaks: Figures) -> str:
    lines = [
        f"| {n:,} | {_UNITS[unit]} | {f'{times[unit, n]:.1f}' if (unit, n) in times else ''} | {peak:.2f} |"
        for (unit, n), peak in peaks.items()
    ]
    return "\n".join([_ABOVE, *lines, _BELOW])


_ABOVE = f"""{_HEAD}

`Scenario.from_table` on a Parquet file with one whole number to publish, one column of three secrets, and none or one
that names the person: CPU time beside that of duckdb alone for the same `GROUP BY` (and `COUNT(DISTINCT)` of the
names), and the peak memory of a process that does nothing else.

| rows | | CPU, times the same in duckdb | peak GiB |
|---:|---|---:|---:|"""
_BELOW = """
Parquet files, duckdb relations, and frames of polars, pyarrow and pandas are counted by their engine: different cells
with their numbers of rows reach Python, never rows, so memory stands still where cells repeat. Whoever is named by
whole numbers, or by texts of visible ASCII characters, is told apart by the engine too. What passes through Python row
by row: a column with any other name, and a table with a person in two rows or in none; columns of objects in pandas,
dicts, and CSV files; columns in which nearly every cell is different; and secrets that are a function of Python. The
beliefs are the same in every case, to the bit.

`python -m benchmarks rows` measures this again and writes this part of the page.
"""


if __name__ == "__main__":
    _beliefs(Path(sys.argv[1]), sys.argv[2])
    print(json.dumps(resident() / 2**30))
