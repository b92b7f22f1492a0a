"""`release_column` publishes the query's own column, one row a person, and says nothing of what it met there."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fugu import Discrete, LawPair, Pure, Scenario, calibrate
from fugu.data import Table
from fugu.errors import NoiselessRelease, RepeatedUnit, UsageError
from fugu.publication.releasing import release_column

N = 60
REFERENCE = {
    "first": [9.0] * N,
    "id": [f"r{i}" for i in range(N)],
    "s": ["a", "b"] * (N // 2),
    "v": [0.0, 1.0, 1.0, 0.0, 1.0, 1.0] * (N // 6),
    "size": ["low", "mid", "mid", "low", "high", "high"] * (N // 6),
    "last": [7.0] * N,
}
TODAY = {"first": [9.0] * 3, "id": ["x", "y", "z"], "s": ["a", "b", "a"], "v": [1.0, 0.0, 1.0], "last": [7.0] * 3}


def silent(**more):
    """A mechanism that needs no noise, so that what is published can be compared."""
    return calibrate(Scenario.from_table(REFERENCE, **{"publish": "v", "protect": "s", **more}), Pure(20))


def published(mechanism, table):
    return release_column(mechanism, Table(table), allow_no_noise=True).values.tolist()


def test_the_column_of_the_query_is_published_wherever_it_stands():
    assert published(silent(), TODAY) == [1, 0, 1]
    assert published(silent(), {"v": TODAY["v"], "first": [0.0] * 3}) == [1, 0, 1]
    with pytest.raises(NoiselessRelease):
        release_column(silent(), Table(TODAY))


@pytest.mark.parametrize(
    "ids",
    [["x", "y", "x"], ["x", None, "z"], ["y", 1, "1.0"], ["01", 1, "z"], ["e\u0301", "\u00e9", "z"]],
    ids=["repeated", "missing", "number", "zeros", "letters"],
)
def test_a_private_unit_that_is_repeated_or_missing_is_refused_without_its_name(ids):
    mechanism = silent(unit="id")
    with pytest.raises(RepeatedUnit, match="'id'") as caught:
        published(mechanism, {**TODAY, "id": ids})
    assert "'x'" not in str(caught.value) and "1" not in str(caught.value)
    assert published(mechanism, TODAY) == [1, 0, 1]  # nothing was spent
    assert published(silent(), {**TODAY, "id": ids}) == [1, 0, 1]  # and without a unit nobody asks


@pytest.mark.parametrize(
    "protect",
    [
        {"a": lambda t: t["s"] == "a", "b": lambda t: t["s"] == "b"},
        {"a": {"s": lambda s: s == "a"}, "b": {"s": "b"}},
        {"a": {"s": "a"}, "b": lambda t: t["s"] == "b"},
        {"a": {"s": "a"}, "b": {"s": ["b"]}},
    ],
    ids=["functions", "a test of a column", "one function", "conditions"],
)
def test_a_private_unit_is_checked_however_the_secret_is_written(protect):
    mechanism = silent(protect=protect, unit="id")
    with pytest.raises(RepeatedUnit, match="'id'") as caught:
        published(mechanism, {**TODAY, "id": ["x", "y", "x"]})
    assert "'x'" not in str(caught.value)
    assert published(mechanism, TODAY) == [1, 0, 1]


def test_private_values_outside_the_domain_are_mapped_not_reported():
    assert published(silent(), {**TODAY, "v": [math.inf, -math.inf, 0.4]}) == [1, 0, 0]
    ordered = silent(publish="size", bins=["low", "mid", "high"], missing="mid")
    assert published(ordered, {"size": ["high", "never seen", None]}) == [2, 1, 1]


def test_missing_private_values_become_the_median_of_the_reference():
    assert published(silent(), {**TODAY, "v": [0.0, None, np.nan]}) == [0, 1, 1]
    assert published(silent(missing=0), {**TODAY, "v": [0.0, None, "text"]}) == [0, 0, 0]


def test_bare_laws_have_no_column():
    with pytest.raises(UsageError, match="bare laws"):
        published(calibrate(LawPair(Discrete([0, 1]), Discrete([0, 1], [1, 2])), Pure(20)), TODAY)
