"""Where a ledger and its key are: a file of its own for its owner alone, the user's own ledger where none is named."""

from __future__ import annotations

import os
import re
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fugu.documents.release import is_name
from fugu.errors import BadLedger, UsageError
from fugu.files import file_name, write_new
from fugu.ledger import events, log
from fugu.numbers.checks import is_path

if TYPE_CHECKING:
    from fugu.ledger.store import LockedView, Writing


# The key of a ledger: a file of its own, for its owner alone, without which nothing is charged.
#
# Tables and persons are stored as digests under this key (HMAC-SHA-256). Whoever has the ledger alone cannot try out
# patient numbers on it; whoever has both can. So the key is never in a ledger, an export, a certificate or a database:
# the ledger holds its SHA-256, a commitment by which a wrong key is noticed.
#
# It lies where `FUGU_LEDGER_KEY` says, else beside the path that the ledger was opened by, as `<ledger>.key`; of a
# symbolic link also beside what the link leads to. Ledgers of versions before 0.4 have the key inside: the first
# opening that may write moves it out (`secured`).


VARIABLE = "FUGU_LEDGER_KEY"
_WRITTEN = "fugu ledger key\n{}\n"
_FILE = re.compile(_WRITTEN.format("([0-9a-f]{64})"))


def places(path: Path) -> list[Path]:
    """Where the key of the ledger at `path` may lie, the first place first."""
    if named := os.environ.get(VARIABLE, "").strip():
        return [Path(named)]
    return list(dict.fromkeys(p.with_name(f"{p.name}.key") for p in (path, path.resolve())))


def made(path: Path) -> str:
    """The key for a new ledger: one that lies there already, else a new one."""
    known = _read(path)
    if known is not None:
        return known
    place, key = places(path)[0], secrets.token_hex(32)
    if not place.parent.is_dir():
        raise BadLedger(f"the folder of the ledger's key, {str(place.parent)!r}, does not exist; create it first")
    write_new(place, _WRITTEN.format(key))
    return _read(path) or key


def key_of(view: LockedView, path: Path) -> str:
    """The key of an open ledger, once it is found to be the right one; of an early one that was never written since,
    the key inside."""
    if view.key is not None and events.sha256(view.key) == view.state.commitment:
        return view.key
    known = _read(path)
    where = " or ".join(repr(str(place)) for place in places(path))
    if known is None:
        raise BadLedger(
            f"the key of the ledger {path.name!r} is missing: it was looked for at {where}. Put the key file there, or "
            f"say where it is with {VARIABLE}; a ledger that was moved, copied or linked elsewhere needs its key file "
            "beside it too. Without its key a ledger can be shown and verified, and charges nothing"
        )
    if events.sha256(known) != view.state.commitment:
        raise BadLedger(
            f"the key at {where} is not that of the ledger {path.name!r}; give this ledger's own key ({VARIABLE} says "
            "where it is). Nothing was charged"
        )
    return known


def secured(to: Writing, path: Path) -> bool:
    """Give a ledger of an earlier version a key file; whether that took the one event of this transaction.

    A key inside is written to its file and blanked in the ledger, in this order. The chain of hashes covers the key's
    SHA-256 alone, so it stays whole; older copies and backups of the ledger hold the key still. A ledger that was made
    without a key gets one by an event; marks that it has already stay plain digests."""
    if to.state.commitment is None:
        to.append("key", {"commitment": events.sha256(made(path))})
        return True
    key = to.key
    if key is None or events.sha256(key) != to.state.commitment:
        return False
    if _read(path) is None:
        write_new(places(path)[0], _WRITTEN.format(key))
    if _read(path) != key:
        raise BadLedger(
            f"the ledger {path.name!r} has its key inside, and another key lies at {str(places(path)[0])!r}; move that "
            f"file away, or name another place with {VARIABLE}"
        )
    assert to.state.key is not None
    to.overwrite(to.state.key, log.BLANK)
    return False


def _read(path: Path) -> str | None:
    for place in places(path):
        try:
            text = place.read_text(encoding="ascii")
        except FileNotFoundError:
            continue
        except (OSError, UnicodeError) as error:
            raise BadLedger(f"the key of the ledger, {str(place)!r}, cannot be read; check its permissions") from error
        found = _FILE.fullmatch(text)
        if found is None:
            raise BadLedger(
                f"{str(place)!r} is not the key of a ledger; put the key file there, or move this file away"
            )
        return found[1]
    return None


# Which ledger a release is charged to where none is named: the user's own, for commands and for Python.


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
    name = file_name(str(table)) if data is None else data
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
    home = Path.home() / "Library" / "Application Support"
    if sys.platform != "darwin":
        home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    folder = home / "fugu"
    if not make:
        return folder / "ledger.db"
    failed = "written"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        failed = "made"
    if failed == "made" or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be {failed}; name another ledger with FUGU_LEDGER "
            "or --ledger, or say --no-ledger (Python: ledger=FILE, ledger=False)"
        )
    return folder / "ledger.db"


def ledger_path(text: str) -> Path:
    """The file that is named; an address is refused."""
    if "://" in text or text.startswith("file:"):
        raise UsageError(f"a ledger is a file, not an address: give a path, not {text!r}")
    return Path(text)
