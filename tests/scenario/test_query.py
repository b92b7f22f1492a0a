"""One function maps the reference and the release: row by row, exactly, and it can be written down."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Column, Schema
from fugu.data.field import Field
from fugu.data.moments import equal_bins, middles
from fugu.data.private import open_private
from fugu.errors import BadTable, CertificateError, FuguError, MissingValues, UnknownName, UsageError
from fugu.numbers.exact import as_fraction
from fugu.scenario import ColumnQuery

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)
SENTINEL = 93177.25


def fit(values, bins=None, missing="error"):
    return ColumnQuery.fit("x", Column.of("x", values), bins, missing)


def test_numbers_are_published_as_they_are():
    hostile = [5e-324, 1e300, -0.0, 2**63, 0.1, True]
    found = ColumnQuery("x").apply(hostile)
    assert found.tolist() == [5e-324, 1e300, 0.0, 2.0**63, 0.1, 1.0] and found.dtype == np.float64
    assert not np.signbit(found[2])


def test_a_value_goes_to_the_middle_of_its_bin_and_outside_to_the_nearest():
    query = ColumnQuery("x", edges=(0, 1, 3))
    assert query.apply([0, 0.99, 1, 2.9, 3, 1e300, -1e300]).tolist() == [0.5, 0.5, 2, 2, 2, 2, 0.5]


def test_middles_of_decimal_edges_are_decimals():
    assert middles((0.1, 0.2, 0.3)).tolist() == [0.15, 0.25]


@given(FINITE, FINITE, st.integers(1, 60))
def test_equal_bins_cover_the_range_with_short_edges(a, b, count):
    low, high = min(a, b), max(a, b)
    edges = equal_bins(low, high, count)
    assert edges[0] <= low and high <= edges[-1]
    assert all(x < y for x, y in itertools.pairwise(edges)) and len(edges) <= count + 1


@given(st.integers(-1000, 1000), st.integers(1, 2000), st.integers(1, 40))
def test_equal_bins_of_short_decimals_are_equal_tight_and_short(start, span, count):
    low, high = start / 10, (start + span) / 10
    exact = [as_fraction(e) for e in equal_bins(low, high, count)]
    widths = {b - a for a, b in itertools.pairwise(exact)}
    assert len(widths) == 1 and len(exact) == count + 1
    overshoot = (exact[-1] - exact[0]) - (as_fraction(high) - as_fraction(low))
    assert 0 <= overshoot <= widths.pop() / 5
    assert all(10**7 % e.denominator == 0 for e in exact)


def test_a_constant_column_has_bins_too():
    for value in (0.0, 7.5, 1e300, -5e-324):
        query = fit([value, value], bins=3)
        assert len(set(query.apply([value, value]).tolist())) == 1


def test_bins_from_a_count_are_laid_over_the_reference_alone():
    query = fit([0, 10], bins=5)
    assert query.edges == (0, 2, 4, 6, 8, 10)
    assert query.apply([-50, 3, 99]).tolist() == [1, 3, 9]


def test_categories_become_their_place_in_the_ordering():
    query = fit(["low", "high"], bins=["low", "mid", "high"])
    assert query.apply(["high", "low", "mid"]).tolist() == [2, 0, 1]


def test_a_category_outside_the_ordering_is_counted_not_named():
    query = ColumnQuery("x", categories=("low", "high"))
    with pytest.raises(BadTable, match="2 rows") as caught:
        query.apply(["SENTINEL-93177", "low", "SENTINEL-93177"])
    assert "93177" not in str(caught.value)


def of_private(query, known, values):
    typed = query.with_typical(np.array([0.0, 1.0, 1.0]))
    return typed.of_private(open_private({"x": values}, Schema({"x": Field.of("x", known)}), ["x"])).tolist()


FIELDS = (
    ({"kind": "number"}, None), ({"kind": "number", "bounds": (0, 5), "step": 1}, [0, 2, 4, 6]),
    ({"kind": "number", "bounds": (0, 5), "outside": "missing", "missing": 3}, None),
    ({"kind": "ordered", "values": ["a", "b", "c"]}, None),
    ({"kind": "ordered", "values": ["a", "b", "c"], "outside": "c", "missing": "b"}, ["a", "b", "c"]),
    ({"kind": "ordered", "values": ["1", "10"], "outside": "nearest"}, ["1", "5", "10"]),
    ({"kind": "ordered", "values": ["False", "True"], "missing": "True"}, None),
    ({"kind": "category", "values": ["a", "b", "c"], "outside": "c", "missing": "a"}, ["c", "b", "a"]),
    ({"kind": "category", "values": ["a", "b"]}, ["b", "a", "(other)"]),
)  # fmt: skip
CELLS = ("a", "b", "c", "zz", "6", 6, 7.5, "True", True, False, None, math.nan, 99, -3, "2", "(other)", 5, "5", 1, 10)


@pytest.mark.parametrize("missing", ["error", "drop", "a", 1.0])
@pytest.mark.parametrize(("told", "bins"), FIELDS)
def test_whatever_the_reference_may_hold_the_private_table_reads_alike(told, bins, missing):
    """One function maps both: where the reference is not refused, the private cell becomes the same number."""
    known = Field.of("x", told)
    seen = 0
    for cell in CELLS:
        schema = Schema({"x": known}).completed({"x": ["1", "2", "a", "b"]})
        column = schema.read({"x": [cell]}).exact("x")
        try:
            query = ColumnQuery.fit("x", column, bins, missing, schema.fields["x"])
            public = query.with_typical(np.array([0.0, 1.0])).apply(column)
        except FuguError:
            continue
        seen += 1
        private = query.with_typical(np.array([0.0, 1.0])).of_private(open_private({"x": [cell]}, schema, ["x"]))
        np.testing.assert_array_equal(public, private)
    assert seen or missing in ("a", 1.0)


def test_private_data_outside_the_domain_is_mapped_and_never_refused():
    number = {"kind": "number", "typical": 1}
    far = [float(np.finfo(float).max), float(np.finfo(float).min)]
    assert of_private(ColumnQuery("x"), number, [math.inf, -math.inf, 1, "V27.0", None]) == [*far, 1, 1, 1]
    assert of_private(ColumnQuery("x", edges=(0, 1, 2)), number, [math.inf, "0.5", []]) == [1.5, 0.5, 1.5]
    text = {"kind": "category", "values": ["low", "high"]}
    ordering = ColumnQuery("x", categories=("low", "high"), missing="low")
    assert of_private(ordering, text, ["other", "high", None]) == [1, 1, 0]
    assert of_private(ColumnQuery("x", categories=("low", "high")), text, ["other", "low", None]) == [
        1,
        0,
        1,
    ]  # the median
    dropped = of_private(ColumnQuery("x", categories=("low", "high"), missing="drop"), text, [None, "high"])
    np.testing.assert_array_equal(dropped, [np.nan, 1])


def test_missing_is_refused_dropped_or_mapped():
    values = [1.0, None, math.nan]
    with pytest.raises(MissingValues, match=r"'x' has 2 missing.*missing='drop'"):
        ColumnQuery("x").apply(values)
    np.testing.assert_array_equal(ColumnQuery("x", missing="drop").apply(values), [1, np.nan, np.nan])
    assert ColumnQuery("x", missing=-9).apply(values).tolist() == [1, -9, -9]
    assert ColumnQuery("x", edges=(0, 2, 4), missing=3).apply(values).tolist() == [1, 3, 3]
    np.testing.assert_array_equal(ColumnQuery("x", edges=(0, 2, 4), missing="drop").apply(values), [1, np.nan, np.nan])
    assert ColumnQuery("x", categories=("a", "b"), missing="b").apply(["a", None]).tolist() == [0, 1]
    assert ColumnQuery("x", categories=("a", "b"), missing="b").apply([None]).tolist() == [1]


def test_infinity_is_refused():
    with pytest.raises(BadTable, match="1 infinite"):
        ColumnQuery("x").apply([math.inf, SENTINEL])
    with pytest.raises(BadTable, match="infinite"):
        fit([math.inf, 1], bins=3)


def test_text_without_an_ordering_is_refused_with_the_way_out():
    with pytest.raises(BadTable, match=r"bins=\[\.\.\.\].*numeric codes") as caught:
        ColumnQuery("x").apply(["SENTINEL-93177"])
    assert "93177" not in str(caught.value)
    with pytest.raises(BadTable, match="holds text"):
        fit(["a"], bins=3)
    with pytest.raises(BadTable, match="holds numbers"):
        ColumnQuery("x", categories=("a",)).apply([SENTINEL])


@pytest.mark.parametrize(
    "bins",
    [
        0,
        -1,
        10**9,
        True,
        "abc",
        [],
        [1],
        [2, 1],
        [1, 1],
        [0, math.inf],
        [0, math.nan],
        [1, "a"],
        ["a", "a"],
        2.5,
        {1: 2},
        [True, 2],
    ],
)
def test_bins_that_are_no_bins_are_refused(bins):
    with pytest.raises(UsageError):
        fit([1, 2], bins=bins)


def test_bins_over_nothing_or_too_far_are_refused():
    with pytest.raises(BadTable, match="no values"):
        fit([None], bins=3, missing="drop")
    with pytest.raises(BadTable, match="edges"):
        fit([-1.7976e308, 1.7976e308], bins=7)


@pytest.mark.parametrize("missing", ["dorp", math.nan, math.inf, True, None, [1]])
def test_a_way_to_treat_missing_that_is_none_is_refused(missing):
    with pytest.raises(UsageError):
        ColumnQuery("x", missing=missing)


def test_missing_must_be_one_of_the_categories():
    with pytest.raises(UnknownName, match="did you mean 'high'"):
        ColumnQuery("x", categories=("low", "high"), missing="hihg")
    with pytest.raises(UsageError, match="one of the categories"):
        ColumnQuery("x", categories=("low", "high"), missing=1)
    with pytest.raises(UsageError, match="not both"):
        ColumnQuery("x", edges=(0, 1), categories=("a",))


@pytest.mark.parametrize(
    "query",
    [
        ColumnQuery("x"),
        ColumnQuery("x", edges=(0.1, 0.3, 5e-324 + 1)),
        ColumnQuery("x", categories=("low", "high"), missing="low"),
        ColumnQuery("x", missing=0.1),
        ColumnQuery("x", missing="drop"),
    ],
)
def test_json_round_trip_is_the_same_query(query):
    assert ColumnQuery.from_json(json.loads(json.dumps(query.to_json()))) == query


def test_json_that_is_no_query_is_refused():
    for data in (
        {},
        {"publish": "x"},
        {**ColumnQuery("x").to_json(), "more": 1},
        {**ColumnQuery("x").to_json(), "publish": 3},
    ):
        with pytest.raises(CertificateError):
            ColumnQuery.from_json(data)


@given(st.lists(FINITE, min_size=1, max_size=30), st.integers(1, 9), st.randoms())
def test_a_row_is_mapped_by_itself(values, count, random):
    query = fit(values, bins=count)
    whole = query.apply(values)
    assert [query.apply([v])[0] for v in values] == whole.tolist()
    order = list(range(len(values)))
    random.shuffle(order)
    assert query.apply([values[i] for i in order]).tolist() == whole[order].tolist()


def test_the_empty_column_maps_to_the_empty_column():
    for query in (ColumnQuery("x"), ColumnQuery("x", edges=(0, 1)), ColumnQuery("x", categories=("a",))):
        assert query.apply([]).shape == (0,)
