"""Reading a ledger: who asked what, whether the chain holds, a copy for others; why a charge is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from fugu.errors import BudgetExceeded, LedgerBroken, NotComposable
from fugu.files import write_text, writing
from fugu.guarantee import Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import promise
from fugu.guarantee.curve import budget_from
from fugu.ledger import chain, log
from fugu.ledger.accountant import Charges, Terms, against_anybody, total
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.charge import left as left_of
from fugu.ledger.state import CHARGED, SETTLED, Registered
from fugu.ledger.store import Books, LockedView
from fugu.visible import visible_json

# Nothing here charges anything; all of it works on a copy that may only be read, in a folder that may only be read.


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
class Standing:
    """A data set as the file has it: what it was entered with, its budget and cap (the most epsilon against anybody;
    None for none), its charges, and what these are `worth` under its prior, as it was worked out when the last one was
    made."""

    name: str
    known: Registered
    budget: Guarantee
    cap: Fraction | None
    charges: tuple[Charges, ...]
    worth: Guarantee | None

    @staticmethod
    def of(view: LockedView, name: str) -> Standing:
        """As it stands now."""
        known = view.state.sets[name]
        worth = None if known.worth is None else budget_from(json.loads(known.worth))
        cap = None if known.cap is None else Fraction(known.cap)
        return Standing(name, known, budget_from(json.loads(known.budget)), cap, tuple(charges(view, name)), worth)

    @property
    def by_law(self) -> bool:
        """Whether it has a law-based release, with which nothing charged to each record adds."""
        return any(c.charge.kind == LAW for c in self.charges)

    def described(self) -> Standing:
        """The same to be told and not held against anything: what was granted is granted, in whatever order."""
        return replace(self, charges=tuple(replace(c, planned=True) for c in self.charges))

    def promise(self, rest: Sequence[Charges]) -> Guarantee:
        """What its own charges and the rest promise together about a person, under its belief."""
        everything = [*self.charges, *rest]
        if self.known.prior is not None and not self.known.records and rest:
            raise NotComposable(
                f"data set {self.name!r} was charged under a belief about more than independent records, and people of "
                "this table are in it: what its releases and others say together of a person is not known",
                f"release from tables of other people; if these are other people than those of {self.name!r}, say so "
                "(other_people=, --other-people)",
            )
        if self.known.prior is None or self.plain(rest):
            return total(everything, Terms(self.budget, None, self.known.entries))
        return Pure(plain(exact(self.worth.epsilon if self.worth is not None else 0) + epsilons(rest)))

    def plain(self, rest: Sequence[Charges]) -> bool:
        """Whether nothing but the plain sum is proved: beside a delta, a law-based release, or the charge of another
        table that made a column public of which this belief was not told."""
        told = {name for c in self.charges for name in _public_in(c.charge.reads)}
        more = {name for c in rest for name in _public_in(c.charge.reads)}
        pure = all(c.charge.kind != LAW and c.charge.guarantee.pure for c in (*self.charges, *rest))
        return not pure or not more <= told or (self.worth is None and bool(self.charges))


def standing(path: Path, data: str) -> Standing | None:
    """A data set of a ledger as it stands now; None where there is no such ledger, or nothing in it binds the name."""
    if not path.is_file():
        return None
    return Books(path, 30.0).read(lambda view: Standing.of(view, data) if view.state.binds(data) else None)


def epsilons(charges: Sequence[Charges]) -> Fraction:
    """The sum of the plain epsilons of charges; those of divergences count as nothing, for they have none."""
    listed = (c for c in charges if not c.charge.guarantee.renyi)
    return sum((exact(c.charge.guarantee.epsilon) * c.count for c in listed), Fraction(0))


def _public_in(reads: str | None) -> list[str]:
    """The columns that a charge made public, by asking for their groups' sizes or by them."""
    try:
        told = json.loads(reads or "{}")
        by = [q.get("by") for q in told.get("questions", ())]
        return [str(name) for name in (*told.get("public", ()), *by) if name is not None]
    except (ValueError, AttributeError, TypeError):
        return []


def history(view: LockedView, data: str | None = None) -> list[Entry]:
    """All requests in the order in which they came, of one data set or of all."""
    entries = []
    for (own, request), asked in view.requests().items():
        if data is None or own == data:
            charge = Charge.parse(asked.charge)
            worth = None if asked.worth is None else budget_from(json.loads(asked.worth))
            terms = (charge.kind, charge.guarantee, asked.note, asked.at, asked.skipped)
            entries.append(Entry(own, request, asked.state, *terms, worth, against_anybody([Charges(charge)])))
    return entries


def settled(view: LockedView, data: str, request: str) -> chain.Event | None:
    """The event that settled a request: its hash stands for the whole ledger up to there."""
    asked = view.request(data, request)
    return view.event(asked.ended) if asked is not None and asked.state == SETTLED and asked.ended else None


def charges(view: LockedView, data: str) -> list[Charges]:
    """What counts against the budget of a data set, equal charges together."""
    return [
        Charges(Charge.parse(text), count, first, bool(planned))
        for text, (count, first, planned) in view.state.charges(data)
    ]


def charge_of(view: LockedView, data: str, request: str) -> Charge | None:
    """The charge under which a request stands; None if there is none."""
    asked = view.request(data, request)
    return None if asked is None or asked.state not in CHARGED else Charge.parse(asked.charge)


def verify(view: LockedView, head: str | None = None) -> str:
    """Walk the chain with every stored value; look for an earlier head. The present head, or an error."""
    passed = {chain.START}
    found = view.whole(lambda event: passed.add(event.hash) if head is not None else None)
    if head is not None and head.strip().lower() not in passed - {chain.START}:
        raise LedgerBroken(
            "the ledger does not contain the given head: it was rolled back to an older copy, replaced or rewritten, "
            "so what was spent is not known. Restore the newest copy"
        )
    return found.head


def export(view: LockedView) -> dict[str, Any]:
    """Every event with its hash, and the head: keep it elsewhere, and a rolled-back ledger will be noticed."""
    events: list[chain.Event] = []
    found = view.whole(events.append)
    told = [{"seq": e.seq, "at": e.at, "kind": e.kind, "body": e.body, "hash": e.hash} for e in events]
    return {"schema": f"fugu/ledger/{log.FORMAT}", "head": found.head, "events": told}


def save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an export, whole or not at all."""
    write_text(path, visible_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n")


def copy(view: LockedView, path: str | os.PathLike[str]) -> str:
    """A copy of the whole file, of one moment, once it was checked; private, like the ledger. Its head.

    The key is not part of it: whoever is to charge the copy needs its key file too."""
    head = verify(view)
    with writing(path, private=True) as out:
        out.buffer.writelines(view.pieces())
    return head


# Why a charge is refused: which of the two promises of a data set would break, and by how much.
#
# The first promise is the budget, against those who hold the stated beliefs; the second the cap, against anybody. A
# refusal names data sets, never who is in them or how many.


ADVICE = "Ask for less, or repeat an earlier request by its id, which costs nothing"
CAPS = "a cap on each session of the same people, before the first one is opened (cap=), bounds what it takes from all"


def for_shared(own_budget: bool) -> str:
    """What can be done where a person is in several data sets; `own_budget`: it is not that of another one."""
    larger = (
        "a data set to which nothing was charged yet can be opened with a larger budget, and " if own_budget else ""
    )
    return (
        "If these are other people, say so (other_people=, --other-people), and the certificate says it too. If not: "
        f"{larger}{CAPS}"
    )


def over_budget(
    data: str, charge: Charge, spent: Guarantee, after: Guarantee, budget: Guarantee, tied: bool
) -> BudgetExceeded:
    """The first promise would break: all charges would be `after`; `tied`: they are translated with a prior."""
    left = left_of(spent, budget)
    by = ", translated with the prior," if tied and charge.kind != LAW else ""
    return BudgetExceeded(
        f"the budget of data set {data!r} does not allow this: spent {spent!r}, asked {charge.guarantee!r} "
        f"({charge.kind}), left {left!r} of {budget!r}; together they would be{by} {after!r}. {ADVICE}",
        spent=spent, asked=charge.guarantee, left=left, budget=budget,
    )  # fmt: skip


def over_cap(
    data: str, before: Sequence[Charges], new: Charges, cap: Fraction | None, prior: object = None
) -> BudgetExceeded | None:
    """The second promise would break; None where it holds, or where the data set has no cap."""
    if cap is None:
        return None
    after = against_anybody([*before, new], prior)
    if after is not None and exact(after.epsilon) <= cap:
        return None
    spent, asked, budget = against_anybody(before, prior), against_anybody([new], prior), Pure(plain(cap))
    left = Pure(0) if spent is None else left_of(Pure(spent.epsilon), budget)
    return BudgetExceeded(
        f"the cap of data set {data!r}, the most against anybody, does not allow this: spent {promise(spent)}, asked "
        f"{promise(asked)}, left {promise(left)} of {promise(budget)}, each against anybody. {ADVICE}",
        spent=spent, asked=asked, left=left, budget=budget,
    )  # fmt: skip


def over_shared(
    own: str, named: str, data: str, asked: Guarantee | None, after: Guarantee | None, budget: Guarantee,
    against: str = "",
) -> BudgetExceeded:  # fmt: skip
    """A promise would break for somebody who is in other data sets (`named`) too: that of `data`."""
    whose = "its own" if data == own else f"that of {data!r}"
    what = "cap" if against else "budget"
    return BudgetExceeded(
        f"people of {own!r} are in {named} too, and a person has one {what}, whatever tables are called: with this, "
        f"all that was charged to somebody would be {promise(after)}{against}, above {whose}, {promise(budget)}. "
        f"{ADVICE}. {for_shared(data == own)}",
        spent=None, asked=asked, left=None, budget=budget,
    )  # fmt: skip
