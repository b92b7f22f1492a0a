"""Every way to say what is protected marks exactly the rows it says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Table
from fugu.data.secrets import read_protect
from fugu.errors import BadTable, ColumnNotFound, FuguError, MissingValues, TooManySecrets, UsageError

TABLE = Table(
    {
        "sex": ["F", "M", "F", "M"],
        "ward": ["A", "A", "B", "B"],
        "age": [17, 18, 64, 65],
        "id": [2**53, 2**53 + 1, 2**63, 5],
        "weight": [50.5, 60.0, 70.25, 80.0],
        "gap": [1.0, None, 2.0, 1.0],
    }
)


def marked(protect, missing="error", table=TABLE):
    found = read_protect(protect, table.columns).find(table, missing)
    return {label: np.flatnonzero(mask).tolist() for label, mask in found.masks().items()}


@pytest.mark.parametrize(
    ("protect", "expected"),
    [
        ("sex", {"F": [0, 2], "M": [1, 3]}),
        (["sex"], {"F": [0, 2], "M": [1, 3]}),
        ("weight", {"50.5": [0], "60": [1], "70.25": [2], "80": [3]}),
        ("sex,ward", {"sex=F, ward=A": [0], "sex=F, ward=B": [2], "sex=M, ward=A": [1], "sex=M, ward=B": [3]}),
        (
            ("sex", "ward", "sex"),
            {"sex=F, ward=A": [0], "sex=F, ward=B": [2], "sex=M, ward=A": [1], "sex=M, ward=B": [3]},
        ),
        ("age<65", {"age < 65": [0, 1, 2], "age >= 65": [3]}),
        ("age >= 65", {"age < 65": [0, 1, 2], "age >= 65": [3]}),
        ("age<=18", {"age <= 18": [0, 1], "age > 18": [2, 3]}),
        ("age>18", {"age <= 18": [0, 1], "age > 18": [2, 3]}),
        ("weight<=60", {"weight <= 60": [0, 1], "weight > 60": [2, 3]}),
        ("weight<60.5", {"weight < 60.5": [0, 1], "weight >= 60.5": [2, 3]}),
        ("age:18,65", {"age < 18": [0], "18 <= age < 65": [1, 2], "age >= 65": [3]}),
        ("age:18", {"age < 18": [0], "age >= 18": [1, 2, 3]}),
        ({"f": {"sex": "F"}, "old man": {"sex": "M", "age": (65, None)}}, {"f": [0, 2], "old man": [3]}),
        ({"a": {"ward": {"A"}}, "any": {"ward": ["A", "B"]}}, {"a": [0, 1], "any": [0, 1, 2, 3]}),
        ({"a": {"age": (18, 65)}, "b": {"age": (None, 18)}}, {"a": [1, 2], "b": [0]}),
        ({"a": {"age": (17.5, 64.5)}, "b": {"age": (-np.inf, 17.5)}}, {"a": [1, 2], "b": [0]}),
        ({"a": {"id": 2**53}, "b": {"id": [2**53 + 1, 2**63]}, "c": {"id": 2**64}}, {"a": [0], "b": [1, 2], "c": []}),
        (f"id<{2**53 + 1}", {f"id < {2**53 + 1}": [0, 3], f"id >= {2**53 + 1}": [1, 2]}),
        ({"a": {"id": 5.0}, "b": {"id": 5.5}}, {"a": [3], "b": []}),
        ({"a": {"age": lambda x: x > 60}, "b": {"sex": lambda x: x == "M"}}, {"a": [2, 3], "b": [1, 3]}),
        ({"a": lambda t: t["age"] > 60, "b": lambda t: t["sex"] == "M"}, {"a": [2, 3], "b": [1, 3]}),
        ({"a": {"sex": "none"}, "b": {"sex": "F"}}, {"a": [], "b": [0, 2]}),
    ],
)
def test_masks_are_the_rows_the_words_say(protect, expected):
    assert marked(protect) == expected


def test_a_column_whose_name_looks_like_a_condition_is_a_column():
    table = Table({"age<65": ["y", "n"], "a,b": ["p", "q"], "t:1": [1, 2]})
    assert list(marked("age<65", table=table)) == ["n", "y"]
    assert list(marked("a,b", table=table)) == ["p", "q"]
    assert list(marked("t:1", table=table)) == ["1", "2"]


@pytest.mark.parametrize("protect", ["gap", "gap<2", "sex,gap", {"a": {"gap": 1}, "b": {"sex": "M"}}])
def test_rows_without_the_deciding_value_are_refused_or_left_out(protect):
    with pytest.raises(MissingValues, match="1 in column 'gap'"):
        marked(protect)
    found = read_protect(protect, TABLE.columns).find(TABLE, "drop")
    assert dict(found.missing)["gap"] == 1
    for label, mask in found.masks().items():
        assert not mask[1] or label == "b"


def test_a_missing_value_satisfies_no_function_even_by_negation():
    protect = {"a": lambda t: ~(t["gap"] < 2), "b": {"gap": lambda x: ~(x < 2)}}
    assert marked(protect, "drop") == {"a": [2], "b": [2]}
    with pytest.raises(MissingValues):
        marked(protect)


def test_one_and_one_point_zero_are_one_category_in_every_column():
    assert list(marked("x", table=Table({"x": [1, 2]}))) == ["1", "2"]
    assert list(marked("x", table=Table({"x": [1.0, 2.0]}))) == ["1", "2"]
    assert list(marked("x", table=Table({"x": [True, False]}))) == ["False", "True"]


def test_more_than_a_thousand_secrets_are_refused_with_the_way_out():
    table = Table({"x": list(range(1001)), "y": [f"SENTINEL-{i}" for i in range(1001)]})
    for protect in ("x", "y", "x,y", {str(i): {"x": i} for i in range(1001)}):
        with pytest.raises(TooManySecrets, match=r"1001 secrets.*ranges.*pairs") as caught:
            marked(protect, table=table)
        assert "SENTINEL" not in str(caught.value)
    assert len(marked("x", table=Table({"x": list(range(1000))}))) == 1000


def test_combinations_that_look_alike_are_refused_not_merged():
    table = Table({"a": ["1, b=2", "1"], "b": ["3", "2, b=3"]})
    with pytest.raises(BadTable, match="look alike"):
        marked("a,b", table=table)


@pytest.mark.parametrize(
    ("protect", "error"),
    [
        ("sexx", ColumnNotFound),
        ("sex,wrad", ColumnNotFound),
        ("agee<65", ColumnNotFound),
        ("agee:18", ColumnNotFound),
        ("age<old", UsageError),
        ("age<nan", UsageError),
        ("age:18,18", UsageError),
        ("age:18,x", UsageError),
        ("age:65,18", UsageError),
        ("", ColumnNotFound),
        (None, UsageError),
        (3, UsageError),
        ([], UsageError),
        ({}, UsageError),
        (f"id<={2**60}", UsageError),
        (["sex", 3], ColumnNotFound),
        ({"a": {}}, UsageError),
        ({"a": 3}, UsageError),
        ({"a": {"sexx": "F"}}, ColumnNotFound),
        ({"a": {"sex": 3}}, BadTable),
        ({"a": {"age": "old"}}, BadTable),
        ({"a": {"sex": (1, 2)}}, BadTable),
        ({"a": {"sex": ("F", "M")}}, UsageError),
        ({"a": {"age": (1, 2, 3)}}, UsageError),
        ({"a": {"age": (2, 1)}}, UsageError),
        ({"a": {"age": (None, None)}}, UsageError),
        ({"a": {"age": (np.nan, 1)}}, UsageError),
        ({"a": {"age": (np.inf, None)}}, UsageError),
        ({"a": {"age": []}}, UsageError),
        ({"a": {"age": [1, "x"]}}, UsageError),
        ({"a": {"age": None}}, UsageError),
        ({"a": {"age": np.nan}}, UsageError),
        ({"a": {"age": lambda x: x}}, UsageError),
        ({"a": {"age": lambda x: True}}, UsageError),
        ({"a": {"age": lambda x: 1 / 0}}, UsageError),
        ({"a": lambda t: t["none"]}, UsageError),
        ({1: {"age": 1}, "1": {"age": 2}}, UsageError),
        ("age<65<70", FuguError),
        ("__import__('os').system('true')", ColumnNotFound),
    ],
)
def test_what_cannot_be_protected_is_refused(protect, error):
    with pytest.raises(error):
        marked(protect)


def test_a_functions_own_error_is_not_repeated():
    def failing(column):
        raise ValueError(f"bad cell {column[0]}")

    table = Table({"x": ["SENTINEL-93177"]})
    for protect in ({"a": {"x": failing}}, {"a": lambda t: failing(t["x"])}):
        with pytest.raises(UsageError, match="ValueError") as caught:
            marked(protect, table=table)
        assert "93177" not in str(caught.value) and caught.value.__suppress_context__


def test_a_function_cannot_change_the_table():
    def writing(text):
        text[:] = "F"
        return text == "F"

    with pytest.raises(UsageError):
        marked({"a": {"sex": writing}})
    assert TABLE.column("sex").tolist() == ["F", "M", "F", "M"]


@pytest.mark.parametrize(
    "protect",
    [
        "sex",
        "sex,ward",
        ["sex", "ward"],
        "age<65",
        "age:18,65",
        {
            "f": {"sex": "F"},
            "old": {"age": (65, None), "ward": {"A", "B"}},
            "id": {"id": 2**53 + 1},
            "w": {"weight": np.float64(60)},
        },
    ],
)
def test_json_says_the_same_secrets(protect):
    spec = read_protect(protect, TABLE.columns)
    again = read_protect(json.loads(json.dumps(spec.json)), TABLE.columns)
    assert again.json == spec.json
    assert marked(json.loads(json.dumps(spec.json))) == marked(protect)


def test_functions_have_no_json():
    assert read_protect({"a": lambda t: t["age"] > 1}, TABLE.columns).json is None
    assert read_protect({"a": {"age": lambda x: x > 1}, "b": {"age": 1}}, TABLE.columns).json is None


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.booleans()), min_size=1, max_size=40))
def test_combinations_are_those_of_a_plain_loop(rows):
    table = Table({"p": [r[0] for r in rows], "q": [r[1] for r in rows], "r": [r[2] for r in rows]})
    plain: dict[str, list[int]] = {}
    for i, (p, q, r) in enumerate(rows):
        plain.setdefault(f"p={p}, q={q}, r={r}", []).append(i)
    assert marked("p,q,r", table=table) == dict(sorted(plain.items()))


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=8))
def test_overlapping_secrets_keep_all_their_rows(masks):
    table = Table({"x": [0] * 6})
    protect = {str(i): (lambda t, m=m: np.array(m)) for i, m in enumerate(masks)}
    expected = {str(i): np.flatnonzero(m).tolist() for i, m in enumerate(masks)}
    assert marked(protect, table=table) == expected
    covered = read_protect(protect, table.columns).find(table).covered()
    assert covered.tolist() == np.sum(masks, axis=0).tolist()


COLUMNS = {"whole": [1, 2, 3, 4], "double": [1.0, 2.0, 3.0, 4.0], "tenth": [0.1, 0.2, 0.3, 0.4]}


def marked_ends_mutants(protect):
    table = Table(COLUMNS)
    masks = read_protect(protect, table.columns).find(table).masks()
    return [np.flatnonzero(mask).tolist() for mask in masks.values()]


@pytest.mark.parametrize(("column", "low", "high"), [("whole", 2, 4), ("double", 2, 4), ("tenth", 0.2, 0.4)])
def test_the_lower_end_is_inside_and_the_upper_end_is_not(column, low, high):
    assert marked_ends_mutants({"in": {column: (low, high)}, "below": {column: (None, low)}}) == [[1, 2], [0]]
    assert marked_ends_mutants(f"{column}<{low}") == marked_ends_mutants(f"{column}>={low}") == [[0], [1, 2, 3]]
    assert marked_ends_mutants(f"{column}<={low}") == marked_ends_mutants(f"{column}>{low}") == [[0, 1], [2, 3]]
    assert marked_ends_mutants(f"{column}:{low},{high}") == [[0], [1, 2], [3]]
