"""A random release of every kind through the whole chain, and wrong versions that the chain must stop.

`whole_play.play` says what is asserted of each case. A few fixed seeds run here; `make hunt ONLY='whole chain'` draws
new ones, and `make trust` writes what came of all of them into docs/promises.md.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from whole_asking import Case, statistic
from whole_play import KINDS, Story, command, noticed, play, stands
from whole_tables import write
from whole_tampering import changes

import fugu
from fugu.auditing import examine as outside
from fugu.documents.release import ReleaseDocument
from fugu.noise.laplace import Laplace, LatticeLaplaceSampler
from hunting import note, search

LONG = ("property", "training")
"""Kinds whose cases take many seconds: one of them each in the suite."""
GROUPED = 2
"""A seed whose statistic is one by groups, with noise."""
PAIR = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]), "0 vs 1")


def told(kind, seed, folder) -> Story:
    found = play(kind, seed, folder)
    note(f"whole chain: {kind}", seed, found.facts())
    return found


@search("whole chain", each=[kind for kind in KINDS if kind not in LONG], quick=2, limit=600)
def test_a_random_release_holds_and_no_change_to_it_does(kind, seed, tmp_path):
    told(kind, seed, tmp_path)


@search("whole chain: property", quick=1, limit=600)
def test_a_random_property_holds_and_no_change_to_it_does(seed, tmp_path):
    told("property", seed, tmp_path)


@search("whole chain: training", limit=600)
def training(seed, tmp_path):
    return told("training", seed, tmp_path)


def test_a_random_training_holds_and_no_change_to_it_does(tmp_path):
    assert not training(0, tmp_path).refused


# ---- wrong versions -------------------------------------------------------------------------------------------------


@pytest.fixture
def released(tmp_path):
    """A statistic by groups with a reference and a ledger, honestly released: where its certificate is, and the case"""
    for name in ("pub", "books"):
        (tmp_path / name).mkdir()
    case = statistic(random.Random(GROUPED), tmp_path)
    case = replace(case, ledger=tmp_path / "books" / "l.db")
    assert command(case.command()) == 0
    return case.published.with_suffix(".certificate.json"), case


CARELESS = {
    "published file": (outside, "published_checks"),
    "private table": (outside, "check_data"),
    "reference": (outside, "reference_checks"),
    "ledger": (outside, "ledger_checks"),
    "groups exchanged": (ReleaseDocument, "_check_question"),
}
"""What may be changed, and the one check that sees it."""


def test_every_change_has_a_check_of_its_own(released):
    names = set(changes(random.Random(0), *released))
    assert names == {*CARELESS, "noise", "budget", "stated loss"}


@pytest.mark.parametrize("name", CARELESS)
def test_a_verifier_that_leaves_out_a_check_is_caught(name, released, monkeypatch):
    assert noticed(random.Random(0), *released, only=name) == name
    monkeypatch.setattr(*CARELESS[name], lambda *_: ())
    with pytest.raises(AssertionError, match=f"goes unnoticed: {name}"):
        noticed(random.Random(0), *released, only=name)


def test_a_reference_is_the_file_and_gives_the_laws(tmp_path):
    (tmp_path / "pub").mkdir()
    rows = [["ab"[k % 2], str(k % 3 + k % 2)] for k in range(31)]
    reference, data = (write(tmp_path / name, ("s", "v"), rows[k:]) for k, name in enumerate(("ref.csv", "data.csv")))
    words = ("release", "--publish", "v", "--protect", "s", "--epsilon", "1")
    assert command(Case(words, tmp_path, data, tmp_path / "pub" / "out.csv", reference).command()) == 0
    other = write(tmp_path / "other.csv", ("s", "v"), rows[:-1])
    for given, expected in ((reference, "holds"), (other, "fails")):
        checks = dict(line[:2] for line in fugu.examine(tmp_path / "pub", reference=given).checks)
        assert checks["reference file"] == checks["reference laws"] == expected


@pytest.mark.parametrize("name", ["noise", "stated loss"])
def test_a_first_proof_that_believes_what_is_stated_is_caught(name, released, monkeypatch):
    believed = fugu.verify(fugu.calibrate(PAIR, fugu.Pure(1)))
    assert noticed(random.Random(0), *released, only=name) == name
    monkeypatch.setattr(fugu.Certificate, "verdict", lambda *_: believed)
    with pytest.raises(AssertionError, match=f"goes unnoticed: {name}"):
        noticed(random.Random(0), *released, only=name)


def test_the_second_proof_stops_what_the_first_believes(tmp_path, monkeypatch):
    certificate = tmp_path / "one.certificate.json"
    fugu.calibrate(PAIR, fugu.Pure(1)).certificate.save(certificate)
    honest = fugu.examine(certificate, twice=True)
    changes(random.Random(0), certificate, None)["noise"]()
    without = replace(honest, checks=honest.checks[:-2] + honest.checks[-1:])
    monkeypatch.setattr(fugu.Certificate, "verdict", lambda *_: without)
    found = fugu.examine(certificate, twice=True)
    assert not found.holds and "THE TWO PROOFS DISAGREE" in found.reason
    assert fugu.examine(certificate).holds  # without it, nothing would be seen
    monkeypatch.setattr(outside, "twice_checks", lambda _: ())
    assert fugu.examine(certificate, twice=True).holds


def test_one_tenth_less_noise_than_certified_is_caught_by_the_attack(monkeypatch):
    body = fugu.calibrate(PAIR, fugu.Pure(1)).certificate.to_json()
    assert stands(body, 1, draws=400_000)
    monkeypatch.setattr(Laplace, "sampler", property(lambda self: LatticeLaplaceSampler(self.rate * Fraction(10, 9))))
    with pytest.raises(AssertionError, match="REFUTES"):
        stands(body, 1, draws=400_000)
