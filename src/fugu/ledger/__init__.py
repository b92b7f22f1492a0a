"""The books: what was spent on which data, across processes and crashes.

No release leaves the process before its charge is on disk; one request id, one charge, one value."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.ledger.books import Entry as Entry
    from fugu.ledger.charge import Charge as Charge
    from fugu.ledger.fingerprint import Marks as Marks
    from fugu.ledger.fingerprint import fingerprints as fingerprints
    from fugu.ledger.ledger import Ledger as Ledger
    from fugu.ledger.store import Books as Books
else:
    __getattr__ = names(__name__)
