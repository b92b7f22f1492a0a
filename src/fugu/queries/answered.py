"""`Answer`: the released numbers of one query, each with its interval, and the mechanisms that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from fugu.data.kinds import Column, Kind, KindName
from fugu.data.sources import FrameLike
from fugu.drawing.figure import Figure
from fugu.drawing.plots import intervals
from fugu.drawing.sheet import Sheet
from fugu.drawing.shown import Shown
from fugu.errors import UsageError
from fugu.fixed import Fixed
from fugu.guarantee.promises import UNCHARGED
from fugu.mechanism import Additive
from fugu.mechanism.vector import VectorAdditive
from fugu.queries.cell import Cell
from fugu.queries.consistent import Axes, Margins, consistent
from fugu.queries.statistic import Statistic
from fugu.visible import Json, brief, several


@dataclass(frozen=True, repr=False)
class Answer(Shown):
    """All released numbers of one query and, group by group, the mechanisms that made them.

    `statistic`: what was asked. `cells`: one `Cell` per released number, with its 95 % interval from `low` to `high`.
    `mechanisms`: {group: mechanism}, each with its certificate. `recipe`: the question in JSON types, for a release
    document; None for a predicate in code. `came`: of which kind the table was. `note`: what else is to be said,
    such as that no ledger was charged."""

    statistic: Statistic
    cells: tuple[Cell, ...]
    mechanisms: Mapping[str, Additive | VectorAdditive]
    recipe: Json | None = None
    came: Kind = field(default=Kind(), compare=False)
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

    def plot(self) -> Figure:
        """Every released number in the interval that holds the exact one with 95 %: a figure for notebooks."""
        named = [", ".join(filter(None, (cell.group, cell.cell))) or str(self.statistic) for cell in self.cells]
        ends = [(cell.low, cell.high) for cell in self.cells]
        title = f"{self.statistic}: published values, each with an interval for the exact one"
        return intervals(title, str(self.statistic), named, [cell.value for cell in self.cells], ends)

    def _sheet(self) -> Sheet:
        columns = self.columns()
        budgets = dict.fromkeys(mechanism.certificate.promises for mechanism in self.mechanisms.values())
        facts = [("asked", str(self.statistic)), ("promised", ", ".join(budgets))]
        said = dict.fromkeys(text for m in self.mechanisms.values() for text in m.certificate.warnings)
        notes = ["low and high: the exact number lies between them with 95 %", *filter(None, [self.note])]
        return Sheet("Answer", facts, tuple(columns), list(zip(*columns.values(), strict=True)), notes, tuple(said))

    def to_frame(self, kind: KindName | None = None) -> FrameLike | dict[str, Column]:
        """The numbers as a frame, one row each: group and cell where there are any, value, low and high.

        `kind`: "pandas", "polars", "pyarrow", "duckdb", "dict" (of columns), ...; None for the kind of the table that
        was asked, or, if that was a file, the first of pandas, polars and pyarrow that is installed."""
        found: FrameLike | dict[str, Column] = self.came.frame(self.columns(), kind)
        return found


def columns_of(cells: tuple[Cell, ...]) -> dict[str, list[str] | list[float]]:
    """Released numbers as columns of a table; group and cell only where there are any."""
    found: dict[str, list[str] | list[float]] = {}
    for name in ("group", "cell", "value", "low", "high"):
        column = [getattr(cell, name) for cell in cells]
        if name not in ("group", "cell") or any(column):
            found[name] = column
    return found
