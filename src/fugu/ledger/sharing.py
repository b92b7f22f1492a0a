"""One person, one budget, in however many tables; what the file says of each data set."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np

from fugu.errors import FuguError, NotComposable, NotProvable
from fugu.guarantee import Approx, Guarantee, Pure
from fugu.guarantee.asks import exact, plain
from fugu.guarantee.composition import both, fits, promise
from fugu.ledger.accountant import Charges, Terms, against_anybody, total
from fugu.ledger.books import Entry, Standing, epsilons, over_shared
from fugu.ledger.charge import Charge, left
from fugu.ledger.fingerprint import Tokens, beyond_chance, largest, memberships, within
from fugu.ledger.state import CHARGED, Registered
from fugu.ledger.store import LockedView
from fugu.numbers.exact import Real

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
    _sets: dict[str, Tokens] = field(default_factory=dict)

    def others(self, view: LockedView) -> list[list[Standing]]:
        """Each largest combination of other data sets that hold one person of this one, those to which something was
        charged; none where nobody is in any."""
        stored = {name: (known.people, known.rows, known.words) for name, known in view.state.sets.items()}
        if stored != self._seen:
            self._groups, self._seen = self._looked_up(view), stored
        groups = ([Standing.of(view, name) for name in sorted(group)] for group in self._groups)
        return [charged for group in groups if (charged := [one for one in group if one.charges])]

    def _looked_up(self, view: LockedView) -> list[frozenset[str]]:
        sets = view.state.sets
        own = sets[self.name]
        people, linked = {}, set()
        mine = self._union(view, own)
        for name, known in sets.items():
            if name == self.name:
                continue
            words = view.state.words(self.name, name)
            both = mine[within(mine, self._union(view, known))]
            for here, there in words:  # other people, if both were there when it was said
                told = within(both, self._union(view, own, here)) & within(both, self._union(view, known, there))
                both = both[~told]
            rows = [(a, b) for a in own.rows for b in known.rows if not any(a[0] in x and b[0] in y for x, y in words)]
            if len(both):
                people[name] = both
            elif any(beyond_chance(self._read(view, a), self._read(view, b)) for a, b in rows):
                linked.add(name)
        return largest(group | linked for group in memberships(mine, people))

    def _union(self, view: LockedView, known: Registered, only: tuple[str, ...] | None = None) -> Tokens:
        """The people of a data set, or of those of its sets that are named."""
        sets = [self._read(view, held) for held in known.people if only is None or held[0] in only]
        return reduce(np.union1d, sets, np.empty(0, np.uint64))

    def _read(self, view: LockedView, held: tuple[str, int, int]) -> Tokens:
        if held[0] not in self._sets:
            self._sets[held[0]] = view.stored(held)
        return self._sets[held[0]]


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


BEFORE = "for each entry, before translation with its prior"
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
    def translated(self) -> bool:
        """Whether what was spent for each entry is not yet what is held against the budget."""
        return self.own.known.prior is not None and self.spent is not None and self.spent != self.worth

    def words(self) -> list[tuple[str, str]]:
        """The account, line by line: what it is about, and what is said; both promises so far in one sentence."""
        states, count = ", ".join(f"{n} {state}" for state, n in self.asked.items()), sum(self.asked.values())
        asked = f"{count} request{'s' if count > 1 else ''}: {states}" if count else "nothing yet"
        tied, cap = self.own.known.prior is not None, self.own.cap
        before = f" {BEFORE}" if self.translated else ""
        way = before if tied else ", the entries counted as independent"
        lines = [("asked", asked), ("spent", str(self.why) if self.spent is None else f"{self.spent!r}{way}")]
        if tied and self.spent is not None:
            worth = promise(self.worth) if self.others else repr(self.worth)
            unknown = "not known: the file does not hold the prior; open the ledger with it and ask spent()"
            lines.append(("worth", unknown if self.worth is None else f"{worth} after translation with its prior"))
        lines += [("left", f"{self.left!r} of {self.own.budget!r}")] if self.left is not None else []
        if self.worth is not None:
            both_of = both(self.worth, self.anybody, "its prior" if tied else "the stated beliefs")
            lines.append(("both", both_of + ("" if cap is None else f" (cap {promise(cap)})")))
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
    nothing = left(Approx(math.inf, own.budget.delta), own.budget)
    account = Account(replace(own, cap=least), None, nothing, anybody=anybody, others=names)
    try:
        _require_addable(everybody)
        worth = own.promise([c for s in others for c in s.charges])
        rest = nothing if not fits(worth, own.budget) else left(worth, own.budget)
        for one in others:  # would it take a charge that costs nothing, and what could that cost?
            after = one.promise([*(c for s in everybody if s is not one for c in s.charges), _FREE])
            rest = _by_part(min, rest, left(after, one.budget)) if fits(after, one.budget) else nothing
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
                after = one.promise([c for s in everybody if s is not one for c in s.charges])
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
    read: dict[str, Tokens] = {}
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
    charges = own.described().charges if tied else own.charges  # what was granted is granted
    charged = [entry for entry in requests if entry.state in CHARGED]
    worth, spent, why = charged[-1].worth if charged and tied else None, None, ""
    try:
        spent = total(charges, Terms(own.budget, None, own.known.entries))
        if not tied or not charges or own.by_law or spent == Pure(0):
            worth = spent
    except NotProvable as error:
        why = f"needs the data set's prior ({error})" if worth is None else f"{worth!r} under its prior"
    rest, asked = None if worth is None else left(worth, own.budget), Counter(entry.state for entry in requests)
    return Account(own, worth, rest, spent, why, against_anybody(charges), asked=dict(asked))
