"""The life of a request in the tables: refused, or reserved and then settled or failed; each step with its event."""

from __future__ import annotations

import sqlite3

from fugu.errors import BudgetExceeded, FuguError, NotComposable
from fugu.ledger import chain
from fugu.ledger.books import REFUSED, RESERVED, SETTLED


def find(db: sqlite3.Connection, data: str, request: str) -> tuple[str, str, str | None] | None:
    """Its state, question and stored value, or None for a new id."""
    asked = "SELECT state, question, value FROM requests WHERE dataset = ? AND request = ?"
    row = db.execute(asked, (data, request)).fetchone()
    return None if row is None else (row[0], row[1], row[2])


def enter(
    db: sqlite3.Connection,
    data: str,
    request: str,
    asked: tuple[str, str, int],
    refused: FuguError | None,
    skipped: tuple[str, ...] = (),
) -> None:
    """Write a new request (charge, question, planned), or one that was refused before; reserved, or refused and why.

    `skipped` names the secrets of probability 0 under the prior of the data, of which the charge says nothing."""
    state = RESERVED if refused is None else REFUSED
    note = "" if refused is None else _why(refused)
    told = dict(zip(("charge", "question", "planned", "note"), (*asked, note), strict=True))
    more = {"skipped": list(skipped)} if skipped else {}
    seq = chain.append(db, state, {"dataset": data, "request": request, **told, **more})
    db.execute(
        "INSERT OR REPLACE INTO requests (dataset, request, state, charge, question, planned, note, seq) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (data, request, state, *told.values(), seq),
    )


def _why(refused: FuguError) -> str:
    if isinstance(refused, BudgetExceeded):
        return f"spent {refused.spent!r}, asked {refused.asked!r}, left {refused.left!r}"
    return refused.why if isinstance(refused, NotComposable) else str(refused)


def finish(
    db: sqlite3.Connection, data: str, request: str, state: str, value: str | None, more: dict[str, str]
) -> None:
    """Settle or fail a request that is not settled; a settled one keeps the value it has."""
    new = (state, value, more.get("note", ""), data, request, SETTLED)
    change = "UPDATE requests SET state = ?, value = ?, note = ? WHERE dataset = ? AND request = ? AND state != ?"
    if db.execute(change, new).rowcount:
        chain.append(db, state, {"dataset": data, "request": request, **more})
