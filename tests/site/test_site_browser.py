"""The built site in headless Chromium, from its folder: nothing is asked for outside, no page scrolls sideways."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "report"))

from browser import WHY_NOT, Browser, chromium

SITE = Path(__file__).resolve().parents[2] / "site"
WIDTHS = (360, 1280)
built = pytest.mark.skipif(not os.environ.get("FUGU_SITE"), reason="the site is built and read by `make docs`")
pytestmark = pytest.mark.skipif(chromium() is None, reason=WHY_NOT)

WIDE = """(width => {
  const found = [], page = document.documentElement.scrollWidth
  if (page > width) found.push(`the page is ${page} wide`)
  const boxed = e => {
    for (let up = e.parentElement; up; up = up.parentElement)
      if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(up).overflowX)) return true
    return false
  }
  for (const e of document.querySelectorAll("article *"))
    if (e.checkVisibility() && e.getBoundingClientRect().right > width + 1 && !boxed(e)) {
      found.push(`${e.tagName} ends at ${Math.round(e.getBoundingClientRect().right)}`)
      break
    }
  for (const e of document.querySelectorAll("article img"))
    if (!e.naturalWidth) found.push(`${e.getAttribute("src")} is not drawn`)
  return found
})"""
"""A page on a phone grows with what is too wide for it, so the width is that of the screen, not of the window."""


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def faults(browser, path, width):
    """What is wrong with a page on a screen of that width."""
    browser.open(path, width=width, height=900)
    found = browser.run(f"{WIDE}({width})")
    found += [f"asks for {address}" for address in browser.requests if not address.startswith(("file:", "data:"))]
    return found + [f"complains: {text}" for text in browser.complaints]


@built
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_asks_outside_or_scrolls_sideways(width, browser):
    pages = [path for path in sorted(SITE.rglob("*.html")) if path.name != "404.html"]  # that one is for servers
    found = {path.relative_to(SITE).as_posix(): faults(browser, path, width) for path in pages}
    assert len(found) > 60
    assert {page: wrong for page, wrong in found.items() if wrong} == {}


@built
def test_the_search_answers_from_a_folder(browser):
    browser.open(SITE / "index.html", width=1280, height=900)
    browser.run("document.querySelector('[data-md-component=search-query]').focus()")
    browser.run(
        "(e => { e.value = 'wasserstein'; e.dispatchEvent(new Event('keyup', {bubbles: true})); "
        "e.dispatchEvent(new Event('input', {bubbles: true})) })"
        "(document.querySelector('[data-md-component=search-query]'))"
    )
    until = time.monotonic() + 20
    found = []
    while not found and time.monotonic() < until:
        time.sleep(0.2)
        found = browser.run("[...document.querySelectorAll('.md-search-result__link')].map(e => e.href)")
    assert any("reference/methods.html" in link for link in found)
    assert [a for a in browser.requests if not a.startswith(("file:", "data:", "about:"))] == []


WRONG = {
    "a wide table": ("<table><tr>" + "<td>wide</td>" * 200 + "</tr></table>", "wide"),
    "a wide word": ("<p>" + "w" * 900 + "</p>", "the page is"),
    "a picture from elsewhere": ('<img src="http://127.0.0.1:9/x.png" alt="x">', "asks for"),
    "a picture that is not there": ('<img src="nowhere.png" alt="x">', "not drawn"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_page_is_noticed(wrong, browser, tmp_path):
    added, said = WRONG[wrong]
    page = tmp_path / "page.html"
    begin = (
        '<!DOCTYPE html><html lang="en"><meta name="viewport" content="width=device-width"><title>x</title><article>'
    )
    page.write_text(f"{begin}<p>right</p></article>", "utf-8")
    assert faults(browser, page, 360) == []
    page.write_text(f"{begin}{added}</article>", "utf-8")
    assert any(said in found for found in faults(browser, page, 360))
