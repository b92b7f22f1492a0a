"""What people typed first, and what it says to them: the option in its own words, an example, where to go."""

from __future__ import annotations

import re
from importlib import resources

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BadBudget, FuguError, UsageError

ASKED = ("--reference", "last.csv", "--protect", "smoker", "--query", "mean(chol)", "--epsilon", "0.5", "-o", "c.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, ours in {"clinic_today": "today", "clinic_reference": "last"}.items():
        (tmp_path / f"{ours}.csv").write_text((resources.files("fugu.examples") / f"{name}.csv").read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "ledger.db"))
    return tmp_path


def run(*words):
    done = CliRunner().invoke(cli.app, [*map(str, words)])
    if isinstance(done.exception, FuguError):
        return str(done.exception)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("train", "today.csv"), "--epsilon is missing: How much.* Example: fugu train .* -o model.json$"),
        (("plan", "last.csv", "--publish", "chol", "--protect", "smoker", "--error", "ten"), "--error takes a number"),
        (("plan", "last.csv", "--epsilon", "1"), "finds the epsilon: give --error"),
        (("release", "today.csv", "--bounds", "100", "200"), "one word, such as --bounds 0,100"),
        (("verify", "today.csv"), "not a certificate .* give the OUT.certificate.json that lies"),
        (("release", *ASKED, "--scenario", "last.csv"), "'last.csv' is a table, and a scenario file is expected"),
    ],
)  # fmt: skip
def test_what_is_typed_first_is_answered_with_what_to_type(words, said, folder):
    assert re.search(said, run(*words), re.DOTALL)


def test_a_release_that_went_out_does_not_take_another_cap(folder):
    """Wrong version, which was ours: the first release is given back, and another cap is not heard of."""
    run("release", "today.csv", *ASKED)
    assert "released before" in run("release", "today.csv", *ASKED)
    assert "released before" in run("release", "today.csv", *ASKED, "--cap", "2.5")
    assert "with a cap of 2.5: what went out stays" in run("release", "today.csv", *ASKED, "--cap", "0.5")
    plan = fugu.Question(query="mean(chol)", protect="smoker", epsilon=0.5, reference="last.csv", cap=0.5)
    with pytest.raises(UsageError, match="stays as it is"):
        fugu.release(plan, "today.csv", "c.csv", fugu.Ledger("ledger.db", fugu.Pure(0.5), data="today.csv"))


def test_a_number_is_no_budget_and_the_message_says_what_is(folder):
    with pytest.raises(BadBudget, match=r"got float; write fugu.Pure\(0.5\)"):
        fugu.answer("today.csv", "mean(chol)", "smoker", 0.5, "last.csv")


def test_a_key_is_not_a_list_of_who_may_sign(folder):
    run("release", "today.csv", *ASKED)
    (folder / "c.certificate.json.sig").write_text("-----BEGIN SSH SIGNATURE-----\n")
    (folder / "my.pub").write_text("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me@here\n")
    assert "'my.pub' is a key, not a list of who may sign" in run("verify", "c.certificate.json", "--signer", "my.pub")
