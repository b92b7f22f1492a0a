"""`fugu train` through a ledger: charged before it runs, the same command the same model, another one refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BudgetRefused, FuguError
from fugu.ledger import Books, books
from fugu.training.utility import ASKED as MODEL
from fugu.training.utility import CONSTANT, TrainingRehearsal

pytest.importorskip("sklearn")
ASKED = ("--target", "ill", "--epsilon", "1", "--delta", "1e-5", "--bounds", "age:0:100,bmi:10:50", "--classes",
         "no,yes", "--features", "age,bmi")  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    for name, count in (("today.csv", 150), ("past.csv", 120)):
        age, bmi = rng.integers(20, 90, count), rng.uniform(18, 40, count).round(3)
        ill = np.where(age + 2 * bmi + rng.normal(0, 5, count) > 115, "yes", "no")
        lines = [f"{a},{b},{c},{k}" for k, (a, b, c) in enumerate(zip(age, bmi, ill, strict=True))]
        (tmp_path / name).write_text("age,bmi,ill,day\n" + "\n".join(lines) + "\n")
    return tmp_path


def run(*args, prior="independent"):
    words = ["train", *map(str, args), *ASKED, "--prior", prior]
    return CliRunner().invoke(cli.app, words, env={"COLUMNS": "200"})


def coefficients(path):
    found = json.loads(path.read_text())
    return found["coefficients"], found["intercept"]


def test_the_same_command_gives_the_same_model_and_another_is_refused(folder):
    assert run("today.csv", "-o", "a.json").exit_code == 0
    assert run("today.csv", "-o", "b.json").exit_code == 0
    assert coefficients(folder / "a.json") == coefficients(folder / "b.json")
    for more in (("--private", "features"), ("--model", "svc")):
        refused = run("today.csv", "-o", "c.json", *more)
        assert isinstance(refused.exception, BudgetRefused) and refused.exception.exit_code == 3
    assert not (folder / "c.json").exists()
    free = run("today.csv", "-o", "c.json", "--no-ledger")
    assert free.exit_code == 0 and "no ledger" in free.output
    assert coefficients(folder / "c.json") != coefficients(folder / "a.json")


def test_a_model_without_a_file_is_charged_too_and_a_copy_of_the_table_is_known(folder):
    told = json.loads(run("today.csv", "--ledger", "l.db", "--request", "monday", "--json").stdout)
    assert told["ledger"] == {"request": "monday", "data": "today.csv"}
    (folder / "copy.csv").write_text((folder / "today.csv").read_text())
    known = run("copy.csv", "--ledger", "l.db")
    assert isinstance(known.exception, FuguError) and "known to the ledger as 'today.csv'" in str(known.exception)
    entries = Books(folder / "l.db").read(books.history, "today.csv")
    assert [(e.request, e.kind) for e in entries] == [("monday", "per-entry")]


def test_deltas_add_as_epsilons_do(folder):
    """A budget of three epsilons and one delta holds one training: the second would need a second delta."""
    one, two = (run("today.csv", "--ledger", "l.db", "--budget", "3", "--request", name) for name in ("one", "two"))
    assert one.exit_code == 0 and isinstance(two.exception, BudgetRefused)
    with fugu.Ledger(folder / "l.db", fugu.Approx(3, 1e-5), data="today.csv") as ledger:
        assert ledger.spent() == fugu.Approx(1, 1e-5)


@pytest.mark.parametrize(("prior", "kind"), [("independent", "per-entry"), ("group", "law")])
def test_the_release_verifies_with_its_ledger_and_fails_with_another(folder, prior, kind):
    (folder / "out").mkdir()
    assert run("today.csv", "--ledger", "l.db", "-o", "out/m.json", prior=prior).exit_code == 0
    assert [e.kind for e in Books(folder / "l.db").read(books.history, "today.csv")] == [kind]
    found = fugu.examine(folder / "out", ledger=folder / "l.db")
    assert found.holds and ("ledger entry", "holds") in [(check[0], check[1]) for check in found.checks]
    with fugu.Ledger(folder / "other.db", fugu.Approx(1, 1e-5), data="today.csv") as other:
        request = json.loads((folder / "out" / "m.certificate.json").read_text())["ledger"]["request"]
        other.spend(request, fugu.Charge.per_entry(fugu.Approx(1, 1e-5)), lambda: 1.0)
    assert not fugu.examine(folder / "out", ledger=folder / "other.db").holds


def test_a_rehearsal_is_charged_to_nobody_and_shows_auc_and_a_sentence(folder):
    told = json.loads(run("--rehearse", "--reference", "past.csv", "--ledger", "l.db", "--json").stdout)
    assert not (folder / "l.db").exists() and told["ledger"] is None
    plain = next(line for line in told["comparison"] if line["name"] == "non-private")
    assert 0.8 < plain["auc"] <= 1 and told["rehearsal"]["constant_guess"]["auc"] == 0.5
    assert "verdict" in told["rehearsal"]
    assert "AUC" in run("--rehearse", "--reference", "past.csv").output


def test_the_sentence_compares_part_by_part():
    """Gains of the same parts are paired: a model that wins a little in each is better, however the parts differ."""
    guess = (0.5, 0.9, 0.6, 0.7, 0.8)

    def verdict(*gains):
        scores = {MODEL: tuple(g + x for g, x in zip(guess, gains, strict=True)), CONSTANT: guess}
        return TrainingRehearsal("accuracy", 80, 20, scores).verdict

    assert verdict(0.05, 0.06, 0.05, 0.04, 0.05) == ""
    assert verdict(0.3, -0.1, 0.2, -0.2, 0.1).startswith("the model is not clearly better")
    assert verdict(0, 0, 0, 0, 0).startswith("the model is no better than the constant guess")
