"""The pages of commands that publish nothing. `fugu compare --figure`: every method at the budget asked for, and what
other budgets would cost: noise against epsilon, against delta, and against the number of people in a sum. `fugu
influence`: how much the entries of a sequence say about each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np

from fugu.calibration.comparison import Comparison
from fugu.calibration.driver import calibrate
from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Panel
from fugu.drawing.figure import curve
from fugu.drawing.marks import Level, Line, Mark, Points
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Guarantee, Pure, RenyiCurve
from fugu.laws import Discrete, LawPair
from fugu.laws.discrete import sum_of
from fugu.laws.pair import PairsLike
from fugu.noise.channel import Channel
from fugu.numbers.exact import as_fraction
from fugu.numbers.text import clean, number, power_of_ten
from fugu.progress import report
from fugu.report.facts import compared
from fugu.report.template import render

DELTAS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
INFLUENCE = "How much entries say about each other"
PEOPLE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons of a curve, in units of the one asked for."""
SUM_DELTA = 1e-6
_STEEP, _LOOKS = 20.0, 7
_PURE = DELTAS[0] / 10
"""Where a delta of 0 is drawn on a log axis."""
Way = tuple[str, str]
"""A method and a noise."""
Budgets = Sequence[tuple[float, Guarantee]]


def trade_page(
    pairs: PairsLike,
    comparison: Comparison,
    publish: str,
    protect: str,
    laws: Mapping[str, Discrete] | None = None,
    warnings: Sequence[str] = (),
) -> str:
    """A self-contained page that helps to choose a method and a budget.

    Parameters:

    - `pairs`: the scenario or pairs of laws; `comparison`: what `fugu.compare` found for them.
    - `publish`, `protect`: what is published and what is hidden, in words.
    - `laws`: the law of one person under each secret, for the curve over the number of people; None leaves it out.
    - `warnings`: what must be said aloud of the budget.

    Returns the text of the page. Every error on it is of noise that is proved to meet the budget it stands at."""
    lines, budget = compared(comparison), comparison.budget
    best = next((line for line in lines if line.used), None)
    finite = [r.expected_absolute for r in comparison.rows if r.proven and 0 < r.expected_absolute < math.inf]
    ways = [(r.method, r.noise) for r in comparison.rows if r.proven and r.released]
    measure = "Rényi divergence allowed" if budget.renyi else "ε"
    slips = ways and not budget.renyi
    by_epsilon = by_delta = None
    if ways and budget.epsilon > 0:
        budgets = epsilons(budget)
        xs = tuple(x for x, _ in budgets)
        title = f"{measure} (a looser promise is to the right)"
        axis = Axis(title, xs[0], xs[-1], log=True, marks=tuple((x, number(x)) for x in xs))
        rows = errors(pairs, budgets, ways, "noise against epsilon")
        title, present = f"Average error against {measure}", float(budget.epsilon)
        by_epsilon = _curves("epsilon", title, xs, rows, axis, present, publish)
    if slips:
        budgets = deltas(budget)
        xs = tuple(max(d, _PURE) for d, _ in budgets)
        marks = ((_PURE, "0"), *((10.0**k, power_of_ten(k)) for k in range(round(math.log10(DELTAS[0])), 0)))
        axis = Axis("δ (10⁻⁶ is 1 in a million; leftmost: no remainder)", _PURE, max(xs), log=True, marks=marks)
        rows = errors(pairs, budgets, ways, "noise against delta")
        present = max(float(budget.delta), _PURE)
        by_delta = _curves("delta", "Average error against δ", xs, rows, axis, present, publish)
    return render(
        "compare.html",
        title=f"How much noise it takes to publish “{clean(publish, 60)}” and hide “{clean(protect, 60)}”",
        comparison=comparison, budget=budget, lines=lines, best=best, publish=publish, warnings=warnings,
        measure=measure, times=max(finite) / best.error if finite and best is not None and best.error else None,
        by_epsilon=by_epsilon, by_delta=by_delta,
        people=_people(dict(laws), budget, publish) if slips and laws else None,
    )  # fmt: skip


def _curves(name: str, title: str, xs: tuple[float, ...], found: Mapping[Way, tuple[float, ...]], axis: Axis,
            present: float, publish: str) -> Chart:  # fmt: skip
    """One line per method, those with the same errors together; the least error at the present budget has a star."""
    groups: dict[tuple[str, ...], list[Way]] = {}
    for way, row in found.items():
        groups.setdefault(tuple(f"{e:.6g}" for e in row), []).append(way)
    positive = [e for row in found.values() for e in row if e > 0]
    steep = bool(positive) and max(positive) > _STEEP * min(positive)
    floor, top = min(positive) / 2 if steep else 0.0, max(positive, default=1.0)
    several = len({noise for _, noise in found}) > 1
    marks: list[Mark] = [Level(present, "mark", "asked for", upright=True)]
    for place, group in enumerate(groups.values()):
        row, noises = found[group[-1]], dict[str, list[str]]()
        for method, noise in group:
            noises.setdefault(noise, []).append(method)
        named = "; ".join(", ".join(ms) + (f" ({noise})" if several else "") for noise, ms in noises.items())
        told = tuple(f"average error {number(e)}" if not math.isnan(e) else "" for e in row)
        ys = tuple(max(e, floor) for e in row)
        marks.append(Line(xs, ys, f"m{place % _LOOKS}", named, dots=True, told=told))
    here = [row[k] for k, x in enumerate(xs) if math.isclose(x, present) for row in found.values() if row[k] == row[k]]
    if here:
        told = (f"least average error {number(min(here))}",)
        marks.append(Points((present,), (max(min(here), floor),), "ink", "star", "present choice", 5.0, told))
    unit = f"average error, in units of {clean(publish, 40)}"
    zero = "; the lower edge is 0" if steep and any(e == 0 for row in found.values() for e in row) else ""
    upward = Axis(f"{unit} (log scale{zero})" if steep else unit, floor, top * (1.5 if steep else 1.06), steep)
    about = "The lower a line, the less noise its method needs."
    return Chart(name, title, about, (Panel(tuple(marks), axis, upward, 320.0),))


def _people(laws: dict[str, Discrete], budget: Guarantee, publish: str) -> dict[str, Any]:
    """Totals of many people: the `chart` of their errors, None where nothing was proved; at which `delta`; from how
    many on no noise is needed (`enough`)."""
    delta = float(budget.delta) or SUM_DELTA
    points = noise_by_people(laws, float(budget.epsilon), delta)
    if len(points) < 2:
        return {"chart": None, "delta": delta, "enough": None}
    title, upward = "Average error of a total against the number of people", f"in units of {clean(publish, 40)}"
    told = [f"{n} people: average error {number(e)}" for n, e in points]
    axes = ("number of people in the total", f"average error of the total, {upward}")
    marks = tuple((float(n), f"{n:,}") for n, _ in points)
    chart = curve(title, "; ".join(told), points, *axes, True, told, "people", marks)
    return {"chart": chart, "delta": delta, "enough": next((n for n, e in points if e == 0), None)}


def deltas(budget: Guarantee) -> Budgets:
    """(delta, budget) at the epsilon asked for: no remainder, many, and the one asked for."""
    listed = sorted({*DELTAS, *([float(budget.delta)] if budget.delta else [])})
    return [(0.0, Pure(budget.epsilon)), *((d, Approx(budget.epsilon, d)) for d in listed)]


def epsilons(budget: Guarantee) -> Budgets:
    """(epsilon, budget) around the epsilon asked for, the rest of the budget as it is: its delta, its Rényi orders."""
    own = as_fraction(budget.epsilon)
    return [(float(own * k), scaled(budget, k)) for k in TIMES]


def scaled(budget: Guarantee, times: Fraction) -> Guarantee:
    """The same budget with every epsilon multiplied.

    >>> scaled(Approx(1, 0.01), Fraction(2)).epsilon
    Fraction(2, 1)
    """
    if isinstance(budget, RenyiCurve):
        return RenyiCurve({alpha: as_fraction(e) * times for alpha, e in budget.epsilons.items()}, budget.delta)
    return cast(Guarantee, replace(cast(Any, budget), epsilon=as_fraction(budget.epsilon) * times))


def errors(pairs: PairsLike, budgets: Budgets, ways: Sequence[Way], what: str) -> dict[Way, tuple[float, ...]]:
    """The proved expected |error| of each way at each budget; nan where it proves nothing there.

    `what` names the work for those who wait."""
    found: dict[Way, list[float]] = {way: [] for way in ways}
    for done, (_, budget) in enumerate(budgets):
        report(what, done, len(budgets))
        for way in ways:
            method, noise = cast(Any, way)
            noise = cast(Any, "best") if noise == Channel.name else noise  # a channel is asked for by its method alone
            try:
                error = calibrate(pairs, budget, noise=noise, method=method).expected_error()
            except NotProvable:
                error = math.nan
            found[way].append(error)
    report(what, len(budgets), len(budgets))
    return {way: tuple(row) for way, row in found.items()}


def noise_by_people(laws: dict[str, Discrete], epsilon: float, delta: float) -> list[tuple[int, float]]:
    """(people, least expected |error| of their total): one person's secret among independent others.

    Given secret s the total is X_s plus the others, each of the pooled law; with enough of them no noise is needed."""
    values = np.concatenate([law.values for law in laws.values()])
    pooled = Discrete(values, np.concatenate([law.masses.parts for law in laws.values()]))  # by their counts
    found = []
    for people in PEOPLE:
        totals = laws
        if people > 1:
            others = pooled.iid_sum(people - 1)
            totals = {name: sum_of([law, others]) for name, law in laws.items()}
        pairs = [LawPair(totals[a], totals[b], f"{a} vs {b}") for a, b in combinations(totals, 2)]
        try:
            found.append((people, calibrate(pairs, Approx(epsilon, delta), noise="laplace").expected_error()))
        except NotProvable:
            break
    return found


def influence_page(points: Sequence[tuple[int, float]], name: str) -> str:
    """A self-contained page with the finite part of the curve.

    `points`: (entries set aside, influence of the others); `name`: the sequences in words."""
    known = [(b, a) for b, a in points if math.isfinite(a)]
    rows = [(str(b), number(a, "up", 6)) for b, a in points]
    chart = None
    if known:
        (first, high), (last, low) = known[0], known[-1]
        about = f"It falls from {number(high, 'up')} at {first} to {number(low, 'up')} at {last}."
        axes = ("entries set aside, b (each mark is a multiple of the one before)", "influence of the others, a(b)")
        told = [f"b = {b}: at most {number(a, 'up', 6)}" for b, a in known]
        chart = curve("Influence of the other entries against entries set aside", about, known, *axes, True, told)
    return render("influence.html", title=INFLUENCE, name=name, curve=chart, rows=rows)
