"""The ledger that a document is held against: what is wrong with it is said in the same words by every check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fugu.errors import CertificateError, LedgerBroken
from fugu.ledger import Books


@contextmanager
def the_books(ledger: str) -> Iterator[Books]:
    """The books in the file `ledger`; `CertificateError` if there is none, or if it was edited."""
    path = Path(ledger)
    if not path.is_file():
        raise CertificateError(f"there is no ledger {path.name!r}")
    try:
        yield Books(path)
    except LedgerBroken as error:
        raise CertificateError(str(error)) from None
