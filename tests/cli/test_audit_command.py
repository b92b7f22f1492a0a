"""`fugu audit`: a table for people, JSON for programs, exit 4 for a guarantee that an attack refutes."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import fugu
from fugu.cli.app import app
from fugu.noise.laplace import Laplace, LatticeLaplaceSampler


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "release.certificate.json"
    pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]), "two [bold]people[/]")
    fugu.calibrate(pair, fugu.Pure(1)).certificate.save(path)
    return path


def invoke(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


def test_a_table_for_people(certificate):
    done = invoke(certificate, "--draws", 100_000)
    assert done.exit_code == 0 and "leaves the guarantee standing" in " ".join(done.stdout.split())
    for line in (
        "proved",
        "attacked",
        "tightness",
        "supremum",
        "likely events",
        "holes",
        "bit patterns",
        "float noise",
    ):
        assert f"\n{line}" in done.stdout
    assert "[bold]" in done.stdout  # a label is a label, not markup
    assert list(certificate.parent.iterdir()) == [certificate]


def test_json_for_programs(certificate):
    done = invoke(certificate, "--draws", 100_000, "--confidence", "0.999", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["confidence"] == 0.999 and told["draws"] == 100_000
    assert 0.9 < told["epsilon_lower"] <= told["epsilon"] == 1 and told["clean"] and not told["refuted"]
    assert told["patterns"]["holes"] == 0 and told["naive"]["betrayed"] > 100_000


def test_a_refutation_is_loud(certificate, monkeypatch):
    monkeypatch.setattr(Laplace, "sampler", property(lambda self: LatticeLaplaceSampler(self.rate * Fraction(5, 4))))
    done = invoke(certificate, "--draws", 100_000)
    assert done.exit_code == 4 and "REFUTES" in done.stdout
    done = invoke(certificate, "--draws", 100_000, "--json")
    assert done.exit_code == 4 and json.loads(done.stdout)["refuted"]


def test_wrong_uses(certificate):
    done = invoke(certificate, "--draws", 50)
    assert done.exit_code != 0 and "no bound above" in str(done.exception)
    done = invoke(certificate, "--confidence", "2")
    assert done.exit_code != 0 and "confidence" in str(done.exception)
    certificate.write_text(certificate.read_text()[:-40])
    assert invoke(certificate).exit_code != 0
