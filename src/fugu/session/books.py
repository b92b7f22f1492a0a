"""Where a session keeps its books: in memory for one process, or in a ledger for all that share its file.

Both hold the same: which questions were charged under which request, and what was drawn for them. A charge stands
before anything is drawn; the same request gets the same answer for nothing."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar, final

from fugu.data.private import Private
from fugu.errors import BudgetExceeded, NotComposable, RequestReused
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact, plain
from fugu.ledger import Charge, Ledger
from fugu.ledger.amounts import left
from fugu.ledger.charge import LAW
from fugu.ledger.fingerprint import fingerprints
from fugu.queries.noised import Noised
from fugu.queries.table_belief import Charged, TableBelief, questions_in, reads_of

Value = TypeVar("Value")


class Books(ABC):
    """All charges of one table, and the answers that they paid for."""

    belief: TableBelief
    budget: Pure

    @abstractmethod
    def charges(self) -> Charged:
        """All charges as they stand now."""

    @abstractmethod
    def find(self, request: str) -> list[Noised] | None:
        """The questions that a request was charged for; None if it was not."""

    @abstractmethod
    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:
        """Charge, then run `produce` once and keep what it returns; the same request returns it again for nothing."""

    def spent(self) -> Fraction:
        """What everything charged so far is worth, proved."""
        return self.belief.worth(self.belief.read(self.charges())).spent


@final
@dataclass
class InMemory(Books):
    """The books of a session without a ledger: they end with the session, and another one of the same data knows
    nothing of them."""

    belief: TableBelief
    budget: Pure
    _charged: dict[str, Charge] = field(default_factory=dict)
    _values: dict[str, Any] = field(default_factory=dict)

    def charges(self) -> Charged:
        return [(charge.guarantee, charge.reads, 1) for charge in self._charged.values()]

    def find(self, request: str) -> list[Noised] | None:
        charge = self._charged.get(request)
        return None if charge is None else list(questions_in(charge.reads))

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:
        if request in self._charged and self._charged[request].text() != charge.text():
            raise RequestReused(
                f"request {request!r} stands for another question; one name is one charge and one value, so give a new "
                "question a new name"
            )
        if request not in self._charged:
            before = self.charges()
            after = self.belief.worth(self.belief.read([*before, (charge.guarantee, charge.reads, 1)])).spent
            if after > exact(self.budget.epsilon):
                raise exceeded(self.spent(), exact(charge.guarantee.epsilon), after, self.budget)
            self._charged[request] = charge
        if request not in self._values:
            self._values[request] = produce()
        found: Value = self._values[request]
        return found


@final
@dataclass
class OnDisk(Books):
    """The books of a session in a ledger: it decides, inside its lock, with all charges that are on disk."""

    belief: TableBelief
    ledger: Ledger

    @staticmethod
    def open(path: str | os.PathLike[str], budget: Pure, data: str, belief: TableBelief, private: Private) -> OnDisk:
        """The books of the data set `data` in the ledger at `path`; another budget, belief or table is refused."""
        return OnDisk(belief, Ledger(path, budget, data=data, prior=belief, fingerprint=fingerprints(private.whole)))

    @property
    def budget(self) -> Pure:  # type: ignore[override]
        found = self.ledger.budget
        assert isinstance(found, Pure)
        return found

    def charges(self) -> Charged:
        found = self.ledger.charges()
        if any(c.charge.kind == LAW for c in found):
            raise NotComposable(
                "the ledger holds a law-based release of this data, which used up the randomness of the other records",
                "keep law-based releases to tables of which nothing else is asked",
            )
        return [(c.charge.guarantee, c.charge.reads, c.count) for c in found]

    def find(self, request: str) -> list[Noised] | None:
        charge = self.ledger.charge_of(request)
        return None if charge is None else list(questions_in(charge.reads))

    def spend(self, request: str, charge: Charge, produce: Callable[[], Value]) -> Value:
        return self.ledger.spend(request, charge, produce)


def charge_for(questions: Sequence[Noised], public: Sequence[str] = ()) -> Charge:
    """The charge of questions that are answered together: the sum of their epsilons, and all that it follows from.

    `public`: columns whose groups become public without a question that is charged."""
    total = sum((q.most for q in questions), Fraction(0))
    return Charge.per_entry(Pure(plain(total)), reads=reads_of(questions, public))


def exceeded(spent: Fraction, asked: Fraction, after: Fraction, budget: Pure) -> BudgetExceeded:
    """The refusal of a question that the budget does not allow."""
    before = Pure(plain(spent))
    rest = left(before, budget)
    return BudgetExceeded(
        f"the budget does not allow this: spent {float(spent):.6g} of {float(budget.epsilon):g}, and with it "
        f"{float(after):.6g}; left is {float(rest.epsilon):.6g}. Ask with a smaller epsilon, or repeat an earlier "
        "question, which costs nothing",
        spent=before, asked=Pure(plain(asked)), left=rest, budget=budget,
    )  # fmt: skip
