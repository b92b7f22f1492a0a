"""`fugu release --hide`: what goes out, what binds it, what is charged, and what is refused before anything is."""

from __future__ import annotations

import csv
import json
import random

import pytest

from fugu.documents import swap as swap_document
from fugu.documents.document import digest_of
from fugu.documents.swap import RecordSwap
from release_files import beside, certificate_of, checks, command

STATISTICS = "mean(age),count(job=x)"
BASE = ("--hide", "rich=yes", "--statistics", STATISTICS, "--bounds", "age:18:90", "--shares", "0.4,0.5")
ODDS = ("--epsilon", "1", "--delta", "1e-2")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hidden")
    for name, rows, seed in (("ref", 400, 1), ("today", 60, 2)):
        draw = random.Random(seed)
        lines = ["rich,age,job"]
        for _ in range(rows):
            rich = draw.random() < 0.4
            lines.append(f"{'yes' if rich else 'no'},{20 + draw.randrange(40) + 8 * rich},{'xy'[draw.random() < 0.5]}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """A release plans its draws by one number, and so does its verifier: fewer of them for a test."""
    monkeypatch.setattr(swap_document, "DRAWS", 60_000)


def ask(folder, out, *more, odds=ODDS, books=None, table="today.csv", reference="ref.csv"):
    where = ("--no-ledger",) if books is None else ("--ledger", folder / books)
    return command("release", folder / table, *BASE, *odds, "--reference", folder / reference, "-o", folder / out,
                   *where, *more)  # fmt: skip


def outcomes(path):
    """{check: outcome} of the document beside a published file."""
    return {name: outcome for name, (outcome, _) in checks(beside(path))[1].items()}


@pytest.mark.parametrize("method", ["optimal", "record-group", "record-exchange", "record-swap"])
def test_a_release_goes_out_with_what_binds_it(tables, method):
    out = f"{method}.csv"
    code, said = ask(tables, out, "--method", method, "--size", "60", "--allow-no-noise")
    assert code == 0, said
    rows = list(csv.DictReader((tables / out).read_text().splitlines()))
    assert [row["statistic"] for row in rows] == ["mean(age)", "count(job=x)"]
    assert all(float(row["low"]) <= float(row["high"]) for row in rows)
    certificate = certificate_of(tables / out)
    assert certificate.method == method
    assert set(certificate.body["reading"]["columns"]) == {"age", "job"}  # the property's column is not looked at
    found = outcomes(tables / out)
    assert "fails" not in found.values(), found
    assert found["question"] == found["rows"] == found["budget"] == "holds"
    page = (tables / out).with_suffix(".report.html").read_text()
    assert "rich=yes" in page and "mean(age)" in page
    code, said = command("report", beside(tables / out), "-o", tables / f"{method}.html", "--force")
    assert code == 0, said


def test_the_reference_and_the_table_are_held_against_the_document(tables):
    assert ask(tables, "held.csv", "--method", "optimal", books="held.db")[0] == 0
    more = ("--reference", tables / "ref.csv", "--data", tables / "today.csv", "--ledger", tables / "held.db")
    code, said = command("verify", beside(tables / "held.csv"), *more)
    assert code == 0 and "reference laws" in said, said
    other = (tables / "ref.csv").read_text().replace("yes,6", "no,6")
    (tables / "other.csv").write_text(other)
    code, said = command("verify", beside(tables / "held.csv"), "--reference", tables / "other.csv")
    assert code != 0 and "does not hold" in said


def test_a_request_is_answered_once_and_closes_the_table(tables):
    assert ask(tables, "once.csv", "--method", "record-swap", books="once.db")[0] == 0
    first = (tables / "once.csv").read_bytes()
    swap = RecordSwap.of(certificate_of(tables / "once.csv"))
    code, said = ask(tables, "once.csv", "--method", "record-swap", "--force", books="once.db")
    assert code == 0, said
    assert (tables / "once.csv").read_bytes() == first
    assert RecordSwap.of(certificate_of(tables / "once.csv")) == swap  # the same draws, not new ones
    code, said = ask(tables, "twice.csv", "--method", "optimal", books="once.db")
    assert code == 3 and not (tables / "twice.csv").exists(), said


@pytest.mark.parametrize("more", [(), ("--law-error", "0.02")], ids=["fitted", "off"])
def test_a_pure_budget_exchanges_records(tables, more):
    name = f"pure{len(more)}"
    code, said = ask(tables, f"{name}.csv", *more, "--allow-no-noise", odds=("--epsilon", "1"), books=f"{name}.db")
    assert code == 0, said
    certificate = certificate_of(tables / f"{name}.csv")
    assert certificate.method == "record-exchange" and certificate.proved["delta"] == 0
    assert ("off by 0.02" in " ".join(certificate.assumptions)) == bool(more)
    found = outcomes(tables / f"{name}.csv")
    assert found["budget"] == "holds" and "fails" not in found.values()
    beside_it = ("--reference", tables / "ref.csv", "--data", tables / "today.csv", "--ledger", tables / f"{name}.db")
    code, said = command("verify", beside(tables / f"{name}.csv"), *beside_it)
    assert code == 0 and "reference laws" in said, said


def test_laws_that_may_be_off_are_for_a_pure_budget(tables):
    code, said = ask(tables, "off.csv", "--law-error", "0.02")
    assert code == 2 and "without delta" in said, said


def test_a_dry_run_draws_its_own_and_writes_nothing(tables):
    code, said = ask(tables, "dry.csv", "--method", "record-swap", "--dry-run", "--json")
    found = json.loads(said[said.index("{") :])
    assert code == 0 and found["dry_run"] and found["estimate"]["sigma"] < found["estimate"]["cap"]
    assert not (tables / "dry.csv").exists()
    code, said = ask(tables, "dry.csv", "--method", "record-swap", "--dry-run")
    assert code == 0 and "estimate" in said and "nothing was released" in said


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        (("--size", "61"), 2, "61"),
        (("--protect", "job"), 2, "--protect"),
        (("--query", "mean(age)"), 2, "--query"),
        (("--noise", "laplace"), 2, "--noise"),
        (("--shares", "0.4"), 2, "two shares"),
        (("--bounds", "height:1:2"), 2, "height"),
        (("--bounds", "age=1"), 2, "bounds"),
        (("--statistics", "mean(height)"), 2, "height"),
        (("--hide", "rich=maybe"), 2, "rich=maybe"),
        (("--method", "nonsense"), 2, "nonsense"),
    ],
)
def test_refusals_come_before_anything_is_charged(tables, more, code, words):
    found, said = ask(tables, "no.csv", *more, books="no.db")
    assert found == code and words in said, said
    assert not (tables / "no.csv").exists() and not (tables / "no.db").exists()


def test_the_reference_is_not_the_table_and_is_needed(tables):
    code, said = ask(tables, "own.csv", reference="today.csv")
    assert code != 0 and "very table" in said
    code, said = command("release", tables / "today.csv", *BASE, *ODDS, "--public-prior", "-o", tables / "own.csv",
                         "--no-ledger")  # fmt: skip
    assert code == 2 and "--reference" in said
    code, said = command("release", tables / "today.csv", "--size", "60", "--protect", "job", "--publish", "age",
                         *ODDS, "--reference", tables / "ref.csv", "-o", tables / "own.csv", "--no-ledger")  # fmt: skip
    assert code == 2 and "for --hide only" in said


def _resealed(path, change):
    place = beside(path)
    before = place.read_text()
    body = json.loads(before)
    change(body, body["certificates"][0]["certificate"])
    for part in (body["certificates"][0]["certificate"], body):
        part.pop("digest")
        part["digest"] = digest_of(part)
    place.write_text(json.dumps(body))
    return before


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda body, inside: body["question"]["recipe"].update(size=61), "question"),
        (lambda body, inside: body["question"]["recipe"]["bounds"].update(age=["0", "90"]), "question"),
        (lambda body, inside: body["question"]["recipe"].update(tolerance="1/5"), "question"),
        (lambda body, inside: body["question"].update(words="Publish nothing."), "question"),
        (lambda body, inside: body["data"].update(rows=61), "rows"),
    ],
)
def test_a_forged_question_is_refused(tables, change, check):
    if not (tables / "forged.csv").exists():
        assert ask(tables, "forged.csv", "--method", "record-group")[0] == 0
    before = _resealed(tables / "forged.csv", change)
    try:
        assert outcomes(tables / "forged.csv")[check] == "fails"
    finally:
        beside(tables / "forged.csv").write_text(before)
