"""The tight epsilon and delta of Laplace noise on a million atoms, against sorting the atoms."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

import fugu
from benchmarks.inputs import GAP, pair, prepared, shuffled
from benchmarks.measure import Row, Side, Size, race
from fugu.laws import Family, LawPair
from fugu.loss.search.laplace import delta_loss, pure_loss

_ATOMS = 10**6
_LIMIT = 4.0
_SCALES = (1e6, 10.0, 0.1, 0.001)
"""In mean gaps: all atoms blur, neighbours mix, the noise hardly reaches the next atom, it does not."""


def epsilon(size: Size) -> Iterator[Row]:
    """`pure_loss` on a prepared family and `fugu.epsilon` end to end, in units of np.sort."""
    for kind, disjoint in product(("lattice", "real"), (False, True)):
        given = pair(size.of(_ATOMS), kind, disjoint)
        family, gap = prepared(given)
        loose = shuffled(family.points.astype(np.float64))
        for gaps in _SCALES:
            sides = _epsilon_sides(given, family, gaps * GAP, gaps * gap)
            took = race(size.laps, sort=lambda loose=loose: np.sort(loose), **sides)
            case = f"{kind} atoms, {_supports(disjoint)}, scale {gaps:g} gaps"
            yield Row("epsilon", f"pure_loss: {case}", took["loss"] / took["sort"], "x sort", _LIMIT)
            yield Row("epsilon", f"fugu.epsilon: {case}", took["whole"] / took["sort"], "x sort", _LIMIT)


def delta(size: Size) -> Iterator[Row]:
    """`delta_loss` of continuous and of lattice noise at half the pure epsilon, where it is not zero."""
    for disjoint in (False, True):
        given = pair(size.of(_ATOMS), "lattice", disjoint)
        family, gap = prepared(given)
        loose = shuffled(family.points.astype(np.float64))
        for name, grid in (("continuous", None), ("lattice", Fraction(1, 10))):
            sides = _delta_sides(given, family, gap, grid)
            took = race(size.laps, sort=lambda loose=loose: np.sort(loose), **sides)
            case = f"{name} noise, {_supports(disjoint)}"
            yield Row("delta", f"delta_loss: {case}", took["loss"] / took["sort"], "x sort")
            yield Row("delta", f"fugu.delta: {case}", took["whole"] / took["sort"], "x sort")


def _epsilon_sides(given: LawPair, family: Family, scale: float, steps: float) -> dict[str, Side]:
    """`scale` in the unit of the laws, `steps` in that of the family."""
    noise = fugu.Laplace(scale)
    return {"loss": lambda: pure_loss(family, steps), "whole": lambda: fugu.epsilon(noise, given)}


def _delta_sides(given: LawPair, family: Family, gap: float, grid: Fraction | None) -> dict[str, Side]:
    """At a scale of ten gaps; the unit of the family is the grid."""
    half = pure_loss(family, 10 * gap).value / 2
    noise = fugu.Laplace(10 * GAP, grid)
    step = None if grid is None else 1.0
    return {
        "loss": lambda: delta_loss(family, 10 * gap, half, step),
        "whole": lambda: fugu.delta(noise, given, half),
    }


def _supports(disjoint: bool) -> str:
    return f"{'disjoint' if disjoint else 'common'} supports"
