"""Who may speak to the studio: each way in that must be shut is tried over HTTP, and is open without its measure."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from studios import ASKED, FORM, HIDDEN, running, state_of, tables

from fugu.studio import app, guard
from fugu.studio.guard import FILE, FormNumbers, Guard, TurnedAway

HEADERS = {
    "cache-control": "no-store", "cross-origin-opener-policy": "same-origin", "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin", "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}  # fmt: skip
NAMES = (*app.SCREENS, "", "studio.css", "studio.js", "icon.svg", "nothing")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tables(tmp_path_factory.mktemp("guarded"))
    with running(state_of(folder), str(folder / "clinic_today.csv")) as client:
        yield client.enter()


def alone(path, *headers, method="GET", body=(b"",), door=None, inner=None):
    """One request to a guard without a server: status, headers, text."""
    told, parts = [], list(body)
    found = door if door is not None else Guard(inner or answers, 4000)

    async def receive():
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message):
        told.append(message)

    scope = {"type": "http", "method": method, "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"127.0.0.1:4000"), *headers]}  # fmt: skip
    asyncio.run(found(scope, receive, send))
    return told[0]["status"], dict(told[0]["headers"]), told[1]["body"].decode()


async def answers(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"public")]})
    await send({"type": "http.response.body", "body": b"in"})


async def reads(scope, receive, send):
    while (await receive())["more_body"]:
        pass
    await answers(scope, receive, send)


def test_the_address_is_good_once_and_address_and_cookie_are_both_needed(studio):
    used = studio.address.partition(str(studio.port))[2]
    assert studio.ask("GET", used)[0] == 401
    assert studio.ask("GET", used, Cookie=studio.cookie)[0] == 401
    assert studio.ask("GET", studio.root + "tables")[0] == 401  # the address alone
    assert studio.ask("GET", "/other/tables", Cookie=studio.cookie)[0] == 401  # the cookie alone
    assert studio.ask("GET", studio.root + "tables", Cookie="fugu=other")[0] == 401
    assert studio.get("tables")[0] == 200


def test_the_address_is_good_for_a_minute_and_its_cookie_goes_to_one_path():
    door = Guard(answers, 4000)
    late = Guard(answers, 4000)
    late._until -= guard.FRESH + 1
    path = door.address.partition("4000")[2]
    status, headers, _ = alone(path, door=door)
    assert status == 303 and headers[b"location"].decode() == f"/{door.room}/"
    kept = headers[b"set-cookie"].decode()
    assert kept.split("; ")[1:] == [f"Path=/{door.room}/", "HttpOnly", "SameSite=Strict"]
    assert alone(path, door=door)[0] == 401
    assert alone(late.address.partition("4000")[2], door=late)[0] == 401
    assert len(door.room) >= 32 and len(kept.partition("=")[2].partition(";")[0]) >= 40
    assert door.room not in path


@pytest.mark.parametrize(
    "host", ["localhost:{}", "127.0.0.1", "evil.example:{}", "127.0.0.1:1", "127.0.0.1:{}.evil.example", ""]
)
def test_another_host_is_turned_away_on_every_route(studio, host):
    for name in NAMES:
        for method in ("GET", "POST"):
            headers = {"Cookie": studio.cookie, "Host": host.format(studio.port), "Origin": studio.guard.origin}
            assert studio.ask(method, studio.root + name, b"" if method == "POST" else None, **headers)[0] == 421
    fresh = Guard(answers, 4000)
    status, headers, _ = alone(fresh.address.partition("4000")[2], (b"host", b"127.0.0.1:4000"), door=fresh)
    assert status == 421 and b"set-cookie" not in headers  # a host that is named twice is none


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "https://evil.example"},
        {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
    ],
)  # fmt: skip
def test_a_form_must_come_from_a_page_of_the_studio(studio, headers):
    for name in app.SCREENS:
        number = studio.guard.numbers.fresh()
        assert studio.post(name, {"number": number, "rows": "77"}, **headers)[0] == 403
        assert studio.guard.numbers.take(number)  # nobody took it
    assert studio.studio.state.get("rows") != "77"


def test_a_page_of_somebody_else_is_not_answered(studio):
    assert studio.get("tables", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert studio.get("tables", **{"Sec-Fetch-Site": "none"})[0] == 200
    assert studio.post("tables", {"number": "x"}, **{"Content-Type": "text/plain"})[0] == 415


def test_the_number_of_a_form_is_good_once(studio):
    number = studio.number()
    assert studio.post("tables", {"number": number, "rows": "900"})[1]["location"] == "question"
    again = studio.post("tables", {"number": number, "rows": "12"})
    assert again[0] == 303 and again[1]["location"] == "tables" and studio.studio.state["rows"] == "900"
    for wrong in ("", "other"):
        assert studio.post("tables", {"number": wrong, "rows": "12"})[0] == 403
    assert studio.studio.state["rows"] == "900"
    numbers = FormNumbers()
    first = numbers.fresh()
    assert numbers.take(first) and not numbers.take(first)
    with pytest.raises(TurnedAway):
        numbers.take("other")


def test_every_answer_carries_every_header(studio):
    asked = [studio.get(name) for name in NAMES]
    asked += [studio.ask("GET", "/"), studio.ask("GET", studio.root), studio.ask("PUT", studio.root + "tables"),
              studio.ask("GET", studio.root + "tables", Host="x"), studio.post("tables", {"number": "x"}),
              studio.get("x" * 3000), studio.get("../../etc/passwd")]  # fmt: skip
    assert {status for status, *_ in asked} >= {200, 303, 401, 403, 404, 405, 414, 421}
    for _, headers, _ in asked:
        assert {name: headers.get(name) for name in HEADERS} == HEADERS and "server" not in headers
        policy = headers["content-security-policy"]
        for part in (
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "form-action 'self'",
            "base-uri 'none'",
        ):
            assert part in policy
        assert "unsafe" not in policy and "*" not in policy and "data:" not in policy
    assert alone("/", inner=answers)[1][b"cache-control"] == b"no-store"


@pytest.mark.parametrize(
    "path",
    ["..", "../", "%2e%2e/", "..%2f", "%00", "tables%00", "a/b", "//", "tables/../../x", ".%2e/etc/passwd", "\\..\\"],
)
def test_no_path_is_taken(studio, path):
    assert studio.get(path)[0] in (401, 404)


def test_numbers_in_queries_are_measured_before_they_are_read(studio):
    studio.plan()
    assert studio.get(f"noise?epsilon={'9' * 5000}")[0] == 414
    assert studio.get(f"noise?epsilon={'9' * 100}")[0] == 400
    for text in ("1e100000000", "-1", "0", "nan", "inf", "x", "1,5", "%3Cimg%20src=x%3E"):
        status, _, page = studio.get(f"noise?epsilon={text}")
        assert status == 400 and "<img" not in page
    assert studio.get("noise?place=9999999999&epsilon=0.5&was=0.5")[0] == 200
    assert studio.get("noise?place=x&epsilon=0.5&was=0.5")[0] == 400
    assert (
        studio.post("question", {**ASKED, "mean": ["999"], "count": ""})[0] == 303
    )  # no such column, and the rest stands
    assert studio.post("question", {**ASKED, "protect": "999"})[0] == 400
    assert studio.post("question", {**ASKED, "condition": "x" * 3000})[0] == 400
    walked = {"kind": "sequences", "user": "0", "order": "1", "state": "2", "top": "1"}
    fields = (HIDDEN, "tolerance"), (HIDDEN, "counted"), *((walked, name) for name in ("user", "order", "state", "top"))
    for asked, field in fields:
        for text in ("9" * 3000, "1e100000000", "../x", "<img src=x>"):
            status, _, page = studio.post("question", {**asked, field: text})
            assert status == 400 and "<img" not in page, (field, text)
    for field in ("counted_state", "cuts", "length"):
        assert studio.post("question", {**walked, field: "9" * 3000})[0] == 400


def test_a_body_is_counted_while_it_comes():
    def sized(kind, size, parts):
        room = Guard(reads, 4000)
        cookie = (b"cookie", f"fugu={room._cookie}".encode())
        body = [b"x" * (size // parts) for _ in range(parts)]
        headers = (cookie, (b"origin", room.origin.encode()), (b"content-type", kind))
        return alone(f"/{room.room}/check", *headers, method="POST", body=body, door=room)[0]

    assert sized(FORM.encode(), guard.FORM - 10, 10) == 200
    assert sized(FORM.encode(), guard.FORM + 20, 10) == 413
    assert sized(b"multipart/form-data; boundary=x", 4 * FILE, 40) == 200
    assert sized(b"multipart/form-data; boundary=x", 5 * FILE, 40) == 413


def test_a_gigabyte_is_not_read(studio):
    link, sent = socket.create_connection(("127.0.0.1", studio.port)), 0
    head = (f"POST {studio.root}check HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nCookie: {studio.cookie}\r\n"
            f"Origin: {studio.guard.origin}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            "Transfer-Encoding: chunked\r\n\r\n")  # fmt: skip
    link.sendall(head.encode())
    first = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.json"\r\n\r\n'
    link.sendall(b"%x\r\n%s\r\n" % (len(first), first))
    piece = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
    link.settimeout(20)
    with suppress(OSError):  # the door is shut on it
        while sent < 2**30:
            link.sendall(piece)
            sent += 2**20
    link.close()
    assert sent < 100 * 2**20
    assert studio.get("check")[0] == 200


def test_five_megabytes_a_file_and_four_files(studio):
    assert studio.upload([("a.json", b" " * (FILE + 1))])[0] == 413
    assert studio.upload([(f"{k}.json", b"{}") for k in range(5)])[0] == 400
    assert studio.upload([], name="check", **{"Content-Type": "multipart/form-data"})[0] == 400


def test_what_fails_inside_says_its_kind_and_nothing_else():
    async def broken(scope, receive, send):
        raise ValueError("the cell of Ada")

    door = Guard(broken, 4000)
    cookie = (b"cookie", f"fugu={door._cookie}".encode())
    status, _, text = alone(f"/{door.room}/tables", cookie, door=door)
    assert status == 500 and "Ada" not in text and "ValueError" in text


def test_it_ends_when_nobody_asks(tmp_path, monkeypatch):
    left = Guard(answers, 4000)
    left.seen -= guard.IDLE + 1
    assert left.idle
    folder = tables(tmp_path)
    with running(state_of(folder), None) as client:
        client.enter()
        assert client.get("tables")[0] == 200
        desk = client.studio.desk._process
        client.guard.seen -= guard.IDLE + 1
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", client.port), 1).close()
                time.sleep(0.1)
            except OSError:
                break
        else:
            raise AssertionError("the port is open still")
        assert desk.wait(60) is not None
    door = Guard(answers, 4000, lambda: True)
    door.seen -= guard.IDLE + 1
    assert not door.idle  # while a release runs


def test_a_socket_is_not_opened(studio):
    link = http.client.HTTPConnection("127.0.0.1", studio.port)
    link.request("GET", studio.root + "tables", headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Cookie": studio.cookie,
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "https://evil.example"})  # fmt: skip
    with link.getresponse() as found:
        assert found.status != 101
    link.close()


def test_the_web_process_has_nothing_that_reads_tables():
    code = "import sys, json; import fugu.studio.app; print(json.dumps(sorted(sys.modules)))"
    names = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert not {name for name in names if name.split(".")[0] in ("numpy", "scipy", "duckdb", "narwhals", "flint")}
    assert {name for name in names if name.startswith("fugu.")} <= {
        "fugu._version", "fugu.errors", "fugu.lazily", "fugu.studio", "fugu.studio.app",
        "fugu.studio.guard", "fugu.studio.jobs",
    }  # fmt: skip
