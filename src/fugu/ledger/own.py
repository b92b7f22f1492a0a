"""Which ledger a release is charged to where none is named: the user's own, for commands and for Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal

from fugu.documents.release import is_name
from fugu.errors import UsageError
from fugu.numbers.checks import is_path

LedgerLike = str | os.PathLike[str] | Literal[False] | None
"""A file; False for none; None for the user's own where the table is a file, and none otherwise."""


def ledger_for(table: object, ledger: LedgerLike, data: str | None) -> tuple[Path, str] | None:
    """Where a release of `table` from Python is charged, and under which name; None where nothing is charged.

    The user's own ledger knows a file by its name, as it does on the command line; one that is named, as "data"."""
    file = issubclass(type(table), str | os.PathLike)  # by its type: nothing is asked of the table itself
    if ledger is False or (ledger is None and not file):
        if data is not None:
            raise UsageError("data is the name of the table in a ledger; give ledger=FILE too")
        return None
    if ledger is not None:
        if not is_path(ledger):
            raise UsageError("ledger is a file, or False for none")
        return Path(ledger), "data" if data is None else data
    name = Path(str(table)).name if data is None else data
    if not is_name(name):
        raise UsageError("the table is charged to your own ledger under the name of its file, and this names none: "
                         "give data=NAME, or ledger=False")  # fmt: skip
    return own_ledger(), name


def own_ledger(*, make: bool = True) -> Path:
    """The user's own ledger: FUGU_LEDGER, else ledger.db in the platform's data folder, which is made for its owner
    alone if `make`."""
    if named := os.environ.get("FUGU_LEDGER"):
        if not named.strip():
            raise UsageError("FUGU_LEDGER is set and names no file: give it the path of a ledger, or unset it")
        return ledger_path(named)
    folder = _data_folder() / "fugu"
    if not make:
        return folder / "ledger.db"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be made; name another ledger with FUGU_LEDGER or "
            "--ledger, or say --no-ledger (Python: ledger=FILE, ledger=False)"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be written; name another ledger with FUGU_LEDGER "
            "or --ledger, or say --no-ledger (Python: ledger=FILE, ledger=False)"
        )
    return folder / "ledger.db"


def ledger_path(text: str) -> Path:
    """The file that is named; an address is refused."""
    if "://" in text or text.startswith("file:"):
        raise UsageError(f"a ledger is a file, not an address: give a path, not {text!r}")
    return Path(text)


def _data_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
