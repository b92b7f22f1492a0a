"""`fugu verify --reference` and `--ledger`: the laws are those that were proved, and the charge is there; or not."""

from __future__ import annotations

import json
import random
import shutil

import pytest

import fugu
from fugu.auditing.beside import find
from fugu.auditing.examine import answers_checks
from fugu.documents.release import ReleaseDocument
from release_files import (
    RELEASES,
    beside,
    certificate_of,
    checks,
    command,
    document_of,
    forged,
    prepared,
    released,
    written_table,
)

BELIEVED = ("column", "binned", "mean", "sum", "count", "groups", "sequence", "top")
TABULATED = ("histogram", "histograms", "edges", "crosstab")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = prepared(tmp_path_factory.mktemp("evidence"))
    for kind in RELEASES:
        released(folder, kind, out=f"{kind}.csv")
    return folder


def lines_of(folder, kind, reference):
    return checks(beside(folder / "made" / f"{kind}.csv"), "--reference", reference)


@pytest.mark.parametrize("kind", BELIEVED)
def test_the_reference_gives_the_laws_that_were_proved(kind, made, tmp_path):
    code, lines = lines_of(made, kind, made / "ref.csv")
    assert code == 0 and lines["reference file"][0] == lines["reference laws"][0] == "holds"
    head, *rows = (made / "ref.csv").read_text().splitlines()
    random.Random(1).shuffle(rows)
    (tmp_path / "shuffled.csv").write_text("\n".join([head, *rows]) + "\n")
    code, lines = lines_of(made, kind, tmp_path / "shuffled.csv")  # another file, the same laws
    assert code == 4 and (lines["reference file"][0], lines["reference laws"][0]) == ("fails", "holds")


@pytest.mark.parametrize("kind", BELIEVED)
def test_one_changed_row_of_the_reference_is_seen_and_told_in_aggregate(kind, made, tmp_path):
    head, *rows = (made / "ref.csv").read_text().splitlines()
    group, secret, _, user, time = rows[7].split(",")
    other = "x" if group != "x" else "y"
    rows[7] = ",".join((other, secret, "1" if rows[7].split(",")[2] != "1" else "2", user, time))
    (tmp_path / "other.csv").write_text("\n".join([head, *rows]) + "\n")
    code, lines = lines_of(made, kind, tmp_path / "other.csv")
    outcome, why = lines["reference laws"]
    assert code == 4 and outcome == "fails" and lines["reference file"][0] == "fails"
    assert ("differs in" in why) if kind in ("sequence", "top") else ("differs by" in why or "another form" in why)
    assert "u1" not in why and str(tmp_path) not in why
    assert ("groups, first" in why) == (kind == "groups")


@pytest.mark.parametrize("kind", TABULATED)
def test_the_laws_of_a_table_of_counts_are_fitted_again(kind, made, tmp_path):
    code, lines = lines_of(made, kind, made / "ref.csv")
    assert code == 0 and lines["reference laws"][0] == "holds"
    written_table(tmp_path / "other.csv", 200, 77)
    assert lines_of(made, kind, tmp_path / "other.csv")[1]["reference laws"][0] == "fails"


def test_a_table_of_counts_whose_reference_is_thin_uses_no_beliefs(tmp_path):
    folder = prepared(tmp_path)
    head, *rows = (folder / "ref.csv").read_text().splitlines()
    (folder / "ref.csv").write_text("\n".join([head, *rows[:40]]) + "\n")
    code, lines = checks(beside(released(folder, "histogram")), "--reference", folder / "ref.csv")
    assert code == 0 and lines["reference laws"][0] == "not checked" and "no beliefs" in lines["reference laws"][1]


@pytest.mark.parametrize("kind", ["column", "mean", "sequence", "many"])
def test_a_reference_that_lacks_a_column_fails_and_is_no_crash(kind, made, tmp_path):
    (tmp_path / "less.csv").write_text("a,b\n1,2\n3,4\n")
    code, lines = lines_of(made, kind, tmp_path / "less.csv")
    assert code == 4 and lines["reference laws"][0] == "fails" and "'" in lines["reference laws"][1]
    (tmp_path / "empty.csv").write_text("")
    assert lines_of(made, kind, tmp_path / "empty.csv")[0] == 4


def test_a_recipe_that_was_edited_leads_to_other_laws(made, tmp_path):
    """A wrong version: laws compared by their number alone. Another secret makes two laws, too."""
    path = tmp_path / "c.certificate.json"
    shutil.copy(beside(made / "made" / "count.csv"), path)
    shutil.copy(made / "made" / "count.private.json", tmp_path / "c.private.json")

    def change(body):
        body["question"]["recipe"]["protect"] = "t"
        body["question"]["words"] = body["question"]["words"].replace("'s'", "'t'")

    forged(path, change)
    code, lines = checks(path, "--reference", made / "ref.csv")
    assert code == 4 and lines["reference file"][0] == "holds" and lines["reference laws"][0] == "fails"


# --- the ledger ------------------------------------------------------------------------------------------------------


def charged(folder, kind, ledger="l.db", request="r", out="out.csv"):
    return released(folder, kind, "--force", out=out, books=("--ledger", folder / ledger, "--request", request))


@pytest.mark.parametrize("kind", ["column", "groups", "sequence"])
def test_the_entry_of_the_right_ledger_holds_and_no_other(kind, tmp_path):
    prepared(tmp_path)
    out = charged(tmp_path, kind)
    code, lines = checks(beside(out), "--ledger", tmp_path / "l.db")
    assert code == 0 and lines["ledger"][0] == lines["ledger entry"][0] == "holds"
    assert checks(beside(out))[1]["ledger"] == ("not checked", "the ledger was not given (--ledger)")
    shutil.copy(beside(out), tmp_path / "first.certificate.json")
    charged(tmp_path, kind, ledger="other.db", request="another")
    code, lines = checks(tmp_path / "first.certificate.json", "--ledger", tmp_path / "other.db")
    assert code == 4 and lines["ledger"][0] == "holds" and "no settled request 'r'" in lines["ledger entry"][1]
    (tmp_path / "l.db").unlink()  # rolled back and done again: the same request, another draw
    charged(tmp_path, kind)
    code, lines = checks(tmp_path / "first.certificate.json", "--ledger", tmp_path / "l.db")
    assert (
        code == 4 and lines["ledger entry"][0] == "fails" and "another than the one named" in lines["ledger entry"][1]
    )


def test_a_broken_ledger_and_a_file_that_is_none(tmp_path):
    prepared(tmp_path)
    out = charged(tmp_path, "count")
    text = (tmp_path / "l.db").read_bytes()
    for broken in (text.replace(b"settled", b"refused"), text[:-5], text.replace(b'"r\\"', b'"q\\"')):
        (tmp_path / "broken.db").write_bytes(broken)
        code, lines = checks(beside(out), "--ledger", tmp_path / "broken.db")
        assert broken != text and code == 4 and lines["ledger"][0] == "fails"
    for content in ("", "user,budget\nme,1\n", '{"a": 1}'):
        (tmp_path / "none.db").write_text(content)
        code, said = command("verify", beside(out), "--ledger", tmp_path / "none.db", "--json")
        assert code in (2, 4), said
        if code == 4:
            assert not json.loads(said)["holds"]
    assert command("verify", beside(out), "--ledger", tmp_path / "nowhere.db")[0] == 2


def test_a_charge_that_is_not_the_budget_fails(tmp_path):
    """Wrong versions: the entry alone is looked for; the epsilon for each entry is passed over."""
    prepared(tmp_path)
    for kind, part in (("count", "budget"), ("sequence", "per entry")):
        out = charged(tmp_path, kind, ledger=f"{kind}.db", out=f"{kind}.csv")

        def change(body, part=part):
            if part == "budget":
                body["budget"]["epsilon"] = "1/2"
            else:
                body["mechanisms"][0]["proved"]["per entry"] = "1/100"

        forged(beside(out), change)
        code, lines = checks(beside(out), "--ledger", tmp_path / f"{kind}.db")
        assert code == 4 and "another budget" in lines["ledger entry"][1], kind


def test_without_a_ledger_nothing_is_called_charged(tmp_path):
    prepared(tmp_path)
    out = released(tmp_path, "count")
    charged(tmp_path, "count", out="b.csv")
    code, lines = checks(beside(out), "--ledger", tmp_path / "l.db")
    assert code == 0 and lines["ledger entry"][0] == "not checked" and document_of(out)["ledger"] is None
    assert checks(beside(out))[1]["ledger"] == ("not checked", "no ledger was charged")


def test_what_a_withheld_release_charged_for_each_entry_is_not_called_checked(tmp_path):
    prepared(tmp_path)
    out = released(tmp_path, "sequence", source=("--public-prior",), books=("--ledger", tmp_path / "l.db"))
    code, lines = checks(beside(out), "--ledger", tmp_path / "l.db")
    assert code == 0 and lines["ledger"][0] == "holds" and lines["ledger entry"][0] == "not checked"
    assert "withheld" in lines["ledger entry"][1]


@pytest.mark.parametrize("kind", ["column", "groups"])
def test_the_private_part_opens_what_is_withheld_to_the_ledger_too(kind, tmp_path):
    """And a second draw that names the entry of the first still fails."""
    prepared(tmp_path)
    books = ("--ledger", tmp_path / "l.db", "--request", "r")
    out = released(tmp_path, kind, source=("--public-prior",), books=books)
    assert document_of(out).withheld
    code, lines = checks(beside(out), "--ledger", tmp_path / "l.db")
    held = {name: outcome for name, (outcome, _) in lines.items() if name.startswith("ledger")}
    assert code == 0 and held == dict.fromkeys(("ledger", "ledger entry", "ledger beliefs", "ledger draw"), "holds")
    (tmp_path / "l.db").unlink()
    released(tmp_path, kind, out="two.csv", source=("--public-prior",), books=books)
    code, lines = checks(beside(out), "--ledger", tmp_path / "l.db")
    assert code == 4 and lines["ledger entry"][0] == lines["ledger draw"][0] == "fails"
    out.with_suffix(".private.json").unlink()
    assert checks(beside(out), "--ledger", tmp_path / "l.db")[1]["ledger beliefs"][0] == "not checked"


def test_the_sizes_of_groups_are_those_of_the_opened_certificate(tmp_path, monkeypatch):
    """A wrong version looked for them in the document, where a certificate may be withheld."""
    prepared(tmp_path)
    out = released(tmp_path, "many", books=("--ledger", tmp_path / "l.db"))
    found, certificate = find(beside(out)), certificate_of(out)
    monkeypatch.setattr(ReleaseDocument, "certificates", None)
    lines = list(answers_checks(found, found.release, certificate, None, str(tmp_path / "l.db")))
    assert [outcome for _, outcome, _ in lines] == ["holds", "holds"]


@pytest.mark.parametrize("kind", ["column", "groups", "histograms"])
def test_the_charge_was_for_the_laws_in_the_document(kind, tmp_path):
    """A wrong version: the entry and the file are right, and the certificate around them is another one."""
    folder = prepared(tmp_path, seed=3)
    first = charged(folder, kind)
    code, lines = checks(first.with_suffix(".certificate.json"), "--ledger", folder / "l.db")
    assert code == 0 and lines["ledger beliefs"][0] == "holds"
    was = json.loads(beside(first).read_text())
    written_table(folder / "ref.csv", 200, 77)  # another reference, so other laws
    second = beside(released(folder, kind, out="two.csv"))

    def change(body):
        body.update(ledger=was["ledger"], published=was["published"], data=was["data"])

    forged(second, change)
    code, lines = checks(second, "--ledger", folder / "l.db")
    assert code == 4 and lines["ledger entry"][0] == "holds" and lines["ledger beliefs"][0] == "fails"


def test_a_ledger_that_is_not_there_is_said_in_the_same_words_by_every_line(tmp_path):
    """The wrong version of one line said that the certificate cannot be read, which it can."""
    folder = prepared(tmp_path)
    out = charged(folder, "column")
    for name, why in (
        ("gone.db", "there is no ledger 'gone.db'"),
        ("made", "no ledger file 'made': it is a folder or a device"),
    ):
        found = fugu.examine(beside(out), ledger=folder / name)
        said = {line: (outcome, why) for line, outcome, why in found.checks if line.startswith("ledger")}
        assert not found.holds and set(said) == {"ledger", "ledger entry", "ledger beliefs", "ledger draw"}
        assert set(said.values()) == {("fails", why)}
