"""A release as it would be: its noise found and everything proved, with nothing charged, drawn or opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact
from fugu.guarantee.promises import both
from fugu.ledger import Charge
from fugu.ledger.sharing import Elsewhere
from fugu.queries.noised import Noised
from fugu.queries.session_certificate import certificate_of
from fugu.queries.session_state import SessionState
from fugu.queries.table_belief import Charged, TableBelief
from fugu.session.books import Books, Value, charge_for, require_within
from fugu.session.state import state_of
from fugu.telling.usefulness import usable_of_records
from fugu.utility.rows import GROUPS, RowsFor
from fugu.utility.usable import Usable
from fugu.visible import several


@final
@dataclass(frozen=True, eq=False, repr=False)
class Rehearsal:
    """What several questions would be: `questions` with their noise, the `state` of the session after them, the
    `request` under which they are charged, None if nothing is, and whether it was `answered` before. No private row was
    read for it: `rows` says for how many it is; `belief`: what the reference says."""

    questions: tuple[Noised, ...]
    state: SessionState
    request: str | None
    answered: bool
    rows: RowsFor
    belief: TableBelief

    @property
    def basis(self) -> str:
        """For how many rows it is, and where its groups come from, in words."""
        return f"{self.rows}; {GROUPS}" if any(kind.groups for kind in self.state.types) else str(self.rows)

    @cached_property
    def usable(self) -> Usable:
        """How usable the answers would be, and all before them, beside what the reference says: see `fugu.usable`."""
        return usable_of_records(certificate_of(self.state), self.belief.pricing(()).laws)

    def __repr__(self) -> str:
        after = both(self.state.spent, self.state.any_belief)
        told = "answered before" if self.answered else "nothing charged or drawn"
        return f"Rehearsal({several(len(self.questions), 'question')}, {told}, {after} with all before)"


@final
@dataclass
class Looked(Books):
    """Books as a rehearsal sees them: the charges of others, and a belief about groups that are expected."""

    books: Books
    belief: TableBelief
    so_far: Charged

    def __post_init__(self) -> None:
        self.budget, self.cap = Pure(self.books.budget.epsilon), self.books.cap

    def charges(self) -> Charged:
        return self.so_far

    def find(self, request: str) -> list[Noised] | None:
        return self.books.find(request)

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:  # noqa: ARG002
        raise AssertionError("nothing is charged in a rehearsal")

    def elsewhere(self) -> Elsewhere:
        return self.books.elsewhere()

    def beside(self, charge: Charge) -> Looked:
        """The same with one more charge, which stands in no books."""
        return Looked(self.books, self.belief, [*self.so_far, (charge.guarantee, charge.reads, 1)])


def rehearsed(
    books: Looked, rows: RowsFor, request: str | None, noise: Callable[[], list[Noised]], public: Sequence[str] = ()
) -> Rehearsal:
    """The session as it would be after a request; `BudgetExceeded` where the budget does not allow it.

    `rows`: for how many; `request`: its name, None if it asks for public numbers only; `noise`: what finds the noise of
    its questions; `public`: columns that become public with it."""
    stored = None if request is None else books.find(request)
    if request is None or stored is not None:
        state = state_of(books, rows.number)
        return Rehearsal(tuple(stored or ()), state, request, stored is not None, rows, books.belief)
    questions = noise()
    charge = charge_for(questions, public)
    after = books.beside(charge)
    require_within(books, exact(charge.guarantee.epsilon), after.worth())
    return Rehearsal(tuple(questions), state_of(after, rows.number), request, False, rows, books.belief)
