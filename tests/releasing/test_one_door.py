"""`fugu.release`: the door of the command line, from Python. One plan to one place is one request, one charge and one
draw, whoever asks and however often; what is refused is refused before anything is charged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BadBudget, BudgetRefused, FuguError, UnknownName, UsageError
from fugu.releasing import dispatch

PLANS = {
    "column": {"publish": "v", "protect": "s", "epsilon": 0.5, "bins": [0, 2, 4, 6], "noise": "Lap"},
    "records": {"query": ["count", "mean(v) by w"], "protect": "s", "epsilon": 1, "bounds": {"v": (0, 5)}},
    "law": {"query": "mean(v)", "protect": "s", "epsilon": 1, "bounds": (0, 5), "route": "law", "unit": "id"},
    "sequences": {"query": "histogram", "by": "w", "order": "t", "state": "x", "epsilon": 4, "smoothing": 1.0},
    "property": {"hide": "x=k", "statistics": "mean(v)", "epsilon": 1, "delta": 0.01, "shares": [0.4, 0.5]},
}
WORDS = {
    "column": ["--publish", "v", "--protect", "s", "--epsilon", "0.5", "--bins", "0,2,4,6", "--noise", "laplace"],
    "records": ["--query", "count; mean(v) by w", "--protect", "s", "--epsilon", "1", "--bounds", "v:0:5"],
    "law": ["--query", "mean(v)", "--protect", "s", "--epsilon", "1", "--bounds", "0,5", "--route", "law",
            "--unit", "id"],
    "sequences": ["--query", "histogram", "--by", "w", "--order", "t", "--state", "x", "--epsilon", "4",
                  "--smoothing", "1"],
    "property": ["--hide", "x=k", "--statistics", "mean(v)", "--epsilon", "1", "--delta", "0.01",
                 "--shares", "0.4,0.5"],
}  # fmt: skip
"""The same questions in Python's words and in those of the command line."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for seed, (name, rows) in enumerate((("ref.csv", 240), ("today.csv", 60))):
        draw = np.random.default_rng(seed)
        lines = [f"{k},{'ab'[k % 2]},{draw.integers(0, 4) + k % 2},{'yz'[k // 12 % 2]}{k // 24},{k % 12},"
                 f"{'kkl'[draw.integers(3)]}" for k in range(rows)]  # fmt: skip
        (tmp_path / name).write_text("\n".join(["id,s,v,w,t,x", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(case="column", **more):
    return fugu.Question(**PLANS[case], reference="ref.csv", allow_no_noise=True, **more)


def command(*words):
    found = CliRunner().invoke(cli.app, [str(word) for word in words])
    if found.exception is not None and not isinstance(found.exception, SystemExit | FuguError):
        raise found.exception
    return found


def requests(ledger="l.db"):
    return [found["request"] for found in json.loads(command("ledger", "show", ledger, "--json").stdout)["requests"]]


def written(folder):
    return {path.name: path.read_bytes() for path in folder.glob("out.*")}


@pytest.mark.parametrize("case", PLANS)
def test_the_same_plan_to_the_same_place_is_the_first_release_for_python_and_for_the_command(case, folder):
    """Wrong versions: a second draw, a second charge, another name of the request than the command line's."""
    plan = planned(case)
    first = fugu.release(plan, "today.csv", "out.csv", "l.db")
    files, charged = written(folder), requests()
    assert len(charged) == 1 and set(files) == {path.name for path in first.files.all()} and not first.repeated
    again = fugu.release(plan, folder / "today.csv", folder / "out.csv", ledger=folder / "l.db")
    asked = command("release", "today.csv", *WORDS[case], "--reference", "ref.csv", "--allow-no-noise", "-o", "out.csv",
                    "--ledger", "l.db", "--json")  # fmt: skip
    assert again.repeated and json.loads(asked.stdout)["released before"] is True
    assert json.loads(asked.stdout)["ledger"]["request"] == charged[0] == first.document["ledger"]["request"]
    assert written(folder) == files and requests() == charged
    assert again.columns == first.columns and again.promises == first.promises and again.usable == first.usable
    assert fugu.verify(first.document, published=str(first.files.published)).holds
    told = fugu.release(plan, "today.csv", "out.csv", "l.db").to_json()
    assert {**json.loads(asked.stdout), "notes": told.get("notes")} == {"notes": None, **told}
    assert first.to_json()["usable"]["verdict"] and told["promise"] == first.promises
    assert str(first.files.published) in repr(first) and "<table" in first._repr_html_()
    assert list(first.to_frame("dict")) == list(first.columns) and len(first) == len(first.values)


def test_a_release_of_the_command_line_is_read_back_by_python_in_another_process(folder):
    words = (*WORDS["records"], "--reference", "ref.csv", "--allow-no-noise")
    command("release", "today.csv", *words, "-o", "out.csv", "--ledger", "l.db")
    files = written(folder)
    planned("records").save("plan.toml")
    code = "import fugu; r = fugu.release('plan.toml', 'today.csv', 'out.csv', 'l.db'); print(r.repeated, r.values)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True [") and done.stderr == "" and written(folder) == files


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"epsilon": -1}, BadBudget),
        ({"step": 2}, UsageError),
        ({"protect": None}, UsageError),
        ({"publish": "nowhere"}, UsageError),
        ({"allow_no_noise": False, "epsilon": 50}, BudgetRefused),
    ],
)
def test_what_is_refused_is_refused_before_the_table_is_opened_or_anything_is_charged(more, error, folder):
    """Wrong version: the charge first. The table is not there, and nothing ever says so."""
    with pytest.raises(error) as refusal:
        fugu.release(replace(planned(), **more), "nowhere.csv", "out.csv", "l.db")
    said = str(refusal.value).partition(" For example: ")[0]  # which repeats the call with what is missing
    assert "nowhere.csv" not in said and "--" not in str(refusal.value)
    assert not written(folder) and not (folder / "l.db").exists()


def test_a_charge_stands_before_the_draw_and_a_failed_draw_is_finished_and_not_drawn_again(folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(dispatch, "publish", stopped)  # after the draw, before any file has its name
        with pytest.raises(KeyboardInterrupt):
            fugu.release(planned(), "today.csv", "out.csv", "l.db")
    assert requests() and not (folder / "out.csv").exists()
    (draft,) = folder.glob(".out.csv.*.pending")
    drawn = draft.read_bytes()
    finished = fugu.release(planned(), "today.csv", "out.csv", "l.db")
    assert (folder / "out.csv").read_bytes() == drawn and not finished.repeated and len(requests()) == 1


def test_an_edited_plan_is_another_request(folder):
    fugu.release(planned("records"), "today.csv", "out.csv", "l.db")
    files = written(folder)
    other = planned("records", weights="2")
    with pytest.raises(UsageError, match="exists; choose another name, or give force to overwrite it"):
        fugu.release(other, "today.csv", "out.csv", "l.db")
    with pytest.raises(BudgetRefused):
        fugu.release(replace(other, weights=None, epsilon="0.5"), "today.csv", "out.csv", "l.db", force=True)
    assert written(folder) == files and len(requests()) == 1


def test_without_a_ledger_the_release_says_so_and_is_not_known_again(folder):
    found = fugu.release(planned(), "today.csv", "out.csv", ledger=False)
    assert any("no ledger" in note for note in found.notes) and found.document["ledger"] is None
    with pytest.raises(UsageError, match="exists"):
        fugu.release(planned(), "today.csv", "out.csv", ledger=False)


def test_a_ledger_object_gives_its_file_its_name_and_its_budget(folder):
    ledger = fugu.Ledger("l.db", fugu.Pure(3), data="visits", late=True)
    found = fugu.release(planned("records"), "today.csv", "out.csv", ledger)
    assert found.document["ledger"]["data"] == "visits" == found.document["data"]["name"]
    (known,) = json.loads(command("ledger", "show", "l.db", "--json").stdout)["data sets"]
    assert known["name"] == "visits" and known["budget"]["epsilon"] == 3
    with pytest.raises(UsageError, match="the ledger is for data 'visits'"):
        fugu.release(planned("records"), "today.csv", "out.csv", ledger, data="others")


def test_nothing_is_printed_and_what_is_said_goes_with_the_result(folder, capfd):
    found = fugu.release(planned("records"), "today.csv", "out.csv", "l.db")
    assert capfd.readouterr() == ("", "") and any("counts as public" in note for note in found.notes)


def test_a_scenario_file_is_a_plan_with_its_table_output_and_ledger_wherever_it_is_called_from(folder, monkeypatch):
    (folder / "inner").mkdir()
    (folder / "inner" / "plan.toml").write_text(
        "[data]\nreference = '../ref.csv'\ntable = '../today.csv'\noutput = 'out.csv'\nledger = 'l.db'\nname = 'ours'\n"
        "[question]\nquery = ['count', 'mean(v) by w']\nbounds = {v = [0, 5]}\n"
        "[secrets]\nprotect = 's'\n[budget]\nepsilon = 1\n"
    )
    first = fugu.release(folder / "inner" / "plan.toml")
    assert first.document["data"]["name"] == "ours" and (folder / "inner" / "out.csv").exists()
    monkeypatch.chdir("/")
    assert fugu.release(folder / "inner" / "plan.toml").repeated
    monkeypatch.chdir(folder / "inner")
    said = command("release", "--scenario", "plan.toml", "--json").stdout
    assert json.loads(said)["released before"] is True


@pytest.mark.parametrize("case", [case for case in PLANS if case != "property"])
def test_a_question_is_the_same_after_it_was_saved(case, folder, monkeypatch):
    (folder / "deep").mkdir()
    plan = planned(case)
    plan.save("deep/plan.toml")
    monkeypatch.chdir(folder / "deep")
    found = fugu.Question.load("plan.toml")
    assert replace(found, reference="ref.csv") == plan and (folder / "deep" / found.reference).samefile("../ref.csv")


def test_natural_values_are_the_texts_that_the_command_line_takes():
    given = fugu.Question(
        epsilon=Fraction(1, 2), delta=np.float64(1e-6), bins=np.int64(5), pairs=[("F", "M")], clip=(0, 9.5),
        noise="Lap",
    )  # fmt: skip
    assert (given.epsilon, given.delta, given.bins, given.pairs, given.clip, given.noise) == (
        "1/2", "1e-06", "5", "F:M", "0,9.5", "laplace",
    )  # fmt: skip
    assert repr(fugu.Question(publish="v", epsilon=1)) == "Question(publish='v', epsilon='1')"
    for wrong in ({"epsilon": object()}, {"bounds": {}}, {"schema": fugu.Schema({})}, {"epsilon": True}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            fugu.Question(**wrong)
    with pytest.raises(UsageError, match="has no place in a scenario file"):
        fugu.Question(no_header=True).to_toml()


def test_a_hidden_share_has_its_section_which_a_release_reads_where_nothing_else_is_asked(tmp_path):
    asked = fugu.Question(hide="x=k", statistics="mean(v),count(w=a)", rows=90, shares="0.4,0.5", tolerance="0.2",
                          epsilon=1, bounds={"v": (0, 9)})  # fmt: skip
    asked.save(tmp_path / "plan.toml")
    assert fugu.Question.load(tmp_path / "plan.toml") == asked and asked.kind == "property"
    (tmp_path / "both.toml").write_text('[question]\npublish = "v"\n[property]\nhide = "x=k"\nsweep = true\n')
    assert fugu.Question.load(tmp_path / "both.toml") == fugu.Question(publish="v")
    (tmp_path / "other.toml").write_text('[property]\nhide = "x=k"\nsweep = true\n')
    with pytest.raises(UsageError, match=r"'sweep' in \[property\] .*: fugu release has no --sweep"):
        fugu.Question.load(tmp_path / "other.toml")


def test_what_is_no_plan_or_no_file_is_refused_by_name(folder):
    with pytest.raises(UnknownName, match="did you mean 'epsilon'"):
        fugu.release({"epsilonn": 1}, "today.csv", "out.csv")
    with pytest.raises(UsageError, match=r"table is the path of a file, .*in a Session, .*; got dict"):
        fugu.release(planned(), {"v": [1]}, "out.csv")
    for plan, out, ledger in ((3, "out.csv", None), (planned(), 3, None), (planned(), "out.csv", 3)):
        with pytest.raises(UsageError, match="is the path of a file"):
            fugu.release(plan, "today.csv", out, ledger)
    with pytest.raises(UsageError, match=r'say where the release goes: out="OUT.csv"; only dry_run'):
        fugu.release(planned(), "today.csv")
    with pytest.raises(UsageError, match="give the TABLE to release; only dry_run"):
        fugu.release(planned(), out="out.csv")


def test_beliefs_of_the_table_itself_are_in_no_repr(folder):
    found = fugu.release(replace(planned(), reference=None, public_prior=True), "today.csv", "out.csv", "l.db")
    assert found.document.withheld and found.certificate.worst_pair not in repr(found) + found._repr_html_()
    assert "none published against anybody" in repr(found) and any(
        "NOT" in note or "private" in note for note in found.notes
    )


RANGES = {
    "ranges": {"query": ["median(v)", "variance(v)", "top(x, 1)", "mean(v) by w"], "protect": "s", "epsilon": 2},
    "cells": {"query": "histogram(x) by w", "protect": "s", "epsilon": 2, "route": "law"},
}


@pytest.mark.parametrize("case", [*PLANS, *RANGES])
def test_what_goes_out_beside_the_numbers_is_the_same_whatever_the_table_holds(case, folder):
    """Cells that are missing, unreadable, clipped or of unknown kinds; the same rows and groups. Wrong versions: bounds
    of the table, a page that says how many cells are missing, an interval from the table's own spread."""
    lines = [line.split(",") for line in (folder / "today.csv").read_text().split()]
    for k, line in enumerate(lines[1:]):
        line[1] = "q" if k % 5 == 0 else line[1]
        line[2] = ("", "987654", "zq7")[k % 3] if k % 4 == 0 else line[2]
        line[5] = ("", "zq7", "l")[k % 3] if k % 7 == 0 else line[5]
    (folder / "odd").mkdir()
    (folder / "odd" / "today.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    plan = fugu.Question(**(PLANS | RANGES)[case], reference="ref.csv", allow_no_noise=True)
    found = []
    for place in (folder, folder / "odd"):
        went = fugu.release(plan, place / "today.csv", place / "out.csv", False, check=False)
        page = went.files.page.read_text()
        said = {name: part for name, part in went.document.body.items() if name not in ("digest", "date", "published")}
        for part in ("data", "beliefs"):
            said[part] = said[part] | {"commitment": None}
        found.append((said, went.notes, went.usable.to_json(), len(went), page.count("<section"), page.count("<dt>")))
        assert not re.search("987654|zq7", re.sub(r"[0-9a-f]{12,}", "", page))
    assert found[0] == found[1]
