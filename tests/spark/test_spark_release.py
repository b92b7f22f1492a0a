"""`fugu.release` of a Spark frame: one charge, one draw that can be read, whatever is killed on the way."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fugu
from fugu.errors import BadTable, BudgetRefused, PriorNotPublic, RepeatedUnit, UsageError
from fugu.ledger import fingerprints
from fugu.ledger.fingerprint import rows_digest
from fugu.publication import drafts, files
from fugu.publication import spark as drawing
from fugu.publication.spark import gathered
from fugu.releasing import column_route

REFERENCE = "s,v,u\n" + "".join(f"{'ab'[k % 2]},{[0, 1, 2, 3, 1, 2, 5, 4][k % 8]},{k}\n" for k in range(80))
ROWS = 3000


@pytest.fixture
def place(tmp_path):
    (tmp_path / "reference.csv").write_text(REFERENCE, encoding="utf-8")
    return tmp_path


def frame_of(spark, rows=ROWS, parts=3):
    return spark.range(0, rows, 1, parts).selectExpr("id % 6 AS v", "concat('p', id) AS u", "id % 7 = 0 AS w")


def release(spark, place, frame=None, out="out", **more):
    plan = {"publish": "v", "protect": "s", "epsilon": 0.5, "reference": str(place / "reference.csv"), **more}
    found = frame_of(spark) if frame is None else frame
    return fugu.release(plan, found, place / out, place / "ledger.db", data="visits")


def charges(place):
    return [entry.state for entry in fugu.Ledger(place / "ledger.db", fugu.Pure(0.5), data="visits").history()]


def left_over(place):
    known = {"reference.csv", "ledger.db", "ledger.db.key", "out", "out.certificate.json", "out.private.json"}
    return sorted({file.name for file in place.iterdir()} - {*known, "out.report.html"})


def column(folder):
    return np.concatenate([pq.read_table(file)["v"].to_numpy() for file in sorted(folder.iterdir())])


def test_a_column_goes_out_with_its_document_and_is_given_back(spark, place):
    first = release(spark, place)
    assert len(column(place / "out")) == ROWS and not left_over(place)
    document = first.document
    assert [file["rows"] for file in document.published] == [1000] * 3 and document["data"]["rows"] == ROWS
    assert column_route.ON_EXECUTORS in document["assumptions"]
    verdict = fugu.verify(place / "out.certificate.json", published=place / "out", ledger=place / "ledger.db")
    assert verdict.holds, [check for check in verdict.checks if check[1] == "fails"]
    before = column(place / "out").tobytes()
    again = release(spark, place)
    assert again.repeated and column(place / "out").tobytes() == before and charges(place) == ["settled"]
    assert first.values == again.values and len(first.values) == ROWS


def test_another_release_of_the_frame_is_refused(spark, place):
    release(spark, place)
    with pytest.raises(BudgetRefused):
        release(spark, place, out="other", epsilon=0.25)
    assert not (place / "other").exists()


def test_a_frame_is_known_by_the_marks_of_the_same_table_anywhere(spark):
    table = pa.table({
        "v": [1, None, 3, 2**60] * 30, "s": ["a", "b ", None, "é"] * 30, "d": [0.5, float("nan"), -0.0, None] * 30,
        "u": [f"p{k}" for k in range(120)], "t": [True, False, None, True] * 30,
        "z": pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 7, 1, 13), None] * 40, pa.timestamp("us", "UTC")),
    })  # fmt: skip
    was = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # workers are handed moments in it
    try:
        found = gathered(spark.createDataFrame(table).repartition(3)).marks(None, dict)
    finally:
        spark.conf.set("spark.sql.session.timeZone", was)
    plain = fingerprints(table)
    assert found.named == plain.named and found.under("k", False).stored == plain.under("k", False).stored


def test_what_is_public_is_refused_before_the_charge(spark, place):
    frame = frame_of(spark)
    cases = [
        (frame.selectExpr("v", "'p1' AS u"), {"unit": "u"}, RepeatedUnit),
        (frame.selectExpr("rand() AS v"), {}, UsageError),
        (frame.selectExpr("u"), {}, BadTable),
        (frame.where("v > 9"), {}, BadTable),
        (spark.read.csv(str(place / "reference.csv"), header=True), {}, PriorNotPublic),
        (frame, {"publish": None, "query": "mean(v)"}, UsageError),
        (frame, {"reference": None, "public_prior": True}, UsageError),
    ]
    for table, more, refusal in cases:
        with pytest.raises(refusal):
            release(spark, place, table, **more)
        assert not left_over(place) and not (place / "out").exists() and not (place / "ledger.db").exists()
    with pytest.raises(UsageError, match="data=NAME"):
        fugu.release({"publish": "v", "reference": str(place / "reference.csv")}, frame, place / "out")


def other_rows(batches):
    """Other people every time."""
    for batch in batches:
        start = int.from_bytes(os.urandom(6)) * 1000
        names = pa.array([f"p{start + k}" for k in range(batch.num_rows)])
        yield pa.RecordBatch.from_arrays([batch.column(0), names], names=["v", "u"])


def test_who_is_looked_at_is_who_is_drawn(spark, place):
    """Spark may run a frame again and take other rows: who is charged, in one row each, is who goes out."""
    mechanism = fugu.calibrate(fugu.Scenario.from_table(place / "reference.csv", "v", "s", unit="u"), fugu.Pure(0.5))
    moved = frame_of(spark).select("v").mapInArrow(other_rows, "v long, u string")
    for frame in (moved, frame_of(spark)):
        opened = drawing.OpenedFrame.of(mechanism, frame)
        assert rows_digest(gathered(opened.frame).rows) == opened.digest


def test_a_dry_run_opens_no_frame(spark, place):
    frame = spark.sql("SELECT raise_error('opened') AS v")
    plan = {"publish": "v", "protect": "s", "epsilon": 1, "reference": str(place / "reference.csv")}
    assert fugu.release(plan, frame, dry_run=True, data="visits").promises


def test_a_frame_that_has_other_rows_when_it_is_drawn_goes_out_under_the_same_charge_later(spark, place, monkeypatch):
    of = drawing.OpenedFrame.of
    monkeypatch.setattr(drawing.OpenedFrame, "of", lambda *given: replace(of(*given), rows=ROWS + 1))
    with pytest.raises(BadTable, match="changed"):
        release(spark, place)
    assert not (place / "out").exists() and not left_over(place) and charges(place) == ["failed"]
    monkeypatch.undo()
    monkeypatch.setenv("FUGU_LEDGER", str(place / "own.db"))
    release(spark, place)
    assert len(column(place / "out")) == ROWS and charges(place) == ["settled"]


def test_without_a_ledger_a_folder_is_never_written_over(spark, place):
    plan = {"publish": "v", "protect": "s", "epsilon": 0.5, "reference": str(place / "reference.csv")}
    fugu.release(plan, frame_of(spark), place / "out", False, data="visits")
    before = column(place / "out").tobytes()
    with pytest.raises(UsageError):
        fugu.release(plan, frame_of(spark), place / "out", False, data="visits")
    assert column(place / "out").tobytes() == before and not left_over(place)


def after(module, name):
    """Kill the process when this has run; `before` it, when it is about to."""

    def arm(monkeypatch):
        run = getattr(module, name)

        def killing(*given, **more):
            run(*given, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        monkeypatch.setattr(module, name, killing)

    return arm


def before(module, name):
    def arm(monkeypatch):
        monkeypatch.setattr(module, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))

    return arm


POINTS = {
    "charged, nothing drawn": before(drawing, "draw_parts"),
    "drawn, no draft": after(drawing, "draw_parts"),
    "attempts removed": after(drawing, "discard"),
    "drafted, not settled": after(drafts, "put"),
    "settled, no document": after(column_route, "drawn_once"),
    "private part": before(files.ReleaseDocument, "save"),
    "document, no name": before(files.Draft, "publish"),
    "named": after(files.Draft, "publish"),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_driver_that_is_killed_leaves_one_draw_and_one_charge(spark, place, monkeypatch, point):
    """The driver is a fork, with a connection of its own to Spark, so that a job may go on without it."""
    if not (child := os.fork()):
        POINTS[point](monkeypatch)
        driver = threading.Thread(target=lambda: release(spark, place))
        driver.start()
        driver.join()
        os._exit(7)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    readable = column(place / "out").tobytes() if (place / "out").exists() else None
    hidden = [file for file in place.iterdir() if file.name.startswith(".")]
    assert all(file.stat().st_mode & 0o077 == 0 for file in hidden)
    found = release(spark, place)
    drawn = column(place / "out")
    assert readable in (None, drawn.tobytes()) and (readable is not None) == (point == "named")
    assert len(drawn) == ROWS and not left_over(place) and charges(place) == ["settled"]
    assert fugu.verify(found.document, published=place / "out", ledger=place / "ledger.db").holds


DRIVER = """
import os, signal, sys, threading, time
from pathlib import Path
sys.path[:0] = [{tests!r}]
from spark_session import session
import fugu
from fugu.publication import spark as drawing
place = Path({place!r})

def watch():
    while not [file for file in place.glob(".out.*/*") if file.stat().st_size]:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

draw_parts = drawing.draw_parts
def drawn(*given):
    threading.Thread(target=watch, daemon=True).start()
    return draw_parts(*given)
drawing.draw_parts = drawn
spark = session(place / "spark")
frame = spark.range(0, {rows}, 1, 3).selectExpr("id % 6 AS v", "concat('p', id) AS u", "id % 7 = 0 AS w")
plan = dict(publish="v", protect="s", epsilon=0.5, reference=str(place / "reference.csv"))
fugu.release(plan, frame, place / "out", place / "ledger.db", data="visits")
"""


def test_a_driver_that_dies_with_its_engine_while_tasks_write(spark, place):
    (place / "spark").mkdir()
    code = DRIVER.format(tests=str(Path(__file__).parent), place=str(place), rows=ROWS * 100)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    assert [file for file in place.glob(".out.*/*") if file.stat().st_size] and not (place / "out").exists()
    assert charges(place) == ["reserved"]
    time.sleep(2)  # what is left of the engine ends
    release(spark, place, frame_of(spark, ROWS * 100))
    assert len(column(place / "out")) == ROWS * 100 and charges(place) == ["settled"]
    assert left_over(place) == ["spark"]
