"""Statistics of a Spark frame are counted where it is: numbers, beliefs, certificates and marks are those of the same
table on every engine, whatever its cells, however it is cut, and whatever fails meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from spark_session import ONE_LOST
from test_spark_frames import CELLS, KINDS, OTHERS, ROWS, random_table

import fugu
from fugu.data import spark as counting
from fugu.data.private import open_counted
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, FuguError, PriorNotPublic, RepeatedUnit, UsageError
from fugu.ledger.frames import opened_marks
from fugu.queries import answer
from fugu.queries.answer import counted
from fugu.queries.groups import PersonNames
from fugu.queries.law_price import LawPrice
from fugu.scenario.query import ITSELF

RNG = np.random.default_rng(7)
TODAY = pa.table({
    "v": pa.array([None if k % 17 == 0 else float(k % 7) / 2 for k in range(300)]),
    "n": pa.array([k * k % 11 for k in range(300)], pa.int32()),
    "w": pa.array([["east ", "west", "north", None][k * k % 3] for k in range(300)]),
    "s": pa.array(["ill" if k % 5 < 2 else "well" for k in range(300)]),
    "g": pa.array([f"{k % 3}" for k in range(300)]),
    "h": pa.array([k % 2 for k in range(300)], pa.int8()),
    "u": pa.array([f"p{k}" if k % 2 else str(k) for k in range(300)]),
})  # fmt: skip
EARLIER = TODAY.take(RNG.permutation(260)).set_column(6, "u", pa.array(range(260)))
ASKED = (
    ("mean(v) by g", {"bounds": (0, 3), "step": 0.5}),
    ("variance(n)", {"bounds": (0, 10), "step": 1}),
    ("crosstab(w, h) by g", {}),
    ("median(n) by h", {"bounds": (0, 10), "step": 1}),
    ("count(w=west)", {}),
)


def engines(spark):
    """How a table is made on each of the five engines, the first in several partitions."""
    return {"spark": lambda table: spark.createDataFrame(table).repartition(3), **OTHERS}


def seen(monkeypatch):
    """What comes to the noise, from here on."""
    drawn, real = [], answer.draw

    def watched(asked, numbers, names, *more):
        drawn.append((tuple(names), numbers.tolist()))
        return real(asked, numbers, names, *more)

    monkeypatch.setattr(answer, "draw", watched)
    return drawn


@pytest.fixture
def stays(monkeypatch):
    """No row of a private frame comes to the driver."""

    def fetched(self, names):
        raise AssertionError(f"{names} were fetched")

    monkeypatch.setattr(SparkColumns, "fetch", fetched)


def test_a_session_is_the_same_on_five_engines(spark, monkeypatch):
    drawn, found = seen(monkeypatch), {}
    for name, made in engines(spark).items():
        session = fugu.Session(made(TODAY), made(EARLIER), "s", fugu.Pure(4), unit="u", public=["g", "h"], ledger=False)
        told = [session.ask(text, 0.2, **options) for text, options in ASKED[:3]]
        told += session.ask_all([{"query": text, **options} for text, options in ASKED[3:]], 0.2)
        said = [(str(a.question), a.own, a.note.partition(";")[0], [(c.group, c.cell) for c in a.cells]) for a in told]
        found[name] = (said, drawn[:], session.certificate.body)
        assert fugu.verify(session.certificate).holds
        drawn.clear()
    assert all(each == found["pandas"] for each in found.values())
    assert len(found["spark"][1]) == 5


@pytest.mark.parametrize("query", ["mean(v)", "histogram(w)", "crosstab(w, h)", "count(w=west)", "sum(n)"])
def test_an_answer_is_the_same_on_five_engines(spark, monkeypatch, query):
    options = {"bounds": (0, 10), "step": 1} if query in ("mean(v)", "sum(n)") else {}
    drawn, found = seen(monkeypatch), []
    for made in engines(spark).values():
        got = fugu.answer(made(TODAY), query, "s", fugu.Pure(1), made(EARLIER), by="g", unit="u", missing=None
                          if query != "mean(v)" else 1.0, allow_no_noise=True, **options)  # fmt: skip
        found.append(({name: one.certificate.text for name, one in got.mechanisms.items()}, drawn[:]))
        drawn.clear()
    assert len(found[0][1]) == 1 and all(each == found[0] for each in found)


def test_no_row_comes_to_the_driver(spark, stays):
    frame, reference = spark.createDataFrame(TODAY), TODAY.slice(0, 250)
    earlier = spark.createDataFrame(EARLIER)
    fugu.answer(frame, "mean(n)", "s", fugu.Pure(1), earlier, by="g", unit="u", allow_no_noise=True)
    session = fugu.Session(frame, reference, "s", fugu.Pure(2), unit="u", public=["h"], ledger=False)
    for text, options in ASKED:
        session.ask(text, 0.1, **options)


def test_marks_are_the_same_on_five_engines(spark):
    schema = fugu.Schema.from_table(TODAY)
    schema = schema.with_field("u", fugu.Schema({"u": {"kind": "identifier"}}).fields["u"])
    found = [
        opened_marks(open_counted(made(TODAY), schema, TODAY.column_names), "u") for made in engines(spark).values()
    ]
    rows = [[(words.tolist(), often.tolist()) for words, often in marks.rows] for marks in found]
    told = [(marks.named, sorted(marks.persons), own, marks.earlier()) for marks, own in zip(found, rows, strict=True)]
    assert len(told[0][1]) == 300 and all(each[:3] == told[0][:3] for each in told)
    assert told[0][3].keys() == told[1][3].keys()  # those of version 0.1


def test_a_ledger_knows_the_same_table_and_people_on_another_engine(spark, tmp_path):
    ledger = tmp_path / "ledger.db"
    first = fugu.Session(TODAY, EARLIER, "s", fugu.Pure(1), unit="u", ledger=ledger, data="visits")
    value = first.ask("count(w=west)", 0.5).value
    frame = spark.createDataFrame(TODAY).repartition(2)
    again = fugu.Session(frame, EARLIER, "s", fugu.Pure(1), unit="u", ledger=ledger, data="visits")
    assert again.ask("count(w=west)", 0.5).value == value  # read back: nothing is drawn twice
    with pytest.raises(FuguError, match="visits"):
        fugu.Session(frame, EARLIER, "s", fugu.Pure(1), unit="u", ledger=ledger, data="other").ask("count(w=west)", 0.5)
    rest = spark.createDataFrame(TODAY.slice(100).append_column("x", pa.array([1.5] * 200)))
    other = fugu.Session(rest, EARLIER, "s", fugu.Pure(1), unit="u", ledger=ledger, data="others")
    with pytest.raises(FuguError, match="visits"):
        other.ask("count(w=west)", 0.7)  # of whom half is spent there


def numbers(table, reference, query, **options):
    """The numbers before noise, group by group, with all that is certified; or why there are none."""
    try:
        opened = LawPrice.of(reference, query, "s", fugu.Pure(2), **options).open(table)
        private = counted(opened, opened.private, opened.grouping)
    except FuguError as error:
        return type(error).__name__, str(error)
    proofs = {name: one.certificate.text for name, one in opened.mechanisms.items()}
    return private.tolist(), opened.grouping.names, opened.grouping.sizes, proofs


@pytest.mark.parametrize("seed", range(8))
def test_odd_cells_count_as_those_of_the_same_table_in_arrow(spark, seed):
    rng = np.random.default_rng(seed)
    table, reference = (random_table(rng, int(rng.integers(2, 60))) for _ in range(2))
    kind = table.schema.field("v").type
    numeric = any(test(kind) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))
    query, options = ("mean(v)", {"bounds": (0, 3), "step": 1}) if numeric else ("histogram(v)", {})
    reference = pa.table({"s": ["a", "b"] * 40, "v": pa.array([*KINDS["finite"][1][:6], 2.0, 3.0]).take(
        pa.array([k % 8 for k in range(80)])), "g": ["x", "1"] * 40}) if numeric else pa.table({
        "s": ["a", "b"] * 40, "v": ["a", "A", "1", "True"] * 20, "g": ["x", "1"] * 40})  # fmt: skip
    options |= {"unit": "u"} if rng.random() < 0.5 else {}
    options |= {"by": "s2"} if rng.random() < 0.6 else {}
    table = table.append_column("s2", table.column("s"))
    reference = reference.append_column("s2", reference.column("g"))
    frame = spark.createDataFrame(table).repartition(int(rng.integers(1, 4)))
    assert numbers(frame, reference, query, **options) == numbers(table, reference, query, **options)


REFERENCE = {"s": ["a", "b"] * 40, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 10}


@pytest.mark.parametrize("kind", CELLS)
def test_one_row_of_a_spark_frame_adds_its_own_contribution(spark, kind):
    plain, *cells = CELLS[kind]
    price = LawPrice.of(REFERENCE, "mean(v)", "s", fugu.Pure(1), bounds=(0, 5), step=1)

    def total(listed):
        rows = ", ".join(f"({k}, {cell})" for k, cell in enumerate(listed))
        opened = price.open(spark.sql(f"SELECT CAST(v AS {kind}) AS v FROM VALUES {rows} AS t(k, v)"))
        return int(counted(opened, opened.private, opened.grouping)[0, 0])

    rest = total([plain] * (ROWS - 1))
    for cell in (plain, *cells):
        assert total([*[plain] * (ROWS - 1), cell]) == rest + total([cell])


def test_grouped_or_not_the_counts_are_the_same(spark, monkeypatch):
    frame, found = spark.createDataFrame(TODAY).repartition(3), []
    for repeats in (True, False):
        monkeypatch.setattr(counting, "_repeats", lambda frame, repeats=repeats: repeats)
        found.append(numbers(frame, TODAY.slice(0, 200), "crosstab(w, n)", by="g"))
    assert found[0] == found[1] == numbers(TODAY, TODAY.slice(0, 200), "crosstab(w, n)", by="g")


class Breaking:
    """An attempt that breaks when all of it is counted; the first, or every one."""

    def __init__(self, run, breaks):
        self.run, self.breaks = run, breaks

    def __call__(self, batches):
        from pyspark import TaskContext

        told = list(self.run(batches))
        self.breaks(TaskContext.get().attemptNumber())
        yield from told


def first_attempts_fail(attempt):
    if attempt == 0:
        raise RuntimeError("4711")


def first_workers_die(attempt):
    if attempt == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def every_attempt_fails(attempt):
    raise RuntimeError("4711")


def breaking(monkeypatch, breaks):
    made = counting.TallyTask
    monkeypatch.setattr(counting, "TallyTask", lambda *given: Breaking(made(*given), breaks))


@pytest.mark.parametrize("breaks", [first_attempts_fail, first_workers_die], ids=["fails", "dies"])
def test_what_is_tried_again_is_counted_once(spark, monkeypatch, breaks):
    whole = numbers(TODAY, EARLIER, "histogram(w)", by="g")
    breaking(monkeypatch, breaks)
    assert numbers(spark.createDataFrame(TODAY).repartition(3), EARLIER, "histogram(w)", by="g") == whole


def test_what_cannot_be_counted_is_not_charged(spark, monkeypatch, tmp_path):
    ledger = tmp_path / "ledger.db"
    session = fugu.Session(spark.createDataFrame(TODAY), EARLIER, "s", fugu.Pure(1), ledger=ledger, data="visits")
    session.ask("count(w=west)", 0.1)
    spent = session.spent()
    with monkeypatch.context() as patch:
        breaking(patch, every_attempt_fails)
        with pytest.raises(BadTable, match="could not count") as refusal:
            session.ask("mean(n)", 0.2)
    assert "4711" not in str(refusal.value) and refusal.value.__cause__ is None and session.spent() == spent
    assert session.ask("mean(n)", 0.2).cells and session.spent() > spent


class Twice:
    """Every partition says that it is the first one."""

    def __init__(self, run):
        self.run = run

    def __call__(self, batches):
        for told in self.run(batches):
            first = pa.array([0], pa.int32())
            yield pa.RecordBatch.from_arrays([first, *told.columns[1:]], names=told.schema.names)


def test_a_partition_that_is_told_twice_is_refused(spark, monkeypatch):
    made = counting.TallyTask
    monkeypatch.setattr(counting, "TallyTask", lambda *given: Twice(made(*given)))
    frame = spark.range(0, 20, 1, 4).selectExpr("id AS n")
    monkeypatch.setattr(counting, "_repeats", lambda frame: False)
    with pytest.raises(BadTable, match="told twice"):
        SparkColumns(frame).tally(("n",), lambda native, counts: {})


def test_a_frame_that_may_come_otherwise_runs_once(spark, tmp_path):
    plain = spark.createDataFrame(TODAY)
    some = plain.where("n IN (SELECT n FROM (SELECT 3 AS n LIMIT 1))")
    first = plain.groupBy("g").agg({"v": "first"})
    for frame in (plain.limit(9), plain.dropDuplicates(["g"]), plain.sample(0.5), first, some):
        assert SparkColumns(frame).fixed().frame is not frame
    for frame in (plain, plain.where("n > 3").select("v"), plain.join(plain.select("u"), "u")):
        assert SparkColumns(frame).fixed().frame is frame
    with pytest.raises(UsageError, match="draws at random"):
        fugu.answer(plain.selectExpr("*", "rand() AS r"), "mean(n)", "s", fugu.Pure(1), EARLIER)


def test_a_table_that_grows_meanwhile_is_refused(spark, tmp_path):
    path = str(tmp_path / "visits")
    spark.createDataFrame(TODAY).write.parquet(path)
    frame = spark.read.parquet(path)
    session = fugu.Session(frame, EARLIER, "s", fugu.Pure(1), ledger=False)
    session.ask("count(w=west)", 0.1)
    counted_before = SparkColumns.tally
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SparkColumns, "tally", lambda self, names, fold: (counted_before(self, names, fold)[0], 301))
        with pytest.raises(BadTable, match="changed while it was read"):
            session.ask("mean(n)", 0.1)


def test_a_person_in_two_rows_is_refused_in_whatever_spelling(spark):
    for cells in (
        ["1", "2", "01"],
        ["a", "b ", "b"],
        [1, 2, 2],
        [1.5, 2.0, 2.0],
        ["a", "b", None],
        ["e\u0301", "é", "x"],
    ):
        frame = spark.createDataFrame(pa.table({"u": cells, "n": [1, 2, 3]}))
        with pytest.raises(RepeatedUnit, match="missing or repeated"):
            fugu.answer(frame, "mean(n)", "s", fugu.Pure(1), EARLIER, unit="u", allow_no_noise=True)
    for cells in (["1", "2", "1 a"], [1, 2, 2**60], ["True", "2 ", "x"], [1.5, 2.0, 3.0]):
        for frame in (spark.createDataFrame(pa.table({"u": cells, "n": [1, 2, 3]})), {"u": cells, "n": [1, 2, 3]}):
            fugu.answer(frame, "mean(n)", "s", fugu.Pure(1), EARLIER, unit="u", allow_no_noise=True)


def test_names_that_stand_for_themselves_are_compared_by_spark_alone(spark, monkeypatch):
    spell = PersonNames("u", fugu.Schema({"u": {"kind": "identifier"}}))
    rng, pool = (
        np.random.default_rng(3),
        ["a", "A", "1", "01", "true", "TRUE", "b-2", "inf", "NA", "x\n", " a", "0", "é", ""],
    )
    for _ in range(12):
        cells = [pool[int(k)] for k in rng.choice(len(pool), 3, replace=bool(rng.random() < 0.2))]
        source = SparkColumns(spark.createDataFrame(pa.table({"u": cells})))
        names = spell(cells)
        right = None not in names and len(set(names)) == len(names)
        assert source.different("u", spell, ITSELF, ("", "NA")) == source.different("u", spell, "", ()) == right
    with monkeypatch.context() as patch:
        patch.setattr(SparkColumns, "_spelled", None)
        for cells in (["a", "A", "b-2", "inf"], [3, 1, 2]):
            assert SparkColumns(spark.createDataFrame(pa.table({"u": cells}))).different("u", spell, ITSELF, ())


def test_the_reference_itself_is_refused(spark):
    frame = spark.createDataFrame(TODAY).repartition(3)
    with pytest.raises(PriorNotPublic):
        fugu.answer(frame, "mean(n)", "s", fugu.Pure(1), TODAY)
    with pytest.raises(PriorNotPublic):
        fugu.Session(frame, TODAY, "s", fugu.Pure(1), ledger=False).ask("count(w=west)", 0.1)


@pytest.mark.parametrize(
    ("cells", "what"),
    [("parse_json('1')", "cast it to a text"), ("interval 1 month", "cast it to a text")],
    ids=["variant", "months"],
)
def test_types_that_do_not_come_are_refused_by_name(spark, cells, what):
    frame = spark.sql(f"SELECT {cells} AS n, 'ill' AS s")
    with pytest.raises(BadTable, match=what):
        fugu.answer(frame, "mean(n)", "s", fugu.Pure(1), EARLIER, allow_no_noise=True)


def test_a_group_with_missing_cells_is_refused_without_a_cell(spark):
    table = TODAY.set_column(2, "w", pa.array([None, *["east"] * 299]))
    with pytest.raises(BadTable, match="'w' groups the rows and has missing cells"):
        fugu.answer(spark.createDataFrame(table), "mean(n)", "s", fugu.Pure(1), EARLIER, by="w")


LOST = (
    ONE_LOST
    + """
from fugu.data import spark as counting
from fugu.queries import answer
made, real, numbers = counting.TallyTask, answer.draw, []
counting.TallyTask = lambda *given: Lost(made(*given))
counting._repeats = lambda frame: False  # four partitions, which stay four
def draw(asked, exact, names, *more):
    numbers.append(exact.tolist())
    return real(asked, exact, names, *more)
answer.draw = draw
more = dict(spark_executor_memory="700m", spark_testing_reservedMemory="1")
spark = session(place / "spark", "local-cluster[2,1,800]", **more)
frame = spark.range(0, 4000, 1, 4).selectExpr("cast(id % 6 AS int) AS v")
reference = {{"s": ["a", "b"] * 400, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 100}}
fugu.answer(frame, "histogram(v)", "s", fugu.Pure(1), reference, allow_no_noise=True)
print(numbers)
os._exit(0)
"""
)


def test_an_executor_that_is_lost_changes_no_count(tmp_path):
    (tmp_path / "spark").mkdir()
    code = LOST.format(tests=str(Path(__file__).parent), place=str(tmp_path))
    done = subprocess.run([sys.executable, "-uc", code], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "lost").exists()
    assert done.stdout.splitlines()[-1] == "[[[667, 667, 667, 667, 666, 666, 0]]]"


def test_the_reference_of_a_session_is_counted_where_it_is(spark, stays, monkeypatch):
    """And gives the beliefs, the noise and the certificate of the same rows in memory, in whatever order they come."""
    found = []
    for reference in (spark.createDataFrame(EARLIER).repartition(4), EARLIER, EARLIER.take(RNG.permutation(260))):
        session = fugu.Session(TODAY, reference, "s", fugu.Pure(1), unit="u", ledger=False)
        session.ask_all([{"query": query, **options} for query, options in ASKED])
        found.append((session.certificate.claims, session._belief.fingerprint))
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][1] != found[1][1]  # a ledger knows beliefs by their rows in order: here in that of their cells
    again = spark.createDataFrame(EARLIER.take(RNG.permutation(260))).repartition(2)
    assert fugu.Session(TODAY, again, "s", fugu.Pure(1), unit="u", ledger=False)._belief.fingerprint == found[0][1]
