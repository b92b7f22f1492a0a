"""Reading a ledger: who asked what, whether the chain holds, and a copy for others. Nothing here charges anything.

All of it works on a copy that may only be read, in a folder that may only be read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.errors import LedgerBroken
from fugu.files import write_text
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.ledger import chain, log
from fugu.ledger.accountant import Counted
from fugu.ledger.charge import Charge
from fugu.ledger.state import CHARGED, SETTLED
from fugu.ledger.store import File, View
from fugu.visible import visible_json


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
    worth: Guarantee | None = None
    """What this charge and all before it promise together, translated with the prior; None where that is not known."""


@dataclass(frozen=True)
class DataSet:
    """One data set of a ledger: its budget and what identifies it. `fingerprint` is the first of its `marks`; `blocks`
    is None for a data set of version 0.1, which declared none."""

    name: str
    budget: Guarantee
    fingerprint: str | None
    prior: str | None
    entries: int | None
    marks: tuple[str, ...] = ()
    blocks: tuple[str, ...] | None = ()
    believed: str | None = None
    """The prior in words; None without one, and in ledgers of earlier versions."""


def datasets(view: View) -> list[DataSet]:
    """All data sets, by name."""
    found = []
    for name, known in sorted(view.state.sets.items()):
        first = known.marks[0] if known.marks else None
        terms = (budget_from(json.loads(known.budget)), first, known.prior, known.entries)
        found.append(DataSet(name, *terms, known.marks, known.blocks, known.believed))
    return found


def history(view: View, data: str | None = None) -> list[Entry]:
    """All requests in the order in which they came, of one data set or of all."""
    found = []
    for (name, request), asked in view.state.asked.items():
        if data is None or name == data:
            charge = Charge.parse(asked.charge)
            terms = (charge.kind, charge.guarantee, asked.note, asked.at, asked.skipped)
            worth = None if asked.worth is None else budget_from(json.loads(asked.worth))
            found.append(Entry(name, request, asked.state, *terms, worth))
    return found


def settled(view: View, data: str, request: str) -> chain.Event | None:
    """The event that settled a request: its hash stands for the whole ledger up to there."""
    found = None
    for event in view.whole()[1]:
        if event.kind == SETTLED and (event.body.get("dataset"), event.body.get("request")) == (data, request):
            found = event
    return found


def charges(view: View, data: str) -> list[Counted]:
    """What counts against the budget of a data set, equal charges together."""
    sums = view.state.sums.get(data, {})
    return [Counted(Charge.parse(text), count, first, bool(planned)) for text, (count, first, planned) in sums.items()]


def charge_of(view: View, data: str, request: str) -> Charge | None:
    """The charge under which a request stands; None if there is none."""
    asked = view.state.asked.get((data, request))
    return None if asked is None or asked.state not in CHARGED else Charge.parse(asked.charge)


def verify(view: View, head: str | None = None) -> str:
    """Walk the chain with every stored value; look for an earlier head. The present head, or an error."""
    found, _ = view.whole()
    if head is not None and head.strip().lower() not in found.hashes:
        raise LedgerBroken(
            "the ledger does not contain the given head: it was rolled back to an older copy, replaced or rewritten, "
            "so what was spent is not known. Restore the newest copy"
        )
    return found.head


def export(view: View) -> dict[str, Any]:
    """Every event with its hash, and the head: keep it elsewhere, and a rolled-back ledger will be noticed."""
    found, events = view.whole()
    told = [{"seq": e.seq, "at": e.at, "kind": e.kind, "body": e.body, "hash": e.hash} for e in events]
    return {"schema": f"fugu/ledger/{log.FORMAT}", "head": found.head, "events": told}


def save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an export, whole or not at all."""
    write_text(path, visible_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n")


@dataclass(frozen=True)
class Books:
    """A ledger file to be read: all its data sets, without budget or prior at hand."""

    path: Path
    timeout: float = 10.0

    def read(self, what: Any, *args: Any) -> Any:
        """Apply one of the functions above to the open file, in one snapshot of it."""
        with File(Path(self.path), self.timeout).reading() as view:
            return what(view, *args)
