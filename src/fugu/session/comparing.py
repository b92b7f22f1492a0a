"""What questions would cost in accuracy on each route, with the reference in place of the private table.

- records: all questions together under one epsilon, charged to each record; more can be asked later.
- law: each question alone with all of epsilon, by the law of its total; nothing else may then be released.
- plain: ordinary differential privacy for all questions together, which uses no beliefs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import final

import numpy as np

from fugu.data import Schema
from fugu.data.secrets import ProtectLike
from fugu.data.sources import TableLike
from fugu.documents.units import published_unit
from fugu.errors import FuguError
from fugu.guarantee import Pure
from fugu.guarantee.numbers import exact
from fugu.numbers.exact import Real, number
from fugu.queries.answering import rehearse
from fugu.queries.asking import Options, Plan, plan_of
from fugu.queries.believing import Asked
from fugu.queries.features import Coded, Squared
from fugu.queries.noised import FLIP, Noised
from fugu.queries.statistic import KINDS, Question
from fugu.queries.table_belief import TableBelief
from fugu.session.allocation import allotted, read_weights
from fugu.session.books import FOLD, InMemory, cap_of
from fugu.session.opening import Facts, public_facts
from fugu.session.requests import item_of
from fugu.telling.usefulness import OneRecord, statistics
from fugu.utility.numbers import Statistic

_MOST = 200
"""Groups of a question whose answers are judged."""


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
    figures: tuple[Statistic, ...] = ()
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
    facts = public_facts(reference, protect, schema, unit, rows)
    items = [(asked, options) for asked, options in map(item_of, questions) if not asked.sized]
    belief, allowed = facts.expected, Pure(epsilon)
    plans = [plan_of(asked, belief.reading, belief.table, options) for asked, options in items]
    if not plans:
        return ()
    books = InMemory(belief, allowed, cap_of(cap) or FOLD * exact(allowed.epsilon))
    found = allotted(books, plans, number(epsilon, "epsilon"), weights)
    shares = read_weights(weights, len(plans)) or [Fraction(1)] * len(plans)
    whole = exact(allowed.epsilon) / sum(shares)
    listed = []
    for (asked, options), plan, noised, share in zip(items, plans, found, shares, strict=True):
        law, why = _law(reference, asked, options, protect, allowed, schema, unit, facts.rows.number)
        plain = plan.noised(dict.fromkeys(noised.rates, whole * share))
        sizes = _sizes(noised, facts)
        errors = (_error(one, sizes) for one in (noised, plain))
        figures = tuple(islice(statistics(noised, sizes, partial(_law_of, noised, belief)), _MOST))
        listed.append(RouteErrors(str(asked), next(errors), law, next(errors), _unit(plan), why, figures))
    return tuple(listed)


def _law(
    reference: TableLike, asked: Question, options: Options, protect: ProtectLike, budget: Pure,
    schema: Schema | None, unit: str | None, rows: int,
) -> tuple[float | None, str]:  # fmt: skip
    """The error of the law route, which has the question to itself; None, with the reason, where it has no answer."""
    if asked.kind not in KINDS:
        return None, f"the law route has no {asked.kind}"
    if isinstance(options.bins, Mapping):
        return None, "the law route takes bins for one column"
    try:
        wanted = Asked(
            asked.statistic, protect, asked.by, options.bounds, options.step, options.bins, unit, schema
        )  # fmt: skip
        found = rehearse(wanted.of(reference), budget, rows)
    except FuguError as error:
        return None, f"the law route: {error}"
    return max(m.expected_error() * float(published_unit(m.certificate)) for m in found.mechanisms.values()), ""


def _error(noised: Noised, sizes: Mapping[str, int]) -> float:
    """E|noise| = 1 / sinh(rate) steps for Laplace noise on whole numbers; of choices, the scale in ranks."""
    return max(_of_group(noised, rates, sizes[group]) for group, rates in noised.rates.items())


def _sizes(noised: Noised, facts: Facts) -> Mapping[str, int]:
    return {"": facts.rows.number} if noised.by is None else facts.expected.groups.of(noised.by).sizes


def _law_of(noised: Noised, belief: TableBelief, group: str) -> OneRecord:
    """The codes of the reference's rows in a group, each with the same share; None where it has none."""
    if not set(noised.features[0].columns) <= set(belief.table.columns):
        return None
    codes = noised.features[0].of(belief.reading, belief.table).astype(np.float64)
    if noised.by is not None and (known := belief.groups.of(noised.by).known) is not None:
        codes = codes[known == group]
    return (codes, np.full(len(codes), 1 / len(codes))) if len(codes) else None


def _of_group(noised: Noised, rates: tuple[Fraction, ...], rows: int) -> float:
    if noised.law == FLIP:
        return 1 / float(rates[0])
    feature, moved = noised.features[-1], 1 / math.sinh(min(float(rates[-1]), 700.0))
    if noised.kind == "variance" and isinstance(feature, Squared):
        return moved * float(feature.coding.step) ** 2 / rows
    step = float(feature.coding.step) if isinstance(feature, Coded) else 1.0
    return moved * step / (rows if noised.kind in ("mean", "proportion") else 1)


def _unit(plan: Plan) -> str:
    if plan.law == FLIP:
        return "ranks"
    counts = ("count", "histogram", "crosstab", "top")
    return "records" if plan.question.kind in counts else plan.question.kind
