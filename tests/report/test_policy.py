"""Every page has a content policy that names its own scripts by digest; data stands in a block that nothing runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess

import pytest

import fugu
from fugu.cli.influence import _page
from fugu.report import page
from fugu.report.shell import embedded, figure_page
from fugu.report.trade import trade_page

EVIL = "<script>document.title='RUN'</script><img src=x onerror=\"document.title='RUN'\">\u202e\x1b\u2028</script>"
LAWS = {EVIL: fugu.Discrete([0, 1], [3, 1]), "b": fugu.Discrete([0, 1], [1, 3])}
SCENARIO = fugu.Scenario(LAWS)
PAGES = {
    "report": lambda: page(fugu.calibrate(SCENARIO, fugu.Pure(0.5)), title=EVIL, query_name=EVIL, secret_name=EVIL),
    "trade": lambda: trade_page(SCENARIO, None, 0.5, 0.0, EVIL),
    "influence": lambda: _page([(1, 2.0), (2, 1.0)], EVIL),
    "figure": lambda: figure_page(EVIL, '<div id="x"></div>', {"x": {"data": [], "layout": {"title": {"text": EVIL}}}}),
}


@pytest.mark.parametrize("name", PAGES)
def test_only_our_own_scripts_run(name):
    html = PAGES[name]()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)[1]
    allowed = re.search(r"script-src ([^;]*)", policy)[1].split()
    assert "default-src 'none'" in policy and all(source.startswith("'sha256-") for source in allowed)
    assert html.index("Content-Security-Policy") < html.index("<script")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.S)
    digests = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
    assert digests == allowed and len(scripts) == 2
    assert not any("document.title" in script for script in scripts)
    assert "\u202e" not in html and "\x1b" not in html and "\u2028" not in html.replace(scripts[0], "")


@pytest.mark.parametrize("name", PAGES)
def test_data_ends_no_element(name):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', PAGES[name](), re.S)
    assert data.isascii() and not set("<>&") & set(data)
    json.loads(data)
    assert json.loads(embedded({EVIL: [EVIL, 1.5, None]}))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser here")
def test_a_browser_draws_the_figures_and_runs_nothing_else(tmp_path):
    file = tmp_path / "page.html"
    injected = "<script>document.title='RUN'</script><img src=x onerror=\"document.title='RUN'\"></main>"
    file.write_text(PAGES["report"]().replace("</main>", injected), encoding="utf-8")
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    seen = subprocess.run([*words, file.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "main-svg" in seen and "<title>RUN" not in seen
