"""What goes out of a session or an answer is possible: never farther from the truth than what was drawn, whatever it
is, and in an interval that holds in every case in which it held before. From the definitions alone, by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from fugu import Pure, Schema, Session
from fugu.data import Table
from fugu.queries.answer import cells_of
from fugu.queries.kinds import Cell, Options, half_width
from fugu.queries.statistic import StatisticQuestion, plan_of

REFERENCE = {"s": ["a", "b"] * 20, "x": [-2, 1, 4, 7, 10] * 8, "w": ["u", "v", "w", "u"] * 10}
OPTIONS = Options(bounds=(-2, 10), step=3)
VALUES, LABELS = (-2, 1, 4, 7, 10), ("u", "v", "w", "(other)")


def questions():
    reading = Schema.from_table(REFERENCE)
    table = reading.read(Table(REFERENCE))
    for text in ("count(w=u)", "proportion(w=u)", "sum(x)", "mean(x)", "variance(x)", "histogram(w)", "top(w, 2)"):
        plan = plan_of(StatisticQuestion.parse(text), reading, table, OPTIONS if "x" in text else Options())
        yield text, plan.noised({"": Fraction(1, 2)})


def truths(text, rows):
    """Each number that goes out of such a table, by what it is called: worked out from its records."""
    if "x" in text:
        n = len(rows)
        mean = Fraction(sum(rows), n)
        variance = sum((Fraction(x) - mean) ** 2 for x in rows) / n
        return {"": {"sum(x)": Fraction(sum(rows)), "mean(x)": mean, "variance(x)": variance}[text]}
    if text in ("count(w=u)", "proportion(w=u)"):
        found = rows.count("u")
        return {"": Fraction(found) if text == "count(w=u)" else Fraction(found, len(rows))}
    return {label: Fraction(rows.count(label)) for label in LABELS}


@pytest.mark.parametrize(("text", "asked"), list(questions()), ids=lambda each: each if isinstance(each, str) else "")
def test_no_number_leaves_what_is_possible_or_moves_away_from_any_possible_truth(text, asked):
    domain = VALUES if "x" in text else LABELS
    moved = False
    for size in (1, 2, 3):
        tables = [list(rows) for rows in combinations_with_replacement(domain, size)]
        for drawn in draws(text):
            before = {cell.cell: cell for cell in asked.cells("", drawn, size)}
            after = {cell.cell: cell for cell in cells_of(asked, {"": drawn}, {"": size})}
            assert list(after) == list(before)  # the same cells in the same order: ranks are those of the draw
            for name, cell in after.items():
                old = before[name]
                assert cell.noised == old.value and cell.scale == old.scale
                assert cell.low <= cell.value <= cell.high
                possible = [truths(text, rows)[name] for rows in tables]
                for truth in {*map(float, possible)}:
                    assert abs(cell.value - truth) <= abs(old.value - truth) * (1 + 1e-12) + 1e-12
                    if old.low + 1e-9 <= truth <= old.high - 1e-9:
                        assert cell.low - 1e-9 <= truth <= cell.high + 1e-9
                if not (text == "variance(x)" and size % 2):  # an odd table cannot have half at each end
                    assert float(min(possible)) - 1e-9 <= cell.value <= float(max(possible)) + 1e-9
                moved |= old.value != cell.value
    assert moved


def draws(text):
    """Numbers that noise can make, far beyond what is possible."""
    if text == "variance(x)":
        return [[a, b] for a in (-9, 0, 3, 40) for b in (-60, 0, 2, 99)]
    if text in ("histogram(w)", "top(w, 2)"):
        return [[5, -7, 1, 0], [-1, -2, -3, 9], [2, 2, 0, -4]]
    return [[k] for k in (-30, -1, 0, 1, 2, 5, 99)]


def test_wrong_ends_are_noticed():
    """An end inside of what is possible, or an interval that is moved with its value, fails the same comparison."""
    cell = Cell("", "", -3.0, -10.0, 4.0, 1.0)
    assert cell.possible(0.0, 5.0) == Cell("", "", 0.0, 0.0, 4.0, 1.0, -3.0)
    assert abs(cell.possible(1.0, 5.0).value - 0.0) < abs(
        cell.value - 0.0
    )  # and yet the truth 0 is out of its interval
    assert not cell.possible(1.0, 5.0).low <= 0.0 <= cell.possible(1.0, 5.0).high
    gone = Cell("", "", -9.0, -12.0, -6.0, 1.0).possible(0.0, 5.0)  # an interval that was wrong stays as wrong
    assert (gone.value, gone.low, gone.high) == (0.0, 0.0, 0.0)
    chosen = Cell("", "a", math.nan, math.nan, math.nan, 1.0)
    assert chosen.possible(0.0, 1.0) is chosen


def test_intervals_hold_as_often_as_they_say_and_errors_are_less():
    """20,000 draws of an empty cell, of one record in three and of a full cell."""
    rng, size, rate = np.random.default_rng(5), 30, Fraction(1, 4)
    _, asked = next(pair for pair in questions() if pair[0] == "count(w=u)")
    half, p = half_width(rate), 1 - math.exp(-float(rate))
    asked = asked.__class__(asked.query, asked.kind, None, asked.features, asked.law, {"": (rate,)})
    for truth in (0, 10, 30):
        noise = rng.geometric(p, 20_000) - rng.geometric(p, 20_000)
        found = [cells_of(asked, {"": [truth + int(k)]}, {"": size})[0] for k in noise]
        inside = np.mean([cell.low <= truth <= cell.high for cell in found])
        assert inside >= np.mean(np.abs(noise) <= half) >= 0.945
        error, before = (np.mean([abs(x - truth) for x in each]) for each in
                         ([c.value for c in found], [c.noised for c in found]))  # fmt: skip
        assert error <= before
        assert truth == 10 or error < 0.55 * before


def test_a_session_publishes_possible_numbers_and_keeps_the_draw_beside_them():
    today = {"x": [10] * 12, "w": ["u"] * 12}
    session = Session(today, REFERENCE, "s", Pure(0.2), ledger=False)
    cells = [cell for each in session.ask_all(["histogram(w)", "proportion(w=u)"]) for cell in each.cells]
    assert all(0 <= cell.low <= cell.value <= cell.high <= 12 for cell in cells)
    assert cells[-1].high <= 1
    assert all(cell.noised == round(cell.noised) for cell in cells[:-1])
