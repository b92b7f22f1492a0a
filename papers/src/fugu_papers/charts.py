"""Figures like those of the papers: several named lines, or draws, over two axes, readable without the paper."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.axis import Axis, padded
from fugu.drawing.charts import Chart, Figure, Panel
from fugu.drawing.marks import Line, Points
from fugu.errors import UsageError

_LOOKS = ("m0", "m1", "m2", "m3", "m4", "m5")
_SHAPES = ("dot", "up", "down", "diamond", "star", "ring")
_FEW = 30
Series = tuple[str, Sequence[float], Sequence[float]]
"""A name, where the points stand, how high."""


def lines(
    title: str, across: str, upward: str, series: Sequence[Series],
    *, log_across: bool = False, log: bool = False, drawn: bool = False,
) -> Figure:  # fmt: skip
    """Named lines, the first six of them, which the title then says: more nobody could tell apart. Points that
    are not finite, or not above 0 on a log axis, interrupt a line.

    `title` says what is seen; `across` and `upward` name the axes, with units; `log`: heights on a log axis; `drawn`:
    heights are independent draws, points that no line joins."""

    def height(y: float) -> float:
        return float(y) if math.isfinite(y) and (y > 0 or not log) else math.nan

    rest = f"; the first {len(_LOOKS)} of {len(series)}" if len(series) > len(_LOOKS) else ""
    kept = [(name, tuple(map(float, xs)), tuple(map(height, ys))) for name, xs, ys in series[: len(_LOOKS)]]
    ys = [y for _, _, heights in kept for y in heights if not math.isnan(y)]
    xs = [x for _, places, _ in kept for x in places]
    if not ys:
        raise UsageError("there is nothing to draw: no value is finite")
    marks = tuple(
        Points(places, heights, look, shape, name)
        if drawn
        else Line(places, heights, look, name, dots=len(places) <= _FEW)
        for look, shape, (name, places, heights) in zip(_LOOKS, _SHAPES, kept, strict=False)
    )
    wide = (min(xs), max(*xs, 2 * min(xs))) if log_across else padded(min(xs), max(xs))
    high = (min(ys) / 1.5, max(ys) * 1.5) if log else (min(0.0, *ys), 1.06 * max(*ys, 1e-12))
    names = "; ".join(f"{name}: from {heights[0]:.4g} to {heights[-1]:.4g}" for name, _, heights in kept)
    axes = Axis(across, *wide, log=log_across), Axis(upward + (" (log scale)" if log else ""), *high, log=log)
    return Chart("lines", title + rest, names, (Panel(marks, *axes, 300.0),))
