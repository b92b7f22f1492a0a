"""`fugu verify` and what lies beside a document: the published file, a folder, a model, certificates of version 0.1."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import fugu
from fugu.documents.release import file_sha256
from fugu.errors import CertificateError, UsageError
from fugu.publication.files import Beliefs, Outgoing, issue, published_file
from release_files import (
    RELEASES,
    beside,
    certificate_of,
    checks,
    command,
    copied,
    document_of,
    forged,
    prepared,
    released,
)

OLD = sorted((Path(__file__).parent.parent / "mechanism" / "old").glob("*.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = prepared(tmp_path_factory.mktemp("outside"))
    for kind in ("column", "groups"):
        released(folder, kind, out=f"{kind}/out.csv") if (folder / "made" / kind).mkdir(parents=True) is None else None
    released(folder, "model")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return copied(made, tmp_path)


def one_digit(text):
    head, *rows = text.splitlines(keepends=True)
    return head + "".join(rows)[::-1].replace("1", "2", 1)[::-1]


EDITS = {
    "one digit": (one_digit, "SHA-256"),
    "a row more": (lambda text: text + text.splitlines(keepends=True)[-1], "4 rows instead of 3"),
    "a row less": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "2 rows instead of 3"),
    "two rows exchanged": (lambda text: "".join(text.splitlines(keepends=True)[i] for i in (0, 2, 1, 3)), "exchanged"),
    "columns exchanged": (lambda text: text.replace("value,low", "low,value"), "columns ['group', 'low', 'value'"),
    "other line ends": (lambda text: text.replace("\n", "\r\n"), "bytes instead of"),
    "no table at all": (lambda text: '"' + text, "SHA-256"),
    "empty": (lambda text: "", "0 bytes instead of"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_file_fails_and_is_told_in_aggregate(name, folder):
    out = folder / "made" / "groups" / "out.csv"
    text, (edit, said) = out.read_text(), EDITS[name]
    assert checks(out.parent)[1]["published out.csv"][0] == "holds"
    assert edit(text) != text
    out.write_bytes(edit(text).encode())
    for words in ((out.parent,), (beside(out), "--published", out)):
        code, lines = checks(*words)
        outcome, why = lines["published out.csv"]
        assert code == 4 and outcome == "fails" and said in why
        assert not any(value in why for line in text.splitlines()[1:] for value in line.split(",")[1:])


def test_a_file_that_is_missing_is_not_checked_and_one_that_was_renamed_is_found_by_its_content(folder):
    out = folder / "made" / "groups" / "out.csv"
    out.rename(folder / "renamed.csv")
    code, lines = checks(beside(out))
    assert code == 0 and lines["published out.csv"] == (
        "not checked", "'out.csv' is not beside the document; give it (--published)",
    )  # fmt: skip
    code, lines = checks(beside(out), "--published", folder / "renamed.csv")
    assert code == 0 and lines["published out.csv"][0] == "holds" and "renamed.csv" in lines["published out.csv"][1]
    assert command("verify", beside(out), "--published", folder / "none.csv")[0] == 2
    code, lines = checks(beside(out), "--published", folder / "made" / "column" / "out.csv")
    assert code == 4 and lines["published out.csv"][0] == "fails"


@pytest.mark.parametrize("part", [{"bytes": 1}, {"rows": 4}, {"columns": ["group", "value", "low"]}], ids=str)
def test_what_is_said_of_the_file_is_held_against_the_file(part, folder):
    """A wrong version: a SHA-256 that matches would let the document say anything else of the file."""
    out = folder / "made" / "groups" / "out.csv"
    forged(beside(out), lambda body: body["published"][0].update(part))
    code, lines = checks(out.parent)
    assert code == 4 and lines["published out.csv"][0] == "fails" and "wrongly" in lines["published out.csv"][1]


def test_several_published_files_are_each_held_against_the_document(folder, tmp_path):
    parts = []
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text(f"value\n{len(parts)}\n")
        parts.append(published_file(name, tmp_path / name, 1, ("value",)))
    certificate = certificate_of(folder / "made" / "column" / "out.csv")
    going = Outgoing(
        certificates={"": certificate}, table=folder / "today.csv", data="today", rows=None,
        recipe={"what": "column", **certificate["recipe"]}, beliefs=Beliefs(),
    )  # fmt: skip
    path = tmp_path / "c.certificate.json"
    issue(going, parts)[0].save(path)
    code, lines = checks(path)
    assert code == 0 and lines["published one.csv"][0] == lines["published two.csv"][0] == "holds"
    (tmp_path / "two.csv").write_text("value\n3\n")
    code, lines = checks(path)
    assert code == 4 and (lines["published one.csv"][0], lines["published two.csv"][0]) == ("holds", "fails")
    (tmp_path / "three.csv").write_text("value\n0\n")
    code, lines = checks(path, "--published", tmp_path / "three.csv")
    assert code == 4 and "not one of the published files: 'one.csv', 'two.csv'" in lines["published file"][1]
    with pytest.raises(UsageError, match="never a path"):
        issue(Outgoing(**{**vars(going), "data": "/data/today.csv"}), parts)


# --- folders and models ----------------------------------------------------------------------------------------------


def test_a_folder_holds_one_release(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    code, said = command("verify", tmp_path / "empty")
    assert code == 2 and "no certificate in the folder" in said
    groups = folder / "made" / "groups"
    assert checks(groups)[0] == 0
    shutil.copy(folder / "made" / "column" / "out.certificate.json", groups / "second.certificate.json")
    code, said = command("verify", groups)
    assert code == 2 and "2 certificates" in said and "'out.certificate.json', 'second.certificate.json'" in said
    (groups / "second.certificate.json").write_text("{")
    code, said = command("verify", groups)  # a wrong version: what cannot be read is passed over
    assert code == 4 and "'second.certificate.json'" in said
    (groups / "second.certificate.json").unlink()
    (groups / "notes.json").write_text('{"schema": 3}')
    assert checks(groups)[0] == 0
    certificate_of(folder / "made" / "column" / "out.csv").save(groups / "bare.json")
    assert command("verify", groups)[0] == 2


def test_a_model_leads_to_its_document(folder, tmp_path):
    model = folder / "made" / "model.json"
    code, lines = checks(model)
    assert code == 0 and lines["published model.json"][0] == "holds" and checks(beside(model))[0] == 0
    text = model.read_text()
    model.write_text(text.replace('"coefficients": [', '"coefficients": [ ', 1))
    assert model.read_text() != text
    code, lines = checks(model)
    assert code == 4 and lines["published model.json"][0] == "fails"
    model.write_text(text)
    model.rename(model.with_name("other.json"))
    code, lines = checks(model.with_name("other.json"))  # found by the digest that it names
    assert code == 0 and "under the name 'other.json'" in lines["published model.json"][1]
    shutil.copy(model.with_name("other.json"), tmp_path / "alone.json")
    code, said = command("verify", tmp_path / "alone.json")
    assert code == 2 and "no certificate beside 'alone.json'" in said
    (tmp_path / "alone.certificate.json").write_text(beside(model).read_text()[:-9])
    code, said = command("verify", tmp_path / "alone.json")
    assert code == 4 and "'alone.certificate.json' cannot be read" in said


@pytest.mark.parametrize("path", OLD, ids=lambda path: path.stem)
def test_certificates_of_version_0_1_are_proved_and_said_to_be_bare(path, tmp_path):
    (tmp_path / "x.csv").write_text("v\n1\n")
    code, lines = checks(path, "--published", tmp_path / "x.csv")
    outcome, why = lines["release document"]
    assert code == 0 and outcome == "not checked" and "bare certificate of fugu 0.1" in why
    assert lines["published file"][0] == "not checked" and "binds no file" in lines["published file"][1]
    twice = {name: outcome for name, outcome, _ in fugu.examine(path, twice=True).checks}
    assert twice["second proof"] in ("holds", "not checked")  # the wrong version: sequences are no certificates


def test_examine_takes_what_verify_takes(folder):
    out = folder / "made" / "column" / "out.csv"
    for source in (beside(out), str(out.parent), document_of(out)):
        assert fugu.examine(source).holds
    names = [name for name, _, _ in fugu.examine(document_of(out)).checks]
    assert "published out.csv" in names and names[-1] == "budget"
    with pytest.raises(CertificateError):
        fugu.examine(folder / "none.json")
    with pytest.raises(UsageError):
        fugu.examine(3)


def test_verify_looks_outside_as_soon_as_something_is_given(folder):
    """And at nothing beside the document before: plain proofs load nothing that finds noise."""
    out, model = folder / "made" / "column" / "out.csv", folder / "made" / "model.json"
    assert "published out.csv" not in dict(line[:2] for line in fugu.verify(beside(out)).checks)
    for source, given in ((beside(out), {"published": out}), (out.parent, {}), (beside(out), {"twice": True})):
        assert dict(line[:2] for line in fugu.verify(source, **given).checks)["published out.csv"] == "holds"
    assert fugu.verify(model).checks == fugu.examine(model).checks
    out.write_text(out.read_text() + "1\n")
    assert fugu.verify(beside(out)).holds and not fugu.verify(beside(out), published=out).holds
    with pytest.raises(UsageError, match="without files"):
        fugu.verify(beside(out), fugu.Shifted(1), twice=True)


# --- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*RELEASES, "model"])
def test_no_document_or_message_names_a_place_on_the_machine(kind, tmp_path):
    prepared(tmp_path)
    out = released(tmp_path, kind)
    for path in (beside(out), out.with_suffix(".private.json")):
        text = path.read_text()
        assert str(tmp_path) not in text and "/tmp" not in text and json.dumps(str(tmp_path))[1:-1] not in text
    document = document_of(out)
    assert document["data"]["name"] == "today.csv" and document["published"][0]["name"] == out.name
    assert document["published"][0]["sha256"] == file_sha256(out)
    code, said = command("verify", out.parent, "--reference", tmp_path / "ref.csv", "--data", tmp_path / "today.csv")
    assert code == 0 and str(tmp_path) not in said


@pytest.mark.parametrize("name", ["a/b", "/etc/today.csv", "..", "a\\b", ""])
def test_the_declared_name_of_the_data_is_never_a_path(name, tmp_path):
    prepared(tmp_path)
    code, said = command("release", tmp_path / "today.csv", *RELEASES["count"], "--epsilon", "1", "--reference",
                         tmp_path / "ref.csv", "--no-ledger", "-o", tmp_path / "o.csv", "--data", name)  # fmt: skip
    assert code == 2 and "--data is a name" in said and not (tmp_path / "o.csv").exists()
    assert document_of(released(tmp_path, "count", "--data", "ward 7"))["data"]["name"] == "ward 7"
