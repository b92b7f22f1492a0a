"""Progress of long work: bars on a terminal, for commands and for sessions in Python; elsewhere it is silent.

Work that a document from outside asks for can be given a time, after which it is refused."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from fugu.errors import OutOfTime
from fugu.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

BLINK, PATIENCE = 0.4, 60.0
"""Seconds of work before progress is shown; and before a line says so where there is no terminal, then twice as many
before the next one."""
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
    """Say how far `what` has come; what is late ends here (`on_time`)."""
    on_time()
    reporter = _reporter.get()
    if reporter is not None:
        reporter(what, done, total)


def stage(what: str) -> None:
    """Say what is done now, where nobody knows how long it takes."""
    report(what, 0, 0)


@contextmanager
def bars(console: Console, what: str, blink: float) -> Iterator[None]:
    """Show progress reports inside the block as bars that vanish when done, or elsewhere in a line now and then.

    Work that reports nothing, or only which stage it is at, has a bar that moves and its time, under the name `what`
    or that of the stage. What is done within a `blink` (seconds) shows nothing."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TimeElapsedColumn(),
    )
    alone = not console.is_terminal
    shown = Progress(*columns, console=console, transient=True, disable=alone)
    at_work = shown.add_task(visible(what), total=None, share="")
    tasks: dict[str, TaskID] = {}

    def show(name: str, done: int, total: int) -> None:
        new = total <= 0 or name not in tasks
        if total <= 0:
            shown.update(at_work, description=visible(name))
        else:
            if new:
                tasks[name] = shown.add_task(visible(name), total=total, share="")
            shown.update(tasks[name], completed=done, total=total, share=f"{100 * done / total:>3.0f} %")
        if new:
            shown.refresh()

    begin = threading.Timer(blink, shown.start)
    begin.daemon = True
    ended = threading.Event()

    def tell() -> None:
        wait = PATIENCE
        while not ended.wait(wait):
            wait *= 2
            console.print(f"still at work: {shown.tasks[-1].description}", markup=False, soft_wrap=True)

    if alone:
        threading.Thread(target=tell, daemon=True).start()
    if blink > 0:
        begin.start()
    else:
        shown.start()
    try:
        with reporting(show):
            yield
    finally:
        ended.set()
        begin.cancel()
        if begin.ident is not None:
            begin.join()
        shown.stop()


@contextmanager
def in_sight(what: str) -> Iterator[None]:
    """Show the progress of the block on a terminal, unless somebody shows it already: for work called from Python."""
    if _reporter.get() is not None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with bars(Console(stderr=True, highlight=False, emoji=False), what, BLINK):
        yield


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Give the work inside the block this long; an earlier end that holds already stays.

    What is late raises `OutOfTime`, or says so of each part that was not done: a row of `compare`, a lever of `usable`.
    Nothing is taken for refuted that was not worked out; what is charged is drawn and written to the end."""
    now, known = time.monotonic(), _until.get()
    token = _until.set(now + seconds if known is None else min(known, now + seconds))
    try:
        yield
    finally:
        _until.reset(token)


@contextmanager
def unhurried() -> Iterator[None]:
    """Let the work inside the block take its time: what was charged is drawn and written to the end."""
    token = _until.set(None)
    try:
        yield
    finally:
        _until.reset(token)


def on_time() -> float:
    """The seconds that are left, infinite where nobody set an end; `OutOfTime` if the time is over. Long loops look at
    the clock once a turn, and so does whatever reports how far it is."""
    until = _until.get()
    left = math.inf if until is None else until - time.monotonic()
    if left < 0:
        raise OutOfTime("it would take longer than it is given, so nothing is proved")
    return left
