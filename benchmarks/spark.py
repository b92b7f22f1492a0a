"""A column that Spark draws, beside the same column copied by Spark; nothing where there is no Java or pyspark."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import fugu
from benchmarks.measure import Row, Size

_ROWS, _LIMIT, _LAPS = 10**7, 2.5, 3


def column(size: Size) -> Iterator[Row]:
    """CPU of driver, Java and Python workers, on two threads, of the best lap; the first starts workers."""
    if find_spec("pyspark") is None or shutil.which("java") is None or not Path("/proc").is_dir():
        print("spark: no row, since there is no Java, no pyspark or no /proc here", file=sys.stderr)
        return
    from pyspark.sql import SparkSession

    from fugu.publication.spark import draw_parts

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), size.of(_ROWS)
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        spark = builder.config("spark.local.dir", name).getOrCreate()
        spark.range(0, rows, 1, 8).selectExpr("cast(pmod(hash(id), 6) AS int) AS v").write.parquet(f"{name}/table")
        frame = spark.read.parquet(f"{name}/table")
        last_year = {"s": ["a", "b"] * 400, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 100}
        scenario = fugu.Scenario.from_table(last_year, publish="v", protect="s")
        copied, drawn = float("inf"), float("inf")
        for lap in range(_LAPS):
            draw, places = fugu.calibrate(scenario, fugu.Pure(0.5)).column_draw(), []
            for kind in ("attempts", "parts"):
                places.append(folder / f"{kind}{lap}")
                places[-1].mkdir(mode=0o700)
            copy = frame.selectExpr("cast(v AS double) AS v").write
            copied = min(copied, _cpu(lambda copy=copy, lap=lap: copy.parquet(f"{name}/copy{lap}")))
            drawn = min(drawn, _cpu(lambda draw=draw, places=places: draw_parts(frame, draw, *places)))
        spark.stop()
    yield Row("spark", f"draw a column of {rows:,} rows / copy it", drawn / copied, "x", _LIMIT)


def _cpu(run: Callable[[], object]) -> float:
    """The CPU seconds that this process, and all that it started, spend on it."""
    before = _spent()
    run()
    time.sleep(0.2)  # a worker that ends is counted with its parent
    return _spent() - before


def _spent() -> float:
    found: dict[int, tuple[int, float]] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                stat = (place / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            found[int(place.name)] = int(stat[1]), sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
    total, family = 0.0, [os.getpid()]
    while family:
        own = family.pop()
        total += found.get(own, (0, 0.0))[1]
        family += [number for number, (parent, _) in found.items() if parent == own]
    return total
