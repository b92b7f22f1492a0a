"""Every kind of page in a real browser: nothing is loaded, nothing cut, nothing pale; on screens, phones and paper."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest
from browser import WHY_NOT, Browser, chromium
from page_samples import RELEASED, SAMPLES, released
from shots import FOLDER, JOBS, STUDIO, page, tables

from fugu.report.template import policy, sheet

pytestmark = pytest.mark.skipif(chromium() is None, reason=WHY_NOT)
MEASURE = Path(__file__).with_name("measure.js").read_text("utf-8")
DEVICES = {
    "screen": {"width": 1000},
    "dark": {"width": 1000, "dark": True},
    "middle": {"width": 720},
    "phone": {"width": 390, "height": 844},
    "small dark phone": {"width": 340, "height": 700, "dark": True},
}
_A4 = (595, 842)
"""Points."""


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def file(name):
        if name not in made:
            made[name] = folder / f"{len(made)}.html"
            made[name].write_text(SAMPLES[name](), "utf-8")
        return made[name]

    return file


def faults(browser, path, **device):
    """Everything that is wrong with a page on a device."""
    browser.open(path, **device)
    found = browser.run(MEASURE)
    found += [f"asks for {address}" for address in browser.requests if address != path.as_uri()]
    return found + [f"complains: {text}" for text in browser.complaints]


@pytest.mark.parametrize("name", SAMPLES)
def test_pages_hold_up_on_every_screen(name, browser, files):
    path = files(name)
    assert path.stat().st_size < (300_000 if name == "several pairs" else 150_000)
    assert {device: found for device, how in DEVICES.items() if (found := faults(browser, path, **how))} == {}


@pytest.mark.parametrize("name", SAMPLES)
def test_pages_print_on_a_few_sheets_of_a4(name, browser, files):
    browser.open(files(name), dark=True, media="print")  # else the sheet for screens is what goes on paper
    paper = browser.pdf()
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", paper)
    assert boxes and {(round(float(w)), round(float(h))) for w, h in boxes} == {_A4}
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", paper)) <= 9
    browser.open(files(name), width=657, dark=True, media="print")
    assert [found for found in browser.run(MEASURE) if "screen" not in found] == []
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.body).color") == "rgb(27, 27, 27)"
    assert browser.run("[...document.querySelectorAll('.chart.narrow')].every(e => !e.checkVisibility())")


WIDTHS = {"phone": {"width": 390}, "wide": {"width": 1280}, "dark phone": {"width": 390, "dark": True},
          "wide and dark": {"width": 1280, "dark": True}, "paper": {"width": 657, "media": "print"}}  # fmt: skip


@pytest.mark.parametrize("name", RELEASED)
def test_the_page_of_a_release_keeps_everything_in_its_cards(name, browser, tmp_path):
    """With numbers, error bars, and names longer than a screen: on a phone, a wide screen and paper, light and dark."""
    path = released(name, tmp_path)
    assert path.stat().st_size < (250_000 if name == "property" else 150_000)  # one has as many pairs as shares
    assert {width: found for width, how in WIDTHS.items() if (found := faults(browser, path, **how))} == {}
    browser.open(path, width=390)
    assert browser.run("document.querySelector('.summary .verdicts span').checkVisibility()")
    boxes = "[...document.querySelectorAll('.summary, #numbers-title')].map(e => e.getBoundingClientRect().top)"
    top, numbers = browser.run(boxes)
    assert top < 250 and numbers < 2200  # what a reader in a hurry must know is at hand


@pytest.mark.parametrize("name", sorted({*JOBS} - {*RELEASED}))
def test_every_other_page_of_a_command_keeps_everything_in_its_cards(name, browser, tmp_path):
    """Those of `fugu train`, `compare`, `property`, `influence`, and the page to sign: as people get them."""
    tables(tmp_path)
    path = page(name, tmp_path)
    assert {width: found for width, how in WIDTHS.items() if (found := faults(browser, path, **how))} == {}


def test_the_documentation_shows_every_page_of_a_command():
    kept = {path.stem: path.stat().st_size for path in FOLDER.iterdir()}
    text = "".join((FOLDER.parent / f"{name}.md").read_text("utf-8") for name in ("pages", "studio"))
    assert {*kept} == {*JOBS, *STUDIO, "home"} == {*re.findall(r"\(pictures/([\w-]+)\.png\)", text)}
    assert sum(kept.values()) < 1_500_000


def test_the_chosen_pair_shows_and_no_other(browser, files):
    browser.open(files("several pairs"))
    seen = "[...document.querySelectorAll('.view')].filter(e => e.checkVisibility()).map(e => e.className)"
    assert browser.run(seen) == ["view view-0", "view view-0"]
    browser.run("document.getElementById('pair-2').click()")
    assert browser.run(seen) == ["view view-2", "view view-2"]
    assert faults_now(browser) == []


def faults_now(browser):
    return browser.run(MEASURE)


WIDE = f'<div class="scroll"><table><caption>x</caption><tr>{"<td>wider</td>" * 12}</tr></table></div>'
WRONG = {
    "a picture from elsewhere": ("</main>", '<img src="http://127.0.0.1:9/x.png" alt="x"></main>', "complains"),
    "a script": ("</main>", "<script>document.title='x'</script></main>", "complains"),
    "a style of its own": ("<h1>", '<h1 style="color:#ddd">', "complains"),
    "a label pushed out": (r'(<text [^>]*?x=")[\d.]+(" [^>]*"middle")', r"\g<1>336\2", "outside its drawing"),
    "two labels in one place": (r'(<text )x="[\d.]+" y="[\d.]+"', r'\g<1>x="40" y="40"', "on each other"),
    "a wide table": ("</main>", f"{WIDE}</main>", "wider than the screen"),
    "a page that scrolls": ("<h1>", "<pre>" + "wide " * 40 + "</pre><h1>", "wide on 390"),
    "a second title": ("</main>", "<h1>x</h1></main>", "headings"),
    "a word beyond its card": (r"(<section [^>]*>)", r"\1<pre>" + "w" * 44 + "</pre>", "outside its card"),
    "no language": (' lang="en"', "", "language"),
    "no alternative text": (r"<desc[^>]*>[^<]*</desc>", "", "alternative"),
    "a table without caption": (r"<caption>[^<]*</caption>", "", "caption"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_page_is_noticed(wrong, browser, files, tmp_path):
    """Each is a page that was right before: the measurement must find exactly what was broken."""
    before, after, said = WRONG[wrong]
    right = files("one number").read_text("utf-8")
    text = re.sub(before, after, right)
    assert text != right
    (tmp_path / "wrong.html").write_text(text, "utf-8")
    assert any(said in found for found in faults(browser, tmp_path / "wrong.html", width=390, height=844))


def test_pale_colours_are_noticed(browser, files, tmp_path):
    """Soft text nearer to its background; the digest of that sheet is put into the policy, or it would not apply."""
    for colour, dark in (("--soft: #4a4a4a", False), ("--soft: #b9bec6", True)):
        pale = sheet().replace(colour, "--soft: #8d8d8d" if not dark else "--soft: #5d5d5d")
        digest = base64.b64encode(hashlib.sha256(pale.encode()).digest()).decode()
        allowed = re.sub(r"sha256-[^']*", f"sha256-{digest}", policy())
        text = files("one number").read_text("utf-8").replace(sheet(), pale).replace(policy(), allowed)
        (tmp_path / "pale.html").write_text(text, "utf-8")
        assert any("too pale" in found for found in faults(browser, tmp_path / "pale.html", dark=dark))
