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


@final
@dataclass(frozen=True)
class Line:
    """A sentence: its beginning, `strong`, and the rest. `soft`: shown on one line however long; `formal`: what
    stands for {} in the text, in the words of a certificate, which the reader may know by other names."""

    text: str
    strong: str = ""
    soft: bool = False
    formal: str = ""


@final
@dataclass(frozen=True)
class Note:
    """What is good to know beside the result; `loud`: what must not be overlooked; `stated`: its JSON says it too."""

    text: str
    loud: bool = False
    stated: bool = False


@final
@dataclass(frozen=True)
class Caution:
    """What must not be overlooked, of the result itself."""

    text: str


@final
@dataclass(frozen=True)
class Grid:
    """A table: numbers, but for the columns on the `left`."""

    title: str | None
    columns: Sequence[str]
    left: Sequence[str]
    rows: Sequence[Sequence[object]]


Block: TypeAlias = "Line | Note | Caution | Grid | Usable"


def lines(texts: Iterable[str]) -> Iterator[Line]:
    """Each text as a line."""
    return map(Line, texts)


def cautions(texts: Iterable[str]) -> Iterator[Caution]:
    """Each text as a warning."""
    return map(Caution, texts)


def label_warnings(path: Path, columns: Mapping[str, Any]) -> Iterator[Note]:
    """Which columns of a file hold labels that a spreadsheet would run, or that a terminal would obey."""
    from fugu.data.files import formula_columns, hidden_columns

    unseen = (
        "labels with characters that cannot be seen (of control or direction), which a terminal obeys; they are "
        "spelled out in the file: declare other labels"
    )
    run = "labels that begin with = + - or @, which spreadsheets run as formulas; import it as text"
    for found, why in ((hidden_columns(columns), unseen), (formula_columns(columns), run)):
        if found:
            yield Note(f"column {', '.join(map(repr, found))} of {str(path)!r} has {why}", loud=True)


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
        if isinstance(block, Note):
            self.texts.append(block.text)

    def look(self, seen: Check | str) -> bool:
        """Nobody looks now."""
        del seen
        return False

    def working(self, what: str) -> AbstractContextManager[None]:
        """Bars on a terminal, as for all work that is called from Python."""
        return in_sight(what)
