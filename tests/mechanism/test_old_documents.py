"""Documents that version 0.1 wrote: every one verifies, none does after an edit, and what is read cannot be changed."""

from __future__ import annotations

import copy
import json
import pickle
from contextlib import nullcontext
from pathlib import Path

import pytest

import fugu
from fugu import Certificate, Pure, Renyi
from fugu.documents.document import Document, digest_of, later
from fugu.documents.kinds import SCHEMAS
from fugu.documents.reading import frozen, thawed
from fugu.errors import CertificateError
from fugu.verifier.verify import document_of

FILES = sorted((Path(__file__).parent / "old").glob("*.json"))
KINDS = {"additive", "vector", "correlated", "analysis", "mixed", "sequence", "training"}
EDITS = {
    "epsilon": lambda text: text.replace('"epsilon"', '"epsilom"', 1),
    "a digit": lambda text: text.replace("1", "7", 1),
    "cut": lambda text: text[:-40],
    "twice": lambda text: text.replace('"kind"', '"kind":"additive","kind"', 1),
}


def test_every_kind_of_document_is_among_them():
    assert len(FILES) == 25 and {document_of(path).kind for path in FILES} == KINDS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_document_of_version_0_1_holds_and_a_stronger_promise_in_it_does_not(path, tmp_path):
    verdict = fugu.verify(path)
    assert verdict.holds and verdict.checks[-1][:2] == ("budget", "holds")
    assert "fails" not in {outcome for _, outcome, _ in verdict.checks}
    body = json.loads(path.read_text())
    assert body["fugu"] == "0.1.0"
    if "pufferfish" in body:
        body["pufferfish"]["asked"] = "0.9"
    elif body["budget"]["kind"] == "RenyiCurve":
        body["budget"]["epsilons"] = "2: 1/10, 8: 1/10"
    else:
        body["budget"]["epsilon"] = str(0.9 * verdict.epsilon)
    rest = {k: v for k, v in body.items() if k != "digest"}
    (tmp_path / "c.json").write_text(json.dumps({**rest, "digest": digest_of(rest)} if "schema" in body else body))
    assert not fugu.verify(tmp_path / "c.json").holds


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_edited_or_truncated_document_is_refused(path, edit, tmp_path):
    (tmp_path / "c.json").write_text(EDITS[edit](path.read_text()))
    if "sequence" in path.stem:  # version 0.1 did not seal these: what the numbers prove is what counts
        with pytest.raises(CertificateError) if edit in ("cut", "twice") else nullcontext():
            verdict = document_edit(tmp_path / "c.json")
            assert verdict is None or not verdict.holds or fugu.verify(path).epsilon >= verdict.epsilon
        return
    with pytest.raises(CertificateError):
        fugu.verify(tmp_path / "c.json")


def document_edit(path):
    """The verdict, or None where the reader refuses an edit that left the document whole JSON."""
    try:
        return fugu.verify(path)
    except CertificateError as error:
        if "JSON" in str(error) or "two parts" in str(error):
            raise
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_was_sealed_cannot_be_changed(path, tmp_path):
    document = document_of(path)
    with pytest.raises(AttributeError):
        document.body = {}
    for change in (
        lambda body: body.update(kind="mixed"), lambda body: body.pop("kind"), lambda body: body.setdefault("x", 1),
        lambda body: body["assumptions"].append("and more"), lambda body: body["assumptions"].clear(),
        lambda body: body.__setitem__("kind", "mixed"), lambda body: body["assumptions"].__setitem__(0, ""),
        lambda body: body.__ior__({"x": 1}), lambda body: body["assumptions"].__iadd__(["x"]),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="cannot be changed"):
            change(document.body)
    again = copy.deepcopy(document.body)
    again["assumptions"].append("and more")
    assert again != document.body and type(again) is dict
    assert pickle.loads(pickle.dumps(document)) == document and hash(document) == hash(document_of(path))
    document.save(tmp_path / "again.json")
    assert document_of(tmp_path / "again.json") == document
    assert len(repr(document).splitlines()) == 1 and len(repr(document)) < 120


def test_frozen_content_is_compared_and_written_as_plain_content_is():
    plain = {"a": [1, {"b": [2.5, None, True]}], "c": "x"}
    assert frozen(plain) == plain and json.dumps(frozen(plain)) == json.dumps(plain) and thawed(frozen(plain)) == plain
    assert frozen(frozen(plain)) is not plain and frozen(once := frozen(plain)) is once


def test_a_document_of_another_schema_is_named_and_documents_share_one_reader():
    path = next(path for path in FILES if path.stem == "training")
    with pytest.raises(CertificateError, match="schema fugu/certificate/1"):
        Certificate.load(path)
    for place in SCHEMAS.values():  # each class is imported when it is met
        later(place)
    below, kinds = list(Document.__subclasses__()), set()
    while below:
        kind = below.pop()
        below += kind.__subclasses__()
        kinds |= {kind.SCHEMA} - {""}
    assert kinds == {
        "fugu/certificate/1", "fugu/training/1", "fugu/per-entry/1", "fugu/sequence/1", "fugu/release/1",
        "fugu/release-private/1", "fugu/records/1", "fugu/sequence/2", "fugu/composition/1",
    }  # fmt: skip


def test_figures_stated_below_what_is_proved_fail_by_name():
    """The budget holds all the while: only the figure is a lie."""
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 1], [1, 2]), fugu.Discrete([0, 1], [2, 1])), Pure(0.3))
    body = {k: v for k, v in mechanism.certificate.body.items() if k != "digest"}
    for factor, holds in ((1, True), (1.001, True), (0.999999, False), (0, False)):
        stated = {**body, "proved": {"epsilon": body["proved"]["epsilon"] * factor, "delta": 0.0}}
        verdict = fugu.verify(Certificate.parse({**stated, "digest": digest_of(stated)}))
        outcomes = {name: outcome for name, outcome, _ in verdict.checks}
        assert outcomes["budget"] == "holds" and outcomes["stated figures"] == ("holds" if holds else "fails")
        assert verdict.holds == holds and ("stated figures" in verdict.reason) == (not holds)
    for odd in (None, {}, {"epsilon": "x", "delta": 0}, {"epsilon": True, "delta": 0}, [1]):
        stated = {**body, "proved": odd}
        with pytest.raises(CertificateError, match="part 'proved"):
            Certificate.parse({**stated, "digest": digest_of(stated)})


def test_a_reading_that_is_not_a_schema_fails_by_name():
    path = next(path for path in FILES if path.stem == "column")
    body = {k: v for k, v in json.loads(path.read_text()).items() if k != "digest"}
    body["reading"] = {"columns": {"chol": {"kind": "numberr"}}}
    verdict = fugu.verify(Certificate.parse({**body, "digest": digest_of(body)}))
    assert not verdict.holds and {n: o for n, o, _ in verdict.checks}["reading"] == "fails"


def test_figures_are_not_compared_with_the_proof_for_other_laws():
    pair = fugu.LawPair(fugu.Discrete([0, 1], [1, 2]), fugu.Discrete([0, 1], [2, 1]))
    verdict = fugu.verify(fugu.calibrate(pair, Renyi(2, 0.1)), pair)
    assert verdict.holds and ("stated figures", "not checked") in {check[:2] for check in verdict.checks}


SINCE = sorted((Path(__file__).parent / "old_0_3").glob("*.json"))


@pytest.mark.parametrize("path", SINCE, ids=lambda path: path.stem)
def test_a_document_of_version_0_3_holds_and_its_own_words_are_named(path):
    """They mark nothing as the publisher's own words: the reader does, and another line is named as such."""
    verdict = fugu.verify(path)
    assert verdict.holds and "fails" not in {outcome for _, outcome, _ in verdict.checks}
    body = json.loads(path.read_text())
    assert body["fugu"] == "0.3.0" and "publisher" not in body
    if body.get("schema") != "fugu/certificate/1" or body["kind"] == "mixed":
        return
    claim = "holds whatever anybody believes, for any number of releases"
    more = {k: v for k, v in body.items() if k != "digest"} | {"assumptions": [*body["assumptions"], claim]}
    verdict = fugu.verify(Certificate.parse({**more, "digest": digest_of(more)}))
    assert claim in {name: why for name, _, why in verdict.checks}["publisher's own words"]
    assert claim in Certificate.parse({**more, "digest": digest_of(more)}).own_lines()


def test_every_kind_of_document_of_version_0_3_is_among_them():
    assert len(SINCE) > 30 and {document_of(path).kind for path in SINCE} == KINDS | {
        "channel", "records", "per-entry", "release",
    }  # fmt: skip
