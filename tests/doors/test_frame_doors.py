"""One row of a frame, whatever its engine and types: labels, types, index and errors of what goes out stay the same."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fugu
from fugu.data import frame as kinds
from fugu.publication.releasing import open_column
from fugu.scenario.query import ColumnQuery

ROWS, ROW = 12, 5
REFERENCE = {"s": ["a", "b"] * 40, "v": [0, 1, 2, 3, 1, 2, 5, 4] * 10}
DAY = datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2)))


def typed(kind, plain=2):
    """Cells of one type of pandas: eleven usual ones and the odd one among them."""
    return lambda cell: pd.DataFrame({"v": pd.array([plain] * ROW + [cell] + [plain] * (ROWS - ROW - 1), dtype=kind)})


def listed(made, plain=2):
    return lambda cell: made({"v": [plain] * ROW + [cell] + [plain] * (ROWS - ROW - 1)})


CASES = {
    "Int64": (typed("Int64"), [2, 0, -(2**62), None, pd.NA]),
    "Float64": (typed("Float64"), [2.0, 0.5, float("inf"), float("nan"), None]),
    "boolean": (typed("boolean", True), [True, False, None]),
    "string": (typed("string", "2"), ["2", "", "moon", None, "9" * 400]),
    "int64[pyarrow]": (typed("int64[pyarrow]"), [2, 2**62, None]),
    "object": (typed(object), [2, "x", None, [1], {"a": 1}, 10**400, b"\xff", object()]),
    "categories, of which some never occur": (
        lambda cell: pd.DataFrame({"v": pd.Categorical([2] * ROW + [cell] + [2] * 6, categories=[1, 2, 9, 10**6])}),
        [2, 1, 9, 10**6, None],
    ),
    "times with a zone": (
        lambda cell: pd.DataFrame({"v": pd.Series([DAY] * ROW + [cell] + [DAY] * 6)}),
        [DAY, DAY + timedelta(days=9e4), None],
    ),
    "polars": (listed(pl.DataFrame), [2, 7, None]),
    "polars, lazy": (listed(pl.LazyFrame), [2, 7, None]),
    "polars, objects": (
        lambda cell: pl.DataFrame({"v": pl.Series([2] * ROW + [cell] + [2] * 6, dtype=pl.Object)}),
        [2, "x", [1]],
    ),
    "pyarrow": (listed(pa.table), [2, 2**62, None]),
    "pyarrow, dictionary": (
        lambda cell: pa.table({"v": pa.array([2] * ROW + [cell] + [2] * 6).dictionary_encode()}),
        [2, 9, None],
    ),
    "duckdb": (lambda cell: duckdb.from_arrow(listed(pa.table)(cell)), [2, 2**62, None]),
}


def told(mechanism, table):
    """All that is public of a release: kind, columns, types, index, rows; and what noise is added to."""
    found = ColumnQuery.from_json(mechanism.context.query).of_private(open_column(mechanism, table))
    frame = kinds.FrameKind.of(table).frame({"v": found}, None)
    if isinstance(frame, duckdb.DuckDBPyRelation):
        public = (frame.columns, list(map(str, frame.types)))
    elif isinstance(frame, pl.LazyFrame | pl.DataFrame):
        public = dict(frame.lazy().collect_schema())
    elif isinstance(frame, pa.Table):
        public = str(frame.schema)
    else:
        public = (frame.columns.tolist(), frame.dtypes.tolist(), frame.index.tolist())
    return found, (type(frame), public, len(found))


@pytest.mark.parametrize(("made", "cells"), CASES.values(), ids=CASES)
def test_one_row_of_a_frame_moves_itself_alone(made, cells):
    scenario = fugu.Scenario.from_table(REFERENCE, protect="s", publish="v")
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5))
    base, public = told(mechanism, made(cells[0]))
    for cell in cells[1:]:
        values, other = told(mechanism, made(cell))
        assert other == public
        assert np.array_equal(np.delete(values, ROW), np.delete(base, ROW)) and np.isfinite(values).all()


def test_the_harness_sees_types_that_follow_the_cells(monkeypatch):
    """Whole numbers as integers, unless one of them is none: the type of the column tells of one record."""

    def tidy(cells):
        array = np.asarray(cells)
        return array.astype(int) if np.all(array == np.round(array)) else array

    made = kinds.FrameKind._made
    tidied = lambda kind, columns: made(kind, {name: tidy(cells) for name, cells in columns.items()})  # noqa: E731
    monkeypatch.setattr(kinds.FrameKind, "_made", tidied)
    scenario = fugu.Scenario.from_table({"s": ["a", "b"] * 4, "v": [0.5, 1, 2, 3] * 2}, protect="s", publish="v")
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5))
    table = CASES["Float64"][0]
    assert told(mechanism, table(2.0))[1] != told(mechanism, table(0.5))[1]
