"""Curves that help to choose: noise against epsilon, against delta, and against the number of people in a sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import singledispatch
from itertools import combinations
from typing import Any, cast

import numpy as np

from fugu.calibration import calibrate
from fugu.errors import NotProvable
from fugu.guarantee import Approx, Guarantee, Pure, RenyiCurve
from fugu.laws import Discrete, LawPair
from fugu.laws.pair import PairsLike
from fugu.laws.sums import sum_of
from fugu.noise.channel import Channel
from fugu.numbers.exact import as_fraction
from fugu.progress import report

DELTAS = (1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.2, 0.3)
PEOPLE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""The epsilons of a curve, in units of the one asked for."""
Way = tuple[str, str]
"""A method and a noise."""
Budgets = Sequence[tuple[float, Guarantee]]


def noise_by_delta(pairs: PairsLike, epsilon: float) -> list[tuple[float, float]]:
    """(delta, least expected |error|) at one epsilon; delta 0, the pure budget, comes first."""
    found = [(0.0, calibrate(pairs, Pure(epsilon)).expected_error())]
    return found + [(d, calibrate(pairs, Approx(epsilon, d)).expected_error()) for d in DELTAS]


def deltas(budget: Guarantee) -> Budgets:
    """(delta, budget) at the epsilon asked for: no remainder, many, and the one asked for."""
    listed = sorted({*DELTAS, *([float(budget.delta)] if budget.delta else [])})
    return [(0.0, Pure(budget.epsilon)), *((d, Approx(budget.epsilon, d)) for d in listed)]


def epsilons(budget: Guarantee) -> Budgets:
    """(epsilon, budget) around the epsilon asked for, the rest of the budget as it is: its delta, its Rényi orders."""
    own = as_fraction(budget.epsilon)
    return [(float(own * k), scaled(budget, k)) for k in TIMES]


@singledispatch
def scaled(budget: Guarantee, times: Fraction) -> Guarantee:
    """The same budget with every epsilon multiplied.

    >>> scaled(Approx(1, 0.01), Fraction(2)).epsilon
    Fraction(2, 1)
    """
    return cast(Guarantee, replace(cast(Any, budget), epsilon=as_fraction(budget.epsilon) * times))


@scaled.register
def _(budget: RenyiCurve, times: Fraction) -> Guarantee:
    return RenyiCurve({alpha: as_fraction(e) * times for alpha, e in budget.epsilons.items()}, budget.delta)


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
    pooled = _pooled(laws)
    found = []
    for people in PEOPLE:
        totals = laws if people == 1 else _totals(laws, pooled, people)
        pairs = [LawPair(totals[a], totals[b], f"{a} vs {b}") for a, b in combinations(totals, 2)]
        try:
            found.append((people, calibrate(pairs, Approx(epsilon, delta), noise="laplace").expected_error()))
        except NotProvable:
            break
    return found


def _totals(laws: dict[str, Discrete], pooled: Discrete, people: int) -> dict[str, Discrete]:
    others = pooled.iid_sum(people - 1)
    return {name: sum_of([law, others]) for name, law in laws.items()}


def _pooled(laws: dict[str, Discrete]) -> Discrete:
    """All secrets together, by their counts."""
    values = np.concatenate([law.values for law in laws.values()])
    return Discrete(values, np.concatenate([law.masses.parts for law in laws.values()]))
