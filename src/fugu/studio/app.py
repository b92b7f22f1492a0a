"""The web process of the studio: pages are asked of a process beside it, forms are handed to it, long work is begun and
watched. It imports nothing of fugu that reads a table, and tells nobody but the release and its owner's look where the
private one is."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any, final

import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, Router

from fugu.studio.guard import FILE, FILES, FORM, Guard, TurnedAway
from fugu.studio.jobs import Child, Job, Json

SCREENS = ("tables", "question", "noise", "improve", "sign", "release", "ledger", "check", "zip", "export")
_SHOWS, _CHECKS, _LOOKS, _WORKS, _RELEASES = 60.0, 30.0, 120.0, 600.0, 3600.0
"""Seconds that a screen, a check, a look, a search and a release may take."""
KEPT = 300.0
"""Seconds for which the owner sees what was seen of the private table."""
PRIVATE = ("release", "look")
"""Work that is told where the private table is."""
_TIMES = {"release": _RELEASES, "look": _LOOKS, "check": _CHECKS, "help": _WORKS}
_FIELDS = 400


class _InMemory(MultiPartParser):
    """Files that are handed in stay in memory: none of them is written to a disk."""

    spool_max_size = 2 * FILE


@final
class Studio:
    """What one run knows: the plan that is being made, and the work that is going on. `table`: where the private table
    lies; nothing here opens it."""

    def __init__(self, state: Json, table: str | None) -> None:
        self.state, self.table = state, table
        self.desk, self.job = Child("desk"), dict[str, Job]()
        self.numbers: Any = None
        self._line, self._latest, self._first = threading.Lock(), 0, threading.Lock()
        self._files: dict[str, tuple[bytes, str]] = {}
        self._clock: threading.Timer | None = None

    @property
    def busy(self) -> bool:
        """Whether something is going on."""
        return any(job.running for job in self.job.values())

    def begin(self) -> None:
        """What the desk finds where the plan and the release lie comes before everything that is asked for; it takes as
        long as its imports, once."""
        with self._first:
            if self._files:
                return
            found = self.desk.ask({"do": "begin", "state": dict(self.state)}, _SHOWS)
            self.state |= found.get("state", {})
            files = found.get("files", {}).items()
            self._files = {name: (base64.b64decode(text), kind) for name, (text, kind) in files}

    def close(self) -> None:
        """End what is going on, but for a release: that comes to its end by itself."""
        for job in self.job.values():
            if job.kind != "release":
                job.stop()
        self.desk.stop()
        self.desk.close()

    # What is asked for.

    async def home(self, request: Request) -> Response:
        """The first screen."""
        del request
        await run_in_threadpool(self.begin)
        return _to("check" if self.state["checks"] else self.state.get("at", "tables"))

    async def asset(self, request: Request) -> Response:
        """The style sheet, the script and the icon."""
        await run_in_threadpool(self.begin)
        content, kind = self._files[PurePath(request.url.path).name]
        return Response(content, media_type=kind)

    async def show(self, request: Request) -> Response:
        """A screen, or the part of it that moves."""
        name = PurePath(request.url.path).name
        query = {key: request.query_params.getlist(key) for key in request.query_params}
        self._latest += 1
        return await run_in_threadpool(self._shown, name, query, self._latest if "part" in query else 0)

    def _shown(self, name: str, query: dict[str, list[str]], turn: int) -> Response:
        self.begin()
        with self._line:
            if turn and turn != self._latest:
                return Response(status_code=204)  # somebody has asked for a newer one since
            told = {"name": name, "query": query, "state": dict(self.state), "number": self.numbers.fresh()}
            jobs = {
                kind: {"what": job.what, "stage": job.stage, "done": job.part[0], "of": job.part[1]}
                for kind, job in self.job.items() if job.running
            }  # fmt: skip
            return _answered(self.desk.ask({"do": "show", **told, "jobs": jobs}, _SHOWS))

    async def take(self, request: Request) -> Response:
        """A form: what follows from it is done once, and then looked at."""
        name = PurePath(request.url.path).name
        form, files = await _read(request)
        if not self.numbers.take(next(iter(form.get("number", [""])))):
            return _to(name)
        return await run_in_threadpool(self._taken, name, form, files)

    def _taken(self, name: str, form: dict[str, list[str]], files: list[tuple[str, str]]) -> Response:
        self.begin()
        if "stop" in form:
            for kind in form["stop"]:
                if kind in self.job and kind != "release":
                    self.job[kind].stop()
            return _to(name)
        if "release" in self.job and self.job["release"].running and name not in ("ledger", "check"):
            return _to("release")  # what is going out is not changed under way
        told = {"name": name, "form": form, "state": dict(self.state), "number": self.numbers.fresh()}
        with self._line:
            answer = self.desk.ask({"do": "take", **told}, _SHOWS)
            self.state |= answer.get("state", {})
            for kind, begun in answer.get("begin", {}).items():
                self._begin(kind, {**begun, **({"files": files} if kind == "check" else {})})
        return _answered(answer)

    def _begin(self, kind: str, asked: Json) -> None:
        """Begin some work, unless the same kind is going on."""
        if kind in self.job and self.job[kind].running:
            return
        if kind in PRIVATE:
            asked = {**asked, "table": self.table}
        self.state.pop(kind, None)
        self.job[kind] = Job(str(asked.pop("what")), kind, asked, _TIMES[kind], partial(self._ended, kind))

    def _ended(self, kind: str, answer: Json) -> None:
        self.state[kind] = answer
        if kind == "release" and "files" in answer:
            self.state["went"] = True
        if kind == "look":
            if self._clock is not None:
                self._clock.cancel()
            self._clock = threading.Timer(KEPT, self.state.pop, (kind, None))
            self._clock.daemon = True
            self._clock.start()

    def routes(self) -> Router:
        """The room: every screen is shown, and takes its form."""
        named = [Route(f"/{name}", self.show, methods=["GET"]) for name in SCREENS]
        named += [Route(f"/{name}", self.take, methods=["POST"]) for name in SCREENS]
        named += [Route(f"/{name}", self.asset, methods=["GET"]) for name in ("studio.css", "studio.js", "icon.svg")]
        return Router([Route("/", self.home, methods=["GET"]), *named], redirect_slashes=False)


def _to(name: str) -> Response:
    return RedirectResponse(name, status_code=303)


def _answered(answer: Json) -> Response:
    """A page, a file or a way on; what was refused in words of the library is a sentence."""
    if "to" in answer:
        return _to(answer["to"])
    if "html" in answer:
        return Response(answer["html"], answer.get("status", 200), media_type="text/html")
    if "file" in answer:
        headers = {"content-disposition": f'attachment; filename="{answer["name"]}"'}
        kind = f"application/{answer['name'].rpartition('.')[2]}"
        return Response(base64.b64decode(answer["file"]), media_type=kind, headers=headers)
    raise TurnedAway(answer.get("status", 500), str(answer.get("refused", "there is no answer")))


async def _read(request: Request) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The fields of a form, and the files that came with it as (name, base64): counted while they are read."""
    try:
        if request.headers["content-type"].startswith("multipart/"):
            parser = _InMemory(
                request.headers, request.stream(), max_files=FILES, max_fields=_FIELDS, max_part_size=FORM
            )
            given: FormData = await parser.parse()
        else:
            given = await FormParser(request.headers, request.stream()).parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise TurnedAway(400, f"the form cannot be read; {FILES} files at most") from error
    form: dict[str, list[str]] = {}
    files = []
    for key, value in given.multi_items():
        if not isinstance(value, UploadFile):
            form.setdefault(key, []).append(value)
            continue
        content = await value.read(FILE + 1)
        await value.close()
        if len(content) > FILE:
            raise TurnedAway(413, f"a file is larger than {FILE // 1_000_000} MB; check it with fugu verify")
        if value.filename:
            files.append((value.filename, base64.b64encode(content).decode()))
    return form, files


# The run.


def made(state: Json, table: str | None, port: int) -> tuple[Studio, Guard]:
    """A studio and its door."""
    studio = Studio(state, table)
    routes: Any = None

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        await routes(scope, receive, send)

    guard = Guard(inner, port, lambda: studio.busy)
    studio.numbers = guard.numbers
    routes = Router([Mount(f"/{guard.room}", studio.routes())], redirect_slashes=False)
    return studio, guard


def serve(state: Json, table: str | None, port: int, browser: bool, said: Callable[[str], None]) -> None:
    """Listen on 127.0.0.1 until nobody has asked for a long time, or Ctrl-C. `said` is told the address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    studio, guard = made(state, table, listener.getsockname()[1])
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = uvicorn.Server(uvicorn.Config(
        guard, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="off", ws="none",
        http="h11", loop="asyncio", proxy_headers=False, timeout_keep_alive=5, limit_concurrency=64,
        h11_max_incomplete_event_size=16_384, timeout_graceful_shutdown=2,
    ))  # fmt: skip

    async def run() -> None:
        watching = asyncio.create_task(watch())
        await server.serve([listener])
        watching.cancel()

    async def watch() -> None:
        while not guard.idle:
            await asyncio.sleep(1)
        server.should_exit = True

    threading.Thread(target=studio.begin, daemon=True).start()
    said(guard.address)
    if browser:
        threading.Thread(target=webbrowser.open, args=(guard.address,), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(run())
    finally:
        studio.close()
        listener.close()
