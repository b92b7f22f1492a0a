"""`fugu release`: what is asked goes through the one door of the library (`fugu.releasing`), and is shown."""

from __future__ import annotations

import hashlib
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import final

from fugu.checking.check import OWNER, Check
from fugu.cli.console import err, escape, note, present, progress, show, show_check, spoken_aside
from fugu.files import STREAM
from fugu.question import Question
from fugu.releasing.blocks import Block, Text
from fugu.releasing.dispatch import dispatched
from fugu.releasing.outcome import Forecast, Publication
from fugu.releasing.scenario_file import Booking, Delivery


def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish, or rehearse, what is asked, and show it.

    With `-o -` the published file goes to standard output as well, and what is said of it to stderr. The files lie in
    the working directory, under a name that the same command finds again: without them it could not be repeated."""
    terminal = Terminal(delivery.as_json)
    if delivery.output != STREAM:
        went = dispatched(question, books, delivery, terminal)
        _recognised(went, question)
        present(went, delivery.as_json, terminal.alarms)
        return
    same = hashlib.sha256(repr((question, books.data, books.request)).encode()).hexdigest()[:12]
    named, as_json = replace(delivery, output=f"release-{same}.csv"), delivery.as_json
    with spoken_aside(not as_json and not delivery.dry_run):
        went = dispatched(question, books, named, terminal)
        if isinstance(went, Publication):
            _recognised(went, question)
            text, files = went.files.published.read_text("utf-8"), went.files
            note(
                f"standard output is a copy of {files.published}; its certificate is {files.certificate}, its page "
                f"{files.page}; not for publication: {files.private}"
            )
            if as_json:
                went = replace(went, summary={**went.summary, "csv": text})
        present(went, as_json, terminal.alarms)
    if isinstance(went, Publication) and not as_json:
        sys.stdout.write(text)
        sys.stdout.flush()


def _recognised(went: Forecast, question: Question) -> None:
    """Whose numbers they are, where the table is one of many that may come by the same way."""
    if isinstance(went, Publication) and went.repeated and question.table == STREAM:
        note(
            f"these are the numbers of the first table called {went.summary['ledger']['data']!r}; another needs --data"
        )


@final
@dataclass(frozen=True)
class Terminal:
    """The listener of a command: what is said before a charge is printed at once, on stdout only if that is not kept
    for programs (`as_json`); the owner looks at the table where stderr is a terminal."""

    as_json: bool
    alarms: list[str] = field(default_factory=list)
    """What the owner saw that makes the numbers no use, whatever is said of their noise."""

    def hear(self, block: Block) -> None:
        """Print it."""
        if not self.as_json or (isinstance(block, Text) and block.beside and not block.stated):
            show([block])

    def look(self, seen: Check | str) -> bool:
        """Show it to whoever sits there. Elsewhere stderr is a log, which others read: all of it is kept in the private
        part."""
        if err.is_terminal:
            if isinstance(seen, str):
                err.print(f"[bold yellow]note[/]: {escape(seen)}; {escape(OWNER)}")
            else:
                show_check(seen)
                self.alarms.extend(seen.alarms)
        return err.is_terminal

    def working(self, what: str) -> AbstractContextManager[None]:
        """Bars on stderr."""
        return progress(what)
