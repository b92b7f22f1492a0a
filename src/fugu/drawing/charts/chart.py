"""`Chart`: panels above each other with one legend, drawn at any width so that no label is cut or lies on another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from fugu.drawing.charts.axis import Axis, Tick
from fugu.drawing.charts.marks import Frame, Mark
from fugu.drawing.charts.paths import level
from fugu.drawing.charts.widths import SIZE, width_of, wrapped
from fugu.drawing.html import Html, joined, tag

LEADING = 1.35 * SIZE
_TICK, _SIDE = 5.0, 6.0
_FOLDS = 3
"""Lines that a label of an axis may take."""


@dataclass(frozen=True)
class Panel:
    """Marks over two axes; `heading` stands above in bold."""

    marks: tuple[Mark, ...]
    across: Axis
    upward: Axis
    height: float
    heading: str = ""
    labelled: bool = True
    """Whether the horizontal axis is labelled here; of panels with the same axis only the last one is."""


@dataclass(frozen=True)
class Chart:
    """Panels, and what somebody is told who does not see them: `title` in a line, `about` in a sentence or two."""

    name: str
    title: str
    about: str
    panels: tuple[Panel, ...]

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """The drawing at this width, and its height; `pointed`: with what is said at the pointer, of devices that have
        one."""
        left = max(_left(panel, width) for panel in self.panels)
        legend, y = self._legend(width)
        parts = [legend]
        for panel in self.panels:
            drawn, y = _panel(panel, left, width, y, pointed)
            parts.append(drawn)
        return joined(parts), y

    def _legend(self, width: float) -> tuple[Html, float]:
        """Names in as many lines as they need."""
        named: dict[str, Mark] = {}
        for panel in self.panels:
            for mark in panel.marks:
                if mark.name:
                    named.setdefault(mark.name, mark)
        if not named:
            return Html(""), 4.0
        x, y, parts = _SIDE, SIZE, []
        for name, mark in named.items():
            lines = wrapped(name, width - 40)
            wide = 30 + max(map(width_of, lines)) + 14
            if x > _SIDE and (x + wide > width or len(lines) > 1):
                x, y = _SIDE, y + LEADING + 4
            parts.append(mark.key(x, y - 4.5))
            parts += [tag("text", line, x=x + 29, y=y + LEADING * n) for n, line in enumerate(lines)]
            x += wide
            if len(lines) > 1:
                x, y = _SIDE, y + LEADING * len(lines) + 4
        return tag("g", *parts, class_="legend"), y + (LEADING if x > _SIDE else 0) + 2


def _left(panel: Panel, width: float) -> float:
    """Where the upright axis stands: beside its labels, and beside half of the first label below."""
    labels = [width_of(label) for _, label in panel.upward.upward(panel.height)]
    ticks, upright = panel.across.across(width - 60)
    half = 0.0 if upright or not ticks else width_of(ticks[0][1]) / 2 - panel.across.at(ticks[0][0]) * (width - 60)
    return max(max(labels, default=0.0) + _TICK + 4, half) + _SIDE


def _panel(panel: Panel, left: float, width: float, y: float, pointed: bool) -> tuple[Html, float]:
    parts: list[Html] = []
    for text, look in ((panel.heading, "heading"), (panel.upward.title, "soft")):
        for line in wrapped(text, width - 2 * _SIDE, bold=look == "heading") if text else ():
            parts.append(tag("text", line, class_=look, x=_SIDE, y=y + SIZE))
            y += LEADING
    room = width - left - _SIDE
    ticks, upright = panel.across.across(room)
    right = 0.0 if upright or not ticks else width_of(ticks[-1][1]) / 2
    overhang = max(0.0, right - (1 - panel.across.at(ticks[-1][0])) * room) if ticks else 0.0
    if overhang:
        room -= overhang
        ticks, upright = panel.across.across(room)
    frame = Frame(left, y + 10, room, panel.height, panel.across, panel.upward, pointed)
    parts += [_heights(frame), tag("g", *(mark.draw(frame) for mark in panel.marks)), _outline(frame)]
    y = frame.top + frame.height
    labels, y = _labels(frame, ticks, upright, panel.labelled, y)
    parts.append(labels)
    title = panel.across.titled(room) if panel.labelled else ""
    for line in wrapped(title, width - 2 * _SIDE) if title else ():
        parts.append(tag("text", line, class_="soft", x=middle(line, frame, width), y=y + SIZE, text_anchor="middle"))
        y += LEADING
    return joined(parts), y + 10


def middle(line: str, frame: Frame, width: float) -> float:
    """Where a line is centred: under the axis, or as near to that as keeps it on the drawing."""
    half = min(width_of(line) / 2 + _SIDE, width / 2)
    return min(max(frame.left + frame.width / 2, half), width - half)


def _outline(frame: Frame) -> Html:
    bottom = frame.top + frame.height
    side = tag("line", class_="axis", x1=frame.left, x2=frame.left, y1=frame.top, y2=bottom)
    return joined(side, level(frame.left, frame.left + frame.width, bottom, "axis"))


def _heights(frame: Frame) -> Html:
    """Grid lines across, each with its number."""
    parts = []
    for value, label in frame.upward.upward(frame.height):
        y = frame.y(value)
        parts.append(level(frame.left, frame.left + frame.width, y, "grid"))
        parts.append(tag("text", label, x=frame.left - _TICK - 3, y=y + SIZE * 0.36, text_anchor="end"))
    return joined(parts)


def _labels(frame: Frame, ticks: tuple[Tick, ...], upright: bool, labelled: bool, y: float) -> tuple[Html, float]:
    """Marks of the horizontal axis; upright where named ones would not fit side by side."""
    parts = []
    folded = _folded(frame, ticks) if upright else ()
    for n, (value, label) in enumerate(ticks):
        x = frame.x(value)
        parts.append(tag("line", class_="axis", x1=x, x2=x, y1=y, y2=y + _TICK))
        if not labelled:
            continue
        if folded:
            for k, line in enumerate(folded[n]):
                parts.append(tag("text", line, x=x, y=y + _TICK + SIZE + LEADING * k, text_anchor="middle"))
            continue
        if upright:
            at = f"translate({x + SIZE * 0.36:.1f} {y + _TICK + 4:.1f}) rotate(-90)"
            parts.append(tag("text", label, transform=at, text_anchor="end"))
        else:
            parts.append(tag("text", label, x=x, y=y + _TICK + SIZE, text_anchor="middle"))
    if not labelled:
        deep = 0.0
    elif folded or not upright:
        deep = LEADING * max(map(len, folded), default=1)
    else:
        deep = max((width_of(label) for _, label in ticks), default=0.0)
    return joined(parts), y + _TICK + deep + 4


def _folded(frame: Frame, ticks: tuple[Tick, ...]) -> tuple[tuple[str, ...], ...]:
    """Each label on a few short lines, where whole words fit between its neighbours; nothing where they do not."""
    places = [frame.x(value) for value, _ in ticks]
    ends = [2 * (places[0] - frame.left), 2 * (frame.left + frame.width - places[-1])]
    room = min(*ends, *(b - a for a, b in pairwise(places))) - 8
    if any(width_of(word) > room for _, label in ticks for word in label.split(" ")):
        return ()
    folded = tuple(wrapped(label, room) for _, label in ticks)
    return folded if max(map(len, folded)) <= _FOLDS else ()
