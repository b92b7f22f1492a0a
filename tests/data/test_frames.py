"""Any frame gives the same columns, exactly; nothing is wrapped, nothing private is said."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Column, Table, count_pairs
from fugu.errors import BadTable, ColumnNotFound

DATA = {
    "sex": ["F", None, "M", "F"],
    "age": [40, 41, None, -3],
    "chol": [1.5, None, 0.1, 1e300],
    "ill": [True, False, None, True],
}
SENTINEL = "SENTINEL-93177"


def relation(data):
    arrow = pa.table(data)  # noqa: F841 - duckdb finds it by name
    return duckdb.sql("SELECT * FROM arrow")


ENGINES = {
    "dict": dict,
    "numpy": lambda d: {k: np.array(v, dtype=object) for k, v in d.items()},
    "pandas": pd.DataFrame,
    "pandas nullable": lambda d: pd.DataFrame(d).convert_dtypes(),
    "pandas arrow": lambda d: pd.DataFrame(d).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "polars lazy": lambda d: pl.DataFrame(d).lazy(),
    "pyarrow": pa.table,
    "duckdb": relation,
    "dict of series": lambda d: {k: pl.Series(k, v) for k, v in d.items()},
    "dict of arrow": lambda d: {k: pa.array(v) for k, v in d.items()},
}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_the_same_columns(engine):
    table = Table(ENGINES[engine](DATA))
    assert table.columns == ("sex", "age", "chol", "ill") and len(table) == 4
    assert table.column("sex").tolist() == ["F", None, "M", "F"]
    np.testing.assert_array_equal(table.column("age"), [40, 41, np.nan, -3])
    np.testing.assert_array_equal(table.column("chol"), [1.5, np.nan, 0.1, 1e300])
    np.testing.assert_array_equal(table.column("ill"), [1, 0, np.nan, 1])
    assert table.column("age").dtype == np.float64 and table.column("sex").dtype == object
    assert [table.is_numeric(c) for c in table.columns] == [False, True, True, True]


@pytest.mark.parametrize("engine", ENGINES)
def test_selected_columns_keep_their_rows_side_by_side(engine):
    table = Table(ENGINES[engine](DATA)).select(["age", "sex"])
    assert table.columns == ("age", "sex") and len(table) == 4
    assert table.column("sex").tolist() == ["F", None, "M", "F"]


def test_a_table_of_a_table_is_the_same_table():
    assert Table(Table(DATA)).column("sex").tolist() == DATA["sex"]


def test_a_lazy_query_runs_once():
    runs = []

    def count(frame):
        runs.append(1)
        return frame

    table = Table(pl.DataFrame(DATA).lazy().map_batches(count, schema=None))
    for name in table.columns:
        table.column(name)
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("int8", [-128, 127]),
        ("uint8", [0, 255]),
        ("int16", [-(2**15), 2**15 - 1]),
        ("uint32", [0, 2**32 - 1]),
        ("int64", [-(2**63), 2**63 - 1]),
        ("uint64", [0, 2**64 - 1]),
    ],
)
def test_whole_numbers_of_any_width_are_never_wrapped(dtype, values):
    array = np.array(values, dtype=dtype)
    sources = [
        {"x": array},
        {"x": values},
        pd.DataFrame({"x": array}),
        pl.DataFrame({"x": array}),
        pa.table({"x": array}),
        relation({"x": array}),
    ]
    for source in sources:
        column = Table(source).exact("x")
        assert column.values.tolist() == values
        assert column.floats().tolist() == [float(v) for v in values]


@pytest.mark.parametrize("engine", ["dict", "pandas", "polars", "pyarrow", "duckdb"])
def test_decimals_are_the_nearest_doubles(engine):
    decimals = [Decimal("0.1"), None, Decimal("123456789012345678.123456789"), Decimal("-2.5")]
    found = Table(ENGINES[engine]({"x": decimals})).column("x")
    np.testing.assert_array_equal(found, [0.1, np.nan, float(decimals[2]), -2.5])


def test_hugeint_and_enum_of_duckdb_are_read_exactly():
    source = duckdb.sql(
        "SELECT * FROM (VALUES (170141183460469231731687303715884105727::HUGEINT, 'a'::ENUM('b', 'a')), "
        "(NULL, 'b')) t(h, e)"
    )
    table = Table(source)
    assert table.column("h")[0] == float(2**127 - 1) and np.isnan(table.column("h")[1])
    assert table.column("e").tolist() == ["a", "b"]


def test_numbers_that_doubles_cannot_tell_apart_are_published_but_not_told_apart():
    for values in (
        [2**70, 2**70 + 1],
        [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")],
        [1e17, 2e17],
    ):
        column = Column.of("x", values)
        assert column.floats().tolist() == [float(v) for v in values]
        with pytest.raises(BadTable, match="store them as text"):
            column.codes()
    codes, distinct = Column.of("x", [2**63, 2**63 + 1, 5]).codes()
    assert codes.tolist() == [1, 2, 0] and distinct.tolist() == [5, 2**63, 2**63 + 1]


@pytest.mark.parametrize(
    "values",
    [
        [Fraction(1, 2), 3],
        [np.float32(0.5), np.int8(3)],
        (0.5, 3),
        pd.Series([0.5, 3.0]),
        np.ma.array([0.5, 3.0]),
        np.array([0.5, 3.0], dtype=np.longdouble),
        np.array([0.5, 3.0], dtype=np.float16),
    ],
)
def test_numbers_of_any_kind_become_doubles(values):
    assert Column.of("x", values).floats().tolist() == [0.5, 3.0]


def test_negative_zero_is_zero():
    assert str(Column.of("x", [-0.0, 0.0]).floats().tolist()) == "[0.0, 0.0]"
    assert Column.of("x", [-0.0, 0.0]).codes()[1].tolist() == [0.0]


@pytest.mark.parametrize("gone", [None, float("nan"), np.nan, pd.NA, pd.NaT, Decimal("NaN"), np.ma.masked])
def test_every_kind_of_missing_is_missing(gone):
    assert Column.of("x", ["a", gone]).missing.tolist() == [False, True]
    assert Column.of("x", [1, gone]).missing.tolist() == [False, True]


def test_categoricals_of_any_engine_are_their_categories():
    texts = ["b", None, "a"]
    for source in (
        pd.DataFrame({"x": pd.Categorical(texts)}),
        pl.DataFrame({"x": pl.Series(texts, dtype=pl.Categorical)}),
        pl.DataFrame({"x": pl.Series(texts, dtype=pl.Enum(["b", "a"]))}),
        pa.table({"x": pa.array(texts).dictionary_encode()}),
    ):
        assert Table(source).column("x").tolist() == texts
    assert Table(pd.DataFrame({"x": pd.Categorical([2, None, 1])})).is_numeric("x")


@pytest.mark.parametrize("engine", ["dict", "pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2020, 1, 1)] * 2,
        [datetime.datetime(2020, 1, 1, 3)] * 2,
        [datetime.timedelta(days=3)] * 2,
        [datetime.time(3)] * 2,
    ],
    ids=["date", "datetime", "duration", "time"],
)
def test_dates_are_refused_as_no_numbers(engine, values):
    table = Table(ENGINES[engine]({"day": values, "x": [1, 2]}))
    with pytest.raises(BadTable, match="'day' holds dates"):
        table.column("day")
    assert table.column("x").tolist() == [1, 2]


def test_duckdb_hands_over_dates_as_text_since_some_of_them_are_no_dates_in_python():
    import duckdb

    days = "SELECT * FROM (VALUES (DATE 'infinity', INTERVAL 100000 YEAR), (DATE '2020-01-01', INTERVAL 1 DAY)) t(d, i)"
    table = Table(duckdb.sql(days))
    assert table.column("d").tolist() == ["infinity", "2020-01-01"] and len(table.column("i")) == 2


@pytest.mark.parametrize(
    "values",
    [
        [1, SENTINEL],
        [SENTINEL.encode()],
        [[SENTINEL]],
        [{"a": SENTINEL}],
        [1j],
        np.zeros((2, 2)),
        np.array([b"SENTINEL-93177"]),
        [object()],
    ],
)
def test_neither_numbers_nor_text_is_refused_without_naming_a_cell(values):
    with pytest.raises(BadTable, match="'x'") as caught:
        Column.of("x", values)
    assert "93177" not in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        lambda: pa.table([[1], [2]], names=["a", "a"]),
        lambda: duckdb.sql("SELECT 1 AS a, 2 AS a"),
    ],
)
def test_duplicate_column_names_are_refused(frame):
    with pytest.raises(BadTable, match="same name"):
        Table(frame())


@pytest.mark.parametrize(
    "bad",
    [
        None,
        3,
        "text",
        [1, 2],
        {},
        {"a": 1},
        {"a": "abc"},
        {"a": [1], "b": [1, 2]},
        {1: [2]},
        pd.DataFrame([[1]]),
        pd.Series([1]),
    ],
)
def test_what_is_not_a_table_is_refused(bad):
    with pytest.raises(BadTable):
        len(Table(bad))


def test_an_unknown_column_is_answered_with_the_nearest_name():
    with pytest.raises(ColumnNotFound, match="did you mean 'chol'"):
        Table(DATA).column("chool")
    with pytest.raises(ColumnNotFound):
        Table(DATA).select(["agee"])


def test_engine_errors_do_not_quote_cells():
    wrong = pl.DataFrame({"x": [SENTINEL]}).lazy().select(pl.col("x").cast(pl.Int64))
    bad_cast = duckdb.sql(f"SELECT CAST(v AS INTEGER) AS x FROM (VALUES ('{SENTINEL}')) t(v)")
    for source in (wrong, bad_cast):
        with pytest.raises(BadTable) as caught:
            Table(source).column("x")
        assert "93177" not in str(caught.value)
        assert caught.value.__suppress_context__


def test_repr_holds_no_cell():
    assert "93177" not in repr(Table({"x": [SENTINEL]}))


def test_a_table_without_rows_has_length_zero():
    for source in (
        {"x": []},
        pd.DataFrame({"x": []}),
        pl.DataFrame({"x": []}),
        relation({"x": pa.array([], pa.int64())}),
    ):
        assert len(Table(source)) == 0 and Table(source).column("x").tolist() == []


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 5)), max_size=60))
def test_counts_of_pairs_are_those_of_a_plain_loop(rows):
    groups = np.array([g for g, _ in rows], dtype=np.int64)
    places = np.array([p for _, p in rows], dtype=np.int64)
    plain: dict[int, dict[int, int]] = {}
    for group, place in rows:
        if group >= 0:
            plain.setdefault(group, {}).setdefault(place, 0)
            plain[group][place] += 1
    found = {g: dict(zip(p.tolist(), c.tolist(), strict=True)) for g, (p, c) in count_pairs(groups, places, 6).items()}
    assert found == plain


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=40))
def test_codes_of_text_point_at_sorted_distinct_values(items):
    column = Column.of("x", [*items, "z"])
    codes, distinct = column.codes()
    assert distinct.tolist() == sorted({i for i in items if i is not None} | {"z"})
    assert [None if c < 0 else distinct[c] for c in codes] == [*items, "z"]
