"""`fugu release --query "count, mean(age), mean(chol) by ward"`: several statistics of one table, one budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table as Rich

from fugu.cli import options
from fugu.cli.charging import Account
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
from fugu.cli.paging import Kept, Pages
from fugu.cli.questions import Asked, joined, questions_of, show_plan, split, split_before, weights_of
from fugu.cli.receipts import ready
from fugu.cli.routes import RECORDS
from fugu.data import Schema
from fugu.documents.records import RecordsCertificate
from fugu.errors import BudgetExceeded, BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.numbers import exact
from fugu.guarantee.promises import PUBLIC, both
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.publication.drafts import drafted
from fugu.publication.files import Files, publish
from fugu.publication.issue import Beliefs, Outgoing
from fugu.queries.session_certificate import certificate_of, exact_numbers, noised_in
from fugu.queries.statistic import GRAMMAR, Question
from fugu.session import Session, SessionAnswer
from fugu.session.plausible import implausible, weak_reference
from fugu.session.rehearsal import Rehearsal
from fugu.telling.records import of_records, question_told
from fugu.utility.usable import Usable
from fugu.visible import Json, several

COLUMNS = ("query", "group", "cell", "value", "low", "high")


@dataclass(frozen=True)
class RecordsAsked:
    """What several statistics are told on the command line."""

    table: str | None
    query: str
    questions: Sequence[Asked]
    earlier: Sequence[Asked] | None
    """The questions as fugu 0.3 read the same line; None where that is no other reading."""
    protect: str
    epsilon: Real
    weights: Sequence[Real] | str | None
    reference: str
    unit: str | None
    schema: Schema | None
    public_reference: bool
    cap: Real | None = None
    allow_no_noise: bool = False
    rows: int | None = None

    @staticmethod
    def of(
        table: str | None, query: str, by: str | None, bounds: str | None, step: str | None, bins: str | None,
        protect: str, epsilon: str, weights: str | None, reference: str | None, unit: str | None, schema: Schema | None,
        public_reference: bool, request: str | None, cap: str | None = None, allow_no_noise: bool = False,
        rows: int | None = None,
    ) -> RecordsAsked:  # fmt: skip
        """What the options say; UsageError for those that this route does not know."""
        assert reference is not None  # beliefs fitted on the table itself go by the law route
        if request is not None:
            raise UsageError("--request: on the records route requests are named by their questions; leave it out")
        questions = questions_of(split(query), by, bounds, step, bins)
        earlier = None if (texts := split_before(query)) is None else questions_of(texts, by, bounds, step, bins)
        share = weights_of(weights, questions)
        allowed = options.positive("--epsilon", epsilon)
        most = None if cap is None else options.positive("--cap", cap)
        return RecordsAsked(
            table, query, questions, None if earlier == questions else earlier, protect, allowed, share, reference,
            unit, schema, public_reference, most, allow_no_noise, rows,
        )  # fmt: skip

    @property
    def plan(self) -> list[str]:
        """What is asked, question by question."""
        return [str(asked["query"]) for asked in self.questions]

    def require_no_other_reading(self, session: Session) -> None:
        """Refuse a line that fugu 0.3 answered as it read it: neither is that answer the one to this question, nor is
        the same command, run again, charged for another one in silence."""
        if self.earlier is None or not session.answered(self.earlier, self.epsilon, self.weights):
            return
        if session.answered(self.questions, self.epsilon, self.weights, allow_no_noise=self.allow_no_noise):
            return  # nothing is charged, and the plan says which of the two is read back
        before, now = joined([asked["query"] for asked in self.earlier]), joined(self.plan)
        raise UsageError(
            f'this --query was answered by fugu 0.3, which read it as "{before}"; write that to get the same numbers '
            f'again, for nothing. A "by" at the end of a list is for the whole list now: write "{now}" to ask for '
            "that, which is a new charge"
        )

    def session(self, account: Account | None) -> Session:
        """The session, whose table is not opened yet; its books are those of the account, or none."""
        if account is None:
            budget: Pure | Approx = Pure(self.epsilon)
            kept: dict[str, Any] = {"ledger": False}
        else:
            assert isinstance(account.budget, Pure | Approx)  # other budgets go by the law route
            budget = account.budget
            kept = {"ledger": account.ledger, "data": account.data, "other_people": account.others}
        return Session(
            self.table or UNNAMED,
            self.reference,
            self.protect,
            budget,
            cap=self.cap,
            schema=self.schema,
            unit=self.unit,
            rows=self.rows,
            **kept,
        )

    def recipe(self, certificate: RecordsCertificate) -> Json | None:
        """The questions in JSON types, so that the laws can be fitted again; None for a predicate in code."""
        if certificate["protect"] is None:
            return None
        return {
            "what": "records",
            "grammar": GRAMMAR,
            "questions": [_question(asked) for asked in self.questions],
            "protect": certificate["protect"],
            "epsilon": str(as_fraction(self.epsilon)),
            **({} if self.weights is None else {"weights": _weights(self.weights)}),
            **({} if self.cap is None else {"cap": str(as_fraction(self.cap))}),
            **({"allow_no_noise": True} if self.allow_no_noise else {}),
            "unit": self.unit,
            "schema": None if self.schema is None else self.schema.to_json(),
            "rows": sum(kind.rows for kind in certificate.types),
        }


def release_records(
    asked: RecordsAsked, account: Account | None, files: Files, data: str, dry_run: bool, as_json: bool, pages: Pages
) -> None:
    """Rehearse, charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals."""
    told, silent = (asked.questions, asked.epsilon, asked.weights), asked.allow_no_noise
    show_plan(asked.plan, asked.query, as_json)
    kept = Kept()
    with progress():
        session = asked.session(account)
        weak = weak_reference(session, asked.questions)
        try:
            asked.require_no_other_reading(session)
            rehearsed = session.rehearse(*told, allow_no_noise=silent)
            ready(files, _paid(account, rehearsed.request), as_json)
            certificate = certificate_of(rehearsed.state)
            going = replace(_going(asked, certificate, data), basis=rehearsed.basis)
            kept = pages.before(going, as_json, rehearsed.usable, weak)
        except NotComposable as refusal:
            raise BudgetRefused(str(refusal)) from None
        except BudgetExceeded:
            if dry_run or pages.report is not None:
                raise  # else the table decides, whose groups may be fewer than those expected
            ready(files, None, as_json)
    _say_public(asked)
    if dry_run:
        _dry(asked, certificate, rehearsed, as_json, weak)
        return
    required(asked.table)
    seen = pages.eyes.look(session.check)
    answers = session.ask_all(*told, allow_no_noise=silent)
    rehearsed = session.rehearse(*told, allow_no_noise=silent)  # answered: under which request, and nothing more
    certificate = session.certificate
    columns = columns_of(answers)
    ledger = None if (paid := _paid(account, rehearsed.request)) is None else paid.entry()
    going = replace(_going(asked, certificate, data), ledger=ledger, check=seen)
    remarks, usable = implausible(session, answers), session.usable
    page = replace(kept, usable=usable).after(files, account, (*weak, *remarks))
    publish(files, going, drafted(files.published, columns), columns, page)
    warn_of_formulas(files.published, columns)
    if as_json:
        content = {"plan": asked.plan, "route": RECORDS, "answers": [answer.to_json() for answer in answers]}
        content |= {"implausible": list(remarks), "warnings": list(weak)}
        written = {"dry_run": False, "files": files.to_json(), "ledger": ledger}
        written["left"] = float(session.remaining().epsilon)
        print_json({**content, **_figures(certificate, usable, account), **written})
        return
    out.print(_shown(answers, asked.epsilon))
    _say_exact(answer.question for answer in answers if answer.public)
    _say(certificate, usable, account)
    warn((*weak, *remarks))
    say(f"wrote {', '.join(map(str, files.all()))}")


def _paid(account: Account | None, request: str | None) -> Account | None:
    """The account under the name that the session gave the request; None if nothing was charged."""
    return None if account is None or request is None else account.named(request)


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


def _say_exact(questions: Iterable[Question]) -> None:
    """Which numbers are exact without noise, since they are public."""
    for question in questions:
        say(f"{question}: {PUBLIC}")


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
        certificates={"": certificate}, table=asked.table or UNNAMED, data=data,
        rows=sum(kind.rows for kind in certificate.types), recipe=asked.recipe(certificate),
        words=f"Publish {joined(asked.plan)}.",
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


def _dry(
    asked: RecordsAsked, certificate: RecordsCertificate, rehearsed: Rehearsal, as_json: bool, weak: Sequence[str]
) -> None:
    told = [question_told(found) for found in noised_in(certificate)]
    parsed = [Question.parse(text) for text in asked.plan]
    by = [question.by for question in parsed if question.by is not None]
    columns = [name for question in parsed for name in question.columns]
    dry = DryRun.of(rehearsed.rows, (*columns, *by, asked.unit), by[0] if by else None)
    if as_json:
        public = [str(question) for question in parsed if question.sized]
        said = {"plan": asked.plan, "route": RECORDS, "questions": told, "public": public, "warnings": list(weak)}
        print_json({**said, **_figures(certificate, rehearsed.usable), **dry.to_json()})
        return
    table = Rich(title=f"{several(len(asked.questions), 'question')}", title_justify="left", header_style="bold")
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
    _say_exact(question for question in parsed if question.sized)
    _say(certificate, rehearsed.usable)
    warn(weak)
    dry.say()


def _figures(certificate: RecordsCertificate, usable: Usable, account: Account | None = None) -> Json:
    budget, spent = exact(certificate.budget.epsilon), certificate.spent
    return {
        "rules": list(of_records(certificate).rules),
        "spent": float(spent), "left": float(budget - spent), "budget": float(budget),
        "budget_delta": 0.0 if account is None else float(account.budget.delta),
        "any_belief": float(certificate.any_belief),
        "cap": None if certificate.cap is None else float(certificate.cap),
        "promise": certificate.promises,
        "exact": list(exact_numbers(noised_in(certificate))), "usable": usable.to_json(),
    }  # fmt: skip


def _say(certificate: RecordsCertificate, usable: Usable, account: Account | None = None) -> None:
    """How usable the answers are, both promises, and what is left."""
    out.print(usable_table(usable))
    told = _figures(certificate, usable, account)
    say_rules(told["rules"])
    budget = certificate.budget if account is None else account.budget  # with its delta, if it has one
    of = "" if certificate.cap is None else f", of {both(budget, certificate.cap)}"
    say(f"spent {told['promise']}{of}")
    warn(told["exact"])


def _shown(answers: Sequence[SessionAnswer], epsilon: Real) -> Rich:
    title = f"{several(len(answers), 'answer')} under {both(epsilon, sum(answer.own for answer in answers))}"
    table = Rich(title=escape(title), title_justify="left", header_style="bold")
    for name in (*COLUMNS, "cost"):
        table.add_column(name, justify="left" if name in COLUMNS[:3] else "right")
    for answer in answers:
        for k, cell in enumerate(answer.cells):
            numbers = ("" if math.isnan(x) else f"{x:.6g}" for x in (cell.value, cell.low, cell.high))
            cost = f"{float(answer.cost.epsilon):.4g}" if k == 0 else ""
            table.add_row(escape(str(answer.question)), escape(cell.group), escape(cell.cell), *numbers, cost)
    return table
