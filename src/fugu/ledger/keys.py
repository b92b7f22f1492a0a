"""Where a ledger and its key are: a file or an address, a key that is a file of its own, the user's own ledger."""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from fugu.documents.release import is_name
from fugu.errors import BadLedger, MissingExtra, UsageError
from fugu.files import file_name, write_new
from fugu.ledger import events, log
from fugu.numbers.checks import is_path

if TYPE_CHECKING:
    from fugu.ledger.store import LockedView, Writing


# Where a ledger lies. A password goes into an address, and never comes out of it.


class Address(str):
    """A ledger in a PostgreSQL database. As a text it says host and database; who logs in, and with what, is known to
    the object alone, so whatever is printed, raised or stored of it holds neither."""

    __slots__ = ("_login",)
    _login: dict[str, Any]

    def __new__(cls, url: str) -> Self:
        """Read an address, postgresql://USER@HOST/DATABASE; what would connect without a checked certificate is
        refused."""
        login = _read_url(url)
        given = login.pop("sslmode", "verify-full")
        if given != "verify-full":
            raise UsageError(
                "sslmode in the address of the ledger: the server's certificate must be checked. Leave it out, or say "
                "sslmode=verify-full; sslrootcert names the certificate of who signed it. A local socket needs neither"
            )
        if wrong := {"service", "gssencmode"} & set(login):
            raise UsageError(f"leave {min(wrong)} out of the address of the ledger: name host and database in it")
        if not login.get("dbname"):
            raise UsageError("the address of the ledger names no database: postgresql://USER@HOST/DATABASE")
        host, port = login.get("host", ""), login.get("port")
        socket = host.startswith(("/", "@"))
        shown = "" if socket else host + (f":{port}" if port else "")
        tail = "?" + "&".join([f"host={host}", *([f"port={port}"] if port else ())]) if socket else ""
        self = super().__new__(cls, f"postgresql://{shown}/{login['dbname']}{tail}")
        self._login = login
        return self

    def __str__(self) -> str:
        return self  # passed on as a text, it still knows who logs in

    @property
    def name(self) -> str:
        """What it says as a plain text."""
        return super().__str__()

    def login(self) -> dict[str, Any]:
        """What the driver connects with. TLS with a checked certificate, whatever the surroundings say (PGSSLMODE, a
        service file); a local socket takes no notice of it."""
        return {"application_name": "fugu", **self._login, "sslmode": "verify-full", "gssencmode": "disable"}

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("the address of a ledger may hold a password, and is not stored or sent elsewhere")


def _read_url(url: str) -> dict[str, Any]:
    """The parts of an address; no message shows it."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtra(
            "a ledger in a database needs psycopg; install it with: pip install 'fugu-privacy[postgres]'"
        ) from None
    found: dict[str, Any] | None = None
    with suppress(ProgrammingError, UnicodeError, ValueError):
        found = conninfo_to_dict(url)
    if found is None or _torn(found):
        raise UsageError(
            "the address of the ledger cannot be read: postgresql://USER@HOST:PORT/DATABASE, with % signs for "
            "anything but letters and digits in a name or password"
        )
    return found


def _torn(found: dict[str, Any]) -> bool:
    """Whether a password with an @ or a / as it stands ends in the name of the host, the port or the database, where it
    would be shown."""
    host, port, database = (str(found.get(part) or "") for part in ("host", "port", "dbname"))
    return "@" in host[1:] or re.fullmatch(r"[0-9,]*", port) is None or re.search("[@=]", database) is not None


Place = Path | Address
"""Where a ledger lies."""
_SCHEMES = ("file:", "postgresql:", "postgres:")
_WORDS = re.compile(r"(^|\s)(host|hostaddr|dbname|password)\s*=")
"""What the driver takes for an address, too; a file of this name would be called by its password."""


def place_of(named: str | os.PathLike[str]) -> Place:
    """The file or the database that is named; other addresses are refused."""
    if isinstance(named, Address):
        return named
    text = os.fspath(named)
    if text.startswith(("postgresql://", "postgres://")):
        return Address(text)
    odd = text == ":memory:" or "\0" in text  # SQLite took the first for memory
    if odd or "://" in text or text.startswith(_SCHEMES) or _WORDS.search(text):
        raise BadLedger(
            "a ledger is a file, given by its path, or a database, by postgresql://HOST/DATABASE as a text: not an "
            "address or URI of another kind"
        )
    return Path(named)


# The key of a ledger: a file of its own, for its owner alone, without which nothing is charged.
#
# Tables and persons are stored as digests under this key (HMAC-SHA-256; `gathering`). Whoever has the ledger alone
# cannot try out patient numbers on it; whoever has both can. So the key is never in a ledger, an export, a certificate
# or a database: the ledger holds its SHA-256, a commitment by which a wrong key is noticed.
#
# It lies where `FUGU_LEDGER_KEY` says. Else, of a file, beside the path that the ledger was opened by, as
# `<ledger>.key`; of a symbolic link also beside what the link leads to. Of a database, in the user's own folder on
# every host that charges, named by the first digits of the commitment: whatever the database is called there, it has
# one key. Ledgers of versions before 0.4 have the key inside: the first opening that may write moves it out
# (`secured`).


VARIABLE = "FUGU_LEDGER_KEY"
_WRITTEN = "fugu ledger key\n{}\n"
_FILE = re.compile(_WRITTEN.format("([0-9a-f]{64})"))


def places(place: Place, commitment: str) -> list[Path]:
    """Where the key of a ledger with this commitment may lie, the first place first."""
    if named := os.environ.get(VARIABLE, "").strip():
        return [Path(named)]
    if isinstance(place, Address):
        return [own_folder() / f"ledger-{commitment[:16]}.key"]
    return list(dict.fromkeys(p.with_name(f"{p.name}.key") for p in (place, place.resolve())))


def made(place: Place) -> str:
    """The key for a new ledger: one that lies there already, else a new one."""
    key = secrets.token_hex(32)
    listed = places(place, events.sha256(key))
    known = _read(listed)
    if known is not None:
        return known
    if isinstance(place, Address) and not os.environ.get(VARIABLE, "").strip():
        make_own_folder()
    if not listed[0].parent.is_dir():
        raise BadLedger(f"the folder of the ledger's key, {str(listed[0].parent)!r}, does not exist; create it first")
    write_new(listed[0], _WRITTEN.format(key))
    return _read(listed) or key


def key_of(view: LockedView, path: Place) -> str:
    """The key of an open ledger, once it is found to be the right one; of an early one that was never written since,
    the key inside."""
    if view.key is not None and events.sha256(view.key) == view.state.commitment:
        return view.key
    listed = places(path, view.state.commitment or "")
    known, where = _read(listed), " or ".join(repr(str(place)) for place in listed)
    if known is None:
        raise BadLedger(
            f"the key of the ledger {path.name!r} is missing: it was looked for at {where}. Put the key file there, or "
            f"say where it is with {VARIABLE}; a ledger that was moved, copied or linked elsewhere needs its key file "
            "beside it too, and every host that charges a database needs a copy of its key. Without its key a ledger "
            "can be shown and verified, and charges nothing"
        )
    if events.sha256(known) != view.state.commitment:
        raise BadLedger(
            f"the key at {where} is not that of the ledger {path.name!r}; give this ledger's own key ({VARIABLE} says "
            "where it is). Nothing was charged"
        )
    return known


def secured(to: Writing, path: Place) -> bool:
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
    listed = places(path, to.state.commitment)
    if _read(listed) is None:
        write_new(listed[0], _WRITTEN.format(key))
    if _read(listed) != key:
        raise BadLedger(
            f"the ledger {path.name!r} has its key inside, and another key lies at {str(listed[0])!r}; move that "
            f"file away, or name another place with {VARIABLE}"
        )
    assert to.state.key is not None
    to.overwrite(to.state.key, log.BLANK)
    return False


def _read(listed: Sequence[Path]) -> str | None:
    for place in listed:
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
"""A file or an address; False for none; None for the user's own where the table is a file, and none otherwise."""


def ledger_for(table: object, ledger: LedgerLike, data: str | None) -> tuple[Place, str] | None:
    """Where a release of `table` from Python is charged, and under which name; None where nothing is charged.

    The user's own ledger knows a file by its name, as it does on the command line; one that is named, as "data"."""
    file = issubclass(type(table), str | os.PathLike)  # by its type: nothing is asked of the table itself
    if ledger is False or (ledger is None and not file):
        if data is not None:
            raise UsageError("data is the name of the table in a ledger; give ledger=FILE too")
        return None
    if ledger is not None:
        if not is_path(ledger):
            raise UsageError("ledger is a file, the address of a database, or False for none")
        return place_of(ledger), "data" if data is None else data
    name = file_name(str(table)) if data is None else data
    if not is_name(name):
        raise UsageError("the table is charged to your own ledger under the name of its file, and this names none: "
                         "give data=NAME, or ledger=False")  # fmt: skip
    return own_ledger(), name


def own_ledger(*, make: bool = True) -> Place:
    """The user's own ledger: FUGU_LEDGER, else ledger.db in the platform's data folder, which is made for its owner
    alone if `make`."""
    if named := os.environ.get("FUGU_LEDGER"):
        if not named.strip():
            raise UsageError("FUGU_LEDGER is set and names no file: give it the path of a ledger, or unset it")
        return place_of(named)
    if make:
        make_own_folder()
    return own_folder() / "ledger.db"


def own_folder() -> Path:
    """The folder of the user's own ledger, and of the keys of databases."""
    home = Path.home() / "Library" / "Application Support"
    if sys.platform != "darwin":
        home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return home / "fugu"


def make_own_folder() -> None:
    """Make it, for its owner alone."""
    folder, failed = own_folder(), "written"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        failed = "made"
    if failed == "made" or not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(
            f"the folder of your own ledger, {str(folder)!r}, cannot be {failed}; name another ledger with FUGU_LEDGER "
            "or --ledger, or say --no-ledger (Python: ledger=FILE, ledger=False)"
        )
