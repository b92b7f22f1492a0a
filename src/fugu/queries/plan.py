"""How a question will be answered, from public information: features, noise, cells, and the least noise for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations
from typing import final

import numpy as np

from fugu.data import Schema, Table
from fugu.documents.records import StatedLaw
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
from fugu.queries.pricing import Charges, Job, Pricing, Shape, Types, envelope, exact
from fugu.queries.session_certificate import EVEN, FLIP, LAPLACE, LINES, NoisedQuestion, charges_of, own_of
from fugu.queries.statistic import StatisticQuestion, coding
from fugu.translation.records.pricer import largest_rate
from fugu.translation.records.problem import Rate, RecordCharge, joined

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


# The least noise of a question: the largest epsilon of its own that keeps the session within budget and cap.
#
# The price rises with the question's own epsilon e, and by at most e, so a bracketed search finds the largest one. It
# runs on prices that are proved, so whatever it returns is (docs/proofs/metric-charges.md#what-a-new-charge-costs). The
# sum of a record's epsilons rises by e itself, so the cap is a largest e (docs/proofs/metric-charges.md#two-budgets).


LEAST_OWN = Fraction(1, 10**6)
"""Below this an answer would be noise."""
_DIGITS = 9
_MANY = 64
_AHEAD = 4
"""How many times more than what surely fits is tried first."""
_NEAREST = 1e-9

New = Callable[[Fraction, Mapping[str, Feature]], tuple[RecordCharge, ...]]
"""The charges of the new questions at a scale e, given the features that laws speak of."""
Filling = Callable[[Fraction], Fraction]
"""The largest scale at which the new questions' own epsilons add up to at most an amount; 0 where none is left."""


@final
@dataclass(frozen=True, eq=False)
class NoiseSearch:
    """What is to be found: the largest scale at which old and new charges together stay within `target` and `cap`.

    `before`: what the old ones are worth, from above; new ones whose own epsilons add up to at most target - before
    always fit, as far as prices are the best ones. `cap`: what the epsilons of one record, old and new, may add up to.
    `filling`: the scale at which the new ones add up to an amount."""

    pricing: Pricing
    questions: Sequence[NoisedQuestion]
    types: Types
    features: tuple[Feature, ...]
    new: New
    before: Fraction
    target: Fraction
    cap: Fraction
    filling: Filling
    apart: Fraction = Fraction(0)
    guess: Fraction | None = None
    """A scale that is about right, which is tried first."""

    def everywhere(self) -> Fraction:
        """The largest scale that every type of record allows."""
        return min(self.by_group(None).values(), default=Fraction(0))

    def by_group(self, by: str | None) -> dict[str, Fraction]:
        """For each group of the column `by` the largest scale that its types allow."""
        place = None if by is None else self.types.by.index(by)
        modelled = self.pricing.modelled(self.questions) | {
            f.name: f for f in self.features if self.pricing.laws.models(f)
        }
        scales: dict[str, Fraction] = {}
        wanted: dict[int, tuple[StatedLaw, dict[Charges, set[str]]]] = {}
        for groups, _, base in self.pricing.charged(self.questions, self.types, modelled, self.apart):
            group = "" if place is None else groups[place]
            most = down(self.filling(self.cap - own_of(base)))
            scales[group] = min(scales.get(group, most), most)
            laws = self.pricing.laws_of(self.types, groups, (*base, *self.new(Fraction(1), modelled)), modelled)
            if laws is None:
                scales[group] = min(scales[group], down(self.filling(self.target - own_of(base))))  # epsilons add
                continue
            for law in laws:
                wanted.setdefault(id(law), (law, {}))[1].setdefault(base, set()).add(group)
        for law, bases in wanted.values():
            for base, groups_of in _covered(bases):
                needed = max((scales[group] for group in groups_of), default=Fraction(0))
                found = self._scale(law, base, modelled, needed)
                for group in groups_of:
                    scales[group] = min(scales[group], found)
        return scales

    def _scale(self, law: StatedLaw, base: Charges, modelled: Mapping[str, Feature], most: Fraction) -> Fraction:
        """The largest scale of at most `most` that this law allows, every ordered pair of secrets proved at it."""
        if most < LEAST_OWN:
            return Fraction(0)
        sure = self.filling(self.target - self.before)
        alone = not base and len(joined(self.new(most, modelled))) == 1
        finest = tolerance(1 if alone else len(next(iter(law.given.values()))))
        near = finest * float((self.target - self.before) / self.target)

        def job(scale: Fraction) -> Job:
            return Job(law, joined((*base, *self.new(scale, modelled))))

        def cost(pair: tuple[str, str], scale: Fraction) -> tuple[Fraction, float]:
            found = job(scale)
            priced = self.pricing.priced(found, pair)
            slopes = dict(zip((c.shape for c in found.charges), priced.slopes, strict=False))
            growth = _growth(self.new(scale, modelled), self.new(2 * scale, modelled), scale)
            return exact(priced, found.charges), sum(slopes.get(key, 0.0) * more for key, more in growth.items())

        scale = most
        for turn, pair in enumerate(permutations(law.given, 2)):
            first = None
            if turn == 0 and self.guess is not None and self.guess < scale:
                first = self.guess
            elif turn == 0 and 0 < sure < scale / _AHEAD:
                first = _AHEAD * sure
            scale = largest_rate(partial(cost, pair), self.target, sure, scale, max(near, _NEAREST), first)
        scale, less = down(scale), Fraction(1, 10_000)
        while scale >= LEAST_OWN and self.pricing.value(job(scale), self.target) > self.target:
            scale, less = down(scale * (1 - less)), min(2 * less, Fraction(1, 2))
        return scale if scale >= LEAST_OWN else Fraction(0)


def tolerance(states: int) -> float:
    """How finely the scale is searched: nearly exactly on small laws, to less where each price takes long."""
    return 2e-6 if states <= 64 else 2e-4 if states <= 400 else 2e-3


def _growth(now: Charges, then: Charges, scale: Fraction) -> dict[Shape, float]:
    """How much of each charge a unit of scale adds; charges that have reached their largest add nothing."""
    before = {charge.shape: amount(charge) for charge in joined(now)}
    return {c.shape: (amount(c) - before.get(c.shape, 0.0)) / float(scale) for c in joined(then)}


def amount(charge: RecordCharge) -> float:
    """The number of a charge, which its slope is about."""
    return float(charge.rate if isinstance(charge, Rate) else charge.epsilon)


def down(x: Fraction) -> Fraction:
    """The largest decimal with nine digits that is at most x.

    >>> down(Fraction(2, 3)), down(Fraction(1, 10))
    (Fraction(333333333, 500000000), Fraction(1, 10))
    """
    if x <= 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _DIGITS + 1)
    return math.floor(x / unit) * unit


def _covered(bases: Mapping[Charges, set[str]]) -> list[tuple[Charges, set[str]]]:
    """Each set of charges with the groups it is for; if there are very many, one that covers them all."""
    if len(bases) <= _MANY:
        return list(bases.items())
    return [(envelope(list(bases)), set().union(*bases.values()))]
