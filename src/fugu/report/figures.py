"""The three figures, as the dictionaries that plotly draws.

Plotly reads text as HTML-like markup, so every name from outside passes `plain` first."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.report import style
from fugu.report.curves import FEW, Histogram, Laws, Ratio
from fugu.report.facts import Facts
from fugu.report.methods import Line
from fugu.report.style import FIRST, SECOND, Figure
from fugu.report.text import VALUE, clean, factor, number
from fugu.report.views import View


def plain(text: object, most: int = 28) -> str:
    """A user's name as figure text: one short line in which markup is only text.

    >>> plain("<b>A&B</b>")
    '&lt;b&gt;A&amp;B&lt;/b&gt;'
    """
    return html.escape(clean(text, most), quote=False)


def laws_figure(view: View, curve: Laws, f: Facts, categories: Sequence[str] = ()) -> Figure:
    """Both laws, before noise above and after noise below; one panel if there is no noise."""
    panels = [("before noise (never published)", curve.before), ("with noise (what is published)", curve.after)]
    places = [(0.57, 1.0), (0.0, 0.43)]
    if not view.noisy:
        panels, places = [("as published", curve.after)], [(0.0, 1.0)]
    height = 340 if not view.noisy else 540
    layout = style.layout(height, top=64) | {"annotations": []}
    ticks = _ticks(view, curve.after.values, categories)
    data: list[Figure] = []
    for k, ((title, law), (bottom, top)) in enumerate(zip(panels, places, strict=True)):
        axis, last = "" if k == 0 else str(k + 1), k == len(panels) - 1
        per = "" if law.group == 1 else f"<br>per step of {number(law.width)}"
        data += _panel(view, law, curve.after.values, axis)
        layout[f"yaxis{axis}"] = style.axis(f"probability{per}", domain=[bottom, top], rangemode="tozero", nticks=5)
        link = {} if last else {"matches": "x2", "showticklabels": False}
        layout[f"xaxis{axis}"] = style.axis(_value_title(view, f) if last else "", anchor=f"y{axis}") | ticks | link
        layout["annotations"].append(style.heading(title, top))
    return {"data": data, "layout": layout}


def _panel(view: View, law: Histogram, window: NDArray[np.float64], axis: str) -> list[Figure]:
    """Bars side by side for few places, else lines; a law of gathered atoms as steps."""
    few = len(law.values) <= FEW
    width = _bar_width(law.values, float(np.ptp(window)))
    shape = "linear" if law.values is window else "hvh"
    traces = []
    for row, (name, colour, pattern, dash) in enumerate(
        ((view.first, FIRST, "", "solid"), (view.second, SECOND, "/", "dash"))
    ):
        shown = plain(name)
        trace: Figure = {"name": f"if “{shown}”", "x": _numbers(law.values, 12), "y": _numbers(law.heights[row])}
        trace |= {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "legendgroup": str(row), "showlegend": not axis}
        trace["hovertemplate"] = f"value %{{x}}<br>probability %{{y}}<extra>{shown.replace('%', '&#37;')}</extra>"
        if few:
            hatch = {"shape": pattern, "fillmode": "overlay", "fgcolor": "white", "fgopacity": 0.8, "size": 7}
            trace |= {"type": "bar", "width": width, "offset": (row - 1) * width}
            trace |= {"marker": {"color": colour, "pattern": hatch}}
        else:
            trace |= {"type": "scatter", "mode": "lines", "line": {"color": colour, "dash": dash, "shape": shape}}
        traces.append(trace)
    return traces


def ratio_figure(view: View, curve: Ratio, f: Facts, categories: Sequence[str] = ()) -> Figure:
    """The log-ratio after noise as a line inside the promised band, before noise as points; what is beyond the
    axis is drawn as a triangle at its edge."""
    top = max(2.0 * f.epsilon, 1.3 * curve.drawn, 1e-3)
    data = _points(curve, top, noisy=view.noisy)
    if view.noisy:
        mode = "lines+markers" if len(curve.values) <= FEW else "lines"
        line: Figure = {"type": "scatter", "mode": mode, "name": "with noise (published)"}
        line |= {"x": _numbers(curve.values, 12), "y": _numbers(curve.after)} | _hover(curve.after)
        data.append(line | {"line": {"color": style.CURVE, "width": 2.5}, "marker": {"size": 6}})
    edge = 1.25 * top
    layout = style.layout(430, top=44)
    layout["xaxis"] = style.axis(_value_title(view, f)) | _ticks(view, curve.values, categories)
    layout["yaxis"] = style.axis("log of the likelihood ratio", range=[-edge, edge], nticks=7) | style.ZERO
    layout["shapes"] = [style.band(f.epsilon)]
    layout["annotations"] = [
        style.note(f"limit ε = {number(f.epsilon, 'up', 6)}: odds × {factor(f.epsilon)}", f.epsilon, "bottom", FIRST),
        style.note(f"odds ÷ {factor(f.epsilon)}", -f.epsilon, "top", FIRST),
        style.note(f"↑ speaks for “{plain(view.first, 20)}”", edge, "top", style.SOFT, side="right"),
        style.note(f"↓ speaks for “{plain(view.second, 20)}”", -edge, "bottom", style.SOFT, side="right"),
    ]
    return {"data": data, "layout": layout}


def _points(curve: Ratio, top: float, noisy: bool) -> list[Figure]:
    name = "without noise" if noisy else "as published (no noise)"
    many = len(curve.atoms) > 2 * FEW
    traces: list[Figure] = []
    for mask, symbol, label in (
        (np.abs(curve.before) <= top, "circle-open" if noisy else "circle", name),
        (curve.before > top, "triangle-up", f"{name}, beyond this axis"),
        (curve.before < -top, "triangle-down", f"{name}, beyond this axis"),
    ):
        if not mask.any():
            continue
        logs = curve.before[mask]
        first = all(trace["name"] != label for trace in traces)
        marker: Figure = {"color": style.POINTS, "symbol": symbol, "size": 5 if many else 9}
        marker |= {"line": {"width": 1 if many else 2}}
        trace: Figure = {"type": "scatter", "mode": "markers", "name": label, "marker": marker}
        trace |= {"legendgroup": label, "showlegend": first, "cliponaxis": False} | _hover(logs)
        traces.append(trace | {"x": _numbers(curve.atoms[mask], 12), "y": _numbers(np.clip(logs, -top, top))})
    return traces


def methods_figure(lines: Sequence[Line], f: Facts) -> Figure | None:
    """Expected absolute error (bars) and scale (diamonds) of each method on a log axis; None if none adds noise."""
    errors = [(line, line.error) for line in lines if line.error is not None and 0 < line.error < math.inf]
    if not errors:
        return None
    drawn = [line for line, _ in errors]
    sizes = [x for line, error in errors for x in (error, line.scale)]
    low, high = max(min(sizes), max(sizes) * 1e-5) / 2.5, max(sizes) * 2
    several = len({line.noise for line in lines}) > 1
    kinds = [f", {line.noise}" if several else "" for line in drawn]
    names = [plain(line.method) + kind + (" ★" if line.used else "") for line, kind in zip(drawn, kinds, strict=True)]
    bars: Figure = {"type": "bar", "orientation": "h", "name": "average error", "y": names}
    bars |= {"x": _numbers([line.error for line in drawn]), "hovertemplate": "average error %{x}<extra></extra>"}
    bars |= {"marker": {"color": [SECOND if line.used else FIRST for line in drawn]}}
    marks: Figure = {"type": "scatter", "mode": "markers", "name": "noise scale", "y": names}
    marks |= {"x": _numbers([line.scale for line in drawn]), "hovertemplate": "scale %{x}<extra></extra>"}
    marks |= {"marker": {"symbol": "diamond", "size": 10, "color": "white", "line": {"color": style.CURVE, "width": 2}}}
    steps = (1, 2, 5) if high / low < 300 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**k for k in powers for m in steps if low <= m * 10.0**k <= high]
    layout = style.layout(120 + 40 * len(drawn), top=40) | {"bargap": 0.35, "showlegend": True}
    layout["xaxis"] = style.axis(f"units of {plain(f.query)} (log scale)", type="log", tickvals=ticks)
    layout["xaxis"] |= {"range": [math.log10(low), math.log10(high)], "ticktext": [number(t) for t in ticks]}
    layout["yaxis"] = style.axis("", autorange="reversed", type="category", showgrid=False)
    return {"data": [bars, marks], "layout": layout}


MOST_COVARIANCES = 60
"""Coordinates up to which a covariance is drawn."""


def covariance_figure(f: Facts, names: Sequence[str]) -> Figure | None:
    """The covariance of correlated noise as a heat map, white at 0; None where there is none or it is too large.

    Of a mixture, that of the first noise."""
    if not f.covariances or len(names) > MOST_COVARIANCES:
        return None
    rows = f.covariances[0]
    most = max((abs(x) for row in rows for x in row), default=0.0) or 1.0
    shown = [f"{j + 1}. {plain(name)}" if name != str(j + 1) else name for j, name in enumerate(names)]
    heat: Figure = {"type": "heatmap", "x": shown, "y": shown, "z": [_numbers(row) for row in rows]}
    heat |= {"zmin": -most, "zmax": most, "xgap": 1, "ygap": 1, "colorbar": {"title": {"text": "covariance"}}}
    heat |= {"colorscale": [[0, SECOND], [0.5, "#FFFFFF"], [1, FIRST]]}
    heat["hovertemplate"] = "%{y} and %{x}: %{z}<extra></extra>"
    layout = style.layout(220 + 26 * len(names), top=16)
    layout["xaxis"] = style.axis("coordinate", type="category", showgrid=False)
    layout["yaxis"] = style.axis("", type="category", autorange="reversed", showgrid=False)
    return {"data": [heat], "layout": layout}


def _value_title(view: View, f: Facts) -> str:
    name = "" if f.query == VALUE else f" of {plain(f.query, 40)}"
    if view.coordinate is not None:
        name += f", coordinate {view.coordinate + 1}"
    return f"value{name}" if view.lattice else f"possible values{name}, numbered in increasing order"


def _ticks(view: View, values: NDArray[np.float64], categories: Sequence[str]) -> Figure:
    """Marks of the axis: the names of categories, if few (their codes are 0, 1, ...), or each of few lattice points."""
    if view.lattice and 0 < len(categories) <= 12:
        return {"tickvals": list(range(len(categories))), "ticktext": [plain(name, 14) for name in categories]}
    return {"tickvals": _numbers(values, 12)} if len(values) <= 10 else {}


def _bar_width(values: NDArray[np.float64], span: float) -> float:
    """Two bars side by side fill at most 80 % of the least gap, and an eighth of the picture."""
    gaps = np.diff(values)
    return 0.4 * min(float(gaps.min()) if gaps.size else math.inf, (span or 1.0) / 6)


def _numbers(values: Any, digits: int = 5) -> list[float | None]:
    """Short numbers; None, which interrupts a line, for nan."""
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [None if math.isnan(v) else float(f"{v:.{digits}g}") for v in numbers]


def _hover(logs: NDArray[np.float64]) -> Figure:
    """What a log-ratio does to the odds, for the box at the pointer."""
    told = [_told(x) for x in logs.tolist()]
    return {"customdata": told, "hovertemplate": "value %{x}<br>%{customdata}<extra></extra>"}


def _told(x: float) -> str:
    if math.isnan(x):
        return ""
    return "settles the question" if math.isinf(x) else f"log {x:.4g}: odds {'×' if x >= 0 else '÷'} {factor(abs(x))}"
