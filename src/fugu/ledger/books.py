"""Reading a ledger: who asked what, whether the chain holds, a copy for others; why a charge is refused."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from fugu.errors import FuguError, LedgerBroken, NotComposable, NotProvable
from fugu.files import write_text
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import ANYBODY, EACH_ENTRY, fits, promise, quote, remainder
from fugu.guarantee.curve import budget_from
from fugu.ledger import events, log
from fugu.ledger.accountant import Charges, Terms, against_anybody, over_shared, total
from fugu.ledger.charge import LAW, Charge
from fugu.ledger.charge import left as left_of
from fugu.ledger.events import CHARGED, SETTLED, Registered, StoredSet
from fugu.ledger.gathering import Bits, Increasing, Words, aligned, beyond_chance, largest, memberships, within
from fugu.ledger.keys import Place
from fugu.ledger.store import Books, LockedView
from fugu.numbers.exact import Real
from fugu.visible import Json, visible_json

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
    asked: str = ""
    """The questions that it pays for, where the charge says which."""

    def to_json(self) -> Json:
        """Plain data, with guarantees as they are."""
        return {
            "data": self.data, "request": self.request, "state": self.state, "kind": self.kind,
            "charge": self.guarantee, "against anybody": self.anybody, "worth so far": self.worth, "at": self.at,
            "note": self.note, "asked": self.asked, "skipped": list(self.skipped),
        }  # fmt: skip


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
    told: bool = False

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
        return replace(self, told=True)

    def promise(self, rest: Sequence[Charges], others: Iterable[str] = ()) -> Guarantee:
        """What its own charges and the rest, of the data sets `others`, promise together about a person, under its
        belief."""
        everything = [*self.charges, *rest]
        if self.known.prior is not None and not self.known.records and rest:
            named = ", ".join(repr(name) for name in others) or "other data sets"
            raise NotComposable(
                f"data set {self.name!r} is charged under a belief about more than independent records, and people of "
                f"it are in {named} too, where something was charged: what all of them say together of a person is not "
                "known",
                "release from tables of other people; if these are other people than those of "
                f"{named}, say so (other_people=, --other-people)",
            )
        if self.known.prior is None or self.plain(rest):
            return total(everything, Terms(self.budget, None, self.known.entries, told=self.told))
        return Pure(plain(exact(self.worth.epsilon if self.worth is not None else 0) + epsilons(rest)))

    def plain(self, rest: Sequence[Charges]) -> bool:
        """Whether nothing but the plain sum is proved: beside a delta, a law-based release, or the charge of another
        table that made a column public of which this belief was not told."""
        told = {name for c in self.charges for name in _public_in(c.charge.reads)}
        more = {name for c in rest for name in _public_in(c.charge.reads)}
        pure = all(c.charge.kind != LAW and c.charge.guarantee.pure for c in (*self.charges, *rest))
        return not pure or not more <= told or (self.worth is None and bool(self.charges))


def standing(place: Place, data: str) -> Standing | None:
    """A data set of a ledger as it stands now; None where there is no such ledger, or nothing in it binds the name."""
    return Books(place, 30.0).find(lambda view: Standing.of(view, data) if view.state.binds(data) else None)


def epsilons(charges: Sequence[Charges]) -> Fraction:
    """The sum of the plain epsilons of charges; those of divergences count as nothing, for they have none."""
    listed = (c for c in charges if not c.charge.guarantee.renyi)
    return sum((exact(c.charge.guarantee.epsilon) * c.count for c in listed), Fraction(0))


def _told(reads: str | None, key: str) -> list[str]:
    """What a charge says of each of its questions; each thing once."""
    try:
        found = [q.get(key) for q in json.loads(reads or "{}").get("questions", ())]
        return list(dict.fromkeys(str(name) for name in found if name is not None))
    except (ValueError, AttributeError, TypeError):
        return []


def _public_in(reads: str | None) -> list[str]:
    """The columns that a charge made public, by asking for their groups' sizes or by them."""
    try:
        return [*map(str, json.loads(reads or "{}").get("public", ())), *_told(reads, "by")]
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
            told = "; ".join(_told(charge.reads, "query"))
            entries.append(Entry(own, request, asked.state, *terms, worth, against_anybody([Charges(charge)]), told))
    return entries


def settled(view: LockedView, data: str, request: str) -> events.Event | None:
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
    passed = {events.START}
    found = view.whole(lambda event: passed.add(event.hash) if head is not None else None)
    if head is not None and head.strip().lower() not in passed - {events.START}:
        raise LedgerBroken(
            "the ledger does not contain the given head: it was rolled back to an older copy, replaced or rewritten, "
            "so what was spent is not known. Restore the newest copy"
        )
    return found.head


def export(view: LockedView) -> dict[str, Any]:
    """Every event with its hash, and the head: keep it elsewhere, and a rolled-back ledger will be noticed."""
    passed: list[events.Event] = []
    found = view.whole(passed.append)
    told = [{"seq": e.seq, "at": e.at, "kind": e.kind, "body": e.body, "hash": e.hash} for e in passed]
    return {"schema": f"fugu/ledger/{log.FORMAT}", "head": found.head, "events": told}


def save(content: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write an export, whole or not at all."""
    write_text(path, visible_json(json.dumps(content, indent=1, ensure_ascii=False)) + "\n")


def copy(view: LockedView, place: Place) -> str:
    """A copy of the whole ledger, of one moment, once it was checked, in a file or a database; private, as it is. Its
    head, which is the copy's too.

    The key is not part of it: whoever is to charge the copy needs its key file too."""
    head = verify(view)
    Books(place).store.fill(view)
    return head


# A charge is granted if it fits for every person of its table
# (docs/proofs/composition.md#one-person-in-several-tables):
#
# - Charges for each record add for each person, whatever the tables are called: (epsilon, delta) by (epsilon, delta).
# - Of a data set with a belief about independent records, the promise is what its own charges are worth under that
#   belief
#   plus the plain epsilons of all others: what its record says of those of other tables is nothing that the belief
#   knows. With a delta among them, or columns that others made public, it is the plain sum.
# - Law-based releases of a person's data add with nothing, and neither do charges under beliefs about chains or fields.
#
# Every budget and every cap of a data set that holds the person is held, so the smallest counts. Against anybody
# epsilons add in any case.


_FREE = Charges(Charge.per_entry(0), planned=True)


@dataclass
class Shared:
    """In which other data sets of the ledger the people of one are; looked up again when data sets were added."""

    name: str
    _seen: object = None
    _groups: list[frozenset[str]] = field(default_factory=list)
    _sets: dict[str, Words] = field(default_factory=dict)

    def others(self, view: LockedView) -> list[list[Standing]]:
        """Each largest combination of other data sets that hold one person of this one, those to which something was
        charged; none where nobody is in any."""
        stored = {name: (known.people, known.rows, known.words) for name, known in view.state.sets.items()}
        if stored != self._seen:
            self._groups, self._seen = self._looked_up(view), stored
        groups = ([Standing.of(view, name) for name in sorted(group)] for group in self._groups)
        return [charged for group in groups if (charged := [one for one in group if one.charges])]

    def _looked_up(self, view: LockedView) -> list[frozenset[str]]:
        own = view.state.sets[self.name]
        others = {name: known for name, known in view.state.sets.items() if name != self.name}
        words = {name: view.state.words(self.name, name) for name in others}
        held = dict.fromkeys(held for known in (own, *others.values()) for held in known.people) if others else {}
        groups, linked = {frozenset[str]()}, set()
        for part in aligned([self._read(view, each) for each in held]):
            sets = {digest: bits for (digest, *_), bits in zip(held, part, strict=True)}
            mine, people = _union(sets, own), {}
            for name, known in others.items():
                both = mine[within(mine, _union(sets, known))]
                for here, there in words[name]:  # other people, if both were there when it was said
                    both = both[~(within(both, _union(sets, own, here)) & within(both, _union(sets, known, there)))]
                if len(both):
                    people[name] = both
            groups.update(memberships(mine, people))
        for name in others.keys() - frozenset[str]().union(*groups):
            rows = [(a, b) for a in own.rows for b in others[name].rows
                    if not any(a[0] in x and b[0] in y for x, y in words[name])]  # fmt: skip
            if any(beyond_chance(self._read(view, a), self._read(view, b)) for a, b in rows):
                linked.add(name)
        return largest(group | linked for group in groups)

    def _read(self, view: LockedView, held: StoredSet) -> Increasing:
        """A stored set; a little one is read once."""
        if held[2] > log.LARGE:
            return view.stored(held)
        if held[0] not in self._sets:
            self._sets[held[0]] = Words.of(np.concatenate(list(view.stored(held).each())))
        return self._sets[held[0]]


def _union(sets: Mapping[str, Bits], known: Registered, only: tuple[str, ...] | None = None) -> Bits:
    """The people of a data set, or of those of its sets that are named."""
    named = [sets[digest] for digest, *_ in known.people if only is None or digest in only]
    return reduce(np.union1d, named, np.empty(0, np.uint64))


@dataclass(frozen=True)
class Elsewhere:
    """What was charged to somebody of a table elsewhere: `charges` of other data sets, those of the person who has the
    largest sum of epsilons; `plain`: whether nothing but the plain sum is proved beside them; `named`: where."""

    charges: tuple[Charges, ...] = ()
    plain: bool = False
    named: tuple[str, ...] = ()

    @staticmethod
    def of(own: Standing, others: Sequence[list[Standing]]) -> Elsewhere:
        """As it stands now, for the people of a data set who are in each of the `others` together."""
        listed = [(tuple(c for s in group for c in s.charges), tuple(s.name for s in group)) for group in others]
        most, named = max(listed, key=lambda each: epsilons(each[0]), default=((), ()))
        return Elsewhere(most, (bool(most) and own.plain(most)) or own.plain(()), named)


# What the file of a ledger says of each data set: asked, spent for each entry, worth under the prior, left.
#
# The prior is not in the file. What charges are worth under it was worked out when they were made, and is written
# beside them; ledgers of earlier versions have no such line, and then nothing is said of what is left.


BEFORE = "for each entry, its prior left aside"
HELD = "held against the budget"


@dataclass(frozen=True)
class Account:
    """One data set: `worth` is what its charges promise together, translated with the prior if there is one, None where
    that is not known; `left` of the budget. `spent` adds the charges as they are, None where that says nothing; `why`
    says why. Where people of it are in `others` too, all of it is of the person with the largest sum, `left` is the
    least of any budget, and the cap the least, of those that hold a person; where charges do not add up (`why`) nothing
    is left."""

    own: Standing
    worth: Guarantee | None
    left: Guarantee | None
    spent: Guarantee | None = None
    why: NotComposable | str = ""
    anybody: Guarantee | None = None
    """What the charges promise together against anybody; None where one of them promises nothing."""
    others: tuple[str, ...] = ()
    asked: Mapping[str, int] = field(default_factory=dict)
    """How many requests are in each state."""

    def beside(self, more: Account) -> Account:
        """The same for these and other people."""
        pairs = ((max, self.worth, more.worth), (min, self.left, more.left), (max, self.anybody, more.anybody))
        worth, rest, anybody = (None if x is None or y is None else _by_part(pick, x, y) for pick, x, y in pairs)
        cap = min((cap for cap in (self.own.cap, more.own.cap) if cap is not None), default=None)
        others, own = tuple(sorted({*self.others, *more.others})), replace(self.own, cap=cap)
        return Account(own, worth, rest, why=self.why or more.why, anybody=anybody, others=others)

    @property
    def rest(self) -> str:
        """What is left, under the beliefs and against anybody, in words; nothing where it is not known."""
        listed = [] if self.left is None else [remainder(self.left, self.own.budget)]
        if self.own.cap is not None and self.anybody is not None:
            unspent = max(self.own.cap - exact(self.anybody.epsilon), Fraction(0))
            listed.append(f"against anybody {remainder(unspent, self.own.cap)}")
        return "; ".join(listed)

    def to_json(self) -> Json:
        """Plain data, with guarantees as they are."""
        known = self.own.known
        return {
            "name": self.own.name, "budget": self.own.budget, "requests": self.asked, "spent": self.spent,
            "spent is": str(self.why) or (BEFORE if self.translated else HELD), "worth": self.worth,
            "left": self.left, "quote": self.quoted, "against anybody": self.anybody,
            "people also in": list(self.others), "cap": self.own.cap,
            "fingerprint": known.marks[0] if known.marks else None, "prior": known.prior,
            "believed": known.believed, "entries": known.entries,
        }  # fmt: skip

    @property
    def translated(self) -> bool:
        """Whether what was spent for each entry is not yet what is held against the budget."""
        return self.own.known.prior is not None and self.spent is not None and self.spent != self.worth

    @property
    def quoted(self) -> tuple[str, ...]:
        """What all charges so far promise together, as lines to quote; nothing where that is not known."""
        believes = "what was stated with each release" if self.own.known.prior is None else "its prior"
        return () if self.worth is None else quote(self.worth, self.anybody, believes, self.whom)

    @property
    def whom(self) -> str:
        """What the promise against anybody is about: of records, or of the entries that its prior links."""
        by_record = self.own.known.prior is None or any(c.charge.reads for c in self.own.charges)
        return ANYBODY if by_record else EACH_ENTRY

    def words(self) -> list[tuple[str, str]]:
        """The account, line by line: what it is about, and what is said."""
        states, count = ", ".join(f"{n} {state}" for state, n in self.asked.items()), sum(self.asked.values())
        asked = f"{count} request{'s' if count > 1 else ''}: {states}" if count else "nothing yet"
        tied, cap = self.own.known.prior is not None, self.own.cap
        before = f" {BEFORE}" if self.translated else ""
        way = before if tied else ", the entries counted as independent"
        inside = "price" if self.translated else "spent"
        lines = [("asked", asked), (inside, str(self.why) if self.spent is None else f"{promise(self.spent)}{way}")]
        if tied and self.spent is not None:
            unknown = "not known: the file does not hold the prior; open the ledger with it and ask spent()"
            lines.append(("worth", unknown if self.worth is None else f"{promise(self.worth)} with its prior"))
        lines += [("left", remainder(self.left, self.own.budget))] if self.left is not None else []
        lines += [("cap", f"{promise(cap)} against anybody")] if cap is not None else []
        if self.others:
            named = ", ".join(map(repr, self.others))
            most = "this holds for whoever has the largest sum; charges there count in full"
            lines.append(("people", f" of it are in {named} too: {most}"))
        return lines


def held(own: Standing, others: Sequence[list[Standing]]) -> Account | None:
    """What holds for those of a data set who are in others to which something was charged; None if nobody is."""
    return reduce(Account.beside, [_held(own, group) for group in others]) if others else None


def _held(own: Standing, others: list[Standing]) -> Account:
    everybody = [own, *others] = [s.described() for s in (own, *others)]
    least = min((s.cap for s in everybody if s.cap is not None), default=None)
    anybody, names = against_anybody([c for s in everybody for c in s.charges]), tuple(s.name for s in others)
    nothing = left_of(Approx(math.inf, own.budget.delta), own.budget)
    account = Account(replace(own, cap=least), None, nothing, anybody=anybody, others=names)
    try:
        _require_addable(everybody)
        worth = own.promise([c for s in others for c in s.charges], names)
        rest = nothing if not fits(worth, own.budget) else left_of(worth, own.budget)
        for one in others:  # would it take a charge that costs nothing, and what could that cost?
            rest_of = [s for s in everybody if s is not one]
            after = one.promise([*(c for s in rest_of for c in s.charges), _FREE], [s.name for s in rest_of])
            rest = _by_part(min, rest, left_of(after, one.budget)) if fits(after, one.budget) else nothing
    except NotComposable as why:
        return replace(account, why=why)
    return replace(account, worth=worth, left=rest)


def _by_part(pick: Callable[..., Real], one: Guarantee, other: Guarantee) -> Guarantee:
    """The larger or smaller epsilon and delta of two; of divergences the one that is."""
    if one.renyi or other.renyi:
        return other if (one <= other) == (pick is max) else one
    epsilon, delta = pick(one.epsilon, other.epsilon, key=exact), pick(one.delta, other.delta, key=exact)
    return Approx(epsilon, delta) if delta else Pure(epsilon)


def refusal(own: Standing, groups: Sequence[list[Standing]], new: Charges) -> FuguError | None:
    """Why a charge that fits its own data set cannot be taken: somebody in it is in other data sets, and there it does
    not fit; or None. `own`: the data set with the new charge, and what they are worth together."""
    try:
        for others in groups:
            everybody = [own, *others]
            named = ", ".join(repr(s.name) for s in others)
            all_of_it = against_anybody([c for s in everybody for c in s.charges])
            _require_addable(everybody)
            for one in everybody:
                rest = [s for s in everybody if s is not one]
                after = one.promise([c for s in rest for c in s.charges], [s.name for s in rest])
                if not fits(after, one.budget):
                    return over_shared(own.name, named, one.name, new.charge.guarantee, after, one.budget)
                if one.cap is not None and (all_of_it is None or exact(all_of_it.epsilon) > one.cap):
                    asked, cap = against_anybody([new]), Pure(plain(one.cap))
                    return over_shared(own.name, named, one.name, asked, all_of_it, cap, " against anybody")
    except NotComposable as why:
        return why
    return None


def _require_addable(everybody: list[Standing]) -> None:
    if any(s.by_law for s in everybody):
        named = ", ".join(repr(s.name) for s in everybody[1:])
        raise NotComposable(
            f"people of this table are in {named} too, and a law-based release adds with no other release about the "
            "same person: two that leak nothing alone can reveal everything together",
            "ask for statistics on the records route or for trainings with independent rows, whose charges add for "
            f"each person; or, if these are other people than those of {named}, say so (other_people=, --other-people)",
        )


def accounts(view: LockedView, requests: Sequence[Entry]) -> list[Account]:
    """The account of every data set, by name, of all `requests` of the file."""
    each: dict[str, list[Entry]] = defaultdict(list)
    for entry in requests:
        each[entry.data].append(entry)
    read: dict[str, Words] = {}
    found = []
    for name in sorted(view.state.sets):
        alone = _account(Standing.of(view, name), each[name])
        shared = held(alone.own, Shared(name, _sets=read).others(view))
        if shared is None:
            found.append(alone)
        elif shared.why:
            found.append(replace(alone, spent=None, worth=None, left=shared.left, others=shared.others, why=shared.why))
        else:  # charges there are plain
            spent = shared.worth if alone.own.known.prior is None else shared.anybody or shared.worth
            own = replace(alone.own, cap=shared.own.cap)
            found.append(replace(shared, own=own, spent=spent, asked=alone.asked))
    return found


def _account(own: Standing, requests: list[Entry]) -> Account:
    """Of one data set alone."""
    tied = own.known.prior is not None
    charged = [entry for entry in requests if entry.state in CHARGED]
    worth, spent, why = charged[-1].worth if charged and tied else None, None, ""
    try:
        spent = total(own.charges, Terms(own.budget, None, own.known.entries, told=True))  # granted is granted
        if not tied or not own.charges or own.by_law or spent == Pure(0):
            worth = spent
    except NotProvable as error:
        why = f"needs the data set's prior ({error})" if worth is None else f"{worth!r} under its prior"
    rest, asked = None if worth is None else left_of(worth, own.budget), Counter(entry.state for entry in requests)
    return Account(own, worth, rest, spent, why, against_anybody(own.charges), asked=dict(asked))
