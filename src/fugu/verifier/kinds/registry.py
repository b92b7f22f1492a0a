"""The kinds of documents: how each is read, checked and proved. One class per kind, found by its name.

To add a kind: a `Document` with its schema, and here a class with `prove` and `check` under `@kind("name")`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeVar

from fugu.documents.assumed import check_assumed
from fugu.documents.certificate import Certificate
from fugu.documents.checks import CHECKS, SOMETIMES
from fugu.documents.document import Document
from fugu.errors import UsageError
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
Found = TypeVar("Found", bound=type[Kind])


def kind(name: str) -> Callable[[Found], Found]:
    """Register a class as what `fugu.verify` does with documents of this kind."""

    def register(found: Found) -> Found:
        KINDS[name] = found()
        return found

    return register


def judge(document: Document, laws: PairsLike | None) -> Verdict:
    """The verdict on a document that was read and checked."""
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


def assumed(certificate: Certificate) -> Checked:
    """Whether a certificate with laws assumes what follows from what runs."""
    return checked("assumptions", "nothing that follows from what runs is left out", lambda: check_assumed(certificate))
