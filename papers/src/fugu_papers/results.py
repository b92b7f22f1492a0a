"""The ratio table: each paper's best method that keeps its promise, over fugu at the same promise, over the limit."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fugu_papers.experiment import Experiment, Outcome, Row
from fugu_papers.reproduce import PAPERS
from fugu_papers.summary import summary

_MANY = 10_000
Runs = Sequence[tuple[Experiment, Outcome]]


@dataclass(frozen=True)
class Gain:
    """What fugu saves in the cases of an experiment that begin alike.

    `ratios`: in each case the value of the paper's best sound method over fugu's best; `above`: fugu's best over the
    limit, where one is known. `methods`: the paper's methods that were the best."""

    experiment: Experiment
    what: str
    methods: tuple[str, ...]
    ratios: tuple[float, ...]
    above: tuple[float, ...]


def gains(runs: Runs) -> Iterator[Gain]:
    """One for every experiment and first part of a case, where some printed method can be compared."""
    for experiment, outcome in runs:
        for what in dict.fromkeys(row.case[0] if row.case else "" for row in outcome.rows):
            mine = [row for row in outcome.rows if (row.case[0] if row.case else "") == what]
            best = list(_best(mine))
            if best:
                above = [row.above for row in best if row.above is not None]
                methods = tuple(dict.fromkeys(row.method for row in best))
                yield Gain(experiment, what, methods, tuple(row.ratio or 0.0 for row in best), tuple(above))


def _best(rows: Iterable[Row]) -> Iterator[Row]:
    """In each case the printed method with the smallest ratio, of those that keep their promise.

    Rows of one case with different bests are about different noises or promises: each of them has a best method. What
    is called "corrected" is in no paper: it is a mend of ours."""
    cases: dict[tuple[tuple[str, ...], float | None], Row] = {}
    for row in (each for each in rows if not each.method.endswith("corrected")):
        case = row.case, row.best
        if row.ratio is not None and (case not in cases or _order(row) < _order(cases[case])):
            cases[case] = row
    yield from cases.values()


def _order(row: Row) -> tuple[float, float]:
    return row.ratio or 0.0, row.reproduced or 0.0


def spread(numbers: Sequence[float]) -> str:
    """The median, and the range if there is one.

    >>> spread((1.0, 2.0, 40.0)), spread((2.0,)), spread((1.5, math.inf))
    ('2.00 (1.00 to 40.0)', '2.00', 'no noise needed (from 1.50)')
    """
    if not numbers:
        return ""
    middle, low, high = statistics.median_high(numbers), min(numbers), max(numbers)
    if math.isinf(middle):
        return "no noise needed" + ("" if math.isinf(low) else f" (from {_short(low)})")
    top = "no noise needed" if math.isinf(high) else _short(high)
    return _short(middle) + ("" if low == high else f" ({_short(low)} to {top})")


def _short(x: float) -> str:
    if x >= _MANY:
        return "over 10,000"
    return f"{x:.3g}" if x >= 100 or 0 < x < 0.01 else f"{x:#.3g}".rstrip(".")


def ratio_table(runs: Runs) -> str:
    """The table in Markdown, one line for each `Gain`."""
    header = ("experiment", "what", "paper's best sound method", "its value / fugu's", "fugu's / the limit", "cases")
    told = [
        (f"`{a.experiment.name}`", a.what, ", ".join(a.methods), spread(a.ratios), spread(a.above), str(len(a.ratios)))
        for a in gains(runs)
    ]
    return _table(header, told)


HEADLINE = MappingProxyType(
    {
        "000": ("000-table1", "GWM, W_inf"),
        "001": ("001-theorem1", "Theorem 1"),
        "002": ("002-table3", "Ours-Exp"),
        "003": ("003-table4", "Alg. 1"),
        "004": ("004-table3", "ExpM (G)"),
    }
)
"""For each paper an experiment, and the method of its own that keeps its promise there."""


@dataclass(frozen=True)
class Line:
    """A paper in a line: how much came out, what keeps no promise, and its own method over fugu's best."""

    title: str
    rows: int
    printed: str
    lost: int
    unsound: int
    method: str
    ratio: str


def lines(runs: Runs) -> Iterator[Line]:
    """One for every paper of which something was run."""
    for number, (_, title) in PAPERS.items():
        mine = [(e, o) for e, o in runs if e.name.startswith(f"{number}-")]
        rows, (name, method) = [row for _, outcome in mine for row in outcome.rows], HEADLINE[number]
        if rows:
            told = summary(rows)
            own = [row for e, o in mine if e.name == name for row in o.rows if row.method == method]
            printed = told.verdicts["reproduced"] + told.verdicts["differs"]
            ratios = [row.ratio for row in own if row.ratio is not None]
            came = f"{told.verdicts['reproduced']} of {printed}" if printed else "none to compare"
            lost = told.verdicts["not reproducible"]
            yield Line(title, len(rows), came, lost, told.unsound, f"{method} (`{name}`)", spread(ratios))


def headline(runs: Runs) -> str:
    """One line for each paper: what came out, what is no guarantee, and what fugu saves."""
    header = ("paper", "rows", "came out as printed", "not reproducible", "no guarantee as printed", "its own method",
              "its value / fugu's")  # fmt: skip
    told = [(a.title, str(a.rows), a.printed, str(a.lost), str(a.unsound), a.method, a.ratio) for a in lines(runs)]
    return _table(header, told)


def brief(runs: Runs) -> str:
    """The same in a few words for each paper: a table that fits a first page."""
    header = ("paper", "its own method", "its noise or error / fugu's", "printed values that come out")
    told = [(a.title.partition(":")[0], a.method, a.ratio, a.printed) for a in lines(runs)]
    return _table(header, told)


def _table(header: Sequence[str], told: Iterable[Sequence[str]]) -> str:
    rows = (header, ["---"] * len(header), *told)
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"
