"""What a release says to people, as data: lines, tables, warnings, notes. Who shows them decides how they look; a
`Listener` hears, before anything is charged, what is good to know then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, final

from fugu.progress import in_sight

if TYPE_CHECKING:
    from fugu.checking.check import Check
    from fugu.utility.usable import Usable


RESULT, NOTE, LOUD, CAUTION = "result", "note", "loud", "caution"
"""A line of the result; what is good to know beside it; what must not be overlooked, beside it and of it."""


@final
@dataclass(frozen=True)
class Text:
    """What is said in words: its beginning, `strong`, and the rest. `soft`: shown on one line however long; `formal`:
    what stands for {} in the text, in the words of a certificate, which the reader may know by other names; `stated`:
    the JSON of the result says it too."""

    text: str
    tone: str = RESULT
    strong: str = ""
    soft: bool = False
    formal: str = ""
    stated: bool = False

    @property
    def beside(self) -> bool:
        """Whether it is no part of the result."""
        return self.tone in (NOTE, LOUD)


@final
@dataclass(frozen=True)
class Listing:
    """A table: numbers, but for the columns on the `left`."""

    title: str | None
    columns: Sequence[str]
    left: Sequence[str]
    rows: Sequence[Sequence[object]]


Block: TypeAlias = "Text | Listing | Usable"


def sentences(texts: Iterable[str], tone: str = RESULT) -> Iterator[Text]:
    """Each text as a sentence of this tone."""
    return (Text(text, tone) for text in texts)


def quoted(promise: Iterable[str]) -> Iterator[Text]:
    """The promise: what every output begins with, and the only epsilons to quote."""
    return (Text("", strong=text) for text in promise)


def label_warnings(path: Path, columns: Mapping[str, Any]) -> Iterator[Text]:
    """Which columns of a file hold labels that a spreadsheet would run, or that a terminal would obey."""
    from fugu.data.files import formula_columns, hidden_columns

    unseen = (
        "labels with characters that cannot be seen (of control or direction), which a terminal obeys; they are "
        "spelled out in the file: declare other labels"
    )
    run = "labels that begin with = + - or @, which spreadsheets run as formulas; import it as text"
    for found, why in ((hidden_columns(columns), unseen), (formula_columns(columns), run)):
        if found:
            yield Text(f"column {', '.join(map(repr, found))} of {str(path)!r} has {why}", LOUD)


class Listener(Protocol):
    """Who is told things before a charge, while nothing of the private table is out yet."""

    def hear(self, block: Block) -> None:
        """What is said now: nothing of it depends on the private table."""

    def look(self, seen: Check | str) -> bool:
        """What the owner of the open table sees of it, or why that failed; whether anybody was there to see it."""

    def working(self, what: str) -> AbstractContextManager[None]:
        """A block of long work, whose progress may be shown."""


@final
@dataclass
class Notes:
    """The listener of a call from Python, which prints nothing: `texts` go with the result; the owner looks at the
    private part."""

    texts: list[str] = field(default_factory=list)

    def hear(self, block: Block) -> None:
        """Keep what is said in words."""
        if isinstance(block, Text) and block.beside:
            self.texts.append(block.text)

    def look(self, seen: Check | str) -> bool:
        """Nobody looks now."""
        del seen
        return False

    def working(self, what: str) -> AbstractContextManager[None]:
        """Bars on a terminal, as for all work that is called from Python."""
        return in_sight(what)
