"""What of a document is its publisher's own words: marked on every page that prints it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from fugu.documents.document import Document
from fugu.drawing.html import Html, Inside, joined, tag
from fugu.drawing.text import clean
from fugu.report.shell import listed

MARK = "In the publisher's own words, which nothing here proves: "
_THEOREM = "theorem"
_NAMES = {
    "beliefs": "which beliefs these are", "method": "how the noise was found", _THEOREM: "what that way stands on",
    "scales": "the scales that other ways would need",
    "recipe": "how the beliefs were fitted, and what the secret is called",
    "empirical": "what is lost under the values that the beliefs were fitted to", "post": "what is done afterwards",
    "elsewhere": "what other releases of these records cost", "columns": "which columns the reference has",
    "claimed by": "who claims privacy for each entry", "odd entries": "what unexpected entries count as",
    "prior/smoothing": "how the chain was smoothed", "prior/fitted on": "what the chain was fitted on",
    "prior/digest": "which chain it is", "ledger": "the entry of the ledger", "model": "the name of the model",
    "date": "the date", "data": "the name of the data, its rows and the commitment to it",
    "published": "the published files (fugu verify holds them against the files)",
    "question/recipe": "how the question was asked", "skipped": "which secrets the beliefs leave out",
    "withheld": "the commitment to the certificates",
}  # fmt: skip


def assumed(lines: Iterable[str], own: Collection[str]) -> Html:
    """Assumptions, those in the publisher's own words marked."""
    said: list[Inside] = [joined(tag("b", MARK), line) if line in own else line for line in lines]
    return listed(said)


def own_parts(document: Document) -> Html | None:
    """Which other parts are the publisher's own words; None if there are none."""
    return named_parts(document.by_publisher()["parts"])


def named_parts(names: Iterable[str]) -> Html | None:
    """The same from their names."""
    found = [_NAMES.get(name, clean(name, 60)) for name in names]
    said = "Not worked out again when the certificate is checked, and on the word of whoever published it: "
    return tag("p", said, "; ".join(found), ".") if found else None
