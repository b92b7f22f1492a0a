"""Attacks on a release through the doors of a user: forged documents that are sealed again, second draws that name the
entry of the first, files that lie about, names that are markup. A forger can seal: the digest is no signature."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil

import pytest
from typer.testing import CliRunner

import fugu
from fugu.cli.app import app
from fugu.documents.release import file_sha256
from fugu.documents.sentences import PRIVATE_NUMBERS, question_words
from fugu.errors import CertificateError, UsageError

EXAMPLES = "src/fugu/examples/"
TODAY, LAST = EXAMPLES + "clinic_today.csv", EXAMPLES + "clinic_reference.csv"
COLUMN = ("--publish", "chol", "--protect", "smoker", "--unit", "patient", "--epsilon", "0.5", "--reference", LAST)
MEANS = ("--query", "mean(chol)", "--by", "ward", "--bounds", "100,300", "--step", "5", "--protect", "smoker",
         "--epsilon", "0.5", "--reference", LAST, "--route", "law")  # fmt: skip


def run(*args):
    return CliRunner().invoke(app, list(map(str, args)), env={"COLUMNS": "200"})


def released(folder, *args):
    result = run("release", *args)
    assert result.exit_code == 0, result.output
    return folder


def sealed(body):
    """What a forger does: the canonical JSON without its digest, hashed again."""
    plain = {name: part for name, part in body.items() if name != "digest"}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {**plain, "digest": hashlib.sha256(text.encode()).hexdigest()}


def forged(folder, target, change):
    """A copy of a release whose document was changed and sealed again, with the certificates in it."""
    shutil.copytree(folder, target, dirs_exist_ok=True)
    (place,) = target.glob("*.certificate.json")
    body = json.loads(place.read_text())
    change(body)
    for part in body["certificates"] if isinstance(body["certificates"], list) else ():
        if isinstance(part, dict) and isinstance(part.get("certificate"), dict):
            part["certificate"] = sealed(part["certificate"])
    place.write_text(json.dumps(sealed(body)))
    return target


def outcomes(verdict):
    return {name: outcome for name, outcome, _ in verdict.checks}


@pytest.fixture(scope="module")
def column(tmp_path_factory):
    base = tmp_path_factory.mktemp("column")
    (base / "out").mkdir()
    return released(base / "out", TODAY, *COLUMN, "--ledger", base / "l.db", "-o", base / "out" / "c.csv")


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    base = tmp_path_factory.mktemp("means")
    (base / "out").mkdir()
    return released(base / "out", TODAY, *MEANS, "--ledger", base / "l.db", "-o", base / "out" / "m.csv")


@pytest.mark.parametrize(("kind", "asked"), [("column", COLUMN), ("means", MEANS)])
def test_a_second_draw_cannot_name_the_entry_of_the_first(kind, asked, tmp_path, request):
    first = request.getfixturevalue(kind)
    ledger = first.parent / "l.db"
    honest = fugu.examine(first, ledger=ledger)
    assert honest.holds
    assert outcomes(honest)["ledger draw"] == "holds"
    (tmp_path / "again").mkdir()
    second = released(tmp_path / "again", TODAY, *asked, "--no-ledger", "-o", tmp_path / "again" / "x.csv")
    (place,) = first.glob("*.certificate.json")
    entry = json.loads(place.read_text())["ledger"]
    verdict = fugu.examine(forged(second, tmp_path / "f", lambda body: body.update(ledger=entry)), ledger=ledger)
    assert not verdict.holds
    assert outcomes(verdict)["ledger draw"] == "fails"


def test_a_sequence_is_bound_to_its_entry_too(tmp_path):
    lines = [f"u{u},{t},{'ill' if (u * t) % 5 == 1 else 'well'}" for u in range(6) for t in range(12)]
    (tmp_path / "s.csv").write_text("user,t,mode\n" + "\n".join(lines) + "\n")
    (tmp_path / "r.csv").write_text("user,t,mode\n" + "\n".join(lines[5:]).replace("u1,3,well", "u1,3,ill") + "\n")
    (tmp_path / "out").mkdir()
    out = released(
        tmp_path / "out", tmp_path / "s.csv", "--reference", tmp_path / "r.csv", "--by", "user", "--order", "t",
        "--state", "mode", "--query", "count(ill)", "--epsilon", "1", "--ledger", tmp_path / "l.db", "-o",
        tmp_path / "out" / "s.csv",
    )  # fmt: skip
    assert outcomes(fugu.examine(out, ledger=tmp_path / "l.db"))["ledger draw"] == "holds"

    def another_number(body):
        text = (tmp_path / "f" / "s.csv").read_text().replace("\ncount(ill),", "\ncount(ill),1", 1)
        (tmp_path / "f" / "s.csv").write_text(text)
        place = tmp_path / "f" / "s.csv"
        body["published"][0].update(sha256=file_sha256(place), bytes=place.stat().st_size)

    verdict = fugu.examine(forged(out, tmp_path / "f", another_number), ledger=tmp_path / "l.db")
    assert outcomes(verdict)["published s.csv"] == "holds"
    assert outcomes(verdict)["ledger draw"] == "fails"


def test_the_time_of_the_charge_is_the_ledgers(column, tmp_path):
    late = forged(column, tmp_path / "f", lambda body: body["ledger"].update(at="1999-01-01T00:00:00+00:00"))
    assert not fugu.examine(late, ledger=column.parent / "l.db").holds


SHAPES = {
    "no group": lambda body: body["certificates"][0].pop("group"),
    "no certificate": lambda body: body["certificates"][0].update(certificate=None),
    "a list": lambda body: body["certificates"][0].update(certificate=[1]),
    "empty": lambda body: body.update(certificates=[{}]),
    "no columns": lambda body: body["published"][0].update(columns=None),
    "columns that are no text": lambda body: body["published"][0].update(columns=[3]),
    "rows that are no number": lambda body: body["published"][0].update(rows="many"),
    "named twice": lambda body: body["published"].append(copy.deepcopy(body["published"][0])),
    "no question": lambda body: body.update(question=None),
    "a text": lambda body: body.update(question="abc"),
    "a recipe that is a list": lambda body: body["question"].update(recipe=["a"]),
    "words that are none": lambda body: body["question"].update(words=3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_document_of_another_shape_is_refused(column, tmp_path, name):
    found = forged(column, tmp_path / "f", SHAPES[name])
    with pytest.raises(CertificateError):
        fugu.examine(found, reference=LAST)


def test_a_recipe_cannot_be_taken_away(column, tmp_path):
    words = "Publish column 'salary', row by row. Secret: 'illness' of each row."
    found = forged(column, tmp_path / "f", lambda body: body["question"].update(recipe=None, words=words))
    assert outcomes(fugu.examine(found))["question"] == "fails"


def test_a_unit_is_one_that_records_are_read_by(means, tmp_path):
    found = forged(means, tmp_path / "f", lambda body: body["question"]["recipe"].update(unit="household"))
    assert outcomes(fugu.examine(found))["question"] == "fails"


def test_another_secret_is_only_seen_with_the_reference_and_that_is_said(means, tmp_path):
    def another(body):
        body["question"]["recipe"]["protect"] = "sex"
        body["question"]["words"] = question_words(body["question"]["recipe"])

    found = forged(means, tmp_path / "f", another)
    assert outcomes(fugu.examine(found))["reference"] == "not checked"
    assert not fugu.examine(found, reference=LAST).holds


def test_a_published_file_that_is_not_there_is_no_verdict(column):
    for given in (column / "typo.csv", column):
        with pytest.raises(UsageError):
            fugu.examine(column, published=given)


def test_the_first_line_of_another_file_is_not_repeated(column, tmp_path):
    (tmp_path / "bare.csv").write_text("Ann Smith,171\nBob Jones,180\n")
    verdict = fugu.examine(column, published=tmp_path / "bare.csv")
    assert not verdict.holds
    assert not any("Ann" in why for _, _, why in verdict.checks)


def test_a_name_that_is_markup_is_shown(column, tmp_path):
    odd = "[bold]c.csv"
    result = run("verify", forged(column, tmp_path / "f", lambda body: body["published"][0].update(name=odd)))
    assert result.exit_code == 0
    assert "published [bold]c.csv" in " ".join(result.output.split())


def test_nothing_is_left_beside_a_release_named_by_a_relative_path(tmp_path, monkeypatch):
    for name in ("clinic_today.csv", "clinic_reference.csv"):
        shutil.copy(EXAMPLES + name, tmp_path)
    monkeypatch.chdir(tmp_path)
    asked = [*COLUMN[:-1], "clinic_reference.csv"]
    assert run("release", "clinic_today.csv", *asked, "--ledger", "l.db", "-o", "c.csv").exit_code == 0
    assert not [place.name for place in tmp_path.iterdir() if place.name.endswith(".pending")]


def test_a_document_that_withholds_its_beliefs_does_not_say_that_it_holds_them(tmp_path):
    result = run("release", TODAY, *COLUMN[:-2], "--public-prior", "--no-ledger", "-o", tmp_path / "p.csv")
    assert result.exit_code == 0
    for name in ("p.certificate.json", "p.report.html"):
        text = (tmp_path / name).read_text()
        assert "withheld" in text
        assert PRIVATE_NUMBERS not in text
    assert fugu.examine(tmp_path).holds

    def words(body):
        body["question"]["words"] = "Publish column 'salary', row by row. Secret: 'illness' of each row."

    assert outcomes(fugu.examine(forged(tmp_path, tmp_path / "f", words)))["question"] == "fails"


def test_a_training_ends_with_its_model_and_its_page(tmp_path):
    result = run("train", TODAY, "--target", "chol", "--features", "age", "--prior", "independent", "--epsilon", "1",
                 "--delta", "1e-5", "--bounds", "age:18:95,chol:100:320", "-o", tmp_path / "m.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert fugu.examine(tmp_path / "m.json").holds
    model = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "m.json").write_text(json.dumps({**model, "extra": 1}))
    assert not fugu.examine(tmp_path / "m.json").holds


def test_a_secret_that_only_one_person_has_is_in_no_file_for_publication(tmp_path):
    with open(TODAY) as file:
        lines = file.read().splitlines()
    cells = lines[4].split(",")
    cells[4] = "Zebra7"
    (tmp_path / "t.csv").write_text("\n".join([*lines[:4], ",".join(cells), *lines[5:]]) + "\n")
    asked = ("--publish", "chol", "--protect", "smoker", "--epsilon", "0.5", "--public-prior", "--no-ledger")
    (tmp_path / "out").mkdir()
    released(tmp_path / "out", tmp_path / "t.csv", *asked, "-o", tmp_path / "out" / "p.csv")
    for place in (tmp_path / "out").iterdir():
        assert ("Zebra7" in place.read_text()) == (place.name == "p.private.json"), place.name
    assert fugu.examine(tmp_path / "out").holds
