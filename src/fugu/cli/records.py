"""`fugu release --query "count, mean(age), mean(chol) by ward"`: several statistics of one table, one budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from rich.table import Table as Rich

from fugu.cli import options
from fugu.cli.charging import Account, ready
from fugu.cli.console import err, escape, out, print_json, progress, say, say_rules, usable_table, warn
from fugu.cli.dispatch import UNNAMED, Dispatch, DryRun, PageFacts
from fugu.cli.questions import RECORDS, Asked, joined, questions_of, show_plan, split, split_before, weights_of
from fugu.documents.records import RecordsCertificate
from fugu.errors import BudgetExceeded, BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import PUBLIC, both
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.publication.files import Outgoing
from fugu.queries.record_words import question_told
from fugu.queries.session_certificate import certificate_of, exact_numbers, noised_in
from fugu.queries.statistic import GRAMMAR, StatisticQuestion
from fugu.session import Session, SessionAnswer
from fugu.session.checks import implausible, weak_reference
from fugu.session.release import Rehearsal
from fugu.utility.usable import Usable
from fugu.visible import Json, several

COLUMNS = ("query", "group", "cell", "value", "low", "high")


@dataclass(frozen=True)
class Enquiry:
    """Several statistics on their way out, under one budget."""

    dispatch: Dispatch

    @cached_property
    def questions(self) -> list[Asked]:
        """What is asked, with bounds, steps and bins."""
        return self._read(split(self.dispatch.question.asked))

    @cached_property
    def earlier(self) -> list[Asked] | None:
        """The questions as fugu 0.3 read the same line; None where that is no other reading."""
        texts = split_before(self.dispatch.question.asked)
        before = None if texts is None else self._read(texts)
        return None if before == self.questions else before

    @cached_property
    def epsilon(self) -> Real:
        """What all of them may cost."""
        return options.positive("--epsilon", self.dispatch.question.epsilon)

    @cached_property
    def weights(self) -> list[Real] | str | None:
        """How they share it."""
        return weights_of(self.dispatch.question.weights, self.questions)

    @cached_property
    def cap(self) -> Real | None:
        """The most against anybody."""
        stated = self.dispatch.question.cap
        return None if stated is None else options.positive("--cap", stated)

    def _read(self, texts: list[str]) -> list[Asked]:
        asked = self.dispatch.question
        return questions_of(texts, asked.by, asked.bounds, asked.step, asked.bins)

    @property
    def plan(self) -> list[str]:
        """What is asked, question by question."""
        return [str(asked["query"]) for asked in self.questions]

    def require_no_other_reading(self, session: Session) -> None:
        """Refuse a line that fugu 0.3 answered as it read it: neither is that answer the one to this question, nor is
        the same command, run again, charged for another one in silence."""
        if self.earlier is None or not session.answered(self.earlier, self.epsilon, self.weights):
            return
        if session.answered(
            self.questions, self.epsilon, self.weights, allow_no_noise=self.dispatch.question.allow_no_noise
        ):
            return  # nothing is charged, and the plan says which of the two is read back
        before, now = joined([asked["query"] for asked in self.earlier]), joined(self.plan)
        raise UsageError(
            f'this --query was answered by fugu 0.3, which read it as "{before}"; write that to get the same numbers '
            f'again, for nothing. A "by" at the end of a list is for the whole list now: write "{now}" to ask for '
            "that, which is a new charge"
        )

    def session(self) -> Session:
        """The session, whose table is not opened yet; its books are those of the account, or none."""
        question, account = self.dispatch.question, self.dispatch.account
        budget: Pure | Approx = Pure(self.epsilon)
        kept: dict[str, Any] = {"ledger": False}
        if account is not None:
            assert isinstance(account.budget, Pure | Approx)  # other budgets go by the law route
            budget = account.budget
            kept = {"ledger": account.ledger, "data": account.data, "other_people": account.others}
        assert question.reference is not None  # beliefs fitted on the table itself go by the law route
        return Session(
            question.table or UNNAMED,
            question.reference,
            question.secret,
            budget,
            cap=self.cap,
            schema=self.dispatch.schema,
            unit=question.unit,
            rows=question.rows,
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
            **({"allow_no_noise": True} if self.dispatch.question.allow_no_noise else {}),
            "unit": self.dispatch.question.unit,
            "schema": None if self.dispatch.schema is None else self.dispatch.schema.to_json(),
            "rows": sum(kind.rows for kind in certificate.types),
        }


def release_records(dispatch: Dispatch) -> None:
    """Rehearse, charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals."""
    question, account, as_json, pages = dispatch.question, dispatch.account, dispatch.as_json, dispatch.pages
    asked = Enquiry(dispatch)
    told, silent = (asked.questions, asked.epsilon, asked.weights), question.allow_no_noise
    show_plan(asked.plan, question.asked, as_json)
    kept = PageFacts()
    with progress():
        session = asked.session()
        weak = weak_reference(session, asked.questions)
        try:
            asked.require_no_other_reading(session)
            rehearsed = session.rehearse(*told, allow_no_noise=silent)
            ready(dispatch.files, _paid(account, rehearsed.request), as_json)
            certificate = certificate_of(rehearsed.state)
            going = replace(_going(asked, certificate), basis=rehearsed.basis)
            kept = pages.before(going, as_json, rehearsed.usable, weak)
        except NotComposable as refusal:
            raise BudgetRefused(str(refusal)) from None
        except BudgetExceeded:
            if dispatch.dry_run or pages.report is not None:
                raise  # else the table decides, whose groups may be fewer than those expected
            ready(dispatch.files, None, as_json)
    _say_public(asked)
    if dispatch.dry_run:
        _dry(asked, certificate, rehearsed, weak)
        return
    _ = dispatch.table  # it is needed from here on
    seen = pages.look(session.check)
    answers = session.ask_all(*told, allow_no_noise=silent)
    rehearsed = session.rehearse(*told, allow_no_noise=silent)  # answered: under which request, and nothing more
    certificate = session.certificate
    paid = _paid(account, rehearsed.request)
    remarks, usable = implausible(session, answers), session.usable
    written = replace(dispatch, account=account if paid is None else paid).publish(
        replace(_going(asked, certificate), check=seen), columns_of(answers), replace(kept, usable=usable),
        (*weak, *remarks), free=paid is None,
    )  # fmt: skip
    if as_json:
        content = {"plan": asked.plan, "route": RECORDS, "answers": [answer.to_json() for answer in answers]}
        content |= {"implausible": list(remarks), "warnings": list(weak)}
        ledger = None if paid is None else paid.entry()
        left = float(session.remaining().epsilon)
        print_json({**content, **_figures(certificate, usable, account), **written, "ledger": ledger, "left": left})
        return
    out.print(_shown(answers, asked.epsilon))
    _say_exact(answer.question for answer in answers if answer.public)
    _say(certificate, usable, account)
    warn((*weak, *remarks))
    dispatch.say_written()


def _paid(account: Account | None, request: str | None) -> Account | None:
    """The account under the name that the session gave the request; None if nothing was charged."""
    return None if account is None or request is None else account.named(request)


def _say_public(asked: Enquiry) -> None:
    """Which columns count as known of everybody: who asks by them says so."""
    columns = [StatisticQuestion.parse(str(told["query"])).by for told in asked.questions]
    if by := sorted({name for name in columns if name is not None}):
        named = ", ".join(map(repr, by))
        err.print(
            f"[bold yellow]note[/]: asked by {escape(named)}, which thereby counts as public: everybody is taken to "
            "know it of each record, and its exact numbers of rows may go out",
            soft_wrap=True,
        )


def _say_exact(questions: Iterable[StatisticQuestion]) -> None:
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


def _going(asked: Enquiry, certificate: RecordsCertificate) -> Outgoing:
    return asked.dispatch.outgoing(
        {"": certificate},
        sum(kind.rows for kind in certificate.types),
        asked.recipe(certificate),
        words=f"Publish {joined(asked.plan)}.",
        skipped=tuple(certificate["skipped"]),
    )


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


def _dry(asked: Enquiry, certificate: RecordsCertificate, rehearsed: Rehearsal, weak: Sequence[str]) -> None:
    told = [question_told(found) for found in noised_in(certificate)]
    parsed = [StatisticQuestion.parse(text) for text in asked.plan]
    by = [question.by for question in parsed if question.by is not None]
    columns = [name for question in parsed for name in question.columns]
    dry = DryRun.of(rehearsed.rows, (*columns, *by, asked.dispatch.question.unit), by[0] if by else None)
    if asked.dispatch.as_json:
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
        "rules": list(certificate.tell().rules),
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
