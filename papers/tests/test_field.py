"""Works around the five papers: each is found by name, author and number, and judged by nobody."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fugu.cli.app import app
from fugu_papers.field import PAGE, about, works

ROOT = Path(__file__).resolve().parents[2]


def shown(*words):
    done = CliRunner().invoke(app, ["papers", *words], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("work", works(), ids=lambda work: work.key)
def test_a_work_is_found_by_what_people_look_for(work):
    number = work.where.rpartition(":")[2] if work.where.startswith("arXiv") else work.title
    for word in (*work.names, number, work.title.upper()):
        assert work in about(word), word
    text = " ".join(shown(work.names[0]).split())
    for part in (work.authors, work.defines, work.here, work.missing, f"told from {work.source}", work.link):
        assert " ".join(part.split()) in text
    told = json.loads(shown(work.names[0], "--json"))["works"]
    assert work.key in [each["key"] for each in told] and all("verdict" not in each for each in told)


def test_each_has_its_scenario_on_the_page_and_the_page_nothing_else():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, re.M) == [work.key for work in works()]
    assert all(work.where.startswith(("arXiv:", "ACM", "NDSS", "SIGMOD")) for work in works())


def test_the_list_of_papers_ends_with_the_works_around_them():
    text = shown()
    assert "Around them" in text and all(work.where.split(" ")[0] in text for work in works())


def test_what_is_not_there_is_no_work_and_what_is_a_result_stays_one():
    assert about("zzzz") == () and about("ill") == () and about("") == ()
    assert "Theorem 3.3" in shown("GWM") and "Song" not in shown("003", "Table", "4")
