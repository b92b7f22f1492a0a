"""Every page has a content policy under which nothing runs, and no style but fugu's own applies."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from html.parser import HTMLParser

import pytest
from browser import WHY_NOT, chromium

import fugu
from fugu.drawing.marks import Html, escaped, joined, tag
from fugu.report import page
from fugu.report.compare import trade_page
from fugu.report.page import influence_page
from fugu.report.template import render

EVIL = "<script>document.title='RUN'</script><img src=x onerror=\"document.title='RUN'\">\u202e\x1b\u2028</script>"
LAWS = {EVIL: fugu.Discrete([0, 1], [3, 1]), "b": fugu.Discrete([0, 1], [1, 3])}
SCENARIO = fugu.Scenario(LAWS)
PAGES = {
    "report": lambda: page(fugu.calibrate(SCENARIO, fugu.Pure(0.5)), title=EVIL, query_name=EVIL, secret_name=EVIL),
    "trade": lambda: trade_page(SCENARIO, fugu.compare(SCENARIO, fugu.Pure(0.5)), EVIL, EVIL, warnings=[EVIL]),
    "influence": lambda: influence_page([(1, 2.0), (2, 1.0)], EVIL),
    "bare": lambda: render("page.html", title=EVIL),
}


def names_of_attributes(html):
    found, parser = [], HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.extend(name for name, _ in attributes)
    parser.feed(html)
    return found


def test_an_attribute_that_runs_would_be_seen():
    assert "onerror" in names_of_attributes('<p title="x"><img src=x onerror="y"></p>')


@pytest.mark.parametrize("name", PAGES)
def test_nothing_runs_and_only_our_own_style_applies(name):
    html = PAGES[name]()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    assert policy.startswith("default-src 'none';") and "script-src" not in policy and "unsafe" not in policy
    assert html.index("Content-Security-Policy") < html.index("<style")
    styles = re.findall(r"<style>(.*?)</style>", html, re.S)
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in styles]
    assert digests == re.search(r"style-src ([^;]*)", policy)[1].split() and len(styles) == 1
    assert "<script" not in html and "<img" not in html and " style=" not in html and "javascript:" not in html
    assert "\u202e" not in html and "\x1b" not in html and "\u2028" not in html
    assert not re.search(r"https?://|@import|url\(|//cdn", html) and "&lt;script&gt;" in html
    assert not [name for name in names_of_attributes(html) if name.startswith("on") or name in ("href", "src", "style")]


def test_text_is_escaped_wherever_it_stands_and_markup_is_not():
    assert joined(EVIL, [EVIL, None]).count("&lt;script&gt;") == 2
    assert '"' not in tag("p", x=EVIL)[6:-6] and "<" not in tag("p", x=EVIL)[1:-5]
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>" and isinstance(tag("p"), Html)
    assert escaped("x") + "<" == "x&lt;", "what is pasted onto markup is text"


@pytest.mark.skipif(chromium() is None, reason=WHY_NOT)
def test_a_browser_runs_nothing_that_breaks_out(tmp_path):
    file = tmp_path / "page.html"
    injected = "<script>document.title='RUN'</script><img src=x onerror=\"document.title='RUN'\"></main>"
    file.write_text(PAGES["report"]().replace("</main>", injected), encoding="utf-8")
    words = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    seen = subprocess.run([*words, file.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "<title>RUN" not in seen and "</svg>" in seen
