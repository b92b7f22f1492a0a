"""A table is the same on every engine: the same beliefs, the same certificate, whatever the cells; one row of a Spark
frame moves itself alone."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import fugu
from fugu.data import Table
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, FuguError
from fugu.publication.releasing import open_column
from fugu.scenario.query import ColumnQuery

TEXTS = ("a", "A", "a ", " a", "", "NA", "1", "1.0", "01", "True", "é", "e\u0301", "a\x00", "\u00a0a", "İ", "(other)")
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(1900, 1, 1)]
KINDS = {
    "whole": (pa.int64(), [0, 1, -1, 2**53, 2**53 + 1, -(2**63), None]),
    "small": (pa.int8(), [0, 1, 2, 3, -1, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, 5e-324, 0.1, 0.1 + 2**-56, None]),
    "finite": (pa.float64(), [0.0, -0.0, 1.0, 1.5, 0.1, 0.30000000000000004, 0.3]),
    "float": (pa.float32(), [0.0, -0.0, 0.1, 0.2, 1.5, None]),
    "truth": (pa.bool_(), [True, False, None]),
    "text": (pa.string(), [*TEXTS, None]),
    "few": (pa.string(), ["a", "A", "a ", "b"]),
    "decimal": (pa.decimal128(20, 2), [Decimal("1.00"), Decimal("1.01"), Decimal("-0.00"), None]),
    "wide": (pa.decimal128(38, 0), [Decimal(2**100), Decimal(2**100 + 1), Decimal(1), None]),
    "day": (pa.date32(), [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1, 1, 1), None]),
    "moment": (pa.timestamp("us"), [*MOMENTS, None]),
    "zoned": (pa.timestamp("us", "UTC"), [*MOMENTS, None]),
    "span": (pa.duration("us"), [dt.timedelta(1), dt.timedelta(0, 1), None]),
    "bytes": (pa.binary(), [b"a", b"\xff", b"A", None]),
    "list": (pa.list_(pa.int64()), [[1], [2], [], None]),
}
OTHERS = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
}


def facts(reference, **asked):
    """All that a scenario is, to the bit; or why there is none."""
    try:
        found = fugu.Scenario.from_table(reference, **asked)
    except FuguError as error:
        return type(error).__name__, str(error)
    laws = [(name, law.values.tobytes(), law.masses.parts.tolist()) for name, law in found.laws.items()]
    certificate = None
    if len(laws) > 1 and all(np.isfinite(law.values).all() for law in found.laws.values()):
        certificate = fugu.calibrate(found, fugu.Pure(1), noise="laplace").certificate.text
    return (
        laws,
        found.schema.to_json(),
        found.query.to_json(),
        found.recipe,
        found.reference_digest,
        found.report,
        certificate,
    )


def random_table(rng, rows):
    columns = {}
    kinds = str(rng.choice(list(KINDS))), str(rng.choice(["few", "text", "truth", "whole", "finite", "day", "decimal"]))
    for name, kind in zip(("v", "s"), kinds, strict=True):
        made, cells = KINDS[kind]
        pool = cells if rng.random() < 0.4 else [cell for cell in cells if cell is not None and cell == cell]
        columns[name] = pa.array([pool[int(k)] for k in rng.integers(0, len(pool), rows)], type=made)
    names = list(range(rows)) if rng.random() < 0.5 else [f"p{k}" for k in range(rows)]
    if rng.random() < 0.4:
        names = [str(name) for name in names]
        names[int(rng.integers(rows))] = str(rng.choice([*TEXTS, "p0", "p1 "]))
    columns["u"] = pa.array(names)
    return pa.table(columns)


@pytest.mark.parametrize("seed", range(12))
def test_beliefs_are_those_of_the_same_table_in_arrow(spark, seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, int(rng.integers(2, 40)))
    asked = {"publish": "v", "protect": "s", "missing": str(rng.choice(["error", "drop"]))}
    if rng.random() < 0.4:
        asked["unit"] = "u"
    frame = spark.createDataFrame(table).repartition(int(rng.integers(1, 4)))
    assert facts(frame, **asked) == facts(table, **asked)


def test_five_engines_one_certificate(spark):
    table = pa.table({"v": [0, 1, 2, 3, 1, 2, 5, 4] * 10, "s": ["a", "b", "a ", None] * 20, "u": list(range(80))})
    first, *others = [facts(made(table), publish="v", protect="s", unit="u", missing="drop")
                      for made in (spark.createDataFrame, *OTHERS.values())]  # fmt: skip
    assert first[-1] is not None and all(first == other for other in others)


def test_equal_rows_come_once_and_bytes_tell_texts_apart(spark, monkeypatch):
    frame = spark.sql("SELECT v, v COLLATE UTF8_LCASE AS s FROM VALUES ('a'), ('A'), ('a'), ('a '), (NULL) AS t(v)")
    counted = Table(frame).counted(["s"])
    cells = counted.raw("s").to_list()
    told = dict(zip(cells, counted.raw("s").counts.tolist(), strict=True))
    assert told == {"a": 2, "A": 1, "a ": 1, None: 1}
    keyed = SparkColumns.keyed

    def by_spark_s_own_equality(self, names):  # the wrong version: a collation joins "a" and "A"
        found = keyed(self, names)
        own = self.frame.toDF(*(f"c{k}" for k in range(len(names))))
        return type(found)(own, found.texts, found.kinds)

    monkeypatch.setattr(SparkColumns, "keyed", by_spark_s_own_equality)
    joined = Table(frame.select("s")).counted(["s"])
    assert len(joined.raw("s").counts) < 4


def test_texts_that_do_not_decode_become_what_a_text_file_makes_of_them(spark):
    frame = spark.sql("SELECT cast(x AS string) AS v FROM VALUES (X'61'), (X'ff61'), (X'eda080') AS t(x)")
    for cells in (Table(frame).raw("v").to_list(), Table(frame).counted(["v"]).raw("v").to_list()):
        assert sorted(cells) == ["a", "\ufffda", "\ufffd\ufffd\ufffd"]


def test_moments_come_in_utc_whatever_zone_the_session_has(spark):
    words = "SELECT timestamp'2020-01-01 10:00:00+02:00' AS v"
    was = spark.conf.get("spark.sql.session.timeZone")
    try:
        found = []
        for zone in ("UTC", "Asia/Tokyo", "America/New_York"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            found += [
                table.raw("v").to_list() for table in (Table(spark.sql(words)), Table(spark.sql(words)).counted(["v"]))
            ]
    finally:
        spark.conf.set("spark.sql.session.timeZone", was)
    assert all(cells == [dt.datetime(2020, 1, 1, 8, tzinfo=dt.UTC)] for cells in found)
    assert {str(cells[0]) for cells in found} == {"2020-01-01 08:00:00+00:00"}


def test_columns_are_found_by_place_not_by_case(spark):
    frame = spark.createDataFrame([(1, 2, 3)], ["v", "V", "a.`b`"])
    assert [Table(frame).raw(name).to_list() for name in ("v", "V", "a.`b`")] == [[1], [2], [3]]
    with pytest.raises(BadTable, match="same name"):
        Table(spark.sql("SELECT 1 AS v, 2 AS v"))


def test_what_arrow_does_not_carry_is_refused_by_its_type(spark):
    frame = spark.sql("SELECT parse_json('1') AS v, 'a' AS s, interval 1 month AS w")
    for name in ("v", "w"):
        with pytest.raises(BadTable, match="cast it to a text"):
            Table(frame).select([name])
    assert Table(frame).select(["s"]).raw("s").to_list() == ["a"]


def test_what_spark_raises_quotes_no_cell(spark):
    frame = spark.sql("SELECT raise_error(concat('secret', s)) AS v, s FROM VALUES ('4711') AS t(s)")
    for look in (lambda: Table(frame).raw("v"), lambda: Table(frame).counted(["v"])):
        with pytest.raises(BadTable) as refusal:
            look()
        assert "4711" not in str(refusal.value) and refusal.value.__cause__ is None
        assert refusal.value.__suppress_context__


def test_a_frame_that_may_change_is_no_proof_of_one_row_each(spark):
    names = spark.range(100).selectExpr("concat('p', id) AS u", "id AS n")
    assert Table(names).one_each("u") and Table(names).one_each("n")
    assert not Table(names.selectExpr("substr(u, 1, 2) AS u")).one_each("u")
    assert not Table(names).one_each("u", ["p7"])
    assert not Table(spark.range(5).selectExpr("cast(rand() AS string) AS u")).one_each("u")
    assert not Table(spark.sql("SELECT u FROM VALUES ('a'), ('b '), (NULL) AS t(u)")).one_each("u")


REFERENCE = {"s": ["a", "b"] * 40, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 10}
ROWS, ROW = 8, 5
CELLS = {
    "int": ["2", "7", "-2147483648", "NULL"],
    "double": ["2.0D", "0.5D", "double('inf')", "double('nan')", "NULL"],
    "string": ["'2'", "''", "'moon'", "cast(X'ff' AS string)", "repeat('9', 400)", "NULL"],
    "string collate UTF8_LCASE": ["'2'", "'A'", "NULL"],
    "decimal(38,10)": ["2", "1e27", "NULL"],
    "date": ["date'2020-01-01'", "date'19999-01-01'", "date'-0044-03-15'", "NULL"],
    "timestamp": ["timestamp'2020-01-01'", "timestamp'294246-01-01'", "NULL"],
    "binary": ["X'32'", "X'ff'", "NULL"],
    "array<int>": ["array(1)", "array()", "NULL"],
    "boolean": ["true", "NULL"],
}


@pytest.mark.parametrize("kind", CELLS)
def test_one_row_of_a_spark_frame_moves_itself_alone(spark, kind):
    scenario = fugu.Scenario.from_table(REFERENCE, protect="s", publish="v")
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5))
    plain, *cells = CELLS[kind]
    found = []
    for cell in (plain, *cells):
        listed = ", ".join(f"({k}, {cell if k == ROW else plain})" for k in range(ROWS))
        frame = spark.sql(f"SELECT CAST(v AS {kind}) AS v FROM VALUES {listed} AS t(k, v) ORDER BY k")
        found.append(ColumnQuery.from_json(mechanism.context.query).of_private(open_column(mechanism, frame)))
    for values in found:
        assert np.isfinite(values).all() and np.array_equal(np.delete(values, ROW), np.delete(found[0], ROW))


def test_statistics_of_a_frame_are_drawn_here(spark):
    table = {"s": ["a", "b"] * 40, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 10, "g": ["x", "x", "y", "y"] * 20}
    frame = spark.createDataFrame(pa.table(table))
    found = fugu.answer(
        frame, "mean(v)", "s", fugu.Pure(5), reference=frame.where("v < 5"), by="g", bounds=(0, 5), step=1
    )
    assert [cell.group for cell in found.cells] == ["x", "y"]
    session = fugu.Session(frame, frame.sample(0.9, seed=1), "s", fugu.Pure(1), ledger=False)
    session.ask("count", 0.5)
    assert fugu.verify(session.certificate).holds
