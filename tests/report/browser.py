"""A headless Chromium, spoken to over its debugging pipe with the standard library alone.

It opens a file, pretends to be a phone, a dark screen or paper, and measures what is really drawn."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_WORDS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
          "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
          "--remote-debugging-pipe")  # fmt: skip
WHY_NOT = "no Chromium here; install it, or name it in FUGU_CHROMIUM"
_SECONDS = 60.0


def chromium():
    """The browser, or None."""
    named = os.environ.get("FUGU_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, _NAMES)), None)


_EXEC = """
import fcntl, os, sys
high = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
for number, end in zip((3, 4), high):
    os.dup2(end, number)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Becomes the browser, with its pipes under the numbers that it expects, whatever they were before."""


class Browser:
    """One browser with one open page; used in a `with` block, which ends the process."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="browser-")
        theirs, self.out = os.pipe()
        self.back, ours = os.pipe()
        command = [chromium(), *_WORDS, f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _EXEC, str(theirs), str(ours), *command],
            pass_fds=(theirs, ours), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs), os.close(ours)
        self.numbers, self.rest, self.events, self.session = itertools.count(1), b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        try:
            session, self.session = self.session, None
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired, RuntimeError):
            self.process.kill()
            self.process.wait(10)
        finally:
            self.session = session
            os.close(self.out), os.close(self.back)
            self.folder.cleanup()

    def call(self, method, **params):
        """Ask, and wait for the answer; what happens meanwhile is kept in `events`."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _SECONDS
        while True:
            found = self._next(until)
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return found["result"]
            self.events.append(found)

    def _next(self, until):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise RuntimeError("the browser does not answer")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width=1000, height=1400, dark=False, media="screen", scale=1.0):
        """Load a file, or an address, as such a device would, drawn so much larger; forgets what happened before."""
        self.events.clear()
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=scheme)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 700)  # fmt: skip
        loader = self.call("Page.navigate", url=path if isinstance(path, str) else path.as_uri())["loaderId"]
        until = time.monotonic() + _SECONDS
        while not self._loaded(loader):
            self.events.append(self._next(until))

    def _loaded(self, loader):
        """Whether this very page is loaded: the one before it may have been on its way as well."""
        begun = [n for n, event in enumerate(self.events) if event.get("method") == "Page.frameNavigated"
                 and event["params"]["frame"].get("loaderId") == loader]  # fmt: skip
        return begun and any(event.get("method") == "Page.loadEventFired" for event in self.events[begun[0] :])

    def run(self, script):
        """The value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"]["description"])
        return found["result"].get("value")

    @property
    def requests(self):
        """Addresses that were asked for since the page was opened."""
        asked = [event["params"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in asked]

    @property
    def complaints(self):
        """What the browser wrote to its console: errors, refused styles and scripts."""
        logs = [e["params"] for e in self.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown",
                                                                       "Runtime.consoleAPICalled")]  # fmt: skip
        return [log.get("entry", log).get("text", str(log)) for log in logs]

    def pdf(self):
        """The page on paper, as bytes."""
        found = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        return base64.b64decode(found["data"])

    def picture(self, path):
        """The whole page as an image, to look at."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))
