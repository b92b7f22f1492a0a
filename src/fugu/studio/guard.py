"""`Guard`: who may speak to the studio, and what every answer carries. All of it is decided before anything is routed.

Whoever opens the address that `fugu studio` prints, once and within a minute, gets a cookie that is sent to no other
path, and is led to that path, which nobody can guess; both are needed from then on. A cookie of 127.0.0.1 goes to every
port of it, one with a path that others do not know goes nowhere else. What changes anything must come from a page of
the studio itself."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any, final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FRESH, IDLE, PATIENCE = 60.0, 1800.0, 30.0
"""Seconds: that a code is good, after which an idle studio ends, that are waited for the next piece of a body."""
QUERY, FORM, FILE, FILES = 2_000, 200_000, 5_000_000, 4
"""The most: characters of an address, bytes of a form, bytes of a file that is handed in, how many files."""
_COOKIE = "fugu"
_PATH = re.compile(r"/[A-Za-z0-9_-]+/[a-z]*(\.[a-z]+)?")
_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data")


class TurnedAway(Exception):
    """A request that is not answered as it was meant: the status, and why in a sentence."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


@final
class FormNumbers:
    """The numbers of forms: each is good once, and only the last ones are known."""

    MOST = 4_000

    def __init__(self) -> None:
        self._open: dict[str, bool] = {}

    def fresh(self) -> str:
        """A number for a form."""
        number = secrets.token_urlsafe(18)
        self._open[number] = True
        while len(self._open) > self.MOST:
            del self._open[next(iter(self._open))]
        return number

    def take(self, number: str) -> bool:
        """Whether a form comes for the first time; `TurnedAway` for a number that is not one of these."""
        if number not in self._open:
            raise TurnedAway(403, "this form is not of this run of the studio: open the page anew, and send it again")
        first, self._open[number] = self._open[number], False
        return first


@final
@dataclass(eq=False)
class Guard:
    """An application behind a door. `port`: where it listens, on 127.0.0.1; `inner`: what answers those who may ask;
    `busy`: whether something runs that nobody waits for, so that the studio does not end."""

    inner: App
    port: int
    busy: Callable[[], bool] = bool
    room: str = field(default_factory=lambda: secrets.token_urlsafe(24))

    def __post_init__(self) -> None:
        self.numbers = FormNumbers()
        self._code: str | None = secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(32)
        self._until, self.seen = time.monotonic() + FRESH, time.monotonic()

    @property
    def origin(self) -> str:
        """What a page of this studio says it is from."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """What is opened in a browser, once."""
        return f"{self.origin}/{self._code}/"

    @property
    def idle(self) -> bool:
        """Whether nobody has asked for anything for a long time."""
        if self.busy():
            self.seen = time.monotonic()
        return time.monotonic() - self.seen > IDLE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # no sockets: a server that is asked for one closes it
        begun, inside = False, False

        async def sent(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                ours = {name.lower() for name, _ in self._headers()}
                kept = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in ours]
                message = {**message, "headers": [*kept, *self._headers(), *(self._turn() if inside else ())]}
            await send(message)

        try:
            leads = self._admitted(scope)
            if leads is not None:
                await _answer(sent, 303, "", leads)
                return
            self.seen, inside = time.monotonic(), True
            await self.inner(scope, _limited(scope, receive), sent)
        except TurnedAway as refused:
            if not begun:
                await _answer(sent, refused.status, refused.why, [(b"connection", b"close")])
        except Exception as error:  # what a library says may name a cell
            if not begun:
                await _answer(sent, 500, f"the studio failed ({type(error).__name__})", [(b"connection", b"close")])

    def _admitted(self, scope: Scope) -> list[tuple[bytes, bytes]] | None:
        """None for a request of the one who may ask; headers, for who comes in now; `TurnedAway` for all others."""
        told = _Headers(scope["headers"])
        if told.only("host") != f"127.0.0.1:{self.port}":
            raise TurnedAway(421, "this is not the address of the studio")
        path = bytes(scope["raw_path"]).decode("latin-1")
        if len(path) + len(scope.get("query_string", b"")) > QUERY:
            raise TurnedAway(414, "the address is too long")
        if scope["method"] not in ("GET", "POST"):
            raise TurnedAway(405, "a page is asked for with GET, a form is sent with POST")
        if not _PATH.fullmatch(path):
            raise TurnedAway(404, "there is no such page")
        room = path.split("/")[1]
        if self._code is not None and _same(room, self._code) and scope["method"] == "GET":
            return self._entered()
        if not _same(room, self.room) or not _same(told.cookie(_COOKIE), self._cookie):
            raise TurnedAway(401, "the studio knows you by the address that it printed; start it again for a new one")
        if told.only("sec-fetch-site") not in ("", "same-origin", "none"):
            raise TurnedAway(403, "this was asked for by a page of somebody else")
        if scope["method"] == "POST":
            if told.only("origin") != self.origin:
                raise TurnedAway(403, "a form must come from a page of the studio")
            if told.only("content-type").partition(";")[0] not in _TYPES:
                raise TurnedAway(415, "this is not a form")
        return None

    def _entered(self) -> list[tuple[bytes, bytes]]:
        """What leads whoever came by the code to the room; the code is used up, in time or not."""
        self._code = None
        if time.monotonic() > self._until:
            raise TurnedAway(401, "the address is good for a minute; start the studio again for a new one")
        kept = f"{_COOKIE}={self._cookie}; Path=/{self.room}/; HttpOnly; SameSite=Strict"
        return [(b"location", f"/{self.room}/".encode()), (b"set-cookie", kept.encode())]

    def _turn(self) -> Iterable[tuple[bytes, bytes]]:
        """A cookie that is another one in every answer: a browser keeps a page with no-store for its Back button only
        as long as no cookie that scripts cannot see has changed."""
        yield b"set-cookie", f"turn={secrets.token_urlsafe(6)}; Path=/{self.room}/; HttpOnly; SameSite=Strict".encode()

    def _headers(self) -> Iterable[tuple[bytes, bytes]]:
        """What every answer carries. Nobody else is told where a request came from; with no-referrer a browser would
        not say the origin of the studio's own forms either."""
        policy = (
            b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
            b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
        return (
            (b"content-security-policy", policy), (b"cache-control", b"no-store"),
            (b"cross-origin-opener-policy", b"same-origin"), (b"cross-origin-resource-policy", b"same-origin"),
            (b"referrer-policy", b"same-origin"), (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
        )  # fmt: skip


class _Headers:
    """The headers of a request; one that is there twice counts as none."""

    def __init__(self, given: Iterable[tuple[bytes, bytes]]) -> None:
        self._given: dict[str, list[str]] = {}
        for name, value in given:
            self._given.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def only(self, name: str) -> str:
        found = self._given.get(name, [])
        return found[0] if len(found) == 1 else "" if not found else "twice"

    def cookie(self, name: str) -> str:
        try:
            found = SimpleCookie("; ".join(self._given.get("cookie", []))).get(name)
        except CookieError:
            return ""
        return "" if found is None else found.value


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _limited(scope: Scope, receive: Receive) -> Receive:
    """What receives the body of a request: never more of it than a form may have, counted as it comes, nor longer."""
    told, taken = _Headers(scope["headers"]), 0
    most = FILES * FILE + FORM if told.only("content-type").startswith(_TYPES[1]) else FORM

    async def received() -> Message:
        nonlocal taken
        try:
            message = await asyncio.wait_for(receive(), PATIENCE)
        except TimeoutError:
            raise TurnedAway(408, "the form did not come to an end") from None
        taken += len(message.get("body", b""))
        if taken > most:
            raise TurnedAway(413, f"this is too large: {FILES} files of {FILE // 1_000_000} MB at most")
        return message

    return received


async def _answer(send: Send, status: int, why: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = why.encode()
    plain = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*plain, *headers]})
    await send({"type": "http.response.body", "body": body})
