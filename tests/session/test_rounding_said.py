"""What rounding to the step moves is counted in verdicts and said; the default step is fine where numbers lie close.

Wrong versions that are rejected: a median of 0 for one of 448 called usable at +- 0; a mean whose interval is called
the truth's while rounding alone moves it out; steps of a fortieth of a range that a few large numbers make."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest

import fugu
from fugu.queries.features import Coded, fine_range, moved_by_rounding
from fugu.session.checks import weak_reference
from release_files import command


def skewed(seed, rows):
    draw = random.Random(seed)
    return {"sex": [draw.choice("FM") for _ in range(rows)],
            "balance": [int(draw.lognormvariate(6.4, 1.4)) - 200 for _ in range(rows)]}  # fmt: skip


REFERENCE, TODAY = skewed(1, 6000), skewed(2, 2000)
TRUTH = {"mean(balance)": np.mean(TODAY["balance"]), "median(balance)": np.median(TODAY["balance"])}


@pytest.mark.parametrize("query", TRUTH)
def test_the_default_step_is_fine_where_numbers_lie_close(query):
    session = fugu.Session(TODAY, REFERENCE, "sex", fugu.Pure(2))
    answer = session.ask(query)
    (cell,) = answer.cells
    (asked,) = session.certificate.questions
    middle = np.subtract(*np.quantile(REFERENCE["balance"], (0.75, 0.25)))
    assert asked.features[0].step < middle and cell.low <= TRUTH[query] <= cell.high


def test_a_coarse_median_is_not_called_usable():
    session = fugu.Session(TODAY, REFERENCE, "sex", fugu.Pure(2))
    answer = session.ask("median(balance)", bounds=(-200, 75000), step=1880)
    (cell,) = answer.cells
    (figures,) = answer.usable.figures
    assert figures.moved == 940 and figures.grade == "mostly noise" and "rounding" in figures.verdict
    assert cell.low <= TRUTH["median(balance)"] <= cell.high and cell.high > cell.value


def test_whole_numbers_at_a_step_of_one_are_not_widened():
    table = {"sex": ["F", "M"] * 300, "age": [20 + k % 60 for k in range(600)]}
    session = fugu.Session(table, {**table, "age": table["age"][::-1]}, "sex", fugu.Pure(2))
    (figures,) = session.ask("median(age)", bounds=(0, 100), step=1).usable.figures
    assert "rounding" not in figures.verdict


def test_a_mean_that_rounding_moves_says_so(tmp_path):
    for name, table in (("ref", REFERENCE), ("today", TODAY)):
        rows = map(",".join, zip(table["sex"], map(str, table["balance"]), strict=True))
        (tmp_path / f"{name}.csv").write_text("\n".join(["sex,balance", *rows]) + "\n")
    coarse = Coded("balance", Fraction(-200), Fraction(1880), 40)
    moved = moved_by_rounding(coarse, np.array(REFERENCE["balance"], dtype=float))
    for route in ("records", "law"):
        code, text = command("release", "--query", "mean(balance)", "--bounds=-200,75000", "--step", "1880",
                             "--protect", "sex", "--epsilon", "1", "--reference", tmp_path / "ref.csv",
                             "--route", route, "--dry-run", "--allow-no-noise")  # fmt: skip
        said = " ".join(text.split())
        assert code == 0 and f"moves the mean of the reference by {float(f'{moved:.4g}'):g}" in said, text
        assert "do not hold that" in said
    session = fugu.Session(TODAY, REFERENCE, "sex", fugu.Pure(2))
    (figures,) = session.ask("mean(balance)", bounds=(-200, 75000), step=1880).usable.figures
    within = moved_by_rounding(coarse, np.clip(np.array(REFERENCE["balance"], dtype=float), -200, 75000))
    assert abs(within - moved) > 1, "bounds that are stated are part of the question: the verdict counts the step alone"
    assert figures.moved == pytest.approx(within)
    assert figures.relative * abs(figures.value) == pytest.approx(figures.half + abs(within))


def test_an_answer_in_python_says_it_too_and_never_of_a_private_reference():
    """The interval is about the noise: steps of 5,000 move the mean far out of it, and the note says so."""
    asked = {"query": "mean(balance)", "protect": "sex", "budget": fugu.Pure(1), "bounds": (0, 75000), "step": 5000}
    found = fugu.answer(TODAY, reference=REFERENCE, allow_no_noise=True, **asked)
    (cell,) = found.cells
    assert not cell.low <= np.clip(TODAY["balance"], 0, 75000).mean() <= cell.high
    assert "moves the mean of the reference by" in found.note and "do not hold that" in found.note
    own = fugu.answer(TODAY, reference=TODAY, allow_no_noise=True, public_prior=True, **asked)
    assert "moves" not in own.note
    assert "moves" not in fugu.answer(TODAY, reference=REFERENCE, allow_no_noise=True, **asked | {"step": 25}).note


def test_steps_of_ordinary_columns_stay():
    table = fugu.Schema({}).open({"chol": [110 + (37 * k) % 190 for k in range(500)]})
    reading = fugu.Schema.from_table(table, ["chol"])
    assert fine_range(reading, table, "chol", False)[2] == fine_range(reading, table, "chol", True)[2] == 3


def test_a_cell_that_holds_most_of_the_reference_is_named():
    """Wrong version: twenty bins of one width, and nearly all rows in one of them."""
    session = fugu.Session(TODAY, REFERENCE, "sex", fugu.Pure(2))
    (said,) = (
        line for line in chain(*weak_reference(session, [{"query": "histogram(balance)"}])) if "give bins" in line
    )
    share = max(np.histogram(REFERENCE["balance"], bins=20)[0]) / len(REFERENCE["balance"])
    assert share > 0.5 and "histogram(balance): one cell, " in said
    given = [{"query": "histogram(balance)", "bins": [-200, 0, 500, 1000, 75000]}]
    assert not any("give bins" in line for line in chain(*weak_reference(session, given)))
