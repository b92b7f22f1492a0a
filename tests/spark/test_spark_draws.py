"""A column drawn by Spark: every row once, whatever fails on the way; nothing else can be read."""

from __future__ import annotations

import os
import signal

import numpy as np
import pyarrow.parquet as pq
import pytest

import fugu
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, UsageError
from fugu.publication import spark as drawing
from fugu.publication.spark import PartWriter, draw_parts
from fugu.visible import visible

REFERENCE = {"s": ["a", "b"] * 400, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 100}


def column_draw(epsilon=0.5):
    scenario = fugu.Scenario.from_table(REFERENCE, protect="s", publish="v")
    return fugu.calibrate(scenario, fugu.Pure(epsilon)).column_draw(allow_no_noise=True)


@pytest.fixture
def place(tmp_path):
    for name in ("attempts", "parts"):
        (tmp_path / name).mkdir(mode=0o700)
    return tmp_path


def draw_into(place, frame, draw):
    return draw_parts(frame, draw, place / "attempts", place / "parts")


def rows_in(folder):
    return np.concatenate([pq.read_table(file)["v"].to_numpy() for file in sorted((folder / "parts").iterdir())])


def test_every_row_is_drawn_once_in_the_order_of_the_frame(spark, place):
    frame = spark.range(0, 4000, 1, 4).selectExpr("id % 2 * 5 AS v", "id")
    parts = draw_into(place, frame, column_draw(epsilon=12))
    drawn = rows_in(place)
    assert [part.rows for part in parts] == [1000] * 4 and len(drawn) == 4000
    assert np.mean(drawn == np.arange(4000) % 2 * 5) > 0.5  # an epsilon that hides little shows the order
    assert not list((place / "attempts").iterdir())
    mask = os.umask(0o077)
    os.umask(mask)
    assert {file.stat().st_mode & 0o777 for file in (place / "parts").iterdir()} == {0o666 & ~mask}


def test_the_digest_is_that_of_the_file(spark, place):
    import hashlib

    for part in draw_into(place, spark.range(100).selectExpr("1 AS v"), column_draw()):
        raw = (place / "parts" / part.name).read_bytes()
        assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (part.sha256, part.size)


def first_attempts_fail(part, attempt):
    if attempt == 0:
        raise RuntimeError("4711")


def first_workers_die(part, attempt):
    if attempt == 0:
        os.kill(os.getpid(), signal.SIGKILL)


class Breaking:
    """An attempt that breaks when all of its file is written."""

    def __init__(self, run, breaks):
        self.run, self.breaks = run, breaks

    def __call__(self, batches):
        from pyspark import TaskContext

        told = list(self.run(batches))
        self.breaks(TaskContext.get().partitionId(), TaskContext.get().attemptNumber())
        yield from told


@pytest.mark.parametrize("breaks", [first_attempts_fail, first_workers_die], ids=["fails", "dies"])
def test_an_attempt_that_breaks_leaves_nothing_in_the_parts(spark, place, monkeypatch, breaks):
    made = drawing.PartWriter
    monkeypatch.setattr(drawing, "PartWriter", lambda *given: Breaking(made(*given), breaks))
    frame = spark.range(0, 3000, 1, 3).selectExpr("id % 6 AS v")
    parts = draw_into(place, frame, column_draw())
    assert [part.rows for part in parts] == [1000] * 3 and len(rows_in(place)) == 3000
    assert len(list((place / "attempts").iterdir())) == 3  # of the first attempts, whole, and nobody's


def test_a_task_that_always_fails_leaves_no_part_and_quotes_nothing(spark, place, monkeypatch):
    def always(part, attempt):
        raise RuntimeError("4711")

    made = drawing.PartWriter
    monkeypatch.setattr(drawing, "PartWriter", lambda *given: Breaking(made(*given), always))
    with pytest.raises(BadTable, match="could not draw the column") as refusal:
        draw_into(place, spark.range(10).selectExpr("id % 6 AS v"), column_draw())
    assert "4711" not in str(refusal.value) and not list((place / "parts").iterdir())


def test_frames_that_draw_at_random_are_refused(spark):
    SparkColumns(spark.range(3)).require_deterministic()
    for words in ("rand() AS v", "uuid() AS v", "monotonically_increasing_id() AS v"):
        with pytest.raises(UsageError, match="every time"):
            SparkColumns(spark.range(3).selectExpr(words)).require_deterministic()


def test_a_folder_that_others_can_read_is_refused(spark, place):
    (place / "parts").chmod(0o750)
    with pytest.raises(UsageError, match="permissions"):
        draw_into(place, spark.range(3).selectExpr("1 AS v"), column_draw())


def test_an_attempt_that_is_late_makes_no_folder(spark, place):
    draw = column_draw()
    (place / "attempts").rmdir()
    run = PartWriter(draw, str(place / "attempts"), frozenset())
    with pytest.raises(RuntimeError, match="could not be written"):
        list(run(iter(())))
    assert not (place / "attempts").exists()


def test_executors_of_another_version_write_nothing(place):
    run = PartWriter(column_draw(), str(place / "attempts"), frozenset(), version="0.0")
    with pytest.raises(RuntimeError, match="install one"):
        list(run(iter(())))
    assert not list((place / "attempts").iterdir())


class Keyed:
    """A draw whose bits are those of the partition: for tests alone."""

    def __init__(self, draw):
        self.draw, self.name, self.texts, self.drawing = draw, draw.name, draw.texts, self

    def numbers(self, cells):
        return self.draw.numbers(cells)

    def blocks(self, numbers, source):
        from pyspark import TaskContext

        from fugu.noise.bits import RngBits

        return self.draw.drawing.blocks(numbers, RngBits(np.random.default_rng(TaskContext.get().partitionId())))


class Leaking(Keyed):
    """The wrong version: what a batch holds decides how it is read."""

    def numbers(self, cells):
        found = self.draw.numbers(cells)
        return found - found.min()


class Seeded(Keyed):
    """The wrong version: bits that are sent along, and so are the same in every worker."""

    def blocks(self, numbers, source):
        from fugu.noise.bits import RngBits

        return self.draw.drawing.blocks(numbers, RngBits(np.random.default_rng(1)))


@pytest.mark.parametrize("kind", [lambda draw: draw, Seeded], ids=["released", "seeded"])
def test_equal_rows_get_other_noise_in_every_task_and_attempt(spark, place, kind):
    """Workers are forked from one process, and run one task after the other."""
    frame = spark.range(0, 8000, 1, 8).selectExpr("1 AS v")
    draw_into(place, frame, kind(column_draw(epsilon=0.05)))
    drawn = rows_in(place).reshape(8, 1000)
    agree = [float(np.mean(drawn[i] == drawn[j])) for i in range(8) for j in range(i)]
    assert (max(agree) < 0.2) == (kind is not Seeded)  # by chance alone


class Racing(Breaking):
    """Two attempts at one partition, of which the driver is told of the second; the first ends long after it."""

    def __call__(self, batches):
        held = list(batches)
        list(self.run(iter(held)))
        yield from self.run(iter(held))


def test_of_two_attempts_that_race_one_is_read(spark, place, monkeypatch):
    made = drawing.PartWriter
    monkeypatch.setattr(drawing, "PartWriter", lambda *given: Racing(made(*given), None))
    parts = draw_into(place, spark.range(0, 3000, 1, 3).selectExpr("id % 6 AS v"), column_draw())
    assert [part.rows for part in parts] == [1000] * 3 and len(rows_in(place)) == 3000
    assert len(list((place / "attempts").iterdir())) == 3


@pytest.mark.parametrize("kind", [Keyed, Leaking])
def test_one_row_moves_no_other_row_and_no_other_part(spark, tmp_path, kind):
    was = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    draw, found = column_draw(), []
    try:
        for number, cell in enumerate(("2", "0", "5", "-100000", "NULL")):
            words = f"CASE WHEN id = 333 THEN {cell} ELSE id % 5 + 1 END AS v"
            for name in ("attempts", "parts"):
                (tmp_path / f"{number}" / name).mkdir(mode=0o700, parents=True)
            frame = spark.range(0, 600, 1, 3).selectExpr(words)
            told = draw_into(tmp_path / f"{number}", frame, kind(draw))
            found.append(([part.sha256 for part in told], rows_in(tmp_path / f"{number}")))
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", was)
    (parts, rows), *others = found
    alone = all(
        [own for k, own in enumerate(again) if k != 1] == [parts[0], parts[2]]
        and np.array_equal(np.delete(moved, 333), np.delete(rows, 333))
        for again, moved in others
    )
    assert alone == (kind is Keyed)


def test_names_go_out_as_they_go_out_of_any_table(spark, place):
    """What cannot be seen in a label is spelled out; no row of a file is blank."""
    name, cells = "v\n", ["a\x07", "b", "a\x07", "b"]
    schema = fugu.Schema({name: {"kind": "category", "values": ["a\x07", "b"], "missing": "b", "outside": "b"}})
    scenario = fugu.Scenario.from_table(
        {"s": ["x", "y"] * 8, name: cells * 4}, protect="s", publish=name, schema=schema
    )
    draw = fugu.optimal_channel(scenario, fugu.Pure(1), "zero-one").column_draw(allow_no_noise=True)
    frame = spark.createDataFrame([(cell,) for cell in cells * 20], [name])
    draw_into(place, frame, draw)
    (table,) = {pq.read_table(file).schema.names[0] for file in (place / "parts").iterdir()}
    found = {cell for file in (place / "parts").iterdir() for cell in pq.read_table(file).column(0).to_pylist()}
    assert (table, found) == (visible(name), {visible("a\x07"), "b"})
