"""The page of `fugu influence`: how much the entries of a sequence say about each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Panel
from fugu.drawing.marks import Line
from fugu.numbers.text import number
from fugu.report.template import render

TITLE = "How much entries say about each other"


def influence_page(points: Sequence[tuple[int, float]], name: str) -> str:
    """A self-contained page with the finite part of the curve.

    `points`: (entries set aside, influence of the others); `name`: the sequences in words."""
    known = [(float(b), a) for b, a in points if math.isfinite(a)]
    rows = [(str(b), number(a, "up", 6)) for b, a in points]
    return render("influence.html", title=TITLE, name=name, curve=_chart(known) if known else None, rows=rows)


def _chart(known: Sequence[tuple[float, float]]) -> Chart:
    xs, ys = tuple(b for b, _ in known), tuple(a for _, a in known)
    told = tuple(f"b = {b:g}: at most {number(a, 'up', 6)}" for b, a in known)
    line = Line(xs, ys, "a", dots=True, told=told)
    across = Axis(
        "entries set aside, b (each mark is a multiple of the one before)", min(xs), max(*xs, 2 * min(xs)), log=True
    )
    panel = Panel((line,), across, Axis("influence of the others, a(b)", 0.0, 1.06 * (max(ys) or 1.0)), 300.0)
    about = f"It falls from {number(ys[0], 'up')} at {xs[0]:g} to {number(ys[-1], 'up')} at {xs[-1]:g}."
    return Chart("curve", "Influence of the other entries against entries set aside", about, (panel,))
