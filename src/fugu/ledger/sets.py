"""A stored set of people or rows, read from the file of a ledger."""

from __future__ import annotations

import hashlib

from fugu.errors import LedgerBroken
from fugu.ledger.people import Tokens, decoded
from fugu.ledger.state import StoredSet
from fugu.ledger.store import View


def stored(view: View, held: StoredSet) -> Tokens:
    """The digests of the set; `LedgerBroken` if they are not those that were entered."""
    digest, start, length = held
    text = view.at(start, length)
    if hashlib.sha256(text).hexdigest() != digest:
        raise LedgerBroken("a stored set of people is not the one that was entered: the ledger was edited")
    return decoded(text)
