"""Small log-log panels side by side as SVG text, with one list of names for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 1080, 520
_LEFT, _TOP, _WIDE, _HIGH, _BETWEEN = 64, 112, 252, 330, 84
_STYLES = (
    ("#999999", "", "circle"), ("#e69f00", "", "square"), ("#d55e00", "", "triangle"), ("#0072b2", "", "circle"),
    ("#56b4e9", "", "square"), ("#555555", "6 4", ""), ("#009e73", "", "triangle"), ("#cc79a7", "", "diamond"),
    ("#000000", "", "circle"),
)  # fmt: skip
"""Okabe and Ito's colours with shapes, so that curves are told apart without colour too."""
_SHAPES = {
    "square": "-4,-4 h8 v8 h-8 z",
    "triangle": "0,-5.5 l5,9 h-10 z",
    "diamond": "0,-5.5 l5.5,5.5 l-5.5,5.5 l-5.5,-5.5 z",
}
_FONT = "font-family='system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif'"
_TICKS = (1, 2, 5)


@dataclass(frozen=True)
class Curve:
    """One line: its name and (x, y) points, all positive."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Panel:
    """One column: its title and its curves, the same names in the same order in every panel."""

    title: str
    curves: tuple[Curve, ...]


def drawn(title: str, subtitle: str, panels: Sequence[Panel]) -> str:
    """The document."""
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    style = {name: _STYLES[k % len(_STYLES)] for k, name in enumerate(names)}
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-labelledby='t d'>",
        f"<title id='t'>{escape(title)}</title><desc id='d'>{escape(subtitle)}</desc>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>",
        _text(24, 32, title, 18, "#222222", weight=600),
        _text(24, 54, subtitle, 13, "#555555"),
    ]
    for k, panel in enumerate(panels):
        parts += _panel(panel, _LEFT + k * (_WIDE + _BETWEEN), style)
    each = (WIDTH - 48) / 5
    for k, name in enumerate(names):
        x, y = 24 + k % 5 * each, _TOP + _HIGH + 46 + k // 5 * 22
        colour, dashes, shape = style[name]
        parts += [_line([(x, y - 4), (x + 26, y - 4)], colour, dashes), _mark(x + 13, y - 4, colour, shape)]
        parts.append(_text(x + 34, y, name, 13, "#222222"))
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, left: float, style: dict[str, tuple[str, str, str]]) -> list[str]:
    xs = [x for curve in panel.curves for x, _ in curve.points]
    ys = [y for curve in panel.curves for _, y in curve.points]
    ends = (math.log10(min(xs)), math.log10(max(xs))), (math.log10(min(ys)) - 0.1, math.log10(max(ys)) + 0.1)

    def at(point: tuple[float, float]) -> tuple[float, float]:
        (x_low, x_high), (y_low, y_high) = ends
        across = (math.log10(point[0]) - x_low) / (x_high - x_low)
        up = (math.log10(point[1]) - y_low) / (y_high - y_low)
        return left + across * _WIDE, _TOP + _HIGH - up * _HIGH

    parts = [_text(left, _TOP - 14, panel.title, 14, "#222222", weight=600)]
    for tick in _marks(10 ** ends[1][0], 10 ** ends[1][1]):
        y = at((min(xs), tick))[1]
        parts.append(_line([(left, y), (left + _WIDE, y)], "#dddddd"))
        parts.append(_text(left - 8, y + 4, f"{tick:g}", 12, "#555555", "end"))
    for tick in (x for x in _marks(min(xs), max(xs)) if f"{x:g}"[-1] in "125"):
        x = at((tick, 10 ** ends[1][0]))[0]
        parts += [
            _line([(x, _TOP), (x, _TOP + _HIGH)], "#eeeeee"),
            _text(x, _TOP + _HIGH + 18, f"{tick:g}", 12, "#555555", "middle"),
        ]
    parts.append(_text(left + _WIDE + 12, _TOP + _HIGH + 18, "ε", 14, "#222222"))
    for curve in panel.curves:
        colour, dashes, shape = style[curve.name]
        placed = [at(point) for point in curve.points]
        parts.append(_line(placed, colour, dashes))
        parts += [_mark(x, y, colour, shape) for x, y in placed]
    return parts


def _marks(low: float, high: float) -> list[float]:
    """1, 2, 5 times the powers of ten in the range; the powers alone where those are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [m * 10.0**k for k in powers for m in _TICKS]
    found = [x for x in every if low * 0.999 <= x <= high * 1.001]
    return found if len(found) <= 9 else [x for x in found if round(math.log10(x), 9).is_integer()]


def _line(points: Sequence[tuple[float, float]], colour: str, dashes: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    broken = f" stroke-dasharray='{dashes}'" if dashes else ""
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.6'{broken}/>"


def _mark(x: float, y: float, colour: str, shape: str) -> str:
    if shape == "circle":
        return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.4' fill='{colour}'/>"
    if not shape:
        return ""
    return f"<path d='M{_SHAPES[shape]}' transform='translate({x:.1f},{y:.1f})' fill='{colour}'/>"


def _text(x: float, y: float, text: str, size: int, colour: str, anchor: str = "start", weight: int = 400) -> str:
    how = f"x='{x:.1f}' y='{y:.1f}' font-size='{size}' fill='{colour}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text {how} {_FONT}>{escape(text)}</text>"
