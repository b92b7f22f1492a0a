"""Rows become sequences by user in order of time, or are refused by a message that names the column."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data.schema import Schema
from fugu.data.sequences import open_sequences, read_sequences, sequence_schema, sequences_digest, usual_state
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UsageError

SENTINEL = "SENTINEL-93177"
COLUMNS = {"by": "user", "order": "time", "state": "place"}


def rows(user, time, place):
    return {"user": user, "time": time, "place": place}


def test_csv_and_parquet_give_the_same_sequences(tmp_path):
    (tmp_path / "s.csv").write_text("time,user,place\n10,u,b\n9,u,a\n1,v,c\n100,u,c\n")
    frame = pl.read_csv(tmp_path / "s.csv")
    frame.write_parquet(tmp_path / "s.parquet")
    for source in (tmp_path / "s.csv", str(tmp_path / "s.parquet"), frame):
        assert read_sequences(source, **COLUMNS) == {"u": ["a", "b", "c"], "v": ["c"]}  # by number: not 10, 100, 9


@given(st.permutations(range(12)))
def test_the_order_of_rows_does_not_matter(order):
    user = [i % 3 for i in range(12)]
    time = [7 * i % 12 for i in range(12)]
    place = [f"s{t}" for t in time]
    found = read_sequences(rows(*([c[i] for i in order] for c in (user, time, place))), **COLUMNS)
    truth = {str(u): [f"s{t}" for t in sorted(t for v, t in zip(user, time, strict=True) if v == u)] for u in range(3)}
    assert found == truth
    assert sequences_digest(found) == sequences_digest(truth)


def test_texts_are_times_in_iso_8601_only():
    times = ["2024-11-05T08:30", "2024-11-05", "2024-02-01T23:59:59"]
    assert read_sequences(rows(["u"] * 3, times, ["c", "b", "a"]), **COLUMNS) == {"u": ["a", "b", "c"]}
    for bad in (["5/11/2024", "6/10/2024"], ["week 9", "week 10"], ["2024-01-01T00:00", "2024-01-01T00:00+01:00"]):
        with pytest.raises(BadTable, match=r"'time'.*ISO 8601"):
            read_sequences(rows(["u", "u"], bad, ["a", "b"]), **COLUMNS)


def test_two_rows_at_one_time_are_refused_within_a_user_only():
    assert read_sequences(rows(["u", "v"], [1, 1], ["a", "b"]), **COLUMNS) == {"u": ["a"], "v": ["b"]}
    for times in ([1, 1.0], ["2024-01-01", "2024-01-01T00:00"]):
        with pytest.raises(BadTable, match="'time' repeats a time within a user of column 'user'") as caught:
            read_sequences(rows([SENTINEL] * 2, times, ["a", "b"]), **COLUMNS)
        assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize("column", ["user", "time", "place"])
def test_missing_cells_are_refused_by_column(column):
    table = rows(["u", "u"], [1, 2], ["a", SENTINEL])
    table[column] = [table[column][0], None]
    with pytest.raises(MissingValues, match=f"column '{column}'") as caught:
        read_sequences(table, **COLUMNS)
    assert SENTINEL not in str(caught.value)
    table = rows(["u", "u"], [1, np.nan], ["a", "b"])
    with pytest.raises(MissingValues, match="'time'"):
        read_sequences(table, **COLUMNS)


def test_wrong_columns_are_refused():
    table = rows(["u"], [1], ["a"])
    with pytest.raises(ColumnNotFound, match="'plac'; did you mean 'place'"):
        read_sequences(table, by="user", order="time", state="plac")
    with pytest.raises(UsageError, match="three different columns"):
        read_sequences(table, by="user", order="time", state="time")
    with pytest.raises(BadTable, match="no rows"):
        read_sequences(rows([], [], []), **COLUMNS)
    with pytest.raises(BadTable, match=r"'user'.*more digits"):
        read_sequences(rows(np.array([2.0**60]), [1], ["a"]), **COLUMNS)


def test_the_digest_tells_sequences_apart():
    base = {"u": ["a", "b"], "v": ["a"]}
    for other in ({"u": ["b", "a"], "v": ["a"]}, {"u": ["a"], "v": ["a", "b"]}, {"u": ["a", "b"]}):
        assert sequences_digest(other) != sequences_digest(base)
    assert sequences_digest({"u": ["1"]}) != sequences_digest({"u": [1]})
    assert sequences_digest({"u": [2**60]}) != sequences_digest({"u": [2**60 + 1]})
    assert sequences_digest({"u": [None]}) != sequences_digest({"u": ["None"]})


def test_a_private_table_is_read_through_the_reference_whatever_it_holds():
    """Types are those of the reference: one text among private numbers is one odd entry, and others stay numbers."""
    known = sequence_schema(rows(["u", "u"], [1, 2], [1, 2.5]), **COLUMNS)
    private = rows(["7", 7, 7.0, "v"], [3, 1, 2, 1], ["V27.0", "1.0", 2, "2.50"])
    assert open_sequences(private, **COLUMNS, schema=known) == {"7": [1, 2, None], "v": [2.5]}
    known = sequence_schema(rows(["u", "u"], [1, 2], ["V27.0", "401.9"]), **COLUMNS)
    private = rows(["u"] * 4, [1, 2, 3, 4], [401.9, "V27", None, "V27.0 "])
    assert open_sequences(private, **COLUMNS, schema=known) == {"u": ["401.9", "V27", None, "V27.0"]}
    assert open_sequences(rows([True], [1], [True]), **COLUMNS, schema=known) == {"True": ["True"]}


def test_the_schema_says_what_states_become_in_both_tables():
    declared = {"kind": "category", "values": ["a", "b"], "outside": "b", "missing": "a"}
    known = sequence_schema(rows(["u"], [1], ["a"]), **COLUMNS, schema=Schema({"place": declared}))
    table = rows(["u"] * 3, [1, 2, 3], ["c", None, "a"])
    assert open_sequences(table, **COLUMNS, schema=known) == read_sequences(table, **COLUMNS, schema=known)
    assert read_sequences(table, **COLUMNS, schema=known) == {"u": ["b", "a", "a"]}
    for kind in ("category", "ordered"):
        known = Schema({"place": {"kind": kind, "values": ["a", "b"]}})
        with pytest.raises(BadTable, match="the schema does not list"):
            read_sequences(rows(["u"], [1], [SENTINEL]), **COLUMNS, schema=known)
    with pytest.raises(BadTable, match="must hold states"):
        sequence_schema(rows(["u"], [1], ["a"]), **COLUMNS, schema=Schema({"place": {"kind": "identifier"}}))
    with pytest.raises(ColumnNotFound):
        sequence_schema(rows(["u"], [1], ["a"]), **COLUMNS, schema=Schema({"user": {"kind": "time"}}, header=False))


def test_states_of_two_kinds_of_truth_are_texts():
    known = sequence_schema(rows(["u", "u"], [1, 2], [True, False]), **COLUMNS)
    assert read_sequences(rows(["u", "u"], [1, 2], [True, False]), **COLUMNS) == {"u": ["True", "False"]}
    assert open_sequences(rows(["u"] * 3, [1, 2, 3], ["true", 7, None]), **COLUMNS, schema=known)["u"][0] == "True"


def test_private_users_and_times_are_refused_without_a_cell():
    known = sequence_schema(rows(["u", "u"], [1, 2], ["a", "b"]), **COLUMNS)
    for column, cells in (("user", [SENTINEL, None]), ("time", [1, None]), ("time", [1, SENTINEL]), ("time", [1, 1])):
        with pytest.raises(BadTable, match=f"column '{column}'") as caught:
            open_sequences({**rows(["u", "u"], [1, 2], ["a", "b"]), column: cells}, **COLUMNS, schema=known)
        assert SENTINEL not in str(caught.value)
    with pytest.raises(BadTable, match="has 2 columns, and none is named 'place'") as caught:
        open_sequences({"user": ["u"], SENTINEL: [1]}, by="user", order="user", state="place", schema=known)
    assert SENTINEL not in str(caught.value)


def test_the_usual_state_is_the_most_frequent_one_that_a_chain_is_fitted_on():
    assert usual_state({"u": [2, 1, 2], "v": [3], "w": [3], "x": [3]}) == 2
    assert usual_state({"u": ["b", "a"], "v": ["b", "a"]}) == "a"
