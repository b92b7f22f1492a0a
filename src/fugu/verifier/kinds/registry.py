"""The kinds of documents: how each is read, checked and proved. One class per kind, found by its name.

To add a kind: a `Document` with its schema, and here a class with `prove` and `check` under `@kind("name")`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, TypeVar

from fugu.documents.certificate import Certificate
from fugu.documents.checks import CHECKS, SOMETIMES
from fugu.documents.document import Document
from fugu.documents.plain_json import guarded, reading
from fugu.documents.said import SAID, check_worst
from fugu.errors import CertificateError, UsageError
from fugu.laws.pair import PairsLike
from fugu.verifier.verdict import Checked, Proved, Verdict, checked, settled


class Kind(ABC):
    """What `fugu.verify` asks of a kind."""

    document: ClassVar[type[Document]]
    """The class that reads it: `parse` refuses what is edited, truncated or does not fit together."""

    @abstractmethod
    def prove(self, document: Any, laws: PairsLike | None) -> Proved:
        """What is proved now, of the document's own laws or of those given, using no figure that it states."""

    @abstractmethod
    def check(self, document: Any, proved: Proved, other_laws: bool) -> Iterable[Checked]:
        """Everything else that is looked at, the proof at hand."""

    def judge(self, document: Any, laws: PairsLike | None) -> Verdict:
        """The proof first, then everything else with the proof at hand."""
        proved = self.prove(document, laws)
        return settled(proved, self.check(document, proved, laws is not None))


KINDS: dict[str, Kind] = {}
OWN_WORDS, _MOST_SAID = "publisher's own words", 2_000
Found = TypeVar("Found", bound=type[Kind])


def kind(name: str) -> Callable[[Found], Found]:
    """Register a class as what `fugu.verify` does with documents of this kind."""

    def register(found: Found) -> Found:
        KINDS[name] = found()
        return found

    return register


def judge(document: Document, laws: PairsLike | None) -> Verdict:
    """The verdict on a document that was read and checked."""
    with guarded(document.kind):
        return KINDS[document.kind].judge(document, laws)


def no_laws(laws: PairsLike | None, what: str) -> None:
    """Refuse laws where there is nothing to put them in place of."""
    if laws is not None:
        raise UsageError(f"laws or a scenario can be given for certificates of releases; this one is of {what}")


def sealed(document: Document) -> list[Checked]:
    """What reading has made sure of already, of any document."""
    return [
        ("digest", "holds", "the content is the one that was sealed"),
        ("kind and schema", "holds", f"{document.kind}, {document.SCHEMA}, with every part that it needs"),
    ]


def parsed(certificate: Certificate) -> list[Checked]:
    """What reading has made sure of already, of a certificate with laws."""
    there = certificate.body
    run = ((name, says) for name, says, _ in CHECKS[certificate.kind] if name not in SOMETIMES or name in there)
    return [*sealed(certificate), *((name, "holds", says) for name, says in run)]


def said(certificate: Certificate, proved: Proved, other_laws: bool) -> Iterator[Checked]:
    """What a certificate with laws says in words and figures, each worked out again."""
    for name, says, step in SAID:
        yield checked(name, says, partial(_read, step, certificate))
    if not other_laws:
        says = "no pair needs the noise more than the one that is named"
        yield checked("worst pair", says, lambda: check_worst(certificate, proved.worst_pair))
    yield from own_words(certificate)


def _read(step: Callable[[Certificate], None], certificate: Certificate) -> None:
    with reading():
        step(certificate)


def own_words(document: Document) -> Iterator[Checked]:
    """What a document leaves to its publisher's word: one line, if there is any; that it is marked is checked."""
    says = "what does not follow from the document is marked as the publisher's own words"
    yield checked("marks", says, document.check_marks)
    try:
        with reading():
            found = document.by_publisher()
    except CertificateError:
        return  # which the check above has named
    if any(found.values()):
        yield OWN_WORDS, "not checked", "; ".join([", ".join(found["parts"]), *found["assumptions"]])[:_MOST_SAID]
