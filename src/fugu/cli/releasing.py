"""`fugu release`: what is asked goes through the one door of the library (`fugu.releasing`), and is shown."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import final

from fugu.checking.check import HEAD, OUTSIDE, OWNER, Check
from fugu.cli.console import err, escape, grid, note, out, print_json, progress, say, spoken, usable_table, warn
from fugu.question import Question
from fugu.releasing.blocks import CAUTION, LOUD, NOTE, Block, Listing, Text
from fugu.releasing.dispatch import dispatched
from fugu.releasing.forms import Booking, Delivery
from fugu.releasing.outcome import Forecast
from fugu.utility.usable import Usable


def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """Publish, or rehearse, what is asked, and show it."""
    present(dispatched(question, books, delivery, Terminal(delivery.as_json)), delivery.as_json)


def present(went: Forecast, as_json: bool) -> None:
    """What became of it, for programs or for people."""
    if as_json:
        print_json(went.to_json())
    else:
        show(went.blocks)


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


def show(blocks: Iterable[Block]) -> None:
    """What a release says, on the screen."""
    for block in blocks:
        match block:
            case Listing(title, columns, left, rows):
                out.print(grid(title, columns, left, rows=rows))
            case Usable():
                out.print(usable_table(block))
            case Text(text, tone) if tone == LOUD:
                err.print(f"[bold red]warning[/]: {escape(text)}", soft_wrap=not err.is_terminal)
            case Text(text, tone) if tone == NOTE:
                note(text)
            case Text(text, tone) if tone == CAUTION:
                warn([text])
            case Text(text, strong="", soft=soft, formal=formal):
                say(text.replace("{}", spoken(formal).strip()) if formal else text, soft_wrap=soft)
            case Text(text, strong=strong):
                out.print(f"[bold]{escape(strong)}[/]{escape(text)}")


_SHOWN = 40  # columns that are shown; of more, those first in which something was not read as it stands


def show_check(seen: Check) -> None:
    """The check on the owner's terminal: a table, what to look at, what is likely behind it."""
    rich = grid(f"How the {seen.records:,} records were read ({OWNER})", HEAD, HEAD[:1])
    lines = sorted(seen.cells(), key=lambda line: line[1] == line[2] and not line[5])
    for line in lines[:_SHOWN]:
        rich.add_row(escape(line[0]), *(f"{count:,}" for count in line[1:]))
    err.print(rich)
    if len(lines) > _SHOWN:
        err.print(f"and {len(lines) - _SHOWN} more columns; --json has all")
    for said in seen.alarms:
        err.print(f"[bold red]look at[/] {escape(said)}")
    for said in seen.causes:
        err.print(f"[bold yellow]note[/]: {escape(said)}")
    err.print(escape(OUTSIDE), style="dim")
