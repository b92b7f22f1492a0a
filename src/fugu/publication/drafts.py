"""A published file before it has its name: complete, hidden, for its owner alone, until what covers it is written.

A process that is killed leaves its draft: by that the next run of the command sees that it was not finished, and the
draft goes as soon as there is a newer one. A column that a ledger has charged is never drawn again: its draft is found
by its name (`fugu.cli.receipts`), and finished."""

from __future__ import annotations

import csv
import glob
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fugu.data import write_csv
from fugu.data.formulas import shown_columns
from fugu.documents.commitment import file_sha256
from fugu.errors import UsageError
from fugu.files import check_target, give_name, write_text, writing

PENDING = ".pending"
_OWN = re.compile(rf"\.(\d+)\.[0-9a-f]{{16}}{re.escape(PENDING)}")
"""How the name of a draft ends that no ledger keeps: the process that wrote it."""


@dataclass(frozen=True)
class Draft:
    """The published file, complete but perhaps not yet under its name.

    `kept`: a ledger holds its digest and will publish it later, so it stays until then."""

    file: Path
    target: Path
    sha256: str
    kept: bool = False

    def cells(self) -> list[str]:
        """The first column of what goes out, without its name: what was stored for a request, if it was drawn before,
        and never a second draw. Nothing, if another process has moved it meanwhile and it cannot be read."""
        for place in (self.file, self.target):  # another run of the same request may have given it its name
            with suppress(OSError), open(place, encoding="utf-8", newline="") as file:
                return [line[0] if line else "" for line in csv.reader(file)][1:]
        return []

    def publish(self) -> None:
        """Give the file its name; if another run of the same request has done so meanwhile, it is done."""
        if self.file == self.target:
            return
        try:
            if self.file.name.endswith(PENDING) and self.file.absolute().parent == self.target.absolute().parent:
                give_name(self.file, self.target)
            else:
                write_text(self.target, self.file.read_text(encoding="utf-8"))
        except (UsageError, OSError):
            if not holds(self.target, self.sha256):
                raise

    def discard(self) -> None:
        """Remove it, if it never got its name and no ledger keeps it: what failed leaves no drawn value behind."""
        if self.file != self.target and not self.kept:
            self.file.unlink(missing_ok=True)

    def supersede(self) -> None:
        """Remove what another release left under the name: it would lie there beside a document that is not its own."""
        if not holds(self.target, self.sha256):
            check_target(self.target).unlink(missing_ok=True)


def drafted(target: Path, columns: Mapping[str, object]) -> Draft:
    """The columns in a hidden file beside the one they will be; what cannot be seen in a label is spelled out."""
    pending = _hidden(target)
    write_csv(pending, shown_columns(columns), private=True)
    _sweep(target)
    return Draft(pending, target, file_sha256(pending))


def drafted_text(target: Path, text: str) -> Draft:
    """The same for a text, such as a model."""
    pending = _hidden(target)
    with writing(pending, private=True) as out:
        out.write(text)
    _sweep(target)
    return Draft(pending, target, file_sha256(pending))


def unfinished(target: Path) -> bool:
    """Whether a release into this file was killed on the way: its draft lies there, and the file does not."""
    return not target.exists() and bool(_drafts(target))


def _hidden(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(8)}{PENDING}")


def _drafts(target: Path) -> list[Path]:
    return list(target.parent.glob(f".{glob.escape(target.name)}.*{PENDING}"))


def _sweep(target: Path) -> None:
    """Remove the drafts of processes that are no more."""
    for draft in _drafts(target):
        own = _OWN.search(draft.name, len(target.name))
        if own is not None and not _alive(int(own[1])):
            draft.unlink(missing_ok=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def holds(path: Path, sha256: str) -> bool:
    """Whether there is a file with this content."""
    try:
        return path.is_file() and file_sha256(path) == sha256
    except (OSError, UsageError):  # renamed meanwhile
        return False
