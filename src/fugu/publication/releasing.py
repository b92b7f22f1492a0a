"""`release_column`: a column of a private table from Python, charged as the command charges it."""

from __future__ import annotations

from dataclasses import replace

from fugu.data.kinds import Kind
from fugu.data.sources import TableLike
from fugu.errors import UsageError
from fugu.guarantee.promises import UNCHARGED
from fugu.ledger.charge import read_mechanism
from fugu.ledger.own import LedgerLike, ledger_for
from fugu.ledger.terms import known_budget
from fugu.mechanism import Mechanism, Release
from fugu.publication.account import Account
from fugu.queries.column import open_column, release_private


def release_column(
    mechanism: Mechanism,
    table: TableLike,
    *,
    allow_no_noise: bool = False,
    ledger: LedgerLike = None,
    data: str | None = None,
) -> Release:
    """Apply the mechanism's schema and query to its column of `table` (a path, a frame, a dict) and release it, once.

    - `mechanism`: one calibrated for a scenario from a table. `table`: the private table: a path, a dict of columns, or
      a frame. `allow_no_noise`: True to publish exact values where the beliefs alone meet the budget.
    - `ledger`: the file that is charged. None is the user's own where the table is a file, as on the command line
      (`FUGU_LEDGER`, else the platform's data folder), and none otherwise; False is none, which the release says. The
      ledger keeps the released column: the same mechanism for the same table, made again in whatever process, reads it
      back. Afterwards it refuses every other release of the table: what two of them promise together is not known.
    - `data`: the name of the table in the ledger, in the user's own that of the file unless given. Its budget is the
      one it has there, else the mechanism's.

    Returns a `Release`, whose `to_frame` gives a frame of the kind of `table`. Raises `AlreadyReleased`,
    `NoiselessRelease`, `PriorNotPublic`; `UsageError` for a mechanism that was made for bare laws; `BadTable` for a
    table without the column; `BudgetRefused`, `BudgetExceeded`, `DataKnown` from the ledger.

    Only the published column and the unit's column are looked at, and by the ledger all, to know the table again. No
    cell of the published column is refused; a unit that is missing or repeats is, since it is declared public, without
    saying where or how often."""
    if not isinstance(mechanism, Mechanism):
        raise UsageError(
            f"release_column takes a mechanism from calibrate, then the table: got {type(mechanism).__name__} first"
        )
    books, came = ledger_for(table, ledger, data), Kind.of(table)
    private = open_column(mechanism, table)

    def draw() -> Release:
        return release_private(mechanism, private, allow_no_noise=allow_no_noise)

    if books is None:
        return replace(draw(), came=came, note=UNCHARGED)
    place, name = books
    request = f"{(mechanism.context.query or {})['publish']} {read_mechanism(mechanism)[1][:16]}"
    account = Account(place, request, known_budget(place, name) or mechanism.guarantee, name, mechanism.context.person)
    drawn = None if account.knows(request) else draw()  # what is refused is refused before it is charged
    released: Release = account.spend(private, mechanism, lambda: draw() if drawn is None else drawn)
    return replace(released, came=came)
