"""The verifier is independent of how noise is found: it can be imported without any of that, and is short."""

import copy
import json
import pickle
import re

import pytest
from word_changes import resealed

import fugu
import structure
from fugu.documents.certificate import Certificate
from fugu.documents.kinds import read
from fugu.errors import CertificateError
from honest import NAMES, honest


@pytest.mark.parametrize("name", ["verifier/verify.py", "loss/door.py"])
def test_structure_rejects_a_verifier_that_calibrates(name, tmp_path, monkeypatch):
    source = tmp_path / "fugu"
    for path in structure.SRC.rglob("*.py"):
        copy = source / path.relative_to(structure.SRC)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    monkeypatch.setattr(structure, "SRC", source)
    assert structure.dependent_verifier(sorted(source.rglob("*.py"))) == []
    changed = source / name
    changed.write_text(changed.read_text() + "\nfrom fugu.calibration import calibrate\n")
    (found,) = structure.dependent_verifier(sorted(source.rglob("*.py")))
    assert "reaches fugu.calibration" in found


def test_structure_rejects_a_verifier_that_nobody_reads(monkeypatch):
    monkeypatch.setattr(structure, "AN_HOUR", 10)
    (found,) = structure.dependent_verifier(sorted(structure.SRC.rglob("*.py")))
    assert "nobody reads" in found


PAST = ("drawn", "analysed", "released_noise", "number_noise", "items", "vectors", "normal_pairs", "correlated",
        "channel", "families")  # fmt: skip
DOORS = ("laws", "noise", "budget", "lattice", "support")


def certificates():
    return [name for name in NAMES if json.loads(honest(name)).get("schema") == Certificate.SCHEMA]


def certificate(name):
    return Certificate.parse(json.loads(honest(name)))


def test_there_is_one_accessor_of_the_laws_and_one_of_the_noise():
    assert not [name for name in PAST if hasattr(Certificate, name)]
    asked = re.compile(rf"\b(certificate|half)\.({'|'.join(PAST)})\b(?!\()(?! import)")
    assert not [path for path in structure.SRC.rglob("*.py") if asked.search(path.read_text())]
    assert asked.search("certificate.drawn") and not asked.search("self.certificate.noise")


@pytest.mark.parametrize("name", certificates())
def test_every_door_opens_once(name):
    """Wrong version: of a channel, a vector or a mixture the accessor of another kind, which ended in a KeyError."""
    found = certificate(name)
    for door in DOORS:
        if door == "noise" and found.kind == "mixed":
            with pytest.raises(CertificateError, match="one of its two parts"):
                _ = found.noise
            assert all(half.noise is not None for half in found.parts)
        else:
            assert getattr(found, door) is getattr(found, door)


@pytest.mark.parametrize("name", certificates())
def test_copies_hold_the_content_alone(name):
    found = certificate(name)
    _ = found.laws, found.promises
    for other in (pickle.loads(pickle.dumps(found)), copy.copy(found)):
        assert vars(other) == {"body": found.body} and other == found and other.to_json() == found.to_json()
        assert len(other.laws) == len(found.laws)


def test_what_a_mixture_has_makes_no_other_certificate_one():
    """Wrong version: noise that tells everything, with the second promise of two halves that it does not run."""
    pair = fugu.LawPair(fugu.Discrete([0, 1], [0.9, 0.1]), fugu.Discrete([0, 1], [0.1, 0.9]))
    strong, weak = (fugu.calibrate(pair, fugu.Pure(epsilon)) for epsilon in (0.01, 1))
    body = weak.certificate.to_json()
    half = strong.certificate.to_json()
    with pytest.raises(CertificateError):
        fugu.verify(Certificate(resealed({**body, "parts": [half, half], "anybody": half["anybody"]})))


@pytest.mark.parametrize("name", NAMES)
def test_a_document_that_was_never_read_is_read_before_it_is_judged(name):
    """Wrong version: a verdict that says of any object in memory that its digest and its parts hold."""
    body = json.loads(honest(name))
    if "digest" not in body:
        pytest.skip("version 0.1 sealed no sequences")
    kind = type(read(body))
    assert kind(body).verdict() == read(body).verdict()
    for found in (kind({**body, "theorem": "nobody's"}), kind({**body, "more": 1})):
        with pytest.raises(CertificateError, match="does not match its digest"):
            found.verdict()
    again = pickle.loads(pickle.dumps(read(body)))
    assert read(body).was_read and not again.was_read and again.verdict() == read(body).verdict()
