"""`Layout`: how the rows of a table become the entries of sequences, said before the private table is opened.

Everything in it is public, and so is everything that it acts on: users, times, ends, the places of rows in the file,
the names of columns. The states are private. No state decides which entries there are, in which order, or how another
one is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from typing import Any, final

from fugu.data.declared import labels, read_cuts
from fugu.data.moments import Step
from fugu.errors import ColumnNotFound, UnknownName, UsageError
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

    def __post_init__(self) -> None:
        for name, known in _WORDS.items():
            if (word := getattr(self, name)) not in known:
                raise UnknownName(f"way to treat {name} called", word, known)
        for name in ("end", "between"):
            if (text := getattr(self, name)) is not None and (not isinstance(text, str) or not text.strip()):
                raise UsageError(f"{name} must be a text that is not empty")
        object.__setattr__(self, "columns", _listed(self.columns))
        object.__setattr__(self, "bins", read_cuts(self.bins))
        object.__setattr__(self, "every", None if self.every is None else Step.read(self.every).text)
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

    @staticmethod
    def of(
        repeats: str | None = None,
        columns: str | None = None,
        end: str | None = None,
        every: str | None = None,
        between: str | None = None,
        overlaps: str | None = None,
        backwards: str | None = None,
        bins: str | None = None,
        gaps: str | None = None,
        inside: str | None = None,
    ) -> Layout:
        """The layout that the options of a command say; None where one is left out.

        `repeats`, `columns`, `end`, `every`, `between`, `overlaps`, `backwards`, `bins`, `gaps`, `inside`: as the text
        of the option.
        """
        said = {
            "repeats": repeats, "columns": columns, "end": end, "every": every, "between": between,
            "overlaps": overlaps, "backwards": backwards, "bins": bins, "gaps": gaps, "inside": inside,
        }  # fmt: skip
        return Layout(**{name: text for name, text in said.items() if text is not None})

    @property
    def wide(self) -> bool:
        """Whether each time is a column."""
        return bool(self.columns)

    @property
    def plain(self) -> bool:
        """Whether nothing is said: one row for each user and time."""
        return self == PLAIN

    @property
    def step(self) -> Step | None:
        """The step of the grid, if there is one."""
        return None if self.every is None else Step.read(self.every)

    @property
    def cuts(self) -> tuple[float, ...]:
        """The cut points of numbers; none if states are not binned."""
        return tuple(float(cut) for cut in self.bins)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the bins, from low to high."""
        return labels(self.cuts)

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
            raise UsageError("there are states that are none of the bins")

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
        known = tuple(part.name for part in fields(Layout))
        if not isinstance(said, Mapping):
            raise UsageError("[sequence] must be a section with keys")
        for name in said:
            if name not in known:
                raise UnknownName("key in [sequence] called", name, known)
        return Layout(**{**said, **({"every": str(said["every"])} if "every" in said else {})})

    def _said(self) -> dict[str, Any]:
        return {p.name: v for p in fields(self) if (v := getattr(self, p.name)) != p.default}


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
