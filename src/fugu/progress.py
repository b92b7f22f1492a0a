"""Progress of long work: silent by default, shown by whoever installs a reporter (the command line uses rich)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Reporter = Callable[[str, int, int], None]
"""Called with (what, done, total); done never decreases within one `what`."""

_reporter: ContextVar[Reporter | None] = ContextVar("fugu_progress", default=None)


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
