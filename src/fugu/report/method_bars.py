"""The figure of methods side by side: average error as bars, scale as diamonds, on a log axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.charts import Axis, Bar, Rows
from fugu.drawing.text import clean, number
from fugu.report.methods import Line


def methods_figure(lines: Sequence[Line], query: str, mark: str) -> Rows | None:
    """Expected absolute error (bars) and scale (diamonds) of each method; None if none adds noise.

    `lines`: the methods; `query`: what is published, which the axis names the units of; `mark`: what is
    said of the one used."""
    errors = [(line, line.error) for line in lines if line.error is not None and 0 < line.error < math.inf]
    if not errors:
        return None
    sizes = [x for line, error in errors for x in (error, line.scale) if 0 < x < math.inf]
    low, high = max(min(sizes), max(sizes) * 1e-5) / 2.5, max(sizes) * 2
    several = len({line.noise for line in lines}) > 1
    bars = []
    for line, error in errors:
        name = clean(line.method) + (f", {line.noise}" if several else "") + (f" ★ {mark}" if line.used else "")
        scale = "" if math.isnan(line.scale) else f", scale {number(line.scale, digits=4)}"
        told = f"average error {number(error, digits=4)}{scale}"
        other = line.scale if 0 < line.scale < math.inf else None
        bars.append(Bar(name, error, other, "b" if line.used else "a", told))
    axis = Axis(f"units of {clean(query, 28)} (each mark is a multiple of the one before)", low, high, log=True)
    about = "; ".join(f"{bar.name}: {bar.told}" for bar in bars)
    return Rows("methods", "Average error and scale of the noise, by method", about, tuple(bars), axis,
                ("average error", "scale of the noise"))  # fmt: skip
