"""Releases go through a ledger: the one that is named, else the user's own; one request, one draw."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fugu
from fugu.data import Table
from fugu.data.private import Private
from fugu.documents.release import is_name
from fugu.errors import BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Guarantee, Pure
from fugu.ledger import Books, Marks, books, fingerprints
from fugu.ledger.terms import known_budget, known_prior
from fugu.visible import Json

UNCHARGED = (
    "no ledger: nothing prevents a second release of this data, and two releases that are safe alone can reveal "
    "everything together"
)


@dataclass(frozen=True)
class Account:
    """Which budget of which data a release is charged to, and under which name."""

    ledger: Path
    request: str
    budget: Guarantee
    data: str

    def spend(self, private: Private, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Charge the release of this table, run `produce` after that, once, and return what is stored for the request.

        The ledger recognises the table by its rows and columns, whatever it is called and whatever goes out of it."""
        return self.charge(private.whole, mechanism, produce)

    def charge(self, whole: Table, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """The same for a table of which all columns are given."""
        self.require_route(records=False)
        marks = fingerprints(whole)
        with fugu.Ledger(self.ledger, self.budget, data=self.data, fingerprint=marks) as ledger:
            try:
                return ledger.spend(self.request, mechanism, produce)
            except NotComposable as refusal:
                raise BudgetRefused(str(refusal)) from None

    def named(self, request: str) -> Account:
        """The same account for another request: a session names its requests by their questions."""
        return replace(self, request=request)

    def kept_by_law(self) -> bool:
        """Whether the ledger knows this request from the law route, or has the data under a budget that is not pure."""
        if not isinstance(self.budget, Pure):
            return True
        if not self.ledger.is_file():
            return False
        return any(entry.request == self.request for entry in Books(self.ledger).read(books.history, self.data))

    def require_route(self, records: bool) -> None:
        """Refuse the route that the data was not opened for: what the two promise together is not known."""
        opened = known_prior(self.ledger, self.data)
        if opened is None or opened == records:
            return
        if records:
            raise BudgetRefused(
                f"{self.data!r} was released by the law route, as a column or as a model, and questions that are "
                "charged to each record do not compose with that: the other records' randomness is used up. Ask them "
                "first, of a table of which nothing else was released"
            )
        raise BudgetRefused(
            f"{self.data!r} was asked questions that are charged to each record; a law-based release does not compose "
            "with them. Ask for statistics on the records route (leave out --route law)"
        )

    def entry(self) -> Json:
        """What a release document says of the charge: the entry in the ledger, by the hash of its event."""
        found = Books(self.ledger).read(books.settled, self.data, self.request)
        assert found is not None  # a value is returned only after it is settled
        return {**self.told(), "entry": found.hash, "at": found.at}

    def told(self) -> dict[str, str]:
        """For certificates and summaries; the place of the ledger stays with the user."""
        return {"request": self.request, "data": self.data}


@dataclass(frozen=True)
class Through:
    """The books for an estimator: its training is charged to an account, and recognised by all of the table."""

    account: Account
    whole: Table

    def recognise(self, data: Any) -> None:
        """What is trained on is a part of the table, which the account is opened with."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Under the account's own request, and not the estimator's."""
        del request
        return self.account.charge(self.whole, mechanism, produce)


def account_of(
    ledger: str | None, no_ledger: bool, request: str | None, budget: Guarantee, total: Guarantee | None, data: str,
    question: dict[str, Any],
) -> Account | None:  # fmt: skip
    """The account of a release; None only where `--no-ledger` says so.

    Without --request the request is named by a digest of the question, so the same command is the same request. Without
    --budget the budget is the one the data has in the ledger, else what this release asks for."""
    if no_ledger:
        if ledger is not None or request is not None or total is not None:
            raise UsageError("--no-ledger goes without --ledger, --request and --budget; leave out one or the other")
        return None
    place = own_ledger() if ledger is None else _path(ledger)
    asked = request if request is not None else _named(question)
    return Account(place, asked, total or known_budget(place, data) or budget, data)


def data_name(data: str | None, table: str) -> str:
    """The name of a data set: what is given, else the file's; it goes out with the document."""
    name = Path(table).name if data is None else data
    if not name and table:
        raise UsageError("--data is a name, and the name of a data set must not be empty")
    if table and not is_name(name):
        raise UsageError("--data is a name, never a path: it goes out with the document; leave out slashes")
    return name


def own_ledger() -> Path:
    """The user's own ledger: FUGU_LEDGER, else ledger.db in the platform's data folder; made for its owner alone."""
    if named := os.environ.get("FUGU_LEDGER"):
        return _path(named)
    folder = _data_folder() / "fugu"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be made; name another ledger with FUGU_LEDGER or "
            "--ledger, or say --no-ledger"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be written; name another ledger with FUGU_LEDGER "
            "or --ledger, or say --no-ledger"
        )
    return folder / "ledger.db"


def _path(text: str) -> Path:
    if "://" in text or text.startswith("file:"):
        raise UsageError(f"a ledger is a file, not an address: give a path, not {text!r}")
    return Path(text)


def _data_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def _named(question: dict[str, Any]) -> str:
    text = json.dumps(question, sort_keys=True, default=str)
    return f"{question.get('what', 'release')} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def marks_of_sequences(table: Table, digest: str) -> Marks:
    """What sequences are recognised by: themselves, and the table that they were read from."""
    found = fingerprints(table)
    return Marks({**found.named, digest: "its sequences are the same"}, found.earlier)
