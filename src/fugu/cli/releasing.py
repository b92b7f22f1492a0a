"""`fugu release`: what is asked is checked, named in the ledger, and goes out by its route."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fugu.cli import options
from fugu.cli.charging import account_of, data_name, ready, say_uncharged, targets
from fugu.cli.console import warn_of_private_counts
from fugu.cli.dispatch import UNNAMED, Dispatch, Pages, required
from fugu.cli.forms import Booking, Delivery
from fugu.cli.mechanisms import check_mechanism
from fugu.cli.questions import LAW, RECORDS, named, named_before, split
from fugu.cli.sequence_reading import layout_of
from fugu.data.layout import PLAIN
from fugu.errors import UnknownName, UsageError
from fugu.numbers.exact import read_number
from fugu.question import COLUMN, PROPERTY, SEQUENCES, STATISTICS, Question


def release(question: Question, books: Booking, delivery: Delivery) -> None:
    """What is wrong is found before anything is charged; a dry run ends before the table is opened."""
    dry_run, as_json = delivery.dry_run, delivery.as_json
    _check_sources(question, dry_run)
    read = (question.table, question.reference, books.ledger, question.schema)
    if delivery.output is None and not dry_run:
        raise UsageError(
            "say where the release goes: -o OUT.csv; only --dry-run, which writes nothing, goes without it"
        )
    files = targets("the column", delivery.output or "release.csv", ".csv", delivery.force or dry_run, *read)
    if delivery.report is not None:
        options.fresh(options.target(delivery.report, *read, delivery.output), delivery.force)
    warn_of_private_counts(question.public_prior)
    if question.query is not None and question.missing == "drop" and not question.sequential:
        raise UsageError(
            "--missing drop is for a column that is published row by row: a statistic counts every record. Give "
            "--missing VALUE, what a missing cell counts as, or leave it out"
        )
    layout = layout_of(question) if question.sequential else PLAIN
    schema = options.schema(question.schema, question.no_header and not question.sequential)
    data = UNNAMED if question.table is None and books.data is None else data_name(books.data, question.table or "")
    budget = options.budget(question.epsilon, question.delta, question.alpha)
    check_mechanism(question)
    total = options.whole(books.total, books.budget_delta, question.delta, question.alpha)
    question = _sized(question)
    public = None if schema is None else schema.to_json(), None if layout.plain else layout.to_json()
    now, before = (
        question.told(*public, said)
        for said in (named(question.query, question.sequential), named_before(question.query))
    )
    account = None if dry_run else account_of(books, budget, total, data, now, before, question.unit)
    ready(files, account, as_json, named=question.query is None or question.sequential)
    say_uncharged(account, dry_run)
    if question.kind == STATISTICS and question.publish is not None:
        _ = question.published  # refused, and says why
    question.refuse()
    pages = Pages(delivery.report, delivery.attack, not delivery.no_check)
    dispatch = Dispatch(question, account, files, data, pages, dry_run, as_json)
    if question.kind == PROPERTY:
        from fugu.cli.hidden import release_hidden

        release_hidden(dispatch)
    elif question.kind == SEQUENCES:
        from fugu.cli.sequences import release_sequences

        release_sequences(dispatch)
    elif question.kind == COLUMN:
        from fugu.cli.column import release_column

        release_column(dispatch)
    else:
        _statistics(dispatch, books.request)


def _statistics(dispatch: Dispatch, request: str | None) -> None:
    """Statistics go charged to each record, or by the law of the total where that is asked for or cannot be else."""
    question, account = dispatch.question, dispatch.account
    _ = question.secret  # before the route is chosen
    way = StatisticRoute(question, dispatch.pages.attack, account is not None and account.kept_by_law())
    if way.taken == RECORDS:
        from fugu.cli.records import release_records

        if request is not None:
            raise UsageError("--request: on the records route requests are named by their questions; leave it out")
        release_records(dispatch)
        return
    from fugu.cli.law import release_query

    if question.cap is not None:
        question.refuse("cap")
    release_query(dispatch, way.why)


def _sized(question: Question) -> Question:
    """The same with the number of records that --rows declares, where a property is hidden."""
    if question.hide is None or question.rows is None:
        return question
    if question.size not in (None, question.rows):
        raise UsageError(f"--size says {question.size} records and --rows {question.rows}; give one of the two")
    return replace(question, size=question.rows)


def _check_sources(question: Question, dry_run: bool) -> None:
    """Beliefs come from one place, and what is released, or fitted on TABLE, needs TABLE."""
    if (question.reference is None) == (not question.public_prior):
        raise UsageError(
            "beliefs must come from somewhere: give --reference REF (a table that is not the one released), or "
            "--public-prior to fit them on TABLE itself and count them as public; one of the two"
        )
    if question.public_reference and question.reference is None:
        raise UsageError("--public-reference says that the file of --reference is public; give both")
    if not dry_run or question.public_prior:
        required(question.table)


@dataclass(frozen=True)
class StatisticRoute:
    """What decides between the two routes of statistics.

    `kept`: the ledger has this request already, from the law route, or another budget than a pure one."""

    question: Question
    attack: bool
    kept: bool

    @property
    def taken(self) -> str:
        """The route: the one that was asked for, if it can be gone; else records where they can do what is asked."""
        asked = self.question.route
        if self.question.alpha is not None:
            raise UsageError("--query takes epsilon and delta; --alpha is for --publish")
        several = len(split(self.question.asked)) > 1 or self.question.weights is not None
        why = self._not_records()
        if asked not in (None, RECORDS, LAW):
            raise UnknownName("route", str(asked), (RECORDS, LAW))
        if asked is None and not several and (why is not None or self.kept):
            return LAW
        if asked == LAW and several:
            raise UsageError(
                "the law route answers one question and closes the table, so --weights and several questions are for "
                "the records route: leave out --route law"
            )
        if asked != LAW and why is not None:
            raise UsageError(why)
        return asked or RECORDS

    @property
    def why(self) -> str:
        """Why the law route is taken, where nobody asked for it; empty otherwise."""
        if self.question.route is not None or self.taken == RECORDS:
            return ""
        return self._not_records() or "this request, or this budget, is in the ledger by the law route already"

    def _not_records(self) -> str | None:
        """Why the records route cannot do what is asked; None if it can."""
        if read_number(self.question.delta) != 0:
            return (
                "--delta: the records route has a pure epsilon. With a delta, what is asked next may depend on an "
                "answer that reveals everything, and then delta does not shrink as it would for one question. Leave "
                "out --delta, or ask one question with --route law"
            )
        if self.question.public_prior:
            return (
                "--public-prior: the records route needs a reference that is not the table: its noise depends on the "
                "reference, and would tell rows of the table. Give --reference, or one question with --route law"
            )
        if self.question.missing != "error":
            return "--missing: on the records route the schema says what missing cells count as (--schema)"
        if self.attack:
            return "--attack: there is no attack on the records route; prove it twice with fugu verify --twice"
        return None
