"""Reading a ledger: who asked what, whether the chain holds, and a copy for others. Nothing here charges anything.

All of it works on a copy that may only be read, in a folder that may only be read."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from fugu.errors import LedgerBroken
from fugu.files import write_text, writing
from fugu.guarantee import Guarantee
from fugu.guarantee.encoding import budget_from
from fugu.ledger import chain, log
from fugu.ledger.accountant import Counted
from fugu.ledger.charge import Charge
from fugu.ledger.second_sum import against_anybody
from fugu.ledger.state import CHARGED, SETTLED, Asked
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
    anybody: Guarantee | None = None
    """What this charge promises against anybody; None for nothing."""


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
    cap: Fraction | None = None
    """The most epsilon against anybody; None for no cap."""


def datasets(view: View) -> list[DataSet]:
    """All data sets, by name."""
    found = []
    for name, known in sorted(view.state.sets.items()):
        first = known.marks[0] if known.marks else None
        terms = (budget_from(json.loads(known.budget)), first, known.prior, known.entries)
        found.append(DataSet(name, *terms, known.marks, known.blocks, known.believed, cap(view, name)))
    return found


def history(view: View, data: str | None = None) -> list[Entry]:
    """All requests in the order in which they came, of one data set or of all."""
    return [_entry(*name, asked) for name, asked in view.requests().items() if data is None or name[0] == data]


def entry(view: View, data: str, request: str) -> Entry | None:
    """One request; None if it was never asked."""
    asked = view.request(data, request)
    return None if asked is None else _entry(data, request, asked)


def _entry(data: str, request: str, asked: Asked) -> Entry:
    charge = Charge.parse(asked.charge)
    worth = None if asked.worth is None else budget_from(json.loads(asked.worth))
    terms = (charge.kind, charge.guarantee, asked.note, asked.at, asked.skipped)
    return Entry(data, request, asked.state, *terms, worth, against_anybody([Counted(charge)]))


def settled(view: View, data: str, request: str) -> chain.Event | None:
    """The event that settled a request: its hash stands for the whole ledger up to there."""
    asked = view.request(data, request)
    return view.event(asked.ended) if asked is not None and asked.state == SETTLED and asked.ended else None


def charges(view: View, data: str) -> list[Counted]:
    """What counts against the budget of a data set, equal charges together."""
    return [
        Counted(Charge.parse(text), count, first, bool(planned))
        for text, (count, first, planned) in view.state.charges(data)
    ]


def cap(view: View, data: str) -> Fraction | None:
    """The most epsilon against anybody that a data set was opened with; None for no cap."""
    known = view.state.sets[data].cap
    return None if known is None else Fraction(known)


def other_people(view: View, data: str) -> tuple[str, ...]:
    """The data sets whose people are others than those of this one, by the word of who opened it."""
    return view.state.sets[data].apart


def charge_of(view: View, data: str, request: str) -> Charge | None:
    """The charge under which a request stands; None if there is none."""
    asked = view.request(data, request)
    return None if asked is None or asked.state not in CHARGED else Charge.parse(asked.charge)


def verify(view: View, head: str | None = None) -> str:
    """Walk the chain with every stored value; look for an earlier head. The present head, or an error."""
    passed = {chain.START}
    found = view.whole(lambda event: passed.add(event.hash) if head is not None else None)
    if head is not None and head.strip().lower() not in passed - {chain.START}:
        raise LedgerBroken(
            "the ledger does not contain the given head: it was rolled back to an older copy, replaced or rewritten, "
            "so what was spent is not known. Restore the newest copy"
        )
    return found.head


def export(view: View) -> dict[str, Any]:
    """Every event with its hash, and the head: keep it elsewhere, and a rolled-back ledger will be noticed."""
    events: list[chain.Event] = []
    found = view.whole(events.append)
    told = [{"seq": e.seq, "at": e.at, "kind": e.kind, "body": e.body, "hash": e.hash} for e in events]
    return {"schema": f"fugu/ledger/{log.FORMAT}", "head": found.head, "events": told}


def save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an export, whole or not at all."""
    write_text(path, visible_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n")


def copy(view: View, path: str | os.PathLike[str]) -> str:
    """A copy of the whole file, of one moment, once it was checked; private, like the ledger. Its head.

    The key is not part of it: whoever is to charge the copy needs its key file too."""
    head = verify(view)
    with writing(path, private=True) as out:
        out.buffer.writelines(view.pieces())
    return head


@dataclass(frozen=True)
class Books:
    """A ledger file to be read: all its data sets, without budget or prior at hand."""

    path: Path
    timeout: float = 10.0

    def read(self, what: Any, *args: Any) -> Any:
        """Apply one of the functions above to the open file, in one snapshot of it."""
        return File(Path(self.path), self.timeout).read(lambda view: what(view, *args))
