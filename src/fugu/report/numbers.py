"""The published numbers on the page of a release: from the published file alone, bound by the SHA-256 that the document
states, each with the interval that stands beside it in the file; and how wide ordinary privacy would have made it."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from fugu.documents.release import file_sha256, same
from fugu.drawing.axis import Axis, padded
from fugu.drawing.charts import Chart, Figure, Panel, Range
from fugu.drawing.marks import Bars
from fugu.drawing.plots import ranges
from fugu.errors import FuguError
from fugu.numbers.text import clean, number
from fugu.utility.usable import Usable
from fugu.visible import Json

_QUERY, _VALUE, _LOW, _HIGH = "query", "value", "low", "high"
_CHOSEN = ("quantile(", "median(")
"""Questions answered by choices: their intervals hold for tables like the reference."""
_TABLES, _ROWS, _FIGURES, _BARS = 20, 40, 8, 24
"""Questions and rows of each that are listed; questions and rows that are drawn, so that the page stays small."""
_LARGEST = 30_000_000
"""Bytes of a published file beyond which the page names it, and shows nothing of it."""
_BINS = 30
Rows = Sequence[Sequence[str]]


def published_numbers(body: Json, file: Path | None, usable: Usable | None) -> Json:
    """What the page is told: `why` nothing is shown, or `tables`, and how many more are `left`. `file`: where the
    published file lies.

    Each table has its `title`, `head`, `rows`, how many there are in `all`, and its `figure`; of answers the largest
    `half` width of an interval and the `other` that ordinary privacy would have; of a column how many rows `went` out,
    and how far they are `moved`: half width, average, and how many times as far ordinary privacy would."""
    if (why := _not_shown(body["published"], file)) or file is None:
        return {"tables": (), "why": why}
    alone: Counter[str] | None = None  # the cells of a file with one column: there may be a million rows
    if body["published"][0]["name"].endswith(".json"):
        model = json.loads(file.read_text("utf-8"))
        sizes = zip((*model["features"], "intercept"), (*model["coefficients"], model["intercept"]), strict=True)
        head, rows = ["feature", "coefficient"], [[name, f"{size:,.6g}".replace("-", "−")] for name, size in sizes]
    else:
        with open(file, encoding="utf-8", newline="") as lines:
            read = csv.reader(lines)
            head = next(read)
            alone = Counter(row[0] for row in read) if len(head) == 1 else None
            rows = list(read)
    if {_VALUE, _LOW, _HIGH} <= {*head}:
        tables = list(_answers(head, rows, _times_of(usable)))
        return {"tables": tables[:_TABLES], "left": len(tables) - _TABLES, "why": ""}
    if len(rows) <= _ROWS and len(head) > 1:
        return {"tables": [_table(", ".join(head[1:]), head, rows)], "left": 0, "why": ""}
    given = (body["question"]["recipe"] or {}).get("bins")
    names = [clean(name, 24) for name in given] if isinstance(given, list) and {*map(type, given)} == {str} else []
    shown = range(min(len(head), _FIGURES))
    columns = [Counter(row[n] for row in rows) for n in shown] if alone is None else [alone]
    tables = [_column(name, cells, usable, names) for name, cells in zip(head, columns, strict=False)]
    return {"tables": tables, "left": len(head) - _FIGURES, "why": ""}


def _not_shown(published: Sequence[Json], file: Path | None) -> str:
    """Why the numbers of a release are not shown; "" if they are."""
    named = published[0]
    if "folder" in named:
        return f"The numbers are in {len(published)} files of the folder {named['folder']}, and not shown here."
    if file is None or not _bound(file, named["sha256"]):
        return f"{named['name']} was not at hand when this page was made, so its numbers are not shown here."
    if not named["columns"] and not named["name"].endswith(".json"):
        return f"{named['name']} is not a table; its numbers are not shown here."
    if named["name"].endswith(".parquet"):
        return f"{named['name']} is a Parquet file; its numbers are not shown here."
    return f"{named['name']} is too large to be shown here." if file.stat().st_size > _LARGEST else ""


def _bound(file: Path, sha256: str) -> bool:
    """Whether there is such a file, and it is the one that the document names."""
    try:
        return same(file_sha256(file), sha256)
    except (OSError, FuguError):
        return False


def _table(title: str, head: Sequence[str], rows: Rows, half: float = 0.0, other: float = 0.0,
           figure: Figure | None = None) -> Json:  # fmt: skip
    return {"title": title, "head": [clean(name, 60) for name in head], "rows": rows[:_ROWS], "all": len(rows),
            "half": half, "other": other, "figure": figure, "went": None, "moved": None,
            "chosen": title.startswith(_CHOSEN)}  # fmt: skip


Times = Callable[[str, str], float | None]


def _times_of(usable: Usable | None) -> Times:
    """How many times as wide ordinary differential privacy at the same epsilon would have made the interval of a
    question and its group; None where the beliefs do not tell."""
    found = {} if usable is None else {
        each.name: each.ordinary / each.half
        for each in usable.figures
        if each.numbers.get("ordinary") is not None and each.half
    }  # fmt: skip
    every = None if usable is None else usable.ordinary

    def times(query: str, group: str) -> float | None:
        one = next(iter(found.values())) if len(found) == 1 else every
        return found.get(f"{query}, {group}", found.get(query, found.get(group, one)))

    return times


def _answers(head: Sequence[str], rows: Rows, times: Times) -> Iterator[Json]:
    """A table and a figure for each question."""
    at = {name: head.index(name) for name in (_QUERY, _VALUE, _LOW, _HIGH) if name in head}
    named = [n for n, name in enumerate(head[: at[_VALUE]]) if name != _QUERY]
    by_query = groupby(rows, lambda row: row[at[_QUERY]] if _QUERY in at else "")
    for place, (query, each) in enumerate(by_query):
        lines, drawn, most, widest = [], list[Range](), 0.0, 0.0
        listed = list(each)
        labels = [n for n in named if any(row[n] for row in listed)]
        for row in listed:
            parts = [row[n] for n in labels]
            value, low, high = (
                float(row[at[part]] or "nan") if part in at else math.nan for part in (_VALUE, _LOW, _HIGH)
            )
            half = max(high - value, value - low)  # nan where no interval is stated
            factor = times(query, parts[0] if parts else "") if half > 0 else None
            other = None if factor is None or factor <= 1.005 else factor * half
            name = ", ".join(filter(None, parts)) or "all records"
            digits = 0 if {value % 1, low % 1, high % 1} == {0.0} else _decimals(half)
            lines.append([clean(name, 80), rounded(value, digits), _interval(low, high, digits),
                          "" if other is None else f"±\u00a0{number(other, 'up', 2)}"])  # fmt: skip
            drawn.append((clean(name, 60), value, low, high, other, lines[-1][1]))
            most, widest = np.fmax(most, half), max(widest, other or 0.0)
        compared = any(line[3] for line in lines)
        columns = (", ".join(head[n] for n in labels) or "of", "published", "95 % interval", "ordinary privacy")
        known = 3 + compared if any(line[1] for line in lines) else 1  # a ranking has names alone
        shown = [line[:known] for line in lines]
        title = clean(query, 120) or "The answers"
        figure = None
        if place < _FIGURES and most > 0 and len(drawn) > 1:
            figure = ranges(f"numbers-{place}", title, clean(query, 120) or "published value", drawn[:_BARS], compared)
        if "statistic" in head:  # numbers of several units: they have no axis in common
            figure, most = None, 0.0
        yield _table(title, columns[:known], shown, most, widest, figure)


def _column(name: str, cells: Counter[str], usable: Usable | None, names: Sequence[str]) -> Json:
    """A column that is published row by row: how often each value, or range of values, went out. `names`: those of the
    categories that 0, 1, ... stand for."""
    try:
        values = np.array([*cells], dtype=np.float64)
    except ValueError:
        counts = cells.most_common()
        return _table(clean(name, 80), (name, "rows"), [(clean(cell, 80), f"{n:,}") for cell, n in counts])
    often = np.array([*cells.values()], dtype=np.int64)[np.isfinite(values)]
    levels, place = np.unique(values[np.isfinite(values)], return_inverse=True)
    counts_of = np.bincount(place, often, len(levels)).astype(np.int64)
    gap = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    if len(levels) > _BINS:  # ranges of as many steps each, or a lattice would show as a comb
        wide = gap * math.ceil((levels[-1] - levels[0]) / gap / _BINS)
        counts_of, edges = np.histogram(
            levels, np.arange(levels[0] - gap / 2, levels[-1] + wide, wide), weights=counts_of
        )
        levels, gap = (edges[:-1] + edges[1:]) / 2, wide
    bars = Bars(tuple(levels.tolist()), tuple(map(float, counts_of.tolist())), "a", gap * 0.9, -gap * 0.45)
    low, high = padded(float(levels[0]) - gap / 2, float(levels[-1]) + gap / 2, 0.02) if len(levels) else (0.0, 1.0)
    ticks = tuple((float(code), said) for code, said in enumerate(names) if low < code < high)
    axes = (
        Axis(f"published value of {clean(name, 40)}", low, high, marks=ticks, named=bool(ticks)),
        Axis("rows", 0.0, 1.06 * float(max(counts_of, default=1))),
    )
    title = f"The {cells.total():,} published values of {clean(name, 60)}"
    figure = Chart(f"values-{clean(name, 20)}", title, "How many rows have each value, or a value near it.",
                   (Panel((bars,), *axes, 200.0),))  # fmt: skip
    one = None if usable is None or len(usable.figures) != 1 else usable.figures[0]
    moved = None if one is None or "half" not in one.numbers else (one.half, one.error, usable and usable.ordinary)
    return _table(clean(name, 80), (), (), figure=figure) | {"went": cells.total(), "moved": moved}


def _decimals(half: float) -> int:
    """As many decimals as two digits of the interval have; six where there is none.

    >>> _decimals(1.76), _decimals(540.0), _decimals(float("nan"))
    (1, 0, 6)
    """
    return 6 if not half > 0 or math.isinf(half) else min(12, max(0, 1 - math.floor(math.log10(half))))


def rounded(x: float, decimals: int) -> str:
    """A published number, to so many decimals; nothing where there is none.

    >>> rounded(194.65686, 1), rounded(460.0, 6), rounded(float("nan"), 2)
    ('194.7', '460', '')
    """
    text = "" if math.isnan(x) else f"{x:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if decimals == 6 and "." in text else text).replace("-", "−")


def _interval(low: float, high: float, decimals: int) -> str:
    """From the lower end rounded down to the upper end rounded up."""
    if math.isnan(low) or math.isnan(high):
        return "not stated"
    if low == high:
        return "exact"
    unit = 10.0**decimals
    ends = math.floor(low * unit + 1e-9) / unit, math.ceil(high * unit - 1e-9) / unit
    return " to ".join(rounded(end, decimals) for end in ends)
