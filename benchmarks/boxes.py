"""`Boxes`: words in boxes, in columns, with arrows between them; a drawing for `fugu.drawing.charts.Figure`."""

from __future__ import annotations

from dataclasses import dataclass

from fugu.drawing.axis import SIZE, wrapped
from fugu.drawing.charts import Figure
from fugu.drawing.marks import Html, joined, tag

_LEADING, _INSIDE, _BETWEEN, _APART = SIZE * 1.35, 10.0, 18.0, 76.0
_LOOKS = {"plain": ("#ffffff", "#8a8a8a"), "out": ("#d9ebf7", "#0072b2"), "home": ("#fff4ec", "#8a2c00")}
"""Grounds and edges: blue goes out, brown stays at home. The words say so too."""


@dataclass(frozen=True)
class Box:
    """One box: its heading, the words below it, and its look, one of "plain", "out" and "home"."""

    heading: str
    words: str
    look: str = "plain"


@dataclass(frozen=True)
class Boxes(Figure):
    """Columns of boxes. `arrows` lead from a box to another, each given by column and row."""

    columns: tuple[tuple[Box, ...], ...]
    arrows: tuple[tuple[tuple[int, int], tuple[int, int]], ...] = ()

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:  # noqa: ARG002 (of every Figure)
        """The drawing at this width, and its height; nothing is said at the pointer."""
        wide = (width - 12 - _APART * (len(self.columns) - 1)) / len(self.columns)
        heights = [[_height(box, wide) for box in column] for column in self.columns]
        tall = max(sum(column) + _BETWEEN * (len(column) - 1) for column in heights)
        places: dict[tuple[int, int], tuple[float, float, float]] = {}
        parts = []
        for i, column in enumerate(self.columns):
            x, y = 6 + i * (wide + _APART), 6 + (tall - sum(heights[i]) - _BETWEEN * (len(column) - 1)) / 2
            for j, box in enumerate(column):
                parts.append(_drawn(box, x, y, wide, heights[i][j]))
                places[i, j] = x, y, heights[i][j]
                y += heights[i][j] + _BETWEEN
        arrows = [_arrow(places[a], places[b], wide) for a, b in self.arrows]
        return joined(arrows, parts), tall + 12


class Upright(Boxes):
    """Boxes as wide as a phone."""

    @property
    def svg(self) -> str:
        """As every figure, on less room."""
        return self.standing(400.0)


def _height(box: Box, wide: float) -> float:
    lines = len(wrapped(box.heading, wide - 2 * _INSIDE, bold=True)) + len(wrapped(box.words, wide - 2 * _INSIDE))
    return _LEADING * lines + 2 * _INSIDE


def _drawn(box: Box, x: float, y: float, wide: float, high: float) -> Html:
    ground, edge = _LOOKS[box.look]
    parts = [tag("rect", x=x, y=y, width=wide, height=high, rx=6, fill=ground, stroke=edge, stroke_width=1.5)]
    at = y + _INSIDE + SIZE
    for line in wrapped(box.heading, wide - 2 * _INSIDE, bold=True):
        parts.append(tag("text", line, class_="heading", x=x + _INSIDE, y=at))
        at += _LEADING
    for line in wrapped(box.words, wide - 2 * _INSIDE):
        parts.append(tag("text", line, class_="soft", x=x + _INSIDE, y=at))
        at += _LEADING
    return joined(parts)


def _arrow(start: tuple[float, float, float], end: tuple[float, float, float], wide: float) -> Html:
    """From the right edge of a box to the left edge of another one."""
    x1, y1, x2, y2 = start[0] + wide, start[1] + start[2] / 2, end[0], end[1] + end[2] / 2
    bend = x1 + 14
    path = f"M{x1:.1f},{y1:.1f} H{bend:.1f} L{x2 - 46:.1f},{y2:.1f} H{x2 - 8:.1f}"
    head = f"M{x2 - 1:.1f},{y2:.1f} l-9,-4.5 v9 z"
    line = tag("path", d=path, fill="none", stroke="#4a4a4a", stroke_width=1.3)
    return joined(line, tag("path", d=head, fill="#4a4a4a"))
