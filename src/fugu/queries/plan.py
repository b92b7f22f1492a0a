"""How a question will be answered, from public information: features, noise, cells, and the least noise for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.features import (
    MOST_CELLS,
    CellAxis,
    Coded,
    Feature,
    Gridded,
    Placed,
    SquaredFeature,
    axis_of,
    placed_by,
    require_numbers,
)
from fugu.queries.session_certificate import EVEN, FLIP, LAPLACE, LINES, NoisedQuestion, charges_of
from fugu.queries.statistic import StatisticQuestion, coding
from fugu.translation.records.problem import RecordCharge

# `Plan`: how a question will be answered, worked out from public information: its features, its noise, its cells.


Bins = Sequence[float] | Mapping[str, Sequence[float]]
_MOST_POINTS = 10_001
_WHOLE = (Fraction(1),)


@final
@dataclass(frozen=True)
class Options:
    """What a question may say besides its text; all of it is public.

    `bounds`, `step`: the range of a number and the step it is rounded to. `bins`: edges of a histogram, or of each
    column of a cross-tabulation. `grid`: the points among which a quantile is looked for."""

    bounds: tuple[Real, Real] | None = None
    step: Real | None = None
    bins: Bins | None = None
    grid: Sequence[float] | None = None


@final
@dataclass(frozen=True)
class QuestionPlan:
    """A question with its features, its noise, and the share of its epsilon that each noise has."""

    question: StatisticQuestion
    features: tuple[Feature, ...]
    law: str
    shares: tuple[Fraction, ...] = _WHOLE

    def rates(self, epsilon: Fraction) -> tuple[Fraction, ...]:
        """The rate of each noise at which the question's own epsilon is this one."""
        if self.question.kind in LINES:
            return tuple(epsilon * share / f.top for f, share in zip(self.features, self.shares, strict=True))
        return (epsilon / 2,)

    @property
    def noisy(self) -> Fraction | None:
        """The largest epsilon of its own at which no noise is 0 with probability above one half; None for choices."""
        return None if self.law == FLIP else EVEN / max(self.rates(Fraction(1)))

    def charges(self, epsilon: Fraction, modelled: Collection[str]) -> tuple[RecordCharge, ...]:
        """What it costs at this epsilon of its own."""
        return charges_of(self.question.kind, self.features, self.rates(epsilon), modelled) if epsilon else ()

    def noised(self, epsilons: Mapping[str, Fraction]) -> NoisedQuestion:
        """The question with the noise that follows from its own epsilon in each group."""
        asked = self.question
        rates = {group: self.rates(epsilon) for group, epsilon in epsilons.items()}
        return NoisedQuestion(str(asked), asked.kind, asked.by, self.features, self.law, rates)


def plan_of(question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> QuestionPlan:
    """How the question is answered; `UsageError` or `BadTable` if it makes no sense for these columns.

    `reading`: how records are read. `reference`: the public table, read. `options`: what the question says besides."""
    for column in question.columns:
        if column not in reading.fields:
            raise ColumnNotFound(column, tuple(reading.fields))
    if question.kind in ("histogram", "crosstab", "top"):
        placed = _placed(question, reading, reference, options.bins)
        most = placed.top + 1 - (reading.fields[question.columns[0]].numeric is False or options.bins is None)
        if question.kind == "top" and question.at is not None and question.at > most:
            raise UsageError(f"top({question.columns[0]}, k) has {most} cells to choose from, got k = {question.at}")
        return QuestionPlan(question, (placed,), FLIP if question.kind == "top" and question.at == 1 else LAPLACE)
    if question.kind == "quantile":
        points = _points(question, reading, options)
        _require_varied(points, question)
        return QuestionPlan(question, (points,), FLIP)
    coded = coding(question.statistic, reading, options.bounds, options.step)
    _require_varied(coded, question)
    if question.kind != "variance":
        return QuestionPlan(question, (coded,), LAPLACE)
    assert isinstance(coded, Coded)  # a variance has no condition
    squared = SquaredFeature(coded)
    share = _share(coded, squared, reading, reference)
    return QuestionPlan(question, (coded, squared), LAPLACE, (share, 1 - share))


def _require_varied(feature: Feature, question: StatisticQuestion) -> None:
    """Refuse a question to which every record, whatever it holds, counts the same."""
    if feature.top == 0:
        raise UsageError(
            f"every record counts the same: of {question.columns[0]!r} one value is left within its bounds at this "
            "step; give a smaller step, or wider bounds"
        )


def _share(coded: Coded, squared: SquaredFeature, reading: Schema, reference: Table) -> Fraction:
    """What the sum has of a variance's epsilon. The variance is E g - (E f - c)^2: its error is b' + 2 abs(E f - c) b,
    least where the shares of f and g are as the 2/3 powers of 2 abs(E f - c) top(f) and top(g); E f is taken from the
    reference."""
    if coded.column not in reference.columns or not len(reference):
        return Fraction(1, 4)
    away = abs(float(coded.of(reading, reference).mean()) - squared.centre)
    one, two = (2 * away * coded.top) ** (2 / 3), float(squared.top) ** (2 / 3)
    return Fraction(min(max(round(16 * one / (one + two)), 1), 12), 16)


def _placed(question: StatisticQuestion, reading: Schema, reference: Table, bins: Bins | None) -> Placed:
    """The cells of a table of counts: by edges, where they are given, else by labels."""
    if len(question.columns) > 1 and bins is not None and not isinstance(bins, Mapping):
        raise UsageError("a crosstab has two columns; give bins as {column: edges}")
    each = bins if isinstance(bins, Mapping) else {} if bins is None else {question.columns[0]: bins}
    for column in each:
        if column not in question.columns:
            raise UnknownName("column of bins", column, question.columns)
    if len(set(question.columns)) < len(question.columns):
        raise UsageError("a crosstab needs two different columns")
    axes = []
    for column in question.columns:
        if (edges := each.get(column)) is None:
            axes.append(axis_of(reading, reference, column))
            continue
        require_numbers(reading, column)
        axes.append(CellAxis(column, (), increasing(edges, "bins", MOST_CELLS + 1)))
    return placed_by(axes)


def _points(question: StatisticQuestion, reading: Schema, options: Options) -> Feature:
    """The values among which a quantile is looked for."""
    column = question.columns[0]
    known = reading.fields[column]
    if options.grid is not None:
        if not known.numeric:
            raise BadTable(f"column {column!r} holds no numbers; a quantile on a grid needs them")
        return Gridded(column, increasing(options.grid, "grid", _MOST_POINTS))
    if known.numeric and options.bounds is None and known.bounds is None:
        raise UsageError(
            f"a quantile of column {column!r} needs bounds=(low, high), or grid=[...], the values it may have: they "
            "are fixed before the table is looked at"
        )
    return coding(question.statistic, reading, options.bounds, options.step)


def increasing(numbers: Sequence[float], name: str, most: int) -> tuple[float, ...]:
    """Increasing finite numbers, at least two of them; `name` and the `most` there may be go into the refusal."""
    try:
        found = tuple(float(as_fraction(x)) for x in numbers)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a list of finite numbers") from None
    if not 2 <= len(found) <= most or any(not a < b for a, b in pairwise(found)):
        raise UsageError(f"{name} must be 2 to {most} increasing numbers")
    return tuple(np.asarray(found).tolist())
