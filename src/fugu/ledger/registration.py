"""Entering a data set into a ledger: its terms are fixed once, and known data gets no second budget."""

from __future__ import annotations

import json
import sqlite3

from fugu.errors import DataKnown, UsageError
from fugu.ledger import chain, store
from fugu.ledger.accountant import Terms
from fugu.ledger.fingerprint import keyed, prior_digest
from fugu.mechanism.encoding import budget_json


def register(db: sqlite3.Connection, name: str, terms: Terms, known: str | None) -> None:
    """Find the data set or enter it; other terms, or known data under a new name, are refused."""
    stated = (json.dumps(budget_json(terms.budget), sort_keys=True), prior_digest(terms.prior), terms.entries)
    with store.writing(db):
        known = None if known is None else keyed(db, known)
        same = db.execute("SELECT name FROM datasets WHERE fingerprint = ?", (known,)).fetchone()
        if same is not None and same[0] != name:
            raise DataKnown(
                f"this data is known to the ledger as {same[0]!r}, and a new name is no fresh budget; open it with "
                f"data={same[0]!r}"
            )
        fields = "budget, prior, entries, fingerprint"
        row = db.execute(f"SELECT {fields} FROM datasets WHERE name = ?", (name,)).fetchone()
        if row is None:
            body = dict(zip(("budget", "prior", "entries"), stated, strict=True))
            chain.append(db, "register", {"dataset": name, "fingerprint": known, **body})
            new = (name, *stated, known)
            db.execute(f"INSERT INTO datasets (name, {fields}) VALUES (?, ?, ?, ?, ?)", new)
            return
        for what, have, given in zip(("budget", "prior", "number of entries"), row[:3], stated, strict=True):
            if have != given:
                raise UsageError(
                    f"data set {name!r} was registered with another {what}; a ledger's terms are fixed when the data "
                    "set is first opened"
                )
        if known is not None and row[3] is None:
            chain.append(db, "identify", {"dataset": name, "fingerprint": known})
            db.execute("UPDATE datasets SET fingerprint = ? WHERE name = ?", (known, name))
        elif known is not None and row[3] != known:
            raise UsageError(
                f"data set {name!r} was registered with other content; give new data a new name. Another column of the "
                "same people is not new data: what two law-based releases of it promise together is not known"
            )
