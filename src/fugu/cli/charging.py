"""Releases go through a ledger: the one that is named, else the user's own; one request, one draw.

Of a column that went out the ledger keeps the file's SHA-256, its rows and its place, never its values. The file is
written under a hidden name before the charge is settled, and takes its own name after. Whatever breaks in between, the
same request finds that very file again, and never draws a second time: the name of a draft says which request it is
for, and its SHA-256, so one that was not settled yet is known to be whole, and is settled then."""

from __future__ import annotations

import glob
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fugu.cli import options
from fugu.cli.commands import Booking
from fugu.cli.console import print_json, say
from fugu.data import Schema, Table, csv_text
from fugu.data.files import shown_columns
from fugu.data.private import Private
from fugu.documents.release import ReleaseDocument, file_sha256, is_name
from fugu.errors import AlreadyReleased, FuguError, UsageError
from fugu.files import check_apart, writing
from fugu.guarantee import Guarantee
from fugu.ledger.books import standing
from fugu.ledger.keys import ledger_path, own_ledger
from fugu.mechanism import Mechanism, Release
from fugu.publication.files import PENDING, Draft, Files, holds, unfinished
from fugu.publication.releasing import ReleaseAccount as ReleaseAccount  # noqa: PLC0414

CLOSES = (
    "this closes the table: what two such releases promise together is not known, so afterwards the ledger refuses "
    "every other release of the same data, statistics included"
)
"""Said before a column, a statistic on the law route or statistics that hide a share go out."""
CLOSES_UNSEEN = (
    "this closes the table: what two such releases promise together is not known, and without a ledger nothing will "
    "refuse a second one: release nothing else of the same data, statistics included"
)


@dataclass(frozen=True)
class Through:
    """The books for an estimator: its training is charged to an account, and recognised by all of the table."""

    account: ReleaseAccount
    whole: Table
    schema: Schema

    def recognise(self, data: Any) -> None:
        """What is trained on is a part of the table, which the account is opened with."""

    def spend(self, request: str, mechanism: Any, produce: Callable[[], Any]) -> Any:
        """Under the account's own request, and not the estimator's."""
        del request
        return self.account.charge(self.whole, self.schema, mechanism, produce)


def account_of(
    books: Booking, budget: Guarantee, total: Guarantee | None, data: str, question: dict[str, Any],
    earlier: dict[str, Any] | None = None, unit: str | None = None,
) -> ReleaseAccount | None:  # fmt: skip
    """The account of a release; None only where `--no-ledger` says so.

    Without --request the request is named by a digest of the question, so the same command is the same request. What
    fugu 0.3 charged, by a digest of the same question as it was written then, `earlier`, keeps that name: it is read
    back and not charged again. Without --budget the budget is the one the data has in the ledger, else what this
    release asks for."""
    if books.no_ledger:
        if books.ledger is not None or books.request is not None or total is not None or books.other_people:
            raise UsageError(
                "--no-ledger goes without --ledger, --request, --budget and --other-people; leave out one or the other"
            )
        return None
    place = own_ledger() if books.ledger is None else ledger_path(books.ledger)
    named = books.request if books.request is not None else _named(question)
    others = tuple(books.other_people or ())
    known = standing(place, data) if total is None else None
    account = ReleaseAccount(place, named, total or (budget if known is None else known.budget), data, unit, others)
    if books.request is None and earlier not in (None, question) and account.knows(before := _named(earlier)):
        return account.named(before)
    return account


def targets(what: str, output: str, suffix: str, over: bool, *read: str | None) -> Files:
    """The files of a release; the folder must exist, and nothing that is read is ever overwritten."""
    options.ending(what, output, suffix)
    files = Files(Path(output), over)
    for file in files.all():
        check_apart(str(file), *read)
    return files


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


def drawn_once(
    account: ReleaseAccount, mechanism: Mechanism, private: Private, drawn: Release, name: str, target: Path
) -> Draft:
    """Charge the release and put it into a file; for a request that was answered before, the file of that answer.

    The ledger stores the name and the digest of the draft when the request is settled: only the file that was settled
    is ever published. The draft of a run that was killed before is the draw of this request; `drawn` is then not."""

    def produce() -> dict[str, Any]:
        whose = json.dumps([str(account.ledger.absolute()), account.data, account.request])
        stem = f".{target.name}.{hashlib.sha256(whose.encode()).hexdigest()[:16]}."
        whole = []
        for draft in sorted(target.parent.glob(f"{glob.escape(stem)}*{PENDING}")):  # one run at a time comes here
            if holds(draft, draft.name.removeprefix(stem).removesuffix(PENDING)):
                whole.append(draft)
            else:
                draft.unlink(missing_ok=True)  # of an earlier version, or edited
        if not whole:
            text = csv_text(shown_columns({name: drawn.values}))
            whole = [target.with_name(f"{stem}{hashlib.sha256(text.encode()).hexdigest()}{PENDING}")]
            with writing(whole[0], private=True) as out:
                out.write(text)
        told = {"file": str(target.absolute()), "draft": whole[0].name, "sha256": file_sha256(whole[0])}
        return {**told, "rows": len(drawn)}

    receipt = account.spend(private, mechanism, produce)
    stored = Path(receipt["file"])
    for place in (target, stored.with_name(receipt["draft"]), stored):
        if holds(place, receipt["sha256"]):
            return Draft(place, target, receipt["sha256"], kept=True)
    raise AlreadyReleased(
        f"request {account.request!r} was answered before, with a file of {receipt['rows']} rows that is no longer "
        "where it was written, or was changed. A ledger keeps the SHA-256 of a column and not its values, and nothing "
        "is drawn twice: put the file back"
    )


def ready(files: Files, account: ReleaseAccount | None, as_json: bool, *, named: bool = True) -> None:
    """Go on only where the files of the release may be written; before anything is charged.

    Where they are the release of this very request, complete, that is said and the command ends: it was run before, or
    was killed when all was done. What a release left that was killed on the way is written over. `named` False: the
    name of the request is not known yet, and files of any release of the same data may stand there until it is."""
    if files.over:
        return
    if account is not None and _released(files, account, account.request):
        if as_json:
            print_json({"files": files.to_json(), "ledger": account.told(), "released before": True})
        else:
            say(f"released before, under the same request: {', '.join(map(str, files.all()))}; nothing was drawn")
        raise typer.Exit
    if unfinished(files.published) or (not named and account is not None and _released(files, account, None)):
        return
    for file in files.all():
        options.fresh(file, force=False)


def _released(files: Files, account: ReleaseAccount, request: str | None) -> bool:
    """Whether the files are a whole release that the ledger knows, of this request or, where None, of any."""
    if not all(file.is_file() for file in files.all()):
        return False
    try:
        document = ReleaseDocument.load(files.certificate)
        stated, published = document["ledger"], [file["sha256"] for file in document.published]
        if stated is None or stated["data"] != account.data or request not in (None, stated["request"]):
            return False
        return published == [file_sha256(files.published)] and account.named(stated["request"]).entry() == dict(stated)
    except (FuguError, OSError, AssertionError, KeyError, TypeError):
        return False
