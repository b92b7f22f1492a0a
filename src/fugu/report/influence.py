"""The page of `fugu influence`: how much the entries of a sequence say about each other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing.charts import Axis, Chart, Line, Panel, figure
from fugu.drawing.html import tag
from fugu.drawing.text import clean, number
from fugu.report.shell import row, section, table, whole_page

TITLE = "How much entries say about each other"
_CAPTION = (
    "To protect one entry, the b entries around it are set aside. The curve is the most that all others still say "
    "about it: the natural logarithm of how many times likelier what they show can be under one state of the entry "
    "than under another. The lower it is, the less noise each entry needs."
)


def influence_page(points: Sequence[tuple[int, float]], name: str) -> str:
    """A self-contained page with the finite part of the curve.

    `points`: (entries set aside, influence of the others); `name`: the sequences in words."""
    known = [(float(b), a) for b, a in points if math.isfinite(a)]
    parts = [tag("h1", TITLE), tag("p", f"The chain: {clean(name, 120)}.", class_="lead")]
    if known:
        parts.append(section("curve-title", "Influence against entries set aside", figure(_chart(known), _CAPTION)))
    else:
        parts.append(tag("p", "No finite influence is known at any number of entries set aside."))
    rows = [row(str(b), number(a, "up", 6)) for b, a in points]
    listed = table(
        "Each bound is rounded up", ["entries set aside, b", "influence of the others, a(b)"], tag("tbody", rows)
    )
    return whole_page(TITLE, *parts, section("numbers", "The numbers", listed))


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
