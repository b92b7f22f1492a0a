"""Files that are handed over as bytes, by name: what they are follows from the certificate, and nothing is read that
is too large, or should not have left its owner. Wrong versions that are rejected: names that are paths, a private part
that is looked at, another file taken for the published one, a folder that stays, millions that are looked through."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import pytest

import fugu
from fugu.auditing.examine import PRIVATE, _by_plain_names
from fugu.documents.reading import MOST_BYTES, check_plain, load_json
from fugu.errors import CertificateError, UsageError
from release_files import prepared, released


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = prepared(tmp_path_factory.mktemp("handed"))
    out = released(folder, "many")
    return {path.name: path.read_bytes() for path in (*out.parent.iterdir(), folder / "ref.csv")}


def chosen(files, *names):
    return {name: files[name] for name in names}


def outcomes(verdict):
    return {name: outcome for name, outcome, _ in verdict.checks}


CERTIFICATE = "out.certificate.json"


def test_what_was_dropped_is_told_apart_and_checked(files):
    found = fugu.examine(chosen(files, CERTIFICATE, "out.csv", "ref.csv"), twice=True)
    lines = outcomes(found)
    assert found.holds and lines["published out.csv"] == lines["published answers"] == lines["second proof"] == "holds"
    assert any(name.startswith("reference") and outcome == "holds" for name, outcome in lines.items())
    alone = outcomes(fugu.examine(chosen(files, CERTIFICATE)))
    assert alone["published out.csv"] == alone["reference"] == "not checked"


def test_the_published_file_under_another_name_is_found_and_an_edited_one_fails(files):
    edited = files["out.csv"].replace(b"1", b"2", 1)
    assert edited != files["out.csv"]
    renamed = fugu.examine({CERTIFICATE: files[CERTIFICATE], "from mail.csv": files["out.csv"]})
    assert outcomes(renamed)["published out.csv"] == "holds" and renamed.holds
    for name in ("out.csv", "from mail.csv"):
        verdict = fugu.examine({CERTIFICATE: files[CERTIFICATE], name: edited})
        assert not verdict.holds and outcomes(verdict)["published out.csv"] == "fails"


def test_a_file_that_was_dropped_beside_is_no_published_one(files):
    verdict = fugu.examine({**chosen(files, CERTIFICATE, "out.csv"), "a letter.txt": b"enclosed please find"})
    assert verdict.holds and outcomes(verdict)["published out.csv"] == "holds"


def test_a_private_part_is_left_out_unread_under_whatever_name_and_the_rest_is_checked(files):
    """Wrong version, which was ours: everything is refused, where the studio left the one file out."""
    for name in ("out.private.json", "notes.json", "table.csv", "X.PRIVATE.JSON"):
        verdict = fugu.examine({**chosen(files, CERTIFICATE, "out.csv"), name: files["out.private.json"]})
        assert verdict.holds and ("files", "not checked", f"{name}: {PRIVATE}") in verdict.checks
    verdict = fugu.examine({CERTIFICATE: files[CERTIFICATE], "out.private.json": b"{"})
    assert verdict.holds and outcomes(verdict)["files"] == "not checked"
    with pytest.raises(UsageError, match=r"should not have left its owner\. It was not read"):
        fugu.examine(chosen(files, "out.private.json"))


@pytest.mark.parametrize(
    "name", ["../x.json", "a/b.csv", "", ".", "..", "a\\b", "a\0b", "a\nb", "a\u202eb", "/etc/x.csv", "..\\x.json",
             "-rf.csv", "." * 300 + ".json", "x" * 400 + ".csv"],
)  # fmt: skip
def test_a_name_is_no_path_and_nothing_is_written_elsewhere(name, files, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept, _ = _by_plain_names({CERTIFICATE: b"", name: b"x"})
    assert len(kept) == 2 and not any(set(own) & set("/\\\0\n") or own[0] in ".-" or len(own) > 160 for own in kept)
    fugu.examine(
        {CERTIFICATE: files[CERTIFICATE], name: b"x"} if not name.endswith("json") else {name: files[CERTIFICATE]}
    )
    assert list(tmp_path.iterdir()) == []


def test_nothing_stays_and_no_place_is_named(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = repr(fugu.examine(chosen(files, CERTIFICATE, "out.csv", "ref.csv")).to_json())
    for wrong in ({"a.json": b"{}"}, {"a.json": b"[1]"}, {"a.csv": b"x"}, {"a.certificate.json": b"{"}, {}):
        with pytest.raises((UsageError, CertificateError)) as refusal:
            fugu.examine(wrong)
        said += str(refusal.value)
    assert str(tmp_path) not in said and "fugu-" not in said.replace("fugu-verify", "")
    assert list(tmp_path.iterdir()) == []


def test_what_is_too_much_is_not_laid_out(files, monkeypatch):
    with pytest.raises(UsageError, match="at most 20"):
        fugu.examine({CERTIFICATE: files[CERTIFICATE], **{f"{k}.csv": b"" for k in range(20)}})
    with pytest.raises(UsageError, match="bytes"):
        fugu.examine({CERTIFICATE: "text"})
    monkeypatch.setattr(sys.modules["fugu.auditing.examine"], "_MOST_HANDED", 1000)
    with pytest.raises(UsageError, match="more than 1,000 bytes"):
        fugu.examine({CERTIFICATE: files[CERTIFICATE]})


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, '{"a": 1e100000000}',
     '{"a": ' + "9" * 10**6,
     f"[{'1,' * 5_000_000}1]", '{"schema":"fugu/release/1","a":[' + "1," * 5_000_000 + "1]}"],
    ids=["lists", "objects", "exponent", "digits", "millions", "millions inside"],
)  # fmt: skip
def test_bombs_are_refused_at_once(text, tmp_path):
    assert len(text) < MOST_BYTES
    begun = time.process_time()
    with pytest.raises((CertificateError, UsageError)):
        fugu.examine({"a.certificate.json": text.encode()})
    Path(tmp_path, "a.json").write_text(text)
    with pytest.raises(CertificateError):
        fugu.verify(tmp_path / "a.json")
    assert time.process_time() - begun < 4  # looked through one by one: 8 s and more


def test_a_long_list_may_hold_nothing_else_than_it_should(tmp_path):
    check_plain({"a": [1, None, True] * 1000})
    for odd in ("\ud800", float("inf"), object(), [[float("nan")]], {1: 2}):
        with pytest.raises(CertificateError):
            check_plain({"a": [*range(1000), odd]})
    (tmp_path / "a.json").write_text(json.dumps([{}]))
    with pytest.raises(CertificateError, match="not a certificate"):
        load_json(tmp_path / "a.json")
