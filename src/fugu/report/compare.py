"""The pages of commands that publish nothing. `fugu compare --figure`: every method at the budget asked for, and what
other budgets would cost: noise against epsilon, against delta, and against the number of people in a sum. `fugu
property`: what hiding a share costs by each method, at one tolerance and at several, and what is guessed before and
after noise."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np

from fugu.auditing import AttackReport
from fugu.calibration.compare import compare
from fugu.calibration.comparison import Comparison
from fugu.calibration.covariance.directions import gaussian_length, isotropic_length, laplace_length
from fugu.calibration.covariance.methods import propose
from fugu.calibration.driver import calibrate
from fugu.calibration.offer import Wishes
from fugu.calibration.translates import OF_RECORDS
from fugu.drawing.axis import Axis, log_ticks
from fugu.drawing.charts import Chart, Panel
from fugu.drawing.marks import Bars, Level, Line, Mark, Points, Whiskers
from fugu.drawing.plots import curve
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx, Guarantee, Pure, RenyiCurve
from fugu.laws import Discrete, LawPair
from fugu.laws.discrete import sum_of
from fugu.laws.multinormal import NormalPair
from fugu.laws.pair import PairsLike
from fugu.laws.shapes import shapes
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.channel import Channel
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace
from fugu.numbers.exact import as_fraction
from fugu.numbers.text import clean, number, percent, power_of_ten
from fugu.progress import report
from fugu.question import RECORDS
from fugu.report.facts import compared
from fugu.report.template import render
from fugu.scenario.property import PropertyModel, Shares, proved_shares, proved_words
from fugu.scenario.scenario import Report, Scenario
from fugu.scenario.swap import SwapBound, model_of, swap_sigma

DELTAS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
PEOPLE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons of a curve, in units of the one asked for."""
SUM_DELTA = 1e-6
_STEEP, _LOOKS = 20.0, 7
"""A ratio of largest to smallest error from which on the axis is logarithmic; how many looks the style sheet has."""
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
        comparison=comparison, budget=budget, lines=lines, publish=publish, warnings=warnings, measure=measure,
        by_epsilon=by_epsilon, by_delta=by_delta,
        people=_people(dict(laws), budget, publish) if slips and laws else None,
    )  # fmt: skip


def _curves(name: str, title: str, xs: tuple[float, ...], found: Mapping[Way, tuple[float, ...]], axis: Axis,
            present: float, publish: str) -> Chart:  # fmt: skip
    """One line per method, those with the same errors together, in the order of their errors at the present budget,
    where the least one has a star."""
    now = next(k for k, x in enumerate(xs) if math.isclose(x, present))
    ranked = sorted(found, key=lambda way: (math.isnan(found[way][now]), found[way][now]))
    groups: dict[tuple[str, ...], list[Way]] = {}
    for way in ranked:
        groups.setdefault(tuple(f"{e:.6g}" for e in found[way]), []).append(way)
    several = len({noise for _, noise in found}) > 1
    lines: list[ErrorLine] = []
    for group in groups.values():
        named = "; ".join(f"{method} ({noise.capitalize()})" if several else method for method, noise in group)
        lines.append((named, ranked.index(group[0]), xs, found[group[-1]], ""))
    least = found[ranked[0]][now]
    told = f"least, as asked: {number(least)}", f"least average error {number(least)}"
    star = None if math.isnan(least) else (present, least, *told)
    about, unit = "The lower a line, the less noise its method needs.", f", in units of {clean(publish, 40)}"
    return error_chart(name, title, about, lines, star, axis, (present, "asked for"), unit)


ErrorLine = tuple[str, int, Sequence[float], Sequence[float], str]
"""A name, its rank (0 stands out), where it was worked out, the errors there (nan: none is proved), and what is said at
the pointer before each."""
Star = tuple[float, float, str, str]
"""Where a star stands, what it is, and what is said at the pointer."""


def error_chart(
    name: str, title: str, about: str, lines: Sequence[ErrorLine], star: Star | None, across: Axis,
    mark: tuple[float, str], unit: str = "",
) -> Chart:  # fmt: skip
    """Average errors, one line per method; on a log axis where they differ much, on whose lower edge those of 0 lie."""
    sizes = [e for _, _, _, row, _ in lines for e in row if e > 0] + ([star[1]] if star and star[1] > 0 else [])
    sizes = [e for e in sizes if math.isfinite(e)]
    steep = bool(sizes) and max(sizes) > _STEEP * min(sizes)
    floor, top = min(sizes) / 2 if steep else 0.0, max(sizes, default=1.0)
    marks: list[Mark] = [Level(mark[0], "mark", mark[1], upright=True)]
    for said, place, xs, row, ahead in lines:
        told = (f"{ahead.format(number(x))}average error {number(e)}" for x, e in zip(xs, row, strict=True))
        known = [
            (text, max(e, floor)) if math.isfinite(e) else ("", math.nan) for text, e in zip(told, row, strict=True)
        ]
        texts, ys = zip(*known, strict=True)
        marks.append(Line(tuple(xs), ys, f"m{place % _LOOKS}", said, dots=True, told=texts))
    if star is not None:
        marks.append(Points((star[0],), (max(star[1], floor),), "ink", "star", star[2], 5.0, (star[3],)))
    zero = "; the lower edge is 0" if steep and any(e == 0 for line in lines for e in line[3]) else ""
    shown = f"average error{unit}" + (f" (log scale{zero})" if steep else "")
    marks_up = ((floor, "0"), *log_ticks(floor * 1.6, top * 1.5, 6)) if zero else ()
    upward = Axis(shown, floor, top * (1.5 if steep else 1.06), steep, marks_up)
    return Chart(name, title, about, (Panel(tuple(marks), across, upward, 320.0),))


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


TOLERANCES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
"""The tolerances of a sweep, in units of the one asked for."""
DRAWS = 100_000
_TICK = 20_000


@dataclass(frozen=True)
class MethodLine:
    """One method: the noise that would be drawn, or why there is none."""

    method: str
    noise: str
    deviation: float
    """The root of the noise's total variance; inf where there is no noise to offer."""
    error: float
    """E |noise|_2, of normal noise with the same covariance."""
    proven: bool
    why: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True)
class SwapFigure:
    """The record-swap figure beside the guarantee: analysed with a confidence; `record-swap` is its mechanism."""

    bound: SwapBound
    error: float

    def to_json(self) -> dict[str, Any]:
        """Plain data; no guarantee is among it."""
        found = self.bound
        return {
            "sigma": found.value, "error": self.error, "delta_bound": found.bound, "confidence": found.confidence,
            RECORDS: found.records, "draws": found.draws, "released": False,
        }  # fmt: skip


def method_lines(scenario: Scenario, budget: Guarantee, wishes: Wishes | None = None) -> tuple[MethodLine, ...]:
    """Every method on the scenario's laws, crudest first, proved as it would be drawn; a record swap by an estimate."""
    asked, single = replace(wishes or Wishes(), model=scenario.property), len(model_of(scenario).statistics) == 1
    if budget.asks().pure and (asked.law_error or not single):
        return tuple(_record_line(scenario, budget, method, asked.law_error) for method in OF_RECORDS)
    if single:
        return tuple(
            MethodLine(r.method, r.noise, math.sqrt(r.expected_squared), r.expected_absolute, r.proven,
                       r.note if r.proven else r.note or r.why)
            for r in compare(scenario, budget).rows
        )  # fmt: skip
    pairs = tuple(pair for pair in shapes(scenario.law_pairs()) if isinstance(pair, NormalPair))
    found = []
    for plan in propose(pairs, budget.asks(), asked).values():
        name, why = plan.method, plan.refusal or ""
        try:
            noise, proof = plan.realised(budget.asks()) if plan.covariance is not None else (None, None)
        except NotProvable as error:
            noise, proof, why = None, None, str(error)
        if noise is None or proof is None:
            found.append(MethodLine(name, "gaussian", math.inf, math.inf, False, why))
            continue
        deviation = math.sqrt(noise.expected_error("squared"))
        flat = not noise.base and noise.columns
        note = "only for laws that are exactly normal: some directions get no noise" if flat else plan.note
        found.append(MethodLine(name, "gaussian", deviation, length(noise), proof.holds, note))
    return tuple(found)


def _record_line(scenario: Scenario, budget: Guarantee, method: Any, law_error: Fraction) -> MethodLine:
    """The line of a method that knows what records add, and no Gaussian model."""
    try:
        made = calibrate(scenario, budget, method=method, law_error=law_error)
    except NotProvable as error:
        return MethodLine(method, "laplace", math.inf, math.inf, False, str(error))
    return MethodLine(method, "laplace", math.sqrt(made.expected_error("squared")), error_of(made), True, "")


def length(noise: CorrelatedGaussian) -> float:
    """E |N|_2 of normal noise with this covariance; the lattice noise has the same up to its rounding."""
    return gaussian_length(np.array([[float(x) for x in row] for row in noise.covariance()]))


def error_of(mechanism: Mechanism) -> float:
    """E |noise|_2 of a mechanism; in one dimension, E |noise|. Of a record swap that of its cap."""
    noise = mechanism.noise
    if isinstance(noise, DirectedLaplace) and noise.axes:
        return laplace_length(noise.coordinate_scales())
    if noise.prepares:
        return isotropic_length(float(noise.scale), mechanism.dimension)
    return length(noise) if isinstance(noise, CorrelatedGaussian) else mechanism.expected_error()


def swap_figure(scenario: Scenario, budget: Guarantee, rng: np.random.Generator, draws: int = DRAWS) -> SwapFigure:
    """Gaussian noise that suffices without a Gaussian model, with a confidence over the draws."""
    if not isinstance(budget, Approx) or budget.delta == 0:
        raise NotProvable("the record swap is drawn for a budget of epsilon and delta > 0")
    found = swap_sigma(scenario, budget.epsilon, budget.delta, draws=draws, rng=rng)
    return SwapFigure(found, isotropic_length(found.value, len(model_of(scenario).statistics)))


def at_tolerance(model: PropertyModel, tolerance: Fraction) -> Scenario:
    """The same records and statistics at another tolerance: over all shares, or, where the user named them, for two
    shares that far apart around the middle of those."""
    if tolerance > 1:
        raise UsageError("the shares would leave [0, 1]")
    if not model.proved.given:
        populations = None if model.replacement else (len(model.having), len(model.lacking))
        proved = proved_shares(model.size, tolerance, len(model.statistics), populations)
    else:
        i, j = max(model.pairs, key=lambda p: abs(model.shares[p[0]] - model.shares[p[1]]))
        middle = (model.shares[i] + model.shares[j]) / 2
        shares = (middle - tolerance / 2, middle + tolerance / 2)
        if shares[0] < 0 or shares[1] > 1:
            raise UsageError("the shares would leave [0, 1]")
        proved = Shares(shares, (0, 0), ((0, 1),), given=True)
    return replace(model, tolerance=tolerance, proved=proved).scenario(Report())


def sweep(
    scenario: Scenario, budget: Guarantee, wishes: Wishes | None = None, times: Sequence[Fraction] = TOLERANCES
) -> dict[float, tuple[MethodLine, ...]]:
    """`method_lines` by tolerance; tolerances whose shares make no sense are left out."""
    model, found = model_of(scenario), {}
    for done, factor in enumerate(times):
        report("tolerances", _TICK * done, _TICK * len(times))
        try:
            there = at_tolerance(model, model.tolerance * factor)
        except UsageError:
            continue
        found[float(model.tolerance * factor)] = method_lines(there, budget, wishes)
    report("tolerances", _TICK * len(times), _TICK * len(times))
    return found


def best(lines: Sequence[MethodLine]) -> MethodLine | None:
    """The proven line of least error; None if nothing is proved."""
    return min((line for line in lines if line.proven), key=lambda line: line.error, default=None)


def error_figure(
    by_tolerance: Mapping[float, Sequence[MethodLine]], asked: float, swap: SwapFigure | None = None
) -> Chart:
    """One line per method, of those proved; errors of 0 (no noise) lie on the lower edge of a logarithmic axis.

    `by_tolerance`: the methods at each tolerance; `asked`: the tolerance asked for; `swap`: the record-swap figure."""
    names = list(dict.fromkeys((x.method, x.noise) for lines in by_tolerance.values() for x in lines if x.proven))
    several = len({method for method, _ in names}) < len(names)
    drawn: list[ErrorLine] = []
    at = by_tolerance[min(by_tolerance, key=lambda tolerance: abs(tolerance - asked))]
    names.sort(key=lambda way: min((x.error for x in at if x.proven and (x.method, x.noise) == way), default=math.inf))
    for place, (method, noise) in enumerate(names):
        points = [
            (t, x.error) for t, lines in by_tolerance.items() for x in lines if (x.method, x.noise) == (method, noise)
        ]
        name = clean(f"{method}, {noise}" if several else method, 40)
        drawn.append((name, place, [t for t, _ in points], [e for _, e in points], "tolerance {}: "))
    star: Star | None = None
    if swap is not None:
        star = asked, swap.error, "record swap: no Gaussian model", f"average error {number(swap.error)}"
    wide = Axis("tolerance: shares that differ by at most this must look alike", 0.0, 1.04 * max(*by_tolerance, asked))
    about = "The lower a line, the less noise its method needs; it grows with the tolerance."
    title = "Average error against tolerance, by method"
    return error_chart("error", title, about, drawn, star, wide, (asked, "tolerance asked for"))


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

    `model`: records, statistics and the hidden share; `budget`: the limit; `by_tolerance`: what `sweep` returns;
    `attacks`: the attack before and after noise; `swap`: the record-swap figure, None leaves each out; `assumptions`:
    what the guarantee rests on."""
    return render(
        "property.html", title="Hiding a property of the whole",
        model=model, budget=budget, swap=swap, attacks=attacks, assumptions=assumptions,
        proved=re.sub(r" \(docs/[^)]*\)", "", proved_words(model).capitalize()),  # assumptions name the file
        errors=error_figure(by_tolerance, float(model.tolerance), swap),
        least=best(by_tolerance.get(float(model.tolerance), ())),
        guesses=None if attacks is None else attack_figure(*attacks),
    )  # fmt: skip
