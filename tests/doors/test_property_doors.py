"""Statistics that hide a property: one private record, whatever it holds, moves its own contribution alone."""

from __future__ import annotations

import numpy as np
import pytest
from hostile import CELLS

from fugu import Pure, Schema
from fugu.queries.property_release import PropertyQuestion, open_property

REFERENCE = {
    "age": [20, 30, 40, 50, 60, 70] * 20,
    "job": ["x", "y", "x", "z", "y", "x"] * 20,
    "rich": ["yes", "no", "no"] * 40,
}
TODAY = {name: cells[7:47] for name, cells in REFERENCE.items()}
ROW = 11
ASKED = {"statistics": ["mean(age)", "count(job=x)"], "hide": "rich=yes", "bounds": {"age": (18, 90)}}
MODES = {
    "as they come": ASKED,
    "with a schema": {
        "statistics": ["sum(age)", "count(job=x)"], "hide": "rich=yes", "bounds": {"age": (18, 90)},
        "schema": Schema({"age": {"kind": "number", "bounds": (0, 120), "missing": 50}}),
    },
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("column", ["age", "job"])
def test_one_record_moves_its_own_contribution_and_nothing_else(mode, column):
    known = PropertyQuestion.of(REFERENCE, **MODES[mode])
    _, clean = open_property(TODAY, known, Pure(1))
    before = known.contributions(clean.table)
    for cell in CELLS:
        cells = list(TODAY[column])
        cells[ROW] = cell
        private = prepare_private(known, {**TODAY, column: cells})
        after = known.contributions(private.table)
        assert after.shape == before.shape and np.isfinite(after).all()
        others = np.arange(len(before)) != ROW
        assert np.array_equal(after[others], before[others])
        assert 18 <= after[ROW, 0] <= 90 and after[ROW, 1] in (0, 1)


def prepare_private(known, table):
    from fugu.data.private import open_private

    return open_private(table, known.reading, ("age", "job"))


def test_the_certificate_and_the_scenario_do_not_follow_the_private_records():
    first, second = (PropertyQuestion.of(REFERENCE, **ASKED) for _ in range(2))
    one, private = open_property(TODAY, first, Pure(1))
    odd = {**TODAY, "age": [1e308, *TODAY["age"][1:]], "job": ["SENTINEL-93177", *TODAY["job"][1:]]}
    two, other = open_property(odd, second, Pure(1))
    assert one.certificate.claims == two.certificate.claims
    assert first.recipe(len(private)) == second.recipe(len(other))
    assert "SENTINEL" not in two.certificate.text


def test_the_hidden_column_is_not_looked_at_and_need_not_be_there():
    without = {name: cells for name, cells in TODAY.items() if name != "rich"}
    known = PropertyQuestion.of(REFERENCE, **ASKED)
    mechanism, private = open_property(without, known, Pure(1))
    assert np.array_equal(known.exact(private, mechanism.certificate), [np.mean(TODAY["age"]), TODAY["job"].count("x")])
