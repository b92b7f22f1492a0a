"""What documents of every kind say, in the same few words: for release documents, pages and readers."""

from fugu.documents.document import Document
from fugu.documents.plain_json import reading
from fugu.telling import laws as laws
from fugu.telling import records as records
from fugu.telling import sequences as sequences
from fugu.telling import training as training
from fugu.telling.told import TELLERS
from fugu.telling.told import Told as Told
from fugu.telling.told import derived as derived


def told(document: Document) -> Told:
    """What a document says; CertificateError if it cannot be read, or is of a kind that says nothing of itself."""
    with reading():
        return TELLERS[document.kind](document)
