"""Executors that are processes of their own, one of which is lost while it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spark_session import ONE_LOST

CODE = (
    ONE_LOST
    + """
from fugu.publication import spark as drawing
made = drawing.PartWriter
drawing.PartWriter = lambda *given: Lost(made(*given))
small = dict(spark_executor_memory="700m", spark_testing_reservedMemory="1")
spark = session(place / "spark", "local-cluster[2,1,800]", **small)
frame = spark.range(0, 4000, 1, 4).selectExpr("id % 6 AS v")
plan = dict(publish="v", protect="s", epsilon="1/2", reference=str(place / "reference.csv"))
found = fugu.release(plan, frame, place / "out", place / "ledger.db", data="visits")
print(json.dumps([len(found.values), [file["rows"] for file in found.document.published]]))
"""
)


def test_an_executor_that_is_lost_while_it_writes_costs_no_second_draw(tmp_path):
    rows = "".join(f"{'ab'[k % 2]},{[0, 1, 2, 3, 1, 2, 5, 4][k % 8]}\n" for k in range(80))
    (tmp_path / "reference.csv").write_text("s,v\n" + rows, encoding="utf-8")
    (tmp_path / "spark").mkdir()
    code = CODE.format(tests=str(Path(__file__).parent), place=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "lost").exists()
    assert done.stdout.splitlines()[-1] == "[4000, [1000, 1000, 1000, 1000]]"
    assert len(list((tmp_path / "out").iterdir())) == 4
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]
