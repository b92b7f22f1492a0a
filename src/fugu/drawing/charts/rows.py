"""`Rows`: one bar per line with its name above it, on a log axis; names of any length fit at any width."""

from __future__ import annotations

from dataclasses import dataclass

from fugu.drawing.charts.axis import Axis
from fugu.drawing.charts.chart import LEADING
from fugu.drawing.charts.paths import level, symbol
from fugu.drawing.charts.widths import SIZE, width_of, wrapped
from fugu.drawing.html import Html, joined, tag

_SIDE, _BAR, _GAP = 6.0, 14.0, 10.0


@dataclass(frozen=True)
class Bar:
    """One line: its name, the length of its bar, where its diamond stands (None: it has none)."""

    name: str
    size: float
    other: float | None
    look: str
    told: str


@dataclass(frozen=True)
class Rows:
    """Bars under their names; `keys` say what a bar is and what a diamond."""

    name: str
    title: str
    about: str
    bars: tuple[Bar, ...]
    axis: Axis
    keys: tuple[str, str]

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """The drawing at this width, and its height; `pointed` as in a `Chart`."""
        room, first = self._room(width)
        legend, y = self._legend(width)
        top, parts = y, []
        for bar in self.bars:
            for line in wrapped(bar.name, width - 2 * _SIDE):
                parts.append(tag("text", line, x=_SIDE, y=y + SIZE))
                y += LEADING
            y += 2
            long = max(room * self.axis.at(bar.size), 1.0)
            title = tag("title", bar.told) if pointed else None
            parts.append(tag("rect", title, class_=f"bar {bar.look}", x=first, y=y, width=long, height=_BAR))
            if bar.other is not None:
                at = first + room * self.axis.at(bar.other)
                parts.append(_diamond(at, y + _BAR / 2, bar.told if pointed else ""))
            y += _BAR + _GAP
        ticks, _ = self.axis.across(room)
        grid = []
        for value, label in ticks:
            x = first + room * self.axis.at(value)
            grid.append(tag("line", class_="grid", x1=x, x2=x, y1=top, y2=y))
            parts.append(tag("text", label, x=x, y=y + SIZE + 4, text_anchor="middle"))
        parts.append(level(first, first + room, y, "axis"))
        y += LEADING + 6
        for line in wrapped(self.axis.title, width - 2 * _SIDE):
            half = min(width_of(line) / 2 + _SIDE, width / 2)
            x = min(max(first + room / 2, half), width - half)
            parts.append(tag("text", line, class_="soft", x=x, y=y + SIZE, text_anchor="middle"))
            y += LEADING
        return joined(legend, grid, parts), y + 6

    def _room(self, width: float) -> tuple[float, float]:
        """How long the axis is and where it begins: half of its first and last labels must fit beside it."""
        room = width - 2 * _SIDE
        ticks, _ = self.axis.across(room)
        if not ticks:
            return room, _SIDE
        (a, left), (b, right) = ticks[0], ticks[-1]
        before = max(0.0, width_of(left) / 2 - room * self.axis.at(a))
        after = max(0.0, width_of(right) / 2 - room * (1 - self.axis.at(b)))
        return room - before - after, _SIDE + before

    def _legend(self, width: float) -> tuple[Html, float]:
        bar, diamond = self.keys
        parts = [tag("rect", class_="bar a", x=_SIDE + 4, y=2.5, width=14, height=12),
                 tag("text", bar, x=_SIDE + 29, y=SIZE)]  # fmt: skip
        x, y = _SIDE + 29 + width_of(bar) + 20, SIZE
        if x + 29 + width_of(diamond) > width:
            x, y = _SIDE, y + LEADING
        parts += [_diamond(x + 11, y - 4.5, ""), tag("text", diamond, x=x + 29, y=y)]
        return tag("g", *parts, class_="legend"), y + LEADING - 4


def _diamond(x: float, y: float, told: str) -> Html:
    return tag("g", symbol("diamond", x, y, 5.0, told), class_="diamond")
