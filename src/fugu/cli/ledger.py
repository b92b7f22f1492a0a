"""`fugu ledger show|verify|export`: read a ledger; none of them spends anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fugu.cli import options
from fugu.cli.console import escape, out, print_json
from fugu.errors import NotProvable
from fugu.guarantee import Guarantee, Pure
from fugu.ledger import Books, books
from fugu.ledger.accountant import Terms, total
from fugu.ledger.amounts import left
from fugu.ledger.books import DataSet

app = typer.Typer(help="Read a ledger: what was asked and spent, whether it holds, a copy for others.")
Path_ = Annotated[str, typer.Argument(metavar="LEDGER.db", help="A ledger written by fugu.")]
_COLOURS = {"settled": "green", "reserved": "yellow", "failed": "red", "refused": "red"}


@app.command("show")
def show(ledger: Path_, as_json: options.AsJson = False) -> None:
    """Every data set with its budget, what is spent and left, and every request, also the failed and refused ones."""
    found = Books(Path(ledger)).read(lambda db: (books.datasets(db), books.history(db), _spent(db)))
    sets, entries, spent = found
    if as_json:
        told = [_set_json(known, *spent[known.name]) for known in sets]
        listed = [{"data": e.data, "request": e.request, "state": e.state, "kind": e.kind, "charge": e.guarantee,
                   "at": e.at, "note": e.note, "skipped": list(e.skipped)} for e in entries]  # fmt: skip
        print_json({"data sets": told, "requests": listed})
        return
    for known in sets:
        summed, what = spent[known.name]
        rest = f", left {left(summed, known.budget)!r}" if summed is not None and what == "" else ""
        words = f"spent {summed!r}{what}{rest}" if summed is not None else what
        out.print(
            f"[bold]{escape(known.name)}[/]: budget {escape(repr(known.budget))}, {escape(words)}", soft_wrap=True
        )
    table = Table(header_style="bold")
    for name in ("data set", "request", "state", "charge", "time (UTC)", "note"):
        table.add_column(name, overflow="fold")
    for e in entries:
        state = f"[{_COLOURS[e.state]}]{e.state}[/]"
        charge = f"{e.guarantee!r}, {e.kind}"
        note = "; ".join(
            [e.note] * bool(e.note) + ["skipped, as never taken: " + ", ".join(e.skipped)] * bool(e.skipped)
        )
        cells = (e.data, e.request, None, charge, e.at[:19].replace("T", " "), note)
        table.add_row(*(state if cell is None else escape(cell) for cell in cells))
    out.print(table)


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


def _spent(db: Any) -> dict[str, tuple[Guarantee | None, str]]:
    """What is spent on each data set; with a prior, which the file does not hold, the sum for each entry."""
    found: dict[str, tuple[Guarantee | None, str]] = {}
    for known in books.datasets(db):
        charges = books.charges(db, known.name)
        by_law = any(c.charge.kind == "law" for c in charges)
        try:
            summed = total(charges, Terms(known.budget, None, known.entries))
            per_entry = known.prior is not None and not by_law and summed != Pure(0)
            found[known.name] = (summed, " for each entry, before translation with its prior" if per_entry else "")
        except NotProvable as error:
            found[known.name] = (None, f"spent: needs the data set's prior ({error})")
    return found


def _set_json(known: DataSet, summed: Guarantee | None, what: str) -> dict[str, Any]:
    rest = left(summed, known.budget) if summed is not None and what == "" else None
    return {
        "name": known.name,
        "budget": known.budget,
        "spent": summed,
        "spent is": what.strip() or "held against the budget",
        "left": rest,
        "fingerprint": known.fingerprint,
        "prior": known.prior,
        "entries": known.entries,
    }
