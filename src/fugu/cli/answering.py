"""`fugu release --query`: publish a statistic, group by group."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from rich.table import Table as Rich

import fugu
from fugu.cli import options
from fugu.cli.charging import Account
from fugu.cli.console import escape, out, print_json, progress, say, usable_table, warn_of_formulas
from fugu.cli.paging import Pages
from fugu.cli.spoken import spoken
from fugu.data import Schema
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger.charge import Charge
from fugu.numbers.exact import Real
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.answered import Answer, columns_of
from fugu.queries.answering import Prepared, prepare
from fugu.queries.cell import Cell
from fugu.queries.statistic import Statistic
from fugu.utility.usable import Usable


@dataclass(frozen=True)
class Asks:
    """What a statistic is told on the command line."""

    table: str
    query: str
    protect: str
    budget: Pure | Approx
    reference: str | None
    by: str | None
    bounds: tuple[Real, Real] | None
    step: str | None
    bins: str | None
    unit: str | None
    schema: Schema | None
    missing: str | float | None
    allow_no_noise: bool
    public_reference: bool

    def prepared(self) -> Prepared:
        """The mechanisms, proved, and the private table, open; nothing is drawn."""
        edges = options.bins(self.bins)
        if edges is not None and (not isinstance(edges, list) or not all(isinstance(e, float) for e in edges)):
            raise UsageError("for a query, bins are edges, such as --bins 100,150,200")
        found = prepare(
            self.table,
            self.query,
            self.protect,
            self.budget,
            self.reference or self.table,
            self.by,
            self.bounds,
            None if self.step is None else options.number("step", self.step),
            edges,  # type: ignore[arg-type]
            self.reference is None,
            self.unit,
            self.schema,
            self.missing,
        )
        found.require_noise(self.allow_no_noise)
        return found


def release_query(
    asked: Asks, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool,
    pages: Pages,
) -> None:  # fmt: skip
    """Charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals."""
    with progress("fitting beliefs, and the least noise"):
        prepared = asked.prepared()
        going = Outgoing(
            certificates={group: found.certificate for group, found in prepared.mechanisms.items()},
            table=asked.table,
            data=data,
            rows=len(prepared.private),
            recipe=None if prepared.recipe is None else {"what": "statistic", **prepared.recipe},
            words=f"Publish {prepared.statistic}.",
            skipped=prepared.skipped,
            beliefs=Beliefs.fitted_on(asked.reference, asked.public_reference),
        )
        kept = pages.before(going, as_json)
    summary: dict[str, Any] = {"query": str(prepared.statistic), "dry_run": dry_run}
    if dry_run:
        scales = {group: float(m.noise.scale) for group, m in prepared.mechanisms.items()}
        if as_json:
            print_json({**summary, "scales": scales, "usable": _usable(prepared, ()).to_json()})
        else:
            out.print(usable_table(_usable(prepared, ())))
            say(f"noise scale of each group: {scales}")
            out.print("dry run: nothing was released or charged")
        return
    cells = _spent(asked, prepared, account)
    columns = columns_of(cells)
    going = going if account is None else replace(going, ledger=account.entry())
    publish(files, going, drafted(files.published, columns), columns, kept.after(files, account))
    warn_of_formulas(files.published, columns)
    if as_json:
        told = None if account is None else account.told()
        usable = _usable(prepared, cells).to_json()
        listed = [asdict(cell) for cell in cells]
        print_json({**summary, "cells": listed, "files": files.to_json(), "ledger": told, "usable": usable})
        return
    out.print(_shown(prepared.statistic, cells, asked.budget))
    out.print(usable_table(_usable(prepared, cells)))
    say(f"wrote {', '.join(map(str, files.all()))}")


def _usable(prepared: Prepared, cells: tuple[Cell, ...]) -> Usable:
    """How usable the numbers are, beside what went out; before that, beside what the beliefs say."""
    return fugu.usable(Answer(prepared.statistic, cells, prepared.mechanisms))


def _spent(asked: Asks, prepared: Prepared, account: Account | None) -> tuple[Cell, ...]:
    """The numbers; through the ledger, a request that was answered before gives what was stored.

    All groups together are one charge: a record belongs to one of them. A second statistic of the same table is
    refused by the ledger, since what two law-based releases promise together is not known."""

    def produce() -> list[list[Any]]:
        return [list(astuple(cell)) for cell in prepared.release(asked.allow_no_noise).cells]

    if account is None:
        return tuple(Cell(*cell) for cell in produce())
    certificates = {group: found.certificate for group, found in prepared.mechanisms.items()}
    charge = Charge.of_groups(asked.budget, asked.by, certificates)
    return tuple(Cell(*cell) for cell in account.spend(prepared.private, charge, produce))


def bounds_of(text: str | None) -> tuple[Real, Real] | None:
    """ "0,400" as two numbers."""
    if text is None:
        return None
    low, comma, high = text.partition(",")
    if not comma or ":" in text:
        raise UsageError(
            f"bounds are two numbers here, such as --bounds 0,400, got {text!r}; --route records takes a list"
        )
    return options.number("bounds", low), options.number("bounds", high)


def _shown(statistic: Statistic, cells: tuple[Cell, ...], budget: Pure | Approx) -> Rich:
    table = Rich(title=escape(spoken(f"{statistic} under {budget}")), title_justify="left", header_style="bold")
    columns = columns_of(cells)
    for name in columns:
        table.add_column(escape(name), justify="left" if name in ("group", "cell") else "right")
    table.add_column("noise scale", justify="right")
    for k, cell in enumerate(cells):
        values = [columns[name][k] for name in columns]
        table.add_row(*(escape(v) if isinstance(v, str) else f"{v:.6g}" for v in values), f"{cell.scale:.4g}")
    return table
