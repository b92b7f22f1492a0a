"""Figures in plain SVG, drawn at any width so that no label is cut or lies on another: `Chart` (panels above each other
with one legend), `Rows` (bars under their names), `Heat` (a table of numbers as colours). Nothing runs or is loaded."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise

from fugu.drawing.axis import SIZE, Axis, Tick, width_of, wrapped
from fugu.drawing.marks import (
    LEADING,
    Frame,
    Html,
    Inside,
    Mark,
    block,
    joined,
    level,
    symbol,
    tag,
    written,
)
from fugu.errors import UsageError
from fugu.files import write_text
from fugu.numbers.text import number

WIDE, NARROW = 760.0, 340.0
"""Widths in the units of a drawing: about pixels on a screen of the middle size, and on a phone."""
_BAR, _GAP, _MOST_CELL = 14.0, 10.0, 44.0
_TICK, _SIDE = 5.0, 6.0
_FOLDS = 3
"""Lines that a label of an axis may take."""
_SCOPE, _TITLE = "fugu-figure", 1.5 * SIZE
Ends = tuple[float, float]
"""Of an axis: the low one and the high one."""
_RULE = re.compile(r"([^{}\n]+)\{([^}]*)\}")


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


@dataclass(frozen=True, eq=False, repr=False)
class Figure(ABC):
    """A figure in plain SVG, drawn at any width: notebooks show it, `save` writes it. Nothing runs, nothing is loaded.

    `name`: its own on a page. `title` and `about` say what is seen, in a line and in a sentence or two; both are part
    of the picture, for those who do not see it."""

    name: str
    title: str
    about: str

    @abstractmethod
    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """The drawing at this width, and its height; `pointed`: with what is said at the pointer, of devices that have
        one."""

    @property
    def svg(self) -> str:
        """The figure as an SVG document, which stands alone: its title is on it."""
        return self.standing(WIDE)

    def standing(self, width: float) -> str:
        """The same at another width, such as that of a phone."""
        inside, height = self.draw(width)
        lines = wrapped(self.title, width - 12, bold=True)
        top = _TITLE * len(lines) + 8
        heading = [tag("text", line, class_="heading", x=6, y=_TITLE * (n + 1)) for n, line in enumerate(lines)]
        told = tag("title", self.title), tag("desc", self.about), tag("style", Html(alone(_SCOPE)))
        box = f"0 0 {width:.0f} {height + top:.0f}"
        moved = tag("g", inside, transform=f"translate(0 {top:.1f})")
        drawn = tag("g", heading, moved, class_="chart")
        return str(tag("svg", *told, drawn, xmlns="http://www.w3.org/2000/svg", class_=_SCOPE, viewBox=box, role="img",
                       aria_label=f"{self.title}. {self.about}"))  # fmt: skip

    def bare(self, width: float = WIDE) -> str:
        """The drawing alone, for a page whose style sheet has the looks, as `palette.css` and `charts.css` do. It
        brings no style, so that the strictest content policy takes it."""
        inside, height = self.draw(width)
        told = tag("title", self.title), tag("desc", self.about)
        return str(tag("svg", *told, inside, class_="chart", viewBox=f"0 0 {width:.0f} {height:.0f}", role="img",
                       aria_label=f"{self.title}. {self.about}"))  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to `path`, an SVG file."""
        write_text(path, self.svg + "\n")

    def _repr_html_(self) -> str:
        return str(tag("figure", Html(self.svg), style="margin: .5rem 0"))

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"


@cache
def alone(scope: str) -> str:
    """Palette and rules for one element of the class `scope` and nothing around it: a notebook has styles of its own.

    Its ground is light whatever the notebook's is, since the colours are."""
    ground = f".{scope} {{ {read('palette.css')} background: var(--card); color: var(--ink); max-width: 48rem; }}"
    font = f".{scope} text {{ font-family: system-ui, sans-serif; }}"

    def scoped(rule: re.Match[str]) -> str:
        inside = ", ".join(f".{scope} {selector.strip()}" for selector in rule[1].split(","))
        return f"{inside} {{{rule[2]}}}"

    return "\n".join((ground, font, _RULE.sub(scoped, read("charts.css"))))


@cache
def read(name: str) -> str:
    """A style sheet of this room: `palette.css`, the colours on light ground, as custom properties; `charts.css`, how
    the parts of a figure look, by their classes."""
    return files("fugu.drawing").joinpath(name).read_text("utf-8").replace("\r\n", "\n").rstrip("\n")


@dataclass(frozen=True, eq=False, repr=False)
class Chart(Figure):
    """Panels above each other, with one legend."""

    panels: tuple[Panel, ...]

    def over(self, across: Ends | None = None, upward: Sequence[Ends | None] = ()) -> Chart:
        """The same over axes with these ends: `across` for all panels, `upward` for each of them from above; None
        leaves an axis as it is. Charts over the same axes can be compared by eye, also one after the other."""
        if len(upward) > len(self.panels):
            raise UsageError(f"this chart has {len(self.panels)} panels, and upward has {len(upward)} pairs of ends")
        each = (*upward, *(None,) * (len(self.panels) - len(upward)))
        moved = (
            replace(panel, across=panel.across.between(across), upward=panel.upward.between(ends))
            for panel, ends in zip(self.panels, each, strict=True)
        )
        return replace(self, panels=tuple(moved))

    @property
    def ends(self) -> tuple[Ends, tuple[Ends, ...]]:
        """The ends of the axis across and of each upward one, for `over`."""
        across = self.panels[0].across
        return (across.low, across.high), tuple((panel.upward.low, panel.upward.high) for panel in self.panels)

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        left = 0.0  # where the upright axes stand: beside their labels, and beside half of the first label below
        for panel in self.panels:
            labels = [width_of(label) for _, label in panel.upward.upward(panel.height)]
            ticks, upright = panel.across.across(width - 60)
            at = panel.across.at(ticks[0][0]) * (width - 60) if ticks else 0.0
            half = 0.0 if upright or not ticks else width_of(ticks[0][1]) / 2 - at
            left = max(left, max(max(labels, default=0.0) + _TICK + 4, half) + _SIDE)
        named: dict[str, Mark] = {}
        for mark in (mark for panel in self.panels for mark in panel.marks if mark.name):
            named.setdefault(mark.name, mark)
        names, y = legend([(name, mark.key) for name, mark in named.items()], width)
        parts = [names]
        for panel in self.panels:
            drawn, y = _panel(panel, left, width, y, pointed)
            parts.append(drawn)
        return joined(parts), y


def legend(named: Sequence[tuple[str, Callable[[float, float], Html]]], width: float) -> tuple[Html, float]:
    """Names after their samples, in as many lines as they need, and where the drawing goes on."""
    if not named:
        return Html(""), 4.0
    x, y, parts = _SIDE, SIZE, []
    for name, key in named:
        lines = wrapped(name, width - 40)
        wide = 30 + max(map(width_of, lines)) + 14
        if x > _SIDE and (x + wide > width or len(lines) > 1):
            x, y = _SIDE, y + LEADING + 4
        parts += [key(x, y - 4.5), written(lines, x + 29, y)]
        x += wide
        if len(lines) > 1:
            x, y = _SIDE, y + LEADING * len(lines) + 4
    return tag("g", *parts, class_="legend"), y + (LEADING if x > _SIDE else 0) + 2


def titled(title: str, centre: float, width: float, y: float) -> tuple[Html, float]:
    """The title of a horizontal axis, under its middle or as near to that as keeps it on the drawing."""
    lines, parts = wrapped(title, width - 2 * _SIDE) if title else (), []
    for n, line in enumerate(lines):
        half = min(width_of(line) / 2 + _SIDE, width / 2)
        middle = min(max(centre, half), width - half)
        parts.append(written((line,), middle, y + SIZE + LEADING * n, "soft", "middle"))
    return joined(parts), y + LEADING * len(lines)


def _panel(panel: Panel, left: float, width: float, y: float, pointed: bool) -> tuple[Html, float]:
    parts: list[Html] = []
    for text, look in ((panel.heading, "heading"), (panel.upward.title, "soft")):
        lines = wrapped(text, width - 2 * _SIDE, bold=look == "heading") if text else ()
        parts.append(written(lines, _SIDE, y + SIZE, look))
        y += LEADING * len(lines)
    room = width - left - _SIDE
    ticks, upright = panel.across.across(room)
    right = 0.0 if upright or not ticks else width_of(ticks[-1][1]) / 2
    overhang = max(0.0, right - (1 - panel.across.at(ticks[-1][0])) * room) if ticks else 0.0
    if overhang:
        room -= overhang
        ticks, upright = panel.across.across(room)
    frame = Frame(left, y + 10, room, panel.height, panel.across, panel.upward, pointed)
    y = frame.top + frame.height
    for value, label in frame.upward.upward(frame.height):  # grid lines across, each with its number
        at = frame.y(value)
        parts.append(level(left, left + room, at, "grid"))
        parts.append(tag("text", label, x=left - _TICK - 3, y=at + SIZE * 0.36, text_anchor="end"))
    parts.append(tag("g", *(mark.draw(frame) for mark in panel.marks)))
    parts.append(tag("line", class_="axis", x1=left, x2=left, y1=frame.top, y2=y))
    parts.append(level(left, left + room, y, "axis"))
    folded = _folded(frame, ticks) if upright else ()  # else upright, where named ones do not fit side by side
    for n, (value, label) in enumerate(ticks):
        x = frame.x(value)
        parts.append(tag("line", class_="axis", x1=x, x2=x, y1=y, y2=y + _TICK))
        if folded and panel.labelled:
            parts.append(written(folded[n], x, y + _TICK + SIZE, None, "middle"))
        elif upright and panel.labelled:
            place = f"translate({x + SIZE * 0.36:.1f} {y + _TICK + 4:.1f}) rotate(-90)"
            parts.append(tag("text", label, transform=place, text_anchor="end"))
        elif panel.labelled:
            parts.append(tag("text", label, x=x, y=y + _TICK + SIZE, text_anchor="middle"))
    deep = LEADING * max(map(len, folded), default=1)
    if upright and not folded:
        deep = max((width_of(label) for _, label in ticks), default=0.0)
    y += _TICK + 4 + (deep if panel.labelled else 0.0)
    title, y = titled(panel.across.titled(room) if panel.labelled else "", left + room / 2, width, y)
    return joined(parts, title), y + 10


def _folded(frame: Frame, ticks: tuple[Tick, ...]) -> tuple[tuple[str, ...], ...]:
    """Each label on a few short lines, where whole words fit between its neighbours; nothing where they do not."""
    places = [frame.x(value) for value, _ in ticks]
    ends = [2 * (places[0] - frame.left), 2 * (frame.left + frame.width - places[-1])]
    room = min(*ends, *(b - a for a, b in pairwise(places))) - 8
    if any(width_of(word) > room for _, label in ticks for word in label.split(" ")):
        return ()
    folded = tuple(wrapped(label, room) for _, label in ticks)
    return folded if max(map(len, folded)) <= _FOLDS else ()


Bar = tuple[str, float, str, str]
"""Its name, its length, the number at its end, and its look."""


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Figure):
    """Bars under their names, each with its number; `keys`: look -> what such a bar is."""

    bars: tuple[Bar, ...]
    axis: Axis
    keys: Mapping[str, str]

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        numbers = max(width_of(said, bold=True) for _, _, said, _ in self.bars) + 8
        room, first = width - 2 * _SIDE - numbers, _SIDE
        if ticks := self.axis.across(room)[0]:  # half of its first and last labels must fit beside the axis
            (a, left), (b, right) = ticks[0], ticks[-1]
            before = max(0.0, width_of(left) / 2 - room * self.axis.at(a))
            after = max(0.0, width_of(right) / 2 - room * (1 - self.axis.at(b)) - numbers)
            room, first = room - before - after, _SIDE + before
        names, y = legend([(said, partial(block, f"bar {look}")) for look, said in self.keys.items()], width)
        top, parts = y, []
        for name, size, said, look in self.bars:
            lines = wrapped(name, width - 2 * _SIDE)
            parts.append(written(lines, _SIDE, y + SIZE))
            y += LEADING * len(lines) + 2
            long = max(room * self.axis.at(size), 1.0)
            title = tag("title", f"{name}: {said}") if pointed else None
            parts.append(tag("rect", title, class_=f"bar {look}", x=first, y=y, width=long, height=_BAR))
            parts.append(tag("text", said, class_="heading", x=first + long + 6, y=y + _BAR / 2 + 4.5))
            y += _BAR + _GAP
        ticks, _ = self.axis.across(room)
        grid = []
        for value, label in ticks:
            x = first + room * self.axis.at(value)
            grid.append(tag("line", class_="grid", x1=x, x2=x, y1=top, y2=y))
            parts.append(tag("text", label, x=x, y=y + SIZE + 4, text_anchor="middle"))
        parts.append(level(first, first + room, y, "axis"))
        title, y = titled(self.axis.title, first + room / 2, width, y + LEADING + 6)
        return joined(names, grid, parts, title), y + 6


Range = tuple[str, float, float, float, float | None, str]
"""Its name, a value, the ends of its interval (nan: it has none), half the width of another one, and what is written
beside the name."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranges(Figure):
    """Values in their intervals, one line each: a thick bar for its own, a pale one behind it for the other.

    What reaches beyond the axis ends at it. `keys`: what a dot, a bar and a pale bar are; without the last, none is."""

    rows: tuple[Range, ...]
    axis: Axis
    keys: tuple[str, ...]

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        labels = [f"{name}: {said}" for name, _, _, _, _, said in self.rows]
        side = max(map(width_of, labels)) + 12
        side = side if side <= 0.42 * width else 0.0  # beside the bars, or above each
        ends = [width_of(label) / 2 for _, label in self.axis.across(width - side - 2 * _SIDE)[0]]
        first, last = side + _SIDE + max(ends[:1], default=0.0), width - _SIDE - max(ends[-1:], default=0.0)

        def at(x: float) -> float:
            return first + (last - first) * self.axis.at(x)

        def bar(look: str, low: float, high: float, y: float, thick: float) -> Html:
            left, right = at(low), at(high)
            return tag("rect", class_=look, x=left, y=y - thick / 2, width=max(right - left, 1.0), height=thick)

        samples = (lambda x, y: tag("g", symbol("dot", x + 11, y, 3.0, ""), class_="dot ink"),
                   partial(block, "own"), partial(block, "other"))  # fmt: skip
        names, y = legend(list(zip(self.keys, samples, strict=False)), width)
        top, parts = y, []
        for label, (_, value, low, high, other, _) in zip(labels, self.rows, strict=True):
            if side:
                parts.append(written((label,), _SIDE, y + _BAR / 2 + SIZE * 0.36 + 3))
            else:
                lines = wrapped(label, width - 2 * _SIDE)
                parts.append(written(lines, _SIDE, y + SIZE))
                y += LEADING * len(lines)
            middle = y + _BAR / 2 + 3
            if other is not None:
                parts.append(bar("other", value - other, value + other, middle, _BAR))
            if low < high:
                parts.append(bar("own", low, high, middle, _BAR / 2))
            parts.append(tag("g", symbol("dot", at(value), middle, 3.0, label if pointed else ""), class_="dot ink"))
            y += _BAR + _GAP
        grid = []
        for value, label in self.axis.across(last - first)[0]:
            grid.append(tag("line", class_="grid", x1=at(value), x2=at(value), y1=top, y2=y))
            parts.append(tag("text", label, x=at(value), y=y + SIZE + 4, text_anchor="middle"))
        parts.append(level(first, last, y, "axis"))
        title, y = titled(self.axis.title, (first + last) / 2, width, y + LEADING + 6)
        return joined(names, grid, parts, title), y + 6


@dataclass(frozen=True, eq=False, repr=False)
class Heat(Figure):
    """Rows and columns of the same names, unless `columns` names them; columns are marked by their numbers.

    `samples`: what positive and negative numbers mean, after the largest of them."""

    names: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    columns: tuple[str, ...] = ()
    samples: tuple[str, str] = ("moved the same way", "moved opposite ways")

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """With many rows, only some are marked."""
        labels = [f"{n + 1}. {name}" if name != str(n + 1) else name for n, name in enumerate(self.names)]
        side = max(map(width_of, labels))
        if side > 0.45 * width:
            labels = [str(n + 1) for n in range(len(labels))]
            side = max(map(width_of, labels))
        left = _SIDE + side + 8
        across = len(self.columns or labels)
        cell = min(_MOST_CELL, (width - left - _SIDE) / across)
        most = max((abs(x) for row in self.cells for x in row), default=0.0) or 1.0
        largest = number(most)
        samples = [("a", f"+{largest}: {self.samples[0]}"), ("b", f"−{largest}: {self.samples[1]}")]
        negative = any(x < 0 for row in self.cells for x in row)
        names, y = legend([(said, partial(block, f"heat {look}")) for look, said in samples[: 1 + negative]], width)
        every = max(1, -int(-1.5 * SIZE // cell))
        apart = max(every, -int(-(width_of(str(across)) + 8) // cell))
        parts = [names]
        for n in range(0, across, apart):
            at = left + cell * (n + 0.5)
            parts.append(tag("text", str(n + 1), x=at, y=y + SIZE, text_anchor="middle"))
        y += LEADING
        for n, (label, row) in enumerate(zip(labels, self.cells, strict=True)):
            if n % every == 0:
                middle = y + cell / 2 + SIZE * 0.36
                parts.append(tag("text", label, x=left - 8, y=middle, text_anchor="end"))
            for m, x in enumerate(row):
                other = f"to {self.columns[m]}" if self.columns else f"and {self.names[m]}"
                said = f"{self.names[n]} {other}: {'−' if x < 0 else ''}{number(abs(x), digits=4)}"
                parts.append(tag(
                    "rect", tag("title", said) if pointed else None, class_="heat b" if x < 0 else "heat a",
                    x=left + cell * m, y=y, width=cell - 1, height=cell - 1, fill_opacity=abs(x) / most,
                ))  # fmt: skip
            y += cell
        return joined(parts), y + 8


def figure(drawing: Figure, *caption: Inside) -> Html:
    """The figure with its caption. Both drawings carry the same title and description as alternative text."""
    drawings = []
    for width, which in ((WIDE, "wide"), (NARROW, "narrow")):
        inside, height = drawing.draw(width, pointed=width == WIDE)
        names = [f"{drawing.name}-{which}-{part}" for part in ("title", "about")]
        told = tag("title", drawing.title, id=names[0]), tag("desc", drawing.about, id=names[1])
        box = f"0 0 {width:.0f} {height:.0f}"
        drawings.append(tag("svg", *told, inside, class_=f"chart {which}", viewBox=box, role="img",
                            aria_labelledby=names[0], aria_describedby=names[1]))  # fmt: skip
    return tag("figure", *drawings, tag("figcaption", *caption))
