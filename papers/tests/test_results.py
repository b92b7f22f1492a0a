"""The ratio table: a paper's best sound method over fugu's; docs/results.md and README say the same."""

from __future__ import annotations

import dataclasses
import math
import re
from pathlib import Path

import pytest

from fugu_papers.experiment import Experiment, Outcome, Row, Setting
from fugu_papers.reproduce import PAPERS, experiments
from fugu_papers.results import brief, gains, headline, ratio_table, spread

ROOT = Path(__file__).resolve().parents[2]
ROWS = (
    Row(("a", "1"), "W1", "4.0", 4.0, 1.0, 0.5, 2.0, 1.0),
    Row(("a", "1"), "Alg", "3.1", 3.0, 1.0, 0.9, 2.0, 1.0, note="a slip"),
    Row(("a", "1"), "Unsound", "0.1", 0.1, 1.0, 9.0, 2.0, 1.0),
    Row(("a", "1"), "Alg, corrected", None, 2.0, 1.0, 1.0, 2.0, 1.0),
    Row(("a", "2"), "W1", "5.0", 5.0, 1.0, 0.5, 0.0),
    Row(("b", "1"), "W1", "5.0"),
)
OPEN = "fugu does worse here"
"""What is known and said: pure budgets for a property of records, large epsilon (paper 004, Figure 2, work class)."""
RUNS = [(Experiment("003-x", "x", "scales", ("what", "epsilon"), lambda setting: Outcome(ROWS)), Outcome(ROWS))]


def test_only_what_keeps_its_promise_and_is_in_print_is_compared():
    (found,) = gains(RUNS)
    assert found.methods == ("Alg", "W1") and found.ratios == (1.5, math.inf) and found.above == (2.0,)
    assert "| `003-x` | a | Alg, W1 | no noise needed (from 1.50) | 2.00 | 2 |" in ratio_table(RUNS)


def test_counts_of_a_paper():
    named = [(dataclasses.replace(RUNS[0][0], name="003-table4"), RUNS[0][1])]
    both = [(row if row.method != "Alg" else dataclasses.replace(row, method="Alg. 1")) for row in ROWS]
    named = [(named[0][0], Outcome(tuple(both)))]
    assert "| 6 | 3 of 4 | 1 | 1 | Alg. 1 (`003-table4`) | 1.50 |" in headline(named)
    assert "| Yang, Ding et al. | Alg. 1 (`003-table4`) | 1.50 | 3 of 4 |" in brief(named)
    assert "| Alg. 1 (`003-table4`) |  |" in headline(RUNS), "another experiment says nothing of it"


@pytest.mark.parametrize(
    ("numbers", "said"), [((), ""), ((1.0, 1.0), "1.00"), ((2.0, 300.0), "300 (2.00 to 300)"), ((0.001,), "0.001")]
)
def test_numbers_in_short(numbers, said):
    assert spread(numbers) == said


def cells(page: str) -> dict[str, list[str]]:
    """The lines of tables by their first cell."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.split("\n") if line.startswith("|")]
    return {line[0]: line[1:] for line in lines if line}


def test_the_page_has_every_experiment_that_can_be_compared_and_readme_quotes_it():
    page, readme = (ROOT / "docs" / "results.md").read_text(), (ROOT / "README.md").read_text()
    named = set(re.findall(r"`(\d{3}-[\w.]+)`", page))
    assert named <= {each.name for each in experiments()} and {name[:3] for name in named} == set(PAPERS)
    table, quoted = cells(page), cells(readme.partition("<!-- results -->")[2].partition("<!-- /results -->")[0])
    for _, title in PAPERS.values():
        _, printed, _, _, method, ratio = table[title]
        assert quoted[title.partition(":")[0]] == [method, ratio, printed] and ratio, title


@pytest.mark.parametrize("each", experiments(), ids=lambda each: each.name)
def test_no_sound_printed_method_is_better_than_fugu(each):
    """In the short form of every experiment: a ratio below 1 would be more noise than needed."""
    if each.files and not all(Setting().shelf.find(path) for path in each.files):
        pytest.skip("its data is not here")
    outcome = each.run(Setting(short=True))
    assert outcome.rows and all(len(row.case) == len(each.columns) for row in outcome.rows)
    worse = [row for row in outcome.rows if row.ratio is not None and row.ratio < 1 - 1e-9 and OPEN not in row.note]
    assert not worse, worse[:3]
    silent = [row for row in outcome.rows if row.verdict in ("differs", "not reproducible") and not row.note]
    assert not silent, silent[:3]
