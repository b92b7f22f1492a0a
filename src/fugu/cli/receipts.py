"""A column that went out, once: the ledger keeps the file's SHA-256, its rows and its place, never its values.

The file is written under a hidden name before the charge is settled, and takes its own name after. Whatever breaks in
between, the same request finds that very file again, and never draws a second time."""

from __future__ import annotations

import glob
import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

from fugu.cli.charging import Account
from fugu.data import write_csv
from fugu.data.private import Private
from fugu.documents.commitment import file_sha256
from fugu.errors import AlreadyReleased
from fugu.mechanism import Mechanism, Release
from fugu.publication.drafts import PENDING, Draft, holds


def drawn_once(
    account: Account, mechanism: Mechanism, private: Private, drawn: Release, name: str, target: Path
) -> Draft:
    """Charge the release and put it into a file; for a request that was answered before, the file of that answer.

    A draft has a random name, which the ledger stores with its digest when the request is settled: only the file that
    was settled is ever published. What a run leaves that was cut short before is removed by the next one."""

    def produce() -> dict[str, Any]:
        stem = _stem(target, account)
        for old in target.parent.glob(f"{glob.escape(stem)}*{PENDING}"):  # the ledger lets one run at a time come here
            old.unlink(missing_ok=True)
        pending = target.with_name(f"{stem}{secrets.token_hex(8)}{PENDING}")
        write_csv(pending, {name: drawn.values}, private=True)
        told = {"file": str(target.absolute()), "draft": pending.name, "sha256": file_sha256(pending)}
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
