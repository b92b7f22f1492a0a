"""The page of `fugu property`: error against tolerance for every method, and what is guessed before and after noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fugu.auditing import AttackReport
from fugu.calibration.covariance.methods import WAYS
from fugu.guarantee.curve import Guarantee
from fugu.report import style
from fugu.report.figures import plain
from fugu.report.property_facts import MethodLine, SwapFigure
from fugu.report.shell import figure_page
from fugu.report.style import Figure
from fugu.report.text import number, percent
from fugu.scenario.property_model import PropertyModel, proved_words

_COLOURS = ("#56B4E9", "#E69F00", style.FIRST, "#CC79A7", style.POINTS, "#999999", style.SECOND)
_DASHES = ("dot", "dashdot", "dash", "longdash", "longdashdot", "dot", "solid")
_PLACES = {name: place for place, name in enumerate(WAYS)}
"""Every method keeps its colour, whichever others are drawn."""
_STEEP = 20.0
"""A ratio of largest to smallest error from which on the axis is logarithmic."""

_COSTS = (
    "Each line is a method that is proved, in the Gaussian model, to hide the share. The error is the average length "
    "of the noise that is added to all statistics together. The lower, the better; the dotted line is the tolerance "
    "asked for. On a log scale, points on the lower edge are 0: no noise is needed."
)
_STAR = (
    "The star needs no Gaussian model. It is found by drawing records of the reference, holds with a confidence of "
    "{confidence:.6g}, and is no plain guarantee; nothing is released with it."
)


def error_figure(
    by_tolerance: Mapping[float, Sequence[MethodLine]], asked: float, swap: SwapFigure | None = None
) -> Figure:
    """One line a method, of those proved; errors of 0 (no noise) lie on the lower edge of a logarithmic axis."""
    names = list(dict.fromkeys((x.method, x.noise) for lines in by_tolerance.values() for x in lines if x.proven))
    several = len({method for method, _ in names}) < len(names)
    heights = [x.error for lines in by_tolerance.values() for x in lines if x.proven and x.error > 0]
    if swap is not None and swap.error > 0:
        heights.append(swap.error)
    steep = bool(heights) and max(heights) > _STEEP * min(heights)
    floor = min(heights) / 2 if steep else 0.0
    data: list[Figure] = []
    for number_of, (method, noise) in enumerate(names):
        place = _PLACES.get(method, number_of)
        told = f"{method}, {noise}" if several else method
        points = [
            (t, x.error) for t, lines in by_tolerance.items() for x in lines if (x.method, x.noise) == (method, noise)
        ]
        line = {"color": _COLOURS[place % len(_COLOURS)], "dash": _DASHES[place % len(_DASHES)], "width": 2}
        trace: Figure = {"type": "scatter", "mode": "lines+markers", "name": plain(told), "line": line}
        trace |= {"x": [t for t, _ in points]}
        trace |= {"y": [max(e, floor) if math.isfinite(e) else None for _, e in points]}
        trace |= {"customdata": [number(e) if math.isfinite(e) else "not proved" for _, e in points]}
        data.append(trace | {"hovertemplate": "tolerance %{x}<br>average error %{customdata}<extra></extra>"})
    if swap is not None:
        marker = {"symbol": "star", "size": 13, "color": style.CURVE}
        name = "record swap: no Gaussian model"
        trace = {"type": "scatter", "mode": "markers", "name": name, "x": [asked], "y": [swap.error], "marker": marker}
        data.append(trace | {"hovertemplate": "average error %{y:.3g}<extra></extra>"})
    layout = style.layout(460, top=70)
    layout["xaxis"] = style.axis("tolerance: shares that differ by at most this must look alike", rangemode="tozero")
    words = "average error"
    layout["yaxis"] = style.axis(f"{words} (log scale)", type="log") if steep else style.axis(words, rangemode="tozero")
    layout["shapes"] = [{"type": "line", "x0": asked, "x1": asked, "yref": "paper", "y0": 0, "y1": 1,
                         "line": {"color": style.SOFT, "dash": "dot", "width": 1}}]  # fmt: skip
    return {"data": data, "layout": layout}


def attack_figure(before: AttackReport, after: AttackReport) -> Figure:
    """Shares of right guesses of the best attack, with their intervals; 1/2 is guessing blindly."""
    names, found = ["published as they are", "published with noise"], (before, after)
    middle = [x.accuracy for x in found]
    bars: Figure = {"type": "bar", "x": names, "y": middle, "width": 0.45, "showlegend": False}
    bars |= {"marker": {"color": [style.SECOND, style.FIRST]}, "hovertemplate": "%{y:.1%} right<extra></extra>"}
    bars["error_y"] = {
        "type": "data",
        "symmetric": False,
        "array": [x.interval[1] - x.accuracy for x in found],
        "arrayminus": [x.accuracy - x.interval[0] for x in found],
    }
    layout = style.layout(400, top=30)
    layout["xaxis"] = style.axis("", type="category")
    layout["yaxis"] = style.axis("share of right guesses", range=[0, 1.02], tickformat=".0%")
    edges = [(0.5, "guessing blindly", style.SOFT)]
    if after.epsilon is not None:
        edges.append((after.ceiling, f"most the guarantee allows: {percent(after.ceiling, 'up')}", style.FIRST))
    across = {"type": "line", "xref": "paper", "x0": 0, "x1": 1}
    layout["shapes"] = [
        across | {"y0": y, "y1": y, "line": {"color": colour, "dash": "dash", "width": 1.5}} for y, _, colour in edges
    ]
    layout["annotations"] = [style.note(text, y, "bottom", colour, side="right") for y, text, colour in edges]
    return {"data": [bars], "layout": layout}


def property_page(
    model: PropertyModel,
    budget: Guarantee,
    by_tolerance: Mapping[float, Sequence[MethodLine]],
    attacks: tuple[AttackReport, AttackReport] | None = None,
    swap: SwapFigure | None = None,
    assumptions: Sequence[str] = (),
) -> str:
    """One self-contained page, readable without the paper; it shows nothing of any private data, as none was read."""
    asked, published = float(model.tolerance), ", ".join(plain(s, 60) for s in model.statistics)
    what = (
        f"Published: {published}, of {model.size} records. Hidden: which share of the records has "
        f"<b>{plain(model.name, 60)}</b>. {plain(proved_words(model).capitalize(), 2000)}; the limit is "
        f"{plain(repr(budget), 90)}. Nothing was released to make this page."
    )
    parts = ["<h1>Hiding a property of the whole</h1>", f"<p>{what}</p>", "<h2>What it costs</h2>"]
    figures = {"error": error_figure(by_tolerance, asked, swap)}
    parts += ['<div id="error"></div>', f"<p>{_COSTS}</p>"]
    if swap is not None:
        parts.append(f"<p>{_STAR.format(confidence=swap.bound.confidence)}</p>")
    if attacks is not None:
        figures["attack"] = attack_figure(*attacks)
        parts += ["<h2>What an attacker guesses</h2>", '<div id="attack"></div>']
        parts.append(f"<p>{_guessed(*attacks)}</p>")
    if assumptions:
        stated = "".join(f"<li>{plain(a, 400)}</li>" for a in assumptions)
        parts.append(f"<h2>What this rests on</h2><ul>{stated}</ul>")
    return figure_page("Hiding a property of the whole", "\n".join(parts), figures)


def _guessed(before: AttackReport, after: AttackReport) -> str:
    told = "" if after.epsilon is None else f", where the guarantee says at most {number(float(after.epsilon))}"
    return (
        "Data sets were drawn from the reference under two shares, with equal odds, and a guesser was trained to tell "
        f"which. It was right in {percent(before.accuracy)} of {before.test} trials on the statistics as they are, and "
        f"in {percent(after.accuracy)} with noise. Bars at the top are intervals of confidence "
        f"{float(after.confidence):g}. From the guesses with noise it follows that epsilon is at least "
        f"{number(after.epsilon_lower, 'down')}{told}. That an attack fails proves nothing."
    )
