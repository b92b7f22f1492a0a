"""The figures of a page as drawings: pairs of laws, covariances, methods, beliefs that are off, of which the losses are
worked out here. Their captions are in templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.moved import (
    apart,
    dominating,
    mean_delta,
    mean_renyi,
    moved_delta,
    moved_renyi,
    raw_edges,
    reach,
)
from fugu.auditing.theorems import delta_within, straight
from fugu.documents.certificate import Certificate
from fugu.drawing.axis import Axis, padded
from fugu.drawing.charts import Chart, Figure, Heat, Panel, Range, Ranges
from fugu.drawing.marks import Bars, Level, Line, Mark, Note, Points
from fugu.drawing.plots import bars
from fugu.errors import NotProvable, OutOfReach, UsageError
from fugu.guarantee import Guarantee
from fugu.loss.lattice_gaussian import width_of
from fugu.loss.leakage import largest_slack
from fugu.noise.matrix import DirectedLaplace
from fugu.numbers.exact import as_fraction, decimal_up, float_up
from fugu.numbers.text import VALUE, clean, factor, number, shortened
from fugu.report.curves import FEW, Laws, View, laws, ratio, views
from fugu.report.facts import Facts, facts, parts
from fugu.report.shapes import visited
from fugu.utility.usable import COLUMN, COORDINATE, STATISTIC, Usable

Floats = NDArray[np.float64]
MOST_COVARIANCES = 60
"""Coordinates up to which a covariance is drawn."""


def pair_figures(certificate: Certificate) -> tuple[Chart, Chart]:
    """What is published if one secret is true and if another is, before and with noise; and how strongly each value
    speaks for one of them: of the pair that needs the noise most, or of the first coordinate of a vector. `Chart.over`
    fixes their axes.

    UsageError where there are no such laws, for channels, and for noise along directions beside the axes."""
    noise = None if certificate.parts else certificate.noise
    aslant = isinstance(noise, DirectedLaplace) and not noise.axes
    if not certificate.of_values or certificate.runs == "channel" or aslant or not (shown := views(certificate, 1)):
        raise UsageError("this certificate has no laws of values that could be drawn, each with its own noise")
    f, categories = facts(certificate), tuple((certificate.body.get("query") or {}).get("categories") or ())
    return (
        laws_figure(shown[0], laws(shown[0]), f, categories),
        ratio_figure(shown[0], ratio(shown[0]), f, categories),
    )


def laws_figure(view: View, curve: Laws, f: Facts, categories: Sequence[str] = (), name: str = "laws") -> Chart:
    """Both laws, before noise above and after noise below; one panel if there is no noise."""
    panels = [("before noise (never published)", curve[0]), ("with noise (what is published)", curve[1])]
    panels = panels if view.noisy else [("as published", curve[1])]
    window, ends = curve[1].values, list[float]()  # from the first value drawn to the last, with room for bars
    for law in curve:
        if len(law.values):
            wide = bar_width(law.values, float(np.ptp(window))) * 1.25 if len(law.values) <= FEW else 0.0
            ends += [float(law.values[0]) - wide, float(law.values[-1]) + wide]
    across = _axis(view, f, *padded(min(ends), max(ends), 0.0), window, categories)
    a, b = clean(view.first, 40), clean(view.second, 40)
    told = f"Probability of each value if the answer is “{a}” and if it is “{b}”"
    drawn = []
    for heading, law in panels:  # bars side by side for few places, else lines; a law of gathered atoms as steps
        few, width = len(law.values) <= FEW, bar_width(law.values, float(np.ptp(window)))
        steps = "" if law.values is window or all(view.endless) else "middle"
        xs, marks = numbers(law.values), list[Mark]()
        for row, (secret, look) in enumerate(((view.first, "a"), (view.second, "b"))):
            heights, shown = numbers(law.heights[row]), f"if “{clean(secret, 28)}”"
            if few:
                said = tuple(f"value {_short(x)}: {_short(y, 4)}" for x, y in zip(xs, heights, strict=True))
                marks.append(Bars(xs, heights, look, width, (row - 1) * width, shown, said))
            else:
                marks.append(Line(xs, heights, look, shown, steps))
        per = "" if law.group == 1 else f" per step of {number(law.width)}"
        upward = Axis(f"probability{per}", 0.0, 1.06 * (float(law.heights.max(initial=0.0)) or 1.0))
        drawn.append(Panel(tuple(marks), across, upward, 190.0, heading, law is panels[-1][1]))
    where = "Above before noise, below with noise as published." if view.noisy else "There is no noise."
    return Chart(name, told, f"{where} The caption says how far apart the two are.", tuple(drawn))


def ratio_figure(view: View, curve: Facts, f: Facts, categories: Sequence[str] = (), name: str = "ratio") -> Chart:
    """The log-ratio after noise as a line inside the promised band, before noise as points; what is beyond the
    axis is drawn as a triangle at its edge."""
    top = max(2.0 * f.epsilon, 1.3 * curve.drawn, 1e-3)
    edge = 1.25 * top
    limit = f"within the limit, ε = {number(f.epsilon, 'up', 6)}: odds × or ÷ {factor(f.epsilon)} at most"
    a, b = clean(view.first, 20), clean(view.second, 20)
    marks: list[Mark] = [Level(-f.epsilon, "band", limit, to=f.epsilon), Level(0.0, "zero")]
    name_of, many = "without noise" if view.noisy else "as published (no noise)", len(curve.atoms) > 2 * FEW
    for mask, shape, label in (
        (np.abs(curve.before) <= top, "speck" if many else "ring" if view.noisy else "dot", name_of),
        (curve.before > top, "up", f"{name_of}, beyond this axis"),
        (curve.before < -top, "down", f"{name_of}, beyond this axis"),
    ):
        if mask.any():
            xs, logs = curve.atoms[mask], curve.before[mask]
            said = () if many else tuple(_told(x, y) for x, y in zip(xs, logs, strict=True))
            ys, size = numbers(np.clip(logs, -top, top)), 2.5 if many else 4.5
            marks.append(Points(numbers(xs), ys, "point", shape, label, size, said))
    if view.noisy:
        few = len(curve.values) <= FEW
        told = tuple(_told(x, y) for x, y in zip(curve.values, curve.after, strict=True)) if few else ()
        line = Line(numbers(curve.values), numbers(curve.after), "ink", "with noise (published)", dots=few, told=told)
        marks.append(line)
    marks += [
        Note(f"↑ speaks for “{a}”", edge, above=False),
        Note(f"↓ speaks for “{b}”", -edge),
    ]
    every = np.concatenate((curve.values, curve.atoms))
    across = _axis(view, f, *padded(float(every.min()), float(every.max())), curve.values, categories)
    panel = Panel(tuple(marks), across, Axis("natural logarithm of the likelihood ratio", -edge, edge), 320.0)
    told_to = f"How strongly each value speaks for “{clean(view.first, 40)}” against “{clean(view.second, 40)}”"
    largest = "unlimited" if math.isinf(curve.largest) else number(curve.largest, "up", 4)
    return Chart(name, told_to, f"A shaded band from −ε to ε is the promise. Largest shift: {largest}.", (panel,))


def covariance_figure(f: Facts, names: Sequence[str]) -> Heat | None:
    """The covariance of correlated noise as a heat map, blank at 0; None where there is none or it is too large.

    Of a mixture, that of the first noise."""
    if not f.covariances or len(names) > MOST_COVARIANCES:
        return None
    shown = tuple(clean(name, 28) for name in names)
    about = "Each square is a pair of coordinates; the table and the caption say what colours mean."
    return Heat("covariance", "Covariance of the noise between coordinates", about, shown, f.covariances[0])


def _axis(view: View, f: Facts, low: float, high: float, values: Floats, categories: Sequence[str]) -> Axis:
    """Marked by the names of categories, if few (their codes are 0, 1, ...), or at each of few lattice points."""
    name = "" if f.query == VALUE else f" of {clean(f.query, 40)}"
    if view.coordinate is not None:
        name += f", coordinate {view.coordinate + 1}"
    title = f"value{name}" if view.lattice else f"possible values{name}, numbered in increasing order"
    if view.lattice and 0 < len(categories) <= 12:
        marks = tuple((float(k), clean(name, 24)) for k, name in enumerate(categories))
        return Axis(title, min(low, -0.5), max(high, len(marks) - 0.5), marks=marks, named=True)
    few = tuple((x, _short(x)) for x in numbers(values)) if len(values) <= 10 else ()
    return Axis(title, low, high, marks=few)


def bar_width(values: Floats, span: float) -> float:
    """Two bars side by side fill at most 80 % of the least gap, and an eighth of the picture."""
    gaps = np.diff(values)
    return 0.4 * min(float(gaps.min()) if gaps.size else math.inf, (span or 1.0) / 6)


def numbers(values: Iterable[float] | Floats) -> tuple[float, ...]:
    """Plain floats."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())


def _short(x: float, digits: int = 6) -> str:
    return number(x, digits=digits).replace("-", "−")


def _told(x: float, log: float) -> str:
    """What a log-ratio does to the odds, for the box at the pointer."""
    if math.isnan(log):
        return ""
    what = "settles the question" if math.isinf(log) else f"odds {'×' if log >= 0 else '÷'} {factor(abs(log))}"
    return f"value {_short(float(x))}: {what}"


def methods_figure(lines: Sequence[Facts], query: str, mark: str) -> Figure | None:
    """Expected absolute error of each method; None if fewer than two add noise.

    `lines`: the methods; `query`: what is published, which the axis names the units of; `mark`: what is
    said of the one used."""
    if sum(line.error is not None and 0 < line.error < math.inf for line in lines) < 2:
        return None
    several = len({line.noise for line in lines}) > 1
    sizes = [
        (clean(line.method) + (f", {line.noise}" if several else "") + (f" ★ {mark}" if line.used else ""), line.error,
         line.used)
        for line in lines
    ]  # fmt: skip
    return bars("Average error, by method", f"average error, in units of {clean(query, 28)}", sizes, "methods")


# The figure "loss against the distance of the adversary's beliefs", from the certificate's promise and its laws.
#
# Every point is a proved upper bound: where all values may lie up to r away from where the stated beliefs have them,
# the promised epsilon grows by at most 2 k rate under Laplace noise (k: the steps that r can make), and every loss is
# at most its mean over a coupling lengthened by 2k (`fugu.auditing.moved`; here one law of the distance stands for all
# pairs). The loss grows with r, so between two points the line stays at the height of the farther one.


POINTS = 24
_MOST_CELLS, _FEW_CELLS, _EACH, _FEW_POINTS = 20_000_000, 500, 200, 20_000
"""Points times pairs: above the first nothing is coupled; up to the second, proofs are made anew."""


def curve(certificate: Certificate, points: int = POINTS) -> Facts | None:
    """Proved `losses` by `distances` of the raw values, from 0, where it is what is `promised`, to about twice the
    noise; `measure`: what they are, for the axis; `binned`: whether raw values go into bins before anything else. None
    where nothing finite is known beyond 0."""
    running, budget = parts(certificate), certificate.budget.simplest()
    if not certificate.spatial or any(p.certificate.noise.silent or p.certificate.lattice is None for p in running):
        return None
    try:
        binned = any(raw_edges(part.certificate) for part in running)
    except NotProvable:  # raw values without a distance: there is nothing to draw
        return None
    if any(item.shape == "cells" for part in running for item in part.certificate.laws):
        return None  # cells have no distance between them
    finite, slips = budget.asks().finite, budget.delta > 0 and not budget.asks().finite
    if finite:
        alpha, promised = map(float, budget.orders[0])
        measure = f"Rényi divergence of order {number(alpha)}"
    else:
        promised = float(budget.delta if slips else budget.epsilon)
        measure = f"δ at ε = {number(float(budget.epsilon), 'up', 6)}" if slips else "ε"
    each = [_loss_within(part, budget, finite, slips) for part in running]
    lattices = [part.certificate.lattice for part in running]
    grid = max(Fraction(lattice.grid) for lattice in lattices if lattice)
    farthest = max(grid, as_fraction(float(f"{2 * max(part.scale for part in running):.2g}")))
    ends = [reach(part.certificate, 0).span for part in running]
    if all(end is not None for end in ends):
        farthest = min(farthest, max(Fraction(1), *(Fraction(end or 0) for end in ends)) * grid)
    found = [(0.0, promised)]
    for n in range(1, points + 1):
        at = farthest * n / points
        loss = max(within(at) for within in each)
        if loss >= (1 if slips else math.inf):
            break
        found.append((float(at), max(promised, loss)))
    if len(found) < 3:
        return None
    distances, losses = zip(*found, strict=True)
    return Facts(distances=distances, losses=losses, promised=promised, measure=measure, binned=binned)


def _loss_within(part: Facts, budget: Guarantee, finite: bool, slips: bool) -> Callable[[Fraction], float]:
    """The loss of one noise that may run, in the budget's own measure, for beliefs within a distance: from one law of
    the distance for all its pairs, where there is a bounded one; of vectors from the promise where the noise has a
    rate; anew where there are few atoms and a delta is proved in no time."""
    laws: tuple[Any, ...] = part.certificate.laws
    noise, rate, vectors = part.certificate.in_steps, part.certificate.in_steps.rate, part.certificate.runs == "vector"
    size = sum(len(item.points) * len(item.pairs) if item.atoms else _EACH for item in laws)
    anew, cells, slack = size <= _FEW_CELLS, None, 0.0
    if not vectors:
        needed = (finite or budget.delta > 0) and noise.added  # else no cost of a shift is known
        known = [apart(item) for item in laws] if needed and size <= _MOST_CELLS else [None]
        cells = None if any(k is None for k in known) else dominating([c for k in known if k for c in k])
        slack = max((largest_slack(item, budget.epsilon) for item in laws if slips and item.inexact), default=0.0)
        try:  # Gaussian noise visits every lattice point
            anew &= not (more := visited(noise)) or all(width_of(i) + 2 * more <= _FEW_POINTS for i in laws)
        except OutOfReach:
            anew = False
    alpha, epsilon = map(as_fraction, budget.orders[0] if finite else (1, budget.epsilon))

    def loss(distance: Fraction) -> float:
        far = reach(part.certificate, distance)
        if far.steps == 0:
            return 0.0  # nothing moves: the promise holds as it is
        if finite:
            found = math.inf if cells is None else mean_renyi(cells, noise, alpha, far)
            if rate is not None:
                found = min(found, straight(float_up(epsilon), alpha, far.steps * rate))
            if vectors and anew:
                found = min(found, max(moved_renyi(item, noise, alpha, far) for item in laws))
            return found
        if not slips:
            if rate is None:
                return math.inf
            end = epsilon + 2 * far.steps * rate
            return float_up(end if far.span is None else min(end, far.span * rate))
        if anew:
            each = (moved_delta(item, noise, epsilon, far) for item in laws)
            return max(each) if vectors else delta_within(laws, noise, epsilon, far)
        return 1.0 if cells is None else float_up(Fraction(mean_delta(cells, noise, epsilon, far)) + Fraction(slack))

    return loss


def nearby_figure(found: Facts, f: Facts) -> Chart:
    """The proved loss as steps over the distance, the promise as a dotted line; drawn heights are rounded up."""
    distances = tuple(float(shortened(Decimal(x), "down", 5)) for x in found.distances)  # never farther than was proved
    losses = tuple(float(decimal_up(v, 5)) for v in found.losses)
    of = "" if f.query == VALUE else f", in units of {clean(f.query, 40)}"
    wide = found.promised > 0 and found.losses[-1] > 30 * found.promised
    upward = Axis(found.measure, found.promised / 1.5 if wide else 0.0, losses[-1] * (1.5 if wide else 1.06), log=wide)
    across = Axis(f"how far the beliefs may be off{of}", 0.0, distances[-1])
    marks = (Level(found.promised, "promised", "promised"), Line(distances, losses, "ink", "proved limit", "ahead"))
    about = f"It rises from {number(found.promised, 'up', 4)} to at most {number(losses[-1], 'up', 4)}."
    title = f"Proved limit ({found.measure}) against how far the beliefs are off"
    return Chart("nearby", title, about, (Panel(marks, across, upward, 230.0),))


_REACH, _DRAWN = 0.375, 6
"""How far, as a share of its value, an axis of a statistic goes to both sides; questions that are drawn."""


def use_figures(found: Usable) -> list[tuple[Figure, Facts]]:
    """How far what is published is off, beside what it is measured against, each figure with its title and caption: of
    a column the average error, that of ordinary privacy and that of a guess; of statistics a line for each group with
    its interval around what the reference says; of numbers of a vector the noise and the spread. Axes of statistics do
    not follow the noise."""
    drawn: list[tuple[Figure, Facts]] = []
    for k, (query, listed) in enumerate(groupby(found.figures, lambda each: each.numbers.get("query", each.name))):
        figures = list(listed)
        if k == _DRAWN:
            break
        if (first := figures[0]).kind == COLUMN and first.error:
            sizes = [("this release", first.error, True), ("a guess that ignores the row", first.guess, False)]
            if found.ordinary is not None:
                sizes.insert(1, ("ordinary differential privacy", found.ordinary * first.error, False))
            said = Facts(title="Error beside other errors", caption="Average error of a row, in the column’s own "
                         "units. Ordinary differential privacy holds whatever is believed; this release holds for the "
                         "beliefs of the reference.")  # fmt: skip
            keys = "this release", "others"
            drawn.append((bars("Average error of a row", "average error", sizes, f"beside-{k}", keys), said))
        elif first.kind == COORDINATE and first.noise:
            sizes = [("the noise", first.noise, True), ("its spread under the beliefs", first.spread, False)]
            said = Facts(title=clean(query, 80), caption="Standard deviation of the noise, and of the number itself "
                         "as the beliefs have it, in its own unit.")  # fmt: skip
            keys, title = ("the noise", "the number itself"), f"Noise of {clean(query, 60)}"
            drawn.append((bars(title, "standard deviation", sizes, f"beside-{k}", keys), said))
        elif first.kind == STATISTIC and all(each.value for each in figures):
            rows: list[Range] = []
            for each in figures[: 4 * _DRAWN]:
                value, half = each.value, each.half
                other = each.ordinary if found.ordinary is None else found.ordinary * half
                group = clean(each.name.removeprefix(query).lstrip(", "), 40) or "all records"
                rows.append(
                    (group, value, value - half, value + half, other, f"{_short(value, 4)} ± {_short(half, 2)}")
                )
            wide = [max(each.chance or 0.0, _REACH * abs(each.value)) for each in figures]
            ends = [x for each, w in zip(figures, wide, strict=True) for x in (each.value - w, each.value + w)]
            chance = max((each.chance for each in figures if each.chance), default=None)
            more = "" if chance is None else f" Chance alone moves such a group by up to ± {_short(chance, 2)}."
            said = Facts(title=clean(query, 80), caption="What the reference leads to expect of each group, and "
                         f"how far the published number may be off with a probability of 95 %.{more} The axis stays "
                         "where it is while the noise changes.")  # fmt: skip
            told = ("what the reference says", "95 % interval of what is published", "with ordinary privacy")
            compared = any(other for *_, other, _ in rows)
            about = "; ".join(f"{row[0]}: {row[-1]}" for row in rows[:12])
            axis = Axis(clean(query, 60), min(ends), max(ends))
            drawn.append((Ranges(f"beside-{k}", said.title, about, tuple(rows), axis, told[: 2 + compared]), said))
    return drawn
