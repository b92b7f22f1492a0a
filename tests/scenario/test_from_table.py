"""A reference table becomes exact empirical laws, the same from every engine, or an error that names no cell."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Table, write_csv
from fugu.documents.sentences import APART
from fugu.errors import (
    BadTable,
    CertificateError,
    ColumnNotFound,
    FuguError,
    MissingValues,
    RepeatedUnit,
    TooManySecrets,
    UnknownName,
    UsageError,
)
from fugu.scenario import Scenario

DATA = {
    "sex": ["F", "M", "F", "M", "F", "X"],
    "age": [20, 30, 40, 50, 60, 70],
    "chol": [1.5, 2.5, 1.5, 1.5, 0.1, 2.5],
    "size": ["low", "high", "low", "mid", "mid", "low"],
    "who": ["a", "b", "c", "d", "e", "f"],
}
SENTINEL = "SENTINEL-93177"
NUMBER = 93177.25


def relation(data):
    arrow = pa.table(data)  # noqa: F841 - duckdb finds it by name
    return duckdb.sql("SELECT * FROM arrow")


def csv_file(data, folder):
    write_csv(folder / "t.csv", data)
    return folder / "t.csv"


def parquet_file(data, folder):
    pl.DataFrame(data).write_parquet(folder / "t.parquet")
    return str(folder / "t.parquet")


ENGINES = {
    "dict": lambda d, _: d,
    "table": lambda d, _: Table(d),
    "pandas": lambda d, _: pd.DataFrame(d),
    "polars": lambda d, _: pl.DataFrame(d),
    "polars lazy": lambda d, _: pl.DataFrame(d).lazy(),
    "pyarrow": lambda d, _: pa.table(d),
    "duckdb": lambda d, _: relation(d),
    "csv": csv_file,
    "parquet": parquet_file,
}


def laws(scenario):
    return dict(scenario.adversaries[0])


def counts(law):
    whole, total = law.masses.whole()
    return {v: Fraction(w, total) for v, w in zip(law.values.tolist(), whole, strict=True) if w}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protect", ["sex", "age<45", "sex,size", {"f": {"sex": "F"}, "rest": {"sex": {"M", "X"}}}])
def test_every_engine_gives_identical_laws(engine, protect, tmp_path):
    expected = Scenario.from_table(DATA, publish="chol", protect=protect)
    found = Scenario.from_table(ENGINES[engine](DATA, tmp_path), publish="chol", protect=protect, unit="who")
    assert laws(found) == laws(expected)
    assert [p.label for p in found.law_pairs()] == [p.label for p in expected.law_pairs()]
    assert found.reference_digest == expected.reference_digest


def test_laws_are_counts_on_one_shared_array_of_values():
    scenario = Scenario.from_table(DATA, publish="chol", protect="sex")
    found = laws(scenario)
    assert list(found) == ["F", "M", "X"]
    assert found["F"].values is found["M"].values is found["X"].values
    assert found["F"].values.tolist() == [0.1, 1.5, 2.5]
    assert found["F"].masses.parts.tolist() == [1, 2, 0] and found["F"].masses.parts.dtype == np.int64
    assert found["X"].weights.tolist() == [0, 0, 1]


def test_laws_past_the_size_of_a_shared_array_are_the_same(monkeypatch):
    expected = laws(Scenario.from_table(DATA, publish="chol", protect="sex"))
    monkeypatch.setattr("fugu.scenario.table._SHARED_CELLS", 1)
    found = laws(Scenario.from_table(DATA, publish="chol", protect="sex"))
    assert {s: counts(law) for s, law in found.items()} == {s: counts(law) for s, law in expected.items()}
    assert found["X"].values.tolist() == [2.5]


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.one_of(
            st.none(),
            st.sampled_from([0.1, -0.0, 0.0, 1e300, 5e-324, 7.0]),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
    ),
    min_size=1,
    max_size=50,
)


def brute_force(rows):
    groups: dict[str, Counter[float]] = {}
    for secret, value in rows:
        if secret is not None and value is not None:
            groups.setdefault(secret, Counter())[value + 0.0] += 1
    return {s: {v: Fraction(n, sum(c.values())) for v, n in c.items()} for s, c in groups.items()}


@given(ROWS)
def test_laws_equal_counting_by_hand(rows):
    expected = brute_force(rows)
    reference = {"s": [s for s, _ in rows], "x": [x for _, x in rows]}
    if len(expected) < 2:
        with pytest.raises(FuguError):
            Scenario.from_table(reference, publish="x", protect="s", missing="drop")
        return
    scenario = Scenario.from_table(reference, publish="x", protect="s", missing="drop")
    assert {s: counts(law) for s, law in laws(scenario).items()} == expected
    for secret, law in laws(scenario).items():
        rows_of = sum(1 for s, x in rows if s == secret and x is not None)
        found = dict(zip(law.values.tolist(), np.rint(law.weights * rows_of).tolist(), strict=True))
        assert {v: n for v, n in found.items() if n} == Counter(
            x + 0.0 for s, x in rows if s == secret and x is not None
        )
    used = sum(1 for s, x in rows if x is not None and s is not None)
    assert scenario.report.used == used and scenario.report.rows == len(rows)


@given(ROWS, st.randoms())
def test_shuffled_rows_give_identical_laws(rows, random):
    if len(brute_force(rows)) < 2:
        return
    shuffled = list(rows)
    random.shuffle(shuffled)
    both = [
        Scenario.from_table({"s": [s for s, _ in r], "x": [x for _, x in r]}, "x", "s", missing="drop", bins=3)
        if all(abs(x or 0) < 1e150 for _, x in r)
        else Scenario.from_table({"s": [s for s, _ in r], "x": [x for _, x in r]}, "x", "s", missing="drop")
        for r in (rows, shuffled)
    ]
    assert laws(both[0]) == laws(both[1]) and list(laws(both[0])) == list(laws(both[1]))


def test_hostile_numbers_are_held_exactly():
    for values in ([5e-324, 1e300, -0.0, 0.0], [2**63, 2**63 + 2048, 1, 2], np.array([-128, 127, 0, 1], dtype=np.int8)):
        scenario = Scenario.from_table({"s": ["a", "b", "a", "b"], "x": values}, publish="x", protect="s")
        expected = sorted({float(v) + 0.0 for v in values})
        assert laws(scenario)["a"].values.tolist() == expected


def test_many_rows_are_counted(tmp_path):
    n = 200_000
    rng = np.random.default_rng(7)
    data = {"s": rng.integers(0, 5, n), "x": rng.integers(0, 100, n).astype(np.int8), "id": np.arange(n)}
    scenario = Scenario.from_table(data, publish="x", protect="s", unit="id")
    for secret, law in laws(scenario).items():
        expected = np.bincount(data["x"][data["s"] == int(secret)], minlength=100)
        assert law.masses.parts.tolist() == expected.tolist()


def test_bins_and_ordering_shape_the_laws():
    binned = Scenario.from_table(DATA, publish="age", protect="sex", bins=[0, 40, 80])
    assert laws(binned)["F"].values.tolist() == [20, 60] and laws(binned)["F"].masses.parts.tolist() == [1, 2]
    ordered = Scenario.from_table(DATA, publish="size", protect="sex", bins=["low", "mid", "high"])
    assert laws(ordered)["F"].masses.parts.tolist() == [2, 1, 0]
    assert ordered.query.categories == ("low", "mid", "high")
    assert Scenario.from_table(DATA, publish="age", protect="sex", bins=5).query.edges == (20, 30, 40, 50, 60, 70)


def test_the_digest_is_of_the_published_values_whatever_their_order():
    scenario = Scenario.from_table({"s": ["a", "b", "a"], "x": [-0.0, 2, None]}, "x", "s", missing="drop")
    expected = hashlib.sha256(np.array([0.0, 2.0, np.nan]).tobytes()).hexdigest()
    assert scenario.reference_digest == expected
    turned = Scenario.from_table({"s": ["a", "b", "a"], "x": [2, 0, None]}, "x", "s", missing="drop")
    assert turned.reference_digest == expected
    other = Scenario.from_table({"s": ["a", "b", "a"], "x": [2, 0, 0]}, "x", "s", missing="drop")
    assert other.reference_digest != expected


def test_assumptions_say_what_is_taken_for_granted():
    plain = Scenario.from_table(DATA, publish="chol", protect="sex")
    assert plain.assumptions == (
        "rows are independent given their own secret",
        "beliefs: the empirical law of chol in the reference given each secret of sex",
        APART,
        "one row is one person",
    )
    full = Scenario.from_table(
        {"s": ["a", "b", None], "x": [1, 2, 3], "id": [1, 2, 3]}, "x", "s", unit="id", public_prior=True, missing="drop"
    )
    assert "unit: id, one row each" in full.assumptions and full.unit == "id" and full.public_prior
    assert "whether x is missing, or not a number, is treated as public" in full.assumptions
    assert any("count as public" in a for a in full.assumptions)
    assert any("left out of the beliefs" in a for a in full.assumptions)
    assert APART not in full.assumptions


def test_missing_follows_the_policy_said():
    reference = {"s": ["a", "b", "a", None], "x": [1, 2, None, 3]}
    with pytest.raises(MissingValues, match="'x' has 1 missing"):
        Scenario.from_table(reference, publish="x", protect="s")
    with pytest.raises(MissingValues, match="1 in column 's'"):
        Scenario.from_table({**reference, "x": [1, 2, 3, 4]}, publish="x", protect="s")
    dropped = Scenario.from_table(reference, publish="x", protect="s", missing="drop")
    assert counts(laws(dropped)["a"]) == {1: 1}
    assert dropped.report.missing == (("x", 1), ("s", 1)) and dropped.report.used == 2
    mapped = Scenario.from_table(reference, publish="x", protect="s", missing=0)
    assert counts(laws(mapped)["a"]) == {1: Fraction(1, 2), 0: Fraction(1, 2)}
    assert not any("is treated as public" in a for a in mapped.assumptions)


def test_secrets_without_rows_are_skipped_and_reported():
    reference = {"s": ["a", "b", "c"], "x": [1, 2, None]}
    scenario = Scenario.from_table(reference, publish="x", protect="s", missing="drop")
    assert scenario.secrets == ("a", "b")
    assert scenario.report.skipped == (("c", "no row with a value of x"),)
    assert "c: no row" in str(scenario.report)
    adjacent = Scenario.from_table(
        {"age": [10, 70, 80], "x": [1, 2, 3]}, publish="x", protect="age:18,65", pairs="adjacent"
    )
    assert [p.label for p in adjacent.law_pairs()] == ["age < 18 vs age >= 65"]
    with pytest.raises(UsageError, match="'c' is in the pairs"):
        Scenario.from_table(reference, publish="x", protect="s", missing="drop", pairs=[("a", "c")])


def test_overlapping_secrets_are_counted_in_the_report():
    protect = {"f": {"sex": "F"}, "young": {"age": (None, 45)}}
    scenario = Scenario.from_table(DATA, publish="chol", protect=protect)
    assert scenario.report.overlapping == 2 and "several secrets hold in 2 rows" in str(scenario.report)
    assert counts(laws(scenario)["young"]) == {1.5: Fraction(2, 3), 2.5: Fraction(1, 3)}


def test_a_unit_with_several_rows_is_refused_unless_only_one_is_used():
    reference = {"id": ["p", "p", "q", "r"], "s": ["a", "b", "a", "b"], "x": [1, None, 2, 3]}
    with pytest.raises(RepeatedUnit, match=r"1 units of column 'id'.*mean") as caught:
        Scenario.from_table(reference, publish="x", protect="s", unit="id", missing=0)
    assert caught.value.exit_code == 2
    assert Scenario.from_table(reference, publish="x", protect="s", unit="id", missing="drop").report.used == 3
    with pytest.raises(MissingValues, match="unit"):
        Scenario.from_table({**reference, "id": [None, "p", "q", "r"], "x": [1, 2, 3, 4]}, "x", "s", unit="id")


def test_long_unit_numbers_are_not_confused():
    reference = {"id": [2**53, 2**53 + 1], "s": ["a", "b"], "x": [1, 2]}
    assert Scenario.from_table(reference, publish="x", protect="s", unit="id").unit == "id"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prior": "normal"}, UnknownName, "empirical"),
        ({"confidence": 0.95}, UsageError, "nothing declares it"),
        ({"publish": "sex", "protect": "sex"}, UsageError, "two different columns"),
        ({"publish": "sex", "protect": "sex,age"}, UsageError, "two different columns"),
        ({"protect": {"a": {"chol": 1}, "b": {"sex": "F"}}}, UsageError, "two different columns"),
        ({"protect": {"a": lambda t: t["chol"] > 1, "b": {"sex": "F"}}}, UsageError, "two different columns"),
        ({"publish": "size"}, BadTable, r"bins=\[...\]"),
        ({"publish": "chool"}, ColumnNotFound, "did you mean 'chol'"),
        ({"protect": "sexx"}, ColumnNotFound, "did you mean 'sex'"),
        ({"unit": "whoo"}, ColumnNotFound, "did you mean 'who'"),
        ({"pairs": [("F", "Y")]}, UnknownName, "no secret 'Y'"),
        ({"pairs": ["FM"]}, UsageError, "two names"),
        ({"pairs": "adjecent"}, UnknownName, "adjacent"),
        ({"bins": ["low"], "publish": "size"}, BadTable, "3 rows"),
        ({"reference": {**DATA, "sex": ["F"] * 6}}, UsageError, "at least two"),
        ({"reference": {k: [] for k in DATA}}, BadTable, "no rows"),
        ({"reference": {k: v[:1] for k, v in DATA.items()}}, UsageError, "at least two"),
        ({"reference": {**DATA, "chol": [None] * 6}, "missing": "drop"}, BadTable, "every value"),
        ({"reference": {**DATA, "sex": [None] * 6}, "missing": "drop"}, UsageError, "at least two"),
        ({"reference": {**DATA, "chol": [1, 2, 3, math.inf, 5, 6]}}, BadTable, "1 infinite"),
        ({"reference": "none.csv"}, BadTable, "no file"),
        ({"reference": 3}, BadTable, "expected a path"),
        ({"missing": "dorp"}, UnknownName, "drop"),
    ],
)
def test_what_cannot_be_a_scenario_is_refused(change, error, message):
    call = {"reference": DATA, "publish": "chol", "protect": "sex", **change}
    with pytest.raises(error, match=message):
        Scenario.from_table(**call)


def test_more_than_a_thousand_secrets_are_refused():
    reference = {"s": np.arange(2000), "x": np.arange(2000)}
    with pytest.raises(TooManySecrets, match="2000"):
        Scenario.from_table(reference, publish="x", protect="s")


PRIVATE = {
    "s": ["a", "b", "a", None],
    "x": [1.0, NUMBER, 2.0, 3.0],
    "t": [SENTINEL, "u", "v", SENTINEL],
    "gone": [NUMBER, None, 1.0, 2.0],
    "far": [NUMBER, math.inf, 1.0, 2.0],
    "twice": [SENTINEL, SENTINEL, "q", "r"],
    "mixed": [SENTINEL, 1, 2, 3],
    "full": ["a", "b", "a", "b"],
    "many": [NUMBER, NUMBER + 1, NUMBER + 2, NUMBER + 3],
}


@pytest.mark.parametrize(
    "call",
    [
        {"publish": "x", "protect": "s"},
        {"publish": "t", "protect": "full"},
        {"publish": "t", "protect": "full", "bins": ["u", "v"]},
        {"publish": "t", "protect": "full", "bins": 4},
        {"publish": "t", "protect": "full", "bins": ["u", "v"], "missing": "v"},
        {"publish": "gone", "protect": "full"},
        {"publish": "far", "protect": "full"},
        {"publish": "far", "protect": "full", "bins": 3},
        {"publish": "mixed", "protect": "full"},
        {"publish": "x", "protect": "mixed"},
        {"publish": "x", "protect": "full", "unit": "twice"},
        {"publish": "x", "protect": "gone"},
        {"publish": "x", "protect": "gone<3"},
        {"publish": "x", "protect": "t<3"},
        {"publish": "x", "protect": {"p": {"t": 3}, "q": {"t": "u"}}},
        {"publish": "x", "protect": {"p": {"many": "u"}, "q": {"t": "u"}}},
        {"publish": "x", "protect": {"p": lambda t: 1 / 0 if t["t"][0] else None, "q": {"t": "u"}}},
        {"publish": "x", "protect": {"p": {"t": lambda c: [][c]}, "q": {"t": "u"}}},
        {"publish": "x", "protect": {"p": {"full": "z"}, "q": {"full": "a"}}},
        {"publish": "x", "protect": "full", "pairs": [("a", "z")]},
        {"publish": "many", "protect": "many"},
        {"publish": "zzz", "protect": "many"},
    ],
)
def test_no_error_names_a_private_cell(call):
    with pytest.raises(FuguError) as caught:
        Scenario.from_table(PRIVATE, **call)
    shown = str(caught.value) + repr(caught.value)
    assert "93177" not in shown and "SENTINEL" not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_repr_and_report_name_no_published_value():
    scenario = Scenario.from_table({"s": ["a", "b"], "x": [NUMBER, NUMBER]}, publish="x", protect="s")
    assert "93177" not in repr(scenario) + str(scenario.report) + repr(scenario.report) + " ".join(scenario.assumptions)


@pytest.mark.parametrize(
    "call",
    [
        {"publish": "chol", "protect": "sex"},
        {"publish": "age", "protect": ["sex", "size"], "bins": 4, "pairs": "adjacent"},
        {"publish": "size", "protect": "age:30,50", "bins": ["low", "mid", "high"], "unit": "who", "missing": "low"},
        {
            "publish": "chol",
            "protect": {"f": {"sex": "F"}, "m": {"sex": {"M", "X"}}},
            "pairs": [("f", "m")],
            "missing": "drop",
        },
        {"publish": "age", "protect": "sex", "bins": [0, 33.3, 80], "public_prior": True},
    ],
)
def test_a_recipe_through_json_makes_the_same_scenario(call):
    scenario = Scenario.from_table(DATA, **call)
    again = Scenario.from_recipe(DATA, json.loads(json.dumps(scenario.recipe)))
    assert laws(again) == laws(scenario) and again.query == scenario.query
    assert [p.label for p in again.law_pairs()] == [p.label for p in scenario.law_pairs()]
    assert again.assumptions == scenario.assumptions and again.recipe == scenario.recipe
    assert again.reference_digest == scenario.reference_digest and again.unit == scenario.unit


def test_a_recipe_keeps_the_bins_that_were_laid():
    recipe = Scenario.from_table(DATA, publish="age", protect="sex", bins=5).recipe
    longer = {**DATA, "age": [0, 30, 40, 50, 60, 700]}
    assert Scenario.from_recipe(longer, recipe).query.edges == (20, 30, 40, 50, 60, 70)


def test_functions_leave_no_recipe_and_a_wrong_recipe_is_refused():
    protect = {"f": {"sex": lambda x: x == "F"}, "m": {"sex": "M"}}
    assert Scenario.from_table(DATA, publish="chol", protect=protect).recipe is None
    for recipe in (None, {}, {"publish": "chol"}, {"publish": "chol", "protect": "sex", "pairs": "all", "evil": 1}):
        with pytest.raises(CertificateError):
            Scenario.from_recipe(DATA, recipe)
