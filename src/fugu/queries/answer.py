"""`Answer`: the released numbers of one query, each a `Cell` with its interval, made to fit together; their draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from fugu.data import Schema, Table
from fugu.data.frame import FrameKind, FrameLike, KindName, PublishedColumn
from fugu.errors import UnknownName, UsageError
from fugu.fixed import Fixed
from fugu.guarantee.composition import UNCHARGED
from fugu.mechanism import Mechanism
from fugu.noise.bits import OS, BitSource
from fugu.noise.laplace import laplace_sampler
from fugu.noise.selection import draw_one, permute_and_flip
from fugu.numbers.checks import is_count
from fugu.queries.features import Codes
from fugu.queries.kinds import FLIP, Cell
from fugu.queries.noised_question import NoisedQuestion
from fugu.queries.statistic import StatisticQuestion
from fugu.shown import Shown
from fugu.visible import Json, brief, several


@dataclass(frozen=True, repr=False)
class Answer(Shown):
    """All released numbers of one query and, group by group, the mechanisms that made them.

    `statistic`: what was asked. `cells`: one `Cell` per released number, with its 95 % interval from `low` to `high`.
    `mechanisms`: {group: mechanism}, each with its certificate. `recipe`: the question in JSON types, for a release
    document; None for a predicate in code. `came`: of which kind the table was. `note`: what else is to be said,
    such as that no ledger was charged."""

    statistic: StatisticQuestion
    cells: tuple[Cell, ...]
    mechanisms: Mapping[str, Mechanism]
    recipe: Json | None = None
    came: FrameKind = field(default=FrameKind(), compare=False)
    axes: Axes = ()
    """Of a table of counts: each column with the labels of its cells, the last one varying fastest."""
    note: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanisms", Fixed(self.mechanisms))

    def __repr__(self) -> str:
        numbers, groups = several(len(self.cells), "number"), several(len(self.mechanisms), "group")
        books = ", no ledger" if UNCHARGED in self.note else ""
        return f"Answer({brief(str(self.statistic))}, {numbers} in {groups}{books})"

    def consistent(self, *, total: bool = True, nonnegative: bool = True, margins: Margins | None = None) -> Answer:
        """The nearest counts that fit together; free post-processing of what was published.

        - `total`: True for counts that add up to the number of records of each group, which is public.
        - `nonnegative`: True for counts of at least 0.
        - `margins`: of a cross-tabulation, {column: {label: count}} if the counts of one column are public anyway.

        Returns an `Answer` with the same certificates. Its counts need not be whole; together they are never farther
        from the truth than before, in the sum of squares, though one of them may be. Intervals are those of the noised
        counts, cut to what is possible and widened to hold the new value: each still holds with 95 %. Raises
        `UsageError` for what is no table of counts, and for margins that do not fit it.

        >>> import fugu
        >>> clinic = {"sex": ["F", "M"] * 20, "ward": ["a", "b", "b", "b"] * 10}
        >>> earlier = {**clinic, "sex": ["F", "M", "M", "F"] * 10}
        >>> found = fugu.answer(clinic, "histogram(ward)", "sex", fugu.Pure(1), earlier, public_prior=True)
        >>> fitting = found.consistent()
        >>> round(sum(cell.value for cell in fitting.cells), 9), min(cell.value for cell in fitting.cells) >= 0
        (40.0, True)
        """
        if not self.axes:
            raise UsageError(f"{self.statistic} is no table of counts: its numbers need not add up to anything")
        stated = {group: found.certificate.body["statistic"] for group, found in self.mechanisms.items()}
        sizes = {group: int(about["rows"]) for group, about in stated.items()}
        return replace(self, cells=consistent(self.cells, self.axes, sizes, total, nonnegative, margins))

    def columns(self) -> dict[str, list[str] | list[float]]:
        """The numbers as columns of a table; group and cell only where there are any."""
        return columns_of(self.cells)

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """The numbers as a frame, one row each: group and cell where there are any, value, low and high.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was asked, or, if that was a file, the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, PublishedColumn] = self.came.frame(self.columns(), kind)
        return found


def columns_of(cells: tuple[Cell, ...]) -> dict[str, list[str] | list[float]]:
    """Released numbers as columns of a table; group and cell only where there are any."""
    found: dict[str, list[str] | list[float]] = {}
    for name in ("group", "cell", "value", "low", "high"):
        column = [getattr(cell, name) for cell in cells]
        if name not in ("group", "cell") or any(column):
            found[name] = column
    return found


# Counts that fit together: the nearest ones that are not negative and have the totals that are public anyway.
#
# A function of what was published and of public numbers alone, so that it costs nothing. The nearest point of a convex
# set that holds the true counts is nearer to them than the noised counts were (in the sum of squares), whatever the
# noise: the projection onto a convex set brings no two points farther apart.


Margins = Mapping[str, Mapping[str, int]]
Axes = tuple[tuple[str, tuple[str, ...]], ...]
"""Each column of a table of counts with the labels of its cells, the last one varying fastest."""


def consistent(
    cells: Sequence[Cell],
    axes: Axes,
    sizes: Mapping[str, int],
    total: bool,
    nonnegative: bool,
    margins: Margins | None,
) -> tuple[Cell, ...]:
    """The cells of each group, in order, as near as can be to what was released: see `Answer.consistent`."""
    if margins and len(sizes) > 1:
        raise UsageError("margins are for a table without groups; the sizes of groups are public and taken anyway")
    parts = _blocks(axes, margins or {}, next(iter(sizes.values())))
    found = list(cells)
    each = len(cells) // len(sizes)
    for n, size in enumerate(sizes.values()):
        for places, wanted in parts:
            own = [n * each + place for place in places]
            asked = wanted if wanted is not None else size if total else None
            moved = nearest([Fraction(found[k].value) for k in own], asked, nonnegative)
            for k, value in zip(own, moved, strict=True):
                found[k] = _placed(found[k], float(value), size if asked is None else asked, nonnegative)
    return tuple(found)


def nearest(values: Sequence[Fraction], total: int | None, nonnegative: bool) -> list[Fraction]:
    """The point of least squared distance that adds up to `total` (if there is one) and has no negative coordinate (if
    that is asked for), exactly.

    With both: max(v - t, 0), t such that they add up (Held, Wolfe, Crowder 1974): the coordinates that stay are the
    largest ones, as many as keep v - t positive.

    >>> [str(x) for x in nearest([Fraction(5), Fraction(-2), Fraction(1)], 5, True)]
    ['9/2', '0', '1/2']
    """
    if total is None:
        return [max(v, Fraction(0)) for v in values] if nonnegative else list(values)
    if not nonnegative:
        by = (sum(values, Fraction(0)) - total) / len(values)
        return [v - by for v in values]
    running, by = Fraction(0), Fraction(0)
    for count, v in enumerate(sorted(values, reverse=True), start=1):
        running += v
        found = (running - total) / count
        if v - found <= 0 and count > 1:
            break
        by = found
    return [max(v - by, Fraction(0)) for v in values]


def _blocks(axes: Axes, margins: Margins, size: int) -> list[tuple[list[int], int | None]]:
    """The cells that add up to one public number, and that number; None: the size of the group."""
    places = np.arange(int(np.prod([len(labels) for _, labels in axes])))
    if not margins:
        return [(places.tolist(), None)]
    if len(margins) > 1:
        raise UsageError("give the margins of one column; the nearest table with two margins is not worked out")
    ((column, stated),) = margins.items()
    columns = [name for name, _ in axes]
    if column not in columns:
        raise UnknownName("column of the table", column, columns)
    axis = columns.index(column)
    labels = axes[axis][1]
    if set(stated) != set(labels) or not all(is_count(n) or n == 0 for n in stated.values()):
        raise UsageError(f"the margins of column {column!r} must name every cell of it, each with a whole number >= 0")
    if sum(stated.values()) != size:
        raise UsageError(f"the margins of column {column!r} do not add up to the number of rows, {size}")
    shape = tuple(len(found) for _, found in axes)
    along = np.moveaxis(places.reshape(shape), axis, 0)
    return [(along[k].reshape(-1).tolist(), stated[label]) for k, label in enumerate(labels)]


def _placed(cell: Cell, value: float, most: int, nonnegative: bool) -> Cell:
    """The interval of the noised count, cut to what is possible and widened to hold the value: as sure as before."""
    low, high = (max(cell.low, 0.0), min(cell.high, float(most))) if nonnegative else (cell.low, cell.high)
    return replace(cell, value=value, low=min(low, value), high=max(high, value))


# Drawing the answer of a question: exact numbers of the private table, noise from fair bits, and what comes out of it.
#
# The numbers before noise live in `draw` alone. What it returns is noised, and `cells_of` shows it without looking at
# the table again.


_OFTEN = 200
"""Fewer draws of one rate than this are drawn without tables, if there are many rates."""


def draw(
    noised: NoisedQuestion, reading: Schema, table: Table, group: Codes, names: Sequence[str], source: BitSource = OS
) -> list[list[int]]:
    """The noised numbers of each group, in the order of `names`: sums, counts of cells, or the place that was chosen.

    `noised`: the question with its noise. `reading`, `table`: the private table, read. `group`: each row's place in
    `names`; a row counts in its own group alone. `source`: where bits come from."""
    codes = [feature.of(reading, table) for feature in noised.features]
    rates = [noised.rates[name] for name in names]
    if noised.facts.summed:
        totals = np.zeros((len(codes), len(names)), dtype=np.int64)
        for total, own in zip(totals, codes, strict=True):
            np.add.at(total, group, own)
        drawn = [_noise([found[k] for found in rates], 1, source)[:, 0] for k in range(len(codes))]
        return [[int(t[g]) + int(d[g]) for t, d in zip(totals, drawn, strict=True)] for g in range(len(names))]
    size = noised.features[0].top + 1
    counts = np.bincount(group * size + codes[0], minlength=len(names) * size).reshape(len(names), size)
    if noised.law == FLIP:
        found = zip(counts, rates, strict=True)
        return [[permute_and_flip(noised.facts.utilities(noised, row), rate[0], source)] for row, rate in found]
    noised_counts: list[list[int]] = (counts + _noise([found[0] for found in rates], size, source)).tolist()
    return noised_counts


def _noise(rates: Sequence[Fraction], size: int, source: BitSource) -> Codes:
    """`size` draws of each rate. A rate that is drawn often, or one of few, is worth a table."""
    found = np.zeros((len(rates), size), dtype=np.int64)
    rows: dict[Fraction, list[int]] = {}
    for k, rate in enumerate(rates):
        rows.setdefault(rate, []).append(k)
    for rate, places in rows.items():
        draws = len(places) * size
        if draws >= _OFTEN or len(rows) <= 4:
            found[places] = laplace_sampler(rate).draw(draws, source).reshape(len(places), size)
        else:
            found[places] = np.reshape([draw_one(rate, source) for _ in range(draws)], (len(places), size))
    return found


def cells_of(noised: NoisedQuestion, drawn: Mapping[str, Sequence[int]], rows: Mapping[str, int]) -> tuple[Cell, ...]:
    """The released numbers with their intervals; post-processing of what was drawn, and of public sizes."""
    kind = noised.facts
    return tuple(cell for group, numbers in drawn.items() for cell in kind.cells(noised, group, numbers, rows[group]))
