"""Sequences under a chain that a scenario file states: no reference, and the certificate is that of Python's chain."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.documents.sentences import PRIVATE_NUMBERS
from fugu.errors import FuguError
from fugu.queries.sequence_prior import chain_by_hand
from fugu_verify import prove_again

STATED = {"states": ["well", "ill"], "transition": [[0.8, 0.2], ["1/3", "2/3"]], "start": "stationary"}
FILE = """
[question]
query = "histogram"
by = "patient"
order = "day"
state = "health"
length = 6

[sequence.chain]
states = ["well", "ill"]
transition = [[0.8, 0.2], ["1/3", "2/3"]]
start = "stationary"

[budget]
epsilon = 1
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"p{p},{d},{'odd' if p == d == 3 else 'ill' if (p + d) % 3 else 'well'}" for p in range(40) for d in range(5)
    ]
    Path("days.csv").write_text("\n".join(["patient,day,health", *rows]) + "\n")
    Path("days.toml").write_text(FILE)
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, list(words), env={"COLUMNS": "200"})
    if isinstance(done.exception, FuguError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.stdout


def test_a_stated_chain_is_released_verified_twice_and_written_back():
    code, said = run("release", "days.csv", "--scenario", "days.toml", "--no-ledger", "-o", "out.csv")
    assert code == 0, said
    document = json.loads(Path("out.certificate.json").read_text())
    assert document["beliefs"]["from"] == "declared" and document["beliefs"]["name"] is None
    code, said = run("verify", "out.certificate.json", "--published", "out.csv", "--twice", "--json")
    assert code == 0 and json.loads(said)["holds"]
    certificate = document["certificates"][0]["certificate"]
    assert prove_again(certificate).outcome == "holds"
    chain = fugu.MarkovChain([[0.8, 0.2], [1 / 3, 2 / 3]], 6, "stationary", ["well", "ill"])
    assert certificate["pufferfish"]["epsilon"] == fugu.translate(chain, float(Fraction(certificate["epsilon"])))
    assert any("by hand: no table was looked at" in line for line in certificate["assumptions"])
    assert PRIVATE_NUMBERS not in certificate["assumptions"], "no table was fitted on"
    assert run("init", "--from", "out.certificate.json", "-o", "again.toml")[0] == 0
    assert run("release", "days.csv", "--scenario", "again.toml", "--no-ledger", "-o", "b.csv")[0] == 0
    again = json.loads(Path("b.certificate.json").read_text())
    assert again["certificates"] == document["certificates"] and again["question"] == document["question"]


def test_a_dry_run_opens_no_table_and_promises_what_the_release_does():
    dry = fugu.release("days.toml", dry_run=True)
    went = fugu.release("days.toml", "days.csv", "out.csv", ledger=False)
    assert dry.plan_sha256 == went.plan_sha256
    question = fugu.Question.load("days.toml")
    assert json.loads(question.chain) == STATED and question.by_hand
    question.save("saved.toml")
    assert fugu.Question.load("saved.toml") == question


def test_another_chain_is_another_request():
    account = ("--ledger", "books.db", "--budget", "9", "--data", "days")
    assert run("release", "days.csv", "--scenario", "days.toml", *account, "-o", "a.csv")[0] == 0
    Path("other.toml").write_text(FILE.replace("[0.8, 0.2]", "[0.7, 0.3]"))
    code, said = run("release", "days.csv", "--scenario", "other.toml", *account, "-o", "b.csv")
    assert code == 2 and "registered with other beliefs" in said, said


def test_a_comparison_of_rules_needs_sequences_and_says_what_to_call():
    code, said = run("compare", "--scenario", "days.toml")
    assert code == 2 and "fugu release --dry-run" in said, said


def test_influence_takes_it():
    code, said = run("influence", "--scenario", "days.toml")
    assert code == 0 and said.startswith("stated by hand; 2 states (well, ill); length 6;")
    chain = fugu.MarkovChain([[0.8, 0.2], [1 / 3, 2 / 3]], 6, "stationary", ["well", "ill"])
    told = json.loads(run("influence", "--scenario", "days.toml", "--json")[1])
    assert told["epsilon per entry"]["best rule"] == fugu.dp_budget(chain, 1)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('["well", "ill"]', '["well"]', "states must name the 2 rows"),
        ('["well", "ill"]', '["well", "well"]', "different texts"),
        ("[0.8, 0.2]", "[0.8, 0.3]", "must sum to 1"),
        ("[0.8, 0.2]", '["x", 0.2]', "not a number"),
        ("[0.8, 0.2]", '["1e400", 0.2]', "beyond the range"),
        ("length = 6", "length = 1000000000000000", "from 1 to 1,000,000"),
        ('"stationary"', '"sometimes"', "'stationary', 'any' or a law"),
        ('"stationary"', "3", "a list of rows"),
        ('start = "stationary"', "", "a table of states, transition, start"),
        ("length = 6", "", "--length N"),
        ("length = 6", "length = 4", "less than the longest sequence"),
        ("length = 6", "length = 6\nsmoothing = 0.5", "--smoothing: the chain is stated by hand"),
        ("[budget]", '[data]\nreference = "days.csv"\n[budget]', "--reference: the chain is stated by hand"),
        ("[sequence.chain]", '[sequence]\ngaps = "modelled"\nevery = "1"\n[sequence.chain]', "no --columns"),
    ],
)
def test_what_is_no_chain_is_refused_by_its_key(old, new, why):
    assert FILE.count(old) == 1
    Path("bad.toml").write_text(FILE.replace(old, new))
    code, said = run("release", "days.csv", "--scenario", "bad.toml", "--no-ledger", "-o", "out.csv")
    assert code == 2 and why in said, said
    assert not Path("out.csv").exists()


def test_a_chain_is_read_exactly():
    chain = chain_by_hand(json.dumps(STATED), 6)
    assert chain.transition(1)[1].tolist() == [1 / 3, 2 / 3] and chain.stationary and chain.length == 6
    law = chain_by_hand(json.dumps({**STATED, "start": ["1/4", 0.75]}), 3)
    assert law.marginal(1).tolist() == [0.25, 0.75]
    assert chain_by_hand(json.dumps({**STATED, "start": "any"}), 3).free
