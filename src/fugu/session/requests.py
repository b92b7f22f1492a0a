"""The questions of a list and the names of requests, mechanisms from outside, and what each route would cost."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from fugu.data import Schema
from fugu.data.frame import TableLike
from fugu.data.private import Private
from fugu.data.secrets import ProtectLike
from fugu.documents.document import canonical_json
from fugu.documents.parts import published_unit
from fugu.errors import BadBudget, ColumnNotFound, FuguError, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact
from fugu.mechanism.per_entry import PerEntryDP
from fugu.mechanism.release import PerEntryRelease
from fugu.numbers.exact import Real, number
from fugu.queries.features import Feature, Whole, whole
from fugu.queries.kinds import FLIP, OUTSIDE, Options
from fugu.queries.noised_question import NoisedQuestion, QuestionPlan, plan_of
from fugu.queries.statistic import TOTALS, StatisticQuestion
from fugu.queries.statistics_release import Believed, rehearse
from fugu.queries.table_belief import TableBelief
from fugu.session.allocation import allotted, read_weights
from fugu.session.books import FOLD, InMemory, SessionBooks, cap_of, charge_for, public_facts
from fugu.session.checks import usable_of_question
from fugu.utility.figures import Figures

_OPTIONS = {"query", "bounds", "step", "bins", "grid"}


def request_of(what: str, plans: Sequence[QuestionPlan], epsilon: Fraction | None, more: object = None) -> str:
    """One name for one question with its options: asked again, it is the same request."""
    told = [[str(p.question), [f.to_json() for f in p.features], p.law, [str(s) for s in p.shares]] for p in plans]
    text = canonical_json([what, told, None if epsilon is None else str(epsilon), more])
    return f"{what} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def allowance(epsilon: Real | None) -> Fraction | None:
    """How far a question may raise what is spent; None for what is usual."""
    if epsilon is None:
        return None
    if (allowed := number(epsilon, "epsilon")) <= 0:
        raise BadBudget("a question costs something, so its epsilon is a number above 0")
    return allowed


def items_of(questions: object) -> list[tuple[StatisticQuestion, Options]]:
    """The questions of a list; a text alone is a list of one."""
    listed = [questions] if isinstance(questions, str | StatisticQuestion) else questions
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError("questions is a list of at least one question")
    return [item_of(item) for item in listed]


def item_of(item: object) -> tuple[StatisticQuestion, Options]:
    """A question of a list: its text, or a dict with "query" and options."""
    if isinstance(item, str | StatisticQuestion):
        return item if isinstance(item, StatisticQuestion) else StatisticQuestion.parse(item), Options()
    if not isinstance(item, Mapping) or "query" not in item or not set(item) <= _OPTIONS:
        raise UsageError(f"a question of a list is a text, or a dict with query and {', '.join(sorted(_OPTIONS))}")
    options = {name: value for name, value in item.items() if name != "query"}
    return StatisticQuestion.parse(item["query"]), Options(**options)


# Mechanisms from outside that are private for each record, charged to a session with the columns they read.


_FAILED = "failed"


def outside(
    books: SessionBooks, private: Private, mechanism: PerEntryDP, columns: Sequence[str], request: str | None
) -> PerEntryRelease:
    """Charge the mechanism for the columns, then run it on them as they were read."""
    names = tuple(dict.fromkeys(columns))
    for name in names:
        if name not in private.table.columns:
            raise ColumnNotFound(name, private.table.columns)
    noised = question(books.belief, mechanism, names)
    data = {name: whole(private.schema, private.table, name) for name in names}

    def produce() -> PerEntryRelease | dict[str, str]:
        try:
            return mechanism.release(data[names[0]] if len(names) == 1 else data, charged=True)
        except UsageError as failure:  # that it failed is an answer too: run again, it would be a second one
            return {_FAILED: str(failure)}

    found = books.spend(request or uuid.uuid4().hex, charge_for([noised]), produce)
    if isinstance(found, dict):
        raise UsageError(found[_FAILED])
    return found


def check_outside(mechanism: PerEntryDP, columns: Sequence[str]) -> None:
    """Refuse what no session runs, before the table is opened."""
    if not isinstance(mechanism, PerEntryDP):
        raise UsageError(f"a session runs a fugu.PerEntryDP, got {type(mechanism).__name__}")
    if not mechanism.guarantee.pure:
        raise BadBudget("a session takes mechanisms with a pure epsilon; one with a delta needs a ledger of its own")
    if isinstance(columns, str) or not columns:
        raise UsageError("columns is a list of the columns that the mechanism gets, at least one")


def question(belief: TableBelief, mechanism: PerEntryDP, columns: tuple[str, ...]) -> NoisedQuestion:
    """The mechanism as a question: its epsilon where the columns differ."""
    features: list[Feature] = []
    for name in columns:
        known = whole(belief.reading, belief.table, name) if name in belief.table.columns else np.zeros(1)
        features.append(Whole(name, len(np.unique(known))))
    rates: dict[str, tuple[Fraction, ...]] = {"": (exact(mechanism.guarantee.epsilon),)}
    return NoisedQuestion(f"outside: {mechanism.name}", OUTSIDE, None, tuple(features), OUTSIDE, rates)


# What questions would cost in accuracy on each route, with the reference in place of the private table.
#
# - records: all questions together under one epsilon, charged to each record; more can be asked later.
# - law: each question alone with all of epsilon, by the law of its total; nothing else may then be released.
# - plain: ordinary differential privacy for all questions together, which uses no beliefs.


@final
@dataclass(frozen=True)
class RouteErrors:
    """The expected absolute error of one question on each route, in its own unit, of the noisiest group.

    None where a route does not answer the question; `why` says so. Of choices (quantiles, the top of one) the errors
    are in ranks."""

    query: str
    records: float
    law: float | None
    plain: float
    unit: str
    why: str = ""
    figures: tuple[Figures, ...] = ()
    """How usable the answer of the records route would be, group by group."""

    @property
    def gain(self) -> float:
        """How many times less noise the records route has than ordinary differential privacy."""
        return self.plain / self.records if self.records else math.inf


def compare_routes(
    reference: TableLike,
    questions: Sequence[str | Mapping[str, object]],
    protect: ProtectLike,
    epsilon: Real,
    weights: Sequence[Real] | str | None = None,
    *,
    schema: Schema | None = None,
    unit: str | None = None,
    cap: Real | None = None,
    rows: int | None = None,
) -> tuple[RouteErrors, ...]:
    """The expected errors of questions on each route, for a table of so many rows; no private table is opened.

    Parameters: `reference`, `questions`, `protect`, `epsilon`, `weights`, `schema`, `unit`, `cap`, `rows`: as in
    `Session` and `Session.ask_all`. Public numbers of rows are left out: they are exact on every route."""
    belief, count = public_facts(reference, protect, schema, unit, rows)
    items = [(asked, options) for asked, options in map(item_of, questions) if not asked.sized]
    allowed = Pure(epsilon)
    plans = [plan_of(asked, belief.reading, belief.table, options) for asked, options in items]
    if not plans:
        return ()
    books = InMemory(belief, allowed, cap_of(cap) or FOLD * exact(allowed.epsilon))
    found = allotted(books, plans, allowance(epsilon), weights)
    shares = read_weights(weights, len(plans)) or [Fraction(1)] * len(plans)
    whole = exact(allowed.epsilon) / sum(shares)
    listed = []
    for (asked, options), plan, noised, share in zip(items, plans, found, shares, strict=True):
        law, why = _law(reference, asked, options, protect, allowed, schema, unit, count.number)
        plain = plan.noised(dict.fromkeys(noised.rates, whole * share))
        sizes = {"": count.number} if noised.by is None else belief.groups.of(noised.by).sizes
        # E|noise| = 1 / sinh(rate) steps for Laplace noise on whole numbers; of choices, the scale in ranks
        errors = (
            max(_of_group(one, rates, sizes[group]) for group, rates in one.rates.items()) for one in (noised, plain)
        )
        laws = belief.pricing(() if noised.by is None else (noised.by,)).laws
        figures = usable_of_question(noised, sizes, laws).figures
        listed.append(RouteErrors(str(asked), next(errors), law, next(errors), _unit(plan), why, figures))
    return tuple(listed)


def _law(
    reference: TableLike, asked: StatisticQuestion, options: Options, protect: ProtectLike, budget: Pure,
    schema: Schema | None, unit: str | None, rows: int,
) -> tuple[float | None, str]:  # fmt: skip
    """The error of the law route, which has the question to itself; None, with the reason, where it has no answer."""
    if asked.kind not in TOTALS:
        return None, f"the law route has no {asked.kind}"
    if isinstance(options.bins, Mapping):
        return None, "the law route takes bins for one column"
    try:
        told = (asked.by, options.bounds, options.step, options.bins)
        believed = Believed.of(reference, replace(asked, by=None), protect, *told, unit=unit, schema=schema)
        found = rehearse(believed, budget, rows)
    except FuguError as error:
        return None, f"the law route: {error}"
    return max(m.expected_error() * float(published_unit(m.certificate)) for m in found.mechanisms.values()), ""


def _of_group(noised: NoisedQuestion, rates: tuple[Fraction, ...], rows: int) -> float:
    if noised.law == FLIP:
        return 1 / float(rates[0])
    return noised.facts.unit(noised, rows) / math.sinh(min(float(rates[-1]), 700.0))


def _unit(plan: QuestionPlan) -> str:
    if plan.law == FLIP:
        return "ranks"
    kind = plan.question.facts
    return kind.name if kind.numbers or kind.divided else "records"
