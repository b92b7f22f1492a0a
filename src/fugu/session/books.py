"""Where a session keeps its books, in memory or in a ledger, and all that is fixed before the private table is seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeVar, cast, final

from fugu.data import Schema
from fugu.data.field import IDENTIFIER, Field
from fugu.data.frame import Table, TableLike
from fugu.data.private import Private
from fugu.data.secrets import ProtectLike, read_protect
from fugu.data.spark import SparkColumns
from fugu.errors import (
    BadBudget,
    BadTable,
    BudgetExceeded,
    BudgetRefused,
    ColumnNotFound,
    NotComposable,
    PriorNotPublic,
    RequestReused,
    UsageError,
)
from fugu.guarantee import Approx, Pure, is_guarantee
from fugu.guarantee.asks import exact, plain
from fugu.ledger import Books, Charge, Ledger, Marks
from fugu.ledger import books as entries
from fugu.ledger.accountant import Terms, against_anybody, for_shared
from fugu.ledger.books import Elsewhere, epsilons, standing
from fugu.ledger.charge import LAW, left
from fugu.ledger.events import CHARGED
from fugu.ledger.frames import opened_marks
from fugu.ledger.keys import Place
from fugu.ledger.registration import Opening, known_already
from fugu.numbers.exact import Real, number
from fugu.queries.groups import ExpectedGroups, PublicGroups, declared_schema, open_table, require_column, same_rows
from fugu.queries.kinds import Options
from fugu.queries.statistic import Charged, NoisedQuestion, StatisticQuestion, questions_in, split
from fugu.queries.table_belief import TableBelief, Worth
from fugu.utility.usable import RowsFor
from fugu.visible import several

# Where a session keeps its books: in memory for one process, or in a ledger for all that share its file.
#
# Both hold the same: which questions were charged under which request, and what was drawn for them. A charge stands
# before anything is drawn; the same request gets the same answer for nothing.


Value = TypeVar("Value")
FOLD = 5
"""The cap in budgets, unless one is given. A convention: on real tables 4 to 13 % more error than without a cap, and
4.9 times less than with ordinary privacy at the budget."""


@dataclass
class SessionBooks:
    """All charges of one table, and the answers that they paid for: in memory, so that they end with the session, and
    another one of the same data knows nothing of them.

    `own_cap`: what the epsilons of one record may add up to, the most that all answers promise away against anybody.
    `opened`: whether the belief is about the groups of the private table. `so_far`: of a rehearsal the charges that it
    sees, of which some stand in no books; nothing is charged in it."""

    belief: TableBelief
    budget: Pure
    own_cap: Fraction
    opened: bool = False
    so_far: Charged | None = None
    _charged: dict[str, Charge] = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)

    @property
    def cap(self) -> Fraction:
        """What one record's epsilons may add up to now."""
        return self.own_cap

    def open(self, seen: Opened) -> SessionBooks:
        """The same, of a table that is open; what is believed of its groups is known now."""
        return replace(self, belief=seen.belief, opened=True)

    def charges(self) -> Charged:
        """All charges as they stand now."""
        own = [(charge.guarantee, charge.reads, 1) for charge in self._charged.values()]
        return own if self.so_far is None else self.so_far

    def charge_of(self, request: str) -> Charge | None:
        """What a request was charged; None if it was not."""
        return self._charged.get(request)

    def find(self, request: str) -> list[NoisedQuestion] | None:
        """The questions that a request was charged for; None if it was not."""
        charge = self.charge_of(request)
        return None if charge is None else list(questions_in(charge.reads))

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:
        """Charge, then run `produce` once and keep what it returns; the same request returns it again for nothing."""
        assert self.opened  # what is charged opens the table first
        assert self.so_far is None  # nothing is charged in a rehearsal
        if request in self._charged and self._charged[request].text() != charge.text():
            raise RequestReused(
                f"request {request!r} stands for another question; one name is one charge and one value, so give a new "
                "question a new name"
            )
        if request not in self._charged:
            require_within(self, exact(charge.guarantee.epsilon), self.beside(charge).worth())
            self._charged[request] = charge
        if request not in self._values:
            self._values[request] = produce()
        found: Value = self._values[request]
        return found

    def worth(self) -> Worth:
        """What everything charged so far is worth, proved: under the beliefs, and against anybody."""
        return self.belief.worth(self.belief.read(self.charges()))

    def beside(self, *charges: Charge) -> Self:
        """The books as they would be with more charges, which stand nowhere."""
        return replace(self, so_far=[*self.charges(), *((charge.guarantee, charge.reads, 1) for charge in charges)])

    def spent(self) -> Fraction:
        """What everything charged so far is worth under the beliefs, proved."""
        return self.worth().spent

    def amounts(self) -> tuple[Pure, Pure]:
        """What is spent, and what remains of the budget."""
        found = Pure(plain(self.spent()))
        return found, Pure(left(found, self.budget).epsilon)

    def standing(self) -> tuple[Pure, Pure, Pure, Pure]:
        """Spent and left under the beliefs, what all answers promise against anybody, and the cap."""
        return *self.amounts(), Pure(plain(self.worth().any_belief)), Pure(plain(self.cap))

    def elsewhere(self) -> Elsewhere:
        """What was charged to people of the table in other data sets of a ledger."""
        return Elsewhere()

    def require_terms(self) -> None:
        """Refuse another budget or belief than the table has in the ledger."""


@final
@dataclass(kw_only=True)
class LedgerBooks(SessionBooks):
    """The books of a session in a ledger: it decides, inside its lock, with all charges that are on disk. Until the
    table is opened the file is read, and nothing is written to it.

    `path`: the ledger; `data`: the name of the table in it. `allowed`: its whole budget. `asked`: the cap that was
    given, None for that of the data set. `others`: data sets of other people, by the user's word."""

    path: Place
    data: str
    allowed: Pure | Approx
    asked: Fraction | None
    others: tuple[str, ...]
    ledger: Ledger | None = None

    def open(self, seen: Opened) -> LedgerBooks:
        """Another budget, cap, belief or table than those of the data set is refused, and one from the law route.

        Without a cap it is that of the data set; one that has none, from before 0.4, gets `FOLD` times the budget, and
        where it promises more than that already, nothing more is granted."""
        require_records(self.path, self.data)
        belief = seen.belief
        terms: dict[str, Any] = {"data": self.data, "prior": belief, "fingerprint": seen.marks(), "late": True}
        ledger = Ledger(self.path, self.allowed, cap=self.asked, other_people=self.others, **terms)
        cap = ledger.cap
        if cap is None:
            cap, found = FOLD * exact(self.allowed.epsilon), against_anybody(ledger.charges(), belief)
            summed = cap if found is None else exact(found.epsilon)
            if summed <= cap:
                ledger = Ledger(self.path, self.allowed, cap=cap, **terms)
            cap = max(cap, summed)
        return replace(self, belief=belief, opened=True, own_cap=cap, ledger=ledger)

    @property
    def cap(self) -> Fraction:
        """Less what releases with a delta have of their own, about this table or its people elsewhere. Beside them, or
        beside columns that became public elsewhere, the plain sum is held against the budget, too."""
        if self.ledger is None:
            return self.own_cap
        elsewhere = self.elsewhere()
        beside = [c for c in (*self.ledger.charges(), *elsewhere.charges) if not c.charge.guarantee.pure]
        most = min(self.own_cap, exact(self.budget.epsilon)) if beside or elsewhere.plain else self.own_cap
        return max(most - epsilons(beside), Fraction(0))

    def charges(self) -> Charged:
        """Those of this table, and the plain sum of what was charged to one of its people elsewhere; but for releases
        with a delta, which no session speaks of."""
        if self.so_far is not None:
            return self.so_far
        listed = (self._read(entries.charges, self.data) or []) if self.ledger is None else self.ledger.charges()
        if any(c.charge.kind == LAW for c in listed):
            raise NotComposable(
                "the ledger holds a law-based release of this data, which used up the randomness of the other records",
                "keep law-based releases to tables of which nothing else is asked",
            )
        own = [(c.charge.guarantee, c.charge.reads, c.count) for c in listed if c.charge.guarantee.pure]
        apart = pure_in(self.elsewhere())
        return [*own, (Pure(plain(apart)), None, 1)] if apart else own

    def worth(self) -> Worth:
        """Before the table is opened, what the ledger proved when it took the last charge, with the groups that the
        table has; where an earlier version did not keep that, the sum of epsilons, which is no less, and which holds
        against anybody."""
        if self.ledger is not None or self.so_far is not None:
            return super().worth()
        summed = sum((exact(guarantee.epsilon) * count for guarantee, _, count in self.charges()), Fraction(0))
        history = [entry.worth for entry in self._read(entries.history, self.data) or () if entry.state in CHARGED]
        proved = all(isinstance(worth, Pure) for worth in history)
        spent = max((exact(worth.epsilon) for worth in history), default=Fraction(0)) if proved else summed
        return Worth(spent, summed, (), ())

    def amounts(self) -> tuple[Pure, Pure]:
        """As the ledger has them: beside a delta it counts the plain sum, and of people who are in another table no
        more is left than is left of that."""
        spent, rest = super().amounts()
        if self.ledger is None:
            return spent, rest
        with suppress(NotComposable):
            spent = max(spent, Pure(self.ledger.spent().epsilon), key=lambda amount: exact(amount.epsilon))
        return spent, min(rest, Pure(self.ledger.remaining().epsilon), key=lambda amount: exact(amount.epsilon))

    def elsewhere(self) -> Elsewhere:
        return Elsewhere() if self.ledger is None else self.ledger.elsewhere()

    def charge_of(self, request: str) -> Charge | None:
        if self.ledger is not None:
            return self.ledger.charge_of(request)
        charge: Charge | None = self._read(entries.charge_of, self.data, request)
        return charge

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:
        assert self.ledger is not None  # what is charged opens the table first
        assert self.so_far is None  # nothing is charged in a rehearsal
        if self.ledger.cap is None and self.find(request) is None:  # it promises more than a cap already
            require_within(self, exact(charge.guarantee.epsilon), self.beside(charge).worth())
        return self.ledger.spend(request, charge, produce)

    def require_terms(self) -> None:
        if self.ledger is None:
            require_records(self.path, self.data)
            self._read(known_already, Opening(self.path, self.data, Terms(self.allowed, self.belief, None)))

    def _read(self, what: Any, *args: Any) -> Any:
        return Books(self.path).find(what, *args)


def require_records(path: Place, data: str) -> None:
    """Refuse a table that a ledger has from the law route: what the two promise together is not known."""
    known = standing(path, data)
    if known is not None and known.by_law:
        raise BudgetRefused(
            f"{data!r} was released by the law route, as a column or as a model, and questions that are charged to "
            "each record do not compose with that: the other records' randomness is used up. Ask them first, of a "
            "table of which nothing else was released"
        )


def cap_of(cap: Real | None) -> Fraction | None:
    """What all answers together may promise away against anybody, as given; None for `FOLD` times the budget."""
    if cap is None:
        return None
    found = number(cap, "cap")
    if found == 0:
        raise UsageError("cap is the epsilon of all answers together against anybody: a number above 0, got 0")
    return found


def charge_for(questions: Sequence[NoisedQuestion], public: Sequence[str] = ()) -> Charge:
    """The charge of questions that are answered together: the sum of their epsilons, and all that it follows from.

    `public`: columns whose groups become public without a question that is charged."""
    total = sum((q.most for q in questions), Fraction(0))
    reads: dict[str, object] = {"questions": [q.to_json() for q in questions]}
    return Charge.per_entry(Pure(plain(total)), reads=reads | ({"public": list(public)} if public else {}))


def require_within(books: SessionBooks, asked: Fraction, after: Worth) -> None:
    """`BudgetExceeded` unless what everything would be `after` a charge of `asked` is within the budget and the cap."""
    if after.spent > exact(books.budget.epsilon):
        raise exceeded(books, books.spent(), asked, after.spent)
    if after.any_belief > books.cap:
        raise beyond(books, asked, after.any_belief)


def beyond(books: SessionBooks, asked: Fraction, after: Fraction) -> BudgetExceeded:
    """The refusal of a question that the cap does not allow, whatever it costs under the beliefs."""
    summed, cap = books.worth().any_belief, books.cap
    rest = Pure(plain(max(cap - summed, Fraction(0))))
    return BudgetExceeded(
        f"the cap does not allow this: against anybody the answers so far promise epsilon {float(summed):.6g} of "
        f"{float(cap):g}, and with it {float(after):.6g}. Ask with a smaller epsilon, or open the session with a "
        f"larger cap{people_elsewhere(books)}",
        spent=Pure(plain(summed)), asked=Pure(plain(asked)), left=rest, budget=Pure(plain(cap)),
    )  # fmt: skip


def exceeded(books: SessionBooks, spent: Fraction, asked: Fraction, after: Fraction) -> BudgetExceeded:
    """The refusal of a question that the budget does not allow."""
    before, budget, there = Pure(plain(spent)), books.budget, pure_in(books.elsewhere())
    rest = left(before, budget)
    here = f"{float(spent - there):.6g} here and {float(there):.6g} elsewhere," if there else f"{float(spent):.6g}"
    capped = books.worth().any_belief >= books.cap  # then no epsilon helps
    smaller = "" if capped or (there and not rest.epsilon) else "Ask with a smaller epsilon, or repeat"
    return BudgetExceeded(
        f"the budget does not allow this: spent {here} of {float(budget.epsilon):g}, and with it {float(after):.6g}; "
        f"left is {float(rest.epsilon):.6g}{', but nothing of the cap' if capped else ''}. {smaller or 'Repeat'} an "
        "earlier question, which costs nothing"
        f"{people_elsewhere(books)}",
        spent=before, asked=Pure(plain(asked)), left=rest, budget=budget,
    )  # fmt: skip


def people_elsewhere(books: SessionBooks) -> str:
    """That people of the table are in other data sets too, and what can be done; nothing if nobody is."""
    named = ", ".join(map(repr, books.elsewhere().named))
    return "" if not named else (
        f". People of this table are in {named} too, and a person has one budget, whatever tables are called: what was "
        "charged to them there, for each record, counts in full, for beliefs about this table say nothing of it. "
        f"{for_shared(True)}"
    )  # fmt: skip


def pure_in(elsewhere: Elsewhere) -> Fraction:
    """The sum of the plain epsilons of what was charged elsewhere, but for releases with a delta."""
    return epsilons([c for c in elsewhere.charges if c.charge.guarantee.pure])


_OPTIONS = {"query", "bounds", "step", "bins", "grid"}


def allowance(epsilon: Real | None) -> Fraction | None:
    """How far a question may raise what is spent; None for what is usual."""
    if epsilon is None:
        return None
    if (allowed := number(epsilon, "epsilon")) <= 0:
        raise BadBudget("a question costs something, so its epsilon is a number above 0")
    return allowed


def items_of(questions: object) -> list[tuple[StatisticQuestion, Options]]:
    """The questions of a list, or of a line such as "count, mean(chol) by ward", in which "by" is for all of them."""
    listed = split(questions) if isinstance(questions, str) else questions
    listed = [listed] if isinstance(listed, StatisticQuestion) else listed
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError("questions is a list of at least one question")
    return [item_of(item) for item in listed]


def item_of(item: object) -> tuple[StatisticQuestion, Options]:
    """A question of a list: its text, or a dict with "query" and options."""
    if isinstance(item, str | StatisticQuestion):
        return item if isinstance(item, StatisticQuestion) else StatisticQuestion.parse(item), Options()
    if not isinstance(item, Mapping) or "query" not in item or not set(item) <= _OPTIONS:
        raise UsageError(f"a question of a list is a text, or a dict with query and {', '.join(sorted(_OPTIONS))}")
    options = {name: value for name, value in item.items() if name != "query"}
    return StatisticQuestion.parse(item["query"]), Options(**options)


# Opening a session: everything that is fixed before the private table is looked at, and then the one look at it.


@final
@dataclass(frozen=True, eq=False)
class Opened:
    """A private table read through a public schema, and what is believed about it."""

    private: Private
    belief: TableBelief

    @cached_property
    def _marks(self) -> Marks:
        return opened_marks(self.private, self.belief.unit)

    def marks(self) -> Marks:
        """What a ledger recognises it by; worked out once, where somebody asks."""
        return self._marks


def open_session(belief: TableBelief, rows: RowsFor, table: TableLike) -> Opened:
    """Open the private table, once. Refused: the reference itself, no rows, another number of rows than declared, a
    unit that repeats."""
    unit, known, today = belief.unit, belief.groups, belief.reading.open(table)
    if unit is not None and unit not in today.columns:
        raise ColumnNotFound(unit, today.columns)
    columns = [name for name in belief.reading.fields if name in today.columns]
    private = open_table(today, belief.reading, columns, unit, rows)
    common = [name for name in private.whole.columns if name in known.reference.columns and name != unit]
    there = Private(belief.reading, (), known.reference)
    if common and same_rows(there, private, ((name, Field(IDENTIFIER)) for name in common)):
        raise PriorNotPublic(
            "the reference is the very table to be released: what a question costs would depend on it. Give "
            "another table, such as last year's"
        )
    return Opened(private, belief.with_groups(PublicGroups(known.declared, known.reference, known.secrets, private)))


_KEPT: ContextVar[dict[str, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def keeping(kept: dict[str, Any]) -> Iterator[None]:
    """Within, what a reference file says is worked out once, and the search for a price begins where that for another
    epsilon ended: for who looks at one plan again and again, and throws `kept` away when the file changes."""
    token = _KEPT.set(kept)
    try:
        yield
    finally:
        _KEPT.reset(token)


def public_facts(
    reference: TableLike, protect: ProtectLike, schema: Schema | None, unit: str | None, rows: int | None = None
) -> tuple[TableBelief, RowsFor]:
    """Fix the reading and the secrets by the schema and the reference: what is believed, with the groups that the
    reference shows, and for how many rows. Refused: a reference without two secrets."""
    kept = _KEPT.get() if isinstance(reference, str) else None
    if kept is not None and (before := kept.get(repr((reference, protect, schema, unit, rows)))) is not None:
        return cast(tuple[TableBelief, RowsFor], before)
    require_column(unit=unit)
    declared = declared_schema(schema)
    cells = declared.open(reference)
    if isinstance(cells.source, SparkColumns):
        cells = Table(cells.source.repeated(unit))
    if len(cells) == 0:
        raise BadTable("the reference has no rows")
    spec = read_protect(protect, cells.columns)
    known_unit = declared  # records are read as declared, then as the reference shows; the unit as it stands
    if unit is not None and unit not in declared.fields:
        known_unit = declared.with_field(unit, Field(IDENTIFIER))
    reading = known_unit.completed(cells, tuple(dict.fromkeys((*cells.columns, *known_unit.fields))))
    known = reading.read(cells, [name for name in reading.fields if name in cells.columns])
    secrets = spec.find(known)
    held = sum(bool(mask.any()) for mask in secrets.masks().values())
    if held < 2:
        raise BadTable(
            f"the reference has rows for {several(held, 'secret')}; at least two are needed: is what is secret true of "
            "every row, or of none?"
        )
    size = RowsFor(rows, len(cells))
    groups = ExpectedGroups(declared, cells, secrets, size.number)
    found = TableBelief(reading, known, spec, secrets, unit, groups), size
    if kept is not None:
        kept[repr((reference, protect, schema, unit, rows))] = found
    return found


def require_pure(budget: object, ledger: bool = False) -> Pure | Approx:
    """The budget of a session, finite, and pure; in a ledger it may have a delta, which releases beside it spend."""
    allowed = Pure | Approx if ledger else Pure
    if not isinstance(budget, allowed) or not 0 < exact(budget.epsilon) < exact(float("inf")):
        said = type(budget).__name__ if not isinstance(budget, allowed) else "one that is 0 or infinite"
        why = (
            ". A delta is for trainings beside it, so it goes with ledger=; for divergences use "
            "fugu.Ledger(prior=fugu.Records(...))"
            if is_guarantee(budget) and not isinstance(budget, allowed)
            else ""
        )
        raise BadBudget(f"a session has a budget fugu.Pure(epsilon) with a finite epsilon above 0, got {said}{why}")
    return budget
