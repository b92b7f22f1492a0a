"""`fugu release --query --route law`: publish one statistic, group by group, by the law of its total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from rich.table import Table as Rich

import fugu
from fugu.cli import options
from fugu.cli.charging import CLOSES, closes, ready
from fugu.cli.console import err, escape, out, print_json, progress, say, say_rules, usable_table, warn
from fugu.cli.dispatch import Dispatch, DryRun
from fugu.cli.questions import LAW, show_plan
from fugu.data.secrets import cut_cells, few_rows
from fugu.errors import UsageError
from fugu.guarantee import Approx, Pure
from fugu.ledger.charge import Charge
from fugu.numbers.exact import Real
from fugu.publication.files import Outgoing
from fugu.queries.answer import Answer, Cell, columns_of
from fugu.queries.statistic import StatisticQuestion, what_and_by
from fugu.queries.statistics_release import Believed, Prepared, RecordQuestion, Rehearsed, open_query, rehearse
from fugu.utility.plausible import implausible_numbers
from fugu.utility.usable import RowsFor, Usable


@dataclass(frozen=True)
class Statement:
    """One statistic on its way out; `why`: why by the law route, where nobody asked for that."""

    dispatch: Dispatch
    why: str

    @property
    def plan(self) -> StatisticQuestion:
        """The one question, with its own "by" or that of the option."""
        parsed = StatisticQuestion.parse(self.dispatch.question.asked)
        return replace(parsed, by=self.dispatch.question.by if parsed.by is None else parsed.by)

    @property
    def budget(self) -> Pure | Approx:
        """What it may cost."""
        return options.odds(self.dispatch.question.epsilon, self.dispatch.question.delta)

    @property
    def bounds(self) -> tuple[Real, Real] | None:
        """What values are clipped to, if that was said."""
        return options.bounds(self.dispatch.question.bounds)

    def believed(self) -> Believed:
        """What is believed: of the reference, or of the table itself, which then counts as public."""
        question, known = self.dispatch.question, self.dispatch.known
        edges = options.bins(question.bins)
        if edges is not None and (not isinstance(edges, list) or not all(isinstance(e, float) for e in edges)):
            raise UsageError("for a query, bins are edges, such as --bins 100,150,200")
        asked = RecordQuestion(
            what_and_by(question.asked)[0],
            question.secret,
            self.plan.by,
            self.bounds,
            None if question.step is None else options.number("step", question.step),
            edges,  # type: ignore[arg-type]
            question.unit,
            self.dispatch.schema,
            None if question.missing == "error" else options.missing(question.missing),
        )
        return asked.of(self.dispatch.table if known is None else known, known is None)

    def going(self, found: Rehearsed, basis: str = "") -> Outgoing:
        """What goes out, as far as it is known before the draw."""
        return self.dispatch.outgoing(
            {group: made.certificate for group, made in found.mechanisms.items()},
            found.rows,
            None if found.recipe is None else {"what": "statistic", **found.recipe},
            words=f"Publish {found.statistic}.",
            skipped=found.skipped,
            basis=basis,
        )

    def weak(self, believed: Believed) -> tuple[str, ...]:
        """What is to be said of the reference: few rows for a secret, bounds that cut off much of it."""
        if self.dispatch.known is None:
            return ()
        few = few_rows({secret: int(mask.sum()) for secret, mask in believed.masks.items()})
        bounds = dict.fromkeys(believed.statistic.columns, self.bounds)
        return (*few, *cut_cells(self.dispatch.known, believed.reading, bounds))


def release_query(dispatch: Dispatch, why: str) -> None:
    """Charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals.

    A dry run, and the page to sign, are for groups that are expected: the table is opened after them."""
    question, as_json, pages = dispatch.question, dispatch.as_json, dispatch.pages
    statement = Statement(dispatch, why)
    plan, budget = statement.plan, statement.budget
    ready(dispatch.files, dispatch.account, as_json)
    show_plan([plan], question.asked, as_json)
    if why and not as_json:
        err.print(f"[bold yellow]note[/]: by the law route, not by records: {escape(why)}", soft_wrap=True)
    with progress("fitting beliefs, and the least noise"):
        believed = statement.believed()
        weak = statement.weak(believed)
        rows = RowsFor(question.rows, len(believed.known), own=believed.public_prior)
        if dispatch.dry_run or pages.report is not None:
            dry = DryRun.of(rows, (*believed.statistic.columns, question.unit), plan.by)
            rehearsed = rehearse(believed, budget, rows.number)
            rehearsed.require_noise(question.allow_no_noise)
            pages.before(statement.going(rehearsed, dry.basis), as_json, remarks=weak)
    dispatch.say_closing()
    if dispatch.dry_run:
        _dry(statement, rehearsed, dry, weak)
        return
    with progress("opening the private table, and the least noise"):
        prepared = open_query(believed, dispatch.table, budget, rows)
        prepared.require_noise(question.allow_no_noise)
        going = statement.going(prepared)
        kept = replace(pages, report=None).before(going, as_json, remarks=weak)
    summary: dict[str, Any] = {"query": str(prepared.statistic), "plan": [str(plan)], "dry_run": False, "route": LAW,
                               "why": why, "closes": closes(dispatch.account, dispatch.dry_run),
                               **_promised(prepared, weak), "rules": _rules(prepared)}  # fmt: skip
    going = replace(going, check=dispatch.look(prepared.private, question.unit))
    cells = _spent(statement, prepared)
    remarks = _remarks(prepared, cells)
    summary |= dispatch.publish(going, columns_of(cells), kept, (*weak, *remarks))
    if as_json:
        summary |= {"usable": _usable(prepared, cells).to_json(), "implausible": list(remarks)}
        print_json({**summary, "cells": [asdict(cell) for cell in cells]})
        return
    out.print(_shown(prepared, cells))
    out.print(usable_table(_usable(prepared, cells)))
    say_rules(summary["rules"])
    warn((*prepared.exact, *prepared.warnings, *weak, *remarks))
    dispatch.say_written()


def _promised(found: Rehearsed, weak: Sequence[str]) -> dict[str, Any]:
    """Both promises, the numbers that are called exact, and what must not be overlooked, as plain data."""
    said = found.promised
    return {"guarantee": said.budget, "anybody": said.anybody, "promise": said.promises, "exact": list(found.exact),
            "warnings": [*found.warnings, *weak]}  # fmt: skip


def _rules(prepared: Rehearsed) -> list[str]:
    """What missing and unreadable cells count as, the same in all groups."""
    return list(next(iter(prepared.mechanisms.values())).certificate.tell().rules)


def _remarks(prepared: Prepared, cells: tuple[Cell, ...]) -> tuple[str, ...]:
    """What is to be said of the numbers beside the reference; of groups nothing, whose law it may not tell."""
    if list(prepared.mechanisms) != [""]:
        return ()
    return implausible_numbers(prepared.mechanisms[""].certificate, [cell.value for cell in cells])


def _dry(statement: Statement, rehearsed: Rehearsed, dry: DryRun, weak: Sequence[str]) -> None:
    scales = {group: float(m.noise.scale) for group, m in rehearsed.mechanisms.items()}
    usable = _usable(rehearsed, ())
    if statement.dispatch.as_json:
        said = {
            "query": str(rehearsed.statistic),
            "plan": [str(statement.plan)],
            "scales": scales,
            "route": LAW,
            "why": statement.why,
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


def _spent(statement: Statement, prepared: Prepared) -> tuple[Cell, ...]:
    """The numbers; through the ledger, a request that was answered before gives what was stored.

    All groups together are one charge: a record belongs to one of them. A second statistic of the same table is
    refused by the ledger, since what two law-based releases promise together is not known."""

    def produce() -> list[list[Any]]:
        return [list(astuple(cell)) for cell in prepared.release(statement.dispatch.question.allow_no_noise).cells]

    account = statement.dispatch.account
    if account is None:
        return tuple(Cell(*cell) for cell in produce())
    certificates = {group: found.certificate for group, found in prepared.mechanisms.items()}
    charge = Charge.of_groups(statement.budget, statement.plan.by, certificates)
    return tuple(Cell(*cell) for cell in account.spend(prepared.private, charge, produce))


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
