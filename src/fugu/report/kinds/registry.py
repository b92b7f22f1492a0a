"""Which page a document gets, by its kind: one function per kind, found by its name.

To add a kind: a function from the document and what was said of it to the parts of its page, under `@page_of(...)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fugu.documents.document import Document
from fugu.drawing.html import Html

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison


@dataclass(frozen=True)
class Said:
    """What a caller says of a document that is not in it."""

    title: str
    comparison: Comparison | None = None
    query_name: str | None = None
    secret_name: str | None = None
    rows: int | None = None


Maker = Callable[[Any, Said], Iterable[Html | None]]
PAGES: dict[str, Maker] = {}


def page_of(*kinds: str) -> Callable[[Maker], Maker]:
    """Register a function as what makes the pages of these kinds."""

    def register(maker: Maker) -> Maker:
        PAGES.update(dict.fromkeys(kinds, maker))
        return maker

    return register


def parts_of(document: Document, said: Said) -> Iterable[Html | None]:
    """The parts of the page of a document, in order."""
    return PAGES[document.kind](document, said)
