"""`fugu sign` and `--signer`: a signature of a real key over exactly the bytes that go out.

Wrong versions that are rejected: a signature for another purpose, of a key that nobody allowed, over other bytes that
hold just as well, of a key allowed under another name, a signature that is not there; one that could not be checked
never counts as checked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import fugu
from fugu.auditing import signature
from fugu.auditing.examine import examine
from fugu.errors import CertificateError, MissingExtra, UsageError
from release_files import checks, command, copied, forged, prepared, released

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")


def keygen(*words, **more):
    return subprocess.run(["ssh-keygen", *map(str, words)], check=True, capture_output=True, **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = prepared(tmp_path_factory.mktemp("signature"))
    released(folder, "column")
    for name in ("steward", "stranger"):
        keygen("-q", "-t", "ed25519", "-N", "", "-C", name, "-f", folder / name)
    public = (folder / "steward.pub").read_text()
    (folder / "allowed").write_text(f"anna@hospital.example {public}")
    (folder / "others").write_text(f"anna@hospital.example {(folder / 'stranger.pub').read_text()}")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    return copied(made, tmp_path)


def certificate(folder):
    return next(folder.rglob("*.certificate.json"))


def line(verdict):
    return next(check for check in verdict.checks if check[0] == "signature")


def test_a_signed_release_says_who_signed_it(folder):
    document = certificate(folder)
    written = signature.sign(document, folder / "steward")
    assert written.name == document.name + ".sig"
    verdict = fugu.verify(document, signer=folder / "allowed")
    _, outcome, why = line(verdict)
    assert (
        verdict.holds and outcome == "holds" and why.startswith("signed by anna@hospital.example, ED25519 key SHA256:")
    )
    assert line(fugu.verify(document.parent, signer=folder / "allowed"))[1] == "holds"  # a folder leads to it
    code, shown = checks(document, "--signer", folder / "allowed")
    assert code == 0 and "anna@hospital.example" in shown["signature"][1]


def test_without_signers_it_is_not_checked_and_without_a_signature_nothing_is_said(folder):
    document = certificate(folder)
    assert "signature" not in [name for name, _, _ in examine(document).checks]
    signature.sign(document, folder / "steward")
    assert line(examine(document))[1] == "not checked"


@pytest.mark.parametrize("how", ["edited", "resealed", "another key", "another purpose", "none", "empty", "exchanged"])
def test_what_nobody_signed_fails(folder, how):
    document = certificate(folder)
    if how != "none":
        signature.sign(document, folder / ("stranger" if how == "another key" else "steward"))
    sig = document.with_name(document.name + ".sig")
    if how == "edited":
        document.write_text(document.read_text() + "\n")  # it reads and holds as before
    elif how == "resealed":
        forged(document, lambda body: body.update(date="2001-01-01T00:00:00+00:00"))
    elif how == "another purpose":
        sig.unlink()
        keygen("-Y", "sign", "-f", folder / "steward", "-n", "file", document)
    elif how == "empty":
        sig.write_bytes(b"")
    elif how == "exchanged":
        other = folder / "other.certificate.json"
        other.write_text(document.read_text() + " ")
        signature.sign(other, folder / "steward")
        shutil.copy(str(other) + ".sig", sig)
        other.unlink()
        Path(str(other) + ".sig").unlink()
    verdict = fugu.verify(document, signer=folder / "allowed")
    assert line(verdict)[1] == "fails" and not verdict.holds
    assert fugu.verify(document).holds, "the proof itself stands: only the signature does not"
    assert command("verify", document, "--signer", folder / "allowed")[0] == 4


def test_a_signer_must_be_among_those_that_are_allowed(folder):
    document = certificate(folder)
    signature.sign(document, folder / "steward")
    assert line(fugu.verify(document, signer=folder / "others"))[1] == "fails"
    (folder / "hostile").write_text("\x1b[31mboss " + (folder / "steward.pub").read_text())
    assert "\x1b" not in line(fugu.verify(document, signer=folder / "hostile"))[2]
    (folder / "revoked").write_text(
        'anna@hospital.example valid-before="20000101" ' + (folder / "steward.pub").read_text())  # fmt: skip
    assert line(fugu.verify(document, signer=folder / "revoked"))[1] == "fails"
    (folder / "elsewhere").write_text(
        'anna@hospital.example namespaces="git" ' + (folder / "steward.pub").read_text())  # fmt: skip
    assert line(fugu.verify(document, signer=folder / "elsewhere"))[1] == "fails"
    with pytest.raises(UsageError, match="--signer"):
        fugu.verify(document, signer=folder / "nowhere")


def test_what_cannot_be_checked_is_not_checked(folder, monkeypatch):
    document = certificate(folder)
    signature.sign(document, folder / "steward")
    monkeypatch.setattr(signature, "which", lambda _: None)
    verdict = fugu.verify(document, signer=folder / "allowed")
    assert line(verdict)[1] == "not checked" and "no ssh-keygen" in line(verdict)[2]
    with pytest.raises(MissingExtra, match="OpenSSH"):
        signature.sign(document, folder / "steward", force=True)
    code, said = command("report", document, "--signer", folder / "allowed", "-o", folder / "p.html")
    assert code == 4 and "is not known" in said and not (folder / "p.html").exists()
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))
    assert "bytes of a file" in line(fugu.verify(mechanism, signer=folder / "allowed"))[2]


def test_a_signature_is_not_replaced_unasked_and_survives_a_failure(folder):
    document = certificate(folder)
    sig = signature.sign(document, folder / "steward")
    before = sig.read_bytes()
    with pytest.raises(UsageError, match="--force"):
        signature.sign(document, folder / "stranger")
    (folder / "broken").write_text("no key")
    with pytest.raises(UsageError, match="did not sign"):
        signature.sign(document, folder / "broken", force=True)
    assert sig.read_bytes() == before
    signature.sign(document, folder / "stranger", force=True)
    assert line(fugu.verify(document, signer=folder / "others"))[1] == "holds"


@pytest.mark.parametrize("what", ["folder", "private", "no key", "not a document"])
def test_only_one_whole_document_is_signed(folder, what):
    document, key = certificate(folder), folder / "steward"
    if what == "folder":
        document = document.parent
    elif what == "private":
        document = next(folder.rglob("*.private.json"))
    elif what == "no key":
        key = folder / "nobody"
    else:
        document = folder / "x.json"
        document.write_text("{}")
    with pytest.raises((UsageError, CertificateError)):
        signature.sign(document, key)
    assert not list(folder.rglob("*.sig"))


def test_the_page_says_who_signed_it_and_no_page_is_made_otherwise(folder):
    document = certificate(folder)
    page = folder / "page.html"
    words = ("report", document, "--signer", folder / "allowed", "-o", page)
    assert command(*words)[0] == 4 and not page.exists()
    code, said = command("sign", document, "--key", folder / "steward")
    assert code == 0 and "--signer" in said
    assert command(*words)[0] == 0
    text = " ".join(page.read_text().split())
    assert "Who signed it" in text and "Signed by anna@hospital.example" in text
    assert command("report", document, "-o", page, "--force")[0] == 0
    assert "Who signed it" not in page.read_text()


def test_options_of_a_name_are_no_options_of_the_tool(folder):
    document = certificate(folder).rename(certificate(folder).with_name("-n.certificate.json"))
    signature.sign(document, folder / "steward")
    assert line(fugu.verify(document, signer=folder / "allowed"))[1] == "holds"
    (folder / "dashes").write_text("-Oprint-pubkey " + (folder / "steward.pub").read_text())
    assert line(fugu.verify(document, signer=folder / "dashes"))[1] in ("holds", "fails")
