"""A number of which only the declared ends are known is judged beside them. Wrong version: "not known"."""

from __future__ import annotations

import pytest

import fugu
from fugu.utility.usable import in_range

BOUNDS = {"hours": (1, 99), "age": (17, 90)}


@pytest.mark.parametrize(
    ("half", "grade"), [(0.0, "exact"), (4.0, "usable"), (20.0, "rough figure"), (37.0, "mostly noise")]
)
def test_the_share_of_the_range_decides(half, grade):
    made = in_range("mean(hours)", 1, 99, half)
    assert made.grade == grade and ("38 %" in made.verdict or half != 37.0 or "37.8 %" in made.verdict)


def test_a_property_under_a_pure_budget_has_a_verdict():
    statistics = ["mean(hours)", "mean(age)"]
    hours, age = [1 + (13 * k) % 99 for k in range(400)], [20 + k % 60 for k in range(400)]
    table = {"rich": ["yes", "no"] * 200, "hours": hours, "age": age}
    scenario = fugu.Scenario.from_property(table, statistics, "rich=yes", 100, tolerance=0.3, bounds=BOUNDS)
    made = fugu.calibrate(scenario, fugu.Pure(0.5), method="record-group")
    found = fugu.usable(made)
    assert found.grade != "not known" and len(found.figures) == len(statistics)
