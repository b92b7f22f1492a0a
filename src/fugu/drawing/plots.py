"""The figures of notebooks and pages, from plain numbers: bars, ranges, intervals, curves, laws. Titles can be read
without a paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.axis import Axis, Tick, padded
from fugu.drawing.charts import Bar, Chart, Figure, Panel, Range, Ranges, Rows
from fugu.drawing.marks import Level, Line, Mark, Points, Whiskers
from fugu.errors import UsageError
from fugu.numbers.text import clean, number

MOST = 60
"""Names that find a place on an axis."""
_LINES = ("m0", "m1", "m2", "m3", "m4", "m5")
_FEW = 40
"""Points of a line that get a dot."""


def bars(
    title: str, axis: str, sizes: Sequence[tuple[str, float | None, bool]], name: str = "bars",
    keys: tuple[str, str] = ("the method used", "other methods"),
) -> Figure:  # fmt: skip
    """One bar per method, from 0: its name, its average error, and whether it is the one used, which stands out.
    `name`: that of the figure; `keys`: what stands out is, and the others are."""
    drawn: list[Bar] = [
        (clean(said, 80), size, number(size, digits=4), "a" if used else "other")
        for said, size, used in sizes
        if size is not None and 0 < size < math.inf
    ]
    if not drawn:
        raise UsageError("there is nothing to draw: no size is above 0 and finite")
    about = "; ".join(f"{bar[0]}: {axis.partition(',')[0]} {bar[2]}" for bar in drawn)
    looks = {look for *_, look in drawn}
    known = {look: said for look, said in zip(("a", "other"), keys, strict=True) if look in looks}
    return Rows(name, title, about, tuple(drawn), Axis(axis, 0.0, max(size for _, size, _, _ in drawn)), known)


_TIMES = 3.0
"""How far, in widths of the numbers and their own intervals, an axis follows the other ones."""


def ranges(name: str, title: str, axis: str, rows: Sequence[Range], compared: bool) -> Figure:
    """Published numbers with their error bars, and behind them those of ordinary privacy, where they are `compared`."""
    ends = [x for _, value, low, high, _, _ in rows for x in (value, low, high) if math.isfinite(x)]
    low, high = min(ends), max(ends)
    room = _TIMES * ((high - low) or 1.0)
    others = [x for _, value, _, _, other, _ in rows if other is not None for x in (value - other, value + other)]
    low, high = max(min([low, *others]), low - room), min(max([high, *others]), high + room)
    about = "; ".join(f"{row[0]}: {row[-1]}" for row in rows[:12])
    keys = ("published", "95 % interval", "interval with ordinary privacy")[: 2 + compared]
    return Ranges(name, title, about, tuple(rows), Axis(axis, *padded(low, high)), keys)


def intervals(
    title: str, axis: str, names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float]]
) -> Figure:
    """A point for each value, in a bar that holds the exact one with 95 %; the first `MOST` of them."""
    shown = min(len(values), MOST)
    if not shown:
        raise UsageError("there is nothing to draw: no number was released")
    xs, ys = tuple(map(float, range(shown))), tuple(map(float, values[:shown]))
    lows, highs = (tuple(float(pair[k]) for pair in ends[:shown]) for k in (0, 1))
    told = tuple(f"{clean(n)}: {number(v, digits=6)}" for n, v in zip(names, ys, strict=False))
    marks: list[Mark] = [Whiskers(xs, lows, highs, name="holds the exact value with 95 %"),
                         Points(xs, ys, "a", "dot", "published", told=told)]  # fmt: skip
    ticks = tuple((x, clean(n, 24)) for x, n in zip(xs, names, strict=False))
    rest = "" if shown == len(values) else f"; the first {shown} of {len(values)}"
    upward = Axis(axis, *padded(min(lows + highs), max(lows + highs)))
    panel = Panel(tuple(marks), Axis("", -0.5, shown - 0.5, marks=ticks, named=True), upward, 260.0)
    return Chart("intervals", title + rest, "; ".join(told[:12]), (panel,))


def curve(
    title: str, about: str, points: Sequence[tuple[float, float]], across: str, upward: str, log: bool = False,
    told: Sequence[str] = (), name: str = "curve", marks: tuple[Tick, ...] = (),
) -> Figure:  # fmt: skip
    """A line through points; those that are not finite are left out. `told`: of each finite point, what is said at the
    pointer, if not its numbers; `marks`: of the axis across, if not its own."""
    known = [(float(x), float(y)) for x, y in points if math.isfinite(y)]
    if not known:
        raise UsageError("there is nothing to draw: no value is finite")
    xs, ys = zip(*known, strict=True)
    numbers = [f"{number(x, digits=4)}: {number(y, 'up', 4)}" for x, y in known]
    line = Line(xs, ys, "a", dots=len(xs) <= _FEW, told=tuple(told or numbers))
    low, high = (min(xs), max(*xs, 2 * min(xs))) if log else padded(min(xs), max(xs))
    axes = Axis(across, low, high, log, marks), Axis(upward, 0.0, 1.06 * (max(ys) or 1.0))
    return Chart(name, title, about, (Panel((line,), *axes, 260.0),))


def laws(title: str, axis: str, given: Sequence[tuple[str, Sequence[float], Sequence[float]]], height: str) -> Figure:
    """Several laws over one axis, each a line with its name; the first six of them."""
    marks = tuple(
        Line(tuple(xs), tuple(ys), look, clean(name, 40), dots=len(xs) <= _FEW)
        for (name, xs, ys), look in zip(given, _LINES, strict=False)
    )
    if not marks:
        raise UsageError("there is nothing to draw: no law has a picture")
    every = [x for mark in marks for x in mark.xs]
    top = max((y for mark in marks for y in mark.ys), default=0.0) or 1.0
    rest = "" if len(given) <= len(_LINES) else f"; the first {len(_LINES)} of {len(given)}"
    panel = Panel(marks, Axis(axis, *padded(min(every), max(every))), Axis(height, 0.0, 1.06 * top), 260.0)
    about = "Lines that lie close together are hard to tell apart by the value."
    return Chart("laws", title + rest, about, (panel,))


def level_bars(
    title: str, axis: str, names: Sequence[str], values: Sequence[float], limit: float | None, said: str
) -> Figure:
    """Values side by side below a line at a `limit`, of which `said` says what it is."""
    known = [(n, v) for n, v in zip(names, values, strict=True) if math.isfinite(v)]
    if not known:
        raise UsageError("there is nothing to draw: no value is finite")
    xs, ys = tuple(map(float, range(len(known)))), tuple(float(v) for _, v in known)
    told = tuple(f"{clean(n)}: {number(v, digits=4)}" for n, v in known)
    marks: list[Mark] = [Points(xs, ys, "a", "diamond", "shown by attacks", told=told)]
    top = max(ys)
    if limit is not None and math.isfinite(limit):
        marks.append(Level(limit, "promised", said))
        top = max(top, limit)
    ticks = tuple((x, clean(n, 24)) for x, (n, _) in zip(xs, known, strict=True))
    across = Axis("", -0.5, len(known) - 0.5, marks=ticks, named=True)
    panel = Panel(tuple(marks), across, Axis(axis, min(0.0, *ys), 1.06 * (top or 1.0)), 260.0)
    return Chart("levels", title, "; ".join(told), (panel,))
