"""Releases of columns through a ledger: charged before anything is written; one request, one set of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import fugu
from fugu.data import read_table
from fugu.errors import UsageError
from fugu.guarantee import Guarantee
from fugu.ledger import Marks, fingerprints
from fugu.mechanism import Mechanism, Release


@dataclass(frozen=True)
class Account:
    """Which budget of which data a release is charged to, and under which name."""

    ledger: str
    request: str
    budget: Guarantee
    data: str


def check_ledger(ledger: str | None, request: str | None, budget: object, data: str | None) -> None:
    """A ledger and a request come together; a budget and a name of data come with them."""
    if (ledger is None) != (request is None):
        raise UsageError("a ledger needs a name for this request, and a request a ledger: --ledger DB --request ID")
    if ledger is None and (budget is not None or data is not None):
        raise UsageError("--budget and --data are about a ledger; give --ledger DB --request ID, or leave them out")


def account_of(ledger: str | None, request: str | None, budget: Guarantee, data: str) -> Account | None:
    """The account that the options name, if any."""
    return None if ledger is None or request is None else Account(ledger, request, budget, data)


def charged(account: Account | None, mechanism: Mechanism, table: Any, drawn: Release) -> Release:
    """What may be written: the release itself without a ledger, else what the ledger stored for the request.

    `table` is the whole private table, as it was read: the ledger recognises it whichever column goes out. The release
    is drawn before it is charged, so that what is wrong with the table costs nothing; it is shown to nobody before the
    charge is on disk, and never if the request was refused or had been answered before."""
    if account is None:
        return drawn
    with fugu.Ledger(account.ledger, account.budget, data=account.data, fingerprint=fingerprints(table)) as ledger:
        stored: Release = ledger.spend(account.request, mechanism, lambda: drawn)
    return stored


def marks_of_sequences(path: str, digest: str) -> Marks:
    """What sequences are recognised by: themselves, and the table that they were read from."""
    table = fingerprints(read_table(path))
    return Marks({**table.named, digest: "its sequences are the same"}, table.earlier)
