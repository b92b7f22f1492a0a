"""What questions cost in accuracy on each route, and which epsilon an accuracy takes; no private table is opened.

- records: all questions together under one epsilon, charged to each record; more can be asked later.
- law: each question alone with all of epsilon, by the law of its total; nothing else may then be released.
- plain: ordinary differential privacy for all questions together, which uses no beliefs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import final

from fugu.data import Schema
from fugu.data.frame import TableLike
from fugu.data.secrets import ProtectLike
from fugu.documents.parts import published_unit
from fugu.errors import BudgetExceeded, FuguError, NotProvable, UsageError
from fugu.guarantee import Pure
from fugu.guarantee.asks import exact, plain
from fugu.numbers.exact import Real, decimal_up, number
from fugu.progress import stage
from fugu.queries.kinds import FLIP, Options
from fugu.queries.law_price import LawPrice
from fugu.queries.statistic import TOTALS, QuestionPlan, StatisticQuestion, plan_of
from fugu.question import RECORDS
from fugu.session.allocation import allotted, read_weights
from fugu.session.books import FOLD, SessionBooks, allowance, cap_of, charge_for, item_of, public_facts
from fugu.session.checks import usable_of_question
from fugu.utility.usable import Figures


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
) -> tuple[tuple[RouteErrors, ...], Fraction]:
    """The expected errors of questions on each route, for a table of so many rows, and what a release of all of them on
    the records route promises against anybody; no private table is opened.

    Parameters: `reference`, `questions`, `protect`, `epsilon`, `weights`, `schema`, `unit`, `cap`, `rows`: as in
    `Session` and `Session.ask_all`. Public numbers of rows are left out: they are exact on every route."""
    belief, size = public_facts(reference, protect, schema, unit, rows)
    items = [(asked, options) for asked, options in map(item_of, questions) if not asked.sized]
    allowed = Pure(epsilon)
    plans = [plan_of(asked, belief.reading, belief.table, options) for asked, options in items]
    if not plans:
        return (), Fraction(0)
    books = SessionBooks(belief, allowed, cap_of(cap) or FOLD * exact(allowed.epsilon))
    public = sorted({asked.by for asked, _ in map(item_of, questions) if asked.sized and asked.by is not None})
    found = allotted(books, plans, allowance(epsilon), weights, public)
    shares = read_weights(weights, len(plans)) or [Fraction(1)] * len(plans)
    whole = exact(allowed.epsilon) / sum(shares)
    listed = []
    for (asked, options), plan, noised, share in zip(items, plans, found, shares, strict=True):
        law, why = _law(reference, asked, options, protect, allowed, schema, unit, size.number)
        plain = plan.noised(dict.fromkeys(noised.rates, whole * share))
        sizes = belief.groups.of(noised.by).sizes
        errors = (max(one.error(group, sizes[group]) for group in one.rates) for one in (noised, plain))
        of = _unit(plan)
        laws = belief.pricing(() if noised.by is None else (noised.by,)).laws
        figures = usable_of_question(noised, sizes, laws).figures
        listed.append(RouteErrors(str(asked), next(errors), law, next(errors), of, why, figures))
    return tuple(listed), books.beside(charge_for(found, public)).worth().any_belief


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
        told = (budget, asked.by, options.bounds, options.step, options.bins)
        found = LawPrice.of(reference, replace(asked, by=None), protect, *told, unit=unit, schema=schema).rehearse(rows)
    except FuguError as error:
        return None, f"the law route: {error}"
    return max(m.expected_error() * float(published_unit(m.certificate)) for m in found.mechanisms.values()), ""


def _unit(plan: QuestionPlan) -> str:
    """What the error of a question is counted in."""
    kind = plan.question.facts
    return "ranks" if plan.law == FLIP else kind.name if kind.numbers or kind.divided else RECORDS


_LEAST, _MOST = Fraction(1, 10**6), Fraction(64)
"""Between them the least epsilon is looked for."""


def least_epsilon(
    reference: TableLike,
    questions: Sequence[str | Mapping[str, object]],
    protect: ProtectLike,
    error: Real,
    weights: Sequence[Real] | str | None = None,
    *,
    schema: Schema | None = None,
    unit: str | None = None,
    cap: Real | None = None,
    rows: int | None = None,
) -> Pure:
    """The least epsilon, to three digits, with which no number of these questions has a larger expected error.

    The noise is found as a release at that epsilon finds it. Errors are nearly in inverse proportion to epsilon, so a
    few trials suffice. Raises `NotProvable` where none up to 64 reaches the error.

    Parameters: `error`: in the unit of the questions, which must be one and the same; all others as in
    `compare_routes`."""
    most = number(error, "error")
    if most <= 0:
        raise UsageError("error is the expected error that every number may have, above 0")
    belief, _ = public_facts(reference, protect, schema, unit, rows)
    items = [(asked, options) for asked, options in map(item_of, questions) if not asked.sized]
    plans = [plan_of(asked, belief.reading, belief.table, options) for asked, options in items]
    if not plans:
        raise UsageError("numbers of rows are public and exact: no epsilon is needed")
    units = {(_unit(plan), plan.question.columns if plan.question.facts.numbers else ()) for plan in plans}
    if len(units) > 1:
        asked = "; ".join(str(plan.question) for plan in plans)
        raise UsageError(f"errors of these questions are in different units: {asked}. Give those of one unit")

    def worst(epsilon: Fraction) -> float:
        books = SessionBooks(belief, Pure(epsilon), cap_of(cap) or FOLD * epsilon)
        try:
            found = allotted(books, plans, allowance(epsilon), weights)
        except BudgetExceeded:
            return math.inf
        sizes = {asked.by: belief.groups.of(asked.by).sizes for asked in found}
        return max(asked.error(group, sizes[asked.by][group]) for asked in found for group in asked.rates)

    low, high, at = Fraction(0), Fraction(_MOST), Fraction(1)
    for turn in count():
        stage(f"what epsilon {float(at):g} gives")
        found = worst(at)
        if found <= most:
            high = at
        elif at >= _MOST:
            raise NotProvable(
                f"no epsilon up to {_MOST} has an expected error of at most {float(most):g}: at {_MOST} it is "
                f"{found:.3g}. Give a larger error; a mean comes nearer with more rows for each number (fewer groups, "
                "or none) and with a finer step. Noise that is 0 more often than not is for a release with "
                "allow_no_noise=True alone"
            )
        else:
            low = at
        beyond = decimal_up(float(low) * (1 + 1e-6), 3) if low else _LEAST
        if beyond >= high:
            return Pure(plain(high))
        about = float(at) * min(found / float(most), 1e3)  # errors are nearly in inverse proportion to epsilon
        if low and turn % 3 == 2:
            about = math.sqrt(low * high)
        at = min(max(decimal_up(about if low else about * 0.99, 3), beyond), high)
        at = at if at < high or high == _MOST > low else beyond
    raise AssertionError("the loop ends at a neighbour")
