"""Statistics say whose a row is, on the screen, in the certificate and on the page; a column that seems to name people
more than once is pointed out.

Wrong versions that are rejected: statistics that are silent about rows and people where columns are not; a certificate
that leaves the line out, or says that rows are people where a column names them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.data.uses import several_rows
from fugu.documents.document import digest_of
from fugu.documents.kinds import inner as document_of
from fugu.documents.sentences import one_row
from release_files import command

ROWS = [f"p{k // 2},{'FM'[k % 2]},{(7 * k) % 50}" for k in range(240)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    for name, part in (("ref", ROWS), ("today", ROWS[:77])):
        (made / f"{name}.csv").write_text("\n".join(["patient_id,sex,age", *part]) + "\n")
    return made


def err_of(*words):
    """What a command says on stderr."""
    return CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "200"}).stderr


@pytest.mark.parametrize("route", ["records", "law"])
def test_a_statistic_says_that_rows_are_people_and_which_column_might_name_them(folder, route):
    out = folder / f"{route}.csv"
    asked = ("release", folder / "today.csv", "--query", "mean(age)", "--bounds", "0,50", "--step", "5", "--protect",
             "sex", "--epsilon", "0.05", "--reference", folder / "ref.csv", "--route", route, "--no-ledger",
             "-o", out)  # fmt: skip
    code, text = command(*asked)
    said = " ".join(text.split())
    assert code == 0 and "assumed: one row is one person" in said, text
    assert "seems to name the person" not in said  # it is said before the charge, when nothing is lost yet
    for more in ((), ("--dry-run",)):
        early = " ".join(err_of(*asked[:-1], out.with_name(f"{route}-again.csv"), *more).split())
        assert "'patient_id' seems to name the person, and repeats: 120 values in 240 rows" in early
        assert "--unit" in early and early.count("seems to name") == 1
    body = json.loads(out.with_suffix("").with_suffix(".certificate.json").read_text())
    assert one_row(None) in body["assumptions"]
    assert "one row is one person" in out.with_name(f"{route}.report.html").read_text()
    inside = body["certificates"][0]["certificate"]
    assert document_of(inside).verdict().holds
    assert one_row(None) not in inside["publisher"]["assumptions"]  # it follows, and is nobody's own word
    less = {**inside, "assumptions": [line for line in inside["assumptions"] if line != one_row(None)]}
    less.pop("digest")
    assert not document_of({**less, "digest": digest_of(less)}).verdict().holds


def test_a_person_that_is_named_is_said(tmp_path):
    table = {"who": list(range(200)), "sex": ["F", "M"] * 100, "age": [k % 50 for k in range(200)]}
    session = fugu.Session(table, {**table, "age": [k % 47 for k in range(200)]}, "sex", fugu.Pure(1), unit="who")
    assert "odds about 'sex'" in str(session.ask("mean(age)", bounds=(0, 50)))  # by its name, not "the secret"
    stated = session.certificate["assumptions"]
    assert one_row("who") in stated and one_row(None) not in stated
    assert fugu.verify(session.certificate).holds


def test_columns_that_name_people_by_name_or_by_codes():
    def seen(**columns):
        return several_rows(fugu.Schema({}).open(columns), None)

    ids = [k // 3 for k in range(90)]
    assert all(seen(**{name: ids}) for name in ("id", "user_id", "userId", "patid", "Person", "ID"))
    assert not any(seen(**{name: ids}) for name in ("age", "width", "valid_days", "paid_amount", "idle"))
    assert not seen(id=list(range(90))) and not seen(id=[1, 2, 3] * 30)
    assert seen(x=[f"K{k:04d}" for k in ids]) and not seen(x=[str(k) for k in ids]) and not seen(x=["Ulm", "Rom"] * 45)
    assert not several_rows(fugu.Schema({}).open({"id": ids}), "id")
