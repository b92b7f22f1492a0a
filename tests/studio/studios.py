"""A studio that really runs, in this process or one of its own, and a client without a browser."""

from __future__ import annotations

import http.client
import random
import re
import shutil
import threading
import time
import urllib.parse
from contextlib import contextmanager
from pathlib import Path

import fugu
from fugu.studio import app

CLINIC = Path(fugu.__file__).parent / "examples"
FORM = "application/x-www-form-urlencoded"
ASKED = {"protect": "4", "unit": "0", "kind": "statistics", "count": "on", "mean": ["5"], "histogram": ["3"], "by": "2"}
"""Counts, means and a histogram of the clinic, for each sex; the secret is who smokes."""


HIDDEN = {"kind": "property", "condition": "smoker=yes", "mean": ["5"], "counted": "sex=F"}
"""A mean and a count of the clinic that hide how many smoke."""
ENTRIES = {"kind": "sequences", "user": "0", "order": "1", "state": "2", "top": "2", "entries": ["histogram"],
           "length": "12"}  # fmt: skip
"""The most frequent places, and how many entries each has; see `diaries`."""


def diaries(folder):
    """A reference of sequences and a private table, in a folder; the private one has a mark in some cells."""
    for name, seed, users in (("last.csv", 1, 40), ("today.csv", 2, 30)):
        draw, lines = random.Random(seed), ["user,time,place"]
        for user in range(users):
            place = "home"
            for hour in range(12):
                shown = "Xenomarker" if name == "today.csv" and draw.random() < 0.02 else place
                lines.append(f"u{user},{hour},{shown}")
                place = draw.choices(("home", "work", "shop"), ((6, 3, 2), (3, 6, 2), (4, 3, 3))[len(place) % 3])[0]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def tables(folder):
    """The clinic's tables, in a folder."""
    for name in ("clinic_reference.csv", "clinic_today.csv"):
        shutil.copy(CLINIC / name, folder / name)
    return folder


def state_of(folder, **more):
    """What a studio is started with."""
    return {
        "checks": False, "out": str(folder / "out"), "reference": str(folder / "clinic_reference.csv"),
        "table": "clinic_today.csv", "ledger": str(folder / "ledger.db"), **more,
    }  # fmt: skip


@contextmanager
def running(state, table):
    """A client of a studio in a thread of this process."""
    made, told = {}, []
    whole = app.made

    def keep(*given):
        made["studio"], made["guard"] = whole(*given)
        return made["studio"], made["guard"]

    app.made = keep
    try:
        serving = threading.Thread(target=app.serve, args=(state, table, 0, False, told.append), daemon=True)
        serving.start()
        until = time.monotonic() + 20
        while not told and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        app.made = whole
    client = Client(made["studio"], made["guard"], told[0])
    try:
        yield client
    finally:
        made["guard"].seen = -1e9  # nobody has asked for a long time
        made["guard"].busy = bool
        serving.join(20)


class Client:
    """Speaks HTTP to a studio. `enter` uses the address up."""

    def __init__(self, studio, guard, address):
        self.studio, self.guard, self.address, self.cookie = studio, guard, address, ""
        self.port, self.root = guard.port, f"/{guard.room}/"

    def ask(self, method, path, body=None, **headers):
        """Status, headers, and the body as text."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        told = {name.replace("_", "-"): text for name, text in headers.items() if text is not None}
        link.putrequest(method, path, skip_host="Host" in told, skip_accept_encoding=True)
        for name, text in told.items():
            link.putheader(name, text)
        if body is not None and "Content-Length" not in told:
            link.putheader("Content-Length", str(len(body)))
        link.endheaders(body)
        found = link.getresponse()
        text = found.read().decode("utf-8", "replace")
        link.close()
        return found.status, {name.lower(): value for name, value in found.getheaders()}, text

    def enter(self):
        """Come in by the address."""
        status, headers, _ = self.ask("GET", urllib.parse.urlsplit(self.address).path)
        assert status == 303 and headers["location"] == self.root
        self.cookie = headers["set-cookie"].partition(";")[0]
        return self

    def get(self, name, **headers):
        """A screen."""
        return self.ask("GET", self.root + name, **{"Cookie": self.cookie, **headers})

    def number(self, name="tables"):
        """The number of a form."""
        return re.search(r'name="number" value="([^"]+)"', self.get(name)[2])[1]

    def post(self, name, fields=(), **headers):
        """A form of a screen, with a number of its own unless one is given."""
        told = dict(fields)
        told.setdefault("number", self.guard.numbers.fresh())
        body = urllib.parse.urlencode(told, doseq=True).encode()
        sent = {"Cookie": self.cookie, "Origin": self.guard.origin, "Content-Type": FORM, **headers}
        return self.ask("POST", self.root + name, body, **sent)

    def upload(self, files, fields=(), name="check", **headers):
        """Files for the officer's screen, as a browser sends them."""
        mark, told = "fugu-test", {"number": self.guard.numbers.fresh(), **dict(fields)}
        body = b"".join(
            f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{text}\r\n'.encode()
            for key, text in told.items()
        )
        for file, content in files:
            head = f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="{file}"\r\n'
            body += head.encode() + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n"
        body += f"--{mark}--\r\n".encode()
        sent = {"Cookie": self.cookie, "Origin": self.guard.origin, **headers}
        return self.ask(
            "POST", self.root + name, body, **{"Content-Type": f"multipart/form-data; boundary={mark}", **sent}
        )

    def wait(self, seconds=120):
        """Until nothing goes on."""
        until = time.monotonic() + seconds
        while self.studio.busy:
            assert time.monotonic() < until, "it takes too long"
            time.sleep(0.05)

    def plan(self, rows="900", asked=ASKED, **more):
        """As far as the screen to sign."""
        for name, fields in (
            ("tables", {"rows": rows}),
            ("question", {**asked, **more}),
            ("noise", {"epsilon": "0.5"}),
        ):
            status, _, text = self.post(name, fields)
            assert status == 303, text[:3000]
        return self

    def sign(self):
        """The plan, signed."""
        ticks = re.findall(r'name="assumed" value="(\d+)"', self.get("sign")[2])
        status, _, text = self.post("sign", {"assumed": ticks, "person": "Ada", "role": "steward", "answer": "on"})
        assert status == 303, text[:3000]
        return self

    def release(self):
        """The plan, released."""
        assert self.post("release")[0] == 303
        self.wait()
        return self
