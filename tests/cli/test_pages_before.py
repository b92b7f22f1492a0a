"""The page to sign before anything goes out, and the attack whose result stands on it."""

import re

import numpy as np
import pytest
from test_commands import Result

import fugu
from fugu.ledger import Books, books
from fugu.noise import laplace

ASKED = ("--protect", "s", "--epsilon", "1", "--reference")


@pytest.fixture
def tables(tmp_path):
    rng = np.random.default_rng(0)
    for name, rows in (("ref.csv", 200), ("today.csv", 60)):
        lines = [f"{i},{'ab'[i % 2]},{rng.integers(0, 4) + i % 2},{'xyz'[i % 3]}" for i in range(rows)]
        (tmp_path / name).write_text("id,s,v,g\n" + "\n".join(lines) + "\n")
    return tmp_path


def plain(html):
    """The words of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize("what", [("--publish", "v"), ("--query", "mean(v)", "--by", "g", "--bounds", "0,4")])
def test_a_dry_run_gives_a_page_and_nothing_else(what, tables):
    ledger = tables / "l.db"
    call = ("release", tables / "today.csv", *what, *ASKED, tables / "ref.csv", "--ledger", ledger)
    found = Result(*call, "-o", tables / "out.csv", "--dry-run", "--report", tables / "sign.html")
    assert found.code == 0 and {p.name for p in tables.iterdir()} == {"ref.csv", "today.csv", "sign.html"}
    said = plain((tables / "sign.html").read_text())
    for words in ("to be signed before the release", "Nothing has gone out yet", "Signature",
                  "Assumptions",
                  "If a ledger is used, it is charged when the release is made."):  # fmt: skip
        assert words in said, words
    assert Result(*call, "-o", tables / "out.csv").code == 0
    after = plain((tables / "out.report.html").read_text())
    assert "fugu verify out.certificate.json --published out.csv --reference ref.csv --twice" in after
    assert "Nothing has gone out yet" not in after and "settled" in after
    assert Books(ledger).read(books.history)[0].state == "settled"


def test_the_page_comes_before_the_release_and_no_file_is_written_over(tables):
    call = ("release", tables / "today.csv", "--publish", "v", *ASKED, tables / "ref.csv", "--no-ledger")
    (tables / "sign.html").write_text("mine")
    refused = Result(*call, "-o", tables / "out.csv", "--report", tables / "sign.html")
    assert refused.code == 2 and "exists" in refused.message and not (tables / "out.csv").exists()
    refused = Result(*call, "-o", tables / "out.csv", "--report", tables / "today.csv", "--force")
    assert refused.code == 2 and (tables / "today.csv").read_text().startswith("id,s,v,g")


def test_what_an_attack_reaches_stands_on_both_pages(tables, monkeypatch):
    monkeypatch.setattr("fugu.releasing.dispatch.DRAWS", 20_000)
    call = ("release", tables / "today.csv", "--publish", "v", *ASKED, tables / "ref.csv", "--no-ledger", "--attack")
    assert Result(*call, "-o", tables / "out.csv", "--report", tables / "sign.html").code == 0
    for name in ("sign.html", "out.report.html"):
        said = plain((tables / name).read_text())
        assert "Lower bound" in said and "No attack was run" not in said
    assert Result("calibrate", tables / "ref.csv", "--publish", "v", "--protect", "s", "--epsilon", "1", "--attack",
                  "--report", tables / "c.html").code == 0  # fmt: skip
    assert "Lower bound" in plain((tables / "c.html").read_text())
    by_group = ("release", tables / "today.csv", "--query", "mean(v)", "--by", "g", "--bounds", "0,4")
    refused = Result(*by_group, *ASKED, tables / "ref.csv", "--no-ledger", "--attack", "-o", tables / "m.csv")
    assert refused.code == 2 and "fugu audit" in refused.message and not (tables / "m.csv").exists()


def test_a_sampler_that_adds_less_noise_releases_nothing(tables, monkeypatch):
    """The wrong version: noise of half the scale. The attack comes before the draw."""
    monkeypatch.setattr("fugu.releasing.dispatch.DRAWS", 200_000)
    drawn = laplace.LatticeLaplaceSampler.draw

    def halved(self, *args, **kwargs):
        return drawn(self, *args, **kwargs) // 2

    monkeypatch.setattr(laplace.LatticeLaplaceSampler, "draw", halved)
    call = ("release", tables / "today.csv", "--publish", "v", *ASKED, tables / "ref.csv", "--no-ledger", "--attack")
    refused = Result(*call, "-o", tables / "out.csv")
    assert refused.code == 4 and "nothing was released" in refused.message
    assert {p.name for p in tables.iterdir()} == {"ref.csv", "today.csv"}


def test_a_page_of_withheld_beliefs_shows_none_of_them(tables):
    call = ("release", tables / "today.csv", "--publish", "v", "--protect", "s", "--epsilon", "1", "--public-prior")
    assert Result(*call, "--no-ledger", "-o", tables / "out.csv", "--report", tables / "sign.html").code == 0
    for name, published in (("sign.html", 0), ("out.report.html", 1)):  # the one figure is of what is published
        html = (tables / name).read_text()
        assert "The beliefs are withheld" in html and html.count("<figure") == published
    shown = tables / "own.html"
    call = ("report", tables / "out.certificate.json", "--private", tables / "out.private.json", "-o", shown)
    assert Result(*call).code == 0
    html = shown.read_text()
    assert "<figure" in html and "holds exact numbers of the private table" in html
    assert fugu.examine(tables / "out.certificate.json").holds
