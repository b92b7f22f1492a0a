"""What the file of a ledger says of each data set: asked, spent for each entry, worth under the prior, left.

The prior is not in the file. What charges are worth under it was worked out when they were made, and is written beside
them; ledgers of earlier versions have no such line, and then nothing is said of what is left."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from fugu.errors import NotProvable
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.promises import both, promise
from fugu.ledger import books
from fugu.ledger.accountant import Terms, total
from fugu.ledger.amounts import left
from fugu.ledger.books import DataSet, Entry
from fugu.ledger.charge import LAW
from fugu.ledger.second_sum import against_anybody
from fugu.ledger.state import CHARGED
from fugu.ledger.store import View

BEFORE = "for each entry, before translation with its prior"
HELD = "held against the budget"


@dataclass(frozen=True)
class Account:
    """One data set. `spent` adds the charges as they are, None where that says nothing (`why`); `worth` is what they
    promise together, translated with the prior if there is one, None where the file does not say; `left` of the
    budget."""

    known: DataSet
    asked: dict[str, int]
    """How many requests are in each state."""
    spent: Guarantee | None
    worth: Guarantee | None
    left: Guarantee | None
    why: str = ""
    anybody: Guarantee | None = None
    """What the charges promise together against anybody; None where one of them promises nothing."""

    @property
    def translated(self) -> bool:
        """Whether what was spent for each entry is not yet what is held against the budget."""
        return self.known.prior is not None and self.spent is not None and self.spent != self.worth

    def words(self) -> list[tuple[str, str]]:
        """The account, line by line: what it is about, and what is said."""
        states, count = ", ".join(f"{n} {state}" for state, n in self.asked.items()), sum(self.asked.values())
        asked = f"{count} request{'s' if count > 1 else ''}: {states}" if count else "nothing yet"
        tied = self.known.prior is not None
        spent = self.why if self.spent is None else f"{self.spent!r}{self._as()}"
        lines = [("asked", asked), ("spent", spent)]
        lines += [("worth", self._worth())] if tied and self.spent is not None else []
        lines += [("left", f"{self.left!r} of {self.known.budget!r}")] if self.left is not None else []
        return [*lines, ("both", self._both())] if self.worth is not None else lines

    def _both(self) -> str:
        """Both promises of all releases so far, in one sentence."""
        assert self.worth is not None
        believes = "the stated beliefs" if self.known.prior is None else "its prior"
        cap = "" if self.known.cap is None else f" (cap {promise(self.known.cap)})"
        return both(self.worth, self.anybody, believes) + cap

    def _as(self) -> str:
        if self.known.prior is None:
            return ", the entries counted as independent"
        return f" {BEFORE}" if self.translated else ""

    def _worth(self) -> str:
        if self.worth is not None:
            return f"{self.worth!r} after translation with its prior"
        return "not known: the file does not hold the prior; open the ledger with it and ask spent()"


def accounts(view: View) -> list[Account]:
    """The account of every data set, by name."""
    requests = books.history(view)
    return [_account(view, known, [e for e in requests if e.data == known.name]) for known in books.datasets(view)]


def _account(view: View, known: DataSet, requests: list[Entry]) -> Account:
    charges = books.charges(view, known.name)
    if known.prior is not None:  # described, not held against anything: what was granted is granted
        charges = [replace(c, planned=True) for c in charges]
    anybody = against_anybody(charges)
    asked = dict(Counter(entry.state for entry in requests))
    charged = [entry for entry in requests if entry.state in CHARGED]
    worth = charged[-1].worth if charged and known.prior is not None else None
    try:
        spent = total(charges, Terms(known.budget, None, known.entries))
    except NotProvable as error:
        if worth is None:
            return Account(known, asked, None, None, None, f"needs the data set's prior ({error})", anybody)
        return Account(known, asked, None, worth, left(worth, known.budget), f"{worth!r} under its prior", anybody)
    if known.prior is None or not charges or any(c.charge.kind == LAW for c in charges) or spent == Pure(0):
        worth = spent
    return Account(known, asked, spent, worth, None if worth is None else left(worth, known.budget), anybody=anybody)
