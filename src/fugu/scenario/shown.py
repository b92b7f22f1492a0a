"""A scenario in a notebook: what is secret, what is believed, and the laws as a figure. All of it is public.

Laws that were fitted on the private table itself (`public_prior=True`) are not shown: they are exact numbers of it, and
notebooks are handed on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fugu.drawing.figure import Figure
from fugu.drawing.plots import laws
from fugu.drawing.sheet import Cell, Sheet
from fugu.errors import UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.normal import Normal, NormalMixture

if TYPE_CHECKING:
    from fugu.scenario.scenario import Scenario

Floats = NDArray[np.float64]
_GRID = 400
_OWN = "the law in the private table itself, not shown"


def sheet_of(scenario: Scenario) -> Sheet:
    """What is secret, how many pairs must look alike, and what is taken for granted."""
    published = [] if scenario.query is None else [("published", scenario.query.publish)]
    unit = [] if scenario.unit is None else [("one row for each", scenario.unit)]
    several = len(scenario.adversaries) > 1
    rows = [
        (f"adversary {i}: {secret}" if several else secret, _OWN if scenario.public_prior else _said(law))
        for i, beliefs in enumerate(scenario.adversaries, start=1)
        for secret, law in beliefs.items()
    ]
    facts: list[tuple[str, Cell]] = [
        *published,
        *unit,
        ("secrets", len(scenario.secrets)),
        ("pairs that must look alike", len(scenario.law_pairs())),
    ]
    skipped = [f"left out: {secret}: {why}" for secret, why in scenario.report.skipped]
    return Sheet("Scenario", facts, ("secret", "what is believed of the published value"), rows,
                 [*skipped, *(f"assumed: {text}" for text in scenario.assumptions)])  # fmt: skip


def figure_of(scenario: Scenario) -> Figure:
    """The laws of the first adversary, before any noise."""
    if scenario.public_prior:
        raise UsageError("the beliefs are the table's own counts: a figure of them would show exact numbers of it")
    beliefs = scenario.adversaries[0]
    smooth = any(isinstance(law, Normal | NormalMixture) for law in beliefs.values())
    drawn = _densities(beliefs) if smooth else _masses(beliefs)
    if len(drawn) < len(beliefs):
        raise UsageError("laws of vectors, shifts and sets of laws have no picture here; fugu.publish writes a page")
    value = "the published value" if scenario.query is None else scenario.query.publish
    title = f"What is believed of {value}, given each secret, before any noise"
    return laws(title, value, drawn, "density" if smooth else "probability")


def _said(law: object) -> str:
    if isinstance(law, Discrete) and law.dimension == 1:
        return f"{len(law.values)} values, mean {float(law.mean()):.6g}, standard deviation {law.std():.6g}"
    return repr(law)


def _masses(beliefs: Mapping[str, object]) -> list[tuple[str, list[float], list[float]]]:
    return [
        (secret, law.values.tolist(), law.weights.tolist())
        for secret, law in beliefs.items()
        if isinstance(law, Discrete) and law.dimension == 1
    ]


def _densities(beliefs: Mapping[str, object]) -> list[tuple[str, list[float], list[float]]]:
    known = {
        secret: [(float(w), float(m), float(s)) for w, m, s in law.parts()]
        for secret, law in beliefs.items()
        if isinstance(law, Normal | NormalMixture)
    }
    parts = [part for listed in known.values() for part in listed]
    low, high = (pick(m + side * s for _, m, s in parts) for pick, side in ((min, -4), (max, 4)))
    grid = np.linspace(low, high, _GRID)
    return [
        (secret, grid.tolist(), np.sum([_bell(grid, *part) for part in listed], axis=0).tolist())
        for secret, listed in known.items()
    ]


def _bell(grid: Floats, weight: float, mean: float, std: float) -> Floats:
    return np.asarray(weight * np.exp(-0.5 * ((grid - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi)))
