"""docs/limits.md says what the shipped counts give: its table, its figures and its picture."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import limits  # noqa: E402

FOUND = {column["name"]: column["curves"] for column in json.loads(limits.FIGURES.read_text(encoding="utf-8"))}
PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")


def test_the_table_of_the_page_is_that_of_the_figures_at_epsilon_one():
    rows = {
        cells[0]: cells[1:]
        for cells in (re.split(r"\s*\|\s*", line)[1:-1] for line in PAGE.splitlines() if "|" in line)
    }
    for name, words in limits.WORDS.items():
        stated = [float(cell) for cell in rows[words]]
        assert stated == [pytest.approx(FOUND[column][name]["1"], rel=6e-4) for column in ("campaign", "age", "hours")]


@pytest.mark.parametrize(("column", "epsilon"), [("campaign", "0.2"), ("campaign", "1"), ("age", "2")])
def test_the_figures_are_what_the_counts_give(column, epsilon):
    pair = limits.laws(next(found for found in limits.columns() if found["name"] == column))
    for name, error in limits.points(pair, epsilon).items():
        assert error == pytest.approx(FOUND[column][name][epsilon], rel=1e-9)


@pytest.mark.parametrize("column", ["campaign", "age", "hours"])
def test_every_curve_is_above_the_limit_and_falls(column):
    for name, curve in FOUND[column].items():
        errors = [curve[epsilon] for epsilon in limits.EPSILONS]
        assert all(a >= b * (1 - 1e-9) for a, b in pairwise(errors)), name
        least = [FOUND[column]["limit"][epsilon] for epsilon in limits.EPSILONS]
        assert all(a >= b for a, b in zip(errors, least, strict=True)), name


def test_the_picture_is_drawn_from_the_figures():
    found = json.loads(limits.FIGURES.read_text(encoding="utf-8"))
    assert limits.picture(found) == limits.PICTURE.read_text(encoding="utf-8")
    assert limits.picture(found[:1]) != limits.picture(found)
