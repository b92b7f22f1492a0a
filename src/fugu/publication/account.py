"""`ReleaseAccount`: what a release is charged to; a private column, opened for its mechanism and released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fugu.data import Schema, Table
from fugu.data.private import Private, open_private
from fugu.data.sources import TableLike
from fugu.documents.release import OTHER_PEOPLE
from fugu.errors import BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Guarantee, Pure
from fugu.ledger import Books, Ledger, Marks, books, fingerprints
from fugu.ledger.books import standing
from fugu.ledger.charge import LAW, read_mechanism
from fugu.ledger.store import LockedView
from fugu.mechanism import Mechanism, Release
from fugu.scenario.query import ColumnQuery, persons_in, require_one_row_each
from fugu.visible import Json


@dataclass(frozen=True)
class ReleaseAccount:
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

    def named(self, request: str) -> ReleaseAccount:
        """The same account for another request: a session names its requests by their questions."""
        return replace(self, request=request)

    def kept_by_law(self) -> bool:
        """Whether the ledger knows this request from the law route, or has the data from that route under a budget that
        is not pure."""
        if self.budget.renyi or self.knows(self.request):
            return True
        known = None if isinstance(self.budget, Pure) else standing(self.ledger, self.data)
        return known is not None and known.by_law

    def knows(self, request: str) -> bool:
        """Whether the ledger has this request of the data."""
        return self.ledger.is_file() and Books(self.ledger).read(LockedView.request, self.data, request) is not None

    def require_law(self) -> None:
        """Refuse a table that was asked questions charged to each record: what both promise together is not known."""
        known = standing(self.ledger, self.data)
        if known is None or known.known.prior is None:
            return
        raise BudgetRefused(
            f"{self.data!r} was asked questions that are charged to each record; a law-based release does not compose "
            "with them, whether it is a column, a model of dependent rows or a question on the law route. Further "
            "statistics do (fugu release --query, on the records route), and models of independent rows"
        )

    def entry(self) -> Json:
        """What a release document says of the charge: the entry in the ledger, by the hash of its event."""
        kept = Books(self.ledger)
        found = kept.read(books.settled, self.data, self.request)
        assert found is not None  # a value is returned only after it is settled
        apart = kept.read(books.Standing.of, self.data).known.apart
        stated = {OTHER_PEOPLE: list(apart)} if apart else {}
        return {**self.told(), "entry": found.hash, "at": found.at, **stated}

    def told(self) -> dict[str, str]:
        """For certificates and summaries; the place of the ledger stays with the user."""
        return {"request": self.request, "data": self.data}


# From a private table to a published column, through the query the mechanism was made for.


def open_column(mechanism: Mechanism, table: TableLike) -> Private:
    """The private table, opened for this mechanism and checked for what is public: its columns and its unit."""
    stored, schema = mechanism.context.query, mechanism.context.schema
    if stored is None or schema is None:
        raise UsageError(
            "this mechanism was made for bare laws; apply your own query and call mechanism.release(values)"
        )
    unit = mechanism.context.person
    private = open_private(table, Schema.from_json(schema), [stored["publish"]], [] if unit is None else [unit])
    if unit is not None:
        require_one_row_each(private.table, unit)
    return private


def release_private(mechanism: Mechanism, private: Private, *, allow_no_noise: bool = False) -> Release:
    """Release the column of a table that `open_column` opened."""
    column = ColumnQuery.from_json(mechanism.context.query or {}).of_private(private)
    return mechanism.release(column, allow_no_noise=allow_no_noise, already_mapped=True)
