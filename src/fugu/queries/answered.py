"""`Answer`: the released numbers of one query, each with its interval, and the mechanisms that made them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fugu.fixed import Fixed
from fugu.mechanism import Additive
from fugu.mechanism.vector import VectorAdditive
from fugu.queries.statistic import Statistic
from fugu.visible import Json, brief


@dataclass(frozen=True)
class Cell:
    """One released number: its group, its value, and an interval for it that holds with 95 %."""

    group: str
    cell: str
    value: float
    low: float
    high: float
    scale: float


@dataclass(frozen=True, repr=False)
class Answer:
    """All released numbers of one query and, group by group, the mechanisms that made them.

    `statistic`: what was asked. `cells`: one `Cell` per released number, with its 95 % interval from `low` to `high`.
    `mechanisms`: {group: mechanism}, each with its certificate. `recipe`: the question in JSON types, for a release
    document; None for a predicate in code."""

    statistic: Statistic
    cells: tuple[Cell, ...]
    mechanisms: Mapping[str, Additive | VectorAdditive]
    recipe: Json | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mechanisms", Fixed(self.mechanisms))

    def __repr__(self) -> str:
        return f"Answer({brief(str(self.statistic))}, {len(self.cells)} numbers in {len(self.mechanisms)} groups)"

    def columns(self) -> dict[str, list[str] | list[float]]:
        """The numbers as columns of a table; group and cell only where there are any."""
        return columns_of(self.cells)


def columns_of(cells: tuple[Cell, ...]) -> dict[str, list[str] | list[float]]:
    """Released numbers as columns of a table; group and cell only where there are any."""
    found: dict[str, list[str] | list[float]] = {}
    for name in ("group", "cell", "value", "low", "high"):
        column = [getattr(cell, name) for cell in cells]
        if name not in ("group", "cell") or any(column):
            found[name] = column
    return found
