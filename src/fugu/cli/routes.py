"""Two routes for statistics, said aloud: charged to each record, which composes; or by the law of the total, once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fugu.cli.questions import split
from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import read_number

RECORDS: Final = "records"
LAW: Final = "law"


@dataclass(frozen=True)
class Way:
    """What decides between the routes.

    `route`: what was asked for, None for the default; `kept`: the ledger has this request already, from the law route,
    or another budget than a pure one."""

    route: str | None
    query: str
    alpha: str | None
    delta: str
    public_prior: bool
    weights: str | None
    missing: str
    attack: bool
    kept: bool

    @property
    def taken(self) -> str:
        """The route: the one that was asked for, if it can be gone; else records where they can do what is asked."""
        if self.alpha is not None:
            raise UsageError("--query takes epsilon and delta; --alpha is for --publish")
        several = len(split(self.query)) > 1 or self.weights is not None
        why = self._not_records()
        if self.route is None:
            return LAW if not several and (why is not None or self.kept) else self._checked(RECORDS, several, why)
        if self.route not in (RECORDS, LAW):
            raise UnknownName("route", self.route, (RECORDS, LAW))
        return self._checked(self.route, several, why)

    @property
    def why(self) -> str:
        """Why the law route is taken, where nobody asked for it; empty otherwise."""
        if self.route is not None or self.taken == RECORDS:
            return ""
        return self._not_records() or "this request, or this budget, is in the ledger by the law route already"

    def _checked(self, route: str, several: bool, why: str | None) -> str:
        if route == LAW and several:
            raise UsageError(
                "the law route answers one question and closes the table, so --weights and several questions are for "
                "the records route: leave out --route law"
            )
        if route == RECORDS and why is not None:
            raise UsageError(why)
        return route

    def _not_records(self) -> str | None:
        """Why the records route cannot do what is asked; None if it can."""
        if read_number(self.delta) != 0:
            return (
                "--delta: the records route has a pure epsilon. With a delta, what is asked next may depend on an "
                "answer that reveals everything, and then delta does not shrink as it would for one question. Leave "
                "out --delta, or ask one question with --route law"
            )
        if self.public_prior:
            return (
                "--public-prior: the records route needs a reference that is not the table: its noise depends on the "
                "reference, and would tell rows of the table. Give --reference, or one question with --route law"
            )
        if self.missing != "error":
            return "--missing: on the records route the schema says what missing cells count as (--schema)"
        if self.attack:
            return "--attack: there is no attack on the records route; prove it twice with fugu verify --twice"
        return None
