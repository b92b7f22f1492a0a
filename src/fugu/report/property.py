"""The page of `fugu property`: error against tolerance for every method, and what is guessed before and after noise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from fugu.auditing import AttackReport
from fugu.calibration.covariance.methods import WAYS
from fugu.drawing.charts import Axis, Bars, Chart, Level, Line, Mark, Panel, Points, Whiskers, figure
from fugu.drawing.html import tag
from fugu.drawing.text import clean, number, percent
from fugu.guarantee.curve import Guarantee
from fugu.report.property_facts import MethodLine, SwapFigure
from fugu.report.shell import listed, section, whole_page
from fugu.report.words import asked as asked_for
from fugu.scenario.property_model import PropertyModel, proved_words

TITLE = "Hiding a property of the whole"
_PLACES = {name: place for place, name in enumerate(WAYS)}
"""Every method keeps its look, whichever others are drawn."""
LOOKS = 7
"""How many looks for lines the style sheet has."""
_STEEP = 20.0
"""A ratio of largest to smallest error from which on the axis is logarithmic."""

_COSTS = (
    "Each line is a method that is proved, in the Gaussian model, to hide the share. The error is the average length "
    "of the noise that is added to all statistics together. The lower, the better; the dotted upright line is the "
    "tolerance asked for. On a log scale, points on the lower edge are 0: no noise is needed."
)
_STAR = (
    "The star needs no Gaussian model. It is found by drawing records of the reference, holds with a confidence of "
    "{confidence:.6g}, and is no plain guarantee; nothing is released with it."
)


def error_figure(
    by_tolerance: Mapping[float, Sequence[MethodLine]], asked: float, swap: SwapFigure | None = None
) -> Chart:
    """One line per method, of those proved; errors of 0 (no noise) lie on the lower edge of a logarithmic axis.

    `by_tolerance`: the methods at each tolerance; `asked`: the tolerance asked for; `swap`: the record-swap figure."""
    names = list(dict.fromkeys((x.method, x.noise) for lines in by_tolerance.values() for x in lines if x.proven))
    several = len({method for method, _ in names}) < len(names)
    heights = [x.error for lines in by_tolerance.values() for x in lines if x.proven and x.error > 0]
    if swap is not None and swap.error > 0:
        heights.append(swap.error)
    steep = bool(heights) and max(heights) > _STEEP * min(heights)
    floor, top = min(heights) / 2 if steep else 0.0, max(heights, default=1.0)
    marks: list[Mark] = [Level(asked, "mark", "tolerance asked for", upright=True)]
    for place, (method, noise) in enumerate(names):
        points = [
            (t, x.error) for t, lines in by_tolerance.items() for x in lines if (x.method, x.noise) == (method, noise)
        ]
        told = tuple(f"tolerance {number(t)}: average error {number(e)}" for t, e in points)
        ys = tuple(max(e, floor) if math.isfinite(e) else math.nan for _, e in points)
        look = f"m{_PLACES.get(method, place) % LOOKS}"
        name = clean(f"{method}, {noise}" if several else method, 40)
        marks.append(Line(tuple(t for t, _ in points), ys, look, name, dots=True, told=told))
    if swap is not None:
        told = (f"average error {number(swap.error)}",)
        marks.append(Points((asked,), (swap.error,), "ink", "star", "record swap: no Gaussian model", 5.0, told))
    wide = Axis("tolerance: shares that differ by at most this must look alike", 0.0, 1.04 * max(*by_tolerance, asked))
    high = Axis("average error (log scale)" if steep else "average error", floor, top * (1.5 if steep else 1.06), steep)
    about = "The lower a line, the less noise its method needs; it grows with the tolerance."
    return Chart(
        "error", "Average error against tolerance, by method", about, (Panel(tuple(marks), wide, high, 320.0),)
    )


def attack_figure(before: AttackReport, after: AttackReport) -> Chart:
    """Shares of right guesses of the best attack, with their intervals; 1/2 is guessing blindly.

    `before`: the attack on the statistics as they are; `after`: that on what is published."""
    found = (before, after)
    names = ((0.0, "published as they are"), (1.0, "published with noise"))
    told = tuple(f"{name}: {percent(x.accuracy)} right" for (_, name), x in zip(names, found, strict=True))
    bars = [
        Bars((float(k),), (x.accuracy,), look, 0.44, -0.22, told=(told[k],))
        for k, (x, look) in enumerate(zip(found, ("b", "a"), strict=True))
    ]
    lows, highs = tuple(x.interval[0] for x in found), tuple(x.interval[1] for x in found)
    edges: list[Mark] = [Level(0.5, "mark", "guessing blindly")]
    if after.epsilon is not None:
        most = f"most the guarantee allows: {percent(after.ceiling, 'up')}"
        edges.append(Level(after.ceiling, "promised", most))
    interval = Whiskers((0.0, 1.0), lows, highs, name="interval of confidence")
    ticks = tuple((x / 4, f"{25 * x} %") for x in range(5))
    across = Axis("", -0.5, 1.5, marks=names, named=True)
    panel = Panel((*bars, interval, *edges), across, Axis("share of right guesses", 0.0, 1.02, marks=ticks), 270.0)
    return Chart("attack", "Share of right guesses of the attack", "; ".join(told), (panel,))


def property_page(
    model: PropertyModel,
    budget: Guarantee,
    by_tolerance: Mapping[float, Sequence[MethodLine]],
    attacks: tuple[AttackReport, AttackReport] | None = None,
    swap: SwapFigure | None = None,
    assumptions: Sequence[str] = (),
) -> str:
    """One self-contained page, readable without the paper; it shows nothing of any private data, as none was read.

    Parameters:

    - `model`: records, statistics and the hidden share; `budget`: the limit.
    - `by_tolerance`: the methods at each tolerance, what `sweep` returns.
    - `attacks`: the attack before and after noise; `swap`: the record-swap figure; None leaves each out.
    - `assumptions`: what the guarantee rests on."""
    published = ", ".join(clean(s, 60) for s in model.statistics)
    what = (
        f"Published: {published}, of {model.size} records. Hidden: which share of the records has "
        f"“{clean(model.name, 60)}”. {clean(_without_source(model), 2000)}; the limit is "
        f"this: {asked_for(budget)}. Nothing was released to make this page."
    )
    star = tag("p", _STAR.format(confidence=swap.bound.confidence)) if swap is not None else None
    costs = figure(error_figure(by_tolerance, float(model.tolerance), swap), _COSTS)
    parts = [tag("header", tag("h1", TITLE), tag("p", what, class_="lead"))]
    parts.append(section("costs", "What it costs", costs, star))
    if attacks is not None:
        guessed = figure(attack_figure(*attacks), _guessed(*attacks))
        parts.append(section("guesses", "What an attacker guesses", guessed))
    if assumptions:
        parts.append(section("rests", "What this rests on", listed([clean(a, 400) for a in assumptions])))
    return whole_page(TITLE, *parts)


def _without_source(model: PropertyModel) -> str:
    """What is proved, in words, without the file that proves it: assumptions name that."""
    return re.sub(r" \(docs/[^)]*\)", "", proved_words(model).capitalize())


def _guessed(before: AttackReport, after: AttackReport) -> str:
    told = "" if after.epsilon is None else f", where the guarantee says at most {number(float(after.epsilon))}"
    return (
        "Data sets were drawn from the reference under two shares, with equal odds, and a guesser was trained to tell "
        f"which. It was right in {percent(before.accuracy)} of {before.test} trials on the statistics as they are, and "
        f"in {percent(after.accuracy)} with noise. Bars at the top are intervals of confidence "
        f"{float(after.confidence):g}. From the guesses with noise it follows that ε is at least "
        f"{number(after.epsilon_lower, 'down')}{told}. That an attack fails proves nothing."
    )
