"""`Layout`: how the rows of a table become the entries of sequences, said before the private table is opened;
`EntryPlan`: which cell each entry is taken from.

Everything in it is public, and so is everything that it acts on: users, times, ends, the places of rows in the file,
the names of columns. The states are private. No state decides which entries there are, in which order, or how another
one is read.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data.cells import number_text
from fugu.data.column import Column
from fugu.data.moments import Times, TimeStep, moment_of, read_cuts, times_of
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError
from fugu.numbers.checks import is_texts
from fugu.visible import Json

REFUSE, FIRST, LAST, ROWS, DROP = "refuse", "first", "last", "rows", "drop"
SAID, MODELLED = "said", "modelled"
PUBLIC, SECRET = "public", "secret"
_WORDS = {
    "repeats": (REFUSE, FIRST, LAST, ROWS),
    "overlaps": (REFUSE, FIRST, LAST),
    "backwards": (REFUSE, DROP),
    "gaps": (SAID, MODELLED),
    "inside": (PUBLIC, SECRET),
}
_PATTERN = re.compile(r"[*?\[]")


@final
@dataclass(frozen=True)
class Layout:
    """What a table of sequences looks like. Without arguments: one row for each user and time, times never repeated.

    Parameters:

    - `repeats`: rows of one user at one time: "refuse"; keep the "first" or the "last" of them; "rows" keeps all, in
      the order of the file. Where there is no column of times, "rows" says that the file is in order.
    - `columns`: wide tables, one column for each time and one row for each user. Names, a range "Jul.93:Jun.99" in the
      order of the file, patterns with * and ?, or a list of these.
    - `end`: intervals: the column where they end; they begin at the time. An entry is the state at each multiple of
      `every` in [begin, end).
    - `every`: the step of a regular grid: "1h", "30min", "1d", or a number where times are numbers. Times are rounded
      down to it.
    - `between`: intervals: the state where none covers a multiple of the step; None refuses such gaps.
    - `overlaps`: intervals of one user that share a moment: "refuse", or the one that begins "first" or "last" counts.
    - `backwards`: intervals that end before they begin: "refuse" or "drop".
    - `bins`: cut points that make states of numbers: 200, 400 gives "<200", "200..400", ">=400"; or "LOW:HIGH:STEP",
      bins of one width of which the first and the last reach on for ever.
    - `gaps`: missing steps between entries are "said", or "modelled": by powers of the chain.
    - `inside`: intervals: whether it is "public" when states change inside a user's record, or as "secret" as the
      states are. Only the second can be released: whoever knows the ends of an interval knows that all its entries are
      equal, and no chain says so.

    Raises `UsageError` and `UnknownName` for other arguments.

    >>> Layout(columns="m1:m3").resolved(("id", "m1", "m2", "m3", "sex")).columns
    ('m1', 'm2', 'm3')
    >>> Layout(bins="0:600:200").labels
    ('<200', '200..400', '>=400')
    """

    repeats: str = REFUSE
    columns: str | Sequence[str] = ()
    end: str | None = None
    every: str | None = None
    between: str | None = None
    overlaps: str = REFUSE
    backwards: str = REFUSE
    bins: str | Sequence[float] = ()
    gaps: str = SAID
    inside: str = PUBLIC
    wide: bool = field(init=False, repr=False, compare=False)
    """Whether each time is a column."""
    step: TimeStep | None = field(init=False, repr=False, compare=False)
    """The step of the grid, if there is one."""
    cuts: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """The cut points of numbers; none if states are not binned."""

    def __post_init__(self) -> None:
        for name, known in _WORDS.items():
            if (word := getattr(self, name)) not in known:
                raise UnknownName(f"way to treat {name} called", word, known)
        for name in ("end", "between"):
            if (text := getattr(self, name)) is not None and (not isinstance(text, str) or not text.strip()):
                raise UsageError(f"{name} must be a text that is not empty")
        columns, cuts = _listed(self.columns), read_cuts(self.bins)
        step = None if self.every is None else TimeStep.read(self.every)
        every = None if step is None else step.text
        vars(self).update(columns=columns, bins=cuts, every=every, wide=bool(columns), step=step, cuts=cuts)
        if self.wide and (self.end is not None or self.every is not None or self.repeats != REFUSE):
            raise UsageError("columns= has one row for each user: leave out end, every and repeats")
        if self.end is None and (self.between is not None or self.overlaps != REFUSE or self.backwards != REFUSE):
            raise UsageError("between, overlaps and backwards are for intervals: give end=, the column where they end")
        if self.end is not None and (self.every is None or self.repeats != REFUSE):
            raise UsageError("intervals are expanded to a step: give every= such as '1h' with end=, and no repeats")
        if self.inside == SECRET and self.end is None:
            raise UsageError("inside= is about intervals: give end=, the column where they end")
        if self.inside == SECRET and (self.between is None or REFUSE in (self.overlaps, self.backwards)):
            raise UsageError(
                "where the times of intervals are secret, none of them may decide about a refusal: say what happens in "
                "every case (between, overlaps first or last, backwards drop)"
            )
        if self.gaps == MODELLED and self.every is None:
            raise UsageError("gaps are modelled on a regular grid: give its step, every= such as '1h'")
        if self.gaps == MODELLED and self.repeats == ROWS:
            raise UsageError(
                "gaps are modelled between different steps, and the chain says nothing of several entries at one step: "
                "keep the first or the last row of each (repeats), or leave out gaps='modelled'"
            )
        if self.gaps == MODELLED and self.end is not None:
            raise UsageError("intervals leave no gap on their grid: leave out gaps='modelled'")

    @property
    def plain(self) -> bool:
        """Whether nothing is said: one row for each user and time."""
        return self == PLAIN

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the bins (-inf, c1), [c1, c2), ..., [cm, inf), from low to high; none without cut points."""
        texts = [number_text(cut) for cut in self.cuts]
        return (f"<{texts[0]}", *(f"{a}..{b}" for a, b in pairwise(texts)), f">={texts[-1]}") if texts else ()

    def bin(self, number: float) -> str:
        """The name of the bin of a number that is not NaN; a cut point belongs to the bin above it.

        >>> [Layout(bins="0,10").bin(x) for x in (float("-inf"), -1.0, 0.0, 9.5, 10.0, float("inf"))]
        ['<0', '<0', '0..10', '0..10', '>=10', '>=10']
        """
        return self.labels[bisect_right(self.cuts, number)]

    def sentences(self) -> tuple[str, ...]:
        """What a certificate says of the layout: what is public for it, and what the secret is."""
        said = []
        if self.repeats in (FIRST, LAST):
            said.append(
                f"Of a user's rows at one time the {self.repeats} in the file counts; the order of the rows is public."
            )
        elif self.repeats == ROWS:
            said.append("Rows that no time puts in order stand as in the file; the order of the rows is public.")
        if self.wide:
            said.append(f"Each row is one user, and each of {len(self.columns)} columns one entry, equally far apart.")
        if self.end is not None:
            said.append(
                f"An entry is the state at each multiple of {self.every} from a user's first begin to the last end, "
                "which are public. When states change in between is as secret as the states are, and adversaries do "
                "not know it: whoever does knows that all entries of an interval are equal, and is not covered."
            )
        elif self.every is not None:
            said.append(f"Times are rounded down to multiples of {self.every}.")
        if self.cuts:
            said.append(f"Numbers count as one of {len(self.cuts) + 1} bins, whose cut points are public.")
        return tuple(said)

    def resolved(self, names: Sequence[str]) -> Layout:
        """With the columns of a wide table by name, from the header of a public table."""
        found: list[str] = []
        for said in self.columns:
            found += _named(said, names)
        repeated = sorted({name for name in found if found.count(name) > 1})
        if repeated:
            raise UsageError(f"--columns names a column twice: {', '.join(map(repr, repeated[:3]))}")
        if self.wide and len(found) < 2:
            raise UsageError("--columns must name at least two columns: each is a time, and a sequence has several")
        return replace(self, columns=tuple(found))

    def merged(self, other: Layout) -> Layout:
        """What both say together; `UsageError` where they say different things."""
        said = {**self._said()}
        for name, value in other._said().items():
            if said.setdefault(name, value) != value:
                raise UsageError(f"--{name} says one thing, and [sequence] of the schema file another: leave out one")
        return Layout(**said)

    def require(self, states: Iterable[object]) -> None:
        """`UsageError` unless these states can come of it: with bins, only theirs."""
        if self.cuts and not set(states) <= {*self.labels, self.between}:
            raise UsageError("there are states that are not among the bins")

    def agrees(self, found: Layout) -> bool:
        """Whether `found`, with columns by name, is this layout on some table."""
        try:
            return self.resolved(found.columns if self.wide else ()) == found
        except UsageError:
            return False

    def to_json(self) -> Json:
        """What was said, in JSON types."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in self._said().items()}

    @staticmethod
    def from_json(said: object) -> Layout:
        """The layout that `to_json` wrote, or that a [sequence] part says."""
        known = tuple(part.name for part in fields(Layout) if part.init)
        if not isinstance(said, Mapping):
            raise UsageError("[sequence] must be a section with keys")
        for name in said:
            if name not in known:
                raise UnknownName("key in [sequence] called", name, known)
        return Layout(**{**said, **({"every": str(said["every"])} if "every" in said else {})})

    def _said(self) -> dict[str, Any]:
        return {p.name: v for p in fields(self) if p.init and (v := getattr(self, p.name)) != p.default}


def _listed(said: object) -> tuple[str, ...]:
    """A text with commas, or a list of texts."""
    if isinstance(said, str):
        said = [part.strip() for part in said.split(",")] if said.strip() else []
    if not is_texts(said) or not all(isinstance(part, str) and part for part in said):
        raise UsageError('columns must be names, "first:last" or a pattern such as "m*"')
    return tuple(said)


def _named(said: str, names: Iterable[str]) -> list[str]:
    """The columns that a name, a range or a pattern stands for; a column of that very name comes first."""
    listed = list(names)
    if said in listed:
        return [said]
    for colon in (i for i, letter in enumerate(said) if letter == ":"):
        first, last = said[:colon].strip(), said[colon + 1 :].strip()
        if first in listed and last in listed:
            if listed.index(first) > listed.index(last):
                raise UsageError(f"--columns: column {first!r} stands after {last!r} in the file; give first:last")
            return listed[listed.index(first) : listed.index(last) + 1]
    if _PATTERN.search(said):
        found = [name for name in listed if fnmatchcase(name, said)]
        if found:
            return found
        raise UsageError(f"--columns: no column is like {said!r}")
    raise ColumnNotFound(said, tuple(listed))


PLAIN = Layout()
"""One row for each user and time."""


# A plan looks at no state: users, times, ends and the places of rows are declared public, and decide by themselves
# how many entries there are, in which order, and which cell each of them shows. What a cell means is decided elsewhere,
# cell by cell. So one changed cell changes the entries that show it and nothing else.

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
    step: TimeStep | None = None
    timed: bool = False

    def filled(self, images: list[Any], between: object) -> dict[Any, list[Any]]:
        """The sequences whose cells have these images."""
        return {
            user: [between if cell == BETWEEN else images[cell] for cell in cells] for user, cells in self.cells.items()
        }

    @property
    def span(self) -> int:
        """On a grid: the number of its points from the first to the last entry of a user, of the user with most."""
        return max((at[-1] - at[0] + 1 for at in (self.times or {}).values() if at), default=0)


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
        raise repeated_time(by, order.name, "" if step is None else f" in steps of {step.text}")
    if layout.repeats == FIRST:
        rows = rows[np.concatenate([[True], ~same])]
    elif layout.repeats == LAST:
        rows = rows[np.concatenate([~same, [True]])]
    cells = _split(names, codes, rows)
    return EntryPlan(cells, {user: [at[row] for row in found] for user, found in cells.items()}, step, times.timed)


def repeated_time(by: str | None, order: str, finer: str = "") -> BadTable:
    """The refusal of two rows of a user at one time."""
    where = "the file" if by is None else f"a user of column {by!r}"
    return BadTable(
        f"column {order!r} repeats a time{finer} within {where}, so the order of the entries is unknown; keep one row "
        "for each time, or say which counts: --repeats first, last, or rows (all, in the order of the file)"
    )


def secret_times(
    begins: Sequence[str | None], ends: Sequence[str | None], layout: Layout, decimal: str
) -> tuple[Times, Times]:
    """The begins and ends of intervals where the times of a row are as secret as its state: each text is read by
    itself, and a row without two times covers nothing, as one that ends before it begins."""
    step = layout.step
    assert step is not None
    pairs = [(moment_of(a, step, decimal), moment_of(b, step, decimal)) for a, b in zip(begins, ends, strict=True)]
    whole = [(0, 0) if a is None or b is None else (a, b) for a, b in pairs]
    first, last = (Times(tuple(pair[side] for pair in whole), step.timed) for side in (0, 1))
    return first, last


def interval_plan(
    users: tuple[Places, list[str]], begins: Times, ends: Times, layout: Layout, columns: tuple[str, str] = ("", "")
) -> EntryPlan:
    """Intervals [begin, end): an entry for every multiple of the step from a user's first begin to the last end.

    `columns`: the names of the times. Where these are secret (`secret_times`), each user's first begin and last end,
    of the rows that cover anything, are public. They alone decide which entries there are, and what is refused: more
    entries than can be held, or none. No row inside them decides about either."""
    (codes, names), (start, end), step = users, columns, layout.step
    assert step is not None
    begins.require(step, start)
    ends.require(step, end)
    if begins.zoned != ends.zoned:
        raise BadTable(f"columns {start!r} and {end!r} must both have a time zone, or both none")
    pairs = list(zip(begins.at, ends.at, strict=True))
    if layout.backwards != DROP and any(b < a for a, b in pairs):
        raise BadTable(f"column {end!r} has intervals that end before they begin; --backwards drop leaves them out")
    rows = [row for row, (a, b) in enumerate(pairs) if a < b]  # those that have a length
    first, last = ([int(-(-moment // step.width)) for moment in times.at] for times in (begins, ends))
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
