"""A column that went out, once: the ledger keeps the file's SHA-256, its rows and its place, never its values.

The file is written under a hidden name before the charge is settled, and takes its own name after. Whatever breaks in
between, the same request finds that very file again, and never draws a second time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fugu.cli.charging import Account
from fugu.data import write_csv
from fugu.data.private import Private
from fugu.errors import AlreadyReleased
from fugu.files import give_name, write_text
from fugu.mechanism import Mechanism, Release


@dataclass(frozen=True)
class Draft:
    """The published file, complete but not yet under its name."""

    file: Path
    target: Path
    fresh: bool
    """Whether it was drawn by this call, rather than by an earlier one for the same request."""

    def publish(self) -> None:
        """Give the file its name."""
        if self.file == self.target:
            return
        if self.file.name.endswith(_PENDING):
            give_name(self.file, self.target)
        else:
            _copy(self.file, self.target)


_PENDING = ".pending"


def drawn_once(
    account: Account, mechanism: Mechanism, private: Private, drawn: Release, name: str, target: Path
) -> Draft:
    """Charge the release and put it into a file; for a request that was answered before, the file of that answer."""
    pending = _pending(target, account.request)
    made = False

    def produce() -> dict[str, Any]:
        nonlocal made
        made = True
        if pending.is_symlink() or not pending.is_file():  # else an earlier call drew it and was cut short
            write_csv(pending, {name: drawn.values}, private=True)
        return {"file": str(target.absolute()), "sha256": _sha256(pending), "rows": len(drawn)}

    receipt = account.spend(private, mechanism, produce)
    stored = Path(receipt["file"])
    for place in (pending, target, stored, _pending(stored, account.request)):
        if place.is_file() and _sha256(place) == receipt["sha256"]:
            return Draft(place, target, made)
    raise AlreadyReleased(
        f"request {account.request!r} was answered before, with a file of {receipt['rows']} rows that is no longer "
        "where it was written, or was changed. A ledger keeps the SHA-256 of a column and not its values, and nothing "
        "is drawn twice: put the file back"
    )


def _pending(target: Path, request: str) -> Path:
    return target.with_name(f".{target.name}.{hashlib.sha256(request.encode()).hexdigest()[:16]}{_PENDING}")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(source: Path, target: Path) -> None:
    write_text(target, source.read_text(encoding="utf-8"))
