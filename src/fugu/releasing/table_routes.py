"""Statistics of one table: several under one budget, charged to each record; or one, group by group, by the law of its
total.

`fugu release --query "count, mean(age), mean(chol) by ward"`, with `--route records` or `--route law`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, replace
from functools import partial
from typing import Any, cast

import fugu
from fugu.data.secrets import cut_cells, few_rows
from fugu.data.uses import misfits, several_rows
from fugu.documents.sentences import one_row
from fugu.errors import BudgetExceeded, BudgetRefused, NotComposable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import exact
from fugu.guarantee.composition import PUBLIC, remainder
from fugu.ledger.charge import Charge
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.publication.files import Outgoing
from fugu.publication.releasing import ReleaseAccount
from fugu.queries.answer import COLUMNS, Answer, columns_of
from fugu.queries.features import coarse_said
from fugu.queries.kinds import Cell
from fugu.queries.law_price import LawNoise, LawPrice
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import GRAMMAR, StatisticQuestion, exact_numbers, question_told, split, what_and_by
from fugu.question import LAW, RECORDS, Question
from fugu.releasing import options
from fugu.releasing.blocks import CAUTION, NOTE, Block, Listing, Text, sentences
from fugu.releasing.dispatch import UNNAMED, Dispatch, DryRun
from fugu.releasing.options import Asked, joined, plan_told, questions_of, split_before, weights_of
from fugu.releasing.outcome import Forecast
from fugu.session import Session, SessionAnswer
from fugu.session.checks import implausible, weak_reference
from fugu.session.release import Rehearsal
from fugu.utility.reading import implausible_numbers
from fugu.utility.usable import RowsFor, Usable
from fugu.visible import Json, several


def release_records(dispatch: Dispatch) -> Forecast:
    """Rehearse, charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals."""
    question, account = dispatch.question, dispatch.account
    line, silent = question.asked, question.allow_no_noise
    read = partial(questions_of, by=question.by, bounds=question.bounds, step=question.step, bins=question.bins)
    questions, epsilon = read(split(line)), options.positive("--epsilon", question.epsilon)
    told = questions, epsilon, weights_of(question.weights, questions)
    parsed = [StatisticQuestion.parse(str(asked["query"])) for asked in questions]
    plan = [str(asked["query"]) for asked in questions]
    dispatch.tell(plan_told(plan, line))
    going, audit = partial(_of_records, dispatch, *told), None

    def paid(request: str | None) -> ReleaseAccount | None:
        """The account under the name that the session gave the request; None if nothing was charged."""
        return None if account is None or request is None else account.named(request)

    with dispatch.listener.working("working"):
        session = _session(dispatch, epsilon)
        weak = weak_reference(session, questions)
        try:
            earlier = split_before(line)
            _require_no_other_reading(session, None if earlier is None else read(earlier), *told, silent)
            rehearsed = session.rehearse(*told, allow_no_noise=silent)
            if (known := dispatch.before(paid(rehearsed.request))) is not None:
                return known
            certificate = rehearsed.certificate
            audit = dispatch.sign(going(certificate, basis=rehearsed.basis), rehearsed.usable, weak)
        except NotComposable as refusal:
            raise BudgetRefused(str(refusal)) from None
        except BudgetExceeded:
            if dispatch.rehearses:
                raise  # else the table decides, whose groups may be fewer than those expected
            dispatch.before(None)
    if by := sorted({asked.by for asked in parsed if asked.by is not None}):  # who asks by them says so
        public = f"asked by {', '.join(map(repr, by))}, which thereby counts as public: everybody is "
        dispatch.tell(
            [Text(f"{public}taken to know it of each record, and its exact numbers of rows may go out", NOTE)]
        )
    if dispatch.delivery.dry_run:
        return _rehearsed(dispatch, parsed, certificate, rehearsed, weak)
    seen = dispatch.seen(session.check)
    answers = session.ask_all(*told, allow_no_noise=silent)
    rehearsed = session.rehearse(*told, allow_no_noise=silent)  # answered: under which request, and with which noise
    payer, certificate = paid(rehearsed.request), session.certificate
    remarks, usable = implausible(session, answers), session.usable_of(rehearsed)
    cells = [(str(a.question), c.group, c.cell, c.value, c.low, c.high) for a in answers for c in a.cells]
    shown = dict(zip(COLUMNS, map(list, zip(*cells, strict=True)), strict=True))
    summary = {
        "plan": plan, "route": RECORDS, "answers": [answer.to_json() for answer in answers],
        "implausible": list(remarks), "warnings": [*weak, *certificate.warnings()],
        **_figures(certificate, usable, account),
        "ledger": None if payer is None else payer.entry(), "left": float(session.remaining().epsilon),
    }  # fmt: skip
    exactly = (answer.question for answer in answers if answer.public)
    said = (*_told(certificate, usable, exactly, account), *sentences((*weak, *remarks), CAUTION))
    return replace(dispatch, account=payer or account).published(
        going(certificate, check=seen), shown, summary, (_answers(answers), *said), audit, usable,
        (*weak, *remarks), free=payer is None,
    )  # fmt: skip


def _answers(answers: Sequence[SessionAnswer]) -> Listing:
    rows = [
        (str(answer.question), c.group, c.cell, float(c.value), float(c.low), float(c.high),
         "" if k else f"{float(answer.cost.epsilon):.4g}")
        for answer in answers for k, c in enumerate(answer.cells)
    ]  # fmt: skip
    return Listing(several(len(answers), "answer"), (*COLUMNS, "share"), COLUMNS[:3], rows)


def _rehearsed(
    dispatch: Dispatch, plan: Sequence[StatisticQuestion], certificate: RecordsCertificate, rehearsed: Rehearsal,
    weak: Sequence[str],
) -> Forecast:  # fmt: skip
    told = [question_told(found) for found in certificate.questions]
    by = [question.by for question in plan if question.by is not None]
    columns = [name for question in plan for name in question.columns]
    dry = DryRun.of(rehearsed.rows, (*columns, *by, dispatch.question.unit), by[0] if by else None)
    public = [question for question in plan if question.sized]
    summary = {
        "plan": list(map(str, plan)), "route": RECORDS, "questions": told, "public": list(map(str, public)),
        "warnings": [*weak, *certificate.warnings()], **_figures(certificate, rehearsed.usable),
    }  # fmt: skip
    head = ("question", "noise", "groups", "price")
    rows = [(x["query"], x["words"], str(x["groups"]), f"{float(read_number(x['own'])):.4g}") for x in told]
    shown = Listing(several(len(plan), "question"), head, head[:2], rows)
    said = (shown, *_told(certificate, rehearsed.usable, public), *sentences(weak, CAUTION))
    return dry.forecast(summary, said, {"": certificate}, rehearsed.usable)


def _cap(question: Question) -> Real | None:
    """The most against anybody."""
    return None if question.cap is None else options.positive("--cap", question.cap)


def _session(dispatch: Dispatch, epsilon: Real) -> Session:
    """The session, whose table is not opened yet; its books are those of the account, or none."""
    question, account = dispatch.question, dispatch.account or dispatch.read
    budget: Pure | Approx = Pure(epsilon if dispatch.total is None else dispatch.total.epsilon)
    kept: dict[str, Any] = {"ledger": False}
    if account is not None:
        assert isinstance(account.budget, Pure | Approx)  # other budgets go by the law route
        budget = account.budget
        kept = {"ledger": account.ledger, "data": account.data, "other_people": account.others}
    assert question.reference is not None  # beliefs fitted on the table itself go by the law route
    return Session(
        question.table or UNNAMED, question.reference, question.secret, budget, cap=_cap(question),
        schema=dispatch.schema, unit=question.unit, rows=question.rows, **kept,
    )  # fmt: skip


def _require_no_other_reading(
    session: Session, earlier: list[Asked] | None, questions: list[Asked], epsilon: Real,
    weights: list[Real] | str | None, silent: bool,
) -> None:  # fmt: skip
    """Refuse a line that fugu 0.3 answered as it read it, `earlier`: neither is that answer the one to this question,
    nor is the same command, run again, charged for another one in silence."""
    if earlier is None or earlier == questions or not session.answered(earlier, epsilon, weights):
        return
    if session.answered(questions, epsilon, weights, allow_no_noise=silent):
        return  # nothing is charged, and the plan says which of the two is read back
    before, now = (joined([asked["query"] for asked in some]) for some in (earlier, questions))
    raise UsageError(
        f'this --query was answered by fugu 0.3, which read it as "{before}"; write that to get the same numbers '
        f'again, for nothing. A "by" at the end of a list is for the whole list now: write "{now}" to ask for '
        "that, which is a new charge"
    )


def _of_records(
    dispatch: Dispatch, questions: list[Asked], epsilon: Real, given: list[Real] | str | None,
    certificate: RecordsCertificate, **more: Any,
) -> Outgoing:  # fmt: skip
    """What goes out, with the questions in JSON types, so that the laws can be fitted again; None for a predicate in
    code."""
    question, schema, cap = dispatch.question, dispatch.schema, _cap(dispatch.question)
    weights = [str(as_fraction(weight)) for weight in given] if isinstance(given, list) else given
    rows, plan = sum(kind.rows for kind in certificate.types), joined(asked["query"] for asked in questions)
    exactly = [
        {"query": asked["query"], "bounds": None if ends is None else [str(as_fraction(x)) for x in ends],
         "step": None if step is None else str(as_fraction(step)), "bins": asked.get("bins")}
        for asked in questions for ends, step in [(cast(Any, asked.get("bounds")), cast(Any, asked.get("step")))]
    ]  # fmt: skip
    recipe = None if certificate["protect"] is None else {
        "what": certificate.kind, "grammar": GRAMMAR, "questions": exactly,
        "protect": certificate["protect"], "epsilon": str(as_fraction(epsilon)),
        **({} if weights is None else {"weights": weights}), **({} if cap is None else {"cap": str(as_fraction(cap))}),
        **({"allow_no_noise": True} if question.allow_no_noise else {}), "unit": question.unit,
        "schema": None if schema is None else schema.to_json(), "rows": rows,
    }  # fmt: skip
    skipped = tuple(certificate["skipped"])
    return dispatch.outgoing({"": certificate}, rows, recipe, words=f"Publish {plan}.", skipped=skipped, **more)


def _figures(certificate: RecordsCertificate, usable: Usable, account: ReleaseAccount | None = None) -> Json:
    budget, spent = exact(certificate.budget.epsilon), certificate.spent
    return {
        "rules": list(certificate.tell().rules),
        "spent": float(spent), "left": float(budget - spent), "budget": float(budget),
        "budget_delta": 0.0 if account is None else float(account.budget.delta),
        "any_belief": float(certificate.any_belief),
        "cap": None if certificate.cap is None else float(certificate.cap),
        "exact": list(exact_numbers(certificate.questions)), "usable": usable.to_json(),
    }  # fmt: skip


def _told(
    certificate: RecordsCertificate, usable: Usable, public: Iterable[StatisticQuestion],
    account: ReleaseAccount | None = None,
) -> Iterator[Block]:  # fmt: skip
    """Which numbers are exact without noise, how usable the answers are, and what is left."""
    for question in public:
        yield Text(f"{question}: {PUBLIC}")
    yield usable
    told = _figures(certificate, usable, account)
    yield from sentences(told["rules"])
    yield Text(f"assumed: {one_row(certificate['unit'])}")
    budget = certificate.budget if account is None else account.budget  # with its delta, if it has one
    left = remainder(told["left"], budget)
    if certificate.cap is not None:
        left += f"; against anybody {remainder(certificate.cap - certificate.any_belief, certificate.cap)}"
    yield Text(f"left: {left}")
    yield from sentences((*certificate.warnings(), *told["exact"]), CAUTION)


def release_query(dispatch: Dispatch) -> Forecast:
    """Charge, answer, write OUT.csv and its one certificate, show the numbers with their intervals.

    A dry run, and the page to sign, are for groups that are expected: the table is opened after them. All groups
    together are one charge: a record belongs to one of them. A second statistic of the same table is refused by the
    ledger, since what two law-based releases promise together is not known."""
    question, account = dispatch.question, dispatch.account
    parsed = StatisticQuestion.parse(question.asked)
    plan = replace(parsed, by=question.by if parsed.by is None else parsed.by)
    budget = options.odds(question.epsilon, question.delta)
    if (known := dispatch.before(account)) is not None:
        return known
    dispatch.tell(plan_told([plan], question.asked))
    if dispatch.why:
        dispatch.tell([Text(f"by the law route, not by records: {dispatch.why}", NOTE, stated=True)])
    with dispatch.listener.working("fitting beliefs, and the least noise"):
        believed = _believed(dispatch, plan, budget)
        weak: tuple[str, ...] = ()
        if dispatch.known is not None:
            few = few_rows({secret: int(mask.sum()) for secret, mask in believed.masks.items()})
            bounds = dict.fromkeys(believed.question.columns, believed.options.bounds)
            unfit = misfits(dispatch.known, believed.reading, {"query": bounds, "by": [plan.by]})
            people = several_rows(dispatch.known, question.unit, (*bounds, plan.by))
            cut = cut_cells(dispatch.known, believed.reading, bounds)
            told = str(plan), believed.feature, believed.reading, believed.cells
            weak = (*people, *few, *unfit, *cut, *(coarse_said(*told) if believed.options.bins is None else ()))
        rows = RowsFor(question.rows, len(believed.known), own=believed.public_prior)
        if dispatch.rehearses:
            dry = DryRun.of(rows, (*believed.question.columns, question.unit), plan.by)
            rehearsed = replace(believed.rehearse(rows.number), silent=question.allow_no_noise)
            rehearsed.require_noise()
            dispatch.sign(_going(dispatch, rehearsed, dry.basis), remarks=weak)
    dispatch.say_closing()
    if dispatch.delivery.dry_run:
        return _forecast(dispatch, plan, rehearsed, dry, weak)
    with dispatch.listener.working("opening the private table, and the least noise"):
        prepared = replace(believed.open(dispatch.table, rows), silent=question.allow_no_noise)
        prepared.require_noise()
        going = _going(dispatch, prepared)
        audit = dispatch.sign(going, remarks=weak, opened=True)
    going = replace(going, check=dispatch.look(prepared.opened, question.unit))

    def produce() -> list[list[Any]]:
        return [list(astuple(cell)) for cell in prepared.release()]

    certificates = prepared.certificates
    charge = Charge.of_groups(budget, plan.by, certificates)
    drawn = produce() if account is None else account.spend(prepared.opened, charge, produce)
    cells = tuple(Cell(*cell) for cell in drawn)
    remarks: tuple[str, ...] = ()
    if list(certificates) == [""]:  # of groups nothing is said, whose law the reference may not tell
        remarks = implausible_numbers(certificates[""], [cell.value for cell in cells])
    usable = fugu.usable(Answer(prepared.question, cells, prepared.mechanisms))
    summary = {
        **_said(dispatch, plan, prepared, weak, usable),
        "implausible": list(remarks), "cells": [asdict(cell) for cell in cells],
    }  # fmt: skip
    warned = (*prepared.exact, *prepared.warnings, *weak, *remarks)
    said: tuple[Block, ...] = (
        _numbers(prepared, cells),
        usable,
        *sentences((*summary["rules"], f"assumed: {one_row(question.unit)}")),
        *sentences(warned, CAUTION),
    )
    return dispatch.published(going, columns_of(cells), summary, said, audit, remarks=(*weak, *remarks))


def _believed(dispatch: Dispatch, plan: StatisticQuestion, budget: Pure | Approx) -> LawPrice:
    """What is believed: of the reference, or of the table itself, which then counts as public."""
    question, known = dispatch.question, dispatch.known
    edges = options.bins(question.bins)
    if edges is not None and (not isinstance(edges, list) or not all(isinstance(e, float) for e in edges)):
        raise UsageError("for a query, bins are edges, such as --bins 100,150,200")
    return LawPrice.of(
        dispatch.table if known is None else known,
        what_and_by(question.asked)[0],
        question.secret,
        budget,
        plan.by,
        options.bounds(question.bounds),
        options.maybe("step", question.step),
        edges,  # type: ignore[arg-type]
        known is None,
        question.unit,
        dispatch.schema,
        None if question.missing == "error" else options.missing(question.missing),
    )


def _going(dispatch: Dispatch, found: LawNoise, basis: str = "") -> Outgoing:
    recipe = found.price.recipe(found.grouping.sizes)
    return dispatch.outgoing(
        found.certificates, found.rows,
        None if recipe is None else {"what": "statistic", **recipe},
        words=f"Publish {found.question}.", skipped=found.price.skipped, basis=basis,
    )  # fmt: skip


def _said(dispatch: Dispatch, plan: StatisticQuestion, found: LawNoise, weak: tuple[str, ...], usable: Usable) -> Json:
    """What is asked, the route, both promises, what is exact, warnings, what missing cells count as in all groups."""
    said = found.promised
    return {
        "query": str(found.question), "plan": [str(plan)], "usable": usable.to_json(),
        "route": LAW, "why": dispatch.why, "closes": dispatch.closes, "guarantee": said.budget, "anybody": said.anybody,
        "exact": list(found.exact), "warnings": [*found.warnings, *weak],
        "rules": list(next(iter(found.mechanisms.values())).certificate.tell().rules),
    }  # fmt: skip


def _forecast(
    dispatch: Dispatch, plan: StatisticQuestion, rehearsed: LawNoise, dry: DryRun, weak: tuple[str, ...]
) -> Forecast:
    scales = {group: float(m.noise.scale) for group, m in rehearsed.mechanisms.items()}
    usable = fugu.usable(Answer(rehearsed.question, (), rehearsed.mechanisms))  # beside what the beliefs say
    said = _said(dispatch, plan, rehearsed, weak, usable)
    shown: tuple[Block, ...] = (
        usable, Text(f"noise scale of each group: {scales}"),
        *sentences((*said["rules"], f"assumed: {one_row(dispatch.question.unit)}")),
        *sentences((*rehearsed.exact, *rehearsed.warnings, *weak), CAUTION),
    )  # fmt: skip
    return dry.forecast({**said, "scales": scales}, shown, rehearsed.certificates, usable)


def _numbers(prepared: LawNoise, cells: tuple[Cell, ...]) -> Listing:
    columns = columns_of(cells)
    texts = ((x if isinstance(x, str) else f"{x:.6g}" for x in row) for row in zip(*columns.values(), strict=True))
    rows = [(*row, f"{cell.scale:.4g}") for row, cell in zip(texts, cells, strict=True)]
    return Listing(str(prepared.question), (*columns, "noise scale"), ("group", "cell"), rows)
