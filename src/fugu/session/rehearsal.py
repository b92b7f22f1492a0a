"""A release as it would be: its noise found and everything proved, with nothing charged and nothing drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact
from fugu.ledger import Charge
from fugu.queries.noised import Noised
from fugu.queries.session_state import SessionState
from fugu.queries.table_belief import Charged
from fugu.session.books import Books, Value, charge_for, exceeded
from fugu.session.state import state_of


@final
@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What several questions would be: `questions` with their noise, the `state` of the session after them, the
    `request` under which they are charged, None if nothing is, and whether it was `answered` before."""

    questions: tuple[Noised, ...]
    state: SessionState
    request: str | None
    answered: bool


@final
@dataclass
class _Beside(Books):
    """Books with one more charge that stands in none."""

    books: Books
    charge: Charge

    def __post_init__(self) -> None:
        self.belief, self.budget = self.books.belief, Pure(self.books.budget.epsilon)

    def charges(self) -> Charged:
        return [*self.books.charges(), (self.charge.guarantee, self.charge.reads, 1)]

    def find(self, request: str) -> list[Noised] | None:
        return self.books.find(request)

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:  # noqa: ARG002
        raise AssertionError("nothing is charged in a rehearsal")


def rehearsed(
    books: Books, rows: int, request: str | None, noise: Callable[[], list[Noised]], public: Sequence[str] = ()
) -> Rehearsal:
    """The session as it would be after a request; `BudgetExceeded` where the budget does not allow it.

    `rows`: of the private table; `request`: its name, None if it asks for public numbers only; `noise`: what finds the
    noise of its questions; `public`: columns that become public with it."""
    stored = None if request is None else books.find(request)
    if request is None or stored is not None:
        return Rehearsal(tuple(stored or ()), state_of(books, rows), request, stored is not None)
    found = noise()
    charge = charge_for(found, public)
    state = state_of(_Beside(books, charge), rows)
    if exact(state.spent.epsilon) > exact(books.budget.epsilon):
        raise exceeded(books.spent(), exact(charge.guarantee.epsilon), exact(state.spent.epsilon), books.budget)
    return Rehearsal(tuple(found), state, request, False)
