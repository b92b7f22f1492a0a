"""Beliefs fitted on the private table: certificate and page hold its exact counts, and all of them say so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu import answer
from fugu.documents.sentences import IN_THE_BOX, PRIVATE_NUMBERS, WITHHELD
from fugu.report import page

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = {"s": ["a", "b", "b"] * 20, "x": [1, 2, 4] * 20}
DENIALS = ("no private value", "holds no private", "nothing private")


def made(**more):
    return fugu.calibrate(fugu.Scenario.from_table(TABLE, "x", "s", **more), fugu.Pure(0.5))


def test_a_certificate_with_private_counts_says_so_and_the_page_has_a_box():
    mechanism = made(public_prior=True)
    assert PRIVATE_NUMBERS in mechanism.certificate.assumptions
    (family,) = mechanism.certificate.laws
    assert sorted(int(n) for law in family.laws for n in law.parts if n) == [20, 20, 20], "exact counts of the table"
    html = page(mechanism)
    assert IN_THE_BOX in html and html.index(IN_THE_BOX) < html.index("before the release")
    assert not any(words in html.lower() for words in DENIALS)
    assert "exact counts of the private table, see the box" in html


def test_a_reference_needs_no_box():
    mechanism = made()
    html = page(mechanism)
    assert PRIVATE_NUMBERS not in mechanism.certificate.assumptions and IN_THE_BOX not in html
    assert "exact counts of the private table" not in html
    assert not any(words in html.lower() for words in DENIALS), "the reference may be anything"


@pytest.mark.parametrize("query", ["mean(x)", "count(x=2)"])
def test_statistics_say_it_too(query):
    bounds = (0, 4) if query.startswith("mean") else None
    own = answer(TABLE, query, "s", fugu.Pure(1), TABLE, bounds=bounds, public_prior=True, allow_no_noise=True)
    assert all(PRIVATE_NUMBERS in m.certificate.assumptions for m in own.mechanisms.values())
    other = {"s": ["a", "b"] * 20, "x": [1, 4] * 20}
    public = answer(TABLE, query, "s", fugu.Pure(1), other, bounds=bounds, allow_no_noise=True)
    assert not any(PRIVATE_NUMBERS in m.certificate.assumptions for m in public.mechanisms.values())


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{s},{x}\n" for s, x in zip(TABLE["s"], TABLE["x"], strict=True))
    (tmp_path / "t.csv").write_text("s,x\n" + rows)
    (tmp_path / "r.csv").write_text("s,x\n" + rows + "a,1\n")
    return tmp_path


@pytest.mark.parametrize("what", [["--publish", "x"], ["--query", "mean(x)", "--bounds", "0,4"]])
@pytest.mark.parametrize("source", [["--public-prior"], ["--reference", "r.csv"]])
def test_the_terminal_warns(folder, monkeypatch, what, source):
    monkeypatch.chdir(folder)
    asked = ["release", "t.csv", *what, "--protect", "s", "--epsilon", "0.5", *source, "-o", "o.csv"]
    found = CliRunner().invoke(cli.app, asked)
    assert found.exit_code == 0, found.output
    told = " ".join(found.stderr.split())
    assert ("exact counts" in told and "warning" in told) == (source == ["--public-prior"])
    certificate = json.loads((folder / "o.certificate.json").read_text())
    assert (WITHHELD in certificate["assumptions"]) == (source == ["--public-prior"])
    assert PRIVATE_NUMBERS not in certificate["assumptions"]  # they are in the private part


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--json",), ("--dry-run", "--json")])
@pytest.mark.parametrize("what", [["--publish", "x"], ["--query", "mean(x)", "--route", "law", "--bounds", "0,4"]])
@pytest.mark.parametrize("source", [["--public-prior"], ["--reference", "r.csv"]])
def test_what_a_missing_cell_counts_as_is_said_of_a_reference_and_withheld_of_the_table_itself(
    folder, monkeypatch, source, what, more
):
    """Rejects the private table's own median, called "the reference's", on the screen of a release whose document
    withholds it."""
    monkeypatch.chdir(folder)
    asked = ["release", "t.csv", *what, "--protect", "s", "--epsilon", "0.5", *source, "-o", "o.csv", "--no-ledger"]
    found = CliRunner().invoke(cli.app, [*asked, *more])
    assert found.exit_code == 0, found.output
    assert ("counts as 2, the reference's median" in " ".join(found.stdout.split())) == (source[0] == "--reference")
