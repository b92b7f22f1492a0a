"""Every screen in a real browser: nothing cut, pale or unnamed, nothing asked for elsewhere, nothing that was typed
into a table acts; and what only a browser shows of who gets the cookie, and of what it keeps."""

from __future__ import annotations

import http.server
import os
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
from studios import ENTRIES, HIDDEN, running, state_of, tables

import fugu

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
    if script:
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
            for device in DEVICES if os.environ.get("FUGU_AT_LENGTH") else ("wide", "dark phone"):
                if found := faults(browser, client, name, device, script):
                    wrong[name, device] = found

    look("tables", "check")
    client.post("question", {"kind": "column", "protect": "4", "publish": "5", "rows": ""})
    client.post("noise", {"epsilon": "0.5"})
    look("noise", "improve")
    for asked in (HIDDEN, {**ENTRIES, "user": "", "order": "0", "state": "3", "length": ""}):
        client.plan("877", asked)
        look("question", "noise", "improve", "sign")
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
    client, folder = way
    client.studio.state["ledger"] = str(folder / "another.db")  # of which nothing is spent
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


class Keys:
    """Somebody with a keyboard and nothing else."""

    def __init__(self, browser):
        self.browser = browser

    def press(self, key, code=0, text=""):
        for kind in ("keyDown", "keyUp"):
            said = {"text": text} if text and kind == "keyDown" else {}
            self.browser.call(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **said
            )

    def reach(self, where):
        """Go there with the Tab key; what has the focus can be seen to have it."""
        for _ in range(90):
            self.press("Tab", 9)
            if self.browser.run(f"document.activeElement.matches({where!r})"):
                seen = "getComputedStyle(document.activeElement).outlineStyle"
                assert self.browser.run(seen) != "none", where
                return self
        raise AssertionError(f"{where} is not reached")

    def type(self, text):
        for letter in text:
            self.press(letter, 0, letter)

    def space(self):
        self.press(" ", 32, " ")

    def enter(self, leads):
        """Press Enter, and wait for the next screen, whose heading, or a refusal, has the focus."""
        self.browser.events.clear()
        self.press("Enter", 13, "\r")
        until = time.monotonic() + 60
        focus = "document.readyState === 'complete' && document.activeElement?.tagName === 'H1'"
        while not self.browser.run(f"location.pathname.endsWith({leads!r}) && {focus}"):
            assert time.monotonic() < until, leads
            time.sleep(0.05)


def test_the_whole_way_by_keyboard(browser, tmp_path):
    folder = tables(tmp_path)
    with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
        entered(browser, client)
        keys = Keys(browser)
        keys.reach("#rows").type("900")
        keys.reach("button.main").enter("question")
        keys.reach("#protect").type("smoker")
        keys.reach("#unit").type("patient")
        keys.reach("[name=mean][value='5']").space()
        keys.reach("#by").type("sex")
        keys.reach("button.main").enter("noise")
        keys.reach("#place").press("ArrowRight", 39)
        keys.reach("button.main").enter("improve")
        keys.reach("a.button.main").enter("sign")
        for tick in range(browser.run("document.getElementsByName('assumed').length")):
            keys.reach(f"#assumed{tick}").space()
        keys.reach("#person").type("Ada")
        keys.reach("#role").type("steward")
        keys.reach("#answer").space()
        keys.reach("button.main").enter("release")
        keys.reach("button.main").enter("release")
        client.wait()
        until = time.monotonic() + 30
        while browser.run("document.querySelector('h1')?.textContent") != "Released" and time.monotonic() < until:
            time.sleep(0.1)  # the page looks for itself
        assert time.monotonic() < until and browser.complaints == []
    assert (folder / "out" / "release-1.csv").read_text().count("mean(chol)") == 2


def test_an_officer_finds_an_edited_file_in_the_browser(browser, tmp_path):
    folder = tables(tmp_path)
    plan = fugu.Question(query="mean(chol)", protect="smoker", epsilon=1, reference=folder / "clinic_reference.csv")
    fugu.release(plan, folder / "clinic_today.csv", folder / "out.csv", ledger=False)
    (folder / "out.csv").write_text((folder / "out.csv").read_text().replace("1", "2", 1))
    with running({"checks": True, "out": str(folder)}, None) as client:
        entered(browser, client)
        root = browser.call("DOM.getDocument")["root"]["nodeId"]
        node = browser.call("DOM.querySelector", nodeId=root, selector="#files")["nodeId"]
        files = [str(folder / name) for name in ("out.csv", "out.certificate.json")]
        browser.call("DOM.setFileInputFiles", nodeId=node, files=files)
        browser.run("document.querySelector('form button.main').click()")
        until = time.monotonic() + 60
        while "does not hold" not in (browser.run("document.body?.innerText") or "") and time.monotonic() < until:
            time.sleep(0.1)
        first = browser.run("[...document.querySelector('tbody tr').cells].map(cell => cell.textContent.trim())")[:2]
        assert first == ["published out.csv", "fails"] and browser.complaints == []


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
    client, folder = way
    client.studio.state["ledger"] = str(folder / "another.db")
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
    looked = 0
    for path in Path(browser.folder.name).rglob("*"):
        with suppress(OSError):  # it comes and goes
            assert SEEN.encode() not in path.read_bytes()
            looked += 1
    assert looked > 10


def test_nothing_that_stands_in_a_table_acts(browser, tmp_path):
    marks = [
        "<img src=x onerror=alert(1)>",
        "</select><script>alert(1)</script>",
        "\u202egnp.exe",
        "a'\"&lt;b",
        "{{1237*7}}",
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
        screens = ("tables", "question", "noise", "improve", "sign", "release", "ledger", "check")
        nothing_acts(browser, client, *screens)
        hidden = {"kind": "property", "condition": f"{marks[1]}={marks[2]}", "mean": "3"}
        hidden["counted"] = f"{marks[1]}={marks[3]}"
        refused = client.post("question", {**hidden, "condition": marks[0], "counted": marks[0]})
        assert refused[0] == 400 and "<img" not in refused[2]
        walked = {"kind": "sequences", "order": "0", "state": "2", "entries": ["histogram"], "counted_state": marks[2]}
        for asked in (hidden, walked):
            assert client.post("question", asked)[0] == 303
            nothing_acts(browser, client, "question", "noise", "improve", "sign")


def nothing_acts(browser, client, *names):
    """No screen of these has an element that the tables brought, or asks the browser for anything."""
    for name in names:
        browser.open(client.guard.origin + client.root + name)
        inside = "document.querySelectorAll('img, b b, script:not([src=\"studio.js\"]), [onerror]').length"
        assert browser.run(inside) == 0 and browser.complaints == [], (name, browser.complaints)
        assert browser.run("document.querySelectorAll('script').length") == 1
        text = browser.run("document.body.innerText")
        assert "8659" not in text and "\u202e" not in text
