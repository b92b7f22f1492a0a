"""`Plan`: how a question will be answered, worked out from public information: its features, its noise, its cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.causes import why_text
from fugu.data.cells import OTHER
from fugu.data.private import label_of
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.axes import Axis
from fugu.queries.features import Coded, Feature, Gridded, Is, Placed, Squared
from fugu.queries.noised import EVEN, FLIP, LAPLACE, LINES, Noised, charges_of
from fugu.queries.records import coding
from fugu.queries.statistic import Question
from fugu.translation.records.charges import RecordCharge

Bins = Sequence[float] | Mapping[str, Sequence[float]]
_MOST_CELLS, _MOST_NUMBERS, _MOST_POINTS = 10_000, 50, 10_001
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
class Plan:
    """A question with its features, its noise, and the share of its epsilon that each noise has."""

    question: Question
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

    def noised(self, epsilons: Mapping[str, Fraction]) -> Noised:
        """The question with the noise that follows from its own epsilon in each group."""
        asked = self.question
        rates = {group: self.rates(epsilon) for group, epsilon in epsilons.items()}
        return Noised(str(asked), asked.kind, asked.by, self.features, self.law, rates)


def plan_of(question: Question, reading: Schema, reference: Table, options: Options) -> Plan:
    """How the question is answered; `UsageError` or `BadTable` if it makes no sense for these columns.

    `reading`: how records are read. `reference`: the public table, read. `options`: what the question says besides."""
    for column in question.columns:
        if column not in reading.fields:
            raise ColumnNotFound(column, tuple(reading.fields))
    features, law, shares = _KINDS[question.kind](question, reading, reference, options)
    return Plan(question, features, law, shares)


Made = tuple[tuple[Feature, ...], str, tuple[Fraction, ...]]


def _counted(question: Question, reading: Schema, reference: Table, options: Options) -> Made:  # noqa: ARG001
    found = coding(question.statistic, reading, None, None)
    return (Is(found.column, str(found.equals)),), LAPLACE, _WHOLE


def _summed(question: Question, reading: Schema, reference: Table, options: Options) -> Made:  # noqa: ARG001
    return (Coded(coding(question.statistic, reading, options.bounds, options.step)),), LAPLACE, _WHOLE


def _spread(question: Question, reading: Schema, reference: Table, options: Options) -> Made:
    """Both sums. The variance is E g - (E f - c)^2: its error is b' + 2 abs(E f - c) b, least where the shares of f and
    g are as the 2/3 powers of 2 abs(E f - c) top(f) and top(g); E f is taken from the reference."""
    how = coding(question.statistic, reading, options.bounds, options.step)
    coded, squared = Coded(how), Squared(how)
    share = Fraction(1, 4)
    if how.column in reference.columns and len(reference):
        away = abs(float(coded.of(reading, reference).mean()) - squared.centre)
        one, two = (2 * away * coded.top) ** (2 / 3), float(squared.top) ** (2 / 3)
        share = Fraction(min(max(round(16 * one / (one + two)), 1), 12), 16)
    return (coded, squared), LAPLACE, (share, 1 - share)


def _tabled(question: Question, reading: Schema, reference: Table, options: Options) -> Made:
    bins = options.bins
    if len(question.columns) > 1 and bins is not None and not isinstance(bins, Mapping):
        raise UsageError("a crosstab has two columns; give bins as {column: edges}")
    each = bins if isinstance(bins, Mapping) else {} if bins is None else {question.columns[0]: bins}
    for column in each:
        if column not in question.columns:
            raise UnknownName("column of bins", column, question.columns)
    if len(set(question.columns)) < len(question.columns):
        raise UsageError("a crosstab needs two different columns")
    placed = Placed(tuple(_axis(reading, reference, column, each.get(column)) for column in question.columns))
    if placed.top + 1 > _MOST_CELLS:
        raise UsageError(f"there would be {placed.top + 1} cells; at most {_MOST_CELLS} are released at once")
    return (placed,), LAPLACE, _WHOLE


def _topped(question: Question, reading: Schema, reference: Table, options: Options) -> Made:
    (placed,), _, shares = _tabled(question, reading, reference, options)
    most = placed.top + 1 - (reading.fields[question.columns[0]].numeric is False or options.bins is None)
    if question.at is not None and question.at > most:
        raise UsageError(f"top({question.columns[0]}, k) has {most} cells to choose from, got k = {question.at}")
    return (placed,), FLIP if question.at == 1 else LAPLACE, shares


def _ranked(question: Question, reading: Schema, reference: Table, options: Options) -> Made:  # noqa: ARG001
    column = question.columns[0]
    if options.grid is not None:
        if not reading.fields[column].numeric:
            raise BadTable(f"column {column!r} holds no numbers; a quantile on a grid needs them")
        return (Gridded(column, increasing(options.grid, "grid", _MOST_POINTS)),), FLIP, _WHOLE
    known = reading.fields[column]
    if known.numeric and options.bounds is None and known.bounds is None:
        raise UsageError(
            f"a quantile of column {column!r} needs bounds=(low, high), or grid=[...], the values it may have: they "
            "are fixed before the table is looked at"
        )
    return (
        (Coded(coding(replace(question.statistic, kind="quantile"), reading, options.bounds, options.step)),),
        FLIP,
        _WHOLE,
    )


_KINDS: dict[str, Callable[[Question, Schema, Table, Options], Made]] = {
    "count": _counted,
    "proportion": _counted,
    "sum": _summed,
    "mean": _summed,
    "variance": _spread,
    "histogram": _tabled,
    "crosstab": _tabled,
    "top": _topped,
    "quantile": _ranked,
}


def _axis(reading: Schema, reference: Table, column: str, bins: Sequence[float] | None) -> Axis:
    """The cells of a column: its edges, its declared categories, or the few numbers that the reference has."""
    known = reading.fields[column]
    if bins is not None:
        if not known.numeric:
            raise BadTable(f"column {column!r} holds text{why_text(known.values or ())}; bins of numbers do not fit it")
        return Axis(column, (), increasing(bins, "bins", _MOST_CELLS + 1))
    if known.values is not None:
        return Axis(column, tuple(label for label in known.values if label != OTHER))
    if column not in reference.columns:
        raise UsageError(f"the reference lacks column {column!r}, so its cells are not known; give bins, or its values")
    _, found = reference.exact(column).codes(strict=False)
    if known.numeric and len(found) > _MOST_NUMBERS:
        raise UsageError(f"column {column!r} holds many different numbers; give bins (edges) for its histogram")
    return Axis(column, tuple(label for label in map(label_of, found.tolist()) if label != OTHER))


def increasing(numbers: Sequence[float], name: str, most: int) -> tuple[float, ...]:
    """Increasing finite numbers, at least two of them; `name` and the `most` there may be go into the refusal."""
    try:
        found = tuple(float(as_fraction(x)) for x in numbers)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a list of finite numbers") from None
    if not 2 <= len(found) <= most or any(not a < b for a, b in pairwise(found)):
        raise UsageError(f"{name} must be 2 to {most} increasing numbers")
    return tuple(np.asarray(found).tolist())
