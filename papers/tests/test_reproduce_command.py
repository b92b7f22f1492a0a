"""`fugu reproduce`: lists, runs, writes; bad names, tables and folders are said."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from fugu.cli.app import app
from fugu.errors import FuguError
from fugu_papers.experiment import Experiment, Outcome, Row
from fugu_papers.shelf import DataMissing

TABLE = "src/fugu/examples/clinic_reference.csv"


def run(*words, env=None):
    done = CliRunner().invoke(app, ["reproduce", *words], env={"COLUMNS": "160", **(env or {})})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_without_a_name_all_are_listed():
    shown = run()
    assert "003-table4" in shown and "runs all" in shown and "Noise Reduction" in shown
    told = json.loads(run("--json"))
    assert {"003-table4", "003-figure2"} <= {each["name"] for each in told} and all("ready" in each for each in told)


def test_one_is_a_table_with_notes_and_files(tmp_path):
    shown = run("003-figure2", "--short", "-o", str(tmp_path / "out"))
    assert "7.8 (=)" in shown and "26.5 (!)" in shown and "cut off" in shown and "wrote 3 files" in shown
    page = (tmp_path / "out" / "003-figure2.md").read_text()
    assert "| Table 1 | W1 | 0.1 | Alg. 1 | 7.8 |" in page and "003-figure2.svg" in page
    assert (tmp_path / "out" / "003-figure2.svg").read_text().startswith("<svg")
    told = json.loads(run("003-figure2", "--short", "--json"))
    assert [row["verdict"] for row in told["rows"]] == ["reproduced", "differs"]


def test_a_paper_is_a_summary_and_data_that_is_missing_leaves_out_one(monkeypatch):
    from fugu_papers import reproduce

    def missing(setting):
        raise DataMissing("x.csv is needed")

    def broken(setting):
        return Outcome((Row(("1",), "M", None, 0.5, 1.0, 2.0, 0.7),))

    fake = (Experiment("003-a", "a", "scales", ("n",), broken), Experiment("003-b", "b", "scales", ("n",), missing))
    monkeypatch.setattr(reproduce, "experiments", lambda: fake)
    shown = run("yang")
    assert "003-b was left out: x.csv is needed" in shown and "003-a" in shown
    told = json.loads(run("003", "--json"))
    assert told["left_out"] == [{"name": "003-b", "why": "x.csv is needed", "failed": False}]
    assert len(told["experiments"]) == 1
    alone = run("003-a")
    assert "as printed, not a guarantee: true epsilon 2, claimed 1" in alone
    with pytest.raises(DataMissing):
        run("003-b")


def test_what_fails_is_listed_and_a_run_goes_on_where_it_was_cut_short(monkeypatch, tmp_path):
    from fugu_papers import reproduce

    ran = []

    def fine(name):
        def runs(setting):
            ran.append(name)
            return Outcome((Row(("1",), "M", "0.5", 0.5, 1.0, math.inf, 0.7, note="n"),))

        return Experiment(name, "t", "scales", ("n",), runs)

    def broken(setting):
        ran.append("003-b")
        raise ZeroDivisionError("by chance")

    fake = (fine("003-a"), Experiment("003-b", "b", "scales", ("n",), broken), fine("003-c"))
    monkeypatch.setattr(reproduce, "experiments", lambda: fake)
    words = ["reproduce", "all", "-o", str(tmp_path)]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 1 and "003-b failed: ZeroDivisionError: by chance" in first.output
    assert "3 of 3: 003-c, 1 rows" in first.output  # progress without a terminal
    assert ran == ["003-a", "003-b", "003-c"] and (tmp_path / "003-a.md").exists() and (tmp_path / "003-c.md").exists()
    second = CliRunner().invoke(app, words)
    assert ran[3:] == ["003-b"] and "003-a, done before" in second.output and second.exit_code == 1
    assert CliRunner().invoke(app, [*words, "--short"]) and ran[4:] == ["003-a", "003-b", "003-c"]  # another form
    assert CliRunner().invoke(app, [*words, "--short", "--again"]) and ran[7:] == ["003-a", "003-b", "003-c"]
    (tmp_path / "003-a.json").write_text("{")  # cut off in the middle: it is run again
    assert CliRunner().invoke(app, [*words, "--short"]) and ran[10:] == ["003-a", "003-b"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["003-tabel4"], "did you mean '003-table4'"),
        (["--publish", "x", "003-table4"], "give it with --table"),
        (["003-table4", "--table", TABLE, "--publish", "chol"], "--protect"),
        (["003-table4", "--table", TABLE, "--publish", "cholesterol", "--protect", "smoker"], "no column"),
        (["003-table4", "--table", "nowhere.csv", "--publish", "chol", "--protect", "smoker"], "nowhere.csv"),
        (["002-table4", "--table", TABLE, "--publish", "chol", "--protect", "smoker"], "does not run on a table"),
        (["003-table4", "--folder", "nowhere"], "no folder 'nowhere'"),
        (["-o", "x"], "give the NAME"),
    ],
)
def test_bad_input_is_said(words, why):
    with pytest.raises(FuguError, match=why):
        run(*words)


def test_a_table_of_ones_own_is_said_to_be_unprotected():
    done = CliRunner().invoke(app, ["reproduce", "003-table4", "--short", "--table", TABLE, "--publish", "age",
                                    "--protect", "smoker"], env={"COLUMNS": "160"})  # fmt: skip
    said = " ".join(done.output.split())
    assert done.exit_code == 0 and "its loop as printed" in said and "not protected" in said
