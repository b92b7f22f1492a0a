"""A log-log line chart as SVG text: decades as grid lines, a marker and a name for every line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 860, 540
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 640, 84, 468
_STYLES = (
    ("#0072b2", "circle"),
    ("#d55e00", "square"),
    ("#009e73", "triangle"),
    ("#cc79a7", "diamond"),
    ("#555555", "cross"),
)
"""Okabe and Ito's colours, told apart by every common kind of colour vision; the shapes work without any."""
_OUTLINES = {
    "square": "-4.5,-4.5 h9 v9 h-9 z",
    "triangle": "0,-6 l5.5,10 h-11 z",
    "diamond": "0,-6 l6,6 l-6,6 l-6,-6 z",
}
_FONT = "font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif'"
_LINE_HEIGHT = 34
_GREY = "#555555"


@dataclass(frozen=True)
class Series:
    """One line: its name, a remark below it, and (x, y) points, all positive."""

    name: str
    note: str
    points: tuple[tuple[float, float], ...]
    dashed: bool = False


def chart(title: str, subtitle: str, x_label: str, series: list[Series]) -> str:
    """The document; y is explained by the subtitle, so that no text stands on its side."""
    x_low, x_high = _decades([x for s in series for x, _ in s.points])
    y_low, y_high = _decades([y for s in series for _, y in s.points])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = (math.log10(point[0]) - x_low) / (x_high - x_low)
        up = (math.log10(point[1]) - y_low) / (y_high - y_low)
        return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - up * (_BOTTOM - _TOP)

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-labelledby='t d'>",
        f"<title id='t'>{escape(title)}</title><desc id='d'>{escape(subtitle)}</desc>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
        _text(_LEFT - 50, 32, title, 18, "#222222", weight=600),
        _text(_LEFT - 50, 56, subtitle, 13, _GREY),
    ]
    for k in range(x_low, x_high + 1):
        x, _ = at((10.0**k, 10.0**y_low))
        parts += [_rule(x, _TOP, x, _BOTTOM), _power(x, _BOTTOM + 22, k, "middle")]
    for k in range(y_low, y_high + 1):
        _, y = at((10.0**x_low, 10.0**k))
        parts += [_rule(_LEFT, y, _RIGHT, y), _power(_LEFT - 10, y + 5, k, "end")]
    parts.append(_text((_LEFT + _RIGHT) / 2, _BOTTOM + 52, x_label, 14, "#222222", anchor="middle"))
    heights = _apart([at(s.points[-1])[1] for s in series])
    for (colour, shape), one, height in zip(_STYLES, series, heights, strict=False):
        parts += _drawn(one, [at(p) for p in one.points], colour, shape, height)
    return "\n".join([*parts, "</svg>", ""])


def _drawn(one: Series, places: list[tuple[float, float]], colour: str, shape: str, height: float) -> list[str]:
    """The line, its markers, and its name beside the right edge."""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    look = "stroke-width='2.2' stroke-linejoin='round'" + (" stroke-dasharray='6 4'" if one.dashed else "")
    x, y = places[-1]
    return [
        f"<polyline points='{path}' fill='none' stroke='{colour}' {look}/>",
        *(_marker(shape, a, b, colour) for a, b in places),
        _rule(x + 8, y, _RIGHT + 12, height, colour),
        _text(_RIGHT + 18, height + 1, one.name, 14, colour, weight=600),
        _text(_RIGHT + 18, height + 17, one.note, 12, _GREY),
    ]


def _marker(shape: str, x: float, y: float, colour: str) -> str:
    if shape == "cross":
        return f"<path d='M{x - 4:.1f},{y - 4:.1f}l8,8m0,-8l-8,8' stroke='{colour}' stroke-width='2'/>"
    look = f"fill='{colour}' stroke='#ffffff' stroke-width='1'"
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' {look}/>"
    return f"<path d='M{x:.1f},{y:.1f}m{_OUTLINES[shape]}' {look}/>"


def _text(x: float, y: float, words: str, size: int, colour: str, weight: int = 400, anchor: str = "start") -> str:
    look = f"font-size='{size}' font-weight='{weight}' fill='{colour}' text-anchor='{anchor}' {_FONT}"
    return f"<text x='{x:.1f}' y='{y:.1f}' {look}>{words if '<tspan' in words else escape(words)}</text>"


def _power(x: float, y: float, k: int, anchor: str) -> str:
    """10 to the k, or the plain number where it is short."""
    raised = f"10<tspan font-size='10' dy='-6'>{str(k).replace('-', chr(0x2212))}</tspan>"
    return _text(x, y, str(10**k) if 0 <= k <= 2 else raised, 13, "#444444", anchor=anchor)


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str = "#dddddd") -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{colour}'/>"


def _decades(values: list[float]) -> tuple[int, int]:
    """Whole powers of ten around all values; a hair beyond a power does not open a new decade."""
    return math.floor(math.log10(min(values)) + 0.02), math.ceil(math.log10(max(values)) - 0.02)


def _apart(heights: list[float]) -> list[float]:
    """Heights for the names: in the order of the lines' ends, none closer than a name is tall."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = dict.fromkeys(order, 0.0)
    above = -math.inf
    for i in order:
        placed[i] = above = max(heights[i], above + _LINE_HEIGHT)
    below = float(_BOTTOM)
    for i in reversed(order):
        placed[i] = below = min(placed[i], below)
        below -= _LINE_HEIGHT
    return [placed[i] for i in range(len(heights))]
