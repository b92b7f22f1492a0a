"""`fugu property`: what hiding a share costs by each method, at one tolerance and at several, and what is guessed
before and after noise: numbers, figures, the page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.auditing import AttackReport
from fugu.calibration.compare import compare
from fugu.calibration.covariance.directions import gaussian_length, isotropic_length, laplace_length
from fugu.calibration.covariance.methods import WAYS, propose
from fugu.calibration.driver import calibrate
from fugu.calibration.offer import Wishes
from fugu.drawing.axis import Axis
from fugu.drawing.charts import Chart, Panel
from fugu.drawing.marks import Bars, Level, Line, Mark, Points, Whiskers
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.guarantee.curve import Guarantee
from fugu.laws.multinormal import NormalPair
from fugu.laws.shapes import shapes
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.matrix import CorrelatedGaussian, DirectedLaplace
from fugu.numbers.text import clean, number, percent
from fugu.progress import report
from fugu.question import RECORDS
from fugu.report.template import render
from fugu.scenario.property import PropertyModel, Shares, proved_shares, proved_words
from fugu.scenario.scenario import Report, Scenario
from fugu.scenario.swap import SwapBound, model_of, swap_sigma

TITLE = "Hiding a property of the whole"
_PLACES = {name: place for place, name in enumerate(WAYS)}
"""Every method keeps its look, whichever others are drawn."""
LOOKS = 7
"""How many looks for lines the style sheet has."""
_STEEP = 20.0
"""A ratio of largest to smallest error from which on the axis is logarithmic."""
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2))
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
            "sigma": found.value,
            "error": self.error,
            "delta_bound": found.bound,
            "confidence": found.confidence,
            RECORDS: found.records,
            "draws": found.draws,
            "released": False,
        }


def method_lines(scenario: Scenario, budget: Guarantee, wishes: Wishes | None = None) -> tuple[MethodLine, ...]:
    """Every method on the scenario's laws, from the crudest to the best; noise is proved as it would be drawn.

    That of a record swap is an estimate: a release makes its own draws."""
    if len(model_of(scenario).statistics) > 1 and budget.asks().pure:
        made = calibrate(scenario, budget, method="record-group")
        deviation = math.sqrt(made.expected_error("squared"))
        return (MethodLine("record-group", "laplace", deviation, error_of(made), True, ""),)
    if len(model_of(scenario).statistics) == 1:
        return tuple(
            MethodLine(r.method, r.noise, math.sqrt(r.expected_squared), r.expected_absolute, r.proven,
                       r.note if r.proven else r.note or r.why)
            for r in compare(scenario, budget).rows
        )  # fmt: skip
    pairs = tuple(pair for pair in shapes(scenario.law_pairs()) if isinstance(pair, NormalPair))
    asked = replace(wishes or Wishes(), model=scenario.property)
    found = []
    for plan in propose(pairs, budget.asks(), asked).values():
        name = plan.method
        if plan.covariance is None:
            found.append(MethodLine(name, "gaussian", math.inf, math.inf, False, plan.refusal or ""))
            continue
        try:
            noise, proof = plan.realised(budget.asks())
        except NotProvable as error:
            found.append(MethodLine(name, "gaussian", math.inf, math.inf, False, str(error)))
            continue
        deviation = math.sqrt(noise.expected_error("squared"))
        flat = not noise.base and noise.columns
        note = "only for laws that are exactly normal: some directions get no noise" if flat else plan.note
        found.append(MethodLine(name, "gaussian", deviation, length(noise), proof.holds, note))
    return tuple(found)


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
    scenario: Scenario, budget: Guarantee, wishes: Wishes | None = None, times: Sequence[Fraction] = TIMES
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
    return render(
        "property.html", title=TITLE, model=model, budget=budget, swap=swap, attacks=attacks, assumptions=assumptions,
        proved=re.sub(r" \(docs/[^)]*\)", "", proved_words(model).capitalize()),  # assumptions name the file
        errors=error_figure(by_tolerance, float(model.tolerance), swap),
        guesses=None if attacks is None else attack_figure(*attacks),
    )  # fmt: skip
