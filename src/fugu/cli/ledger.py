"""`fugu ledger show|verify|export`: read a ledger; none of them spends anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fugu.cli import options
from fugu.cli.console import escape, out, print_json
from fugu.ledger import Books, books
from fugu.ledger.account import BEFORE, HELD, Account, accounts
from fugu.ledger.books import Entry

app = typer.Typer(help="Read a ledger: what was asked and spent, whether it holds, a copy for others.")
Path_ = Annotated[str, typer.Argument(metavar="LEDGER.db", help="A ledger written by fugu.")]
_COLOURS = {"settled": "green", "reserved": "yellow", "failed": "red", "refused": "red"}


@app.command("show")
def show(ledger: Path_, as_json: options.AsJson = False) -> None:
    """Every data set: budget, what was asked, spent, worth under its prior and left; and every request."""
    found, entries = Books(Path(ledger)).read(lambda view: (accounts(view), books.history(view)))
    if as_json:
        listed = [{"data": e.data, "request": e.request, "state": e.state, "kind": e.kind, "charge": e.guarantee,
                   "worth so far": e.worth, "at": e.at, "note": e.note, "skipped": list(e.skipped)}
                  for e in entries]  # fmt: skip
        print_json({"data sets": list(map(_set_json, found)), "requests": listed})
        return
    for account in found:
        _say(account)
    out.print(_requests(entries))


def _say(account: Account) -> None:
    """One data set in words."""
    known = account.known
    believed = "" if known.prior is None else f"; prior: {known.believed or 'not described in the file'}"
    out.print(f"[bold]{escape(known.name)}[/]: budget {escape(repr(known.budget) + believed)}", soft_wrap=True)
    for what, said in account.words():
        out.print(f"  {what:6}{escape(said)}", soft_wrap=True)


def _requests(entries: Iterable[Entry]) -> Table:
    """Every request in one table; what it was worth under the prior only where some was."""
    listed = list(entries)
    under = any(e.worth is not None for e in listed)
    table = Table(header_style="bold")
    for name in ("data set", "request", "state", "charge", *(["worth with all before"] * under), "time (UTC)", "note"):
        table.add_column(name, overflow="fold")
    for e in listed:
        note = "; ".join(
            [e.note] * bool(e.note) + ["skipped, as never taken: " + ", ".join(e.skipped)] * bool(e.skipped)
        )
        worth = [escape("" if e.worth is None else repr(e.worth))] * under
        table.add_row(
            escape(e.data), escape(e.request), f"[{_COLOURS[e.state]}]{e.state}[/]",
            escape(f"{e.guarantee!r}, {e.kind}"), *worth, escape(e.at[:19].replace("T", " ")), escape(note),
        )  # fmt: skip
    return table


@app.command("verify")
def verify(
    ledger: Path_,
    head: Annotated[str | None, typer.Option(help="A head exported earlier; it must still be in the ledger.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Check the chain of hashes against the tables; exit 4 if the ledger was edited, damaged or rolled back."""
    found = Books(Path(ledger)).read(books.verify, head)
    if as_json:
        print_json({"holds": True, "head": found})
    else:
        out.print(f"[bold green]holds[/]: every event follows from the one before; head {found}", soft_wrap=True)


@app.command("export")
def export(
    ledger: Path_,
    output: Annotated[str, typer.Option("-o", "--output", metavar="OUT.json", help="Where to write the copy.")],
    as_json: options.AsJson = False,
) -> None:
    """Write every event and the head as JSON; keep it elsewhere, and a rolled-back ledger will be noticed."""
    options.target(output, ledger)
    content = Books(Path(ledger)).read(books.export)
    books.save(content, output)
    if as_json:
        print_json({"head": content["head"], "events": len(content["events"])})
    else:
        out.print(f"{len(content['events'])} events written; head {content['head']}", soft_wrap=True)


def _set_json(account: Account) -> dict[str, Any]:
    known = account.known
    said = BEFORE if account.translated else HELD
    return {
        "name": known.name,
        "budget": known.budget,
        "requests": account.asked,
        "spent": account.spent,
        "spent is": account.why or said,
        "worth": account.worth,
        "left": account.left,
        "fingerprint": known.fingerprint,
        "prior": known.prior,
        "believed": known.believed,
        "entries": known.entries,
    }
