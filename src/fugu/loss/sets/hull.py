"""Hulls of named laws: the ratio is largest at one of them."""

from __future__ import annotations

from fugu.laws.discrete import Discrete
from fugu.laws.sets import Hull
from fugu.loss.sets.extremes import Formed, Widest
from fugu.loss.sets.forms import Form, Grid, Whole


def hull(law_set: Hull, points: Whole, outputs: Whole) -> Widest:
    """N = the largest, D = the least noised mass of any of the laws."""
    return Widest([_law(law, points, outputs) for law in law_set.laws])


def _law(law: Discrete, points: Whole, outputs: Whole) -> Formed:
    masses, total = law.masses.whole()
    grid = Grid(points, outputs, (masses,), total)
    everything = Form((grid.full(0),))
    return Formed(grid, everything, everything)
