"""The catalogue of the papers is complete, and everything it names is there: functions, commands, tests, proofs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.main import get_command

from fugu.cli.app import app
from fugu.errors import UnknownName, UsageError
from fugu_papers.catalogue import VERDICTS, Result, find, paper, papers, results
from fugu_papers.catalogue.__main__ import write
from fugu_papers.catalogue.pages import MARK, pages, with_table
from fugu_papers.catalogue.reading import KINDS, find_one
from fugu_papers.errata import errata
from fugu_papers.errata import find as erratum
from fugu_papers.reproduce import PAPERS, experiments
from test_docs import anchors

ROOT = Path(__file__).resolve().parents[2]
COUNTED = re.compile(r"\b(?:\d+|[Oo]ne|[Ss]ix) of (?:the )?(?:\d+|two|three|nine)\b")
NUMBERED = {
    "000": {
        "Definition": "2.1 2.2 3.1 3.2 4.1 4.2 4.6 5.1 A.1 A.2 C.1 F.1",
        "Theorem": "3.3 4.3 4.5 5.2 A.3 A.4 A.5 C.2",
        "Proposition": "2.1 2.2 3.1 4.1 4.2 4.3 6.1 6.2 6.3 6.4 B.1 C.1 C.2 C.3 C.4 D.1 E.1 F.1 F.2",
        "Lemma": "3.1 4.1 4.2 5.1 B.1 C.1 D.1 D.2 F.1",
        "Corollary": "3.1 4.1 A.1",
        "Remark": "4.4 6.1 C.3 C.4",
        "Example": "1 2 3",
        "Table": "1",
        "Figure": "1 2 3 4 5 6",
    },
    "001": {"Definition": "1", "Theorem": "1 2", "Corollary": "1 2", "Remark": "1", "Figure": "1 2 3 4 5"},
    "002": {
        "Definition": "1 2 3 4 5 6 7",
        "Theorem": "1 2 3 4 5 6 7 8 9",
        "Algorithm": "1 2",
        "Example": "4.1 4.2 4.3 6.1 6.2",
        "Table": "1 2 3 4 5 6 7 8",
        "Figure": "1 2 3",
    },
    "003": {
        "Assumption": "3.1",
        "Theorem": "4.1",
        "Proposition": "3.2 3.3 5.1",
        "Lemma": "4.2",
        "Remark": "5.2",
        "Algorithm": "1",
        "Example": "4.1",
        "Table": "1 2 3 4",
        "Figure": "1 2 3 4",
    },
    "004": {
        "Definition": "3.1 3.2 4.1 5.1 A.1 A.6",
        "Theorem": "3.1 4.1 4.2 5.1 5.2 5.3 5.4 5.5 5.6 5.7 B.4",
        "Proposition": "4.1 A.2 A.3 A.4 A.5 A.7",
        "Lemma": "B.3 C.1",
        "Corollary": "B.1 B.2",
        "Algorithm": "1 2 3",
        "Table": "1 2 3 4",
        "Figure": "1 2 3 4 5 6",
    },
}
"""What the papers number, read off their texts. Examples without a number, equations and sentences come beside."""
OTHERS = {"000": 1, "001": 5, "002": 3, "003": 4, "004": 6}
"""Statements with a claim that have no number: sections, equations, footnotes, the two examples of 004."""
NAMES = [result.place for result in results()]


def missing(found: Iterable[Result], number: str) -> list[str]:
    """What the paper numbers and the list lacks, by kind."""
    labels = [(result.kind, result.label.rpartition(" ")[2]) for result in found]
    return [f"{kind} {n}" for kind, text in NUMBERED[number].items() for n in text.split() if (kind, n) not in labels]


def broken(result: Result) -> list[str]:
    """Everything that a result names and that is not there."""
    wrong = [name for name in result.functions if not resolves(name)]
    wrong += [name for name in result.tests if not (ROOT / name).is_file()]
    wrong += unknown_words(result.command)
    page, _, section = result.proof.partition("#")
    if result.proof:
        there = ROOT / "docs" / "proofs" / page
        if not there.is_file() or (section and section not in anchors(there)):
            wrong.append(result.proof)
    wrong += sorted(set(result.errata) - {entry.id for entry in errata()})
    return wrong + ([result.verdict] if result.verdict not in VERDICTS else [])


def resolves(name: str) -> bool:
    """Whether a dotted name leads to a module of fugu or something in it."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            held = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            held = getattr(held, part, None)
        return parts[0] in ("fugu", "fugu_papers") and held is not None
    return False


def unknown_words(command: str) -> list[str]:
    """The parts of a command line that the command does not know."""
    if not command:
        return []
    words = command.split()
    commands = get_command(app).commands
    if words[0] != "fugu" or words[1] not in commands:
        return [command]
    known = {option for param in commands[words[1]].real.params for option in param.opts}
    return [word for word in words[2:] if word.startswith("--") and word not in known]


@pytest.mark.parametrize("number", list(NUMBERED))
def test_nothing_that_a_paper_numbers_is_missing_and_nothing_is_listed_twice(number):
    found = paper(number).results
    assert missing(found, number) == []
    counted = sum(len(text.split()) for text in NUMBERED[number].values())
    assert len(found) == counted + OTHERS[number]
    assert len({result.label for result in found}) == len(found)
    assert missing([each for each in found if each != find_one(number, found[3].label)], number) != []


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_a_result_names_is_there(name):
    result = find_one(*name.split(" ", 1))
    assert broken(result) == []
    assert 10 < len(result.says) < 260 and result.says.endswith(".") and result.name
    assert result.kind in (*KINDS, "other")
    if result.verdict in ("misprint", "false as stated", "not a bound as used"):
        assert result.verdict in {erratum(name).grade for name in result.errata}, "a counterexample of this class runs"
    if result.verdict == "reproduced in part":
        assert COUNTED.search(result.says), "how many come out is said"


def test_a_result_that_names_what_is_not_there_is_caught():
    good = find_one("000", "Theorem 3.3")
    for wrong in (
        replace(good, functions=("fugu.calibrat",)),
        replace(good, functions=("math.sqrt",)),
        replace(good, tests=("tests/test_nothing.py",)),
        replace(good, proof="renyi.md#no-such-section"),
        replace(good, proof="nowhere.md"),
        replace(good, command="fugu calibrate --metod x"),
        replace(good, command="fugu callibrate"),
        replace(good, errata=("P-theorem-9.9",)),
        replace(good, verdict="fine"),
    ):
        assert broken(wrong)


def test_every_erratum_of_a_paper_stands_in_its_table_under_the_letter_of_the_paper():
    listed = {name: result.paper for result in results() for name in result.errata}
    letters = {each.letter: each.number for each in papers()}
    for entry in errata():
        if entry.label != "trap":
            assert listed[entry.id] == letters[entry.label], entry.id


def test_papers_are_those_of_the_experiments_and_every_experiment_is_in_the_table():
    assert [(each.number, each.file) for each in papers()] == [(number, file) for number, (file, _) in PAPERS.items()]
    shown = {result.experiment for result in results()}
    assert {each.name for each in experiments()} <= shown, "give the result `runs = NAME` in the file of the paper"
    assert all(result.runs in shown for result in results() if result.runs), "`runs` names an experiment there is"


def test_the_pages_are_up_to_date():
    for name, text in pages().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: run python -m fugu_papers.catalogue"
    page = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    assert MARK in page and with_table(page) == page, "docs/errata.md: run python -m fugu_papers.catalogue"


def test_no_page_is_too_large_and_no_bar_breaks_a_table():
    for name, text in pages().items():
        assert len(text.encode()) < 60_000, name
        tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
        for table in tables:
            bars = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(bars) == 1, name


def test_pages_are_written_where_a_checkout_is_and_only_if_they_changed(tmp_path):
    with pytest.raises(UsageError, match="no checkout"):
        write(tmp_path)
    (tmp_path / "docs").mkdir()
    page = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    (tmp_path / "docs" / "errata.md").write_text(page.replace("R-table-4", "R-table-9"), encoding="utf-8")
    assert set(write(tmp_path)) == {*pages(), "docs/errata.md"}
    assert write(tmp_path) == []
    assert (tmp_path / "docs" / "errata.md").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("text", "first", "count"),
    [
        ("Theorem 4.5", "000 Theorem 4.5", 1),
        ("thm. 4.1", "003 Theorem 4.1", 2),
        ("004 theorem 5.2", "004 Theorem 5.2", 1),
        ("fig. 5", "000 Figure 5", 3),
        ("gwm", "000 Theorem 3.3", 4),
        ("DauM", "004 Algorithm 3", 2),
        ("post-processing", "000 Proposition 2.1", 3),
        ("P-lemma-C.1", "000 Lemma C.1", 1),
        ("fugu_papers.collapse.every_bit", "002 Example 4.2", 2),
        ("quilt mech", "002 Section 6.1", 1),
    ],
)
def test_results_are_found_by_label_name_erratum_and_function(text, first, count):
    found = find(text)
    assert found[0].place == first and len(found) == count


@pytest.mark.parametrize(("text", "near"), [("GVM", "'GWM'"), ("Theorm 3.3", "'Theorem 3.3'"), ("DAGWN", "'DAGWM'")])
def test_what_is_not_found_is_answered_with_near_names(text, near):
    with pytest.raises(UsageError, match=re.escape(near)):
        find(text)


def test_wrong_names_are_refused():
    for text in ("", "   ", "zzzzzz"):
        with pytest.raises(UsageError, match="`fugu papers` lists them"):
            find(text)
    with pytest.raises(UnknownName, match="did you mean"):
        paper("005")
    with pytest.raises(UnknownName, match=r"did you mean 'Theorem 3\.3'"):
        find_one("000", "Theorem 3.33")
