"""The three figures, as the dictionaries that plotly draws.

Plotly reads text as HTML-like markup, so every name from outside passes `plain` first."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.report.curves import Laws, Ratio
from fugu.report.facts import Facts, Line
from fugu.report.views import View
from fugu.report.words import clean, factor, number

FIRST, SECOND, CURVE, POINTS, BAND = "#0072B2", "#D55E00", "#1B1B1B", "#007A59", "rgba(86,180,233,0.20)"
"""Okabe and Ito's colours, which stay apart for colour-blind readers; dashes and hatching repeat what colour says."""
CONFIG = {"displayModeBar": False, "displaylogo": False, "showLink": False, "scrollZoom": False, "responsive": True,
          "plotlyServerURL": "", "showTips": False}  # fmt: skip
_FEW = 40
"""Up to this many places bars are drawn, above it lines."""

Figure = dict[str, Any]


def plain(text: object, most: int = 28) -> str:
    """A user's name as figure text: one short line in which markup is only text.

    >>> plain("<b>A&B</b>")
    '&lt;b&gt;A&amp;B&lt;/b&gt;'
    """
    return html.escape(clean(text, most), quote=False)


def laws_figure(view: View, curve: Laws, f: Facts, categories: Sequence[str] = ()) -> Figure:
    """Both laws, before noise above and after noise below; one panel if there is no noise."""
    noisy = view.steps > 0
    panels = [("before noise (never published)", curve.before)]
    panels = [*panels, ("with noise (what is published)", curve.after)] if noisy else [("as published", curve.after)]
    per = "" if curve.group == 1 else f"<br>per step of {number(curve.width)}"
    layout = _layout(520 if noisy else 340)
    layout |= {"barmode": "group", "bargap": 0.25, "bargroupgap": 0.0, "annotations": []}
    layout["margin"]["t"] = 64
    data = []
    for k, (title, heights) in enumerate(panels):
        axis = "" if k == 0 else str(k + 1)
        top, bottom = (1.0, 0.0) if not noisy else ((1.0, 0.57), (0.43, 0.0))[k]
        last = k == len(panels) - 1
        data += _panel(view, curve.values, heights, axis, k == 0)
        layout[f"yaxis{axis}"] = _axis(f"probability{per}", domain=[bottom, top], rangemode="tozero", nticks=5)
        layout[f"xaxis{axis}"] = _axis(_value_title(view, f) if last else "", anchor=f"y{axis}", matches=None if last else "x2",
                                       showticklabels=last) | _ticks(view, categories)  # fmt: skip
        layout["annotations"].append(
            {"text": f"<b>{title}</b>", "xref": "paper", "yref": "paper", "x": 0, "y": top, "xanchor": "left",
             "yanchor": "bottom", "showarrow": False, "font": {"size": 13}})  # fmt: skip
    return {"data": data, "layout": layout}


def _panel(view: View, values: NDArray[np.float64], heights: NDArray[np.float64], axis: str, legend: bool) -> list[Figure]:
    held = np.any(heights > 0, axis=0)
    bars = int(held.sum()) <= _FEW
    traces = []
    for row, (name, colour, pattern, dash) in enumerate(
        ((view.first, FIRST, "", "solid"), (view.second, SECOND, "/", "dash"))
    ):
        shown = plain(name)
        trace: Figure = {
            "name": f"if “{shown}”", "legendgroup": str(row), "showlegend": legend, "xaxis": f"x{axis}", "yaxis": f"y{axis}",
            "hovertemplate": "value %{x}<br>probability %{y}<extra>" + shown.replace("%", "&#37;") + "</extra>",
        }  # fmt: skip
        if bars:
            width = _bar_width(values, held)
            trace |= {"type": "bar", "x": _numbers(values[held], 12), "y": _numbers(heights[row][held]), "width": width,
                      "offset": (row - 1) * width,
                      "marker": {"color": colour, "pattern": {"shape": pattern, "fgcolor": "white", "size": 6}}}  # fmt: skip
        else:
            trace |= {"type": "scatter", "mode": "lines", "x": _numbers(values, 12), "y": _numbers(heights[row]),
                      "line": {"color": colour, "width": 2, "dash": dash, "shape": "linear"}}  # fmt: skip
        traces.append(trace)
    return traces


def ratio_figure(view: View, curve: Ratio, f: Facts, categories: Sequence[str] = ()) -> Figure:
    """The log-ratio after noise as a line inside the promised band, before noise as points; what is beyond the axis
    is drawn as a triangle at its edge."""
    noisy = view.steps > 0
    finite = np.abs(curve.after[np.isfinite(curve.after)])
    top = max(2.0 * f.epsilon, 1.3 * float(finite.max(initial=0.0)), 1e-3)
    data = _points(curve, top, noisy)
    if noisy:
        mode = "lines+markers" if len(curve.values) <= _FEW else "lines"
        data.append(
            {"type": "scatter", "mode": mode, "name": "with noise (published)", "x": _numbers(curve.values, 12),
             "y": _numbers(curve.after), "line": {"color": CURVE, "width": 2.5}, "marker": {"size": 6},
             "customdata": _factors(curve.after), "hovertemplate": "value %{x}<br>%{customdata}<extra></extra>"})  # fmt: skip
    a, b = plain(view.first, 20), plain(view.second, 20)
    layout = _layout(420)
    layout["margin"]["t"] = 44
    layout["xaxis"] = _axis(_value_title(view, f), zeroline=False) | _ticks(view, categories)
    layout["yaxis"] = _axis("log of the likelihood ratio", range=[-1.08 * top, 1.08 * top], zeroline=True,
                            zerolinecolor="#8A8A8A", nticks=7)  # fmt: skip
    layout["shapes"] = [
        {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": -f.epsilon, "y1": f.epsilon, "fillcolor": BAND,
         "line": {"width": 1, "color": FIRST, "dash": "dot"}, "layer": "below"}]  # fmt: skip
    limit = f"limit ε = {number(f.epsilon, 'up', 6)}: odds × {factor(f.epsilon)}"
    layout["annotations"] = [
        _note(limit, f.epsilon, "bottom", FIRST), _note(f"odds ÷ {factor(f.epsilon)}", -f.epsilon, "top", FIRST),
        _note(f"↑ speaks for “{a}”", 1.08 * top, "top", "#444", left=False),
        _note(f"↓ speaks for “{b}”", -1.08 * top, "bottom", "#444", left=False)]  # fmt: skip
    return {"data": data, "layout": layout}


def _points(curve: Ratio, top: float, noisy: bool) -> list[Figure]:
    beyond = np.abs(curve.before) > top
    name = "without noise" if noisy else "as published (no noise)"
    many = len(curve.atoms) > 2 * _FEW
    traces = []
    for mask, heights, symbol, label in (
        (~beyond, curve.before, "circle-open" if noisy else "circle", name),
        (curve.before > top, np.full_like(curve.before, top), "triangle-up", f"{name}, beyond this axis"),
        (curve.before < -top, np.full_like(curve.before, -top), "triangle-down", f"{name}, beyond this axis"),
    ):
        if mask.any():
            shown = not any(trace["name"] == label for trace in traces)
            size = 5 if many else 9
            traces.append(
                {"type": "scatter", "mode": "markers", "name": label, "showlegend": shown, "legendgroup": label,
                 "x": _numbers(curve.atoms[mask], 12), "y": _numbers(heights[mask]), "cliponaxis": False,
                 "marker": {"color": POINTS, "symbol": symbol, "size": size, "line": {"width": 1 if many else 2}},
                 "customdata": _factors(curve.before[mask]),
                 "hovertemplate": "value %{x}<br>%{customdata}<extra></extra>"})  # fmt: skip
    return traces


def methods_figure(lines: Sequence[Line], f: Facts) -> Figure | None:
    """Expected absolute error (bars) and scale (diamonds) of each method, on a log axis; None if no method adds noise."""
    drawn = [line for line in lines if 0 < line.error < math.inf]
    if not drawn:
        return None
    sizes = [x for line in drawn for x in (line.error, line.scale)]
    high = max(sizes)
    low = max(min(sizes), high * 1e-5)
    names = [plain(line.method) + (" ★" if line.used else "") for line in drawn]
    colours = [SECOND if line.used else FIRST for line in drawn]
    data: list[Figure] = [
        {"type": "bar", "orientation": "h", "name": "average error", "y": names, "x": _numbers([x.error for x in drawn]),
         "marker": {"color": colours}, "text": [number(x.error) for x in drawn], "textposition": "outside",
         "cliponaxis": False, "hovertemplate": "average error %{x}<extra></extra>"},
        {"type": "scatter", "mode": "markers", "name": "noise scale", "y": names, "x": _numbers([x.scale for x in drawn]),
         "marker": {"symbol": "diamond", "size": 10, "color": "white", "line": {"color": CURVE, "width": 2}},
         "hovertemplate": "scale %{x}<extra></extra>"},
    ]  # fmt: skip
    layout = _layout(120 + 44 * len(drawn)) | {"bargap": 0.35, "showlegend": True}
    layout["margin"]["t"] = 40
    layout["xaxis"] = _axis(f"units of {plain(f.query)}, log scale", type="log", range=[math.log10(low / 2.5), math.log10(high * 3.5)],
                            dtick=1 if high / low > 30 else "D1")  # fmt: skip
    layout["yaxis"] = {**_axis(""), "autorange": "reversed", "type": "category", "showgrid": False}
    return {"data": data, "layout": layout}


def _layout(height: int) -> Figure:
    return {
        "height": height, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "white", "dragmode": False, "hovermode": "closest",
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": "#1B1B1B"},
        "margin": {"l": 8, "r": 16, "t": 8, "b": 8}, "hoverlabel": {"font": {"size": 13}},
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yref": "container", "yanchor": "top", "xanchor": "left"},
    }  # fmt: skip


def _axis(title: str, **more: Any) -> Figure:
    set_here = {key: value for key, value in more.items() if value is not None}
    return {"title": {"text": title, "standoff": 10}, "automargin": True, "fixedrange": True, "gridcolor": "#E4E4E4",
            "linecolor": "#8A8A8A", "showline": True, "ticks": "outside", "zeroline": False, **set_here}  # fmt: skip


def _value_title(view: View, f: Facts) -> str:
    name = plain(f.query, 40)
    return f"value of {name}" if view.lattice else f"possible values of {name}, numbered in increasing order"


def _ticks(view: View, categories: Sequence[str]) -> Figure:
    """Names of categories at their codes 0, 1, 2, ..., where values are codes and the names are few."""
    if not view.lattice or not 0 < len(categories) <= 12:
        return {}
    return {"tickvals": list(range(len(categories))), "ticktext": [f"{plain(c, 14)} ({i})" for i, c in enumerate(categories)]}


def _note(text: str, y: float, anchor: str, colour: str, left: bool = True) -> Figure:
    side = "left" if left else "right"
    return {"text": text, "xref": "paper", "x": 0.01 if left else 0.99, "xanchor": side, "y": y, "yanchor": anchor,
            "showarrow": False, "font": {"size": 12, "color": colour}, "bgcolor": "rgba(255,255,255,0.7)"}  # fmt: skip


def _bar_width(values: NDArray[np.float64], held: NDArray[np.bool_]) -> float:
    """Bars of a pair fill at most 80 % of the least gap, and no more than a twelfth of the picture."""
    gaps = np.diff(values[held])
    span = float(values[-1] - values[0]) or 1.0
    return 0.4 * min(float(gaps.min()) if gaps.size else span, span / 6)


def _numbers(values: Any, digits: int = 5) -> list[float]:
    return [float(f"{v:.{digits}g}") for v in np.asarray(values, dtype=np.float64).tolist()]


def _factors(logs: NDArray[np.float64]) -> list[str]:
    """What a log-ratio does to the odds, for the hover box."""
    found = []
    for x in logs.tolist():
        sign = "×" if x >= 0 else "÷"
        found.append("settles the question" if math.isinf(x) else f"log ratio {x:.4g}: odds {sign} {number(math.exp(min(abs(x), 700)))}")
    return found
