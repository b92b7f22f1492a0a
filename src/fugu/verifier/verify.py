"""`verify`: prove a document again, from its own laws or from yours, using no figure that it states."""

from __future__ import annotations

import os
from typing import Protocol

from fugu.documents.certificate import Certificate
from fugu.documents.document import Document, Verdict
from fugu.documents.kinds import read
from fugu.documents.reading import load_json
from fugu.errors import UsageError
from fugu.laws.pair import PairsLike


class Certified(Protocol):
    """A mechanism, or a release: whatever has a certificate."""

    @property
    def certificate(self) -> Document: ...


Source = Certified | Document | str | os.PathLike[str]


def verify(mechanism_or_certificate: Source, scenario_or_pairs: PairsLike | None = None) -> Verdict:
    """Check a document of any kind and prove again what it promises, from its own laws or from `scenario_or_pairs`
    (`fugu.verify` says what both may be, and looks at files beside it).

    Nothing stored is believed but what the document says it runs and what it promises: the noise, the lattice, the
    budget; the query and the chain; the parameters of a training. Raises `CertificateError` for what is not a whole,
    unedited document of fugu, or one whose parts do not belong together."""
    return document_of(mechanism_or_certificate).verdict(scenario_or_pairs)


def document_of(source: Source) -> Document:
    """The document of a mechanism, an object or a file, read and checked anew: an object in memory is not believed."""
    if isinstance(source, str | os.PathLike):
        document: Document = read(load_json(source))
        return document
    found = getattr(source, "certificate", source)
    if not isinstance(found, Document):
        raise UsageError(
            f"expected a mechanism, a certificate or its file, got {type(source).__name__}; what noise alone is worth "
            "for some laws: fugu.epsilon(noise, scenario), or fugu.delta(noise, scenario, epsilon)"
        )
    return type(found).parse(found.body)


def certificate_of(source: Source) -> Certificate:
    """The certificate of a release; UsageError for documents without laws."""
    found = document_of(source)
    if not isinstance(found, Certificate):
        raise UsageError(f"this is about certificates of releases, which hold laws; this one is of kind {found.kind!r}")
    return found
