"""`Answer`, `SessionAnswer`: the released numbers of one question, each a `Cell` with its interval; their draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any, Protocol, final

import numpy as np

from fugu.data import Schema, Table
from fugu.data.cells import added
from fugu.data.field import Field
from fugu.data.frame import FrameKind, FrameLike, KindName, PublishedColumn
from fugu.data.private import Private
from fugu.documents.promises import weakest
from fugu.errors import UnknownName, UsageError
from fugu.fixed import Fixed
from fugu.guarantee import Pure
from fugu.guarantee.composition import UNCHARGED, both, quote
from fugu.mechanism import Mechanism
from fugu.noise.bits import OS, BitSource
from fugu.noise.lattice import MAX_INDEX
from fugu.numbers.checks import is_count
from fugu.numbers.text import SECRET
from fugu.queries.features import Codes, Feature
from fugu.queries.groups import Grouping
from fugu.queries.kinds import Cell, StatisticKind
from fugu.queries.statistic import EXACT, StatisticQuestion
from fugu.shown import Shown
from fugu.utility.usable import Usable
from fugu.visible import Json, brief, finite, several

COLUMNS = ("query", "group", "cell", "value", "low", "high")
"""What a file of several answers has of each number."""


class ReleasedNumbers(Shown):
    """What every answer is: cells, and the kind of the table that they came from."""

    cells: tuple[Cell, ...]
    came: FrameKind
    note: str

    def to_json(self) -> Json:
        """The numbers in JSON types; what is not known is null."""
        return {"cells": [finite(asdict(cell)) for cell in self.cells], "note": self.note}

    def columns(self) -> dict[str, list[str] | list[float]]:
        """The numbers as columns of a table; group and cell only where there are any."""
        return columns_of(self.cells)

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, PublishedColumn]:
        """The numbers as a frame, one row each: group and cell where there are any, value, low and high.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was asked, or, if that was a file, the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, PublishedColumn] = self.came.frame(self.columns(), kind)
        return found


@dataclass(frozen=True, repr=False)
class Answer(ReleasedNumbers):
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

    def to_json(self) -> Json:
        """The answer in JSON types, with the weakest promise of its groups; what is not known is null."""
        proofs = {group: mechanism.certificate for group, mechanism in self.mechanisms.items()}
        held = weakest(proofs.values())
        return {
            "query": str(self.statistic), **super().to_json(), "promise": "" if held is None else held.promises,
            "quote": list(self.quoted),
            "certificates": {group: certificate["digest"] for group, certificate in proofs.items()},
        }  # fmt: skip

    @property
    def quoted(self) -> tuple[str, ...]:
        """The two lines to quote: both promises, each as a change of odds; of several groups, the weakest."""
        held = weakest(mechanism.certificate for mechanism in self.mechanisms.values())
        return () if held is None else held.quoted()

    def consistent(self, *, total: bool = True, nonnegative: bool = True, margins: Margins | None = None) -> Answer:
        """The nearest counts that fit together; free post-processing of what was published.

        - `total`: True for counts that add up to the number of records of each group, which is public.
        - `nonnegative`: True for counts of at least 0.
        - `margins`: of a cross-tabulation, {column: {label: count}} if the counts of one column are public anyway.

        Returns an `Answer` with the same certificates. Its counts need not be whole; together they are never farther
        from the truth than before, in the sum of squares, though one of them may be. Intervals are those of the noised
        counts, cut to what is possible and widened to hold the new value: each still holds with 95 %. Raises
        `UsageError` for what is not a table of counts, and for margins that do not fit it.

        >>> import fugu
        >>> clinic = {"sex": ["F", "M"] * 20, "ward": ["a", "b", "b", "b"] * 10}
        >>> earlier = {**clinic, "sex": ["F", "M", "M", "F"] * 10}
        >>> found = fugu.answer(clinic, "histogram(ward)", "sex", fugu.Pure(1), earlier, public_prior=True)
        >>> fitting = found.consistent()
        >>> round(sum(cell.value for cell in fitting.cells), 9), min(cell.value for cell in fitting.cells) >= 0
        (40.0, True)
        """
        if not self.axes:
            raise UsageError(f"{self.statistic} is not a table of counts: its numbers need not add up to anything")
        stated = {group: found.certificate.body["statistic"] for group, found in self.mechanisms.items()}
        sizes = {group: int(about["rows"]) for group, about in stated.items()}
        return replace(self, cells=consistent(self.cells, self.axes, sizes, total, nonnegative, margins))


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


# The one place where rows meet noise. What records contribute adds up (`contributed`), so it is counted where they are;
# the numbers before noise live from `counted` to `draw`, which alone sees them. What it returns is noised, and
# `cells_of` shows it without looking at the table again.


class PricedQuestion(Protocol):
    """A question with its noise, whatever the price that has fixed it: charges on records, or the law of its total."""

    @property
    def features(self) -> Sequence[Feature]:
        """What is summed or counted."""

    @property
    def facts(self) -> StatisticKind:
        """The facts of its kind."""

    def blurred(self, numbers: Codes, names: Sequence[str], source: BitSource) -> list[list[Any]]:
        """The numbers of each group, noised: sums, counts of cells, or the place that was chosen."""

    def cells(self, group: str, drawn: Sequence[Any], rows: int) -> list[Cell]:
        """What goes out of a group."""


def draw(asked: PricedQuestion, numbers: Codes, names: Sequence[str], source: BitSource = OS) -> list[list[Any]]:
    """The noised numbers of each group, in the order of `names`: sums, counts of cells, or the place that was chosen.

    `asked`: the question with its noise. `numbers`: those before noise, a row for each group. `source`: where bits come
    from."""
    return asked.blurred(numbers, names, source)


def totals(asked: PricedQuestion, reading: Schema, table: Table, group: Codes, groups: int) -> Codes:
    """The numbers before noise of so many groups; `reading`, `table`: records, read; `group`: that of each."""
    features, summed = tuple(asked.features), asked.facts.summed
    numbers = np.zeros((groups, _width(features, summed)), dtype=np.int64)
    places, sums = contributed(features, summed, reading, table, group, groups, table.counts)
    numbers.reshape(-1)[places] = sums
    return numbers


def _width(features: Sequence[Feature], summed: bool) -> int:
    """How many numbers there are: one for each feature, or for each value of the one that is counted."""
    return len(features) if summed else features[0].top + 1


def contributed(
    features: Sequence[Feature], summed: bool, reading: Schema, table: Table, group: Codes, groups: int, counts: Codes
) -> tuple[Codes, list[int]]:
    """The numbers before noise, and where each stands: at group * width + number. They add up over records, each of
    which counts in its own group: by the values of its features, or by 1 at the value of its feature.

    `reading`, `table`: rows, read; `group`: that of each row, one of so many `groups`; `counts`: how many records each
    stands for."""
    codes, width = [feature.of(reading, table) for feature in features], _width(features, summed)
    if not summed:
        return added(group * width + codes[0], counts, groups * width)
    if float(counts.sum()) * max(feature.top for feature in features) >= _WHOLE:
        counts = counts.astype(object)
    found = [added(group * width + k, own * counts, groups * width) for k, own in enumerate(codes)]
    return np.concatenate([places for places, _ in found]), [n for _, sums in found for n in sums]


_WHOLE = 2.0**62
"""Sums from here on are those of Python's whole numbers."""


@final
@dataclass(frozen=True)
class Contributions:
    """What records contribute to a question, as a tally: {(cell of the group, number): sum}.

    `features`, `summed`: what is summed or counted; `by`: the column of the group, None for one of all; `known`: how
    its cells are read."""

    features: tuple[Feature, ...]
    summed: bool
    by: str | None
    known: Field | None

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the features, and of the group."""
        return (*chain.from_iterable(f.columns for f in self.features), *(() if self.by is None else (self.by,)))

    def __call__(self, private: Private) -> Counter[tuple[Any, int]]:
        counts, width = private.whole.counts, _width(self.features, self.summed)
        whole: tuple[Codes, list[Any]] = np.zeros(len(counts), dtype=np.int64), [None]
        group, cells = whole if self.by is None else private.cells(self.by, self.known)
        asked = self.features, self.summed, private.schema, private.table, group, len(cells), counts
        places, sums = contributed(*asked)
        return Counter({(cells[at // width], at % width): n for at, n in zip(places.tolist(), sums, strict=True)})


def counted(asked: PricedQuestion, private: Private, grouping: Grouping) -> Codes:
    """The numbers before noise of each group, of an open table: they are for `draw`, and nothing else looks at them."""
    assert grouping.at is not None  # the private table was looked at
    if len(private) * max(feature.top for feature in asked.features) > MAX_INDEX // 2:  # both are public
        raise UsageError("sums of so many rows may be beyond the numbers that noise is added to; give a wider step")
    tally = Contributions(tuple(asked.features), asked.facts.summed, grouping.by, grouping.field)
    numbers = np.zeros((len(grouping.names), _width(asked.features, asked.facts.summed)), dtype=np.int64)
    place = {name: k for k, name in enumerate(grouping.names)}
    for (cell, number), found in private.tally(tally).items():
        numbers[place[grouping.at[cell]], number] += found
    return numbers


def answered(asked: PricedQuestion, numbers: Codes, names: Sequence[str]) -> dict[str, list[Any]]:
    """What is drawn for a question that is charged, group by group, once: of the numbers that were `counted`."""
    return dict(zip(names, draw(asked, numbers, names), strict=True))


def cells_of(asked: PricedQuestion, drawn: Mapping[str, Sequence[Any]], rows: Mapping[str, int]) -> tuple[Cell, ...]:
    """The released numbers with their intervals; post-processing of what was drawn, and of public sizes."""
    return tuple(cell for group, numbers in drawn.items() for cell in asked.cells(group, numbers, rows[group]))


@final
@dataclass(frozen=True, repr=False)
class SessionAnswer(ReleasedNumbers):
    """All released numbers of one question.

    `question`: what was asked. `cells`: one `Cell` per number, with its 95 % interval from `low` to `high`, which
    of a quantile is for tables like the reference, and NaN where that lacks the column; it is NaN of the top cell,
    whose count is not released. `cost`: how much the question has raised what the session has spent. `own`: its own
    epsilon for each record, the largest of all groups: what it costs against anybody. `spent`, `remaining`: of the
    session, after it. `anybody`: what all answers so far promise against anybody, of `cap`. `exact`: the
    probability that a number went out without noise; above one half it is called exact. `note`: what else is to be
    said. `usable`: figures and a verdict beside what the reference says, never worked out on the private table.
    `came`: of which kind the table was. `secret`: what is secret, in words."""

    question: StatisticQuestion
    cells: tuple[Cell, ...]
    cost: Pure
    own: Fraction
    spent: Pure
    remaining: Pure
    anybody: Pure
    cap: Pure
    exact: float
    note: str = ""
    usable: Usable = field(default=Usable((), "", why="numbers of rows are public, and exact"), compare=False)
    came: FrameKind = field(default=FrameKind(), compare=False)
    secret: str = field(default=SECRET, compare=False)

    @property
    def public(self) -> bool:
        """Whether its numbers are exact because whoever asked has declared them to be known: numbers of rows."""
        return self.question.sized

    @property
    def promises(self) -> str:
        """Both promises of all answers so far, in one sentence."""
        return both(self.spent, self.anybody)

    @property
    def quoted(self) -> tuple[str, ...]:
        """The same as the lines to quote."""
        return quote(self.spent, self.anybody, about=self.secret)

    @property
    def value(self) -> float:
        """The one number of the answer; `UsageError` if there are several."""
        if len(self.cells) != 1:
            raise UsageError(f"the answer has {several(len(self.cells), 'number')}; look at its cells")
        return self.cells[0].value

    def to_json(self) -> Json:
        """The answer in JSON types; what is not known is null."""
        amounts = {
            name: float(getattr(self, name).epsilon) for name in ("cost", "spent", "remaining", "anybody", "cap")
        }
        return {
            "query": str(self.question), **super().to_json(), **amounts, "own": float(self.own), "exact": self.exact,
            "public": self.public, "promise": self.promises, "quote": list(self.quoted),
            "usable": self.usable.to_json(),
        }  # fmt: skip

    def __repr__(self) -> str:
        count, called = len(self.cells), ", public" if self.public else ", exact" if self.exact > EXACT else ""
        numbers = f"{count} number{'' if count == 1 else 's'}{called}"
        books = ", no ledger" if UNCHARGED in self.note else ""
        return f"SessionAnswer({brief(str(self.question))}, {numbers}, {self.promises} with all before{books})"

    def __str__(self) -> str:
        shown = ", ".join(f"{cell.group} {cell.cell} {cell.value:g}".strip() for cell in self.cells[:_SHOWN])
        return "\n".join((*self.quoted, f"{self.question}: {shown}{', ...' if len(self.cells) > _SHOWN else ''}"))


_SHOWN = 8
