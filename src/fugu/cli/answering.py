"""`fugu release --query`: publish a statistic, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from typing import Any

from rich.table import Table as Rich

import fugu
from fugu.checking import checked
from fugu.cli import options
from fugu.cli.charging import CLOSES, Account, closes, say_closing
from fugu.cli.checking import books
from fugu.cli.console import (
    err,
    escape,
    out,
    print_json,
    progress,
    say,
    say_rules,
    usable_table,
    warn,
    warn_of_formulas,
)
from fugu.cli.dry_run import UNNAMED, DryRun, required
from fugu.cli.paging import Pages
from fugu.cli.questions import show_plan
from fugu.cli.receipts import ready
from fugu.cli.routes import LAW
from fugu.data import Schema, Table
from fugu.data.weak import cut_cells, few_rows
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger.charge import Charge
from fugu.numbers.exact import Real
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.answered import Answer, columns_of
from fugu.queries.answering import Prepared, Rehearsed, open_query, rehearse
from fugu.queries.believing import Asked as Wanted
from fugu.queries.believing import Believed
from fugu.queries.cell import Cell
from fugu.queries.statistic import Question, what_and_by
from fugu.telling import told
from fugu.utility.plausible import implausible_numbers
from fugu.utility.rows import RowsFor
from fugu.utility.usable import Usable


@dataclass(frozen=True)
class Asks:
    """What a statistic is told on the command line."""

    table: str | None
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
    rows: int | None = None
    why: str = ""
    """Why it goes by the law route, where nobody asked for that."""

    @property
    def question(self) -> Question:
        """The one question, with its own "by" or that of the option."""
        parsed = Question.parse(self.query)
        return replace(parsed, by=self.by if parsed.by is None else parsed.by)

    @cached_property
    def known(self) -> Table | None:
        """The reference as it stands, read once; None where the table is its own."""
        return None if self.reference is None else (self.schema or Schema({})).open(self.reference)

    def believed(self) -> Believed:
        """What is believed: of the reference, or of the table itself, which then counts as public."""
        edges = options.bins(self.bins)
        if edges is not None and (not isinstance(edges, list) or not all(isinstance(e, float) for e in edges)):
            raise UsageError("for a query, bins are edges, such as --bins 100,150,200")
        asked = Wanted(
            what_and_by(self.query)[0],
            self.protect,
            self.question.by,
            self.bounds,
            None if self.step is None else options.number("step", self.step),
            edges,  # type: ignore[arg-type]
            self.unit,
            self.schema,
            self.missing,
        )
        return asked.of(required(self.table) if self.known is None else self.known, self.reference is None)

    def going(self, found: Rehearsed, data: str, basis: str = "") -> Outgoing:
        """What goes out, as far as it is known before the draw."""
        return Outgoing(
            certificates={group: made.certificate for group, made in found.mechanisms.items()},
            table=self.table or UNNAMED,
            data=data,
            rows=found.rows,
            recipe=None if found.recipe is None else {"what": "statistic", **found.recipe},
            words=f"Publish {found.statistic}.",
            skipped=found.skipped,
            beliefs=Beliefs.fitted_on(self.reference, self.public_reference),
            basis=basis,
        )


def release_query(
    asked: Asks, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool,
    pages: Pages,
) -> None:  # fmt: skip
    """Charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals.

    A dry run, and the page to sign, are for groups that are expected: the table is opened after them."""
    ready(files, account, as_json)
    show_plan([asked.question], asked.query, as_json)
    if asked.why and not as_json:
        err.print(f"[bold yellow]note[/]: by the law route, not by records: {escape(asked.why)}", soft_wrap=True)
    with progress("fitting beliefs, and the least noise"):
        believed = asked.believed()
        weak = _weak(asked, believed)
        rows = RowsFor(asked.rows, len(believed.known), own=believed.public_prior)
        if dry_run or pages.report is not None:
            dry = DryRun.of(rows, (*believed.statistic.columns, asked.unit), asked.question.by)
            rehearsed = rehearse(believed, asked.budget, rows.number)
            rehearsed.require_noise(asked.allow_no_noise)
            pages.before(asked.going(rehearsed, data, dry.basis), as_json, remarks=weak)
    say_closing(account, dry_run, as_json)
    if dry_run:
        _dry(asked, rehearsed, dry, as_json, weak)
        return
    with progress("opening the private table, and the least noise"):
        prepared = open_query(believed, required(asked.table), asked.budget, rows)
        prepared.require_noise(asked.allow_no_noise)
        going = asked.going(prepared, data)
        kept = replace(pages, report=None).before(going, as_json, remarks=weak)
    summary: dict[str, Any] = {"query": str(prepared.statistic), "plan": [str(asked.question)], "dry_run": False,
                               "route": LAW, "why": asked.why, "closes": closes(account, dry_run),
                               **_promised(prepared, weak), "rules": _rules(prepared)}  # fmt: skip
    look = lambda: checked(prepared.private, asked.known, asked.unit, **books(account))  # noqa: E731
    going = replace(going, check=pages.eyes.look(look))
    cells = _spent(asked, prepared, account)
    columns = columns_of(cells)
    going = going if account is None else replace(going, ledger=account.entry())
    remarks = _remarks(prepared, cells)
    publish(files, going, drafted(files.published, columns), columns, kept.after(files, account, (*weak, *remarks)))
    warn_of_formulas(files.published, columns)
    if as_json:
        entry = None if account is None else account.told()
        usable = _usable(prepared, cells).to_json()
        listed = [asdict(cell) for cell in cells]
        summary |= {"files": files.to_json(), "ledger": entry, "usable": usable, "implausible": list(remarks)}
        print_json({**summary, "cells": listed})
        return
    out.print(_shown(prepared, cells))
    out.print(usable_table(_usable(prepared, cells)))
    say_rules(summary["rules"])
    warn((*prepared.exact, *prepared.warnings, *weak, *remarks))
    say(f"wrote {', '.join(map(str, files.all()))}")


def _weak(asked: Asks, believed: Believed) -> tuple[str, ...]:
    """What is to be said of the reference: few rows for a secret, bounds that cut off much of it."""
    if asked.known is None:
        return ()
    few = few_rows({secret: int(mask.sum()) for secret, mask in believed.masks.items()})
    bounds = dict.fromkeys(believed.statistic.columns, asked.bounds)
    return (*few, *cut_cells(asked.known, believed.reading, bounds))


def _promised(found: Rehearsed, weak: Sequence[str]) -> dict[str, Any]:
    """Both promises, the numbers that are called exact, and what must not be overlooked, as plain data."""
    said = found.promised
    return {"guarantee": said.budget, "anybody": said.anybody, "promise": said.promises, "exact": list(found.exact),
            "warnings": [*found.warnings, *weak]}  # fmt: skip


def _rules(prepared: Rehearsed) -> list[str]:
    """What missing and unreadable cells count as, the same in all groups."""
    return list(told(next(iter(prepared.mechanisms.values())).certificate).rules)


def _remarks(prepared: Prepared, cells: tuple[Cell, ...]) -> tuple[str, ...]:
    """What is to be said of the numbers beside the reference; of groups nothing, whose law it may not tell."""
    if list(prepared.mechanisms) != [""]:
        return ()
    return implausible_numbers(prepared.mechanisms[""].certificate, [cell.value for cell in cells])


def _dry(asked: Asks, rehearsed: Rehearsed, dry: DryRun, as_json: bool, weak: Sequence[str]) -> None:
    scales = {group: float(m.noise.scale) for group, m in rehearsed.mechanisms.items()}
    usable = _usable(rehearsed, ())
    if as_json:
        said = {
            "query": str(rehearsed.statistic),
            "plan": [str(asked.question)],
            "scales": scales,
            "route": LAW,
            "why": asked.why,
            "closes": CLOSES,
            **_promised(rehearsed, weak),
            "rules": _rules(rehearsed),
        }
        print_json({**said, "usable": usable.to_json(), **dry.to_json()})
        return
    out.print(usable_table(usable))
    say(f"noise scale of each group: {scales}")
    say(f"promised: {rehearsed.promised.promises}")
    say_rules(_rules(rehearsed))
    warn((*rehearsed.exact, *rehearsed.warnings, *weak))
    dry.say()


def _usable(prepared: Rehearsed, cells: tuple[Cell, ...]) -> Usable:
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
    charge = Charge.of_groups(asked.budget, asked.question.by, certificates)
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


def _shown(prepared: Prepared, cells: tuple[Cell, ...]) -> Rich:
    title = escape(f"{prepared.statistic} under {prepared.promised.promises}")
    table = Rich(title=title, title_justify="left", header_style="bold")
    columns = columns_of(cells)
    for name in columns:
        table.add_column(escape(name), justify="left" if name in ("group", "cell") else "right")
    table.add_column("noise scale", justify="right")
    for k, cell in enumerate(cells):
        values = [columns[name][k] for name in columns]
        table.add_row(*(escape(v) if isinstance(v, str) else f"{v:.6g}" for v in values), f"{cell.scale:.4g}")
    return table
