"""`fugu release --query "count, mean(age), mean(chol) by ward"`: several statistics of one table, one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table as Rich

from fugu.cli import options
from fugu.cli.charging import Account
from fugu.cli.console import err, escape, out, print_json, progress, say, usable_table, warn_of_formulas
from fugu.cli.paging import Pages
from fugu.cli.questions import Asked, questions_of, weights_of
from fugu.data import Schema
from fugu.documents.records import RecordsCertificate
from fugu.errors import BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.session_certificate import certificate_of, noised_in
from fugu.queries.statistic import Question
from fugu.session import Session, SessionAnswer
from fugu.telling.records import question_told
from fugu.telling.usefulness import usable_of_records
from fugu.visible import Json

COLUMNS = ("query", "group", "cell", "value", "low", "high")


@dataclass(frozen=True)
class RecordsAsked:
    """What several statistics are told on the command line."""

    table: str
    questions: Sequence[Asked]
    protect: str
    epsilon: Real
    weights: Sequence[Real] | str | None
    reference: str
    unit: str | None
    schema: Schema | None
    public_reference: bool

    @staticmethod
    def of(
        table: str, query: str, by: str | None, bounds: str | None, step: str | None, bins: str | None, protect: str,
        epsilon: str, weights: str | None, reference: str | None, unit: str | None, schema: Schema | None,
        public_reference: bool, request: str | None,
    ) -> RecordsAsked:  # fmt: skip
        """What the options say; UsageError for those that this route does not know."""
        assert reference is not None  # beliefs fitted on the table itself go by the law route
        if request is not None:
            raise UsageError("--request: on the records route requests are named by their questions; leave it out")
        questions = questions_of(query, by, bounds, step, bins)
        share = weights_of(weights, questions)
        allowed = options.positive("--epsilon", epsilon)
        return RecordsAsked(table, questions, protect, allowed, share, reference, unit, schema, public_reference)

    def session(self, account: Account | None) -> Session:
        """The table, opened; its books are those of the account, or none."""
        if account is None:
            budget, kept = Pure(self.epsilon), {}
        else:
            account.require_route(records=True)
            budget = Pure(account.budget.epsilon)
            kept = {"ledger": account.ledger, "data": account.data}
        return Session(
            self.table,
            self.reference,
            self.protect,
            budget,
            schema=self.schema,
            unit=self.unit,
            **kept,  # type: ignore[arg-type]
        )

    def recipe(self, certificate: RecordsCertificate) -> Json | None:
        """The questions in JSON types, so that the laws can be fitted again; None for a predicate in code."""
        if certificate["protect"] is None:
            return None
        return {
            "what": "records",
            "questions": [_question(asked) for asked in self.questions],
            "protect": certificate["protect"],
            "epsilon": str(as_fraction(self.epsilon)),
            **({} if self.weights is None else {"weights": _weights(self.weights)}),
            "unit": self.unit,
            "schema": None if self.schema is None else self.schema.to_json(),
            "rows": sum(kind.rows for kind in certificate.types),
        }


def release_records(
    asked: RecordsAsked, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool, pages: Pages
) -> None:
    """Rehearse, charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals."""
    with progress():
        try:
            session = asked.session(account)
            rehearsed = session.rehearse(asked.questions, asked.epsilon, asked.weights)
        except NotComposable as refusal:
            raise BudgetRefused(str(refusal)) from None
        certificate = certificate_of(rehearsed.state)
        going = _going(asked, certificate, data)
        kept = pages.before(going, as_json)
    _say_public(asked)
    if dry_run:
        _dry(asked, certificate, as_json)
        return
    answers = session.ask_all(asked.questions, asked.epsilon, asked.weights)
    certificate = session.certificate
    columns = columns_of(answers)
    ledger = None if account is None or rehearsed.request is None else account.named(rehearsed.request).entry()
    going = replace(_going(asked, certificate, data), ledger=ledger)
    publish(files, going, drafted(files.published, columns), columns, kept.after(files, account))
    warn_of_formulas(files.published, columns)
    if as_json:
        told = {"answers": [answer.to_json() for answer in answers], **_figures(certificate), "dry_run": False}
        print_json({**told, "files": files.to_json(), "ledger": ledger})
        return
    out.print(_shown(answers, f"{len(answers)} answers under {Pure(asked.epsilon)}"))
    _say(certificate)
    say(f"wrote {', '.join(map(str, files.all()))}")


def _say_public(asked: RecordsAsked) -> None:
    """Which columns count as known of everybody: who asks by them says so."""
    columns = [Question.parse(str(told["query"])).by for told in asked.questions]
    if by := sorted({name for name in columns if name is not None}):
        named = ", ".join(map(repr, by))
        err.print(
            f"[bold yellow]note[/]: asked by {escape(named)}, which thereby counts as public: everybody is taken to "
            "know it of each record, and its exact numbers of rows may go out",
            soft_wrap=True,
        )


def columns_of(answers: Sequence[SessionAnswer]) -> dict[str, list[Any]]:
    """One table of all answers; what is not released, or has no interval, is blank."""
    rows = [
        (str(answer.question), cell.group, cell.cell, cell.value, cell.low, cell.high)
        for answer in answers
        for cell in answer.cells
    ]
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def _going(asked: RecordsAsked, certificate: RecordsCertificate, data: str) -> Outgoing:
    return Outgoing(
        certificates={"": certificate}, table=asked.table, data=data,
        rows=sum(kind.rows for kind in certificate.types), recipe=asked.recipe(certificate),
        words=f"Publish {', '.join(str(found['query']) for found in asked.questions)}.",
        skipped=tuple(certificate["skipped"]),
        beliefs=Beliefs.fitted_on(asked.reference, asked.public_reference),
    )  # fmt: skip


def _weights(told: Sequence[Real] | str) -> list[str] | str:
    return told if isinstance(told, str) else [str(as_fraction(weight)) for weight in told]


def _question(asked: Asked) -> Json:
    """The question with exact numbers."""
    bounds, step = asked.get("bounds"), asked.get("step")
    return {
        "query": asked["query"],
        "bounds": None if bounds is None else [str(as_fraction(x)) for x in bounds],  # type: ignore[attr-defined]
        "step": None if step is None else str(as_fraction(step)),  # type: ignore[arg-type]
        "bins": asked.get("bins"),
    }


def _dry(asked: RecordsAsked, certificate: RecordsCertificate, as_json: bool) -> None:
    told = [question_told(found) for found in noised_in(certificate)]
    if as_json:
        print_json({"questions": told, **_figures(certificate), "dry_run": True})
        return
    table = Rich(title=f"{len(asked.questions)} questions", title_justify="left", header_style="bold")
    for name in ("question", "noise", "groups", "own epsilon"):
        table.add_column(name, justify="right" if name in ("groups", "own epsilon") else "left")
    for found in told:
        table.add_row(
            escape(found["query"]),
            escape(found["words"]),
            str(found["groups"]),
            f"{float(read_number(found['own'])):.4g}",
        )
    out.print(table)
    _say(certificate)
    out.print("dry run: nothing was released or charged")


def _figures(certificate: RecordsCertificate) -> Json:
    budget, spent = exact(certificate.budget.epsilon), certificate.spent
    return {
        "spent": float(spent), "left": float(budget - spent), "budget": float(budget),
        "any_belief": float(certificate.any_belief), "usable": usable_of_records(certificate).to_json(),
    }  # fmt: skip


def _say(certificate: RecordsCertificate) -> None:
    """How usable the answers are, both promises, and what is left."""
    out.print(usable_table(usable_of_records(certificate)))
    told = _figures(certificate)
    say(
        f"spent {told['spent']:.6g} of {told['budget']:g}, left {told['left']:.6g}; against any belief under which "
        f"records are independent at most {told['any_belief']:.6g}"
    )


def _shown(answers: Sequence[SessionAnswer], title: str) -> Rich:
    table = Rich(title=escape(title), title_justify="left", header_style="bold")
    for name in (*COLUMNS, "cost"):
        table.add_column(name, justify="left" if name in COLUMNS[:3] else "right")
    for answer in answers:
        for k, cell in enumerate(answer.cells):
            numbers = ("" if math.isnan(x) else f"{x:.6g}" for x in (cell.value, cell.low, cell.high))
            cost = f"{float(answer.cost.epsilon):.4g}" if k == 0 else ""
            table.add_row(escape(str(answer.question)), escape(cell.group), escape(cell.cell), *numbers, cost)
    return table
