"""`Account`: what a release is charged to, from a command or from Python; one request, one draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fugu.data import Schema, Table
from fugu.data.private import Private
from fugu.documents.release import OTHER_PEOPLE
from fugu.errors import BudgetRefused, NotComposable
from fugu.guarantee import Guarantee, Pure
from fugu.ledger import Books, Ledger, Marks, books, fingerprints
from fugu.ledger.charge import LAW, read_mechanism
from fugu.ledger.terms import known_prior, released_by_law
from fugu.scenario.units import persons_in
from fugu.visible import Json


@dataclass(frozen=True)
class Account:
    """Which budget of which data a release is charged to, and under which name."""

    ledger: Path
    request: str
    budget: Guarantee
    data: str
    unit: str | None = None
    others: tuple[str, ...] = ()
    """The column that names the person; data sets of other people, by the user's word."""

    def spend(self, private: Private, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Charge the release of this table, run `produce` after that, once, and return what is stored for the request.

        The ledger recognises the table by its rows, its columns and its people, whatever it is called."""
        return self.charge(private.whole, private.schema, mechanism, produce)

    def charge(self, whole: Table, schema: Schema, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """The same for a table of which all columns are given, and how they are read."""
        if read_mechanism(mechanism)[0].kind == LAW:
            self.require_law()
        with self.opened(fingerprints(whole, persons_in(whole, schema, self.unit))) as ledger:
            try:
                return ledger.spend(self.request, mechanism, produce)
            except NotComposable as refusal:
                raise BudgetRefused(str(refusal)) from None

    def opened(self, marks: Marks, prior: Any = None) -> Ledger:
        """The ledger, for data that is recognised by these marks."""
        return Ledger(
            self.ledger, self.budget, data=self.data, prior=prior, fingerprint=marks, other_people=self.others
        )

    def named(self, request: str) -> Account:
        """The same account for another request: a session names its requests by their questions."""
        return replace(self, request=request)

    def kept_by_law(self) -> bool:
        """Whether the ledger knows this request from the law route, or has the data from that route under a budget that
        is not pure."""
        if self.budget.renyi or self.knows(self.request):
            return True
        return not isinstance(self.budget, Pure) and released_by_law(self.ledger, self.data)

    def knows(self, request: str) -> bool:
        """Whether the ledger has this request of the data."""
        if not self.ledger.is_file():
            return False
        return any(entry.request == request for entry in Books(self.ledger).read(books.history, self.data))

    def require_law(self) -> None:
        """Refuse a table that was asked questions charged to each record: what both promise together is not known."""
        if not known_prior(self.ledger, self.data):
            return
        raise BudgetRefused(
            f"{self.data!r} was asked questions that are charged to each record; a law-based release does not compose "
            "with them, whether it is a column, a model of dependent rows or a question on the law route. Further "
            "statistics do (fugu release --query, on the records route), and models of independent rows"
        )

    def entry(self) -> Json:
        """What a release document says of the charge: the entry in the ledger, by the hash of its event."""
        found = Books(self.ledger).read(books.settled, self.data, self.request)
        assert found is not None  # a value is returned only after it is settled
        apart = Books(self.ledger).read(books.other_people, self.data)
        stated = {OTHER_PEOPLE: list(apart)} if apart else {}
        return {**self.told(), "entry": found.hash, "at": found.at, **stated}

    def told(self) -> dict[str, str]:
        """For certificates and summaries; the place of the ledger stays with the user."""
        return {"request": self.request, "data": self.data}
