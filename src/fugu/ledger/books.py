"""Reading a ledger: who asked what, whether the chain holds, and a copy for others. Nothing here charges anything."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.errors import LedgerBroken
from fugu.guarantee import Guarantee
from fugu.ledger import chain, store
from fugu.ledger.accountant import Counted
from fugu.ledger.charge import Charge
from fugu.ledger.fingerprint import key_of
from fugu.mechanism.encoding import budget_from

RESERVED, SETTLED, FAILED, REFUSED = "reserved", "settled", "failed", "refused"
CHARGED = (RESERVED, SETTLED, FAILED)
"""States in which the charge counts: a failed or crashed evaluation may have shown something of the data."""


@dataclass(frozen=True)
class Entry:
    """One request: its state, its charge, and for a failed or refused one why. The value is not part of it."""

    data: str
    request: str
    state: str
    kind: str
    guarantee: Guarantee
    note: str
    at: str
    skipped: tuple[str, ...] = ()
    """Secrets of probability 0 under the prior: the guarantee does not speak of them."""


@dataclass(frozen=True)
class DataSet:
    """One data set of a ledger: its budget and what identifies it."""

    name: str
    budget: Guarantee
    fingerprint: str | None
    prior: str | None
    entries: int | None


def datasets(db: sqlite3.Connection) -> list[DataSet]:
    """All data sets, by name."""
    rows = db.execute("SELECT name, budget, fingerprint, prior, entries FROM datasets ORDER BY name")
    return [DataSet(name, budget_from(json.loads(budget)), *rest) for name, budget, *rest in rows]


def history(db: sqlite3.Connection, data: str | None = None) -> list[Entry]:
    """All requests in the order in which they came, of one data set or of all."""
    rows = db.execute(
        "SELECT dataset, request, state, charge, note, at, body FROM requests JOIN events USING (seq) "
        "WHERE ?1 IS NULL OR dataset = ?1 ORDER BY seq",
        (data,),
    )
    found = []
    for name, request, state, text, note, at, body in rows:
        charge = Charge.parse(text)
        skipped = tuple(map(str, json.loads(body).get("skipped", ())))
        found.append(Entry(name, request, state, charge.kind, charge.guarantee, note, at, skipped))
    return found


def charges(db: sqlite3.Connection, data: str) -> list[Counted]:
    """What counts against the budget of a data set, equal charges together."""
    marks = ", ".join("?" * len(CHARGED))
    rows = db.execute(
        f"SELECT charge, COUNT(*), MIN(seq), MIN(planned) FROM requests WHERE dataset = ? AND state IN ({marks}) "
        "GROUP BY charge",
        (data, *CHARGED),
    )
    return [Counted(Charge.parse(text), count, first, bool(planned)) for text, count, first, planned in rows]


def verify(db: sqlite3.Connection, head: str | None = None) -> str:
    """Walk the chain, replay it, compare with the tables, look for an earlier head; the present head, or an error."""
    if db.execute("PRAGMA quick_check").fetchone()[0] != "ok":
        raise LedgerBroken("the ledger's file is damaged; restore it from a copy and check its head")
    events, hashes = chain.walk(db)
    known, asked = _replayed(events)
    key = key_of(db)
    if events[0][3].get("key") != (None if key is None else chain.sha256(key)):
        raise LedgerBroken("the key of the ledger is not the one it was made with: the ledger was edited")
    rows = db.execute("SELECT name, fingerprint, budget, prior, entries FROM datasets").fetchall()
    if {row[0]: list(row[1:]) for row in rows} != known:
        raise LedgerBroken("the data sets of the ledger are not those that its events made: the ledger was edited")
    fields = "dataset, request, state, charge, question, planned, note, seq, value"
    found = {}
    for *row, value in db.execute(f"SELECT {fields} FROM requests"):
        found[row[0], row[1]] = [*row[2:], None if value is None else chain.sha256(value)]
    if found != asked:
        raise LedgerBroken("the requests of the ledger are not those that its events made: the ledger was edited")
    if head is not None and head.strip().lower() not in hashes:
        raise LedgerBroken(
            "the ledger does not contain the given head: it was rolled back to an older copy, replaced or rewritten, "
            "so what was spent is not known. Restore the newest copy"
        )
    return hashes[-1]


def _replayed(events: list[Any]) -> tuple[dict[str, list[Any]], dict[tuple[str, str], list[Any]]]:
    """The tables as the events say they should be."""
    known: dict[str, list[Any]] = {}
    asked: dict[tuple[str, str], list[Any]] = {}
    for seq, _, kind, body in events:
        key = (body.get("dataset", ""), body.get("request", ""))
        if kind == "register":
            known[body["dataset"]] = [body["fingerprint"], body["budget"], body["prior"], body.get("entries")]
        elif kind == "identify":
            known[body["dataset"]][0] = body["fingerprint"]
        elif kind in (RESERVED, REFUSED):
            told = [kind, body["charge"], body["question"], body.get("planned", 0), body.get("note", "")]
            asked[key] = [*told, seq, None]
        elif kind == SETTLED:
            asked[key] = [SETTLED, *asked[key][1:4], "", asked[key][5], body["sha256"]]
        elif kind == FAILED:
            asked[key] = [FAILED, *asked[key][1:4], body["note"], *asked[key][5:]]
    return known, asked


def export(db: sqlite3.Connection) -> dict[str, Any]:
    """Every event with its hash, and the head: keep it elsewhere, and a rolled-back ledger will be noticed."""
    events, hashes = chain.walk(db)
    told = [
        {"seq": seq, "at": at, "kind": kind, "body": body, "hash": found}
        for (seq, at, kind, body), found in zip(events, hashes, strict=True)
    ]
    return {"schema": f"fugu/ledger/{store.SCHEMA}", "head": hashes[-1], "events": told}


def save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an export, whole or not at all."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    partial.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(target)


@dataclass(frozen=True)
class Books:
    """A ledger file to be read: all its data sets, without budget or prior at hand."""

    path: Path
    timeout: float = 10.0

    def read(self, what: Any, *args: Any) -> Any:
        """Apply one of the functions above to the open file, in one snapshot of it."""
        path = Path(self.path)
        with (
            closing(store.connect(path, self.timeout, create=False)) as db,
            store.named_errors(path),
            store.reading(db),
        ):
            return what(db, *args)
