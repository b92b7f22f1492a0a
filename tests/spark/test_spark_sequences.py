"""Sequences of a Spark frame stay there: counts, beliefs, numbers before noise, certificates, marks and refusals are
those of the same rows in memory, whatever the cells are and however the frame is cut."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import fugu
from fugu.data.spark import SparkColumns
from fugu.errors import BadTable, FuguError, UsageError
from fugu.ledger import fingerprints
from fugu.queries.entries import tallied
from fugu.sequences import (
    Count,
    Histogram,
    Layout,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    States,
    Sum,
    TopK,
    Transitions,
    open_sequences,
    read_sequences,
    sequence_schema,
)

COLUMNS = "user", "at", "state"
STATES = States(("home", "work", "gym"))
PUBLIC = pa.table({
    "user": [f"r{k % 9}" for k in range(120)],
    "at": [f"2024-11-{1 + k // 9:02d}" for k in range(120)],
    "state": [["home", "work", "gym"][k * k % 7 % 3] for k in range(120)],
})  # fmt: skip
USERS = pa.array([["u", "v", " v", "w", "7", "7.0", "é"][k * k % 7] for k in range(80)])
TIMES = {
    "numbers": pa.array([str(x) for x in ("-1e3", "-7.25", "-7", "0.1", "1", "007", "70", *range(100, 173))]),
    "whole": pa.array(range(-40, 40)),
    "doubles": pa.array([(k - 40) / 8 for k in range(80)]),
    "days": pa.array([f"20{k:02d}-01-05T08:30" for k in range(80)]),
    "zones": pa.array([f"20{k:02d}-01-05T08:30+0{k % 9}:00" for k in range(80)]),
    "moments": pa.array(range(80), pa.timestamp("us")),
    "mixed": pa.array([str(k) if k % 2 else f"20{k:02d}-01-05" for k in range(80)]),
    "half zones": pa.array([f"20{k:02d}-01-05T08:30" + "+01:00" * (k % 2) for k in range(80)]),
    "none": pa.array([None if k == 7 else k for k in range(80)]),
    "twice": pa.array([k // 2 for k in range(80)]),
}
CELLS = {
    "texts": pa.array([["home", " work", "gym", "school", None, "HOME", "a\u0301", ""][k % 8] for k in range(80)]),
    "numbers": pa.array([[1.5, float("nan"), None, -0.0, 2.0**60, float("inf"), 3.0][k % 7] for k in range(80)]),
    "whole": pa.array([k * k % 5 for k in range(80)], pa.int8()),
    "truths": pa.array([k % 3 == 0 for k in range(80)]),
    "days": pa.array([k % 6 for k in range(80)], pa.date32()),
    "nested": pa.array([[k % 2] for k in range(80)]),
}
QUESTIONS = (Count("work", STATES), Histogram(STATES), Transitions(STATES), TopK(2, STATES), Sum(Numbers(-2, 7)),
             Mean(Numbers(-2, 7)))  # fmt: skip


@pytest.fixture
def stays(monkeypatch):
    """No row comes to the driver."""
    monkeypatch.setattr(SparkColumns, "fetch", lambda *_: pytest.fail("rows were fetched"))


def here(table):
    return {name: table.column(name).to_pylist() for name in table.column_names}


def told(run):
    """What is found, or the words of the refusal."""
    try:
        return run()
    except FuguError as error:
        return type(error), re.sub(r"\d+", "0", str(error))


def same(mine, theirs):
    """Whether both were refused alike, or hold the same sequences as far as these are counted."""
    if isinstance(mine, tuple) or isinstance(theirs, tuple):
        return mine == theirs
    found = tallied(tuple(map(tuple, theirs.values())))
    facts = ("number", "longest", "size", "entries", "steps", "first")
    return all(_plain(getattr(mine, name)) == _plain(getattr(found, name)) for name in facts)


def _plain(found):
    return {repr(key): n for key, n in found.items()} if isinstance(found, dict) else found


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("times", TIMES)
def test_any_time_puts_rows_in_the_order_that_it_does_in_memory(spark, stays, times, parts):
    table = pa.table({"user": USERS, "at": TIMES[times], "state": CELLS["texts"]})
    known = sequence_schema(here(PUBLIC), *COLUMNS)
    frame = spark.createDataFrame(table).repartition(parts)
    assert same(*(told(lambda: open_sequences(one, *COLUMNS, known)) for one in (frame, here(table))))  # noqa: B023


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("of", ["texts", "whole"])
def test_any_cell_is_the_entry_that_it_is_in_memory(spark, stays, cells, of):
    table = pa.table({"user": USERS, "at": TIMES["whole"], "state": CELLS[cells]})
    public = {**here(PUBLIC), "state": [["home", "work", "gym"][k % 3] if of == "texts" else k % 3 for k in range(120)]}
    known = sequence_schema(public, *COLUMNS)
    frame = spark.createDataFrame(table).repartition(3)
    mine, theirs = (told(lambda: open_sequences(one, *COLUMNS, known)) for one in (frame, here(table)))  # noqa: B023
    assert same(mine, theirs)
    for asked in QUESTIONS:
        found, known_too = asked.exact(mine), asked.exact(theirs)
        assert np.array_equal(found, known_too), asked.name


def test_a_reference_gives_the_same_chain_certificate_and_marks(spark, stays, tmp_path):
    frame = spark.createDataFrame(PUBLIC).repartition(3)
    there, own = read_sequences(frame, *COLUMNS), read_sequences(here(PUBLIC), *COLUMNS)
    assert same(there, own)
    chains = [fugu.MarkovChain.fit(found, smoothing=0.5) for found in (there, own)]
    assert repr(chains[0]) == repr(chains[1])
    assert chains[0].transition(1).tolist() == chains[1].transition(1).tolist()
    assert chains[0].assumptions == chains[1].assumptions
    for more in ({"states": ("home", "work", "gym"), "confidence": 0.95}, {"states": ("home", "work")}):
        assert repr(told(lambda: fugu.MarkovChain.fit(there, **more))) == repr(  # noqa: B023
            told(lambda: fugu.MarkovChain.fit(own, **more))  # noqa: B023
        )
    mechanisms = [Histogram(STATES).mechanism(0.5) for _ in range(2)]
    answers = [one.release(found) for one, found in zip(mechanisms, (there, own), strict=True)]
    assert answers[0].certificate == answers[1].certificate
    assert answers[0].interval == answers[1].interval
    marks = [fingerprints(table) for table in (frame, here(PUBLIC))]
    assert marks[0].named == marks[1].named
    assert np.array_equal(*(np.concatenate([*found.rows.each()]) for found in marks))
    budget = {"budget": fugu.Pure(9), "data": "walks", "prior": chains[0]}
    with fugu.Ledger(tmp_path / "ledger.db", **budget, fingerprint=frame) as ledger:
        ledger.spend("one", mechanisms[0], lambda: mechanisms[0].release(there, charged=True))
    with (
        pytest.raises(FuguError, match="walks"),
        fugu.Ledger(tmp_path / "ledger.db", **{**budget, "data": "others"}, fingerprint=here(PUBLIC)),
    ):
        pass


def test_what_is_not_counted_is_refused_with_what_to_do(spark):
    frame = spark.createDataFrame(PUBLIC)
    known = sequence_schema(frame, *COLUMNS)
    private = open_sequences(frame, *COLUMNS, known)
    for asked in (RandomisedResponse(STATES), Lipschitz(len, 1, STATES)):
        with pytest.raises(UsageError, match="whole sequences"):
            asked.exact(private)
    for layout in (Layout(every="1d"), Layout(repeats="last"), Layout(repeats="rows")):
        with pytest.raises(UsageError, match="one row for each entry"):
            read_sequences(frame, *COLUMNS, fugu.Schema({}, sequence=layout))
    with pytest.raises(BadTable, match="no rows"):
        open_sequences(frame.limit(0), *COLUMNS, known)
    with pytest.raises(UsageError, match="at random"):
        open_sequences(frame.selectExpr("user", "at", "cast(rand() AS string) AS state"), *COLUMNS, known)
    one = frame.where("user = 'r1'")
    assert open_sequences(one, None, "at", "state", sequence_schema(one, None, "at", "state")).number == 1
