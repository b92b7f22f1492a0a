"""From law pairs to a lattice problem: choose the grid, push the laws through rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.exact import least
from fugu.calibration.method import Budget
from fugu.exact import Real
from fugu.laws.family import Family, families
from fugu.laws.pair import LawPair
from fugu.noise.lattice import Lattice, as_grid

_FINER = 16
_EXCESS = 1.005


@dataclass(frozen=True, eq=False)
class Problem:
    """Laws on lattice indices. `given` are the laws as stated; `families` is what rounding makes of them."""

    families: tuple[Family, ...]
    given: tuple[Family, ...]
    lattice: Lattice

    @property
    def support(self) -> NDArray[np.float64] | None:
        """All stated atoms; None where some law is an unknown translate."""
        if any(f.translates for f in self.given):
            return None
        return (
            self.given[0].points if len(self.given) == 1 else np.unique(np.concatenate([f.points for f in self.given]))
        )

    def unrounded(self) -> tuple[Family, ...]:
        """The stated laws with their atoms numbered in order: all that matters when neither noise nor rounding is
        applied."""
        return tuple(Family(np.arange(len(f.points)), f.laws, f.pairs, f.labels, f.translates) for f in self.given)


def problem(pairs: tuple[LawPair, ...], budget: Budget, grid: Real | str = "auto") -> Problem:
    """Choose the lattice. "auto": the coarsest that holds every atom; where there is none, or a law is unknown
    (`Shifted`), at most 1/16 of the scale, so that rounding costs at most 0.5 % of the scale."""
    given = families(pairs)
    if grid != "auto":
        return _on(given, Lattice(as_grid(grid)))
    lattice = Lattice.holding([f.points for f in given])
    if lattice is None:
        return _rounded(given, budget)
    found = _on(given, lattice)
    if any(f.translates for f in given):
        steps = max(least(f, budget, lattice=True) for f in found.families)
        parts = math.ceil(_FINER / steps) if steps > 0 else 1
        found = _on(given, Lattice(lattice.grid / parts, lattice.origin))
    return found


def _on(given: tuple[Family, ...], lattice: Lattice) -> Problem:
    return Problem(tuple(f.on(lattice) for f in given), given, lattice)


def _rounded(given: tuple[Family, ...], budget: Budget) -> Problem:
    """A lattice for atoms that are on none: fine enough that rounding costs at most 0.5 % of the continuous scale."""
    wanted = max(least(f, budget, lattice=False) for f in given)
    spread = max(_std(f) for f in given)
    grid = _short(min(wanted or spread, spread) / _FINER)
    found = _on(given, Lattice(grid))
    for _ in range(12):
        reached = max(least(f, budget, lattice=True) for f in found.families) * float(grid)
        if reached <= _EXCESS * wanted or wanted == 0:
            break
        grid = _short(float(grid) / 2)
        found = _on(given, Lattice(grid))
    return found


def _std(family: Family) -> float:
    """The standard deviation of the published value, all laws pooled."""
    pooled = family.weights.mean(axis=0)
    unit = float(np.abs(family.points).max()) or 1.0  # so that squares neither overflow nor vanish
    points = family.points / unit
    return float(np.sqrt(pooled @ (points - pooled @ points) ** 2)) * unit or 1.0


def _short(x: float) -> Fraction:
    """The largest of 1, 2, 5 x 10^k that is <= x."""
    power = Fraction(10) ** math.floor(math.log10(x))
    return max(m * power for m in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)) if m * power <= Fraction(x))
