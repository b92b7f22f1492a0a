"""What a release document says of the private table: a commitment that the private part opens, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shutil
import stat
from fractions import Fraction

import pytest

import fugu
from fugu.documents.document import canonical_json
from fugu.documents.release import NOT_FOR_PUBLICATION, PrivatePart, commit_file, commit_text, new_salt
from fugu.errors import CertificateError, UsageError
from release_files import (
    beside,
    certificate_of,
    certificates_of,
    checks,
    command,
    copied,
    document_of,
    forged,
    prepared,
    released,
)


def private_of(path):
    return path.with_suffix(".private.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One release with a reference; tests take a copy."""
    folder = prepared(tmp_path_factory.mktemp("commit"))
    released(folder, "count")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return copied(made, tmp_path)


def test_the_commitment_is_hmac_sha256_under_the_salt_and_no_digest(folder):
    out = folder / "made" / "out.csv"
    table, told = (folder / "today.csv").read_bytes(), document_of(out)["data"]["commitment"]
    part = PrivatePart.load(private_of(out))
    salt = bytes.fromhex(part["data salt"])
    assert len(salt) == 32 and hmac.new(salt, table, hashlib.sha256).hexdigest() == told
    wrong = {hashlib.sha256(table).hexdigest(), hashlib.sha256(salt + table).hexdigest()}
    assert told not in wrong | {hmac.new(b"", table, "sha256").hexdigest()}  # a digest is no commitment
    assert part["data salt"] not in beside(out).read_text() and part["release"] == told
    assert part["marking"] == NOT_FOR_PUBLICATION and part["certificates"] is None


def test_two_runs_on_one_table_commit_to_two_values(folder):
    found = {document_of(released(folder, "count", out=f"{i}.csv"))["data"]["commitment"] for i in range(3)}
    assert len(found) == 3
    assert len({PrivatePart.load(folder / "made" / f"{i}.private.json")["data salt"] for i in range(3)}) == 3


def test_the_private_part_is_for_its_owner_alone(folder):
    out = folder / "made" / "out.csv"
    private_of(out).chmod(0o644)
    shutil.rmtree(folder / "made")
    for source in (("--reference", "ref.csv"), ("--public-prior",)):
        out = released(folder, "count", "--force", source=source)
        assert stat.S_IMODE(private_of(out).stat().st_mode) == 0o600
        private_of(out).chmod(0o666)  # and again where one lies that everybody may read


def test_the_table_is_checked_by_who_has_salt_and_table(folder):
    out = folder / "made" / "out.csv"
    code, lines = checks(beside(out), "--data", folder / "today.csv")
    assert code == 0 and lines["data"][0] == "holds"
    code, lines = checks(beside(out), "--data", folder / "ref.csv")
    assert code == 4 and lines["data"][0] == "fails" and "another content" in lines["data"][1]
    (folder / "crlf.csv").write_bytes((folder / "today.csv").read_bytes().replace(b"\n", b"\r\n"))
    assert checks(beside(out), "--data", folder / "crlf.csv")[1]["data"][0] == "fails"  # byte for byte
    assert checks(beside(out))[1]["data"][0] == "not checked"
    private_of(out).rename(folder / "kept.json")
    code, lines = checks(beside(out), "--data", folder / "today.csv")
    assert code == 0 and lines["data"][0] == "not checked" and "salt" in lines["data"][1]
    assert (
        checks(beside(out), "--data", folder / "today.csv", "--private", folder / "kept.json")[1]["data"][0] == "holds"
    )


def test_a_wrong_salt_or_the_part_of_another_release_is_no_key(folder):
    out = folder / "made" / "out.csv"
    for salt, said in (("00" * 32, "another content"), ("00" * 31, "31 bytes"), ("zz" * 32, "hexadecimal"), (None, "")):
        forged(private_of(out), lambda body, salt=salt: body.update({"data salt": salt}))
        code, lines = checks(beside(out), "--data", folder / "today.csv")
        assert code == 4 and lines["data"][0] == "fails" and said in lines["data"][1]
    second = released(folder, "count", out="second.csv")
    code, said = command("verify", beside(out), "--private", private_of(second))
    assert code == 4 and "another release" in said
    code, said = command("verify", private_of(second))
    assert code == 2 and "not for publication" in said
    forged(private_of(second), lambda body: body.update(marking="public"))
    code, said = command("verify", beside(second), "--private", private_of(second))
    assert code == 4 and "marked" in said


def test_salts_are_read_strictly(folder):
    for salt in ("", "00", "00" * 33, "xy" * 32):
        with pytest.raises(CertificateError, match="salt"):
            commit_text("x", salt)
    with pytest.raises(UsageError, match=r"'none\.csv'"):
        commit_file(folder / "none.csv", new_salt())
    assert commit_text("x", "00" * 32) == hmac.new(bytes(32), b"x", "sha256").hexdigest()


# --- beliefs of the private table itself -----------------------------------------------------------------------------

OWN = ("--public-prior",)


def odd_table(folder):
    """Counts, edges and a median that would be seen in a text: 137 and 211 rows, values such as 31.7."""
    rows = [f"a,{x}" for x in [31.7] * 97 + [44.3] * 40] + [f"b,{x}" for x in [31.7] * 58 + [44.3] * 101 + [58.9] * 52]
    (folder / "today.csv").write_text("\n".join(["s,v", *rows]) + "\n")
    return folder


ASKED = [("--publish", "v"), ("--publish", "v", "--bins", "4"), ("--query", "mean(v)", "--bounds", "0,60"),
         ("--query", "count(v=44.3)")]  # fmt: skip


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_the_document_of_a_public_prior_tells_no_count_edge_or_exact_scale(asked, tmp_path):
    odd_table(tmp_path)
    out = tmp_path / "out.csv"
    code, said = command("release", tmp_path / "today.csv", *asked, "--protect", "s", "--epsilon", "0.3", *OWN,
                         "--no-ledger", "--allow-no-noise", "-o", out)  # fmt: skip
    assert code == 0, said
    document = document_of(out)
    kept = {name: part for name, part in document.body.items() if name not in ("digest", "published", "date")}
    kept["data"] = {**kept["data"], "commitment": ""}
    kept["withheld"] = None
    text = canonical_json(kept)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", text))
    for count in ("97", "40", "58", "101", "52", "137", "211", "155", "141", "31.7", "58.9", "38.5", "52.1"):
        assert count not in numbers, count
    assert ("44.3" in numbers) == ("count" in asked[1])  # in the question
    certificate = certificate_of(out)
    scale = float(Fraction(certificate.body["noise"]["scale"]))
    assert scale == 0 or not any(
        text.count(f"{scale:.{digits}g}") for digits in range(3, 17) if f"{scale:.{digits}g}" != f"{scale:.2g}"
    )
    assert document["reading"] is None and document["certificates"] is None and document["question"]["recipe"] is None
    assert all(part["proved"] is part["worst pair"] is None for part in document["mechanisms"])
    exact = canonical_json(certificate.body)  # a wrong version: the certificate itself shows them
    assert any(count in exact for count in ("97", "31.7"))


def test_the_document_of_sequences_with_a_public_prior_tells_no_range_and_no_chain(tmp_path):
    prepared(tmp_path)
    text = (tmp_path / "today.csv").read_text().replace(",4,", ",4.375,").replace(",0,u", ",0.125,u")
    (tmp_path / "today.csv").write_text(text)
    out = tmp_path / "out.csv"
    code, said = command("release", tmp_path / "today.csv", "--query", "sum(v)", "--by", "u", "--order", "t", "--state",
                         "v", "--smoothing", "1", "--epsilon", "1", *OWN, "--no-ledger", "-o", out)  # fmt: skip
    assert code == 0, said
    document, certificate = document_of(out), certificate_of(out)
    (mechanism,) = document["mechanisms"]
    assert Fraction(certificate["sensitivity"]) == Fraction("4.25") and "4.25" not in canonical_json(mechanism)
    told = re.findall(r"\d\.\d+", mechanism["noise"]["words"])
    assert [len(number.partition(".")[2].lstrip("0")) <= 2 for number in told] == [True] and mechanism["proved"] is None
    row = certificate["prior"]["transition"][0]
    assert not any(repr(p) in document.text for p in row)


@pytest.mark.parametrize("kind", ["column", "groups", "edges", "sequence"])
def test_withheld_certificates_are_checked_by_who_has_them(kind, tmp_path):
    prepared(tmp_path)
    out = released(tmp_path, kind, source=OWN)
    document = document_of(out)
    assert document.withheld and checks(out.parent, "--data", tmp_path / "today.csv")[0] == 0
    part = PrivatePart.load(private_of(out))
    own = hmac.new(bytes.fromhex(part["beliefs salt"]), canonical_json(part["certificates"]).encode(), "sha256")
    assert own.hexdigest() == document["withheld"]["commitment"]
    private_of(out).rename(tmp_path / "kept.json")
    code, lines = checks(beside(out))
    assert code == 4 and lines["certificates"][0] == lines["budget"][0] == "not checked"
    assert "fails" not in {outcome for outcome, _ in lines.values()}
    code, said = command("verify", beside(out))
    assert code == 4 and said.startswith("not checkable")
    assert checks(beside(out), "--private", tmp_path / "kept.json")[0] == 0
    assert not fugu.verify(beside(out)).holds


def test_withheld_certificates_cannot_be_exchanged(tmp_path):
    prepared(tmp_path)
    out, weaker = (
        released(tmp_path, "column", source=OWN),
        released(tmp_path, "column", "--epsilon", "3", out="w.csv", source=OWN),
    )
    other = json.loads(private_of(weaker).read_text())
    for change in (
        lambda body: body.update(certificates=other["certificates"]),
        lambda body: body.update({"beliefs salt": new_salt()}),
    ):
        shutil.copy(private_of(out), tmp_path / "part.json")
        forged(tmp_path / "part.json", change)
        code, said = command("verify", beside(out), "--private", tmp_path / "part.json")
        assert code == 4 and "committed to" in said
    shutil.copy(private_of(out), tmp_path / "part.json")
    forged(tmp_path / "part.json", lambda body: body.update(certificates=None))
    code, said = command("verify", beside(out), "--private", tmp_path / "part.json")
    assert code == 4 and "does not hold the withheld" in said
    forged(beside(out), lambda body: body["mechanisms"][0]["noise"].update(words="Laplace noise of scale about 99"))
    code, lines = checks(beside(out))
    assert code == 4 and lines["what is said"][0] == "fails"


def test_every_withheld_group_is_opened(tmp_path):
    prepared(tmp_path)
    out = released(tmp_path, "groups", source=OWN)
    assert list(certificates_of(out)) == ["x", "y", "z"]
