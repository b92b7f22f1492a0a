"""The built site, read from its files: every link and anchor leads somewhere, nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from site_faults import MOST_TEXT, faults, pages, read

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
sys.path.insert(0, str(ROOT))

from site_hooks import links, menu  # noqa: E402

WHY_NOT = "the site is built and read by `make docs`"
built = pytest.mark.skipif(not os.environ.get("FUGU_SITE"), reason=WHY_NOT)


@pytest.fixture(scope="module")
def found():
    return pages(SITE)


@pytest.fixture(scope="module")
def files():
    return {path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file()}


@built
def test_every_page_holds_up(found, files):
    assert faults(found, files) == []


@built
def test_every_page_of_the_documentation_is_in_the_menu_of_the_home_page(found):
    wanted = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")} | set(
        links.TOP.values()
    )
    pages_wanted = {name.removesuffix("README.md").removesuffix(".md") for name in wanted}
    linked = {
        link.partition("#")[0].removesuffix("index.html").removesuffix(".html")
        for link in read(found["index.html"]).links
    }
    assert {page.removesuffix("index") for page in pages_wanted} - linked - {"", "."} == set()


@built
def test_the_search_knows_every_page_in_files_that_a_folder_has(found, files):
    index = json.loads((SITE / "search" / "search_index.json").read_text("utf-8"))
    known = {entry["location"].partition("#")[0] or "index.html" for entry in index["docs"]}
    assert {path for path in found if not path.startswith("files/")} <= known
    assert "search/search_index.js" in files
    assert any("Pufferfish" in entry["text"] for entry in index["docs"])


PAGE = '<article><a href="b.html#x">b</a><img src="p.svg" alt="a curve"></article>'
RIGHT = {"a.html": PAGE, "b.html": '<h2 id="x">x</h2><a href="./a.html">a</a>'}
WRONG = {
    "a link to nothing": ("b.html#x", "c.html", "not there"),
    "an anchor that is not there": ("b.html#x", "b.html#y", "no such place"),
    "an own anchor that is not there": ("b.html#x", "#y", "no such place"),
    "out of the site": ("b.html#x", "../b.html", "not there"),
    "a picture without words": (' alt="a curve"', ' alt=" "', "without words"),
    "a picture from elsewhere": ("p.svg", "https://example.org/p.svg", "loads"),
    "a script from elsewhere": ("<article>", '<script src="//example.org/x.js"></script><article>', "loads"),
    "a font from elsewhere": ("<article>", '<link rel="stylesheet" href="https://example.org/f"><article>', "loads"),
    "a missing picture": ("p.svg", "q.svg", "not there"),
    "a page without end": ("</article>", "word " * (MOST_TEXT // 5 + 1) + "</article>", "bytes of text"),
}  # fmt: skip


def test_right_pages_have_no_fault():
    assert faults(RIGHT, {"p.svg"}) == []
    assert faults({**RIGHT, "a.html": PAGE + "<script>" + "x" * 2 * MOST_TEXT + "</script>"}, {"p.svg"}) == []


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_page_is_noticed(wrong):
    before, after, said = WRONG[wrong]
    assert before in PAGE
    noticed = faults({**RIGHT, "a.html": PAGE.replace(before, after)}, {"p.svg"})
    assert len(noticed) == 1 and said in noticed[0]


def test_the_menu_has_every_page_once_wherever_it_is():
    there = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    more = ["tutorials/new.md", "tutorials/column.md", "concepts/odd.md", "papers/x.md", "odd.md", "a/b/c.md"]
    for given in (there, [*there, *more]):
        listed = menu.listed(menu.menu(given))
        assert sorted(listed) == sorted(set(given))
    assert menu.menu(["index.md", "tutorials/new.md"])[1] == {"Tutorials": [{"For everybody": ["tutorials/new.md"]}]}


def test_a_pattern_does_not_take_a_page_that_is_named_elsewhere():
    named = menu.menu(["proofs/a.md", "promises.md", "reference/api/laws.md", "reference/other.md"])
    assert named == [
        {"Reference": ["reference/other.md", {"API": ["reference/api/laws.md"]}]},
        {"Proofs": ["proofs/a.md"]},
        {"Project": ["promises.md"]},
    ]
