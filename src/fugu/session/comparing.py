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
from fugu.queries.answering import prepare
from fugu.queries.asking import Options, Plan, plan_of
from fugu.queries.features import Coded, Squared
from fugu.queries.noised import FLIP, Noised
from fugu.queries.statistic import KINDS, Question
from fugu.session.allocation import allotted, read_weights
from fugu.session.books import InMemory
from fugu.session.opening import Opened, open_table
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
) -> tuple[RouteErrors, ...]:
    """The expected errors of questions on each route, for a table with as many rows as the reference has.

    Parameters: `reference`, `questions`, `protect`, `epsilon`, `weights`, `schema`, `unit`: as in `Session` and
    `Session.ask_all`. Public numbers of rows are left out: they are exact on every route."""
    opened = open_table(reference, reference, protect, schema, unit, stands_in=True)
    items = [(asked, options) for asked, options in map(item_of, questions) if not asked.sized]
    belief, allowed = opened.belief, Pure(epsilon)
    plans = [plan_of(asked, belief.reading, belief.table, options) for asked, options in items]
    if not plans:
        return ()
    found = allotted(InMemory(belief, allowed), plans, number(epsilon, "epsilon"), weights)
    shares = read_weights(weights, len(plans)) or [Fraction(1)] * len(plans)
    whole = exact(allowed.epsilon) / sum(shares)
    listed = []
    for (asked, options), plan, noised, share in zip(items, plans, found, shares, strict=True):
        law, why = _law(reference, asked, options, protect, allowed, schema, unit)
        plain = plan.noised(dict.fromkeys(noised.rates, whole * share))
        errors = (_error(one, opened) for one in (noised, plain))
        figures = tuple(islice(statistics(noised, _sizes(noised, opened), partial(_law_of, noised, opened)), _MOST))
        listed.append(RouteErrors(str(asked), next(errors), law, next(errors), _unit(plan), why, figures))
    return tuple(listed)


def _law(
    reference: TableLike, asked: Question, options: Options, protect: ProtectLike, budget: Pure,
    schema: Schema | None, unit: str | None,
) -> tuple[float | None, str]:  # fmt: skip
    """The error of the law route, which has the question to itself; None, with the reason, where it has no answer."""
    if asked.kind not in KINDS:
        return None, f"the law route has no {asked.kind}"
    if isinstance(options.bins, Mapping):
        return None, "the law route takes bins for one column"
    try:
        found = prepare(
            reference, asked.statistic, protect, budget, reference, asked.by, options.bounds, options.step,
            options.bins, True, unit, schema,
        )  # fmt: skip
    except FuguError as error:
        return None, f"the law route: {error}"
    return max(m.expected_error() * float(published_unit(m.certificate)) for m in found.mechanisms.values()), ""


def _error(noised: Noised, opened: Opened) -> float:
    """E|noise| = 1 / sinh(rate) steps for Laplace noise on whole numbers; of choices, the scale in ranks."""
    sizes = _sizes(noised, opened)
    return max(_of_group(noised, rates, sizes[group]) for group, rates in noised.rates.items())


def _sizes(noised: Noised, opened: Opened) -> dict[str, int]:
    return {"": len(opened.private)} if noised.by is None else opened.belief.groups.of(noised.by).sizes


def _law_of(noised: Noised, opened: Opened, group: str) -> OneRecord:
    """The codes of the reference's rows in a group, each with the same share; it stands in for the private table."""
    codes = noised.features[0].of(opened.belief.reading, opened.belief.table).astype(np.float64)
    if noised.by is not None:
        found = opened.belief.groups.of(noised.by)
        codes = codes[found.rows == found.names.index(group)]
    return codes, np.full(len(codes), 1 / len(codes))


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
