"""Every screen in a real browser: nothing cut, pale or unnamed, nothing asked for elsewhere, nothing that was typed
into a table acts; and what only a browser shows of who gets the cookie, and of what it keeps."""

from __future__ import annotations

import http.server
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from studios import running, state_of, tables

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))
from browser import WHY_NOT, Browser, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason=WHY_NOT)
MEASURE = Path(__file__).resolve().parents[1].joinpath("report", "measure.js").read_text("utf-8")
DEVICES = {
    "wide": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844},
    "wide and dark": {"width": 1280, "height": 900, "dark": True},
    "dark phone": {"width": 390, "height": 844, "dark": True},
}  # fmt: skip
SEEN = "of 877 rows ("
"""What the owner is told of the table, and stands nowhere else."""
NAMED = """[...document.querySelectorAll("input:not([type=hidden]), select, button, a, progress")].filter(e =>
  !(e.labels?.length || e.getAttribute("aria-label") || (e.textContent || "").trim())).map(e => `no name: ${e.id}`)
  .concat([...document.querySelectorAll("[id]")].map(e => e.id).filter((id, n, all) => all.indexOf(id) !== n)
  .map(id => `twice the id ${id}`))"""
AXE = "axe.run({resultTypes: ['violations']}).then(r => r.violations.map(v => `${v.id}: ${v.nodes[0].html}`))"
MOVED = """(async () => {
  const slider = document.getElementById("place"), live = document.getElementById("live"), took = [];
  for (let n = 0; n < TIMES; n++) {
    const begun = performance.now();
    const seen = new Promise(done => new MutationObserver((_, all) => { all.disconnect(); done(); })
      .observe(live, { childList: true }));
    slider.value = +slider.value + (n % 2 ? 1 : -2);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await seen;
    took.push(performance.now() - begun);
  }
  return took;
})()"""


@pytest.fixture(scope="module")
def browser():
    with Browser() as found:
        yield found


def entered(browser, client):
    """The studio, opened in the browser; its client has the same cookie."""
    browser.open(client.address)
    found = browser.call("Network.getCookies", urls=[client.guard.origin + client.root])["cookies"]
    client.cookie = next(f"fugu={cookie['value']}" for cookie in found if cookie["name"] == "fugu")
    return client


def faults(browser, client, name, device, script=""):
    """Everything that is wrong with a screen on a device."""
    browser.open(client.guard.origin + client.root + name, **DEVICES[device])
    own = {client.guard.origin + client.root + file for file in (name, "studio.css", "studio.js", "icon.svg")}
    found = [*browser.run(MEASURE), *browser.run(NAMED)]
    found += [f"asks for {address}" for address in browser.requests if address not in own]
    if script and device in ("wide", "dark phone"):
        browser.run(script)
        found += browser.run(AXE)
    return found + [f"complains: {text}" for text in browser.complaints]


@pytest.fixture(scope="module")
def way(browser, tmp_path_factory):
    folder = tables(tmp_path_factory.mktemp("screens"))
    rows = (folder / "clinic_today.csv").read_text().splitlines()
    (folder / "clinic_today.csv").write_text("\n".join(rows[:878]) + "\n")  # the header, and a number to look for
    with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
        yield entered(browser, client), folder


def test_every_screen_holds_up_on_every_device(browser, way):
    client, folder = way
    script = ""
    if (spec := find_spec("axe_core_python")) is not None and spec.origin:
        script = (Path(spec.origin).parent / "axe.min.js").read_text("utf-8")
    wrong = {}

    def look(*names):
        for name in names:
            for device in DEVICES:
                if found := faults(browser, client, name, device, script):
                    wrong[name, device] = found

    look("tables", "check")
    client.post("question", {"kind": "column", "protect": "4", "publish": "5", "rows": ""})
    look("noise", "improve")
    client.plan("877")
    look("question", "noise")
    client.post("improve", {"measure": "on"})
    client.wait()
    client.post("sign", {"look": "on"})
    client.wait()
    look("improve", "sign")
    client.sign()
    look("release")
    out = folder / "out"
    client.release()
    files = [(name, (out / name).read_bytes()) for name in ("release-1.certificate.json", "release-1.csv")]
    client.upload([files[0], (files[1][0], files[1][1].replace(b"1", b"2", 1))])
    client.wait()
    look("release", "ledger", "check")
    assert wrong == {}


def test_the_slider_moves_the_picture_and_keys_move_the_slider(browser, way):
    client, _ = way
    client.plan("877")
    browser.open(client.guard.origin + client.root + "noise")
    took = browser.run(MOVED.replace("TIMES", "6"))
    assert len(took) == 6 and browser.complaints == []
    browser.run("document.getElementById('place').focus()")
    before = browser.run("document.getElementById('place').value")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    until = time.monotonic() + 20
    while browser.run("document.getElementById('epsilon').value") == "0.5" and time.monotonic() < until:
        time.sleep(0.05)
    assert float(browser.run("document.getElementById('place').value")) == float(before) + 1
    assert browser.run("document.activeElement.id") == "place"  # what moves takes no focus away


def test_a_service_on_another_port_gets_no_cookie(browser, way):
    told = []

    class Service(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            told.append(dict(self.headers))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    client, _ = way
    with http.server.HTTPServer(("127.0.0.1", 0), Service) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        for path in ("/", "/tables", "/fugu/"):
            browser.open(f"http://127.0.0.1:{other.server_port}{path}")
        other.shutdown()
    assert told and not [headers for headers in told if "fugu" in headers.get("Cookie", "")]
    assert not [headers for headers in told if client.guard.room in str(headers)]  # nor where it came from
    browser.open(client.guard.origin + client.root + "tables")
    assert browser.run("document.title") == "What do we know already?"


def test_what_the_owner_saw_is_not_kept_by_the_browser(browser, way):
    client, _ = way
    client.plan("877", by="")
    client.studio.state["went"] = False
    client.post("sign", {"look": "on"})
    client.wait()
    browser.open(client.guard.origin + client.root + "sign")
    assert SEEN in browser.run("document.body.innerText")
    browser.open(client.guard.origin + client.root + "tables")
    client.studio.state.pop("look")
    browser.call("Runtime.evaluate", expression="history.back()")
    until = time.monotonic() + 10
    while not browser.run("location.pathname").endswith("sign") and time.monotonic() < until:
        time.sleep(0.1)
    browser.run("new Promise(done => document.readyState === 'complete' ? done() : onload = done)")
    assert SEEN not in browser.run("document.body.innerText")
    kept = [path for path in Path(browser.folder.name).rglob("*") if path.is_file()]
    assert kept and not [path for path in kept if SEEN.encode() in path.read_bytes()]


def test_nothing_that_stands_in_a_table_acts(browser, tmp_path):
    marks = [
        "<img src=x onerror=alert(1)>",
        "</select><script>alert(1)</script>",
        "\u202egnp.exe",
        "a'\"&lt;b",
        "{{7*7}}",
    ]
    folder = tables(tmp_path)
    names = ["who", marks[0], marks[1], "chol"]
    cells = [
        f'{n},"{marks[n % 2]}","{marks[2 + n % 3].replace(chr(34), chr(34) * 2)}",{100 + n % 50}' for n in range(600)
    ]
    text = ",".join(f'"{name}"' for name in names) + "\n" + "\n".join(cells) + "\n"
    for name in ("clinic_reference.csv", "clinic_today.csv"):
        (folder / name).write_text(text)
    with running(state_of(folder, out=str(folder / "<b>out")), str(folder / "clinic_today.csv")) as client:
        entered(browser, client)
        asked = {"protect": "1", "unit": "0", "kind": "statistics", "mean": ["3"], "histogram": ["2"], "count": "on"}
        assert client.post("question", asked)[0] == 303
        assert client.post("noise", {"epsilon": "1"})[0] == 303
        client.post("sign", {"look": "on"})
        client.wait()
        client.sign()
        client.upload([("<img src=x>.json", b'{"schema": "<img src=x onerror=alert(1)>"}'), (marks[0], b"")])
        client.wait()
        for name in ("tables", "question", "noise", "improve", "sign", "release", "ledger", "check"):
            browser.open(client.guard.origin + client.root + name)
            inside = "document.querySelectorAll('img, b b, script:not([src=\"studio.js\"]), [onerror]').length"
            assert browser.run(inside) == 0 and browser.complaints == [], (name, browser.complaints)
            assert browser.run("document.querySelectorAll('script').length") == 1
            text = browser.run("document.body.innerText")
            assert "49" not in text.split() and "\u202e" not in text
