"""What is asked of a table, such as "mean(chol)", one record's contribution to it, and how it will be answered."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.private import why_text
from fugu.data.secrets import column_and_value, kind_and_inside
from fugu.errors import BadTable, ColumnNotFound, MissingValues, UnknownName, UsageError
from fugu.numbers.exact import Real, as_fraction, read_number
from fugu.queries.features import (
    MOST_CELLS,
    CellAxis,
    Coded,
    Feature,
    Gridded,
    Is,
    Placed,
    SquaredFeature,
    axis_of,
    placed_by,
    require_numbers,
)
from fugu.queries.noised_question import EVEN, FLIP, LAPLACE, LINES, NoisedQuestion, charges_of
from fugu.translation.records.problem import RecordCharge
from fugu.visible import several

# `StatisticQuestion`: what is asked of a table, and how that is written.


KINDS = ("count", "sum", "mean", "histogram", "crosstab")
"""What the law of a total is worked out for; a session answers the others too."""
_LOOKS = "a query looks like mean(chol), count(smoker=yes) or crosstab(ward, sex)"
_SHAPES = {"count": 0, "proportion": 0, "quantile": 2, "top": 2, **dict.fromkeys(("sum", "mean", "variance"), 1)} | {
    "histogram": 1,
    "crosstab": 2,
    "median": 1,
}
_NUMBERED = {"quantile": "a number strictly between 0 and 1", "top": "a whole number of at least 1"}
"""Kinds whose second part in the brackets is a number, and which."""
GRAMMAR = 2
"""The version of the grammar of lists of questions: in 2 a "by" at the end of a list is for all of it; in 1, that of
fugu 0.3, for its last question alone. What says no version has 1."""
_BY = re.compile(r"(?P<what>.*[^\s])\s+by\s+(?P<by>.+)", re.IGNORECASE | re.DOTALL)
_QUESTIONS = (
    "a question looks like count, mean(chol), proportion(smoker=yes), quantile(age, 0.9) or top(ward, 3) by site"
)


@dataclass(frozen=True)
class StatisticQuestion:
    """What is asked of a table: a kind, its columns, a value or a number, and the public column that makes the groups.

    `kind`: "count", "proportion", "sum", "mean", "variance", "histogram", "crosstab", "quantile" or "top"; a median is
    the quantile at 1/2. `equals`: the value that a counted column must have. `at`: which quantile, or how many of the
    top. `by`: the column whose groups are answered one by one.

    >>> StatisticQuestion.parse("quantile(age, 0.9) by ward")
    StatisticQuestion(kind='quantile', columns=('age',), equals=None, at=Fraction(9, 10), by='ward')
    >>> str(StatisticQuestion.parse("median( age )")), str(StatisticQuestion.parse("count by ward"))
    ('quantile(age, 1/2)', 'count by ward')
    """

    kind: str
    columns: tuple[str, ...] = ()
    equals: str | None = None
    at: Fraction | None = None
    by: str | None = None

    @staticmethod
    def parse(text: str) -> StatisticQuestion:
        """Read kind(column), count(column=value), quantile(column, q) or top(column, k), with or without " by column".

        `text`: the question; "count" alone asks for the number of rows, which is public."""
        what, by = what_and_by(text)
        if what.strip().lower() in ("count", "count()"):
            return StatisticQuestion("count", by=by)
        kind, inside = kind_and_inside(what, _SHAPES, "question", _QUESTIONS)
        if not _SHAPES[kind]:
            if (found := column_and_value(inside)) is None:
                raise UsageError(f"a {kind} needs a condition, such as {kind}(smoker=yes)")
            return StatisticQuestion(kind, found[:1], found[1], by=by)
        parts = tuple(part.strip() for part in inside.split(",") if part.strip())
        if len(parts) != _SHAPES[kind]:
            wanted = f"a column and {_NUMBERED[kind]}" if kind in _NUMBERED else several(_SHAPES[kind], "column")
            raise UsageError(f"{kind} takes {wanted}, got {len(parts)}")
        if kind == "median":
            return StatisticQuestion("quantile", parts, at=Fraction(1, 2), by=by)
        if kind in _NUMBERED:
            return StatisticQuestion(kind, parts[:1], at=_number(kind, parts[1]), by=by)
        return StatisticQuestion(kind, parts, by=by)

    @property
    def sized(self) -> bool:
        """Whether it asks for numbers of rows, which are public."""
        return not self.columns

    @staticmethod
    def of_total(text: str) -> StatisticQuestion:
        """Read a question of which the law of its total is worked out: one of `KINDS`, without groups."""
        kind, inside = kind_and_inside(text, KINDS, "query", _LOOKS)
        if kind == "count" and column_and_value(inside) is None:
            raise UsageError("a count needs a condition, such as count(smoker=yes); the number of rows is public")
        return StatisticQuestion.parse(text)

    @property
    def tabulated(self) -> bool:
        """Whether it is one count for each of several cells."""
        return self.kind in ("histogram", "crosstab")

    @property
    def averaged(self) -> bool:
        """Whether a sum is divided by the number of rows."""
        return self.kind == "mean"

    def __str__(self) -> str:
        if self.equals is not None:
            inside = f"{self.columns[0]}={self.equals}"
        else:
            inside = ", ".join((*self.columns, *(() if self.at is None else (str(self.at),))))
        told = self.kind if self.sized else f"{self.kind}({inside})"
        return told if self.by is None else f"{told} by {self.by}"


def what_and_by(text: object) -> tuple[str, str | None]:
    """The question and the column after the last " by " that stands outside the brackets.

    >>> what_and_by("mean(chol) by ward"), what_and_by("count(x=a by b)")
    (('mean(chol)', 'ward'), ('count(x=a by b)', None))
    """
    if not isinstance(text, str):
        raise UsageError(f"{_QUESTIONS}, got {text!r}")
    found = _BY.fullmatch(text.strip())
    if found is None or ")" in found["by"] or not (found["what"].endswith(")") or found["what"].lower() == "count"):
        return text, None
    return found["what"], found["by"].strip()


def _number(kind: str, text: str) -> Fraction:
    """The quantile or the number of top cells that a question names."""
    try:
        found = read_number(text)
    except UsageError:
        found = Fraction(0)
    good = 0 < found < 1 if kind == "quantile" else found.denominator == 1 and found >= 1
    if not good:
        raise UsageError(f"{kind} takes a column and {_NUMBERED[kind]}, got {text!r}")
    return found


# One record's contribution to a statistic: a whole number of steps of a sum, or a cell of a table.
#
# Each is the same function on the reference and on the private table, worked out from the schema and the reference.


_MOST_STEPS = 10_000


def coding(question: StatisticQuestion, schema: Schema, options: Options) -> Coded | Is:
    """How one record counts. Bounds are declared by the user or in the schema, never read off private data."""
    column, bounds, step = question.columns[0], options.bounds, options.step
    known = schema.fields[column]
    if question.equals is not None:
        label = known.label(question.equals)
        if label is None and known.numeric:
            raise BadTable(f"column {column!r} holds numbers, and {question.equals!r} is none")
        if label is None:
            raise UnknownName(f"category of column {column!r}", question.equals, known.values or ())
        return Is(column, label)
    if known.ordered:
        bounds = (0, len(known.values or ()) - 1) if bounds is None else bounds
        step = 1 if step is None else step
    elif not known.numeric:
        raise BadTable(f"column {column!r} holds text{why_text(known.values or ())}; a sum or mean needs numbers")
    bounds = known.bounds if bounds is None else bounds
    if bounds is None:
        raise UsageError(
            f"{question.kind}({column}) needs declared bounds, for instance bounds=(0, 400): values are clipped "
            "to them as "
            "part of the query"
        )
    try:
        low, high = as_fraction(bounds[0]), as_fraction(bounds[1])
    except (TypeError, ValueError, IndexError):
        raise UsageError(f"bounds must be two finite numbers, got {bounds!r}") from None
    if not low < high:
        raise UsageError(f"bounds must be increasing, got {float(low):g} and {float(high):g}")
    step = known.step if step is None else step
    width = as_fraction(step) if step is not None else (high - low) / 100
    if width <= 0 or (high - low) / width > _MOST_STEPS:
        raise UsageError(f"the rounding step must be positive and give at most {_MOST_STEPS} steps between the bounds")
    return Coded(column, low, width, int((high - low) / width))


def require_known(schema: Schema, reference: Table, columns: tuple[str, ...]) -> None:
    """Missing cells of the reference need a meaning, which the schema or `missing` gives; private ones have one."""
    for name in columns:
        if reference.exact(name).missing.any() and schema.fields[name].missing is None:
            raise MissingValues(
                f"column {name!r} of the reference has missing cells; say what they count as (missing=<value>, or in "
                "the schema), or drop those rows"
            )


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
    coded = coding(question, reading, options)
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
    return coding(question, reading, options)


def increasing(numbers: Sequence[float], name: str, most: int) -> tuple[float, ...]:
    """Increasing finite numbers, at least two of them; `name` and the `most` there may be go into the refusal."""
    try:
        found = tuple(float(as_fraction(x)) for x in numbers)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a list of finite numbers") from None
    if not 2 <= len(found) <= most or any(not a < b for a, b in pairwise(found)):
        raise UsageError(f"{name} must be 2 to {most} increasing numbers")
    return tuple(np.asarray(found).tolist())
