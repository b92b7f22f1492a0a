"""What the file of a ledger says of each data set: asked, spent for each entry, worth under the prior, left.

The prior is not in the file. What charges are worth under it was worked out when they were made, and is written beside
them; ledgers of earlier versions have no such line, and then nothing is said of what is left."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fugu.errors import NotProvable
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.promises import both, promise
from fugu.ledger import books
from fugu.ledger.accountant import Terms, total
from fugu.ledger.amounts import left
from fugu.ledger.books import DataSet, Entry
from fugu.ledger.charge import LAW
from fugu.ledger.people import Tokens
from fugu.ledger.second_sum import against_anybody
from fugu.ledger.sharing import Shared, Standing, held
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
    others: tuple[str, ...] = ()
    """Data sets that hold people of this one too: then all of the above is of the person with the largest sum."""

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
        lines += [("both", self._both())] if self.worth is not None else []
        return [*lines, ("people", self._people())] if self.others else lines

    def _people(self) -> str:
        named = ", ".join(map(repr, self.others))
        return f" of it are in {named} too: this holds for whoever has the largest sum; charges there count in full"

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
            return f"{promise(self.worth) if self.others else repr(self.worth)} after translation with its prior"
        return "not known: the file does not hold the prior; open the ledger with it and ask spent()"


def accounts(view: View, requests: Sequence[Entry]) -> list[Account]:
    """The account of every data set, by name, of all `requests` of the file."""
    each: dict[str, list[Entry]] = defaultdict(list)
    for entry in requests:
        each[entry.data].append(entry)
    alone = [_account(view, known, each[known.name]) for known in books.datasets(view)]
    read: dict[str, Tokens] = {}
    return [_shared(view, one, Shared(one.known.name, _sets=read)) for one in alone]


def _shared(view: View, alone: Account, shared: Shared) -> Account:
    """The account with what was charged to its people elsewhere."""
    known = alone.known
    found = held(view, Standing.of(view, known.name), shared.groups(view))
    if found is None:
        return alone
    if found.why is not None:
        return replace(alone, spent=None, worth=None, left=found.left, why=str(found.why), others=found.others)
    spent = found.spent if known.prior is None else found.anybody or found.spent  # each charge under it is plain
    capped = replace(known, cap=found.cap)
    told = replace(alone, known=capped, spent=spent, worth=found.spent, left=found.left, why="", others=found.others)
    return replace(told, anybody=found.anybody)


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
