"""From laws as the user gave them to what a loss is computed on: units, lattices, the laws behind an item."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.errors import BadNoise
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.set_family import SetFamily
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_down, integers


def on_grid(family: Family, grid: Fraction | None) -> Family:
    """Lattice indices for lattice noise, on which all atoms must lie; as it is for continuous noise."""
    if grid is None:
        return family
    whole, unit = in_units(family)
    require_lattice(whole, grid / unit)
    steps = [(Fraction(x) - Fraction(whole.points[0].item())) * unit / grid for x in whole.points.tolist()]
    return replace(family, points=np.array([int(s) for s in steps], dtype=np.int64))


def discrete_laws(family: Family) -> list[tuple[Discrete, Discrete]]:
    """The pairs of laws behind a family, for noise without a lattice."""
    laws = [
        Discrete(family.points, law.parts if law.parts.dtype != np.float64 else law.floats()) for law in family.laws
    ]
    return [(laws[i], laws[j]) for (i, j), _ in family.different] or [(laws[0], laws[0])]


def in_units(family: Family) -> tuple[Family, Fraction]:
    """The family with whole-number points and their unit where all atoms are decimals; else as it is, unit 1.

    1000000.2 - 1000000.1 is 0.1 for the user and not for the doubles: distances are taken between whole numbers."""
    step = decimal_step(family.points)
    if step is None:
        return family, Fraction(1)
    return replace(family, points=integers(family.points, step)), step


def require_lattice(family: Family | SetFamily, grid: Fraction) -> None:
    """Refuse unless all atoms lie on one lattice of this grid, decided exactly."""
    points = family.points
    if points.dtype == np.int64 and grid.denominator == 1:
        aligned = not np.any((points - points[0]) % int(grid))
    else:
        first = Fraction(points[0].item())
        aligned = all(((Fraction(x) - first) / grid).denominator == 1 for x in points.tolist())
    if not aligned:
        raise BadNoise(
            "some atoms are off the lattice of this grid: no epsilon is finite there. Round the laws onto the "
            "lattice first (calibrate does), or choose a grid that divides every distance"
        )


def steps_below(scale: Real, unit: Fraction) -> float:
    """scale / unit, rounded down: a smaller scale loses more, so the loss stays an upper bound."""
    return max(0.0, float_down(as_fraction(scale) / unit))
