"""`Html` and `tag`: markup that is built, never pasted; and what is drawn inside a frame: lines, steps, bars, points,
levels and bands. Looks are classes of the style sheet; a path has as few points as the eye needs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from fugu.drawing.axis import SIZE, Axis, wrapped
from fugu.visible import visible

Html = Markup
"""Markup of fugu's own, in which every text from outside is escaped already; what is pasted onto it is text."""
Inside = str | int | float | None | Iterable["Inside"]
"""What can stand in an element: text, markup, nothing, or several of these."""
_VOID = {"meta", "input", "br", "col"}
"""Elements of HTML that have no end."""


def escaped(text: object) -> Html:
    """A text as markup that shows exactly it; markup as it is. `visible` goes first: names from tables and certificates
    can hide nothing, turn no direction of writing around and end no element.

    >>> print(escaped("<b>A&B</b>"), escaped(Html("<b>x</b>")))
    &lt;b&gt;A&amp;B&lt;/b&gt; <b>x</b>
    """
    return escape(text if hasattr(text, "__html__") else visible(text, keep="\n"))


def joined(*parts: Inside) -> Html:
    """Parts one after another; None is nothing.

    >>> print(joined("a<", None, [1, Html("<br>")]))
    a&lt;1<br>
    """
    plain = (
        escaped(part) if isinstance(part, str | int | float) else joined(*part) for part in parts if part is not None
    )
    return Html("".join(plain))


def tag(element: str, /, *inside: Inside, **attributes: str | int | float | bool | None) -> Html:
    """One element. Attributes: a last `_` is dropped, others become `-`; None and False are left out, True has no
    value; numbers are written with at most two decimals.

    >>> print(tag("p", "a < b", class_="lead", aria_label='"'))
    <p class="lead" aria-label="&#34;">a &lt; b</p>
    >>> print(tag("input", type="radio", checked=True, disabled=False))
    <input type="radio" checked>
    """
    start = f"<{element}"
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        start += f" {name.removesuffix('_').replace('_', '-')}"
        if value is not True:
            start += f'="{short(value) if isinstance(value, int | float) else escaped(value)}"'
    start += ">"
    return Html(start if element in _VOID else f"{start}{joined(*inside)}</{element}>")


def short(x: float) -> str:
    """A number of a drawing: at most two decimals.

    >>> short(1.0), short(-0.001), short(12.345)
    ('1', '0', '12.35')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


LEADING = 1.35 * SIZE
Floats = tuple[float, ...]
Place = tuple[float, float]
NEAR = 0.3
"""How far, in the units of a drawing, a thinned line may be from the true one."""


@dataclass(frozen=True)
class Frame:
    """A place on a drawing with two axes: `x` and `y` turn values into positions; upward is up."""

    left: float
    top: float
    width: float
    height: float
    across: Axis
    upward: Axis
    pointed: bool = True
    """Whether there is a pointer, at which something can be said."""

    def told(self, said: tuple[str, ...], count: int) -> tuple[str, ...]:
        """What is said of each of so many marks; nothing where there is no pointer."""
        return said if said and self.pointed else ("",) * count

    def x(self, value: float) -> float:
        """The position of a value on the horizontal axis."""
        return self.left + self.width * self.across.at(value)

    def y(self, value: float) -> float:
        """The position of a value on the upright axis."""
        return self.top + self.height * (1 - self.upward.at(value))


class Mark(ABC):
    """One thing that is drawn; a `name` puts it in the legend."""

    name: str
    look: str

    @abstractmethod
    def draw(self, frame: Frame) -> Html:
        """The mark in its frame."""

    def key(self, x: float, y: float) -> Html:
        """A sample for the legend, 22 wide, from x on, around the height y: a line, if nothing else is said."""
        return level(x, x + 22, y, f"line {self.look}")


@dataclass(frozen=True)
class Line(Mark):
    """A line through points; nan interrupts it. `steps`: "middle" changes height half-way between two points, "ahead"
    before the farther one is reached, so that the line is never below it."""

    xs: Floats
    ys: Floats
    look: str
    name: str = ""
    steps: str = ""
    dots: bool = False
    told: tuple[str, ...] = ()
    """For each point with a dot, what is said of it at the pointer."""

    def draw(self, frame: Frame) -> Html:
        runs = [[(frame.x(x), frame.y(y)) for x, y in run] for run in self.runs()]
        drawn = [tag("path", class_=f"line {self.look}", d=path(run, self.steps)) for run in runs]
        dots: list[Html] = []
        if self.dots:
            told = frame.told(self.told, len(self.xs))
            for x, y, said in zip(self.xs, self.ys, told, strict=True):
                if not math.isnan(y):
                    dots.append(symbol("dot", frame.x(x), frame.y(y), 3.5, said))
        return joined(drawn, tag("g", dots, class_=f"dot {self.look}") if dots else None)

    def runs(self) -> Iterator[list[tuple[float, float]]]:
        """The stretches without an interruption."""
        run: list[tuple[float, float]] = []
        for x, y in zip(self.xs, self.ys, strict=True):
            if math.isnan(y):
                if run:
                    yield run
                run = []
            else:
                run.append((x, y))
        if run:
            yield run

    def key(self, x: float, y: float) -> Html:
        dot = tag("g", symbol("dot", x + 11, y, 3.5, ""), class_=f"dot {self.look}") if self.dots else None
        return joined(super().key(x, y), dot)


@dataclass(frozen=True)
class Bars(Mark):
    """Upright bars from 0; each begins `offset` beside its x and is `width` wide, in values of the axis."""

    xs: Floats
    heights: Floats
    look: str
    width: float
    offset: float
    name: str = ""
    told: tuple[str, ...] = ()

    def draw(self, frame: Frame) -> Html:
        told = frame.told(self.told, len(self.xs))
        drawn = []
        for x, height, said in zip(self.xs, self.heights, told, strict=True):
            left, right = frame.x(x + self.offset), frame.x(x + self.offset + self.width)
            top = frame.y(height)
            title = tag("title", said) if said else None
            wide = max(right - left, 0.6)
            size = {"width": wide, "height": max(frame.top + frame.height - top, 0.0)}
            drawn.append(tag("rect", title, x=left, y=top, **size))
        return tag("g", drawn, class_=f"bar {self.look}")

    def key(self, x: float, y: float) -> Html:
        return block(f"bar {self.look}", x, y)


@dataclass(frozen=True)
class Points(Mark):
    """Points of a shape: "ring", "dot", "up", "down", "diamond" or "star"; many small ones are "speck"s."""

    xs: Floats
    ys: Floats
    look: str
    shape: str
    name: str = ""
    size: float = 4.5
    told: tuple[str, ...] = ()

    def draw(self, frame: Frame) -> Html:
        if self.shape == "speck":
            points = zip(self.xs, self.ys, strict=True)
            return tag("path", class_=self._class, d=specks([(frame.x(x), frame.y(y)) for x, y in points]))
        every = zip(self.xs, self.ys, frame.told(self.told, len(self.xs)), strict=True)
        drawn = [symbol(self.shape, frame.x(x), frame.y(y), self.size, said) for x, y, said in every]
        return tag("g", drawn, class_=self._class)

    def key(self, x: float, y: float) -> Html:
        if self.shape == "speck":
            return tag("path", class_=self._class, d=specks([(x + 6, y + 2), (x + 11, y - 3), (x + 16, y + 3)]))
        return tag("g", symbol(self.shape, x + 11, y, self.size, ""), class_=self._class)

    @property
    def _class(self) -> str:
        return f"{self.shape if self.shape in ('ring', 'speck') else 'dot'} {self.look}"


@dataclass(frozen=True)
class Level(Mark):
    """A line across at one height, or, if `upright`, up at one value of the horizontal axis; `to` another height, the
    band between the two, shaded and with its edges."""

    at: float
    look: str
    name: str = ""
    upright: bool = False
    to: float | None = None

    def draw(self, frame: Frame) -> Html:
        if self.to is not None:
            top, bottom, right = frame.y(self.to), frame.y(self.at), frame.left + frame.width
            area = tag("rect", class_=self.look, x=frame.left, y=top, width=frame.width, height=bottom - top)
            return joined(area, [level(frame.left, right, y, f"{self.look}-edge") for y in (top, bottom)])
        if self.upright:
            x = frame.x(self.at)
            return tag("line", class_=f"line {self.look}", x1=x, x2=x, y1=frame.top, y2=frame.top + frame.height)
        return level(frame.left, frame.left + frame.width, frame.y(self.at), f"line {self.look}")


@dataclass(frozen=True)
class Whiskers(Mark):
    """Intervals: from low to high at each x."""

    xs: Floats
    lows: Floats
    highs: Floats
    look: str = "whisker"
    name: str = ""

    def draw(self, frame: Frame) -> Html:
        parts = []
        for x, low, high in zip(self.xs, self.lows, self.highs, strict=True):
            at, bottom, top = frame.x(x), frame.y(low), frame.y(high)
            parts.append(tag("line", class_=f"line {self.look}", x1=at, x2=at, y1=bottom, y2=top))
            parts += [level(at - 6, at + 6, end, f"line {self.look}") for end in (bottom, top)]
        return joined(parts)


@dataclass(frozen=True)
class Note(Mark):
    """A remark at the right end of one height, above that height or below it."""

    text: str
    at: float
    above: bool = True
    look: str = "note soft"
    name: str = ""

    def draw(self, frame: Frame) -> Html:
        lines = wrapped(self.text, frame.width - 12)
        first = frame.y(self.at) + (-6 - LEADING * (len(lines) - 1) if self.above else SIZE + 3)
        return written(lines, frame.left + frame.width - 6, first, self.look, "end")


def written(lines: Sequence[str], x: float, y: float, look: str | None = None, anchor: str | None = None) -> Html:
    """Lines of text, the first one at the height y."""
    return joined([
        tag("text", line, class_=look, x=x, y=y + LEADING * n, text_anchor=anchor) for n, line in enumerate(lines)
    ])  # fmt: skip


def path(places: list[Place], steps: str = "") -> str:
    """The `d` of a path through these places."""
    if steps == "middle":  # each height from half-way before its place to half-way after it
        halves = [((x + x2) / 2, y, y2) for (x, y), (x2, y2) in pairwise(places) if y != y2]
        places = [places[0], *(p for x, y, y2 in halves for p in ((x, y), (x, y2))), places[-1]]
    elif steps == "ahead":
        places = [places[0]] + [p for (x, _), (x2, y2) in pairwise(places)
                                for p in ((x, y2), (x2, y2))]  # fmt: skip
    else:
        places = thinned(places)
    return "M" + "L".join(f"{short(round(x, 1))} {short(round(y, 1))}" for x, y in places)


def thinned(places: list[Place], near: float = NEAR) -> list[Place]:
    """The same line without the points that a straight piece passes within `near` of (Douglas and Peucker 1973).

    >>> thinned([(0, 0), (1, 0.1), (2, 0), (3, 5)])
    [(0, 0), (2, 0), (3, 5)]
    """
    if len(places) < 3:
        return places
    kept, open_ = {0, len(places) - 1}, [(0, len(places) - 1)]
    while open_:
        first, last = open_.pop()
        if last - first < 2:
            continue
        across = [_away(place, places[first], places[last]) for place in places[first + 1 : last]]
        far = max(range(len(across)), key=across.__getitem__)
        if across[far] > near:
            middle = first + 1 + far
            kept.add(middle)
            open_ += [(first, middle), (middle, last)]
    return [places[k] for k in sorted(kept)]


def _away(place: Place, start: Place, end: Place) -> float:
    """How far a place is from the straight piece between two others, not from the line beyond its ends."""
    (x, y), (x1, y1), (x2, y2) = place, start, end
    square = (x2 - x1) ** 2 + (y2 - y1) ** 2
    along = min(1.0, max(0.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / square)) if square else 0.0
    return math.hypot(x - x1 - along * (x2 - x1), y - y1 - along * (y2 - y1))


def block(look: str, x: float, y: float) -> Html:
    """A filled sample for a legend."""
    return tag("rect", class_=look, x=x + 4, y=y - 6, width=14, height=12)


def level(left: float, right: float, y: float, look: str) -> Html:
    """A line across."""
    return tag("line", class_=look, x1=left, x2=right, y1=y, y2=y)


def specks(places: list[Place]) -> str:
    """The `d` of many small points: strokes of no length with round ends. Of points within a pixel one is kept."""
    kept = {(round(x), round(y)): (x, y) for x, y in places}
    return "".join(f"M{short(round(x, 1))} {short(round(y, 1))}h0" for x, y in kept.values())


def symbol(shape: str, x: float, y: float, size: float, told: str) -> Html:
    """A point of a shape; `told` is shown at the pointer."""
    title = tag("title", told) if told else None
    if shape in ("ring", "dot"):
        return tag("circle", title, cx=x, cy=y, r=size)
    corners = " ".join(f"{short(x + size * a)},{short(y + size * b)}" for a, b in _SHAPES[shape])
    return tag("polygon", title, points=corners)


_SHAPES: dict[str, tuple[Place, ...]] = {
    "up": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
    "down": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "star": tuple(
        (r * math.sin(math.pi * k / 5), -r * math.cos(math.pi * k / 5))
        for k in range(10)
        for r in ((1.6, 0.65)[k % 2],)
    ),
}
