"""A published file before it has its name: complete, hidden, for its owner alone, until what covers it is written."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fugu.data import write_csv
from fugu.documents.commitment import file_sha256
from fugu.errors import UsageError
from fugu.files import check_target, give_name, write_text, writing

PENDING = ".pending"


@dataclass(frozen=True)
class Draft:
    """The published file, complete but perhaps not yet under its name.

    `kept`: a ledger holds its digest and will publish it later, so it stays until then."""

    file: Path
    target: Path
    sha256: str
    kept: bool = False

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
    """The columns in a hidden file beside the one they will be."""
    pending = _hidden(target)
    write_csv(pending, columns, private=True)
    return Draft(pending, target, file_sha256(pending))


def drafted_text(target: Path, text: str) -> Draft:
    """The same for a text, such as a model."""
    pending = _hidden(target)
    with writing(pending, private=True) as out:
        out.write(text)
    return Draft(pending, target, file_sha256(pending))


def _hidden(target: Path) -> Path:
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}{PENDING}")


def holds(path: Path, sha256: str) -> bool:
    """Whether there is a file with this content."""
    try:
        return path.is_file() and file_sha256(path) == sha256
    except (OSError, UsageError):  # renamed meanwhile
        return False
