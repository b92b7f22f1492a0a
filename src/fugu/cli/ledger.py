"""`fugu ledger show|verify|export|copy|repair`: read a ledger, or mend it; none of them spends anything."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.table import Table

from fugu.cli import options
from fugu.cli.asking import asks
from fugu.cli.console import escape, out, print_json, say
from fugu.errors import UsageError
from fugu.files import check_apart
from fugu.ledger import Books, books
from fugu.ledger.books import BEFORE, HELD, accounts
from fugu.ledger.keys import own_ledger

app = typer.Typer(
    help="Read a ledger: what was asked and spent, whether it holds, a copy for others; or mend it.",
    no_args_is_help=True,
)
_LAST = 50
_COLOURS = {"settled": "green", "reserved": "yellow", "failed": "red", "refused": "red"}


@app.command("show")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger show")
def show(ledger: str | None = None, every: bool = False, as_json: bool = False) -> None:
    """Every data set: budget, what was asked, spent, worth under its prior and left; and the last requests."""
    found, entries = Books(_place(ledger)).read(lambda view: (accounts(view, all_of := books.history(view)), all_of))
    if as_json:
        listed = [{"data": e.data, "request": e.request, "state": e.state, "kind": e.kind, "charge": e.guarantee,
                   "against anybody": e.anybody, "worth so far": e.worth, "at": e.at, "note": e.note,
                   "skipped": list(e.skipped)} for e in entries]  # fmt: skip
        sets = [{"name": a.own.name, "budget": a.own.budget, "requests": a.asked, "spent": a.spent,
                 "spent is": str(a.why) or (BEFORE if a.translated else HELD), "worth": a.worth, "left": a.left,
                 "against anybody": a.anybody, "people also in": list(a.others), "cap": a.own.cap,
                 "fingerprint": known.marks[0] if known.marks else None, "prior": known.prior,
                 "believed": known.believed, "entries": known.entries}
                for a in found for known in (a.own.known,)]  # fmt: skip
        print_json({"data sets": sets, "requests": listed})
        return
    for account in found:
        own, known = account.own, account.own.known
        believed = "" if known.prior is None else f"; prior: {known.believed or 'not described in the file'}"
        out.print(f"[bold]{escape(own.name)}[/]: budget {escape(repr(own.budget) + believed)}", soft_wrap=True)
        for what, said in account.words():
            out.print(f"  {what:6}{escape(said)}", soft_wrap=True)
    shown = entries if every else entries[-_LAST:]
    under = any(e.worth is not None for e in shown)  # what it was worth under the prior only where some was
    table = Table(header_style="bold")
    for name in ("data set", "request", "state", "charge", *(["worth with all before"] * under), "time (UTC)", "note"):
        table.add_column(name, overflow="fold")
    for e in shown:
        skipped = f"skipped, as never taken: {', '.join(e.skipped)}" if e.skipped else ""
        table.add_row(
            escape(e.data), escape(e.request), f"[{_COLOURS[e.state]}]{e.state}[/]",
            escape(f"{e.guarantee!r}, {e.kind}"), *([escape("" if e.worth is None else repr(e.worth))] * under),
            escape(e.at[:19].replace("T", " ")), escape("; ".join(filter(None, (e.note, skipped)))),
        )  # fmt: skip
    out.print(table)
    if more := len(entries) - len(shown):
        out.print(f"the last {_LAST} requests; there are {more} more before them, which --all shows", soft_wrap=True)


@app.command("verify")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger verify")
def verify(ledger: str | None = None, head: str | None = None, as_json: bool = False) -> None:
    """Check the whole chain of hashes, every stored value, every checkpoint; exit 4 if it was edited, damaged or rolled
    back."""
    found = Books(_place(ledger)).read(books.verify, head)
    if as_json:
        print_json({"holds": True, "head": found})
    else:
        out.print(f"[bold green]holds[/]: every event follows from the one before; head {found}", soft_wrap=True)


@app.command("export")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger export")
def export(output: str, ledger: str | None = None, force: bool = False, as_json: bool = False) -> None:
    """Write every event and the head as JSON; keep it elsewhere, and a rolled-back ledger will be noticed."""
    options.fresh(check_apart(output, str(_place(ledger))), force)
    content = Books(_place(ledger)).read(books.export)
    books.save(content, output)
    if as_json:
        print_json({"head": content["head"], "events": len(content["events"])})
    else:
        out.print(f"{len(content['events'])} events written; head {content['head']}", soft_wrap=True)


@app.command("copy")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger copy")
def copy(output: str, ledger: str | None = None, as_json: bool = False) -> None:
    """Write a copy of the ledger, of one moment, after a full check; without its key, which is a file of its own."""
    options.fresh(check_apart(output, str(_place(ledger))), force=False)
    head = Books(_place(ledger)).read(books.copy, output)
    if as_json:
        print_json({"head": head, "copy": output})
    else:
        say(f"copied to {output}; head {head}")
        say("the key is a file of its own and was not copied: keep a copy of it elsewhere; a copy charges only with it")


@app.command("repair")
@asks(argument="ledger", metavar="LEDGER.db", command_name="ledger repair")
def repair(ledger: str | None = None, as_json: bool = False) -> None:
    """Mend a ledger that a process of fugu 0.3 made unreadable when it was interrupted: what it wrote twice counts
    twice, for two values may have gone out. Nothing is rewritten; other damage is refused."""
    place = _place(ledger)
    accepted = Books(place, 30.0).repair()
    head = Books(place).read(books.verify)
    if as_json:
        print_json({"accepted": [{"event": seq, "kind": kind} for seq, kind in accepted.items()], "head": head})
        return
    for seq, kind in accepted.items():
        say(f"event {seq}, {kind!r}, repeats what stood already: it is accepted, and a charge counts once more")
    say(f"{'mended' if accepted else 'nothing to mend'}: the ledger holds; head {head}", soft_wrap=True)


def _place(ledger: str | None) -> Path:
    """The ledger that is named, else the user's own."""
    if ledger is not None:
        return Path(ledger)
    own = own_ledger(make=False)
    if not own.exists():
        raise UsageError(f"you have no ledger of your own yet, at {str(own)!r}; name the file of another one")
    return own
