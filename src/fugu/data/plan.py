"""`EntryPlan`: which cell each entry of each sequence is taken from; a function of public columns alone.

No state is looked at here: users, times, ends and the places of rows are declared public, and decide by themselves how
many entries there are, in which order, and which cell each of them shows. What a cell means is decided elsewhere, cell
by cell. So one changed cell changes the entries that show it and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Column
from fugu.data.layout import DROP, FIRST, LAST, REFUSE, ROWS, Layout
from fugu.data.moments import Step, Times, moment_of, times_of
from fugu.errors import BadTable, UsageError

BETWEEN = -1
"""The place of an entry that no cell shows: where no interval is."""
_MOST = 20_000_000
Places = NDArray[np.int64]


@final
@dataclass(frozen=True)
class EntryPlan:
    """For each user the cells that the entries show, in order of time, and the times of these entries.

    `times`: exact; whole numbers of steps where there is a grid; None where nothing is known of them."""

    cells: dict[str, list[int]]
    times: dict[str, list[Any]] | None
    step: Step | None = None
    timed: bool = False

    def filled(self, images: list[Any], between: object) -> dict[Any, list[Any]]:
        """The sequences whose cells have these images."""
        return {
            user: [between if cell == BETWEEN else images[cell] for cell in cells] for user, cells in self.cells.items()
        }

    @property
    def most_shown(self) -> int:
        """The largest number of entries that show one cell."""
        shown = np.concatenate([np.array(cells, dtype=np.int64) for cells in self.cells.values()])
        return int(max(np.unique(shown[shown != BETWEEN], return_counts=True)[1], default=0))

    @property
    def distances(self) -> list[Any]:
        """The distances in time between neighbouring entries of one user."""
        return [b - a for at in (self.times or {}).values() for a, b in pairwise(at)]

    @property
    def span(self) -> int:
        """On a grid: the number of its points from the first to the last entry of a user, of the user with most."""
        return max((at[-1] - at[0] + 1 for at in (self.times or {}).values() if at), default=0)


def wide_plan(users: list[str], columns: int, by: str | None) -> EntryPlan:
    """One row for each user; cell i * columns + j is that of row i and the j-th column."""
    if len(set(users)) < len(users):
        raise BadTable(f"column {by!r} repeats a user, and a wide table has one row for each")
    return EntryPlan({user: list(range(i * columns, (i + 1) * columns)) for i, user in enumerate(users)}, None)


def long_plan(
    users: tuple[Places, list[str]], by: str | None, order: Column | None, layout: Layout, decimal: str
) -> EntryPlan:
    """One row for each entry: `users` are the places of users and their names, from column `by`; `order` the times."""
    codes, names = users
    if order is None:
        if layout.repeats != ROWS or layout.step is not None:
            raise UsageError(
                "give --order, the column of times; or --repeats rows, if the rows of the file are in order of time"
            )
        return EntryPlan(_split(names, codes, np.arange(len(codes))), None)
    times, step = times_of(order, decimal), layout.step
    at: list[Any] = list(times.at) if step is None else times.places(step, order.name)
    rank = {moment: i for i, moment in enumerate(sorted(set(at)))}
    places = np.array([rank[moment] for moment in at], dtype=np.int64)
    rows = np.lexsort((np.arange(len(codes)), places, codes))
    same = (np.diff(codes[rows]) == 0) & (np.diff(places[rows]) == 0)
    if same.any() and layout.repeats == REFUSE:
        finer = "" if step is None else f" in steps of {step.text}"
        where = "the file" if by is None else f"a user of column {by!r}"
        raise BadTable(
            f"column {order.name!r} repeats a time{finer} within {where}, so the order of the entries is unknown; keep "
            "one row for each time, or say which counts: --repeats first, last, or rows (all, in the order of the file)"
        )
    if layout.repeats == FIRST:
        rows = rows[np.concatenate([[True], ~same])]
    elif layout.repeats == LAST:
        rows = rows[np.concatenate([~same, [True]])]
    cells = _split(names, codes, rows)
    return EntryPlan(cells, {user: [at[row] for row in found] for user, found in cells.items()}, step, times.timed)


def secret_interval_plan(
    users: tuple[Places, list[str]],
    begins: Sequence[str | None],
    ends: Sequence[str | None],
    layout: Layout,
    decimal: str,
) -> EntryPlan:
    """The same where the times of a row are as secret as its state: each text is read by itself, and a row without two
    times covers nothing, as one that ends before it begins.

    Each user's first begin and last end, of the rows that cover anything, are public. They alone decide which entries
    there are, and what is refused: more entries than can be held, or none. No row inside them decides about either."""
    codes, names = users
    step = layout.step
    assert step is not None
    pairs = [(moment_of(a, step, decimal), moment_of(b, step, decimal)) for a, b in zip(begins, ends, strict=True)]
    whole = [(0, 0) if a is None or b is None else (a, b) for a, b in pairs]
    first, last = (Times(tuple(pair[side] for pair in whole), step.timed) for side in (0, 1))
    return _intervals(codes, names, first, last, layout, step)


def interval_plan(
    users: tuple[Places, list[str]], start: Column, end: Column, layout: Layout, decimal: str
) -> EntryPlan:
    """Intervals [start, end): an entry for every multiple of the step from a user's first start to the last end."""
    codes, names = users
    begins, ends, step = times_of(start, decimal), times_of(end, decimal), layout.step
    assert step is not None
    begins.require(step, start.name)
    ends.require(step, end.name)
    if begins.zoned != ends.zoned:
        raise BadTable(f"columns {start.name!r} and {end.name!r} must both have a time zone, or both none")
    return _intervals(codes, names, begins, ends, layout, step, (start.name, end.name))


def _intervals(
    codes: Places, names: list[str], begins: Times, ends: Times, layout: Layout, step: Step,
    columns: tuple[str, str] = ("", ""),
) -> EntryPlan:  # fmt: skip
    start, end = columns
    rows = _forward(begins, ends, layout, end)
    first, last = _ceilings(begins, step), _ceilings(ends, step)
    by_user: list[list[int]] = [[] for _ in names]
    for row in rows:
        by_user[codes[row]].append(row)
    total = sum(max(last[r] for r in own) - min(first[r] for r in own) for own in by_user if own)
    if total > _MOST:
        raise UsageError(
            f"--every {step.text} makes more than {_MOST:,} entries from the first begin to the last end of each user, "
            "which are public; give a longer step, or mend the times"
        )
    cells, times = {}, {}
    for user, own in zip(names, by_user, strict=True):
        if own:
            own.sort(key=lambda row: (begins.at[row], row))
            low, owner = _covered(own, begins, ends, first, last, layout, start)
            if len(owner):
                cells[user], times[user] = owner.tolist(), list(range(low, low + len(owner)))
    if not cells:
        raise BadTable(
            f"no user has a first begin and a last end with a multiple of --every {step.text} between them, so there "
            "are no entries; give a shorter step, or mend the times"
        )
    if layout.between is None and any(BETWEEN in found for found in cells.values()):
        raise BadTable(
            f"there are gaps between the intervals of columns {start!r} and {end!r}; say which state an "
            "entry there has: --between none"
        )
    return EntryPlan(cells, times, step, begins.timed)


def _forward(begins: Times, ends: Times, layout: Layout, end: str) -> list[int]:
    """The intervals that have a length."""
    pairs = list(zip(begins.at, ends.at, strict=True))
    if layout.backwards != DROP and any(b < a for a, b in pairs):
        raise BadTable(f"column {end!r} has intervals that end before they begin; --backwards drop leaves them out")
    return [row for row, (a, b) in enumerate(pairs) if a < b]


def _ceilings(times: Times, step: Step) -> list[int]:
    once = {moment: -(-moment // step.width) for moment in set(times.at)}
    return [int(once[moment]) for moment in times.at]


def _covered(
    own: list[int], begins: Times, ends: Times, first: list[int], last: list[int], layout: Layout, start: str
) -> tuple[int, Places]:
    """The row that covers each point of the grid, from the first start to the last end; -1 where none does."""
    low, high = first[own[0]], max(last[row] for row in own)
    found = np.full(max(high - low, 0), BETWEEN, dtype=np.int64)
    reached: Fraction | int = begins.at[own[0]]
    for row in own:
        if begins.at[row] < reached and layout.overlaps == REFUSE:
            raise BadTable(
                f"intervals of one user overlap, by columns {start!r} and {layout.end!r}; say which counts: --overlaps "
                "first or last (to begin)"
            )
        reached = max(reached, ends.at[row])
        part = found[first[row] - low : last[row] - low]
        part[part == BETWEEN if layout.overlaps == FIRST else slice(None)] = row
    return low, found


def _split(names: list[str], codes: Places, rows: Places) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {name: [] for name in names}
    for row in rows.tolist():
        found[names[codes[row]]].append(row)
    return found
