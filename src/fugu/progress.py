"""Progress of long work: silent by default, shown by whoever installs a reporter (the command line uses rich).

Work that a document from outside asks for can be given a time, after which it is refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fugu.errors import NotProvable

Reporter = Callable[[str, int, int], None]
"""Called with (what, done, total); done never decreases within one `what`, and a total of 0 is not known."""

_reporter: ContextVar[Reporter | None] = ContextVar("fugu_progress", default=None)
_until: ContextVar[float | None] = ContextVar("fugu_until", default=None)


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Send progress inside the block to `reporter`."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def report(what: str, done: int, total: int) -> None:
    """Say how far `what` has come."""
    reporter = _reporter.get()
    if reporter is not None:
        reporter(what, done, total)


def stage(what: str) -> None:
    """Say what is done now, where nobody knows how long it takes."""
    report(what, 0, 0)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the work inside the block this long; an earlier end that holds already stays."""
    now, known = time.monotonic(), _until.get()
    token = _until.set(now + seconds if known is None else min(known, now + seconds))
    try:
        yield
    finally:
        _until.reset(token)


def on_time() -> None:
    """NotProvable if the time is over: long loops look at the clock once a turn."""
    until = _until.get()
    if until is not None and time.monotonic() > until:
        raise NotProvable("the proof would take longer than it is given, so nothing is proved")
