"""The kinds of statistics, each once: how it is written, what it looks at in a record, what is drawn and what goes out.

A kind states these facts; parsing, plans, prices, draws, certificates, figures of use, audits and commands are written
over them and know no kind by name. To add one: a class with its facts, and a line in `KINDS`. What it promises does not
rest on its `cells`, which see noised numbers alone; it rests on `features`, total functions of one record, and on
`summed`, which says whether their sums are noised or the counts of their values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.private import why_text
from fugu.errors import BadTable, UnknownName, UsageError
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction
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
    fine_range,
    placed_by,
    reference_range,
    require_numbers,
)
from fugu.visible import brief

if TYPE_CHECKING:
    from fugu.queries.statistic import NoisedQuestion, StatisticQuestion

LAPLACE: Final = "lattice-laplace"
FLIP: Final = "permute-and-flip"
OUTSIDE: Final = "outside"
QUANTILE: Final = "quantile"
LEVEL = 0.95
"""How often an interval holds."""
Bins = Sequence[float] | Mapping[str, Sequence[float]]
Planned = tuple[tuple[Feature, ...], str, tuple[Fraction, ...]]
"""What a question looks at, what is drawn for it, and the share of its epsilon that each noise has."""
_WHOLE = (Fraction(1),)
_MOST_STEPS, _MOST_POINTS = 10_000, 10_001


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


@dataclass(frozen=True)
class Cell:
    """One released number: its group, its value, and an interval that holds what it was before noise, with 95 %: of
    numbers that were clipped to the bounds and rounded to the step."""

    group: str
    cell: str
    value: float
    low: float
    high: float
    scale: float


class StatisticKind(ABC):
    """What is stated of one kind; the defaults are those of a noised number, or of noised counts, that goes out."""

    name: ClassVar[str]
    columns: ClassVar[int] = 1
    """How many columns stand in the brackets; 0 for a condition, column=value."""
    number: ClassVar[str] = ""
    """What number stands behind them, in words; "" for none."""
    summed: ClassVar[bool] = True
    """Whether the sum of each feature is noised; else the counts of all its values are, or are chosen by."""
    divided: ClassVar[bool] = False
    """Whether the number that goes out is the noised one over the public number of rows."""
    numbers: ClassVar[bool] = False
    """Whether it is about numbers, with bounds and a step; else it counts records."""
    noised: ClassVar[str] = "the count"
    """What noise is added to, in words."""
    tabulated: ClassVar[bool] = False
    """Whether one count for each of several cells goes out, all of them."""
    laws: ClassVar[tuple[str, ...]] = (LAPLACE,)
    """What may be drawn for it."""
    features: ClassVar[tuple[tuple[type[Feature], ...], ...]]
    """The functions of one record that it may sum, count or rank."""

    def allows(self, number: Fraction) -> bool:
        """Whether the number in the brackets is one that can be asked for."""
        return number > 0

    @abstractmethod
    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        """How a question is answered, from public facts; `UsageError` or `BadTable` if it makes no sense."""

    def cells(self, asked: NoisedQuestion, group: str, drawn: Sequence[int], rows: int) -> list[Cell]:
        """What goes out of a group, from what was drawn for it and its public number of rows."""
        first, scale = asked.features[0], float(asked.features[0].step) / float(asked.rates[group][0])
        return feature_cells(first, group, drawn, rows, self.divided, self.half(asked, group), scale)

    def half(self, asked: NoisedQuestion, group: str) -> float:
        """h such that the noise of a number that goes out is within h of its steps with 95 %."""
        return half_width(asked.rates[group][0])

    def utilities(self, asked: NoisedQuestion, counts: NDArray[np.int64]) -> list[Fraction]:
        """What a choice is made by, from the counts of all cells; one record moves each by at most 1."""
        raise UsageError(f"{asked.query} is not a choice")

    def unit(self, asked: NoisedQuestion, rows: int) -> float:
        """What one step of the noise is in the number that goes out."""
        return float(asked.features[-1].step) / (max(rows, 1) if self.divided else 1)


@final
class Condition(StatisticKind):
    """How many records, or which share of them, have a value."""

    columns, features = 0, ((Is,),)

    def __init__(self, name: str, divided: bool) -> None:
        self.name, self.divided = name, divided  # type: ignore[misc]

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        column, known = question.columns[0], reading.fields[question.columns[0]]
        label = known.label(question.equals)
        if label is None and known.numeric:
            raise BadTable(f"column {column!r} holds numbers, and {question.equals!r} is not a number")
        if label is None:
            raise UnknownName(f"category of column {column!r}", question.equals, known.values or ())
        return (Is(column, label),), LAPLACE, _WHOLE


@final
class Total(StatisticKind):
    """The sum of a column of numbers, or its mean."""

    numbers, noised, features = True, "the sum", ((Coded,),)

    def __init__(self, name: str, divided: bool) -> None:
        self.name, self.divided = name, divided  # type: ignore[misc]

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        return (coding(question, reading, reference, options),), LAPLACE, _WHOLE


@final
class Variance(StatisticKind):
    """The variance of a column of numbers, from two noised sums: of codes, and of their squared distances from c."""

    name, numbers, features = "variance", True, ((Coded, SquaredFeature),)
    noised = "a sum and a sum of squares, the first"

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        """The variance is E g - (E f - c)^2: its error is b' + 2 abs(E f - c) b, least where the shares of f and g are
        as the 2/3 powers of 2 abs(E f - c) top(f) and top(g); E f is taken from the reference."""
        coded = coding(question, reading, reference, options)
        squared, share = SquaredFeature(coded), Fraction(1, 4)
        if coded.column in reference.columns and len(reference):
            away = abs(float(coded.of(reading, reference).mean()) - squared.centre)
            one, two = (2 * away * coded.top) ** (2 / 3), float(squared.top) ** (2 / 3)
            share = Fraction(min(max(round(16 * one / (one + two)), 1), 12), 16)
        return (coded, squared), LAPLACE, (share, 1 - share)

    def cells(self, asked: NoisedQuestion, group: str, drawn: Sequence[int], rows: int) -> list[Cell]:
        """It lies in its interval if both sums lie within theirs at half the error each."""
        squared, rates = asked.features[1], asked.rates[group]
        assert isinstance(squared, SquaredFeature)
        one, two = (half_width(rate, (1 + LEVEL) / 2) / rows for rate in rates)
        mean, moment = drawn[0] / rows - squared.centre, drawn[1] / rows
        low, high = moment - two - (abs(mean) + one) ** 2, moment + two - max(abs(mean) - one, 0.0) ** 2
        unit = float(squared.coded.step) ** 2
        return [Cell(group, "", (moment - mean**2) * unit, low * unit, high * unit, unit / float(rates[1]) / rows)]

    def unit(self, asked: NoisedQuestion, rows: int) -> float:
        squared = asked.features[-1]
        assert isinstance(squared, SquaredFeature)
        return float(squared.coded.step) ** 2 / rows


@final
class Tabulation(StatisticKind):
    """How many records are in each cell of a column, or of two."""

    summed, tabulated, noised, features = False, True, "every count", ((Placed,),)

    def __init__(self, name: str, columns: int) -> None:
        self.name, self.columns = name, columns  # type: ignore[misc]

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        return (cells_of(question, reading, reference, options.bins),), LAPLACE, _WHOLE


@final
class Top(StatisticKind):
    """The most frequent cells of a column: by noised counts, or one of them by a choice."""

    name, number, summed, noised = "top", "a whole number of at least 1", False, "every count"
    laws, features = (LAPLACE, FLIP), ((Placed,),)

    def allows(self, number: Fraction) -> bool:
        return number.denominator == 1 and number >= 1

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        placed, column = cells_of(question, reading, reference, options.bins), question.columns[0]
        most = placed.top + (placed.axes[0].edges is not None)
        if question.at is not None and question.at > most:
            raise UsageError(f"top({column}, k) has {most} cells to choose from, got k = {question.at}")
        return (placed,), FLIP if question.at == 1 else LAPLACE, _WHOLE

    def cells(self, asked: NoisedQuestion, group: str, drawn: Sequence[int], rows: int) -> list[Cell]:
        """Of the top one no count is released: `scale` is in rows."""
        labels = self.labels(asked)
        if asked.law == FLIP:
            scale = 1 / float(asked.rates[group][0])
            return [Cell(group, labels[drawn[0]], math.nan, math.nan, math.nan, scale)]
        cells = super().cells(asked, group, drawn, rows)[: len(labels)]
        return sorted(cells, key=lambda cell: -cell.value)[: int(asked.at or 1)]

    def half(self, asked: NoisedQuestion, group: str) -> float:
        """Of all counts at once: those with the largest noise are the first to be among the largest."""
        return half_width(asked.rates[group][0], LEVEL ** (1 / len(self.labels(asked))))

    def utilities(self, asked: NoisedQuestion, counts: NDArray[np.int64]) -> list[Fraction]:
        return [Fraction(int(count)) for count in counts[: len(self.labels(asked))]]

    def labels(self, asked: NoisedQuestion) -> list[str]:
        """The names of the cells that are chosen from: all but the one for everything else."""
        placed = asked.features[0]
        assert isinstance(placed, Placed)
        return placed.labels if placed.axes[0].edges is not None else placed.labels[:-1]


@final
class Quantile(StatisticKind):
    """A quantile of a column of numbers, among the points of a public grid."""

    name, number, summed, numbers = QUANTILE, "a number strictly between 0 and 1", False, True
    laws, features = (FLIP,), ((Gridded,), (Coded,))

    def allows(self, number: Fraction) -> bool:
        return 0 < number < 1

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        column = question.columns[0]
        known = reading.fields[column]
        if options.grid is not None:
            if not known.numeric:
                raise BadTable(f"column {column!r} holds no numbers; a quantile on a grid needs them")
            return (Gridded(column, increasing(options.grid, "grid", _MOST_POINTS)),), FLIP, _WHOLE
        return (coding(question, reading, reference, options),), FLIP, _WHOLE

    def cells(self, asked: NoisedQuestion, group: str, drawn: Sequence[int], rows: int) -> list[Cell]:
        """Of what was chosen by rank no interval of values follows without a law of the records: `scale` is in rows."""
        value, scale = asked.features[0].number(drawn[0]), 1 / float(asked.rates[group][0])
        return [Cell(group, "", value, math.nan, math.nan, scale)]

    def utilities(self, asked: NoisedQuestion, counts: NDArray[np.int64]) -> list[Fraction]:
        """Minus how far the wanted rank lies outside the ranks of a point's cell: a record that moves changes the
        numbers below and up to a point by at most 1 each, and so the utility."""
        upto = np.cumsum(counts)
        wanted = int(upto[-1]) * (asked.at or Fraction(1, 2))
        below = np.concatenate([[0], upto[:-1]])
        return [-max(Fraction(0), int(a) - wanted, wanted - int(b)) for a, b in zip(below, upto, strict=True)]


@final
class Outside(StatisticKind):
    """A mechanism that fugu does not draw; it cannot be asked for in words."""

    name, summed, laws, features = OUTSIDE, False, (OUTSIDE,), ()

    def plan(self, question: StatisticQuestion, reading: Schema, reference: Table, options: Options) -> Planned:
        raise UsageError(f"{question.kind} cannot be asked")


KINDS: dict[str, StatisticKind] = {
    kind.name: kind
    for kind in (
        Condition("count", False), Condition("proportion", True), Total("sum", False), Total("mean", True), Variance(),
        Tabulation("histogram", 1), Tabulation("crosstab", 2), Quantile(), Top(), Outside(),
    )
}  # fmt: skip


# What several kinds need: one record's contribution as a whole number of steps, or as a cell; numbers in their cells.


def coding(question: StatisticQuestion, schema: Schema, reference: Table, options: Options) -> Coded:
    """How one record counts. Bounds are declared by the user or in the schema, or else the reference's range; they are
    never read off private data."""
    column, bounds, step = question.columns[0], options.bounds, options.step
    known = schema.fields[column]
    if known.ordered:
        bounds = (0, len(known.values or ()) - 1) if bounds is None else bounds
        step = 1 if step is None else step
    elif not known.numeric:
        raise BadTable(f"column {column!r} holds text{why_text(known.values or ())}; a sum or mean needs numbers")
    bounds = known.bounds if bounds is None else bounds
    step = known.step if step is None and bounds is not None else step
    try:
        width = None if step is None else as_fraction(step)
    except (TypeError, ValueError):
        width = Fraction(0)
    if width is not None and width <= 0:
        raise UsageError(f"step must be a finite number above 0, got {brief(step)}")
    if bounds is None:
        if width is None:
            low, high, width = fine_range(schema, reference, column, question.kind == QUANTILE)
        else:
            low, high, width = reference_range(schema, reference, column, width)
    else:
        try:
            low, high = map(as_fraction, () if isinstance(bounds, str | Mapping) else bounds)
        except (TypeError, ValueError):
            raise UsageError(f"bounds must be two finite numbers, got {brief(bounds)}") from None
    if not low < high:
        raise UsageError(f"bounds must be increasing, got {float(low):g} and {float(high):g}")
    width = (high - low) / 100 if width is None else width
    if (high - low) / width > _MOST_STEPS:
        raise UsageError(f"the rounding step must be positive and give at most {_MOST_STEPS} steps between the bounds")
    if (steps := int((high - low) / width)) == 0:
        raise UsageError(
            f"every record counts the same: of {column!r} one value is left within its bounds at this step; give a "
            "smaller step, or wider bounds"
        )
    return Coded(column, low, width, steps)


def cells_of(question: StatisticQuestion, reading: Schema, reference: Table, bins: Bins | None) -> Placed:
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


def increasing(numbers: Sequence[float], name: str, most: int) -> tuple[float, ...]:
    """Increasing finite numbers, at least two of them; `name` and the `most` there may be go into the refusal."""
    try:
        listed = tuple(float(as_fraction(x)) for x in numbers)
    except (TypeError, ValueError):
        raise UsageError(f"{name} must be a list of finite numbers") from None
    if not 2 <= len(listed) <= most or any(not a < b for a, b in pairwise(listed)):
        raise UsageError(f"{name} must be 2 to {most} increasing numbers, the edges: 0, 50, 100")
    return tuple(np.asarray(listed).tolist())


def feature_cells(
    feature: Feature, group: str, drawn: Sequence[float], rows: int, averaged: bool, half: float, scale: float
) -> list[Cell]:
    """The noised counts of a group's cells, or the noised sum of its codes as a sum or a mean of its `rows` numbers.

    `half`: of the interval, in codes; `scale`: of the noise, in numbers."""
    if isinstance(feature, Placed):
        labels = zip(feature.labels, drawn, strict=True)
        return [Cell(group, label, float(v), float(v - half), float(v + half), scale) for label, v in labels]
    far, share = float(feature.step) * half, rows if averaged else 1
    value = feature.total(drawn[0], rows)
    return [Cell(group, "", value / share, (value - far) / share, (value + far) / share, scale / share)]


@lru_cache(maxsize=4096)
def half_width(rate: Fraction, level: float = LEVEL) -> float:
    """h with P(abs(noise) <= h) >= level, in steps."""
    return Laplace(1 / rate, grid=Fraction(1)).quantile(min(level * (1 + 1e-15), 1 - 1e-15))
