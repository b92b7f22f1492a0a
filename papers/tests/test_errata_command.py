"""`fugu errata`: lists, runs one, runs all; says aloud and by its exit code if a counterexample does not refute."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from fugu.cli import console
from fugu.cli.app import app
from fugu.errors import NotProvable, UsageError
from fugu_papers.errata import errata, registry, run


def fugu(*words):
    """The exit code, what is printed, and the error that ended the command."""
    done = CliRunner().invoke(app, ["errata", *words], env={"COLUMNS": "200"})
    error = done.exception
    return (getattr(error, "exit_code", done.exit_code), done.stdout, error)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal on which no line breaks, whatever a test before has made of it."""
    monkeypatch.setattr(console.out, "_width", 200)


@pytest.fixture
def idle(monkeypatch):
    """One entry whose counterexample refutes nothing: it runs the corrected statement in place of the printed one."""
    entries = list(errata())
    found = run(entries[3].id)
    entries[3] = replace(entries[3], counterexample=lambda: replace(found, printed=found.corrected))
    monkeypatch.setattr(registry, "errata", lambda: tuple(entries))
    return entries[3].id


def test_the_list_names_every_entry_and_runs_nothing(monkeypatch):
    monkeypatch.setattr(registry.Erratum, "run", lambda self: pytest.fail(f"{self.id} was run"))
    code, shown, _ = fugu()
    assert code == 0
    assert [entry.id for entry in errata() if entry.id not in shown or entry.verdict not in shown] == []
    assert "Chen, Ohrimenko 2023" in shown and f"{len(errata())} entries" in shown
    code, shown, _ = fugu("--json")
    told = json.loads(shown)
    assert code == 0
    assert all(said | entry.to_dict() == said for entry, said in zip(errata(), told, strict=True))
    assert all(said["papers"] for said in told if not said["id"].startswith("trap")), "each stands in a table of papers"


def test_an_entry_names_its_place_in_the_papers_and_the_experiment_that_shows_it():
    code, shown, _ = fugu("R-table-4")
    assert code == 0 and "003 Table 4" in shown and "fugu reproduce 003-table4" in shown
    told = json.loads(fugu("trap-continuous-delta", "--json")[1])
    assert told["papers"] == [] and told["experiments"] == []


def test_one_shows_both_statements_both_numbers_and_the_page():
    code, shown, _ = fugu("c-theorem-9")
    assert code == 0
    for part in ("C-theorem-9: Theorem 9, Bai", "at most 4.70659", "8.90133: refuted", "8.90133: holds",
                 "class:   false as stated", "under:   Three entries, the paper's kernel",
                 "docs/errata/bai.md#c-theorem-9-truncated-gaussian-fields"):  # fmt: skip
        assert part in shown
    code, shown, _ = fugu("C-theorem-9", "--json")
    told = json.loads(shown)
    assert code == 0 and told["refuted"] is told["stands"] is True
    assert told["printed claim"]["truth"] > 8.9 > 4.8 > told["printed claim"]["bound"]


def test_an_infinite_truth_is_null_for_programs_and_a_word_beside_it():
    told = json.loads(fugu("P-theorem-A.3", "--json")[1])["printed claim"]
    assert told["truth"] is None and told["in truth"] == "infinity" and not told["holds"]


def test_all_are_run():
    code, shown, _ = fugu("--all", "--json")
    told = json.loads(shown)
    assert code == 0 and [entry["id"] for entry in told] == [entry.id for entry in errata()]
    assert all(entry["refuted"] and entry["stands"] for entry in told)
    code, shown, _ = fugu("--all")
    count = len(errata())
    assert code == 0 and f"{count} of {count} printed statements refuted; {count} corrected" in shown


def test_a_counterexample_that_refutes_nothing_ends_with_4(idle):
    code, shown, error = fugu(idle)
    assert code == 4 and "NOT refuted" in shown
    assert isinstance(error, NotProvable) and f"not confirmed, 1 of 1: {idle};" in str(error)
    code, shown, error = fugu("--all")
    assert code == 4 and f"{len(errata()) - 1} of {len(errata())} printed" in shown and idle in str(error)
    code, shown, _ = fugu(idle, "--json")
    assert code == 4 and json.loads(shown)["refuted"] is False


def test_a_correction_that_fails_ends_with_4(monkeypatch):
    entry, found = errata()[3], run(errata()[3].id)
    wrong = replace(entry, counterexample=lambda: replace(found, corrected=found.printed))
    monkeypatch.setattr(registry, "errata", lambda: (wrong,))
    code, shown, _ = fugu(entry.id)
    assert code == 4 and "refuted" in shown and "FAILS" in shown
    code, shown, _ = fugu("--all")
    assert (
        code == 4 and f"{entry.id}: the correction FAILS" in shown and "1 of 1 printed statements refuted; 0" in shown
    )


def test_wrong_use():
    for words, part in (
        (("000-C.1",), "did you mean 'P-lemma-C.1'?"),
        (("zzzz",), "no erratum 'zzzz'; `fugu errata` lists them all"),
        (("P-lemma-C.1", "--all"), "give one ID, or --all"),
    ):
        code, shown, error = fugu(*words)
        assert code == 2 and isinstance(error, UsageError) and part in str(error) and shown == ""


def test_progress_is_told_for_every_entry():
    from fugu.progress import reporting

    seen = []
    with reporting(lambda *told: seen.append(told)):
        registry.run_all()
    seen = [told for told in seen if told[0] == "counterexamples"]
    done, totals = [told[1] for told in seen], {told[2] for told in seen}
    assert done == sorted(done) and totals == {done[-1]} and len(done) == len(errata()) + 1
    assert done[-1] >= 20_000  # below that the bar is not shown
