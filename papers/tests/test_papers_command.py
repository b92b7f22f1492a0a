"""`fugu papers`: the papers, the results of one, and what carries a name; wrong names are answered with near ones."""

from __future__ import annotations

import json

import pytest
import typer.main
from typer.testing import CliRunner

from fugu.cli import console
from fugu.cli.app import app
from fugu.errors import MissingExtra, UnknownName, UsageError
from fugu_papers.catalogue import paper, papers


def fugu(*words):
    """The exit code, what is printed, and the error that ended the command."""
    done = CliRunner().invoke(app, ["papers", *words])
    return getattr(done.exception, "exit_code", done.exit_code), done.stdout, done.exception


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal on which few lines break, whatever a test before has made of it."""
    monkeypatch.setattr(console.out, "_width", 400)


def test_the_list_names_every_paper_and_counts_its_results():
    code, shown, _ = fugu()
    assert code == 0
    for each in papers():
        assert each.title in shown and f"{len(each.results)}: " in shown
    told = json.loads(fugu("--json")[1])
    assert [each["number"] for each in told] == [each.number for each in papers()]
    assert [sum(each["verdicts"].values()) for each in told] == [len(each.results) for each in papers()]


@pytest.mark.parametrize("name", ["003", "yang"])
def test_a_paper_is_a_table_of_its_results(name):
    code, shown, _ = fugu(name)
    assert code == 0 and "docs/papers/yang.md" in shown
    assert [result.label for result in paper("003").results if result.label not in shown] == []
    told = json.loads(fugu(name, "--json")[1])
    assert [each["label"] for each in told["results"]] == [result.label for result in paper("003").results]


def test_a_label_is_shown_with_everything_that_is_known_of_it():
    code, shown, _ = fugu("003", "Table", "4")  # quotes may be left out
    assert code == 0 and shown == fugu("003 table 4")[1]
    for part in ("verdict: reproduced", "fugu reproduce 003-table4", "docs/proofs/laplace.md#",
                 "fugu errata R-table-4 (misprint). The laws of Table 1",
                 "tests/transport/test_relaxed.py"):  # fmt: skip
        assert part in shown
    assert "Theorem" not in shown


def test_a_name_is_explained_then_its_results_follow():
    code, shown, _ = fugu("GWM")
    assert code == 0 and shown.index("docs/glossary.md#gwm") < shown.index("000 Theorem 3.3")
    assert "also about GWM" in shown and "Proposition B.1" in shown
    told = json.loads(fugu("gwm", "--json")[1])
    assert told["term"]["name"] == "GWM" and told["results"][0]["label"] == "Theorem 3.3"
    assert told["results"][0]["proof"].startswith("docs/proofs/")


def test_a_word_of_the_glossary_without_results_of_that_name_shows_its_places():
    told = json.loads(fugu("PNSGD", "--json")[1])
    assert [f"{each['paper']} {each['label']}" for each in told["results"]] == ["000 Section 6.4", "000 Lemma F.1"]


@pytest.mark.parametrize(
    ("words", "kind", "part"),
    [
        (("005",), UnknownName, "no paper '005'; did you mean"),
        (("Theorm 3.3",), UsageError, "did you mean 'Theorem 3.3'"),
        (("zzzzzz",), UsageError, "`fugu papers` lists them"),
    ],
)
def test_what_is_not_there_is_answered_with_near_names(words, kind, part):
    code, shown, error = fugu(*words)
    assert code == 2 and isinstance(error, kind) and part in str(error) and shown == ""


def test_without_the_package_the_commands_are_listed_and_say_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    typer.main.get_command.cache_clear()  # the tests lay commands out once (conftest.py)
    for name in ("papers", "errata", "reproduce"):
        done = CliRunner().invoke(app, [name])
        assert isinstance(done.exception, MissingExtra) and "pip install fugu-papers" in str(done.exception)
    assert "reproduce" in CliRunner().invoke(app, ["--help"]).output
