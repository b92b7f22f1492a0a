"""`fugu release`: what is asked goes through the one door of the library (`fugu.releasing`), and is shown."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import final

from fugu.checking.check import OWNER, Check
from fugu.cli.console import err, escape, present, progress, show, show_check
from fugu.question import Question
from fugu.releasing.blocks import Block, Text
from fugu.releasing.dispatch import dispatched
from fugu.releasing.forms import Booking, Delivery


def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish, or rehearse, what is asked, and show it."""
    present(dispatched(question, books, delivery, Terminal(delivery.as_json)), delivery.as_json)


@final
@dataclass(frozen=True)
class Terminal:
    """The listener of a command: what is said before a charge is printed at once, on stdout only if that is not kept
    for programs (`as_json`); the owner looks at the table where stderr is a terminal."""

    as_json: bool

    def hear(self, block: Block) -> None:
        """Print it."""
        if not self.as_json or (isinstance(block, Text) and block.beside and not block.stated):
            show([block])

    def look(self, seen: Check | str) -> bool:
        """Show it to whoever sits there."""
        if err.is_terminal:
            if isinstance(seen, str):
                err.print(f"[bold yellow]note[/]: {escape(seen)}; {escape(OWNER)}")
            else:
                show_check(seen)
        return err.is_terminal

    def working(self, what: str) -> AbstractContextManager[None]:
        """Bars on stderr."""
        return progress(what)
