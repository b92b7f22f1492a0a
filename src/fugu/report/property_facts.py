"""What hiding a share costs by each method, at one tolerance and at several; numbers for tables and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.calibration import calibrate, compare
from fugu.calibration.covariance.lengths import gaussian_length, isotropic_length
from fugu.calibration.covariance.methods import propose
from fugu.calibration.covariance.offers import realised
from fugu.calibration.laplace_length import laplace_length
from fugu.calibration.offer import Calibrated, Wishes
from fugu.errors import BadTable, NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.guarantee.curve import Guarantee
from fugu.laws.items import shapes
from fugu.laws.multinormal import NormalPair
from fugu.mechanism.correlated import CorrelatedAdditive
from fugu.mechanism.directed import DirectedAdditive
from fugu.mechanism.record_swap import RecordSwapAdditive
from fugu.noise.correlated import CorrelatedGaussian
from fugu.progress import report
from fugu.queries.property_cells import deviations_of
from fugu.scenario.property_model import PropertyModel, assumptions, proved_shares
from fugu.scenario.property_shares import Shares
from fugu.scenario.scenario import Scenario
from fugu.scenario.swap import model_of
from fugu.scenario.swap_monte import SwapBound, swap_sigma

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
            "records": found.records,
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
        name = plan.way.name
        if plan.covariance is None:
            found.append(MethodLine(name, "gaussian", math.inf, math.inf, False, plan.refusal))
            continue
        try:
            noise, proof = realised(plan, pairs, budget.asks(), asked.grid)
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


def error_of(mechanism: Calibrated) -> float:
    """E |noise|_2 of a mechanism; in one dimension, E |noise|. Of a record swap that of its cap."""
    if isinstance(mechanism, DirectedAdditive) and mechanism.noise.axes:
        return laplace_length(mechanism.noise.coordinate_scales())
    if isinstance(mechanism, RecordSwapAdditive):
        return isotropic_length(float(mechanism.noise.scale), mechanism.dimension)
    return length(mechanism.noise) if isinstance(mechanism, CorrelatedAdditive) else mechanism.expected_error()


def deviations(mechanism: Calibrated) -> tuple[float, ...]:
    """The standard deviation of the noise on each statistic."""
    return deviations_of(mechanism, mechanism.certificate)


def swap_figure(scenario: Scenario, budget: Guarantee, rng: np.random.Generator, draws: int = DRAWS) -> SwapFigure:
    """Gaussian noise that suffices without a Gaussian model, with a confidence over the draws."""
    if not isinstance(budget, Approx) or budget.delta == 0:
        raise NotProvable("the record swap is drawn for a budget of epsilon and delta > 0")
    found = swap_sigma(scenario, budget.epsilon, budget.delta, draws=draws, rng=rng)
    return SwapFigure(found, isotropic_length(found.value, len(model_of(scenario).statistics)))


def at_tolerance(model: PropertyModel, tolerance: Fraction) -> Scenario:
    """The same records and statistics at another tolerance: over all shares, or, where the user named them, for two
    shares that far apart around the middle of those."""
    moved = replace(model, tolerance=tolerance, proved=_moved_shares(model, tolerance))
    least, most = min(moved.counts), max(moved.counts)
    if moved.swapped == 0:
        raise UsageError("both shares give the same number of records")
    if not moved.replacement and (most > len(moved.having) or moved.size - least > len(moved.lacking)):
        raise UsageError("the reference has too few records of a class")
    pairs = [(moved.labels[i], moved.labels[j]) for i, j in moved.pairs]
    return Scenario(moved.laws(), pairs, assumptions=assumptions(moved), property=moved)


def _moved_shares(model: PropertyModel, tolerance: Fraction) -> Shares:
    if tolerance > 1:
        raise UsageError("the shares would leave [0, 1]")
    if not model.proved.given:
        populations = None if model.replacement else (len(model.having), len(model.lacking))
        try:
            return proved_shares(model.size, tolerance, len(model.statistics), populations)
        except BadTable as error:
            raise UsageError(str(error)) from None
    i, j = max(model.pairs, key=lambda p: abs(model.shares[p[0]] - model.shares[p[1]]))
    middle = (model.shares[i] + model.shares[j]) / 2
    shares = (middle - tolerance / 2, middle + tolerance / 2)
    if shares[0] < 0 or shares[1] > 1:
        raise UsageError("the shares would leave [0, 1]")
    return Shares(shares, (0, 0), ((0, 1),), given=True)


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
