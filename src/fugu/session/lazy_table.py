"""`LazyTable`: a private table and its books, opened by the first question that is answered and by nothing before."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, final

from fugu.data.private import Private
from fugu.data.sources import TableLike
from fugu.errors import BudgetRefused, ColumnNotFound
from fugu.guarantee import Approx, Pure
from fugu.guarantee.numbers import exact
from fugu.ledger import Books as LedgerBooks
from fugu.ledger import Charge, books
from fugu.ledger.accountant import Terms
from fugu.ledger.registration import Opening, known_already
from fugu.ledger.state import CHARGED
from fugu.ledger.terms import known_cap, released_by_law
from fugu.queries.noised import Noised
from fugu.queries.pricing import Worth
from fugu.queries.statistic import Question
from fugu.queries.table_belief import Charged, TableBelief, questions_in
from fugu.session.books import FOLD, Books, InMemory, OnDisk, Value, charge_for, countable
from fugu.session.opening import Facts, Opened
from fugu.session.rehearsal import Looked
from fugu.session.releasing import sizes


@final
@dataclass
class LazyTable:
    """What is public of a table (`facts`), the `table` itself, unread, and where its books are kept.

    `public`: columns that were declared public; they are booked when the table is opened. `ledger`: None keeps the
    books in memory; `data`: the name of the table in a ledger; `others`: data sets of other people, by the user's
    word. A budget with a delta is the ledger's; questions spend its epsilon."""

    table: TableLike
    facts: Facts
    budget: Pure | Approx
    cap: Fraction | None
    public: tuple[str, ...]
    ledger: str | os.PathLike[str] | None
    data: str
    others: tuple[str, ...] = ()
    _seen: Opened | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        given = self.cap
        if given is None and self.ledger is not None:
            given = known_cap(Opening(Path(self.ledger), self.data, Terms(self.budget, self.facts.expected, None)))
        most = FOLD * exact(self.budget.epsilon) if given is None else given
        self.books: Books = Unopened(self.facts.expected, self.budget, most, self.ledger, self.data)

    def look(self) -> Opened:
        """The table, for what is about to be answered, or for its owner's eyes; read once."""
        if self._seen is None:
            self._seen = self.facts.open(self.table)
        return self._seen

    def open(self, questions: Sequence[Question]) -> Private:
        """The table, for questions that are about to be answered, and its books; what is wrong with the table is said
        before the ledger is asked, and both before anything is charged."""
        opened = self.look()
        for question in questions:
            for name in question.columns:
                if name not in opened.private.table.columns:
                    raise ColumnNotFound(name, opened.private.table.columns)
        for name in (*self.public, *(q.by for q in questions if q.by is not None)):
            opened.groups.of(name)
        if isinstance(self.books, Unopened):
            require_records(self.ledger, self.data)
            kept: Books = (
                InMemory(opened.belief, Pure(self.budget.epsilon), self.books.cap)
                if self.ledger is None
                else OnDisk.open(self.ledger, self.budget, self.cap, self.data, opened, self.others)
            )
            for name in self.public:
                sizes(kept, opened.private, Question("count", by=name))
            self.books = kept
        return opened.private

    def looked(self) -> Looked:
        """The books as a rehearsal sees them; what was declared public counts as booked before any answer."""
        if isinstance(self.books, Unopened):
            self.books.require_terms()
        charges = list(self.books.charges())
        if isinstance(self.books, Unopened):
            charges += [(Pure(0), charge_for([], [name]).reads, 1) for name in self.public]
        return Looked(self.books, self.facts.believed(charges, self._seen), charges)

    def __repr__(self) -> str:
        return "table not opened" if self._seen is None else f"{len(self._seen.private)} rows"


def require_records(path: str | os.PathLike[str] | None, data: str) -> None:
    """Refuse a table that a ledger has from the law route: what the two promise together is not known."""
    if path is not None and released_by_law(Path(path), data):
        raise BudgetRefused(
            f"{data!r} was released by the law route, as a column or as a model, and questions that are charged to "
            "each record do not compose with that: the other records' randomness is used up. Ask them first, of a "
            "table of which nothing else was released"
        )


@final
@dataclass
class Unopened(Books):
    """The books of a session that has not opened its table yet: those of a ledger are read, none are written.

    `path`: the ledger, None for a session without one; `data`: the name of the table in it."""

    belief: TableBelief
    whole: Pure | Approx
    cap: Fraction
    path: str | os.PathLike[str] | None
    data: str

    @property
    def budget(self) -> Pure:  # type: ignore[override]
        return Pure(self.whole.epsilon)

    def charges(self) -> Charged:
        return countable(self._read(books.charges, self.data) or [])

    def find(self, request: str) -> list[Noised] | None:
        charge = self._read(books.charge_of, self.data, request)
        return None if charge is None else list(questions_in(charge.reads))

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:  # noqa: ARG002
        raise AssertionError("what is charged opens the table first")

    def worth(self) -> Worth:
        """What the ledger proved when it took the last charge, with the groups that the table has; where an earlier
        version did not keep that, the sum of epsilons, which is no less, and which holds against anybody."""
        summed = sum((exact(guarantee.epsilon) * count for guarantee, _, count in self.charges()), Fraction(0))
        history = [entry.worth for entry in self._read(books.history, self.data) or () if entry.state in CHARGED]
        proved = all(isinstance(worth, Pure) for worth in history)
        spent = max((exact(worth.epsilon) for worth in history), default=Fraction(0)) if proved else summed
        return Worth(spent, summed, (), ())

    def require_terms(self) -> None:
        """Refuse another budget or belief than the table has in the ledger."""
        require_records(self.path, self.data)
        self._read(known_already, Opening(Path(str(self.path)), self.data, Terms(self.whole, self.belief, None)))

    def _read(self, what: Any, *args: Any) -> Any:
        there = self.path is not None and Path(self.path).is_file()
        return LedgerBooks(Path(str(self.path))).read(what, *args) if there else None
