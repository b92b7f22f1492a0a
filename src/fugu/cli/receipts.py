"""A column that went out, once: the ledger keeps the file's SHA-256, its rows and its place, never its values.

The file is written under a hidden name before the charge is settled, and takes its own name after. Whatever breaks in
between, the same request finds that very file again, and never draws a second time: the name of a draft says which
request it is for, and its SHA-256, so one that was not settled yet is known to be whole, and is settled then."""

from __future__ import annotations

import glob
import hashlib
import json
from pathlib import Path
from typing import Any

import typer

from fugu.cli.charging import Account
from fugu.cli.console import print_json, say
from fugu.cli.options import fresh
from fugu.data import csv_text
from fugu.data.formulas import shown_columns
from fugu.data.private import Private
from fugu.documents.commitment import file_sha256
from fugu.documents.release import ReleaseDocument
from fugu.errors import AlreadyReleased, FuguError
from fugu.files import writing
from fugu.mechanism import Mechanism, Release
from fugu.publication.drafts import PENDING, Draft, holds, unfinished
from fugu.publication.files import Files


def drawn_once(
    account: Account, mechanism: Mechanism, private: Private, drawn: Release, name: str, target: Path
) -> Draft:
    """Charge the release and put it into a file; for a request that was answered before, the file of that answer.

    The ledger stores the name and the digest of the draft when the request is settled: only the file that was settled
    is ever published. The draft of a run that was killed before is the draw of this request; `drawn` is then not."""

    def produce() -> dict[str, Any]:
        stem = _stem(target, account)
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


def _stem(target: Path, account: Account) -> str:
    whose = json.dumps([str(account.ledger.absolute()), account.data, account.request])
    return f".{target.name}.{hashlib.sha256(whose.encode()).hexdigest()[:16]}."


def ready(files: Files, account: Account | None, as_json: bool, *, named: bool = True) -> None:
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
        fresh(file, force=False)


def _released(files: Files, account: Account, request: str | None) -> bool:
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
