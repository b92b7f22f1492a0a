"""Releases go through a ledger: the one that is named, else the user's own; one request, one draw."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fugu.cli.console import err
from fugu.data import Schema, Table
from fugu.documents.release import is_name
from fugu.errors import UsageError
from fugu.guarantee import Guarantee
from fugu.guarantee.promises import UNCHARGED
from fugu.ledger import Marks, fingerprints
from fugu.ledger.own import ledger_path, own_ledger
from fugu.ledger.terms import known_budget
from fugu.publication.account import Account as Account  # noqa: PLC0414

CLOSES = (
    "this closes the table: what two such releases promise together is not known, so afterwards the ledger refuses "
    "every other release of the same data, statistics included"
)
"""Said before a column, a statistic on the law route or statistics that hide a share go out."""
CLOSES_UNSEEN = (
    "this closes the table: what two such releases promise together is not known, and without a ledger nothing will "
    "refuse a second one: release nothing else of the same data, statistics included"
)


def closes(account: Account | None, dry_run: bool) -> str:
    """That nothing else can follow, and who sees to it."""
    return CLOSES_UNSEEN if account is None and not dry_run else CLOSES


def say_closing(account: Account | None, dry_run: bool, as_json: bool) -> None:
    """Say on stderr, before anything is charged, that nothing else can follow; in JSON it is the part "closes"."""
    if not as_json:
        err.print(f"[bold yellow]note[/]: {closes(account, dry_run)}", soft_wrap=True)


@dataclass(frozen=True)
class Through:
    """The books for an estimator: its training is charged to an account, and recognised by all of the table."""

    account: Account
    whole: Table
    schema: Schema

    def recognise(self, data: Any) -> None:
        """What is trained on is a part of the table, which the account is opened with."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Under the account's own request, and not the estimator's."""
        del request
        return self.account.charge(self.whole, self.schema, mechanism, produce)


def account_of(
    ledger: str | None, no_ledger: bool, request: str | None, budget: Guarantee, total: Guarantee | None, data: str,
    question: dict[str, Any], earlier: dict[str, Any] | None = None, unit: str | None = None,
    others: Sequence[str] | None = None,
) -> Account | None:  # fmt: skip
    """The account of a release; None only where `--no-ledger` says so.

    Without --request the request is named by a digest of the question, so the same command is the same request. What
    fugu 0.3 charged, by a digest of the same question as it was written then, `earlier`, keeps that name: it is read
    back and not charged again. Without --budget the budget is the one the data has in the ledger, else what this
    release asks for."""
    if no_ledger:
        if ledger is not None or request is not None or total is not None or others:
            raise UsageError(
                "--no-ledger goes without --ledger, --request, --budget and --other-people; leave out one or the other"
            )
        return None
    place = own_ledger() if ledger is None else ledger_path(ledger)
    named = request if request is not None else _named(question)
    account = Account(place, named, total or known_budget(place, data) or budget, data, unit, tuple(others or ()))
    if request is None and earlier not in (None, question) and account.knows(before := _named(earlier)):
        return account.named(before)
    return account


def say_uncharged(account: Account | None, dry_run: bool) -> None:
    """A note for a release that no ledger knows of."""
    if account is None and not dry_run:
        err.print(f"[bold yellow]note[/]: {UNCHARGED}", soft_wrap=True)


def data_name(data: str | None, table: str) -> str:
    """The name of a data set: what is given, else the file's; it goes out with the document."""
    name = Path(table).name if data is None else data
    if not name and table:
        raise UsageError("--data is a name, and the name of a data set must not be empty")
    if table and not is_name(name):
        raise UsageError("--data is a name, never a path: it goes out with the document; leave out slashes")
    return name


def _named(question: dict[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True, default=str)
    return f"{question.get('what', 'release')} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def marks_of_sequences(table: Table, digest: str, people: Sequence[object] | None = None) -> Marks:
    """What sequences are recognised by: themselves, whose they are, and the table that they were read from."""
    found = fingerprints(table, people)
    return replace(found, named={**found.named, digest: "its sequences are the same"})
